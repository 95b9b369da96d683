"""Tensors joined to one: `cat`, `stack`, their variants with a named direction (h, v, d), and `block_diag`."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from ...autograd.calls import operation
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._independence import with_zero_gradients
from .._operands import canonical_dim, common_dtype, require_tensor, require_tensors
from .._out import accepts_out
from ..creation.creation import tensor as make_tensor
from ._join_split import concatenate_op, stack_op


@accepts_out(castable=True, refusal=TypeError)
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors joined along an existing dimension; dtypes are promoted, 1-d empty tensors skipped, as in PyTorch.

    >>> lucid.cat([lucid.tensor([[1, 2]]), lucid.tensor([[3, 4]])])
    Tensor([[1, 2],
            [3, 4]], requires_grad=False)
    >>> lucid.cat([lucid.tensor([[1, 2]]), lucid.tensor([[3, 4]])], dim=1)
    Tensor([[1, 2, 3, 4]], requires_grad=False)
    """
    given = require_tensors("cat", tensors)
    if not given:
        raise ValueError("expected a non-empty list of Tensors")
    skipped: list[Tensor] = []
    shapes = [tensor._array.shape for tensor in given]
    if () in shapes:
        raise RuntimeError(f"zero-dimensional tensor (at position {shapes.index(())}) cannot be concatenated")
    kept = given = _of_one_dtype(given)
    if (0,) in shapes:
        skipped = [t for t, shape in zip(tensors, shapes, strict=True) if shape == (0,)]
        kept = [t for t in given if t._array.shape != (0,)] or given[:1]
        shapes = [t._array.shape for t in kept]
    first = shapes[0]
    dim = canonical_dim(dim, len(first))
    for number, shape in enumerate(shapes):
        if shape == first:
            continue
        if len(shape) != len(first) or shape[:dim] != first[:dim] or shape[dim + 1:] != first[dim + 1:]:
            raise RuntimeError(f"Sizes of tensors must match except in dimension {dim}. Expected shape {list(first)} but got "
                               f"{list(shape)} for tensor number {number} in the list.")
    result: Tensor = concatenate_op(*kept, axis=dim)
    return with_zero_gradients(result, *skipped) if skipped else result


concat = concatenate = cat


@accepts_out(castable=True, refusal=TypeError)
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new dimension. Raises RuntimeError for different shapes.

    >>> lucid.stack([lucid.tensor([1, 2]), lucid.tensor([3, 4])])
    Tensor([[1, 2],
            [3, 4]], requires_grad=False)
    >>> lucid.stack([lucid.tensor([1, 2]), lucid.tensor([3, 4])], dim=1)
    Tensor([[1, 3],
            [2, 4]], requires_grad=False)
    """
    given = require_tensors("stack", tensors)
    if not given:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = given[0]._array.shape
    for number, tensor in enumerate(given):
        if tensor._array.shape != first:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                               f"{list(tensor._array.shape)} at entry {number}")
    return stack_op(*_of_one_dtype(given), axis=canonical_dim(dim, len(first) + 1))


def _of_one_dtype(tensors: list[Tensor]) -> list[Tensor]:
    """The tensors in the dtype that they have together."""
    dtype = tensors[0]._array.dtype
    for tensor in tensors:
        if tensor._array.dtype is not dtype and tensor._array.dtype != dtype:
            dtype = common_dtype(tensors)
            return [t.to(dtype) for t in tensors]
    return tensors


def _each(name: str, tensors: tuple[Any, ...], change: Any) -> Any:
    """`change` of one tensor, or a tuple of it for each of several."""
    if len(tensors) == 1 and not isinstance(tensors[0], (tuple, list)):
        return change(require_tensor(name, tensors[0]))
    given = require_tensors(name, tensors[0] if len(tensors) == 1 else tensors)
    return tuple(change(t) for t in given)


@overload
def atleast_1d(tensor: Tensor, /) -> Tensor: ...


@overload
def atleast_1d(*tensors: Any) -> tuple[Tensor, ...]: ...


def atleast_1d(*tensors: Any) -> Any:
    """0-d tensors with one dimension, others as they are: one tensor, or a tuple for several.

    >>> lucid.atleast_1d(lucid.tensor(3.0))
    Tensor([3.0], requires_grad=False)
    """
    return _each("atleast_1d", tensors, lambda t: t.reshape(1) if t.ndim == 0 else t)


@overload
def atleast_2d(tensor: Tensor, /) -> Tensor: ...


@overload
def atleast_2d(*tensors: Any) -> tuple[Tensor, ...]: ...


def atleast_2d(*tensors: Any) -> Any:
    """Tensors of fewer than two dimensions as rows, others as they are: one tensor, or a tuple for several.

    >>> lucid.atleast_2d(lucid.tensor([1.0, 2.0]))
    Tensor([[1.0, 2.0]], requires_grad=False)
    """
    return _each("atleast_2d", tensors, lambda t: t.reshape(1, -1) if t.ndim < 2 else t)


@overload
def atleast_3d(tensor: Tensor, /) -> Tensor: ...


@overload
def atleast_3d(*tensors: Any) -> tuple[Tensor, ...]: ...


def atleast_3d(*tensors: Any) -> Any:
    """Tensors of three dimensions: a vector (n,) becomes (1, n, 1), a matrix (m, n, 1). One tensor, or a tuple for several.

    >>> lucid.atleast_3d(lucid.zeros(2, 3)).shape
    lucid.Size([2, 3, 1])
    """
    def change(t: Tensor) -> Tensor:
        if t.ndim < 2:
            return t.reshape(1, -1, 1)
        return t.unsqueeze(-1) if t.ndim == 2 else t

    return _each("atleast_3d", tensors, change)


@accepts_out(castable=True, refusal=TypeError)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along dimension 1, or 0 for tensors of one dimension or none.

    >>> lucid.hstack([lucid.tensor([1, 2]), lucid.tensor([3])])
    Tensor([1, 2, 3], requires_grad=False)
    """
    given = _some("hstack", tensors, atleast_1d)
    return cat(given, 0 if given[0].ndim == 1 else 1)


