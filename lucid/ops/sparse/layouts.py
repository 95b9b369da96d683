"""From one layout to another. Gradients come back in whatever layout they have."""
from __future__ import annotations

from typing import Any

from ..._layout import Layout
from ...autograd.grad_mode import no_grad
from ...backends.sparse import CompressedArray, CooArray
from ...tensor import Tensor, wrap
from ..indexing.nonzero import nonzero
from ..manipulation.joining import stack
from .coalescing import coalesced
from .parts import coordinates, is_sparse, recorded, replaced, starts
from .values import stored, values_at


def to_dense(input: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """A dense tensor with zeros where nothing is kept; a dense tensor itself.

    The gradient is kept in the places of `input` alone, unless `masked_grad` is False.
    """
    if is_sparse(input):
        input = dense_of(input, masked_grad is not False)
    return input if dtype is None else input.to(dtype)


def dense_of(input: Tensor, masked: bool = True) -> Tensor:
    """The dense tensor of a sparse one."""
    source = coalesced(input) if input._array.__class__ is CooArray and not input.is_meta else input
    places = source._array
    with no_grad():
        zeros = wrap(places.values).new_zeros(places.shape)
        if zeros.is_meta:
            full = zeros
        elif places.ndim == 0:
            full = zeros + wrap(places.values).sum()
        else:
            full = zeros.index_put(coordinates(places), wrap(places.values), accumulate=places.__class__ is not CooArray)

    def vjp(g: Tensor, y: Any) -> tuple[Tensor]:
        return (sparse_mask(g, wrap(places)) if masked else g,)

    return recorded("to_dense", full._array, (source,), vjp)


def sparse_mask(input: Tensor, mask: Tensor) -> Tensor:
    """The elements of `input`, dense or sparse, in the places that `mask`, a sparse tensor of its shape, keeps."""
    if not is_sparse(mask):
        raise RuntimeError("sparse_mask: mask must be sparse")
    if input.shape != mask.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(input.shape)} but mask has "
                           f"size {list(mask.shape)}")
    places = coalesced(mask)._array
    with no_grad():
        found = places.with_values(values_at(input, places)._array)
    was_sparse = is_sparse(input)

    def vjp(g: Tensor, y: Any) -> tuple[Tensor]:
        kept = sparse_mask(g, wrap(places))
        return (kept if was_sparse else to_dense(kept),)

    return recorded("sparse_mask", found, (input,), vjp)


def to_sparse(input: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None,
              dense_dim: int | None = None) -> Tensor:
    """`input` in a sparse `layout`, COO by default, of which the first `sparse_dim` dimensions are sparse (all).

    What is kept of a dense tensor are its elements, or slices of the other dimensions, that are not all zero.
    """
    if layout in (Layout.sparse_csr, Layout.sparse_csc):
        return _compressed(input, layout)
    if layout not in (None, Layout.sparse_coo):
        raise NotImplementedError(f"to_sparse: layout {layout} is not supported")
    if is_sparse(input):
        array = input._array
        if array.__class__ is CooArray:
            if sparse_dim is not None and sparse_dim != array.indices.shape[0]:
                raise RuntimeError("to_sparse: conversion from Sparse to Sparse with sparse_dim argument != self.sparse_dim() is "
                                   "not supported")
            return input
        return _coo_of_compressed(input)
    rank = input.ndim if sparse_dim is None else sparse_dim
    if not (0 < rank <= input.ndim or rank == input.ndim == 0):
        raise IndexError(f"Dimension out of range (expected to be in range of [1, {input.ndim}], but got {rank})")
    with no_grad():
        kept = input.detach() != 0
        if rank < input.ndim:
            kept = kept.flatten(rank).any(rank)
        places = nonzero(kept)
        indices = places.t().contiguous() if rank else places.reshape(0, places._array.shape[0])
        values = input.detach()[tuple(indices.unbind(0))] if rank else input.detach().reshape(1)[:places._array.shape[0]].clone()
        array = CooArray(indices._array, values._array, tuple(input.shape), True)
    return replaced("to_sparse", input, array, to_dense)


def _coo_of_compressed(input: Tensor) -> Tensor:
    array = input._array
    with no_grad():
        indices, values = stack(list(coordinates(array))), wrap(array.values)
        in_order = array.sparse_layout is Layout.sparse_csr
        if not in_order:
            order = (indices[0] * array.shape[1] + indices[1]).argsort()
            indices, values = indices[:, order], values[order]
        found = CooArray(indices._array, values._array, array.shape, True)
    return replaced("to_sparse", input, found, lambda g: _like(g, array.sparse_layout))


def _like(g: Tensor, layout: Layout) -> Tensor:
    """A gradient, in `layout` if it is sparse."""
    return to_sparse(g, layout=layout) if is_sparse(g) else g


def to_sparse_csr(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """A matrix by rows (`sparse_csr`)."""
    return to_sparse(input, layout=Layout.sparse_csr, dense_dim=dense_dim)


def to_sparse_csc(input: Tensor, dense_dim: int | None = None) -> Tensor:
    """A matrix by columns (`sparse_csc`)."""
    return to_sparse(input, layout=Layout.sparse_csc, dense_dim=dense_dim)


def _compressed(input: Tensor, layout: Layout) -> Tensor:
    if layout is input.layout:
        return input
    if input.ndim != 2 or (is_sparse(input) and input._array.values.ndim != 1):
        raise NotImplementedError(f"to_sparse: only matrices have the layout {layout}, without dense or batch dimensions; got "
                                  f"shape {list(input.shape)}")
    if not is_sparse(input):
        return replaced("to_sparse", input, _compressed(to_sparse(input.detach()), layout)._array, to_dense)
    source = coalesced(to_sparse(input))
    array, by_rows = source._array, layout is Layout.sparse_csr
    with no_grad():
        (rows, columns), values = coordinates(array), wrap(array.values)
        if not by_rows:
            order = (columns * array.shape[0] + rows).argsort()
            rows, columns, values = columns[order], rows[order], values[order]
        found = CompressedArray(starts(rows, array.shape[0 if by_rows else 1])._array, columns.clone()._array,
                                values.clone()._array, array.shape, layout)
    was = input.layout
    return replaced("to_sparse", source, found, lambda g: _like(g, was))


def coalesce(input: Tensor) -> Tensor:
    """The same with each place once, in order. Raises RuntimeError for layouts other than COO."""
    if input._array.__class__ is not CooArray:
        raise RuntimeError(f"coalesce expected sparse coordinate tensor layout but got {input.layout}")
    return coalesced(input)


def stored_of(input: Tensor, name: str) -> Tensor:
    """`values` of a tensor that is coalesced or compressed. Raises RuntimeError for others, as `indices` does."""
    if not is_sparse(input):
        raise RuntimeError(f"{name} expected sparse tensor layout but got {input.layout}")
    if not input._array.coalesced:
        raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
    return stored(input)
