"""Which depthwise kernels compute a convolution: those with the channels as lanes, those of planes, or neither.

With few channels, or several outputs of each, channels fill no vectors; with wide rows planes do that as well, and need no
transposition.
"""
from __future__ import annotations

import math

from ...runtime.implementations import unmet
from ..problem import Problem
from .planes import is_correlated, is_filter, is_spread

# Bytes of the transposed planes of both arrays, where `planes` has a microkernel: half of an L2 cache of 1 MiB. Where it has
# none, larger ones take 0.6 to 1.2 of the time of direct convolution, their weight gradient 0.3, until they leave the L3 cache.
_BLOCK_BYTES, _MOST_BYTES = 512 << 10, 4 << 20
# How wide results may be for `channels`, in vectors of AVX2 and AVX-512, by the rows of taps, where `planes` has a microkernel:
# that takes 1.1 to 2.8 times as long up to there, and 0.6 to 0.9 of the time beyond, where more of each vector is used. The
# width of a spread gradient is that of what it is made of.
_WIDEST_FILTERED = {32: {3: 2, 5: math.inf, 7: math.inf}, 64: {3: 1.25, 5: 4, 7: math.inf}}
_WIDEST_SPREAD = {32: {3: 2, 4: 2, 5: 2}, 64: {3: 1.25, 4: 0.75, 5: 0.75}}
_WIDEST_CORRELATED = {32: 1.25, 64: 0.75}
# The least of these for several slices, whose sums `planes` takes from memory.
_WIDEST_SLICES = 2


def _channels_why_not(problem: Problem, widest: float | None, planes: int, outputs: int) -> str | None:
    """For results `widest` vectors wide at most, None where `planes` has no microkernel. Each is a sum of so many `planes`; a
    channel has so many `outputs` that are read or written.
    """
    most = _MOST_BYTES if widest is None else _BLOCK_BYTES
    least = _WIDEST_SLICES if planes > 1 else 0
    widest = math.inf if widest is None else max(widest, least)
    elements = problem.depth * problem.height * problem.width + outputs * problem.out_depth * problem.positions
    return _not_depthwise(problem) or unmet(
        (problem.channels >= problem.lanes, "fewer channels than a vector has"),
        (problem.window.out_width <= widest * problem.lanes, "rows so wide that planes are as fast"),
        (elements * problem.vector_bytes <= most, "planes that leave the cache"),
    )


def _not_depthwise(problem: Problem) -> str | None:
    return unmet((problem.is_depthwise, "not one input channel a group"))


def _several_outputs(problem: Problem) -> str | None:
    return unmet((problem.outputs == problem.channels, "several outputs of a channel"))


def _widest_filtered(problem: Problem) -> float | None:
    return _WIDEST_FILTERED[problem.vector_bytes][problem.window.kh] if is_filter(problem.window) else None


def channels_forward_why_not(problem: Problem) -> str | None:
    return _channels_why_not(problem, _widest_filtered(problem), problem.slices, 1) or _several_outputs(problem)


def channels_grad_input_why_not(problem: Problem) -> str | None:
    spread, each = is_spread(problem.window), problem.outputs_of_group
    widest = _WIDEST_SPREAD[problem.vector_bytes][problem.window.kh] if spread else _widest_filtered(problem)
    return _channels_why_not(problem, widest, each * problem.slices, each)


def channels_grad_weight_why_not(problem: Problem) -> str | None:
    widest = _WIDEST_CORRELATED[problem.vector_bytes] if is_correlated(problem.window) else None
    return _channels_why_not(problem, widest, 1, 1) or _several_outputs(problem)


def planes_forward_why_not(problem: Problem) -> str | None:
    return _not_depthwise(problem) or unmet((is_filter(problem.window), "no microkernel for this window"))


def planes_grad_input_why_not(problem: Problem) -> str | None:
    window = problem.window
    known = is_spread(window) or (window[2:4] == (1, 1) and is_filter(window))
    return _not_depthwise(problem) or unmet((known, "no microkernel for this window"))


def planes_grad_weight_why_not(problem: Problem) -> str | None:
    return _not_depthwise(problem) or unmet((is_correlated(problem.window), "no microkernel for this window"))
