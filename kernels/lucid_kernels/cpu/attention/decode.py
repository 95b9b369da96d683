"""Attention of a few queries, as of each further word of a text: keys and values are read once, as they lie.

Tiles have the keys transposed first, which takes longer than a handful of dot products.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..runtime.jit import jit_parallel
from ..simd.reduce import maximum_of
from .microkernels import weighted_sum
from .tiles import add_mask, dots_of_rows, exponentials, row_of, whole_runs

# Elements of keys and values that a thread reads at least, 8 us: 8 heads of 128x32 took 12.6 us on two threads, on one they take
# 4.6.
_LEAST = 1 << 17


@jit_parallel
def forward_decode(q: Any, heads: int, count: int, queries: int, width: int, k: Any, v: Any, groups: int, keys: int, v_width: int,
                   mask: Any, mask_of: Any, scale: Any, y: Any, powers: Any, shift: Any, factor: Any) -> None:
    """`y`, `powers`, `shift` and `factor` of `count` heads of queries without a causal mask; arguments as for `forward`."""
    repeats, has_mask, zero = heads // groups, mask_of.shape[0] > 0, shift.dtype.type(0)
    each = max(1, _LEAST // max(1, queries * keys * (width + v_width)))
    for task in numba.prange((count + each - 1) // each):
        scores = np.full((1, whole_runs(keys)), -np.inf, shift.dtype)
        seen = scores[0][:keys]
        for row in range(task * each * queries, min(count, (task + 1) * each) * queries):
            n, r = row // queries, row % queries
            group = n // heads * groups + n % heads // repeats
            dots_of_rows(row_of(q, heads, n, r, shift), 0, row_of(k, groups, group, 0, shift), k[3], keys, width, seen)
            if has_mask:
                add_mask(seen, mask[mask_of[n]][min(r, mask.shape[1] - 1)], scale)
            else:
                seen *= scale
            largest = maximum_of(seen, 0, keys, seen)
            # Nothing to see: exp(-inf - 0) is 0, exp(-inf + inf) is not.
            total = exponentials(scores, 0, keys, has_mask, shift.dtype.type(1), largest if largest != -np.inf else zero)
            nothing = total == 0
            part = zero if nothing else 1 / total
            shift[n, r], factor[n, r] = np.inf if nothing else largest, part
            values, to = row_of(v, groups, group, 0, shift), row_of(y, heads, n, r, shift)
            weighted_sum(seen[:0] if nothing else seen, part, values, v[3], v_width, to)
            if powers.shape[0] > 0:
                powers[n, r, : scores.shape[1]] = scores[0]
            scores[0, keys:] = -np.inf
