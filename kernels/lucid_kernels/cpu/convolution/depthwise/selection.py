"""Which depthwise kernels compute a convolution: those with the channels as lanes, those of planes, or neither.

With few channels, or several outputs of each, channels fill no vectors; with wide rows planes do that as well, and need no
transposition.
"""
from __future__ import annotations

import math

from ...runtime import tuning
from ...runtime.implementations import unmet
from ..problem import Problem
from .planes import is_correlated, is_filter, is_spread


def _channels_why_not(problem: Problem, widest: float | None, planes: int, outputs: int) -> str | None:
    """For results `widest` vectors wide at most, None where `planes` has no microkernel. Each is a sum of so many `planes`; a
    channel has so many `outputs` that are read or written.
    """
    most = tuning.DEPTHWISE_CHANNELS_MOST_BYTES_WITHOUT_PLANES if widest is None else tuning.DEPTHWISE_CHANNELS_MOST_BYTES
    least = tuning.DEPTHWISE_CHANNELS_WIDEST_SLICES if planes > 1 else 0
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
    widest = tuning.DEPTHWISE_CHANNELS_WIDEST_FILTERED[problem.vector_bytes]
    return widest[problem.window.kh] if is_filter(problem.window) else None


def channels_forward_why_not(problem: Problem) -> str | None:
    return _channels_why_not(problem, _widest_filtered(problem), problem.slices, 1) or _several_outputs(problem)


def channels_grad_input_why_not(problem: Problem) -> str | None:
    each, spread = problem.outputs_of_group, tuning.DEPTHWISE_CHANNELS_WIDEST_SPREAD[problem.vector_bytes]
    widest = spread[problem.window.kh] if is_spread(problem.window) else _widest_filtered(problem)
    return _channels_why_not(problem, widest, each * problem.slices, each)


def channels_grad_weight_why_not(problem: Problem) -> str | None:
    widest = tuning.DEPTHWISE_CHANNELS_WIDEST_CORRELATED[problem.vector_bytes] if is_correlated(problem.window) else None
    return _channels_why_not(problem, widest, 1, 1) or _several_outputs(problem)


def planes_forward_why_not(problem: Problem) -> str | None:
    return _not_depthwise(problem) or unmet((is_filter(problem.window), "no microkernel for this window"))


def planes_grad_input_why_not(problem: Problem) -> str | None:
    window = problem.window
    known = is_spread(window) or (window[2:4] == (1, 1) and is_filter(window))
    return _not_depthwise(problem) or unmet((known, "no microkernel for this window"))


def planes_grad_weight_why_not(problem: Problem) -> str | None:
    return _not_depthwise(problem) or unmet((is_correlated(problem.window), "no microkernel for this window"))
