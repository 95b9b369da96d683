"""Shape and movement. Where PyTorch returns a view, so does lucid: memory is shared, and in-place writes are tracked."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _dtypes
from ..autograd.op import Op, Pull
from ..tensor import Tensor
from ._operands import canonical_dim, canonical_dims, common_dtype, integers, reduce_to, require_tensor

METHODS = ("reshape", "view", "view_as", "reshape_as", "flatten", "unflatten", "ravel", "squeeze", "unsqueeze", "expand",
           "expand_as", "broadcast_to", "permute", "transpose", "swapaxes", "swapdims", "movedim", "moveaxis", "t", "split",
           "chunk", "tensor_split", "unbind", "repeat", "tile", "flip", "fliplr", "flipud", "roll", "narrow", "select",
           "repeat_interleave")


def _reshape_rule(needs: Any, x: Tensor, *, shape: tuple[int, ...]) -> Pull:
    source = x._array.shape
    return lambda g, y: (_reshape(g, shape=source),)


def _transpose_rule(needs: Any, x: Tensor, *, axes: tuple[int, ...]) -> Pull:
    inverse = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    return lambda g, y: (_transpose(g, axes=inverse),)


def _broadcast_rule(needs: Any, x: Tensor, *, shape: tuple[int, ...]) -> Pull:
    source = x._array.shape
    return lambda g, y: (reduce_to(g, source),)


def _split_rule(needs: Any, x: Tensor, *, boundaries: tuple[int, ...], axis: int) -> Pull:
    shape = x._array.shape
    edges = (0, *boundaries, shape[axis])
    dtype, device = x.dtype, x.device

    def pull(gs: list[Tensor | None], y: Any) -> tuple[Tensor]:
        from .creation import zeros

        parts = []
        for number, (start, stop) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
            part = gs[number] if number < len(gs) else None
            if part is None:
                part = zeros((*shape[:axis], stop - start, *shape[axis + 1:]), dtype=dtype, device=device)
            parts.append(part)
        return (_concatenate(*parts, axis=axis),)

    return pull


def _concatenate_rule(needs: Any, *tensors: Tensor, axis: int) -> Pull:
    lengths = [t._array.shape[axis] for t in tensors]
    boundaries = tuple(sum(lengths[:i]) for i in range(1, len(lengths)))

    def pull(g: Tensor, y: Any) -> tuple[Tensor | None, ...]:
        parts = _split(g, boundaries=boundaries, axis=axis)
        return tuple(part if need else None for part, need in zip(parts, needs, strict=True))

    return pull


def _stack_rule(needs: Any, *tensors: Tensor, axis: int) -> Pull:
    return lambda g, y: tuple(select(g, axis, i) if need else None for i, need in enumerate(needs))


_reshape = Op("reshape", _reshape_rule, view=True)
_transpose = Op("transpose", _transpose_rule, view=True)
_broadcast_to = Op("broadcast_to", _broadcast_rule, view=True)
_split = Op("split", _split_rule, view=True)
_concatenate = Op("concatenate", _concatenate_rule)
_stack = Op("stack", _stack_rule)
_flip: Op = Op("flip", lambda needs, x, *, axis: lambda g, y: (_flip(g, axis=axis),))


def _roll_rule(needs: Any, x: Tensor, *, shift: tuple[int, ...], axis: tuple[int, ...]) -> Pull:
    back = tuple(-s for s in shift)
    return lambda g, y: (_roll(g, shift=back, axis=axis),)


_roll = Op("roll", _roll_rule)


def _resolve(shape: tuple[int, ...], size: int, given: Sequence[int]) -> tuple[int, ...]:
    """`shape` with its -1 replaced. Raises RuntimeError if `size` elements do not fit."""
    if -1 in shape:
        if shape.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        rest = math.prod(n for n in shape if n != -1)
        if rest == 0:
            raise RuntimeError(f"cannot reshape tensor of {size} elements into shape {list(shape)} because the unspecified "
                               "dimension size -1 can be any value and is ambiguous")
        if size % rest:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
        return tuple(size // rest if n == -1 else n for n in shape)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"invalid shape dimension {min(shape)}")
    if math.prod(shape) != size:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return shape


def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The elements in another shape, one length of which may be -1; a view where the memory allows it."""
    x = require_tensor("reshape", input)._array
    return _reshape(input, shape=_resolve(integers(shape), x.size, x.shape))


