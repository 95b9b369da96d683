"""Embedding: rows of a table by index."""
from __future__ import annotations

from typing import Any

from ..autograd.errors import type_name
from ..autograd.op import Op, Pull, UnaryOp
from ..tensor import Tensor
from ._index import check_bounds
from ._operands import require_tensor

__all__ = ()  # a function of nn.functional only


def _embedding_rule(needs: Any, weight: Tensor, indices: Tensor, *, padding_idx: int | None) -> Pull:
    rows = weight._array.shape[0]
    return lambda g, y: (sum_rows(g, indices, rows=rows, padding_idx=padding_idx), None)


def _sum_rows_rule(needs: Any, g: Tensor, indices: Tensor, *, rows: int, padding_idx: int | None) -> Pull:
    def pull(gg: Tensor, y: Any) -> tuple[Any, Any]:
        picked = _embedding(gg, indices, padding_idx=padding_idx)
        return picked if padding_idx is None else picked * (indices != padding_idx).to(gg.dtype).unsqueeze(1), None

    return pull


_embedding = Op("embedding", _embedding_rule)
# The sums of the rows of one number: also for the bags of `embedding_bag`.
sum_rows = Op("embedding_grad", _sum_rows_rule)


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """The rows of `weight` (V, D) named by the int64 or int32 indices `input`: shape ``input.shape + (D,)``.

    The row `padding_idx` gets no gradient; with `scale_grad_by_freq` the gradient of a row is divided by the number of its
    occurrences. Raises IndexError for an index out of range, on a GPU at the next wait for the device; RuntimeError for other
    dtypes and shapes; AssertionError for a `padding_idx` out of range. `max_norm` and `sparse` raise NotImplementedError.
    """
    require_tensor("embedding", input), require_tensor("embedding", weight)
    if max_norm is not None:
        raise NotImplementedError("embedding: max_norm is not supported, because it would write to weight in the forward "
                                  "pass; renormalise the rows of weight before the call")
    if sparse:
        raise NotImplementedError("embedding: sparse gradients are not supported; use sparse=False")
    if weight._array.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.dtype.name not in ("int64", "int32"):
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; "
                           f"but got {type_name(input.dtype)} instead (while checking arguments for embedding)")
    rows, width = weight._array.shape
    if padding_idx is not None:
        assert -rows <= padding_idx < rows, "Padding_idx must be within num_embeddings"
        padding_idx %= rows
    flat = input.reshape(-1)
    check_bounds(flat._array, 0, rows, "index out of range in self")
    result = _embedding(weight, flat, padding_idx=padding_idx)
    if weight.requires_grad and scale_grad_by_freq:
        result = _with_scaled_gradient(result, _frequency_scale(flat, weight))
    return result.reshape(*input._array.shape, width)


def _frequency_scale(flat: Tensor, weight: Tensor) -> Tensor:
    """A column: one over the number of occurrences of each index."""
    ones = weight.detach().new_ones((flat._array.shape[0], 1))
    return 1 / _embedding(sum_rows(ones, flat, rows=weight._array.shape[0], padding_idx=None), flat, padding_idx=None)


def _with_scaled_gradient(x: Tensor, scale: Tensor) -> Tensor:
    """A copy of `x` whose gradient is multiplied by the constant `scale`."""
    def rule(needs: Any, x: Tensor) -> Any:
        return lambda g, y: (g * scale,)

    return UnaryOp("copy", rule)(x)
