"""Rules of new arrays."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array import MetaArray, blank
from .new_rules import new_rules

RULES, rule = new_rules()


@rule
def empty(*, shape: Sequence[int], dtype: Any) -> MetaArray:
    return blank(shape, dtype)


@rule
def full(*, shape: Sequence[int], fill_value: Any, dtype: Any) -> MetaArray:
    return blank(shape, dtype)


@rule
def arange(*, start: Any, stop: Any, step: Any, dtype: Any) -> MetaArray:
    return blank((max(0, math.ceil((stop - start) / step)),), dtype)


@rule
def linspace(*, start: Any, stop: Any, num: int) -> MetaArray:
    return blank((num,), np.result_type(start, stop, np.float64))


@rule
def eye(*, N: int, M: int | None, dtype: Any) -> MetaArray:
    return blank((N, N if M is None else M), dtype)


@rule
def triangle_indices(*, rows: int, columns: int, offset: int, upper: bool, dtype: Any) -> MetaArray:
    def total(longest: int) -> int:
        """1 + 2 + ... + `longest`, with no term above the number of columns."""
        rising = min(max(longest, 0), columns)
        return rising * (rising + 1) // 2 + (max(longest, 0) - rising) * columns

    first = offset + (not upper)
    below = total(first + rows - 1) - total(first - 1)
    return blank((2, rows * columns - below if upper else below), dtype)


def _random(*, shape: Sequence[int], dtype: Any, **draw: Any) -> MetaArray:
    return blank(shape, dtype)


for _name in ("random_uniform", "random_exponential", "random_normal", "random_integers"):
    RULES[_name] = _random