def view(input: Tensor, *shape: Any) -> Tensor:
    """`reshape` that never copies; with a dtype, the same bytes as that dtype.

    Raises RuntimeError if the memory does not allow the shape: use `reshape` then.
    """
    if len(shape) == 1 and not isinstance(shape[0], (int, tuple, list)):
        return _view_dtype(input, _dtypes.as_dtype(shape[0]))
    result = reshape(input, *shape)
    if result._view is None and result._array is not input._array and result._array.size > 1:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension spans "
                           "across two contiguous subspaces). Use .reshape(...) instead.")
    return result


def _view_dtype(input: Tensor, dtype: Any) -> Tensor:
    if input._node is not None:
        raise RuntimeError("view with another dtype is not differentiable; detach() the tensor first")
    return _reinterpret(input, dtype=dtype)


_reinterpret = Op("view_dtype", view=True)


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """`view` with the shape of `other`."""
    return view(input, other.shape)


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """`reshape` to the shape of `other`."""
    return reshape(input, other.shape)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions `start_dim` to `end_dim` as one; a 0-d tensor becomes 1-d."""
    ndim = input.ndim
    first, last = canonical_dim(start_dim, ndim), canonical_dim(end_dim, ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    shape = input._array.shape
    if ndim and first == last:
        return input
    return _reshape(input, shape=(*shape[:first], math.prod(shape[first:last + 1]), *shape[last + 1:]))


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Dimension `dim` as several of lengths `sizes`, one of which may be -1."""
    dim = canonical_dim(dim, input.ndim)
    shape = input._array.shape
    return _reshape(input, shape=(*shape[:dim], *_resolve(tuple(sizes), shape[dim], shape), *shape[dim + 1:]))


def ravel(input: Tensor) -> Tensor:
    """The elements in one dimension."""
    return reshape(input, -1) if input.numel() else reshape(input, 0)


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without the dimensions of length 1, or without those of `dim` that have length 1."""
    shape = input._array.shape
    dims = canonical_dims(dim, len(shape)) if dim is not None else range(len(shape))
    return _reshape(input, shape=tuple(n for i, n in enumerate(shape) if n != 1 or i not in dims))


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a dimension of length 1 inserted at `dim`."""
    shape = input._array.shape
    dim = canonical_dim(dim, len(shape) + 1)
    return _reshape(input, shape=(*shape[:dim], 1, *shape[dim:]))


