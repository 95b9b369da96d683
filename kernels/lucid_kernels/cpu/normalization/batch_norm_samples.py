"""Batch normalisation of arrays that fit into the caches of the threads, cut along the samples.

A thread finds there what it has computed in the convolution before, and leaves there what it computes in the one behind, while
channels of all samples (`batch_norm_planes`) are in the caches of all threads. On a virtual machine with two CPUs, whose memory
bandwidth was 110 GB/s at times and 60 at others, gradients of (64, 32, 8, 8) took three times as long at the
former times, presumably because the CPUs share no L3 cache then: cut along the samples they do not. The sums of each part are
kept until those of all are known: two launches. The parts do not depend on the number of threads.
"""
from __future__ import annotations

import numba
import numpy as np

from ..arrays.layout import PARALLEL_BYTES, Array
from ..runtime.jit import jit, jit_parallel
from . import batch_norm_planes as rows
from .channel_loops import SUM_BYTES
from .channel_microkernels import (
    grad,
    grad_sums,
    masked_grad_sums,
    normalize,
    normalize_add_relu,
    normalize_relu,
    recomputed_grad,
    recomputed_grad_sums,
    shifted_sums,
)
from .channel_parameters import finish_grad, move_infinities, restore_means

# Parts of the samples, and bytes of an array that has them: the L2 cache of a thread.
_PARTS = 8
_MOST_BYTES = 1 << 20


def suits(x: Array, training: bool | None) -> bool:
    """Whether to take x (N, C, S) along the samples: of several megabytes what a channel's sums have read is in the cache
    for the second pass.
    """
    return bool(training) and len(x) >= _PARTS and PARALLEL_BYTES <= 2 * x.nbytes <= 2 * _MOST_BYTES


def _memory(x: Array) -> Array:
    """For the sums of each part."""
    return np.empty((_PARTS, x.shape[1] * (SUM_BYTES // 8)))


@jit
def _part(array, part):
    """The samples of a part."""
    count = array.shape[0]
    return array[part * count // _PARTS : (part + 1) * count // _PARTS]


@jit
def _total(memory, c):
    """Both sums of channel c."""
    sum1, sum2 = 0.0, 0.0
    for part in range(memory.shape[0]):
        sum1 += memory[part, 2 * c]
        sum2 += memory[part, 2 * c + 1]
    return sum1, sum2


@jit_parallel
def _add_up(x, numbers, memory):
    """The sums of parts of x - shift and of its square; the shifts are put in the place of the means."""
    rows.choose_shifts(x, numbers, 0, x.shape[1])
    for part in numba.prange(_PARTS):
        shifted_sums(_part(x, np.int64(part)), 0, x.shape[1], numbers, memory[part])


@jit
def _finish(x, numbers, memory, momentum, eps):
    for c in range(x.shape[1]):
        sum1, sum2 = _total(memory, c)
        rows.finish_channel(x, numbers, c, sum1, sum2, momentum, eps)
    move_infinities(numbers, 0, x.shape[1])


@jit_parallel
def _normalize(x, residual, numbers, memory, relu, momentum, eps, y):
    _finish(x, numbers, memory, momentum, eps)
    for part in numba.prange(_PARTS):
        source, target = _part(x, np.int64(part)), _part(y, np.int64(part))
        if relu is None:
            normalize(source, source, 0, x.shape[1], numbers, target, False)
        elif residual is None:
            normalize_relu(source, source, 0, x.shape[1], numbers, target, False)
        else:
            normalize_add_relu(source, _part(residual, np.int64(part)), 0, x.shape[1], numbers, target, False)
    restore_means(numbers, 0, x.shape[1])


def forward(x: Array, residual: Array | None, numbers: Array, training: bool | None, relu: bool | None, momentum: float,
            eps: float, y: Array, stream: bool) -> None:
    """`batch_norm_planes.forward`, for arrays that suit."""
    memory = _memory(x)
    _add_up(x, numbers, memory)
    _normalize(x, residual, numbers, memory, relu, momentum, eps, y)


@jit_parallel
def _add_up_gradient(g, x, y, numbers, relu, gm, memory):
    for part in numba.prange(_PARTS):
        upstream, source = _part(g, np.int64(part)), _part(x, np.int64(part))
        if relu is None:
            grad_sums(upstream, source, 0, x.shape[1], numbers, memory[part])
        elif gm is None:
            recomputed_grad_sums(upstream, source, 0, x.shape[1], numbers, memory[part])
        else:
            masked_grad_sums(upstream, _part(y, np.int64(part)), source, 0, x.shape[1], numbers, _part(gm, np.int64(part)),
                             memory[part])


@jit_parallel
def _gradient(g, x, numbers, memory, recomputed, dx):
    for c in range(x.shape[1]):
        sum_g, sum_gx = _total(memory, c)
        finish_grad(numbers, c, sum_g, sum_gx, x.shape[0] * x.shape[2])
    for part in numba.prange(_PARTS):
        if recomputed is None:
            grad(_part(g, np.int64(part)), _part(x, np.int64(part)), 0, x.shape[1], numbers, _part(dx, np.int64(part)), False)
        else:
            recomputed_grad(_part(g, np.int64(part)), _part(x, np.int64(part)), 0, x.shape[1], numbers,
                            _part(dx, np.int64(part)), False)


def gradient(g: Array, x: Array, y: Array | None, numbers: Array, training: bool | None, relu: bool | None, dx: Array,
             gm: Array | None, stream: bool) -> None:
    """`batch_norm_planes.gradient`, for arrays that suit."""
    memory = _memory(x)
    _add_up_gradient(g, x, y, numbers, relu, gm, memory)
    _gradient(g if gm is None else gm, x, numbers, memory, True if relu and gm is None else None, dx)
