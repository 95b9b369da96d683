"""What operations of linear algebra share: the conjugate transpose, checks of arguments, reports of matrices without a result."""
from __future__ import annotations

import functools
from typing import Any

from ... import _dtypes, _recording
from ...autograd.errors import type_name
from ...backends import to_host
from ...backends.common.linalg import LinAlgError
from ...tensor import Tensor
from .._operands import physical, require_tensor
from ..elementwise.arithmetic import conjugate


def adjoint(matrix: Tensor) -> Tensor:
    """The conjugate transpose of each matrix, for gradients: that of complex matrices is no view, unlike `mH`."""
    return conjugate(matrix).mT


def require_rank(name: str, input: Tensor, argument: str = "A") -> None:
    """Raise RuntimeError for less than two dimensions."""
    if require_tensor(name, input).ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def require_matrix(name: str, input: Tensor) -> None:
    """Raise RuntimeError for integers and for less than two dimensions."""
    require_rank(name, input)
    require_inexact(name, input)


def require_inexact(name: str, input: Tensor) -> None:
    """Raise NotImplementedError, a RuntimeError, for integers."""
    dtype = require_tensor(name, input)._array.dtype
    if not _dtypes.is_differentiable(dtype):
        raise NotImplementedError(f"{name}: Expected a floating point or complex tensor as input. Got {type_name(dtype)}")


def require_equal_sides(name: str, input: Tensor) -> None:
    """Raise RuntimeError for less than two dimensions and for matrices that are not square."""
    require_rank(name, input)
    rows, columns = input._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices")


def require_square(name: str, input: Tensor) -> None:
    """Raise RuntimeError as `require_matrix` does, and for matrices that are not square."""
    array = require_tensor(name, input)._array
    if array.dtype.kind in "fc" and array.ndim > 1 and array.shape[-1] == array.shape[-2]:
        return  # one check: those below take a microsecond
    require_matrix(name, input)
    require_equal_sides(name, input)


def require_lapack_dtype(routine: str, input: Tensor) -> None:
    """Raise NotImplementedError for dtypes that LAPACK has no routines for."""
    if input._array.dtype.kind not in "fc" or input._array.dtype.itemsize < 4:
        raise NotImplementedError(f'"{routine}" not implemented for \'{type_name(input.dtype)}\'')


def require_one_dtype(name: str, a: Tensor, b: Tensor, first: str = "A") -> None:
    """Raise RuntimeError for two dtypes."""
    if require_tensor(name, b)._array.dtype != a._array.dtype:
        raise RuntimeError(f"{name}: Expected {first} and B to have the same dtype, but found {first} of type "
                           f"{type_name(a.dtype)} and B of type {type_name(b.dtype)} instead")


def all_gradients(gradients: list[Any], count: int) -> list[Any]:
    """The gradients of all `count` outputs: the engine leaves out the last ones that have none."""
    return gradients + [None] * (count - len(gradients))


@_recording.not_recorded  # a replay looks too
def require_success(name: str, info: Tensor, problem: str) -> None:
    """Raise LinAlgError for the first element of `info` that is not 0; it takes the place of `{info}` in `problem`."""
    if info.is_meta:
        return
    found = to_host(physical(info._array))
    if not (found.any() if found.ndim else found):
        return
    numbers = found.reshape(-1).tolist()
    element = next(index for index, number in enumerate(numbers) if number)
    where = f"(Batch element {element}): " if found.ndim else ""
    raise LinAlgError(f"{name}: {where}{problem.format(info=numbers[element])}")


@functools.cache  # the name of a dtype takes 3 us
def real_dtype(dtype: Any) -> Any:
    """The dtype of sizes: float32 for complex64, float64 for complex128, else the same."""
    return {"complex64": _dtypes.float32, "complex128": _dtypes.float64}.get(dtype.name, dtype)


@functools.cache
def resolution(dtype: Any) -> float:
    """The distance from 1 to the next larger number."""
    return {"float16": 2.0 ** -10, "bfloat16": 2.0 ** -7, "float32": 2.0 ** -23}.get(real_dtype(dtype).name, 2.0 ** -52)
