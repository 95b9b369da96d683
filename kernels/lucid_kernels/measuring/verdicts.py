"""What samples of times say: medians, their intervals, and whether something got faster.

The change is new divided by old, estimated by the median of all quotients of a new and an old sample (Hodges and Lehmann),
with the exact interval of the Mann-Whitney test: nothing is assumed about the distribution of times. The verdict:

- SAME: the interval lies within the tolerance, 1/(1+t) to 1+t;
- FASTER, SLOWER: otherwise, if the interval lies below or above 1;
- UNDECIDED: otherwise, or if there are too few samples for the confidence asked for.

Source: Hodges and Lehmann, "Estimates of location based on rank tests", 1963.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence

TOLERANCE, CONFIDENCE = 0.05, 0.95
FASTER, SLOWER, SAME, UNDECIDED = "FASTER", "SLOWER", "SAME", "UNDECIDED"


@functools.cache
def _arrangements(m: int, n: int, u: int) -> int:
    """In how many orders of m and n samples exactly u pairs are inverted."""
    if u < 0 or u > m * n:
        return 0
    if m == 0 or n == 0:
        return int(u == 0)
    return _arrangements(m - 1, n, u - n) + _arrangements(m, n - 1, u)


def change(old: list[float], new: list[float], confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """New over old with its confidence interval; infinite where there are too few samples."""
    quotients = sorted(b / a for a in old for b in new)
    m, n = len(old), len(new)
    outside, below = 0, 0.0  # how many quotients on each side lie outside the interval, and the probability of more
    while outside < len(quotients) // 2:
        below += _arrangements(m, n, outside) / math.comb(m + n, n)
        if 2 * below > 1 - confidence:
            break
        outside += 1
    estimate = statistics.median(quotients)
    if outside == 0:
        return estimate, 0.0, math.inf
    return estimate, quotients[outside - 1], quotients[-outside]


def verdict(low: float, high: float, tolerance: float = TOLERANCE) -> str:
    """What the interval of a change says; see the module."""
    if 1 / (1 + tolerance) <= low and high <= 1 + tolerance:
        return SAME
    if high < 1:
        return FASTER
    if low > 1:
        return SLOWER
    return UNDECIDED


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval that has the median with a probability of `confidence`, that of the sign test: nothing is assumed about the
    values.

    With fewer than six values for 95 %, or eight for 99 %, it is that from the smallest to the largest one, whose probability is
    lower.
    """
    ordered, count = sorted(values), len(values)
    outside, probability = 0, 0.5**count  # of so many values, or fewer, on one side of the median
    while 2 * probability <= 1 - confidence and outside < count:
        outside += 1
        probability += math.comb(count, outside) * 0.5**count
    first = max(outside - 1, 0)
    return ordered[first], ordered[count - 1 - first]


def quartiles(values: list[float]) -> list[float]:
    """The lower quartile, the median and the upper quartile."""
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
