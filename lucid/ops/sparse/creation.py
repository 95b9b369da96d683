"""New sparse tensors. Their indices are checked always: kernels read memory by them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _dtypes
from ..._layout import Layout
from ...autograd.grad_mode import no_grad
from ...backends.sparse import CompressedArray, CooArray
from ...tensor import Tensor, as_array, wrap
from .._operands import integers
from ..creation.creation import arange, as_tensor, zeros
from ..manipulation.joining import stack
from .coalescing import coalesced
from .layouts import to_sparse
from .parts import expanded
from .values import assembled


def _indices(name: str, value: Any, device: Any) -> Tensor:
    if isinstance(value, Tensor) and value.dtype.kind not in "iu":
        raise TypeError(f"{name} must be an int64 or int32 tensor, not one of {value.dtype.name}")
    found = value.detach() if isinstance(value, Tensor) else as_tensor(value)
    return wrap(as_array(found, _dtypes.int32 if found.dtype == _dtypes.int32 and name != "indices" else _dtypes.int64, device))


def _values(value: Any, dtype: Any, device: Any) -> Tensor:
    found = value if isinstance(value, Tensor) else as_tensor(value)
    return found.to(device=device, dtype=dtype) if dtype is not None or device is not None else found


def _finished(array: Any, values: Tensor, requires_grad: bool) -> Tensor:
    result = assembled(values, array)
    if requires_grad and result._node is None:
        result.requires_grad = True
    return result


def sparse_coo_tensor(indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
                      pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
                      is_coalesced: bool | None = None) -> Tensor:
    """A tensor of layout `sparse_coo` with `values` (nnz, ...) at `indices` (d, nnz), by default of the smallest `size` that has
    them; ``sparse_coo_tensor(size=(2, 3))`` has none. The values of a place that stands there several times add up.

    Gradients flow into `values`, whose memory it shares. The indices are always checked, whatever `check_invariants` says,
    but on the device 'meta'. Raises RuntimeError for indices, values and sizes that do not fit.

    >>> lucid.sparse_coo_tensor([[0, 1], [2, 0]], [5.0, 7.0], (2, 3)).to_dense()
    Tensor([[0.0, 0.0, 5.0],
            [7.0, 0.0, 0.0]], requires_grad=False)
    """
    if values is None:
        size = indices if size is None else size
        if size is None:
            raise TypeError("sparse_coo_tensor(): indices and values, or size, must be given")
        shape = integers((size,))
        empty = zeros(0, dtype=dtype, device=device)
        found = CooArray(zeros(len(shape), 0, dtype=_dtypes.int64, device=device)._array, empty._array, shape, True)
        return _finished(found, empty, requires_grad)
    values = _values(values, dtype, device)
    indices = _indices("indices", indices, values.device)
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if values.ndim < 1 or indices.shape[1] != values.shape[0]:
        raise RuntimeError("indices and values must have same nnz, but got nnz from indices: "
                           f"{indices.shape[1]}, nnz from values: {values.shape[0] if values.ndim else 0}")
    shape = _coo_shape(indices, values, size)
    array = CooArray(indices._array, values._array, shape, bool(is_coalesced) or indices.shape[1] < 2)
    if is_coalesced and not indices.is_meta:
        once = coalesced(wrap(CooArray(array.indices, array.values, shape)))._array
        if once.values.shape != array.values.shape:
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    return _finished(array, values, requires_grad)


_SIZE_ON_META = "a sparse tensor on the device 'meta', whose indices have no elements, needs its size"


def _coo_shape(indices: Tensor, values: Tensor, size: Any) -> tuple[int, ...]:
    """The shape, given or the smallest; the bounds of `indices` are checked."""
    sparse, count = indices._array.shape
    if size is None and indices.is_meta:
        raise RuntimeError(_SIZE_ON_META)
    known = count and sparse and not indices.is_meta
    low = indices.amin(1).tolist() if known else [0] * sparse
    high = indices.amax(1).tolist() if known else [-1] * sparse
    for dim, index in enumerate(low):
        if index < 0:
            raise RuntimeError(f"found negative index {index} for dim {dim}")
    if size is None:
        return (*[index + 1 for index in high], *values.shape[1:])
    shape = integers((size,))
    if any(length < 0 for length in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    if len(shape) != sparse + values.ndim - 1:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
                           f"sparse_dim = {sparse}, dense_dim = {values.ndim - 1}")
    for dim, index in enumerate(high):
        if index >= shape[dim]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but found index {index}")
    if shape[sparse:] != tuple(values.shape[1:]):
        raise RuntimeError(f"values has incorrect size, expected {[values.shape[0], *shape[sparse:]]}, got {list(values.shape)}")
    return shape


_NAMES = {Layout.sparse_csr: ("crow_indices", "col_indices", "rows", "cols"),
          Layout.sparse_csc: ("ccol_indices", "row_indices", "cols", "rows")}


def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
                             layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                             check_invariants: bool | None = None) -> Tensor:
    """A matrix by rows (`layout` sparse_csr) or columns (sparse_csc): those of row r are
    ``values[compressed_indices[r]:compressed_indices[r + 1]]``, in the columns `plain_indices`, which are sorted.

    The indices are always checked, whatever `check_invariants` says. Raises RuntimeError for what does not fit,
    NotImplementedError for batches, dense dimensions and layouts of blocks.

    >>> lucid.sparse_compressed_tensor([0, 1, 2], [2, 0], [5.0, 7.0], (2, 3), layout=lucid.sparse_csr).to_dense()
    Tensor([[0.0, 0.0, 5.0],
            [7.0, 0.0, 0.0]], requires_grad=False)
    """
    if layout is None:
        raise RuntimeError("sparse_compressed_tensor(): layout must be given")
    if layout not in _NAMES:
        raise NotImplementedError(f"sparse_compressed_tensor: layout {layout} is not supported")
    first, second, rows, columns = _NAMES[layout]
    values = _values(values, dtype, device)
    compressed = _indices(first, compressed_indices, values.device)
    plain = _indices(second, plain_indices, values.device)
    if compressed.ndim != 1 or plain.ndim != 1 or values.ndim != 1:
        raise NotImplementedError(f"{layout}: batches of matrices and dense dimensions are not supported; {first}, {second} and "
                                  f"values have {compressed.ndim}, {plain.ndim} and {values.ndim} dimensions")
    if compressed.dtype != plain.dtype:
        raise RuntimeError(f"{first} and {second} must have the same dtype, but got {compressed.dtype.name} and "
                           f"{plain.dtype.name}")
    count = values.shape[0]
    if not compressed.shape[0]:
        raise RuntimeError(f"`{first}.shape[-1] >= 1` is not satisfied.")
    if plain.shape[0] != count:
        raise RuntimeError(f"number of {second} ({plain.shape[0]}) and values ({count}) must be the same")
    if size is None and plain.is_meta:
        raise RuntimeError(_SIZE_ON_META)
    inner = int(plain.max()) + 1 if size is None and count else 0
    by_rows = layout is Layout.sparse_csr
    if size is None:
        outer = compressed.shape[0] - 1
        shape: tuple[int, ...] = (outer, inner) if by_rows else (inner, outer)
    else:
        shape = integers((size,))
        if len(shape) != 2:
            raise NotImplementedError(f"{layout}: only matrices are supported, but size is {list(shape)}")
    outer, inner = shape if by_rows else shape[::-1]
    if compressed.shape[0] != outer + 1:
        raise RuntimeError(f"`{first}.shape[-1] == n{rows} + 1` is not satisfied: {compressed.shape[0]} and {outer + 1}.")
    if not values.is_meta:
        _check_compressed(compressed, plain, count, inner, (first, second, rows, columns))
    array = CompressedArray(compressed._array, plain._array, values._array, shape, layout)
    return _finished(array, values, requires_grad)


def _check_compressed(compressed: Tensor, plain: Tensor, count: int, inner: int, names: Sequence[str]) -> None:
    first, second, rows, columns = names
    if int(compressed[0]) != 0:
        raise RuntimeError(f"`{first}[..., 0] == 0` is not satisfied.")
    if int(compressed[-1]) != count:
        raise RuntimeError(f"`{first}[..., -1] == nnz` is not satisfied.")
    steps = compressed[1:] - compressed[:-1]
    if bool(((steps < 0) | (steps > inner)).any()):
        raise RuntimeError(f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= n{columns}` is not satisfied.")
    if count and (int(plain.min()) < 0 or int(plain.max()) >= inner):
        raise RuntimeError(f"`0 <= {second} < n{columns}` is not satisfied.")
    row = expanded(compressed)
    if bool(((row[1:] == row[:-1]) & (plain[1:] <= plain[:-1])).any()):
        raise RuntimeError(f"`{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i = 1, ..., n{rows} are sorted and "
                           "distinct along the last dimension values` is not satisfied.")


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
                      device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                      check_invariants: bool | None = None) -> Tensor:
    """`sparse_compressed_tensor` by rows.

    >>> lucid.sparse_csr_tensor([0, 1, 2], [2, 0], [5.0, 7.0], (2, 3)).to_dense()
    Tensor([[0.0, 0.0, 5.0],
            [7.0, 0.0, 0.0]], requires_grad=False)
    """
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, dtype=dtype, layout=Layout.sparse_csr, device=device,
                                    requires_grad=requires_grad)


def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
                      device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                      check_invariants: bool | None = None) -> Tensor:
    """`sparse_compressed_tensor` by columns.

    >>> lucid.sparse_csc_tensor([0, 1, 1, 2], [1, 0], [7.0, 5.0], (2, 3)).to_dense()
    Tensor([[0.0, 0.0, 5.0],
            [7.0, 0.0, 0.0]], requires_grad=False)
    """
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, dtype=dtype, layout=Layout.sparse_csc, device=device,
                                    requires_grad=requires_grad)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any = None) -> Tensor:
    """A sparse matrix of `shape` with the rows of `diagonals` on the diagonals `offsets`: element j of a row in column j.

    Differentiable. Raises ValueError for offsets that repeat and shapes that do not fit.

    >>> lucid.sparse.spdiags(lucid.tensor([[1.0, 2.0, 3.0]]), lucid.tensor([1]), (3, 3)).to_dense()
    Tensor([[0.0, 2.0, 0.0],
            [0.0, 0.0, 3.0],
            [0.0, 0.0, 0.0]], requires_grad=False)
    """
    rows = diagonals if diagonals.ndim == 2 else diagonals.unsqueeze(0)
    numbers = offsets if offsets.ndim else offsets.unsqueeze(0)
    if diagonals.ndim > 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if numbers.ndim != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if numbers.shape[0] != rows.shape[0]:
        raise RuntimeError(f"Number of diagonals ({rows.shape[0]}) does not match the number of offsets ({numbers.shape[0]})")
    if numbers.dtype.kind != "i":
        raise RuntimeError("Offset Tensor must have dtype Long but got " + numbers.dtype.name)
    if numbers.unique().shape[0] != numbers.shape[0]:
        raise RuntimeError("Offset tensor contains duplicate values")
    if layout not in (None, Layout.sparse_coo, Layout.sparse_csr, Layout.sparse_csc):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout}")
    with no_grad():
        columns = zeros(rows.shape, dtype=_dtypes.int64, device=rows.device) + arange(rows.shape[1], device=rows.device)
        places = columns - numbers.long().unsqueeze(1)
        kept = (places >= 0) & (places < shape[0]) & (columns < shape[1])
        chosen = kept.nonzero()
        indices = stack([places[kept], columns[kept]])
    values = rows[tuple(chosen.unbind(1))]
    result = coalesced(assembled(values, CooArray(indices._array, rows.detach().reshape(-1)[:0]._array, tuple(shape))))
    return result if layout is None else to_sparse(result, layout=layout)

