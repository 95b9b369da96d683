"""Optimizer steps: one pass over a parameter, its gradient and its state, or over those of a list of parameters.

The arithmetic is that of PyTorch's single-tensor steps (torch/optim/sgd.py, adam.py), in the dtype of the parameter;
factors of the whole step are computed in float64 first. The loops work in place, on copies where `out` is not the input
itself: with separate results that happen to be the inputs, LLVM's overlap check would choose the scalar loop. They never
read what they have just written: LLVM would load it again, and where vectors lie across cache lines that took half of the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from .arrays.half_precision import upcast_half
from .arrays.layout import GRAIN, Array, chunks, deliver, outputs, result
from .arrays.tensor_list import Table, first_tensor, launches, part, table
from .math import basic as math_basic
from .runtime.jit import jit_exact, jit_parallel

Results = tuple[Array | None, ...]


@jit_exact
def _sgd(p: Any, g: Any, lr: Any, decay: Any) -> None:
    """p -= lr (g + decay p). To climb, both factors come negated."""
    zero = p.dtype.type(0)
    for i in range(p.shape[0]):
        d = g[i] + decay * p[i] if decay != zero else g[i]
        p[i] -= lr * d


@jit_exact
def _sgd_momentum(p: Any, g: Any, b: Any, lr: Any, decay: Any, keep: Any, take: Any, sign: Any, nesterov: bool) -> None:
    """b = keep b + take d with d = sign g + decay p; then a step along b, or d + keep b (Nesterov)."""
    zero = p.dtype.type(0)
    for i in range(p.shape[0]):
        d = sign * g[i]
        d = d + decay * p[i] if decay != zero else d
        velocity = keep * b[i] + take * d
        b[i] = velocity
        p[i] -= lr * (d + keep * velocity if nesterov else velocity)


@jit_exact
def _adam(p: Any, g: Any, m: Any, v: Any, factors: Any, step_size: Any, root_scale: Any) -> None:
    """p = shrink p - step_size m / (root_scale sqrt(v) + eps), after m and v took in d = sign g + decay p."""
    shrink, decay, sign, take_m = factors[0], factors[1], factors[2], factors[3]
    keep_v, take_v, eps = factors[4], factors[5], factors[6]
    zero = p.dtype.type(0)
    for i in range(p.shape[0]):
        d = sign * g[i]
        d = d + decay * p[i] if decay != zero else d
        mean = m[i] + take_m * (d - m[i])
        square = keep_v * v[i] + take_v * (d * d)
        m[i], v[i] = mean, square
        p[i] = shrink * p[i] - step_size * (mean / (root_scale * math.sqrt(square) + eps))


@jit_exact
def _amsgrad(p: Any, g: Any, m: Any, v: Any, largest: Any, factors: Any, step_size: Any, root_scale: Any) -> None:
    """`_adam`, with the largest `v` so far in the place of `v`."""
    shrink, decay, sign, take_m = factors[0], factors[1], factors[2], factors[3]
    keep_v, take_v, eps = factors[4], factors[5], factors[6]
    zero = p.dtype.type(0)
    for i in range(p.shape[0]):
        d = sign * g[i]
        d = d + decay * p[i] if decay != zero else d
        mean = m[i] + take_m * (d - m[i])
        square = keep_v * v[i] + take_v * (d * d)
        top = math_basic.maximum(largest[i], square)
        m[i], v[i], largest[i] = mean, square, top
        p[i] = shrink * p[i] - step_size * (mean / (root_scale * math.sqrt(top) + eps))


@jit_exact
def _unscale(g: Any, inverse: Any) -> bool:
    """g *= inverse; whether an element was not finite."""
    zero, bad = g.dtype.type(0), False
    for i in range(g.shape[0]):
        value = g[i]
        bad |= value - value != zero
        g[i] = value * inverse
    return bad


# The same for elements [start, stop) of a list of tensors; see _tensor_list.py.
@jit_exact
def _sgd_part(table: Any, offsets: Any, start: int, stop: int, factors: Any) -> None:
    lr, decay = factors[0], factors[1]
    k = first_tensor(offsets, start)
    while start < stop:
        i, n = start - offsets[k], min(stop, offsets[k + 1]) - start
        _sgd(part(table[k, 0], i, n, factors), part(table[k, 1], i, n, factors), lr, decay)
        start, k = start + n, k + 1


@jit_exact
def _sgd_momentum_part(
    table: Any, offsets: Any, start: int, stop: int, factors: Any, shares: Any, nesterov: bool
) -> None:
    lr, decay, keep, sign = factors[0], factors[1], factors[2], factors[3]
    k = first_tensor(offsets, start)
    while start < stop:
        i, n = start - offsets[k], min(stop, offsets[k + 1]) - start
        p, g, b = part(table[k, 0], i, n, shares), part(table[k, 1], i, n, shares), part(table[k, 2], i, n, shares)
        _sgd_momentum(p, g, b, lr, decay, keep, shares[k], sign, nesterov)
        start, k = start + n, k + 1


@jit_exact
def _adam_part(table: Any, offsets: Any, start: int, stop: int, factors: Any, scales: Any, amsgrad: bool) -> None:
    k = first_tensor(offsets, start)
    while start < stop:
        i, n = start - offsets[k], min(stop, offsets[k + 1]) - start
        p, g = part(table[k, 0], i, n, factors), part(table[k, 1], i, n, factors)
        m, v = part(table[k, 2], i, n, factors), part(table[k, 3], i, n, factors)
        if amsgrad:
            _amsgrad(p, g, m, v, part(table[k, 4], i, n, factors), factors, scales[k, 0], scales[k, 1])
        else:
            _adam(p, g, m, v, factors, scales[k, 0], scales[k, 1])
        start, k = start + n, k + 1


@jit_exact
def _unscale_part(table: Any, offsets: Any, start: int, stop: int, inverse: Any) -> bool:
    k, bad = first_tensor(offsets, start), False
    while start < stop:
        i, n = start - offsets[k], min(stop, offsets[k + 1]) - start
        bad |= _unscale(part(table[k, 0], i, n, inverse), inverse[0])
        start, k = start + n, k + 1
    return bad


@jit_parallel
def _unscale_parallel(table: Any, offsets: Any, inverse: Any, bad: Any) -> None:
    for i in numba.prange(chunks(offsets[-1])):
        bad[i] = _unscale_part(table, offsets, i * GRAIN, min((i + 1) * GRAIN, offsets[-1]), inverse)


@jit_parallel
def _sgd_parallel(table: Any, offsets: Any, factors: Any) -> None:
    for i in numba.prange(chunks(offsets[-1])):
        _sgd_part(table, offsets, i * GRAIN, min((i + 1) * GRAIN, offsets[-1]), factors)


@jit_parallel
def _sgd_momentum_parallel(table: Any, offsets: Any, factors: Any, shares: Any, nesterov: bool) -> None:
    for i in numba.prange(chunks(offsets[-1])):
        _sgd_momentum_part(table, offsets, i * GRAIN, min((i + 1) * GRAIN, offsets[-1]), factors, shares, nesterov)


@jit_parallel
def _adam_parallel(table: Any, offsets: Any, factors: Any, scales: Any, amsgrad: bool) -> None:
    for i in numba.prange(chunks(offsets[-1])):
        _adam_part(table, offsets, i * GRAIN, min((i + 1) * GRAIN, offsets[-1]), factors, scales, amsgrad)


def _sgd_step(
    tensors: Table, first: Sequence[bool], *, lr: float, momentum: float, dampening: float, weight_decay: float,
    nesterov: bool, maximize: bool,
) -> None:  # fmt: skip
    """A step of tensors with (param, grad), or with a momentum (param, grad, momentum_buffer), in place."""
    addresses, offsets, total, dtype = tensors
    sign = -1.0 if maximize else 1.0
    if momentum == 0:
        factors = np.array((sign * lr, sign * weight_decay), dtype)
        if tensors.is_large:
            _sgd_parallel(addresses, offsets, factors)
        else:
            _sgd_part(addresses, offsets, 0, total, factors)
        return
    factors = np.array((lr, weight_decay, momentum, sign), dtype)
    shares = np.array([1.0 if new else 1.0 - dampening for new in first], dtype)
    if tensors.is_large:
        _sgd_momentum_parallel(addresses, offsets, factors, shares, bool(nesterov))
    else:
        _sgd_momentum_part(addresses, offsets, 0, total, factors, shares, bool(nesterov))


def _adam_step(
    tensors: Table, steps: Sequence[float], *, lr: float, beta1: float, beta2: float, eps: float, weight_decay: float,
    decoupled_weight_decay: bool, amsgrad: bool, maximize: bool,
) -> None:  # fmt: skip
    """A step of tensors with (param, grad, exp_avg, exp_avg_sq), with `amsgrad` and max_exp_avg_sq, in place."""
    addresses, offsets, total, dtype = tensors
    shrink, decay = (1.0 - lr * weight_decay, 0.0) if decoupled_weight_decay else (1.0, weight_decay)
    sign = -1.0 if maximize else 1.0
    factors = np.array((shrink, decay, sign, 1 - beta1, beta2, 1 - beta2, eps), dtype)
    of_step = {step: (lr / (1.0 - beta1**step), 1.0 / math.sqrt(1.0 - beta2**step)) for step in set(steps)}
    scales = np.array([scale for step in steps for scale in of_step[step]], dtype).reshape(-1, 2)
    if tensors.is_large:
        _adam_parallel(addresses, offsets, factors, scales, bool(amsgrad))
    else:
        _adam_part(addresses, offsets, 0, total, factors, scales, bool(amsgrad))


def _working_copy(out: Array | None, source: Array, dtype: Any) -> Array:
    """A contiguous array with the values of `source` to work on: `source` itself if it is the result."""
    y = result(out, source.shape, dtype)
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
    options: dict[str, Any] = {
        "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
        "maximize": maximize,
    }  # fmt: skip
    p = _working_copy(out[0], param, param.dtype)
    g = np.asarray(grad, p.dtype, order="C")
    if momentum == 0:
        _sgd_step(table((p, g), 2), (), **options)
        return deliver(out[0], p), momentum_buffer
    first = momentum_buffer is None
    b = _working_copy(out[1], np.zeros_like(p) if momentum_buffer is None else momentum_buffer, p.dtype)
    _sgd_step(table((p, g, b), 3), (first,), **options)
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
    given = [param, exp_avg, exp_avg_sq]
    if amsgrad and max_exp_avg_sq is not None:
        given.append(max_exp_avg_sq)
    p, *state = (_working_copy(target, array, param.dtype) for target, array in zip(out, given, strict=False))
    arrays = (p, np.asarray(grad, p.dtype, order="C"), *state)
    _adam_step(
        table(arrays, len(arrays)), (step,), lr=lr, beta1=beta1, beta2=beta2, eps=eps,
        weight_decay=weight_decay, decoupled_weight_decay=decoupled_weight_decay, amsgrad=len(state) == 3, maximize=maximize,
    )  # fmt: skip
    results = [deliver(target, array) for target, array in zip(out, (p, *state), strict=False)]
    return tuple(results) if len(state) == 3 else (*results, max_exp_avg_sq)


def multi_tensor_sgd(
    *arrays: Array,
    first: Sequence[bool],
    **options: Any,
) -> None:
    """`sgd` of a list of tensors with its `options`, in place; one loop takes all that fit (`tensor_list`), with the same bits.

    `arrays` are param and grad of the first tensor, with a momentum its momentum_buffer, then those of the next tensor.
    `first` says of each whether this is its first step: then its buffer holds zeros.
    """
    together, alone = launches(arrays, len(first))
    for tensors, indices in together:
        _sgd_step(tensors, [first[index] for index in indices], **options)
    for (param, grad, *buffers), number in alone:
        buffer = buffers[0] if buffers else None
        sgd(param, grad, None if first[number] else buffer, **options, out=(param, buffer))


def multi_tensor_adam(
    *arrays: Array,
    steps: Sequence[float],
    **options: Any,
) -> None:
    """`adam` of a list of tensors with its `options`, in place; one loop takes all that fit (`tensor_list`), with the same bits.

    `arrays` are param, grad, exp_avg, exp_avg_sq and with `amsgrad` max_exp_avg_sq of the first tensor, then those of the
    next one; `steps` has one entry for each tensor.
    """
    together, alone = launches(arrays, len(steps))
    for tensors, indices in together:
        _adam_step(tensors, [steps[index] for index in indices], **options)
    for (param, grad, mean, square, *largest), number in alone:
        top = largest[0] if largest else None
        adam(param, grad, mean, square, top, step=steps[number], **options, out=(param, mean, square, top))


def multi_tensor_unscale(*arrays: Array) -> None:
    """Multiply gradients by a factor, in place, and set `found` to 1 if an element of one of them is not finite. What is listed
    twice is multiplied once.

    `arrays` are `found` and the factor, float32 scalars, and the gradients.
    """
    found, inverse, *gradients = arrays
    once = list({id(gradient): gradient for gradient in gradients if gradient.size}.values())
    together, alone = launches(once, len(once))
    bad = False
    for tensors, _ in together:
        addresses, offsets, total, dtype = tensors
        factor = np.array([inverse], dtype)
        if tensors.is_large:
            of_chunks = np.zeros(chunks(total), np.bool_)
            _unscale_parallel(addresses, offsets, factor, of_chunks)
            bad |= bool(of_chunks.any())
        else:
            bad |= bool(_unscale_part(addresses, offsets, 0, total, factor))
    for (gradient,), _ in alone:
        bad |= not np.isfinite(gradient).all()
        gradient[...] = gradient * inverse  # float16 and bfloat16 are rounded once
    if bad:
        found[...] = 1