@accepts_out(castable=True, refusal=TypeError)
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along dimension 0; tensors of one dimension are rows.

    >>> lucid.row_stack([lucid.tensor([1, 2]), lucid.tensor([3, 4])])
    Tensor([[1, 2],
            [3, 4]], requires_grad=False)
    """
    return cat(_some("vstack", tensors, atleast_2d), 0)


row_stack = vstack


@accepts_out(castable=True, refusal=TypeError)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along dimension 2, after `atleast_3d`.

    >>> lucid.dstack([lucid.tensor([1, 2]), lucid.tensor([3, 4])])
    Tensor([[[1, 3],
             [2, 4]]], requires_grad=False)
    """
    return cat(_some("dstack", tensors, atleast_3d), 2)


@accepts_out(castable=True, refusal=TypeError)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along dimension 1; tensors of one dimension or none are columns.

    >>> lucid.column_stack([lucid.tensor([1, 2]), lucid.tensor([3, 4])])
    Tensor([[1, 3],
            [2, 4]], requires_grad=False)
    """
    return cat(_some("column_stack", tensors, lambda *ts: [t.reshape(-1, 1) if t.ndim < 2 else t for t in ts[0]]), 1)


def _some(name: str, tensors: Sequence[Tensor], change: Any) -> Any:
    given = require_tensors(name, tensors)
    if not given:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return change(given)


def _assemble_rule(needs: Any, *parts: Tensor, shape: Any, indices: Any, axes: Any) -> Vjp:
    return lambda g, y: [g[index] if need else None for need, index in zip(needs, indices, strict=True)]


_assemble = operation("assemble", _assemble_rule)


def block_diag(*tensors: Any) -> Tensor:
    """A matrix of zeros with the given matrices along its diagonal; vectors are rows. Dtypes are promoted.

    >>> lucid.block_diag(lucid.ones(1, 2), lucid.tensor(5.0))
    Tensor([[1.0, 1.0, 0.0],
            [0.0, 0.0, 5.0]], requires_grad=False)
    """
    if not tensors:
        return make_tensor([]).reshape(1, 0)
    given = [t if isinstance(t, Tensor) else make_tensor(t) for t in tensors]
    for number, t in enumerate(given):
        if t.ndim > 2:
            raise RuntimeError("torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                               f"{number} has {t.ndim} dimensions")
    dtype = common_dtype([t.reshape(1, -1) for t in given])
    blocks = [t.reshape(1, -1).to(dtype) if t.ndim < 2 else t.to(dtype) for t in given]
    shape = sum(block.shape[0] for block in blocks), sum(block.shape[1] for block in blocks)
    slices, row, column = [], 0, 0
    for height, width in (block.shape for block in blocks):
        slices.append((slice(row, row + height), slice(column, column + width)))
        row, column = row + height, column + width
    result: Tensor = _assemble(*blocks, shape=shape, indices=slices, axes=None)
    return result
