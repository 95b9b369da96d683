"""`hash_tensor`: the bits of all elements, joined by exclusive or."""
from __future__ import annotations

import math
from typing import Any

from ... import _dtypes
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dims, require_tensor
from .._out import accepts_out
from ..elementwise.bitwise import bitwise_xor
from ..manipulation.joining import cat

METHODS = ("hash_tensor",)
_TAKEN = frozenset((_dtypes.bool_, _dtypes.uint8, _dtypes.int8, _dtypes.int16, _dtypes.int32, _dtypes.int64, _dtypes.float16,
                    _dtypes.bfloat16, _dtypes.float32, _dtypes.float64))


@accepts_out
def hash_tensor(input: Tensor, dim: Any = None, keepdim: bool = False, *, mode: int = 0) -> Tensor:
    """The exclusive or, as uint64, of the bits that the elements have as 64-bit numbers, floating-point or integer, along the
    dimensions `dim` (all by default). `mode` is 0, the only one that there is.

    >>> lucid.hash_tensor(lucid.tensor([[1, 2], [3, 4]]), 1)
    Tensor([3, 7], dtype=uint64, requires_grad=False)
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    dtype = require_tensor("hash_tensor", input).dtype
    if dtype not in _TAKEN:
        raise NotImplementedError(f"hash_tensor: not implemented for '{dtype.name}'")
    shape = tuple(input.shape)
    axes = canonical_dims(dim, input.ndim)
    if not input.numel():
        if dim is None or dim == () or dim == []:
            raise RuntimeError("hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the "
                               "reduction dim with the 'dim' argument.")
        for axis in axes:
            if not shape[axis]:
                raise IndexError(f"hash_tensor: Expected reduction dim {axis} to have non-zero size.")
    wide = input.detach().to(_dtypes.float64 if _dtypes.is_floating(dtype) else _dtypes.int64)
    others = [axis for axis in range(input.ndim) if axis not in axes]
    rows = wide.contiguous().view(_dtypes.int64).permute(*axes, *others) if shape else wide.view(_dtypes.int64)
    rows = rows.reshape(math.prod(shape[axis] for axis in axes), *[shape[axis] for axis in others])
    while len(rows) > 1:  # half of them at a time
        half = len(rows) // 2
        joined = bitwise_xor(rows[:half], rows[half:2 * half])
        rows = cat([joined, rows[2 * half:]]) if len(rows) % 2 else joined
    kept = [1 if axis in axes else length for axis, length in enumerate(shape)] if keepdim else [shape[axis] for axis in others]
    return rows.clone().reshape(kept).view(_dtypes.uint64)  # one row may be the input


register(__name__)
