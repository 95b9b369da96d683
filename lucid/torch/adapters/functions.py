"""Private functions of `torch` that libraries call."""
from __future__ import annotations

import math
from typing import Any

import lucid
from lucid.distributions.utils import sum_rightmost as _sum_rightmost

__all__ = ["_cast_Byte", "_cast_Char", "_cast_Double", "_cast_Float", "_cast_Half", "_cast_Int", "_cast_Long", "_cast_Short",
           "_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo", "_segment_reduce", "_standard_normal",
           "_sum_rightmost"]

_segment_reduce = lucid.segment_reduce


def _cast(dtype: Any) -> Any:
    def cast(input: lucid.Tensor, non_blocking: bool = False) -> lucid.Tensor:
        return input.to(dtype, non_blocking=non_blocking)

    return cast


_cast_Byte, _cast_Char, _cast_Short, _cast_Int, _cast_Long, _cast_Half, _cast_Float, _cast_Double = [
    _cast(dtype) for dtype in (lucid.uint8, lucid.int8, lucid.int16, lucid.int32, lucid.int64, lucid.float16, lucid.float32,
                               lucid.float64)]


def _convert_indices_from_coo_to_csr(input: lucid.Tensor, size: int, *, out_int32: bool = False) -> lucid.Tensor:
    """Where each of `size` rows begins, and where the last ends, in the sorted numbers of the rows of elements."""
    rows = lucid.arange(size + 1, dtype=input.dtype, device=input.device)
    return lucid.searchsorted(input.contiguous(), rows, out_int32=out_int32)


def _convert_indices_from_csr_to_coo(crow_indices: lucid.Tensor, col_indices: lucid.Tensor, *, out_int32: bool = False,
                                     transpose: bool = False) -> lucid.Tensor:
    """The numbers of the dimensions before, the row and the column of each element, as rows.

    Row and column change places with `transpose`.
    """
    *batch, last = crow_indices.shape
    rows = lucid.arange(last - 1, device=crow_indices.device)
    lengths = crow_indices.diff(dim=-1).reshape(math.prod(batch), last - 1)
    row = lucid.stack([rows.repeat_interleave(each) for each in lengths]) if len(lengths) else col_indices
    numbers = [row.reshape(-1), col_indices.reshape(-1)]
    if transpose:
        numbers.reverse()
    if batch:
        place = lucid.arange(len(lengths), device=rows.device).repeat_interleave(col_indices.shape[-1])
        numbers = [*lucid.unravel_index(place, tuple(batch)), *numbers]
    return lucid.stack([each.to(lucid.int32 if out_int32 else lucid.int64) for each in numbers])


def _standard_normal(shape: Any, dtype: Any, device: Any) -> lucid.Tensor:
    """Normal numbers, which distributions of libraries are made of."""
    return lucid.randn(shape, dtype=dtype, device=device)
