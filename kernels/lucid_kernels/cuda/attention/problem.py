"""The arguments that all kernels of attention have, and the factors of its scores."""
from __future__ import annotations

import math
from typing import Any

import numpy as np


def factors(mask: Any, scale: float) -> tuple[float, float]:
    """Of the dot products, and of the differences of scores from the largest one: one is `scale` and the other 1.

    A score to which nothing is added, and whose order the scale does not change, needs no multiplication of its own.
    """
    return (1.0, scale) if mask is None and 1e-30 < scale < 1e30 else (scale, 1.0)


def arguments(q: Any, k: Any, v: Any, mask: Any, given: tuple[Any, np.int32], number: Any, scale: float, is_causal: bool
              ) -> tuple[Any, ...]:
    """The mask as a kernel is `given` it, its strides, the sizes and the factors, which are of the type `number`."""
    strides = [0] * 4
    if mask is not None:
        steps = (math.prod(mask.shape[1:]), mask.shape[2] * mask.shape[3], mask.shape[3], 1)
        strides = [0 if length == 1 else step for length, step in zip(mask.shape, steps, strict=True)]
    sizes = (q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3], v.shape[3], is_causal)
    return (*given, *map(np.int64, strides), *map(np.int32, sizes),
            *map(number, (scale, *factors(mask, scale))))
