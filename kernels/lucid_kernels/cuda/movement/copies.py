"""Copies and casts between arrays of any strides, and fills, in one launch each (elementwise/map.cuh).

Bytes moved: those of both arrays, once; of a transposed array of the same dtype by tiles (`transpose.py`), else by steps
that are as long as its rows.
"""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lucid_kernels.cuda.elementwise import strides
from lucid_kernels.cuda.movement import transpose
from lucid_kernels.cuda.runtime import formula, launch, recording
from lucid_kernels.expression import Node, Program

Array = Any

#: At most as many arrays are copied together: each takes registers.
TOGETHER = 4
#: The dtypes of our kernels, by their codes: not complex ones.
KINDS = frozenset("?bBhHiIlLqQfdeE")


def copied(x: Array, dtype: Any) -> Array:
    """`x` as `dtype` in a new row-major array."""
    if x.dtype.char not in KINDS or dtype.char not in KINDS:
        return x.astype(dtype, order="C")
    return copy(x, launch.empty(x.shape, dtype))


def contiguous(x: Array) -> Array:
    """`x` in row-major order: itself, or a copy. None stays None."""
    return x if x is None or x._c_contiguous else copied(x, x.dtype)


def copy(x: Array, out: Array) -> Array:
    """`out`, into which the elements of `x`, broadcast, have been written as its dtype."""
    if x.dtype.char not in KINDS or out.dtype.char not in KINDS or _overlap(x, out):
        recording.unrepeatable()
        out[...] = x
    elif out.size and not transpose.transposed(x, out):
        kernel = launch.generated(formula.source(_cast(x.dtype, out.dtype), (x.dtype,), (out.dtype,)))
        strides.run(kernel, (out,), (x,))
    return out


def copy_each(targets: Sequence[Array], sources: Sequence[Array]) -> None:
    """Copy arrays to others of the same shapes and dtypes, in other memory: a few of one shape in one launch."""
    first = sources[0]
    if first.dtype.char in KINDS and first.size and 1 < len(sources) <= TOGETHER and all(
            x.dtype == first.dtype and x.shape == first.shape for x in sources):
        kinds = (first.dtype,) * len(sources)
        strides.run(launch.generated(formula.source(_as_they_are(*kinds), kinds, kinds)), targets, sources)
        return
    for target, source in zip(targets, sources, strict=True):
        copy(source, target)


def like(x: Array, dtype: Any) -> Array:
    """A new array in the layout of `x`."""
    return strides.result(None, x.shape, dtype, (x,))


def fill(out: Array, value: Any) -> Array:
    """`out`, all of whose elements are `value`, a number."""
    if out.dtype.char not in KINDS or not isinstance(value, (int, float)):
        recording.unrepeatable()
        out[...] = value
    elif out.size:
        if out.dtype.char in "eEfd":
            text = formula.source(_number(out.dtype), (None,), (out.dtype,))
            strides.run(launch.generated(text), (out,), (recording.number(value),))
        else:  # a number of 64 bits may be no double
            text = formula.source(_constant(out.dtype), (), (out.dtype,))
            strides.run(launch.generated(text), (out,), (), (np.asarray(value).astype(out.dtype)[()],))
    return out


def _overlap(x: Array, out: Array) -> bool:
    """Whether both may lie in the same memory: an element might be read after it was written."""
    return x is not out and x.data.mem is out.data.mem


@functools.cache
def _as_they_are(*dtypes: Any) -> Program:
    return Program([Node("input", dtype, (), number) for number, dtype in enumerate(dtypes)])


@functools.cache
def _cast(source: Any, target: Any) -> Program:
    x = Node("input", source, (), 0)
    return Program([x if source == target else Node("cast", target, (x,))])


@functools.cache
def _number(dtype: Any) -> Program:
    return Program([Node("input", dtype, (), 0)])


@functools.cache
def _constant(dtype: Any) -> Program:
    return Program([Node("constant", dtype, (), 0)])