def expand(input: Tensor, *sizes: Any) -> Tensor:
    """Dimensions of length 1 repeated without a copy; -1 keeps a length. New dimensions come first."""
    wanted, shape = integers(sizes), input._array.shape
    lead = len(wanted) - len(shape)
    if lead < 0:
        raise RuntimeError(f"expand({list(wanted)}, size={list(shape)}): the number of sizes provided ({len(wanted)}) must "
                           f"be greater or equal to the number of dimensions in the tensor ({len(shape)})")
    full = []
    for i, n in enumerate(wanted):
        own = shape[i - lead] if i >= lead else None
        if n == -1:
            if own is None:
                raise RuntimeError("The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                                   f"dimension {i}")
            n = own
        elif own not in (None, 1, n):
            raise RuntimeError(f"The expanded size of the tensor ({n}) must match the existing size ({own}) at "
                               f"non-singleton dimension {i}. Target sizes: {list(wanted)}. Tensor sizes: {list(shape)}")
        full.append(n)
    return _broadcast_to(input, shape=tuple(full))


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """`expand` to the shape of `other`."""
    return expand(input, other.shape)


def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """`expand` to `size`."""
    return expand(input, size)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """All tensors expanded to the shape that they have together."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    shape = broadcast_shapes(*[t.shape for t in given])
    return tuple(expand(t, shape) for t in given)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that tensors of these shapes have together. Raises RuntimeError if they do not broadcast."""
    rank = max((len(s) for s in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for i, n in enumerate(shape, rank - len(shape)):
            if n != 1 and result[i] not in (1, n):
                raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape: "
                                   f"{[list(s) for s in shapes]}")
            result[i] = n if n != 1 else result[i]
    return tuple(result)


def permute(input: Tensor, *dims: Any) -> Tensor:
    """The dimensions in another order."""
    axes = integers(dims)
    if len(axes) != input.ndim:
        raise RuntimeError("permute: number of dimensions in the tensor input does not match the length of the desired "
                           f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(axes)}")
    if not axes:
        return input.view(())
    axes = tuple(canonical_dim(d, input.ndim) for d in axes)
    if len(set(axes)) != len(axes):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _transpose(input, axes=axes)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    ndim = input.ndim
    dim0, dim1 = canonical_dim(dim0, ndim), canonical_dim(dim1, ndim)
    axes = list(range(ndim))
    if ndim:
        axes[dim0], axes[dim1] = dim1, dim0
    return _transpose(input, axes=tuple(axes))


swapdims = transpose


def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two dimensions exchanged: `transpose` with NumPy's names."""
    return transpose(input, axis0, axis1)


def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; tensors of fewer dimensions as they are."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return transpose(input, 0, 1) if input.ndim == 2 else input


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions `source` moved to `destination`, the others in their order."""
    ndim = input.ndim
    source = (source,) if isinstance(source, int) else tuple(source)
    destination = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the "
                           f"same number of dims as destination ({list(destination)} dims)")
    src, dst = canonical_dims(source, ndim), canonical_dims(destination, ndim)
    rest = iter(i for i in range(ndim) if i not in src)
    return _transpose(input, axes=tuple(src[dst.index(i)] if i in dst else next(rest) for i in range(ndim)))


moveaxis = movedim


def adjoint_view(input: Tensor) -> Tensor:
    """The last two dimensions exchanged (the property `mT`)."""
    if input.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor.")
    return transpose(input, -2, -1)


def reverse_view(input: Tensor) -> Tensor:
    """The dimensions in reverse order (the property `T`)."""
    return permute(input, *reversed(range(input.ndim))) if input.ndim else input


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors joined along an existing dimension; dtypes are promoted, 1-d empty tensors skipped, as in PyTorch."""
    given = list(tensors)
    if not given:
        raise ValueError("expected a non-empty list of Tensors")
    for position, tensor in enumerate(given):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(tensor).__name__}")
        if tensor.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    dtype = common_dtype(given)
    kept = [t for t in given if t._array.shape != (0,)] or given[:1]
    first = kept[0]._array.shape
    dim = canonical_dim(dim, len(first))
    for number, tensor in enumerate(kept):
        shape = tensor._array.shape
        if len(shape) != len(first) or any(a != b for i, (a, b) in enumerate(zip(first, shape, strict=True)) if i != dim):
            raise RuntimeError(f"Sizes of tensors must match except in dimension {dim}. Expected shape {list(first)} but got "
                               f"{list(shape)} for tensor number {number} in the list.")
    return _concatenate(*[t.to(dtype) for t in kept], axis=dim)


concat = concatenate = cat


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new dimension."""
    given = list(tensors)
    if not given:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = given[0]._array.shape
    for number, tensor in enumerate(given):
        if tensor._array.shape != first:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                               f"{list(tensor._array.shape)} at entry {number}")
    dtype = common_dtype(given)
    return _stack(*[t.to(dtype) for t in given], axis=canonical_dim(dim, len(first) + 1))


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of length `split_size` along `dim` (the last may be shorter), or of the given lengths."""
    dim = canonical_dim(dim, tensor.ndim)
    if tensor.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    length = tensor._array.shape[dim]
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size < 0 or (size == 0 and length):
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
        sections = [min(size, length - start) for start in range(0, length, size or 1)] or [0]
    else:
        sections = [int(n) for n in split_size_or_sections]
        if sum(sections) != length or any(n < 0 for n in sections):
            raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at "
                               f"dimension {dim}), but got split_sizes={sections}")
    boundaries = tuple(sum(sections[:i]) for i in range(1, len(sections)))
    return _split(tensor, boundaries=boundaries, axis=dim)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` views of equal length along `dim` (the last may be shorter)."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = input.size(dim)
    if length == 0:
        return split(input, [0] * chunks, dim)
    return split(input, -(-length // chunks), dim)


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views along `dim`: that many, of lengths that differ by at most 1, or cut at the given indices."""
    dim = canonical_dim(dim, input.ndim)
    length = input._array.shape[dim]
    if isinstance(indices_or_sections, int):
        parts, extra = indices_or_sections, length % indices_or_sections
        sizes = [length // parts + (i < extra) for i in range(parts)]
        cuts = [sum(sizes[:i]) for i in range(1, parts)]
    else:
        cuts = [min(max(int(i) + (length if i < 0 else 0), 0), length) for i in indices_or_sections]
    edges = [0, *cuts, length]
    return tuple(narrow(input, dim, a, max(b - a, 0)) for a, b in zip(edges[:-1], edges[1:], strict=True))


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along `dim`, which is removed."""
    dim = canonical_dim(dim, input.ndim)
    if input.ndim == 0:
        raise RuntimeError("Dimension specified as 0 but tensor has no dimensions")
    if input._array.shape[dim] == 0:
        return ()
    return tuple(squeeze(part, dim) for part in split(input, 1, dim))


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """The view of `length` elements from `start` along `dim`."""
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
    """The slice at `index` along `dim`, which is removed."""
    if input.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = canonical_dim(dim, input.ndim)
    size = input._array.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(input._array.shape)} at dimension "
                         f"{dim}")
    return input[(slice(None),) * dim + (index,)]


def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """The tensor repeated along each dimension; more counts than dimensions add dimensions in front."""
    counts, shape = integers(repeats), input._array.shape
    if len(counts) < len(shape):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    full = (1,) * (len(counts) - len(shape)) + shape
    pairs = [n for count, length in zip(counts, full, strict=True) for n in (count, length)]
    wide = reshape(input, [n for length in full for n in (1, length)])
    return _copied_as(expand(wide, pairs), tuple(c * n for c, n in zip(counts, full, strict=True)))


def _copied_as(expanded: Tensor, shape: tuple[int, ...]) -> Tensor:
    """An expanded tensor copied into memory of its own, in another shape."""
    return reshape(expanded.clone(), shape)


def tile(input: Tensor, *dims: Any) -> Tensor:
    """`repeat` with missing counts, in front, taken as 1."""
    counts = integers(dims)
    return repeat(input, (1,) * max(input.ndim - len(counts), 0) + counts)


def repeat_interleave(input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Each element (or slice along `dim`) repeated in place; `repeats` is a number or one number for each.

    Without `repeats`, `input` is the vector of numbers, and the result says which of them each place belongs to. `output_size`
    is the length that the result must have: RuntimeError otherwise.
    """
    if repeats is None:
        from .creation import arange

        if require_tensor("repeat_interleave", input).ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        return repeat_interleave(arange(input.numel(), device=input.device), input, 0, output_size=output_size)
    result = _repeated(input, repeats, dim)
    axis = 0 if dim is None else canonical_dim(dim, input.ndim)
    if output_size is not None and result._array.shape[axis] != output_size:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {result._array.shape[axis]}, got {output_size}")
    return result


def _repeated(input: Tensor, repeats: Any, dim: int | None) -> Tensor:
    if dim is None:
        input, dim = ravel(input), 0
    dim = canonical_dim(dim, input.ndim)
    length = input._array.shape[dim]
    if isinstance(repeats, Tensor) and repeats.numel() > 1:
        counts = repeats.tolist()
        if len(counts) != length:
            raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = {len(counts)} "
                               f"and input.size({dim}) = {length}")
        from .creation import tensor

        index = tensor([i for i, n in enumerate(counts) for _ in range(n)], dtype=_dtypes.int64, device=input.device)
        return input.index_select(dim, index)
    times = int(repeats)
    shape = input._array.shape
    wide = expand(unsqueeze(input, dim + 1), (*shape[:dim + 1], times, *shape[dim + 1:]))
    return _copied_as(wide, (*shape[:dim], length * times, *shape[dim + 1:]))


def flip(input: Tensor, *dims: Any) -> Tensor:
    """A copy with the order reversed along `dims`."""
    return _flip(input, axis=canonical_dims(integers(dims), input.ndim) if integers(dims) else ())


def fliplr(input: Tensor) -> Tensor:
    """`flip` along dimension 1."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    """`flip` along dimension 0."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """A copy with the elements moved along `dims`, those that fall off the end coming in at the front."""
    shift = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    if dims is None or (isinstance(dims, (tuple, list)) and not dims):
        if len(shift) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shift)}, dims:0")
        return reshape(_roll(ravel(input), shift=shift, axis=(0,)), input._array.shape)
    axes = tuple(canonical_dim(d, input.ndim) for d in ((dims,) if isinstance(dims, int) else dims))
    if len(axes) != len(shift):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shift)}, dims:{len(axes)}")
    return _roll(input, shift=shift, axis=axes)
