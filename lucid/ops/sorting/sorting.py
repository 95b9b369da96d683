"""The elements in order: `sort`, `argsort`, `topk`."""
from __future__ import annotations

from ... import _dtypes
from ...autograd.calls import operation
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, require_tensor
from .._out import accepts_out
from ..reduction.selection import ValuesIndices, selected_rule

METHODS = ("sort", "argsort", "topk", "msort")


_sort = operation("sort", selected_rule, saved_outputs=(1,), outputs=(0,))
_topk = operation("topk", selected_rule, saved_outputs=(1,), outputs=(0,))


def _order_axis(name: str, input: Tensor, dim: int, refused: str) -> int:
    """The dimension to order. Raises RuntimeError for dtypes that PyTorch does not order."""
    kind = require_tensor(name, input)._array.dtype.kind
    if kind in refused:
        raise RuntimeError(f"{name} does not support {'bool' if kind == 'b' else 'complex'} dtypes")
    return canonical_dim(dim, input._array.ndim)


@accepts_out
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> ValuesIndices:
    """The elements in order along `dim`, and the int64 indices that they came from; NaN counts as the largest.

    The order of equal elements is always kept, whatever `stable` says.

    >>> lucid.sort(lucid.tensor([3, 1, 2]))
    ValuesIndices(values=Tensor([1, 2, 3], requires_grad=False), indices=Tensor([1, 2, 0], requires_grad=False))
    >>> lucid.sort(lucid.tensor([[3, 1], [2, 5]]), dim=0, descending=True).values
    Tensor([[3, 5],
            [2, 1]], requires_grad=False)
    """
    axis = _order_axis("sort", input, dim, "c")
    if input._array.ndim == 0:
        return ValuesIndices(input.clone(), input.new_zeros((), dtype=_dtypes.int64))
    return ValuesIndices(*_sort(input, axis=axis, descending=descending))


@accepts_out
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The int64 indices that sort along `dim`; equal elements keep their order.

    >>> lucid.argsort(lucid.tensor([3, 1, 2]))
    Tensor([1, 2, 0], requires_grad=False)
    >>> lucid.argsort(lucid.tensor([3, 1, 2]), descending=True)
    Tensor([0, 2, 1], requires_grad=False)
    """
    return sort(input.detach(), dim, descending).indices


@accepts_out
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> ValuesIndices:
    """The `k` largest (smallest) elements along `dim`, in order, and their indices.

    Raises RuntimeError if `k` is too large.

    >>> lucid.topk(lucid.tensor([3, 1, 5, 2]), 2)
    ValuesIndices(values=Tensor([5, 3], requires_grad=False), indices=Tensor([2, 0], requires_grad=False))
    """
    axis = _order_axis("topk", input, dim, "cb")
    if not 0 <= k <= (input._array.shape[axis] if input._array.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if input._array.ndim == 0:
        return ValuesIndices(input.clone(), input.new_zeros((), dtype=_dtypes.int64))
    return ValuesIndices(*_topk(input, k=k, axis=axis, largest=largest))


@accepts_out
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension.

    >>> lucid.msort(lucid.tensor([[3, 1], [2, 5]]))
    Tensor([[2, 1],
            [3, 5]], requires_grad=False)
    """
    return sort(require_tensor("msort", input), 0).values


register(__name__)
