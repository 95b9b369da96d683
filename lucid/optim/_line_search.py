"""The line search of L-BFGS: a step that satisfies the strong Wolfe conditions."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..tensor import Tensor


class Point(NamedTuple):
    """A point on the line: its distance, the loss, the gradient and the derivative along the line there."""

    t: Any
    loss: float
    grad: Tensor
    slope: Any


def strong_wolfe(evaluate: Callable[[Any], Point], start: Point, t: Any, longest: Tensor, tolerance: float, most: int,
                 c1: float = 1e-4, c2: float = 0.9) -> tuple[Point, int]:
    """A point where the loss has fallen enough and the slope is flat enough, and the evaluations that it took.

    The search begins at distance `t`, first brackets such a point, then narrows the bracket until it is shorter than
    `tolerance` (times `longest`, the largest element of the direction) or `most` evaluations more have been made.

    Source: Nocedal and Wright, "Numerical Optimization", 2006, section 3.5; rules for the trial points as in PyTorch.
    """
    def too_high(point: Point) -> bool:
        return bool(point.loss > start.loss + c1 * point.t * start.slope)

    def flat(point: Point) -> bool:
        return bool(abs(point.slope) <= -c2 * start.slope)

    previous, point = start, evaluate(t)
    tries = 0
    while tries < most:
        if too_high(point) or (tries > 1 and point.loss >= previous.loss):
            break
        if flat(point):
            return point, tries + 1
        if point.slope >= 0:
            break
        t = _interpolate(previous, point, point.t + 0.01 * (point.t - previous.t), point.t * 10)
        previous, point = point, evaluate(t)
        tries += 1
    else:
        previous = start

    ends = [previous, point]
    low = 0 if previous.loss <= point.loss else 1
    crept = False  # whether the last trial was close to an end
    while tries < most and abs(ends[1].t - ends[0].t) * longest >= tolerance:
        least, largest = min(ends[0].t, ends[1].t), max(ends[0].t, ends[1].t)
        t = _interpolate(ends[0], ends[1], least, largest)
        margin = 0.1 * (largest - least)
        close = bool(min(largest - t, t - least) < margin)
        if close and (crept or t >= largest or t <= least):
            t = largest - margin if abs(t - largest) < abs(t - least) else least + margin
            close = False
        crept = close
        point = evaluate(t)
        tries += 1
        if too_high(point) or point.loss >= ends[low].loss:
            ends[1 - low] = point
            low = 0 if ends[0].loss <= ends[1].loss else 1
            continue
        done = flat(point)
        if not done and point.slope * (ends[1 - low].t - ends[low].t) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = point
        if done:
            break
    return ends[low], tries + 1


def _interpolate(a: Point, b: Point, least: Any, largest: Any) -> Any:
    """Where the cubic through two points with their slopes has its minimum, within bounds; their middle if there is none."""
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (least + largest) / 2.0
    d2 = square.sqrt()
    if a.t <= b.t:
        best = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        best = a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(best, least), largest)
