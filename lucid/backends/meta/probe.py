"""Shapes and dtypes found by running the CPU kernel on small stand-ins: the rule of every operation that has no other."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..cpu import backend as cpu
from ..memory_format import inverse, memory_axes
from .array import MetaArray, blank

Kernel = Callable[..., Any]


class Probe:
    """A run of a CPU kernel in which every length is replaced by a small number of its own: `least`, and then every `step`.

    The order of the lengths among each other stays, so what kernels compare stays. The lengths of the result are translated
    back: right for operations every length of whose result is a length of an argument, or 1. dtype, memory format and errors
    are those of the kernel by construction.
    """

    def __init__(self, name: str, *values: Any, least: int = 2, step: int = 1) -> None:
        self._name, self._least = name, least
        lengths = _lengths(values)
        small_lengths = {length: least + step * place for place, length in enumerate(sorted(lengths - {0, 1}))}
        self._small = {0: 0, 1: 1} | small_lengths
        self._full = {number: length for length, number in self._small.items() if number or 0 in lengths}
        self._given: dict[int, tuple[np.ndarray, MetaArray]] = {}

    def __call__(self, arrays: Sequence[Any], attributes: dict[str, Any], axis: int | None = None, length: int = 0) -> Any:
        """The meta arrays that the kernel's results stand for. Dimension `axis` gets `length`, if the operation makes it."""
        attributes = {key: self._stand_in(value) for key, value in attributes.items()}
        with np.errstate(all="ignore"):
            return self._translate(cpu.TABLE[self._name](*self._stand_in(tuple(arrays)), **attributes), axis, length)

    def _stand_in(self, value: Any) -> Any:
        """`value` with each meta array replaced by a small NumPy array of its dtype, laid out in memory as it is."""
        if isinstance(value, (tuple, list)):
            return type(value)([self._stand_in(item) for item in value])
        if not isinstance(value, MetaArray):
            return value
        axes = memory_axes(value)
        shape = [self._small[value.shape[axis]] for axis in axes]
        found = valid_elements(shape, value.dtype, self._least - 1).transpose(inverse(axes))
        if 0 in value.strides and value.size:  # broadcast dimensions have no place in the memory order of a result
            single = tuple([slice(1) if stride == 0 else slice(None) for stride in value.strides])
            found = np.broadcast_to(found[single], found.shape)
            found.flags.writeable = True
        self._given[id(found)] = (found, value)
        return found

    def _translate(self, result: Any, axis: int | None, length: int) -> Any:
        if isinstance(result, tuple):
            return tuple([self._translate(item, axis, length) for item in result])
        if result is None or id(result) in self._given:  # an argument, such as `out`
            return None if result is None else self._given[id(result)][1]
        result = np.asarray(result)
        try:
            shape = [length if dim == axis else self._full[number] for dim, number in enumerate(result.shape)]
        except KeyError:
            raise without_rule(self._name) from None
        return blank(shape, result.dtype, None if result.flags.c_contiguous else memory_axes(result))


def _lengths(value: Any) -> set[int]:
    """The lengths of the arrays in an argument or attribute."""
    if isinstance(value, MetaArray):
        return set(value.shape)
    return set().union(*map(_lengths, value)) if isinstance(value, (tuple, list)) else set()


def valid_elements(shape: Sequence[int], dtype: Any, number: int) -> np.ndarray:
    """Elements that every kernel takes: integers are valid indices, matrices symmetric and positive definite."""
    if dtype.kind in "biu":
        return np.zeros(shape, dtype)
    array = np.full(shape, number, dtype)
    if len(shape) > 1:
        diagonal = np.arange(min(shape[-2:]))
        array[..., diagonal, diagonal] = number + 1
    return array


def probed(name: str) -> Kernel:
    """The rule of an operation every length of whose result is a length of an argument.

    Two runs with other stand-ins, and other elements, must agree: lengths that are computed, or depend on elements, do not.
    """
    def kernel(*arrays: Any, **attributes: Any) -> Any:
        values = arrays, [*attributes.values()]
        first = Probe(name, *values)(arrays, attributes)
        if not _agree(first, Probe(name, *values, least=3, step=2)(arrays, attributes)):
            raise without_rule(name)
        return first

    return kernel


def _agree(a: Any, b: Any) -> bool:
    """Whether two results of a kernel are the same arguments, or have one shape and dtype; layouts may depend on the size."""
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_agree, a, b))
    return a is b or (a.dtype == b.dtype and a.shape == b.shape)


def without_rule(name: str) -> NotImplementedError:
    """The error of an operation whose result has lengths that are no lengths of its arguments, and that has no rule."""
    return NotImplementedError(f"the shape that op '{name}' returns does not follow from its arguments' on the device 'meta': "
                               "write a rule for it in lucid/backends/meta/rules")


def like(array: Any) -> MetaArray:
    """A meta array with the shape, dtype and memory format of `array`."""
    return blank(array.shape, array.dtype, None if array.flags.c_contiguous else memory_axes(array))


def delivered(result: Any, out: Any) -> Any:
    """What a kernel returns that has computed `result`: `out`, or those of its entries that are given."""
    if isinstance(out, tuple):
        return tuple([new if given is None else given for new, given in zip(result, out, strict=True)])
    return result if out is None else out
