"""Which small kernels are loops of NumPy's, and in which order: `lucid_kernels.cpu.elementwise.chain`, for recorded calls."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..common.elementwise import ARITHMETIC
from ..sizes import CHAINED
from . import matmul
from .reduction.sums import is_row_by_row

Array = Any
#: (the kernels' module, the place of each operand and then of each result) -> the steps.
Recipe = Callable[[Any, Sequence[int]], list[Any]]
_LARGEST = {np.dtype(kind): float(np.finfo(kind).max) for kind in "fd"}
_UFUNCS = {name: getattr(np, {"sub": "subtract", "mul": "multiply", "div": "divide"}.get(name, name), None)
           for name in ARITHMETIC}


def recipe(name: str, direct: Any, arrays: Sequence[Any], attributes: dict[str, Any], results: Sequence[Any]) -> Recipe | None:
    """How the kernel `name`, which does no more than `direct` if that is not None, has computed `results`; None if not by loops,
    or not of dense arrays of one float dtype.

    Operands may be Python's numbers, whose places are those of arrays without dimensions.
    """
    made = [result for result in results if result is not None]
    if not made:
        return None
    dtype = made[0].dtype
    if dtype not in _LARGEST:
        return None
    for result in made:
        if result.ndim == 0 or not 0 < result.size <= CHAINED or not _fits(result, dtype):
            return None
    for a in arrays:
        if not _fits(a, dtype):
            return None
    find = _RECIPES.get(name)
    if find is not None:
        return find(dtype, direct, arrays, attributes)
    return None if attributes else _elementwise(dtype, _UFUNCS.get(name, direct), arrays, made, name in ARITHMETIC)


def _fits(a: Any, dtype: Any) -> bool:
    """Whether an operand is no array, or a dense one of `dtype`: also the steps of dimensions of length 1 are those of such."""
    if a.__class__ is not np.ndarray:
        return a is None or a.__class__ in (int, float)
    flags, shape = a.flags, a.shape
    if a.dtype is not dtype or not (flags.c_contiguous and flags.aligned):
        return False
    if 0 not in shape and 1 not in shape:
        return True
    step = a.itemsize
    for length, stride in zip(shape[::-1], a.strides[::-1], strict=True):
        if stride != step:
            return False
        step *= length
    return True


def _elementwise(dtype: Any, ufunc: Any, operands: Sequence[Any], results: Sequence[Array], exact: bool) -> Recipe | None:
    """Of operands that are like the result, or numbers; of arithmetic, which rounds each element by itself, also of a row for all
    rows or an element for each row. The result may be that of an operand, which comes last then.
    """
    if not isinstance(ufunc, np.ufunc) or len(results) != 1:
        return None
    (y,) = results
    if exact and len(operands) == 3:
        if operands[2] is not y:
            return None
        operands = operands[:2]
        if any(a is not y and a.__class__ is np.ndarray and np.may_share_memory(a, y) for a in operands):
            return None  # of which NumPy makes a copy
    if (ufunc.nin, ufunc.nout) != (len(operands), 1) or not 0 < ufunc.nin < 3:
        return None
    moving: list[tuple[bool, bool]] = []
    columns: int | None = None  # of the rows that an operand has fewer of, or has an element for each of
    for operand in operands:
        if operand is None or (operand.__class__ is not np.ndarray and not abs(operand) <= _LARGEST[dtype]):
            return None
        shape: tuple[int, ...] = getattr(operand, "shape", ())
        if shape in ((), y.shape):
            moving.append((shape == y.shape,) * 2)
            continue
        if not exact or columns is not None:
            return None
        kept = shape
        while kept and kept[0] == 1:
            kept = kept[1:]
        lead = y.ndim - len(kept)
        if kept and y.shape[lead:] == kept and operand.ndim <= y.ndim:
            columns = operand.size
            moving.append((False, True))
        elif operand.ndim == y.ndim and y.shape[:-1] == shape[:-1] and shape[-1] == 1:
            columns = y.shape[-1]
            moving.append((True, False))
        else:
            return None
    columns = columns or y.size
    rows = y.size // columns
    return lambda make, at: make.elementwise(ufunc, dtype, (rows, columns), tuple(at[:len(moving) + 1]), (*moving, (True, True)))


def _activation(name: str) -> Callable[..., Recipe | None]:
    """The recipe of an activation, or of its gradient."""
    def find(dtype: Any, direct: Any, arrays: Sequence[Array], attributes: dict[str, Any]) -> Recipe | None:
        formula = name.replace("gelu", "gelu_tanh") if attributes.get("approximate") == "tanh" else name
        size = arrays[0].size
        if any(a.size != size for a in arrays):
            return None

        def steps(make: Any, at: Sequence[int]) -> list[Any]:
            return make.activation(formula, dtype, size, tuple(at))

        return steps if _module().is_serial(formula, dtype, size) else None

    return find


def _linear(dtype: Any, direct: Any, arrays: Sequence[Any], attributes: dict[str, Any]) -> Recipe | None:
    if direct is None:
        return None
    (m, k), n = arrays[0].shape, arrays[1].shape[0]
    return lambda make, at: [*make.product(dtype, (m, k, n), (at[0], at[1], at[3]), (False, True)),
                             *make.plus_row(dtype, m, n, at[3], at[2])]


def _linear_grad(dtype: Any, direct: Any, arrays: Sequence[Any], attributes: dict[str, Any]) -> Recipe | None:
    g, x, weight = arrays
    if direct is None or not is_row_by_row(g):
        return None
    (m, n), k = g.shape, x.shape[1]
    to_x_too = weight is not None  # a recipe keeps no array

    def steps(make: Any, at: Sequence[int]) -> list[Any]:
        to_x = [] if not to_x_too else make.product(dtype, (m, n, k), (at[0], at[2], at[3]), (False, False))
        return [*to_x, *make.product(dtype, (n, m, k), (at[0], at[1], at[4]), (True, False)),
                *make.sum_of_rows(dtype, m, n, at[0], at[5])]

    return steps


def _product(dtype: Any, direct: Any, arrays: Sequence[Any], attributes: dict[str, Any]) -> Recipe | None:
    a, b = arrays
    turned = bool(attributes.get("transpose_a")), bool(attributes.get("transpose_b"))
    if a.ndim != 2 or b.ndim != 2 or not matmul.are_small(a.T if turned[0] else a, b.T if turned[1] else b):
        return None
    (m, k), n = a.shape[::-1] if turned[0] else a.shape, b.shape[0 if turned[1] else 1]
    return lambda make, at: make.product(dtype, (m, k, n), tuple(at), turned)


def _sum(dtype: Any, direct: Any, arrays: Sequence[Any], attributes: dict[str, Any]) -> Recipe | None:
    (x,) = arrays
    if attributes["axis"] not in (0, (0,)) or attributes.get("dtype") is not None or not is_row_by_row(x):
        return None
    m, n = x.shape
    return lambda make, at: make.sum_of_rows(dtype, m, n, *at)


_RECIPES: dict[str, Callable[[Any, Any, Sequence[Any], dict[str, Any]], Recipe | None]] = {
    "linear": _linear, "linear_grad": _linear_grad, "matmul": _product, "sum": _sum,
    **{name: _activation(name) for name in ("relu", "relu_grad", "sigmoid", "sigmoid_grad", "tanh", "tanh_grad", "gelu",
                                            "gelu_grad", "silu_grad")}}


@functools.cache
def _module() -> Any:
    from lucid_kernels.cpu.elementwise import chain

    return chain


def kernels() -> Any:
    """The module of chains; None where NumPy's loops are not found."""
    return _module() if _module().available() else None
