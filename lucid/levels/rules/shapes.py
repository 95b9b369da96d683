"""Views, joins, shifts, padding, and Fourier transforms."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lifted import Level, call
from .basis import as_view, at, dimension, expanded, inner, lift, new_rules, permuted, reshaped, spread

RULES, rule = new_rules()


@rule("reshape")
def reshape(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (x,) = arrays
    return as_view(level, call(name, (x.value,), {"shape": (level.size, *attributes["shape"])}), x)


@rule("transpose")
def transpose(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (x,) = arrays
    return as_view(level, permuted(x.value, 0, *[dimension(axis, x.ndim) for axis in attributes["axes"]]), x)


@rule("broadcast_to")
def broadcast_to(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (x,) = arrays
    shape = tuple(attributes["shape"])
    value = reshaped(x.value, (level.size, *(1,) * (len(shape) - x.ndim), *x.shape))
    return as_view(level, expanded(value, (level.size, *shape)), x)


@rule("diagonal")
def diagonal(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (x,) = arrays
    return as_view(level, call(name, (x.value,), _two_axes(attributes, x.ndim)), x)


@rule("diagonal_scatter")
def diagonal_scatter(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    shape = attributes["shape"]
    return lift(level, call(name, (arrays[0].value,), {**_two_axes(attributes, len(shape)), "shape": (level.size, *shape)}))


def _two_axes(attributes: dict[str, Any], ndim: int) -> dict[str, Any]:
    return {**attributes, "axis1": dimension(attributes["axis1"], ndim), "axis2": dimension(attributes["axis2"], ndim)}


@rule("real imag view_as_real view_as_complex")
def part(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    return as_view(level, call(name, (arrays[0].value,), attributes), arrays[0])


@rule("view_dtype")
def view_dtype(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (x,) = arrays
    if x.ndim == 0 and x.dtype.itemsize != attributes["dtype"].itemsize:
        return NotImplemented
    return as_view(level, call(name, (x.value,), attributes), x)


@rule("split unbind")
def pieces(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (x,) = arrays
    return as_view(level, call(name, (x.value,), {**attributes, "axis": dimension(attributes["axis"], x.ndim)}), x)


@rule("windows")
def windows(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (x,) = arrays
    if x.ndim == 0:
        return NotImplemented
    return as_view(level, call(name, (x.value,), {**attributes, "dim": dimension(attributes["dim"], x.ndim)}), x)


@rule("windows_grad")
def windows_grad(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (g,) = arrays
    if g.ndim < 2:
        return NotImplemented
    return lift(level, call(name, (g.value,), {**attributes, "dim": dimension(attributes["dim"], g.ndim - 1)}))


@rule("as_strided")
def as_strided(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """The strides are of the memory beneath one element of the batch."""
    (x,) = arrays
    value = x.value
    step = value.strides[0] // value.dtype.itemsize
    return as_view(level, call(name, (value,), {"shape": (level.size, *attributes["shape"]), "offset": attributes["offset"],
                                                "strides": (step, *attributes["strides"])}), x)


@rule("flip roll")
def moved_along(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (x,) = arrays
    axis = attributes["axis"]
    if x.ndim == 0:
        return lift(level, call("copy", (x.value,), {}))
    dims = [dimension(dim, x.ndim) for dim in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    return lift(level, call(name, (x.value,), {**attributes, "axis": tuple(dims)}))


@rule("tril triu")
def triangle(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    return lift(level, call(name, [inner(level, array) for array in arrays], attributes))


@rule("concatenate stack")
def join(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    ndim = arrays[0].ndim + (name == "stack")
    axis = int(attributes["axis"]) % ndim + 1
    return lift(level, call(name, [spread(level, array) for array in arrays], {"axis": axis}))


@rule("assemble")
def assemble(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    axes = attributes["axes"]
    return lift(level, call(name, [spread(level, array) for array in arrays], {
        "shape": (level.size, *attributes["shape"]), "indices": [(slice(None), *index) for index in attributes["indices"]],
        "axes": None if axes is None else (0, *[axis + 1 for axis in axes])}))


@rule("pad pad_grad")
def pad(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    if len(arrays) > 1 and at(level, arrays[1]):  # a batched number to fill with
        return NotImplemented
    return lift(level, call(name, [inner(level, array) for array in arrays], attributes))


@rule("fft_c2c fft_c2r fft_r2c")
def fourier(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    (x,) = arrays
    axes = tuple([dimension(axis, x.ndim) for axis in attributes["axes"]])
    return lift(level, call(name, (x.value,), {**attributes, "axes": axes}))
