"""How tensors lie in memory, and tensors over files."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import _dtypes
from ...backends.memory_format import channels_last, channels_last_3d, contiguous_format, inverse
from ...tensor import Tensor, as_array, wrap
from .._methods import register
from .._out import accepts_out
from ..creation.creation import device_for, empty
from .permutation import permute
from .splitting import chunk, narrow, split, split_with_sizes

METHODS = ("narrow_copy",)


def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], *, dtype: Any = None, device: Any = None,
                   requires_grad: bool = False) -> Tensor:
    """A tensor whose elements are undefined, without gaps: its dimensions lie in memory in the order `physical_layout`.

    >>> lucid.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
    order = [axis % len(size) if len(size) else axis for axis in physical_layout]
    if len(order) != len(size):
        raise RuntimeError("Number of dimensions in size does not match the length of the physical_layout; i.e. "
                           f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(order)}")
    if len(set(order)) != len(order):
        raise RuntimeError("Duplicate dim not allowed")
    lying = empty([size[axis] for axis in order], dtype=dtype, device=device)
    return permute(lying, inverse(tuple(order))).requires_grad_(requires_grad)


def from_file(filename: str | os.PathLike[str], shared: bool | None = None, size: int | None = 0, *, dtype: Any = None,
              device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of the first `size` elements of a file, read when they are used. Writes go into the file with `shared`, which
    makes a file that is not there, or longer; else they stay in memory. Raises RuntimeError for a file that is too short.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "numbers")
    ...     _ = lucid.from_file(path, shared=True, size=3, dtype=lucid.int32).copy_(lucid.arange(3))
    ...     print(lucid.from_file(path, size=3, dtype=lucid.int32))
    Tensor([0, 1, 2], dtype=int32, requires_grad=False)
    """
    chosen = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    count = size or 0
    needed = count * chosen.itemsize
    there = os.path.getsize(filename) if os.path.exists(filename) else None
    if shared and (there is None or there < needed):
        with open(filename, "ab") as file:
            file.truncate(needed)
    elif there is None:
        raise FileNotFoundError(f"from_file: {os.fspath(filename)} is not there; shared=True makes it")
    elif there < needed:
        raise RuntimeError(f"from_file: {os.fspath(filename)} has {there} bytes, and {count} elements take {needed}")
    if not count:
        return empty(0, dtype=chosen, device=device, requires_grad=requires_grad)
    memory: Any = np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(needed,))
    result = wrap(memory.view(np.ndarray).view(chosen))
    target = device_for(device)
    if target.type != "cpu":
        result = wrap(as_array(result, None, target, copy=True))
    return result.requires_grad_(requires_grad)


@accepts_out
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`narrow` in new memory.

    >>> lucid.arange(4).narrow_copy(0, 1, 2)
    Tensor([1, 2], requires_grad=False)
    """
    return narrow(input, dim, start, length).clone(memory_format=contiguous_format)


def _dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions in the order in which they lie in memory, from the outermost. With `ambiguity_check` RuntimeError where that
    is not unique; a list of memory formats allows their orders.

    >>> lucid.ones(2, 3).T.dim_order()
    (1, 0)
    """
    strides, shape = self.stride(), tuple(self.shape)
    order = tuple(sorted(range(self.ndim), key=lambda axis: (-strides[axis], axis)))
    formats = [] if isinstance(ambiguity_check, bool) else list(ambiguity_check)
    known = {contiguous_format: tuple(range(self.ndim)), channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}
    allowed = [known[each] for each in formats if self.is_contiguous(memory_format=each)]
    if len(allowed) == 1:
        return allowed[0]
    doubtful = any(length == 1 for length in shape) or len(set(strides)) < len(strides)
    if ambiguity_check is not False and doubtful:
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory "
                           "formats.")
    return order


def _is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same view of the same memory.

    >>> x = lucid.ones(2, 3)
    >>> x.is_set_to(x.view(2, 3)), x.is_set_to(x.T)
    (True, False)
    """
    mine, theirs = ((x.shape, x.stride(), x.dtype, x.device, x.data_ptr(), x.untyped_storage().data_ptr())
                    for x in (self, tensor))
    return mine == theirs


def as_strided_(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """`as_strided`, of the tensor itself.

    >>> lucid.as_strided_(lucid.arange(6), (2, 2), (1, 2))
    Tensor([[0, 2],
            [1, 3]], requires_grad=False)
    """
    result: Tensor = input.as_strided_(size, stride, storage_offset)
    return result


def _output_nr(self: Tensor) -> int:
    """Which result of its operation the tensor is.

    >>> lucid.ones(2, requires_grad=True).unbind()[1].output_nr
    1
    """
    return int(getattr(self._node, "index", 0))


def _record_stream(self: Tensor, s: Any) -> None:
    """Say that work of the stream `s` uses the memory: when the tensor is gone, it is not given to others before that work is
    done.

    >>> x = lucid.ones(2, device="gpu")
    >>> x.record_stream(lucid.gpu.current_stream())
    """
    if not hasattr(s, "keep_until_done"):
        raise RuntimeError(f"record_stream: expected a lucid.gpu.Stream, got {type(s).__name__}")
    s.keep_until_done(self)


def _const_data_ptr(self: Tensor) -> int:
    """`data_ptr`.

    >>> x = lucid.ones(2)
    >>> x.const_data_ptr() == x.data_ptr()
    True
    """
    return self.data_ptr()


SPECIAL_METHODS: dict[str, Any] = {"dim_order": _dim_order, "is_set_to": _is_set_to, "output_nr": property(_output_nr),
                                   "record_stream": _record_stream, "const_data_ptr": _const_data_ptr, "unsafe_chunk": chunk,
                                   "unsafe_split": split, "unsafe_split_with_sizes": split_with_sizes}
register(__name__)
