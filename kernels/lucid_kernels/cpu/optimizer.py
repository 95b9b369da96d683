"""Optimizer steps: one pass over a parameter, its gradient and its state.

The arithmetic is that of PyTorch's single-tensor steps (torch/optim/sgd.py, adam.py), in the dtype of the parameter;
factors of the whole step are computed in float64 first. The loops work in place, on copies where `out` is not the input
itself: with separate results that happen to be the inputs, LLVM's overlap check would choose the scalar loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from . import _math
from ._compile import jit_exact, jit_parallel
from ._layout import PARALLEL_FROM, Array, chunk, chunks, deliver, outputs, result, upcast_half

Results = tuple[Array | None, ...]


@jit_exact
def _sgd(p: Any, g: Any, lr: float, weight_decay: float) -> None:
    """p -= lr (g + weight_decay p). To climb, both factors come negated."""
    rate = p.dtype.type(lr)
    decay = p.dtype.type(weight_decay)
    zero = p.dtype.type(0)
    for i in range(p.shape[0]):
        d = g[i] + decay * p[i] if decay != zero else g[i]
        p[i] -= rate * d


@jit_exact
def _sgd_momentum(
    p: Any, g: Any, b: Any, lr: float, weight_decay: float, momentum: float, share: float, nesterov: bool, sign: float
) -> None:
    """b = momentum b + share d with d = sign g + weight_decay p; then a step along b, or d + momentum b (Nesterov)."""
    rate = p.dtype.type(lr)
    decay = p.dtype.type(weight_decay)
    keep = p.dtype.type(momentum)
    take = p.dtype.type(share)
    direction = p.dtype.type(sign)
    zero = p.dtype.type(0)
    for i in range(p.shape[0]):
        d = direction * g[i]
        d = d + decay * p[i] if decay != zero else d
        b[i] = keep * b[i] + take * d
        p[i] -= rate * (d + keep * b[i] if nesterov else b[i])


@jit_exact
def _adam(
    p: Any, g: Any, m: Any, v: Any, shrink: float, l2: float, sign: float, beta1: float, beta2: float, eps: float,
    step_size: float, root_scale: float,
) -> None:  # fmt: skip
    """p = shrink p - step_size m / (root_scale sqrt(v) + eps), after m and v took in d = sign g + l2 p."""
    real = p.dtype.type
    zero, keep, factor, decay, direction = real(0), real(shrink), real(step_size), real(l2), real(sign)
    take_m, keep_v, take_v = real(1 - beta1), real(beta2), real(1 - beta2)
    epsilon, scale = real(eps), real(root_scale)
    for i in range(p.shape[0]):
        d = direction * g[i]
        d = d + decay * p[i] if decay != zero else d
        m[i] += take_m * (d - m[i])
        v[i] = keep_v * v[i] + take_v * (d * d)
        p[i] = keep * p[i] - factor * (m[i] / (scale * math.sqrt(v[i]) + epsilon))


@jit_exact
def _amsgrad(
    p: Any, g: Any, m: Any, v: Any, largest: Any, shrink: float, l2: float, sign: float, beta1: float, beta2: float,
    eps: float, step_size: float, root_scale: float,
) -> None:  # fmt: skip
    """`_adam`, with the largest `v` so far in the place of `v`."""
    real = p.dtype.type
    zero, keep, factor, decay, direction = real(0), real(shrink), real(step_size), real(l2), real(sign)
    take_m, keep_v, take_v = real(1 - beta1), real(beta2), real(1 - beta2)
    epsilon, scale = real(eps), real(root_scale)
    for i in range(p.shape[0]):
        d = direction * g[i]
        d = d + decay * p[i] if decay != zero else d
        m[i] += take_m * (d - m[i])
        v[i] = keep_v * v[i] + take_v * (d * d)
        largest[i] = _math.maximum(largest[i], v[i])
        p[i] = keep * p[i] - factor * (m[i] / (scale * math.sqrt(largest[i]) + epsilon))


@jit_parallel
def _sgd_parallel(p: Any, g: Any, lr: float, weight_decay: float) -> None:
    for i in numba.prange(chunks(p.shape[0])):
        _sgd(chunk(p, i), chunk(g, i), lr, weight_decay)


@jit_parallel
def _sgd_momentum_parallel(
    p: Any, g: Any, b: Any, lr: float, weight_decay: float, momentum: float, share: float, nesterov: bool, sign: float
) -> None:
    for i in numba.prange(chunks(p.shape[0])):
        _sgd_momentum(chunk(p, i), chunk(g, i), chunk(b, i), lr, weight_decay, momentum, share, nesterov, sign)


@jit_parallel
def _adam_parallel(
    p: Any, g: Any, m: Any, v: Any, shrink: float, l2: float, sign: float, beta1: float, beta2: float, eps: float,
    step_size: float, root_scale: float,
) -> None:  # fmt: skip
    for i in numba.prange(chunks(p.shape[0])):
        _adam(
            chunk(p, i), chunk(g, i), chunk(m, i), chunk(v, i), shrink, l2, sign, beta1, beta2, eps, step_size,
            root_scale,
        )  # fmt: skip


@jit_parallel
def _amsgrad_parallel(
    p: Any, g: Any, m: Any, v: Any, largest: Any, shrink: float, l2: float, sign: float, beta1: float, beta2: float,
    eps: float, step_size: float, root_scale: float,
) -> None:  # fmt: skip
    for i in numba.prange(chunks(p.shape[0])):
        _amsgrad(
            chunk(p, i), chunk(g, i), chunk(m, i), chunk(v, i), chunk(largest, i), shrink, l2, sign, beta1, beta2,
            eps, step_size, root_scale,
        )  # fmt: skip


def _working_copy(out: Array | None, source: Array) -> Array:
    """A contiguous array with the values of `source` to work on: `source` itself if it is the result."""
    y = result(out, source.shape, source.dtype)
    if y is not source:
        np.copyto(y, source)
    return y


@upcast_half(results=(0, 2))
def sgd(
    param: Array,
    grad: Array,
    momentum_buffer: Array | None,
    *,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    out: Sequence[Array | None] | None = None,
) -> Results:
    """One step of stochastic gradient descent -> (param, momentum_buffer). `out` may be the inputs.

    `momentum_buffer=None` with a momentum is the first step: the buffer becomes the gradient, undamped. Without momentum
    `momentum_buffer` comes back as it is.
    """
    out = outputs(out, 2)
    sign = -1.0 if maximize else 1.0
    large = param.size >= PARALLEL_FROM
    p = _working_copy(out[0], param)
    if momentum == 0:
        (_sgd_parallel if large else _sgd)(p.ravel(), grad.ravel(), sign * lr, sign * weight_decay)
        return deliver(out[0], p), momentum_buffer
    first = momentum_buffer is None
    b = _working_copy(out[1], np.zeros_like(param) if momentum_buffer is None else momentum_buffer)
    share = 1.0 if first else 1.0 - dampening
    (_sgd_momentum_parallel if large else _sgd_momentum)(
        p.ravel(), grad.ravel(), b.ravel(), float(lr), float(weight_decay), float(momentum), share, bool(nesterov), sign
    )
    return deliver(out[0], p), deliver(out[1], b)


@upcast_half(results=(0, 2, 3, 4))
def adam(
    param: Array,
    grad: Array,
    exp_avg: Array,
    exp_avg_sq: Array,
    max_exp_avg_sq: Array | None,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: float,
    decoupled_weight_decay: bool,
    amsgrad: bool,
    maximize: bool,
    out: Sequence[Array | None] | None = None,
) -> Results:
    """One step of Adam or AdamW -> (param, exp_avg, exp_avg_sq, max_exp_avg_sq). `out` may be the inputs.

    `step` counts this step too: it is 1 at the first call. Without `amsgrad`, `max_exp_avg_sq` comes back as it is.
    """
    out = outputs(out, 4)
    shrink, l2 = (1.0 - lr * weight_decay, 0.0) if decoupled_weight_decay else (1.0, float(weight_decay))
    factors = (shrink, l2, -1.0 if maximize else 1.0, float(beta1), float(beta2), float(eps))
    sizes = (lr / (1.0 - beta1**step), 1.0 / math.sqrt(1.0 - beta2**step))
    large = param.size >= PARALLEL_FROM
    p, m, v = (_working_copy(*pair) for pair in zip(out, (param, exp_avg, exp_avg_sq), strict=False))
    flat = (p.ravel(), grad.ravel(), m.ravel(), v.ravel())
    if amsgrad and max_exp_avg_sq is not None:
        largest = _working_copy(out[3], max_exp_avg_sq)
        (_amsgrad_parallel if large else _amsgrad)(*flat, largest.ravel(), *factors, *sizes)
        last: Array | None = deliver(out[3], largest)
    else:
        (_adam_parallel if large else _adam)(*flat, *factors, *sizes)
        last = max_exp_avg_sq
    return deliver(out[0], p), deliver(out[1], m), deliver(out[2], v), last
