"""Embedding: rows of a table by index."""
from __future__ import annotations

from typing import Any

from ... import _dtypes, _recording, backends
from ...autograd.calls import operation, single_op
from ...autograd.errors import type_name
from ...autograd.grad_mode import no_grad
from ...autograd.op import Op, Vjp
from ...tensor import Tensor
from .._operands import require_tensor
from ..indexing.index import check_bounds
from ..indexing.nonzero import nonzero
from ..linalg.vector_norms import vector_norm
from ..sorting.unique import unique

__all__ = ()  # a function of nn.functional only

_INDICES = frozenset({_dtypes.int64, _dtypes.int32})


def _embedding_rule(needs: Any, weight: Tensor, indices: Tensor, *, padding_idx: int | None) -> Vjp:
    rows, width = weight._array.shape

    def vjp(g: Tensor, y: Any) -> tuple[Tensor, None]:
        flat = indices._array.ndim == 1
        return sum_rows(g if flat else g.reshape(indices._array.size, width), indices if flat else indices.reshape(-1), rows=rows,
                        padding_idx=padding_idx), None

    return vjp


def _sum_rows_rule(needs: Any, g: Tensor, indices: Tensor, *, rows: int, padding_idx: int | None) -> Vjp:
    def vjp(gg: Tensor, y: Any) -> tuple[Any, Any]:
        picked = embedding_op(gg, indices, padding_idx=padding_idx)
        return picked if padding_idx is None else picked * (indices != padding_idx).to(gg.dtype).unsqueeze(1), None

    return vjp


def sparse_rows(rows: Tensor, indices: Tensor, shape: tuple[int, ...], padding_idx: int | None) -> Tensor:
    """The sparse gradient of a table of `shape`: `rows` (n, D) at `indices` (n,), without those of the padding."""
    from ..sparse.values import rows_at  # with the first sparse gradient

    if padding_idx is not None:
        kept = nonzero(indices != padding_idx).reshape(-1)
        rows, indices = rows[kept], indices[kept]
    return rows_at(rows, indices, shape)


def _sparse_rule(needs: Any, weight: Tensor, indices: Tensor, *, padding_idx: int | None) -> Vjp:
    shape = weight._array.shape

    def vjp(g: Tensor, y: Any) -> tuple[Tensor, None]:
        return sparse_rows(g.reshape(indices._array.size, shape[1]), indices.reshape(-1), shape, padding_idx), None

    return vjp


def _refusing_rule(needs: Any, weight: Tensor, indices: Tensor, *, padding_idx: int | None) -> Vjp:
    def vjp(g: Tensor, y: Any) -> Any:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")

    return vjp


# Without a check of the indices, which may have any shape.
embedding_op = single_op("embedding", _embedding_rule)
_sparse_embedding = operation("embedding", _sparse_rule)
_embedding_with_frequency = operation("embedding", _refusing_rule)
# The sums of the rows of one number: also for the bags of `embedding_bag`.
sum_rows = single_op("embedding_grad", _sum_rows_rule)


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """The rows of `weight` (V, D) named by the int64 or int32 indices `input`: shape ``input.shape + (D,)``.

    The row `padding_idx` gets no gradient; with `scale_grad_by_freq` the gradient of a row is divided by the number of its
    occurrences. With `max_norm`, rows that are named and have a larger norm of order `norm_type` are first scaled down to it, in
    `weight` itself. Raises IndexError for an index out of range, on a GPU at the next wait for the device; RuntimeError for other
    dtypes and shapes; AssertionError for a `padding_idx` out of range. With `sparse` the gradient is a sparse tensor of the rows
    that were named, and cannot be scaled by frequency (RuntimeError in `backward`).

    >>> F.embedding(lucid.tensor([[0, 2]]), lucid.tensor([[1.0, 1.5], [2.0, 2.5], [3.0, 3.5]]))
    Tensor([[[1.0, 1.5],
             [3.0, 3.5]]], requires_grad=False)
    """
    if input.__class__ is not Tensor:
        require_tensor("embedding", input)
    if weight.__class__ is not Tensor:
        require_tensor("embedding", weight)
    if weight._array.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input._array.dtype not in _INDICES:
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; "
                           f"but got {type_name(input.dtype)} instead (while checking arguments for embedding)")
    rows = weight._array.shape[0]
    if padding_idx is not None:
        assert -rows <= padding_idx < rows, "Padding_idx must be within num_embeddings"
        padding_idx %= rows
    check_bounds(input._array, 0, rows, "index out of range in self")
    if max_norm is not None:
        renormalize(weight, input, max_norm, norm_type)
    if sparse:
        return _embedding_with_frequency(weight, input, padding_idx=padding_idx) if scale_grad_by_freq else (
            _sparse_embedding(weight, input, padding_idx=padding_idx))
    result = embedding_op(weight, input, padding_idx=padding_idx)
    if weight.requires_grad and scale_grad_by_freq:
        scale = frequency_scale(input.reshape(-1), weight)
        result = _with_scaled_gradient(result, scale.reshape(*input._array.shape, 1))
    return result


def frequency_scale(flat: Tensor, weight: Tensor) -> Tensor:
    """A column: one over the number of occurrences of each index."""
    ones = weight.detach().new_ones((flat._array.shape[0], 1))
    return 1 / embedding_op(sum_rows(ones, flat, rows=weight._array.shape[0], padding_idx=None), flat, padding_idx=None)


def renormalize(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows that `indices` name down to `max_norm`, in place and behind the back of autograd."""
    with no_grad():
        rows = unique(indices)
        norms = vector_norm(embedding_op(weight, rows, padding_idx=None), norm_type, 1)
        large = norms > max_norm
        rows, norms = rows[large], norms[large]
        weight[rows] = weight[rows] * (max_norm / (norms + 1e-7)).to(weight.dtype).unsqueeze(1)


def _with_scaled_gradient(x: Tensor, scale: Tensor) -> Tensor:
    """A copy of `x` whose gradient is multiplied by the constant `scale`."""
    def rule(needs: Any, x: Tensor) -> Any:
        return lambda g, y: (g * scale,)

    return Op("copy", rule)(x)


@_recording.not_recorded  # a replay looks too
def _require_classes(tensor: Tensor, count: int) -> None:
    """Raise RuntimeError unless all elements are from 0 to `count` - 1."""
    if tensor._array.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if tensor._array.max() >= count:
        raise RuntimeError("Class values must be smaller than num_classes.")


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 zeros of shape ``tensor.shape + (num_classes,)`` with a one at the index in `tensor`.

    -1 takes the largest index plus 1. Raises RuntimeError for other dtypes than int64 and for indices out of range.

    >>> F.one_hot(lucid.tensor([0, 2]), num_classes=3)
    Tensor([[1, 0, 0],
            [0, 0, 1]], requires_grad=False)
    """
    if require_tensor("one_hot", tensor).dtype != _dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return tensor.new_zeros((*tensor.shape, num_classes))
    if tensor.is_meta and num_classes != -1:
        return tensor.new_empty((*tensor.shape, num_classes))
    indices = tensor._array
    if num_classes == -1:
        backends.note_read(indices)  # of which the shape depends
        num_classes = int(indices.max()) + 1
    _require_classes(tensor, num_classes)
    result = tensor.new_zeros((*indices.shape, num_classes))
    backends.run("scatter", (result._array, tensor.unsqueeze(-1)._array, 1), {"axis": indices.ndim, "out": result._array})
    return result
