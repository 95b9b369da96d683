"""Stacks and splits along a named direction (h, v, d), and what goes with them: `atleast_2d`, `block_diag`, `rot90`, and
copies with a part replaced.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensor import Tensor
from . import shape as shapes
from ._operands import canonical_dim, common_dtype, require_tensor
from ._out import accepts_out
from .creation import tensor as make_tensor

METHODS = ("hsplit", "vsplit", "dsplit", "rot90", "select_scatter", "slice_scatter")


def _each(tensors: tuple[Any, ...], change: Any) -> Any:
    """`change` of one tensor, or a tuple of it for each of several."""
    if len(tensors) == 1 and not isinstance(tensors[0], (tuple, list)):
        return change(tensors[0])
    given = tensors[0] if len(tensors) == 1 else tensors
    return tuple(change(t) for t in given)


def atleast_1d(*tensors: Any) -> Any:
    """0-d tensors with one dimension, others as they are: one tensor, or a tuple for several."""
    return _each(tensors, lambda t: t.reshape(1) if t.ndim == 0 else t)


def atleast_2d(*tensors: Any) -> Any:
    """Tensors of fewer than two dimensions as rows, others as they are: one tensor, or a tuple for several."""
    return _each(tensors, lambda t: t.reshape(1, -1) if t.ndim < 2 else t)


def atleast_3d(*tensors: Any) -> Any:
    """Tensors of three dimensions: a vector (n,) becomes (1, n, 1), a matrix (m, n, 1). One tensor, or a tuple for several."""
    def change(t: Tensor) -> Tensor:
        if t.ndim < 2:
            return t.reshape(1, -1, 1)
        return t.unsqueeze(-1) if t.ndim == 2 else t

    return _each(tensors, change)


@accepts_out(castable=True)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along dimension 1, or 0 for tensors of one dimension or none."""
    given = _some("hstack", tensors, atleast_1d)
    return shapes.cat(given, 0 if given[0].ndim == 1 else 1)


@accepts_out(castable=True)
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along dimension 0; tensors of one dimension are rows."""
    return shapes.cat(_some("vstack", tensors, atleast_2d), 0)


row_stack = vstack


@accepts_out(castable=True)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along dimension 2, after `atleast_3d`."""
    return shapes.cat(_some("dstack", tensors, atleast_3d), 2)


@accepts_out(castable=True)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along dimension 1; tensors of one dimension or none are columns."""
    return shapes.cat(_some("column_stack", tensors, lambda *ts: [t.reshape(-1, 1) if t.ndim < 2 else t for t in ts[0]]), 1)


def _some(name: str, tensors: Sequence[Tensor], change: Any) -> Any:
    given = list(tensors)
    if not given:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return change(given)


def _split_along(name: str, least: int, input: Tensor, indices_or_sections: Any, dim: int) -> tuple[Tensor, ...]:
    if require_tensor(name, input).ndim < least:
        raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension{'s' * (least > 1)}, but got a "
                           f"tensor with {input.ndim} dimensions!")
    length = input._array.shape[dim]
    if isinstance(indices_or_sections, int) and (indices_or_sections == 0 or length % indices_or_sections):
        raise RuntimeError(f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {length} is "
                           f"not divisible by the split_size {indices_or_sections}!")
    return shapes.tensor_split(input, indices_or_sections, dim)


def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Views along dimension 1 (0 of a vector): that many of equal length, or cut at the indices."""
    return _split_along("hsplit", 1, input, indices_or_sections, 0 if input.ndim == 1 else 1)


def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Views along dimension 0: that many of equal length, or cut at the indices."""
    return _split_along("vsplit", 2, input, indices_or_sections, 0)


def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Views along dimension 2: that many of equal length, or cut at the indices."""
    return _split_along("dsplit", 3, input, indices_or_sections, 2)


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy turned `k` times by 90 degrees from the first of `dims` towards the second."""
    ndim = require_tensor("rot90", input).ndim
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    a, b = (canonical_dim(d, ndim) for d in dims)
    turn = k % 4
    if turn == 0:
        return input.clone()
    if turn == 2:
        return input.flip(a, b)
    return input.flip(b if turn == 1 else a).transpose(a, b).contiguous()


def block_diag(*tensors: Any) -> Tensor:
    """A matrix of zeros with the given matrices along its diagonal; vectors are rows. Dtypes are promoted."""
    if not tensors:
        return make_tensor([]).reshape(1, 0)
    given = [t if isinstance(t, Tensor) else make_tensor(t) for t in tensors]
    for number, t in enumerate(given):
        if t.ndim > 2:
            raise RuntimeError("torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                               f"{number} has {t.ndim} dimensions")
    dtype = common_dtype([t.reshape(1, -1) for t in given])
    blocks = [t.reshape(1, -1).to(dtype) if t.ndim < 2 else t.to(dtype) for t in given]
    width = sum(block.shape[1] for block in blocks)
    rows, before = [], 0
    for block in blocks:
        height, own = block.shape
        rows.append(shapes.cat([block.new_zeros(height, before), block, block.new_zeros(height, width - before - own)], 1))
        before += own
    return shapes.cat(rows, 0)


def _replaced(input: Tensor, src: Tensor, place: Any) -> Tensor:
    result = input.clone()
    view = place(result)
    if view.shape != src.shape:
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size "
                           f"= {list(view.shape)}")
    view.copy_(src)
    return result


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of `input` with `src` at `index` of dimension `dim`."""
    return _replaced(input, src, lambda t: shapes.select(t, dim, index))


def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
                  step: int = 1) -> Tensor:
    """A copy of `input` with `src` at ``start:end:step`` of dimension `dim`."""
    axis = canonical_dim(dim, require_tensor("slice_scatter", input).ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return _replaced(input, src, lambda t: t[(slice(None),) * axis + (slice(start, end, step),)])
