"""`make_tensor`: random tensors for tests."""
from __future__ import annotations

import math
from typing import Any

from .._dtypes import bfloat16, complex128, float32, float64, int64
from .._limits import finfo, iinfo
from ..ops.creation.creation import empty
from ..ops.manipulation.complex import complex
from ..ops.random.random import randint
from ..tensor import Tensor


def make_tensor(*shape: Any, dtype: Any, device: Any = None, low: float | None = None, high: float | None = None,
                requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False,
                memory_format: Any = None) -> Tensor:
    """A tensor of `shape` with elements from [low, high): by default [-9, 9) for floating-point and complex dtypes, [-9, 10) for
    signed integers, [0, 10) for uint8, [0, 2) for bool. Limits are clipped to what the dtype holds.

    `noncontiguous` leaves gaps in memory (tensors of one element have none); `exclude_zero` replaces zeros by the smallest
    positive number. Raises ValueError for limits that are NaN or not in order, and for bools outside [0, 2].

    >>> lucid.testing.make_tensor((2, 3), dtype=lucid.float32, low=0, high=1).shape
    lucid.Size([2, 3])
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive.")
    dtype = empty(0, dtype=dtype).dtype
    kind = "f" if dtype == bfloat16 else dtype.kind
    default = {"b": (0, 2), "u": (0, 10), "i": (-9, 10)}.get(kind, (-9, 9))
    first, last = _limits(default[0] if low is None else low, default[1] if high is None else high, dtype, kind)
    # Every second column of a wider tensor has gaps.
    gaps = noncontiguous and math.prod(sizes) > 1
    full = (*sizes[:-1], 2 * sizes[-1]) if gaps else sizes
    if kind in "bui":
        made = randint(math.floor(first), math.ceil(last), full, dtype=int64, device=device).to(dtype)
    elif kind == "c":
        part = float64 if dtype == complex128 else float32
        made = complex(*(empty(full, dtype=part, device=device).uniform_(first, last) for _ in range(2)))
    else:
        made = empty(full, dtype=dtype, device=device).uniform_(first, last)
    if gaps:
        made = made[..., ::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = 1 if kind in "bui" else finfo(dtype).tiny
    return made.requires_grad_() if requires_grad else made


def _limits(low: float, high: float, dtype: Any, kind: str) -> tuple[float, float]:
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low >= high:
        raise ValueError(f"make_tensor: `low` must be less than `high`, got {low} and {high}")
    if kind == "b":
        if low < 0 or high > 2:
            raise ValueError(f"`low` and `high` of bools must be within [0, 2], got {low} and {high}")
        return low, high
    info = iinfo(dtype) if kind in "ui" else finfo(dtype)
    return max(low, info.min), min(high, info.max + (kind in "ui"))
