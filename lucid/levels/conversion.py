"""Between an array and a lifted one. A level may be inside of later ones, so all of these work beneath those."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .lifted import LIFTED, Batched, Dual, Level, call, levels_of, outermost
from .rules.basis import expanded, moved, reshaped

Array = Any


def _map_inner(array: Any, function: Callable[[Any], Any]) -> Any:
    """`function` of what `array`, of a later level, holds."""
    if array.__class__ is Batched:
        return Batched(array.level, function(array.value))
    return Dual(array.level, function(array.value), function(array.tangent), array.swapped)


def _is_later(array: Any, level: Level) -> bool:
    return array.__class__ in LIFTED and array.level.number > level.number


def into_batch(array: Array, dim: int, level: Level) -> Any:
    """Dimension `dim` as the batch of `level`."""
    if _is_later(array, level):
        inner = dim + (array.__class__ is Batched)
        return _map_inner(array, lambda value: into_batch(value, inner, level))
    return Batched(level, moved(array, dim, 0) if dim else array)


def out_of_batch(array: Any, dim: int, level: Level) -> Any:
    """The batch of `level` as dimension `dim`; what has none is repeated."""
    if _is_later(array, level):
        inner = dim + (array.__class__ is Batched)
        return _map_inner(array, lambda value: out_of_batch(value, inner, level))
    if array.__class__ is Batched and array.level is level:
        return moved(array.value, 0, dim) if dim else array.value
    shape = array.shape
    return expanded(reshaped(array, (*shape[:dim], 1, *shape[dim:])), (*shape[:dim], level.size, *shape[dim:]))


def sum_of_batch(array: Any, level: Level) -> Any:
    """The sum over the batch of `level`; what has none is returned as it is."""
    if _is_later(array, level):
        if array.__class__ is Batched:
            return Batched(array.level, _sum_inner(array.value, level))
        return _map_inner(array, lambda value: sum_of_batch(value, level))
    return _sum_inner(array, level)


def _sum_inner(array: Any, level: Level) -> Any:
    if _is_later(array, level):
        return sum_of_batch(array, level)
    if array.__class__ is Batched and array.level is level:
        return call("sum", (array.value,), {"axis": (0,), "keepdims": False})
    return array


def value_of(array: Any, level: Level) -> Any:
    """The array without its tangent of `level`."""
    if _is_later(array, level):
        return _map_inner(array, lambda value: value_of(value, level))
    return array.value if array.__class__ is Dual and array.level is level else array


def tangent_of(array: Any, level: Level) -> Any:
    """The tangent of `level`; None where there is none."""
    if _is_later(array, level):
        if array.__class__ is Batched:
            tangent = tangent_of(array.value, level)
            return None if tangent is None else Batched(array.level, tangent)
        tangent, other = tangent_of(array.value, level), tangent_of(array.tangent, level)
        if tangent is None:
            tangent = None if other is None else zeros(other)
        return tangent if tangent is None or other is None else Dual(array.level, tangent, other, array.swapped)
    return array.tangent if array.__class__ is Dual and array.level is level else None


def with_tangent(array: Any, tangent: Any, level: Level, swapped: bool = False) -> Any:
    """The dual array of `level` of both, of which later levels hold the parts."""
    if _is_later(array, level) or _is_later(tangent, level):
        top = outermost((array, tangent))
        later = top.level
        if top.__class__ is Batched:
            parts = [part.value if part.__class__ is Batched and part.level is later else
                     expanded(reshaped(part, (1, *part.shape)), (later.size, *part.shape)) for part in (array, tangent)]
            return Batched(later, with_tangent(parts[0], parts[1], level, swapped))
        a, b = value_of(array, later), value_of(tangent, later)
        c, d = tangent_of(array, later), tangent_of(tangent, later)
        return Dual(later, with_tangent(a, b, level, swapped),
                    with_tangent(zeros(a) if c is None else c, zeros(b) if d is None else d, level, swapped), top.swapped)
    return Dual(level, array, tangent, swapped)


def is_swapped(array: Any, level: Level) -> bool:
    """Whether `array` is a cotangent from outside of `level`; see `Dual`."""
    while _is_later(array, level):
        array = array.value
    return array.__class__ is Dual and array.level is level and array.swapped


def zeros(array: Any) -> Any:
    """Zeros of its shape, with its batch dimensions."""
    if array.__class__ is Dual:
        return zeros(array.value)
    return call("fill", (array,), {"value": 0})


def with_levels(array: Any, levels: Any) -> Any:
    """The array with all of `levels` that it lacks: repeated, or with a tangent of zeros."""
    for level in sorted(levels, key=lambda level: level.number):
        array = _with_level(array, level)
    return array


def with_room(array: Any, levels: set[Level]) -> Any:
    """The array with all tangents of `levels`, and those with all batch dimensions of `levels`."""
    duals = sorted((level for level in levels if level.size is None), key=lambda level: level.number)
    for level in duals:
        inner = {other for other in levels if other.number < level.number}
        if array.__class__ is Dual and array.level is level:
            tangent = with_levels(array.tangent, inner)
            if tangent is not array.tangent:
                array = Dual(level, array.value, call("copy", (tangent,)), array.swapped)
        elif level not in levels_of(array):
            array = Dual(level, array, call("copy", (with_levels(zeros(array), inner),)))
    return array


def _with_level(array: Any, level: Level) -> Any:
    if _is_later(array, level):
        return _map_inner(array, lambda value: _with_level(value, level))
    if array.__class__ in LIFTED and array.level is level:
        return array
    if level.size is None:
        return Dual(level, array, zeros(array))
    return Batched(level, expanded(reshaped(array, (1, *array.shape)), (level.size, *array.shape)))
