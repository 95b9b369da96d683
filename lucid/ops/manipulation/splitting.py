"""Parts of a tensor along a dimension, as views: `narrow`, `select`, `split` and its kin; and copies with such a part
replaced.
"""
from __future__ import annotations

import itertools
from typing import Any

from ... import _dtypes
from ...autograd.errors import type_name
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, require_tensor, room_for
from .._out import accepts_out
from ._join_split import split_op, unbind_op

METHODS = ("narrow", "select", "split", "split_with_sizes", "chunk", "tensor_split", "unbind", "hsplit", "vsplit", "dsplit",
           "select_scatter", "slice_scatter")


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """The view of `length` elements from `start` along `dim`. Raises RuntimeError for a 0-d tensor and what is out of range.

    >>> lucid.narrow(lucid.arange(6), 0, start=2, length=3)
    Tensor([2, 3, 4], requires_grad=False)
    """
    if require_tensor("narrow", input).ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    dim = canonical_dim(dim, input.ndim)
    size = input._array.shape[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start = start + size if start < 0 else start
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return input[(slice(None),) * dim + (slice(start, start + length),)]


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice at `index` along `dim`, which is removed. A view. Raises IndexError for an `index` that there is not.

    >>> lucid.select(lucid.tensor([[1, 2], [3, 4]]), 1, 0)
    Tensor([1, 3], requires_grad=False)
    """
    if input.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = canonical_dim(dim, input.ndim)
    size = input._array.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(input._array.shape)} at dimension "
                         f"{dim}")
    return input[(slice(None),) * dim + (index,)]


def split(tensor: Tensor, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None) -> tuple[Tensor, ...]:
    """Views of length `split_size` along `dim` (the last may be shorter), or of the given lengths.

    >>> lucid.split(lucid.arange(5), 2)
    (Tensor([0, 1], requires_grad=False), Tensor([2, 3], requires_grad=False), Tensor([4], requires_grad=False))
    >>> lucid.split(lucid.arange(5), [1, 4])
    (Tensor([0], requires_grad=False), Tensor([1, 2, 3, 4], requires_grad=False))
    """
    split_size_or_sections = split_size if split_size_or_sections is None else split_size_or_sections
    shape = tensor._array.shape
    dim = canonical_dim(dim, len(shape))
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    length = shape[dim]
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size < 0 or (size == 0 and length):
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
        boundaries = tuple(range(size or 1, length, size or 1))
    else:
        sections = [int(n) for n in split_size_or_sections]
        if sum(sections) != length or any(n < 0 for n in sections):
            raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at "
                               f"dimension {dim}), but got split_sizes={sections}")
        boundaries = tuple(itertools.accumulate(sections[:-1]))
    return split_op(tensor, boundaries=boundaries, axis=dim)


def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`split` by its name in PyTorch for views whose writes are not tracked; here they are.

    >>> lucid.unsafe_split(lucid.arange(5), 2)
    (Tensor([0, 1], requires_grad=False), Tensor([2, 3], requires_grad=False), Tensor([4], requires_grad=False))
    """
    return split(input, split_size, dim)



def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of the given lengths along `dim`, as by `split`.

    >>> lucid.split_with_sizes(lucid.arange(5), [2, 3])
    (Tensor([0, 1], requires_grad=False), Tensor([2, 3, 4], requires_grad=False))
    """
    return split(input, list(split_sizes), dim)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` views of equal length along `dim` (the last may be shorter).

    >>> lucid.chunk(lucid.arange(5), 3)
    (Tensor([0, 1], requires_grad=False), Tensor([2, 3], requires_grad=False), Tensor([4], requires_grad=False))
    """
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = input.size(dim)
    if length == 0:
        return split(input, [0] * chunks, dim)
    return split(input, -(-length // chunks), dim)


def tensor_split(input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None,
                 sections: Any = None, tensor_indices_or_sections: Any = None) -> tuple[Tensor, ...]:
    """Views along `dim`: that many, of lengths that differ by at most 1, or cut at the given indices (a list or a vector).

    A tensor of one number counts as that number. `indices`, `sections` and `tensor_indices_or_sections` are other names of
    `indices_or_sections`. Raises RuntimeError for a 0-d `input` and for less than one part.

    >>> lucid.tensor_split(lucid.arange(5), 3)
    (Tensor([0, 1], requires_grad=False), Tensor([2, 3], requires_grad=False), Tensor([4], requires_grad=False))
    >>> lucid.tensor_split(lucid.arange(5), (1, 4))
    (Tensor([0], requires_grad=False), Tensor([1, 2, 3], requires_grad=False), Tensor([4], requires_grad=False))
    """
    indices_or_sections = _one_of("tensor_split", indices_or_sections, indices, sections, tensor_indices_or_sections)
    if require_tensor("tensor_split", input).ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = canonical_dim(dim, input.ndim)
    length = input._array.shape[dim]
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.dtype != _dtypes.int64:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                               f"{type_name(indices_or_sections.dtype)}")
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        if indices_or_sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {indices_or_sections}")
        parts, extra = indices_or_sections, length % indices_or_sections
        sizes = [length // parts + (i < extra) for i in range(parts)]
        cuts = [sum(sizes[:i]) for i in range(1, parts)]
    else:
        cuts = [min(max(int(i) + (length if i < 0 else 0), 0), length) for i in indices_or_sections]
    edges = [0, *cuts, length]
    return tuple(narrow(input, dim, a, max(b - a, 0)) for a, b in zip(edges[:-1], edges[1:], strict=True))


def _one_of(name: str, *given: Any) -> Any:
    """The one of `given` that is not None. Raises TypeError for none or several."""
    values = [value for value in given if value is not None]
    if len(values) != 1:
        raise TypeError(f"{name}() takes one of indices_or_sections, indices and sections, got {len(values)}")
    return values[0]


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along `dim`, which is removed. They are views, in a tuple.

    >>> lucid.unbind(lucid.tensor([[1, 2], [3, 4]]))
    (Tensor([1, 2], requires_grad=False), Tensor([3, 4], requires_grad=False))
    """
    dim = canonical_dim(dim, input.ndim)
    if input.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if input._array.shape[dim] == 0:
        return ()
    return unbind_op(input, axis=dim)


def _split_along(name: str, least: int, input: Tensor, given: tuple[Any, ...], dim: int) -> tuple[Tensor, ...]:
    indices_or_sections = _one_of(name, *given)
    if require_tensor(name, input).ndim < least:
        raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension{'s' * (least > 1)}, but got a "
                           f"tensor with {input.ndim} dimensions!")
    length = input._array.shape[dim]
    if isinstance(indices_or_sections, int) and (indices_or_sections == 0 or length % indices_or_sections):
        raise RuntimeError(f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {length} is "
                           f"not divisible by the split_size {indices_or_sections}!")
    return tensor_split(input, indices_or_sections, dim)


def hsplit(input: Tensor, indices_or_sections: Any = None, *, indices: Any = None, sections: Any = None) -> tuple[Tensor, ...]:
    """Views along dimension 1 (0 of a vector): that many of equal length, or cut at the indices.

    >>> lucid.hsplit(lucid.tensor([[1, 2], [3, 4]]), 2)
    (Tensor([[1],
            [3]], requires_grad=False), Tensor([[2],
            [4]], requires_grad=False))
    """
    return _split_along("hsplit", 1, input, (indices_or_sections, indices, sections), 0 if input.ndim == 1 else 1)


def vsplit(input: Tensor, indices_or_sections: Any = None, *, indices: Any = None, sections: Any = None) -> tuple[Tensor, ...]:
    """Views along dimension 0: that many of equal length, or cut at the indices.

    >>> lucid.vsplit(lucid.tensor([[1, 2], [3, 4]]), 2)
    (Tensor([[1, 2]], requires_grad=False), Tensor([[3, 4]], requires_grad=False))
    """
    return _split_along("vsplit", 2, input, (indices_or_sections, indices, sections), 0)


def dsplit(input: Tensor, indices_or_sections: Any = None, *, indices: Any = None, sections: Any = None) -> tuple[Tensor, ...]:
    """Views along dimension 2: that many of equal length, or cut at the indices.

    >>> lucid.dsplit(lucid.arange(4).view(1, 2, 2), 2)
    (Tensor([[[0],
             [2]]], requires_grad=False), Tensor([[[1],
             [3]]], requires_grad=False))
    """
    return _split_along("dsplit", 3, input, (indices_or_sections, indices, sections), 2)


def _replaced(input: Tensor, src: Tensor, place: Any) -> Tensor:
    result = room_for(input, src)
    view = place(result)
    if view.shape != src.shape:
        raise RuntimeError(f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size "
                           f"= {list(view.shape)}")
    view.copy_(src)
    return result


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of `input` with `src` at `index` of dimension `dim`.

    >>> lucid.select_scatter(lucid.zeros(2, 2), lucid.ones(2), 0, 1)
    Tensor([[0.0, 0.0],
            [1.0, 1.0]], requires_grad=False)
    """
    return _replaced(input, src, lambda t: select(t, dim, index))


@accepts_out
def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
                  step: int = 1) -> Tensor:
    """A copy of `input` with `src` at ``start:end:step`` of dimension `dim`.

    >>> lucid.slice_scatter(lucid.zeros(4), lucid.ones(2), 0, 1, 3)
    Tensor([0.0, 1.0, 1.0, 0.0], requires_grad=False)
    """
    axis = canonical_dim(dim, require_tensor("slice_scatter", input).ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return _replaced(input, src, lambda t: t[(slice(None),) * axis + (slice(start, end, step),)])


register(__name__)
