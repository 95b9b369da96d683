"""Whole slices along a dimension, named by a vector of indices: read, added, written, filled, reduced."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...autograd.calls import single_op
from ...autograd.errors import type_name
from ...autograd.inplace import update, write
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, fitted, require_tensor, room_for
from .._out import accepts_out
from ..creation.creation import zeros
from .index import FULL, check_dim, check_index, index_tensor, require_long
from .indexing import write_at
from .masking import masked_fill_
from .scatter import REDUCTIONS, reduced

METHODS = ("index_select", "index_add", "index_add_", "index_fill", "index_fill_", "index_copy", "index_copy_",
           "index_reduce", "index_reduce_")


def _index_add_rule(needs: Any, x: Tensor, index: Tensor, source: Tensor, *, axis: int) -> Vjp:
    needs_source = needs[2]
    return lambda g, y: (g, None, index_select_op(g, index, axis=axis) if needs_source else None)


def _index_select_rule(needs: Any, x: Tensor, index: Tensor, *, axis: int) -> Vjp:
    shape = x._array.shape
    return lambda g, y: (_place(g, index, shape=shape, axis=axis), None)


def _place_rule(needs: Any, g: Tensor, index: Tensor, *, shape: tuple[int, ...], axis: int) -> Vjp:
    return lambda gg, y: (index_select_op(gg, index, axis=axis), None)


_index_add = single_op("index_add", _index_add_rule)
_place = single_op("index_select_grad", _place_rule)


# For the modules beside this one too: without a check of the indices.
index_select_op = single_op("index_select", _index_select_rule)


def require_vector(name: str, index: Tensor) -> Tensor:
    if index._array.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim}")
    return index if index._array.ndim else index.reshape(1)


@accepts_out
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of `input` along `dim` named by the 1-d `index`. Raises IndexError for an index out of range.

    >>> lucid.index_select(lucid.tensor([[1, 2, 3], [4, 5, 6]]), 1, lucid.tensor([2, 0]))
    Tensor([[3, 1],
            [6, 4]], requires_grad=False)
    """
    axis = canonical_dim(dim, require_tensor("index_select", input)._array.ndim)
    index = require_vector("index_select", index_tensor("index_select", index, input))
    if input._array.ndim == 0:
        return index_select(input.reshape(1), 0, index).reshape(())
    check_index(index, input._array.shape[axis], axis)
    return index_select_op(input, index, axis=axis)


def slices_arguments(name: str, x: Tensor, dim: int, index: Tensor, source: Tensor) -> tuple[Tensor, int]:
    axis = canonical_dim(dim, require_tensor(name, x)._array.ndim)
    index = require_vector(name, index_tensor(name, index, x))
    # A 0-d tensor takes a 0-d source.
    expected = (*x._array.shape[:axis], index._array.size, *x._array.shape[axis + 1:]) if x._array.ndim else ()
    if source._array.shape != expected:
        raise RuntimeError(f"{name}(): source of shape {list(source.shape)} does not match the slices of shape "
                           f"{list(expected)} that the index names along dimension {axis}")
    if source._array.dtype != x._array.dtype:
        raise RuntimeError(f"{name}(): self ({type_name(x.dtype)}) and source ({type_name(source.dtype)}) must have "
                           "the same scalar type")
    check_index(index, x._array.shape[axis] if x._array.ndim else 1, axis)
    return index, axis


@accepts_out
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """`input` with ``alpha * source`` added to the slices along `dim` that `index` names; repeated indices add up.

    >>> lucid.index_add(lucid.zeros(3), 0, lucid.tensor([0, 2, 0]), lucid.tensor([1.0, 2.0, 3.0]))
    Tensor([4.0, 0.0, 2.0], requires_grad=False)
    """
    index, axis = slices_arguments("index_add", input, dim, index, source)
    if input._array.ndim == 0:
        return index_add(input.reshape(1), 0, index, source.expand(index.shape), alpha=alpha).reshape(())
    return _index_add(input, index, source if alpha == 1 else source * alpha, axis=axis)


def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """`index_add` into this tensor itself."""
    index, axis = slices_arguments("index_add", self, dim, index, source)
    if self._array.ndim == 0:
        index_add_(self.reshape(1), 0, index, source.expand(index.shape), alpha=alpha)
        return self
    return update(self, _index_add, index, source if alpha == 1 else source * alpha, axis=axis)


def index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Write `source` over the slices along `dim` that `index`, of int64, names."""
    require_long("index_copy_", index)
    if self._array.ndim == 0:
        index_copy_(self.reshape(1), dim, index, source)
        return self
    if source._array.ndim == 0 and self._array.ndim == 1:
        if index._array.size != 1:
            raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.numel()})")
        source = source.reshape(1)
    index, axis = slices_arguments("index_copy", self, dim, index, source)
    return write_at(self, (*[FULL] * axis, index._array), source)


@accepts_out
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of `input` with `source` written over the slices along `dim` that `index` names.

    >>> lucid.index_copy(lucid.zeros(3), 0, lucid.tensor([2, 0]), lucid.tensor([1.0, 2.0]))
    Tensor([2.0, 0.0, 1.0], requires_grad=False)
    """
    return index_copy_(room_for(input, index, source), dim, index, source)


def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Fill the slices along `dim` that `index` names with one number. Raises IndexError for another index dtype than int64."""
    require_long("index_fill_", index, IndexError)
    axis = canonical_dim(dim, self._array.ndim)
    index = require_vector("index_fill", index_tensor("index_fill", index, self))
    size = self._array.shape[axis] if self._array.ndim else 1
    check_dim(index._array, axis, size, -size)
    if isinstance(value, Tensor) or self._array.ndim == 0:
        # A mask names each slice once, so that the gradient of `value` counts it once.
        mask = room_for(zeros(size, dtype=_dtypes.bool_, device=self.device), index)
        write_at(mask, (index._array,), True)
        lengths = [-1 if dim == axis else 1 for dim in range(axis, self._array.ndim)]
        return masked_fill_(self, mask.reshape(lengths), value)
    return write_at(self, (*[FULL] * axis, index._array), fitted(value, self._array.dtype))


def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy of `input` with the slices along `dim` that `index` names filled with one number.

    >>> lucid.index_fill(lucid.zeros(3), 0, lucid.tensor([0, 2]), 5.0)
    Tensor([5.0, 0.0, 5.0], requires_grad=False)
    """
    return index_fill_(room_for(input, index, value), dim, index, value)


@accepts_out
def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """`input` with the slices `source` combined by `reduce` ('prod', 'mean', 'amax', 'amin') with those along `dim` that the
    vector `index` names; otherwise as `scatter_reduce`.

    >>> lucid.index_reduce(lucid.ones(2), 0, lucid.tensor([0, 0, 1]), lucid.tensor([2.0, 3.0, 4.0]), "prod")
    Tensor([6.0, 4.0], requires_grad=False)
    """
    if reduce not in REDUCTIONS[1:]:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    if require_tensor("index_reduce", input)._array.ndim == 0 and source._array.ndim == 0:
        return index_reduce(input.clone().reshape(1), 0, index.reshape(-1), source.reshape(-1), reduce,
                            include_self=include_self).reshape(())
    index, axis = slices_arguments("index_reduce", input, dim, index, source)
    spread = index.reshape([-1 if d == axis else 1 for d in range(input.ndim)]).expand(source.shape)
    return reduced(input, axis, spread, source, reduce, include_self)


def index_reduce_(self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """`index_reduce` into this tensor itself."""
    return write(self, lambda old: index_reduce(old, dim, index, source, reduce, include_self=include_self))


register(__name__)
