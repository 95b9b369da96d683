"""One element for each index along a dimension: `gather` reads them, `scatter` writes them."""
from __future__ import annotations

from typing import Any

from ...autograd.inplace import update, write
from ...autograd.op import Op, Pull
from ...tensor import Tensor
from .._operands import array_api_names, canonical_dim, fitted, reduce_to, require_tensor, shape_of
from .._out import accepts_out
from ..manipulation.broadcasting import broadcast_shapes
from ._index import check_index, index_tensor, require_long

METHODS = ("gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "take_along_dim")


def _gather_rule(needs: Any, x: Tensor, index: Tensor, *, axis: int) -> Pull:
    shape = x._array.shape
    return lambda g, y: (place_op(g, index, shape=shape, axis=axis), None)


def _place_rule(needs: Any, g: Tensor, index: Tensor, *, shape: tuple[int, ...], axis: int) -> Pull:
    return lambda gg, y: (gather_op(gg, index, axis=axis), None)


def _scatter_rule(needs: Any, x: Tensor, index: Tensor, source: Any, *, axis: int, accumulate: bool = False) -> Pull:
    needs_x, _, needs_source = needs
    source_shape = shape_of(source)

    def pull(g: Tensor, y: Any) -> tuple[Any, ...]:
        to_x = None
        if needs_x:
            to_x = g if accumulate else _scatter(g, index, 0, axis=axis)
        return to_x, None, reduce_to(gather_op(g, index, axis=axis), source_shape) if needs_source else None

    return pull


# For the modules beside this one too: without a check of the indices.
gather_op = Op("gather", _gather_rule)
# Zeros of a shape with the elements of a tensor added where `gather` would read: the gradient of what selects elements.
place_op = Op("gather_grad", _place_rule)
_scatter = Op("scatter", _scatter_rule)


def check_along(name: str, x: Tensor, index: Tensor, axis: int, source: Any = None) -> None:
    """Raise RuntimeError if the shapes of `x`, `index` and `source` do not fit for gather or scatter along `axis`."""
    shape, lengths = x._array.shape, index._array.shape
    if len(shape) != len(lengths):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for dim, (have, length) in enumerate(zip(shape, lengths, strict=True)):
        if dim != axis and length > have:
            raise RuntimeError(f"Size does not match at dimension {dim} expected index {list(lengths)} to be no larger "
                               f"than self {list(shape)} apart from dimension {axis}")
    if isinstance(source, Tensor) and source._array.ndim:
        if source._array.ndim != len(lengths):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        if any(n > m for n, m in zip(lengths, source._array.shape, strict=True)):
            raise RuntimeError(f"Expected index {list(lengths)} to be no larger than src {list(source.shape)}")
        if source._array.dtype != x._array.dtype:
            raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    check_index(index, shape[axis] if shape else 1, axis)


@accepts_out
@array_api_names
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """``out[i][j] = input[index[i][j]][j]`` for ``dim=0``: for each index, the element along `dim`.

    `index` has as many dimensions as `input` and is no longer, except along `dim`. Raises IndexError out of range.
    """
    axis = canonical_dim(dim, require_tensor("gather", input)._array.ndim)
    index = index_tensor("gather", index, input)
    if input._array.ndim + index._array.ndim <= 1:  # a 0-d tensor counts as one of one element
        return gather(input.reshape(-1), 0, index.reshape(-1)).reshape(index.shape)
    check_along("gather", input, index, axis)
    return gather_op(input, index, axis=axis)


def _scatter_arguments(name: str, x: Tensor, dim: int, index: Tensor, src: Any, value: Any) -> tuple[Tensor, Any, int]:
    axis = canonical_dim(dim, require_tensor(name, x)._array.ndim)
    index = index_tensor(name, index, x)
    source = fitted(value if src is None else src, x._array.dtype)
    if source.__class__ is float and x._array.dtype.kind in "iu":
        source = int(source)  # a number becomes one of the dtype before it is added or multiplied
    if index._array.ndim == 0 and x._array.ndim == 1:
        index = index.reshape(1)
    check_along(name, x, index, axis, source)
    if isinstance(source, Tensor) and source._array.ndim and source._array.shape != index._array.shape:
        source = source[tuple(slice(n) for n in index._array.shape)]
    return index, source, axis


@accepts_out
@array_api_names
def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
            reduce: str | None = None) -> Tensor:
    """`input` with `src` (a tensor or number) written where `gather` would read; the last of several writes stays.

    Raises IndexError out of range. ``reduce='add'`` adds, ``'multiply'`` multiplies with what is there.
    """
    if require_tensor("scatter", input)._array.ndim == 0:
        return scatter(input.reshape(1), dim, index, src, value=value, reduce=reduce).reshape(())
    index, source, axis = _scatter_arguments("scatter", input, dim, index, src, value)
    if reduce == "multiply":
        return _multiplied(input, axis, index, source)
    return _scatter(input, index, source, axis=axis, accumulate=_accumulates(reduce))


@array_api_names
def scatter_(self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
             reduce: str | None = None) -> Tensor:
    """`scatter` into this tensor itself."""
    if self._array.ndim == 0:
        scatter_(self.reshape(1), dim, index, src, value=value, reduce=reduce)
        return self
    index, source, axis = _scatter_arguments("scatter", self, dim, index, src, value)
    if reduce == "multiply":
        return write(self, lambda old: _multiplied(old, axis, index, source))
    return update(self, _scatter, index, source, axis=axis, accumulate=_accumulates(reduce))


def _accumulates(reduce: str | None) -> bool:
    if reduce not in (None, "add"):
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce}.")
    return reduce == "add"


def _multiplied(x: Tensor, axis: int, index: Tensor, source: Any) -> Tensor:
    from .scatter_reduce import scatter_reduce

    factors = source if isinstance(source, Tensor) and source._array.ndim else x.new_full(index.shape, source)
    return scatter_reduce(x, axis, index, factors, "prod")


@accepts_out
@array_api_names
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """`input` with `src` added where `gather` would read; repeated indices add up. Raises IndexError out of range."""
    return scatter(input, dim, index, src, reduce="add")


@array_api_names
def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """`scatter_add` into this tensor itself."""
    return scatter_(self, dim, index, src, reduce="add")


@accepts_out
@array_api_names
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather` with broadcasting; without `dim`, from the flattened tensor.

    Along `dim` indices count modulo its length; without it, raises IndexError out of range.
    """
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    require_long("take_along_dim", indices)
    axis = canonical_dim(dim, input._array.ndim)
    if input._array.ndim != indices._array.ndim:
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions, but "
                           f"got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
    mine, theirs = list(input._array.shape), list(indices._array.shape)
    length, count = mine[axis], theirs[axis]
    inside = indices.remainder(length) if length and indices._array.size else indices
    mine[axis] = theirs[axis] = 1
    if mine != theirs:
        mine = list(broadcast_shapes(mine, theirs))
        input = input.expand((*mine[:axis], length, *mine[axis + 1:]))
        inside = inside.expand((*mine[:axis], count, *mine[axis + 1:]))
    return gather(input, axis, inside)
