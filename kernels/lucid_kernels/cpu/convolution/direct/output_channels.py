"""Convolution of small planes and in groups, as a ResNeXt has, with the results as lanes: no copies for each tap.

A pixel is multiplied by the weights of a vector of results, from where it lies; its planes are copied once, with their padding
and dealt out by the strides, and the sums are transposed on the way to memory. `forward` copies them for each column of taps,
with strides and for several small images for each tap: a group of 16 or 32 results is too few to pay for that, and small planes
leave parts of its blocks of positions empty, where a row of 7 or 14 positions is a block here. In 0.65 to 0.95 of its time; from
some 300 positions on they take as long, and for rows of 4, too few sums to hide an addition's latency, this takes 1.07.

Without AVX-512 two multiply-adds start in a cycle, and to load a pixel for each is what bounds this: 0.5 to 0.8 of the time of
`forward` in groups with strides, 1.0 to 1.2 otherwise.
"""
from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from ...arrays.layout import PARALLEL_FROM, Array
from ...arrays.window import Window, turned_window
from ...runtime.allocator import empty
from ...runtime.implementations import unmet
from ...runtime.intrinsic import I64, intrinsic
from ...runtime.jit import jit, jit_parallel
from ...simd.aligned import aligned_empty, whole_vectors
from ...simd.cpu_features import VECTOR_BYTES
from ...simd.ir import Vectors, data_of, gep
from ...simd.transpose_planes import transpose, transpose_back
from ..dilation_bands import rows_met
from ..image_batch import Images, fill_images, meets, planes_of
from ..problem import Problem
from .microkernels import PRODUCTS
from .packed_weight import MOST_POSITIONS

# Neighbouring results whose sums are in registers: rows of 14 and 28 in most networks for images of 224 pixels. Of 16 registers
# the weights and a pixel have two.
_RUN = 14
# Bytes of the copies of a band of output rows, which stay in an L1 cache of 32 KiB while the weights stream by.
_BAND_BYTES = 24 << 10
# Positions of an image at most, and of a row at least.
_MOST_POSITIONS, _LEAST_WIDTH = 320, 5
# Products of a task.
_TASK_PRODUCTS = 1 << 18


class _Cut(NamedTuple):
    """`band` output rows are computed at once, from copies of `channels` channels that have `rows` rows and lie `step` apart."""

    channels: int
    band: int
    rows: int
    step: int


@functools.lru_cache(maxsize=64)
def _plan(window: Window, channels: int, turned: bool, itemsize: int) -> tuple[Window, _Cut, Array]:
    """The window of the copies, as if there were one tap for each remainder by the strides, the cut, and where each tap
    (channels, KH, KW) starts, `turned` those of each channel from the last to the first.
    """
    kh, kw, sh, sw, _, _, dh, dw, height, width = window
    (down, below), (across, beside) = ((min(stride, reach + 1), reach // stride)
                                       for stride, reach in ((sh, (kh - 1) * dh), (sw, (kw - 1) * dw)))
    pitch = width + beside
    copied = window._replace(kh=down, kw=across, dh=1, dw=1, out_width=pitch)
    fitting = _BAND_BYTES // (channels * down * across * pitch * itemsize) - below
    band = -(-height // -(-height // max(1, below, fitting)))
    step = whole_vectors((band + below) * pitch, itemsize)
    starts = np.array([[((c * down + a % sh) * across + b % sw) * step + a // sh * pitch + b // sw
                        for a in range(0, kh * dh, dh) for b in range(0, kw * dw, dw)] for c in range(channels)])
    starts = np.ascontiguousarray(starts[:, ::-1] if turned else starts)
    return copied, _Cut(channels, band, band + below, step), starts.reshape(-1)


@intrinsic
def _sum_run(typing, size, pixels, start, taps, first, last, weight, sums, place, bias, more,
             y, asked):
    """For r < size <= _RUN the vector `place` + r of `sums` = the vector `bias`, or with `more` what is there, plus the sum of
    pixels[start + taps[k] + r] * vector k of weight over first <= k < last. Nothing is checked. It asks for `size`
    vectors of y, from the element `asked` on, to be written: a store waits for its line.
    """
    integer = types.int64
    signature = types.void(integer, pixels, integer, taps, integer, integer, weight, sums, integer, bias, types.boolean, y,
                           integer)

    def emit(context, builder, signature, arguments):
        pixels, taps, weight, sums, bias = (data_of(context, builder, signature.args[i], arguments[i]) for i in (1, 3, 6, 7, 9))
        ahead = gep(builder, data_of(context, builder, signature.args[11], arguments[11]), arguments[12])
        size, start, first, last, place, more = (arguments[i] for i in (0, 2, 4, 5, 8, 10))
        lanes = VECTOR_BYTES // (signature.args[1].dtype.bitwidth // 8)
        vectors = Vectors(builder, pixels.type.pointee, lanes)
        totals = [cgutils.alloca_once(builder, vectors.type) for _ in range(_RUN)]
        vector = ir.Constant(I64, lanes)
        results = gep(builder, sums, builder.mul(place, vector))
        before = builder.select(more, results, bias)
        step = builder.select(more, vector, ir.Constant(I64, 0))
        source = gep(builder, pixels, start)

        def sum_run(some: list[Any]) -> None:
            for r, total in enumerate(some):
                builder.store(vectors.zero, total)
                vectors.prefetch(gep(builder, ahead, r * lanes))
            with cgutils.for_range_slice(builder, first, last, ir.Constant(I64, 1), intp=I64) as (k, _):
                met = gep(builder, source, builder.load(gep(builder, taps, k)))
                scales = vectors.load(gep(builder, weight, builder.mul(k, vector)))
                for r, total in enumerate(some):
                    vectors.add_product(total, vectors.splat(builder.load(gep(builder, met, r))), scales)
            # Added last: a sum over few steps has smaller errors than one that runs on from what is there.
            for r, total in enumerate(some):
                added = vectors.load(gep(builder, before, builder.mul(step, ir.Constant(I64, r))))
                vectors.store(builder.fadd(builder.load(total), added), gep(builder, results, r * lanes))

        behind = builder.append_basic_block("summed")
        choice = builder.switch(size, behind)
        for count in range(1, _RUN + 1):
            block = builder.append_basic_block(f"run{count}")
            choice.add_case(ir.Constant(I64, count), block)
            builder.position_at_end(block)
            sum_run(totals[:count])
            builder.branch(behind)
        builder.position_at_end(behind)
        return context.get_dummy_value()

    return signature, emit


@jit
def _convolve(x, images, weight, bias, groups, window, copied, cut, taps, y, first, last):
    """Units first..last ((group * images + n) * bands + band) of flat y from some `images` of flat x, weight (blocks, K * lanes),
    where K is slice after slice, and bias (O,).
    """
    samples, slices = images.sources.shape
    size, out_height, out_width = x.itemsize, window.out_height, window.out_width
    lanes, each, blocks, depth = VECTOR_BYTES // size, cut.channels, weight.shape[0] // groups, taps.shape[0]
    runs, pieces = (out_width + _RUN - 1) // _RUN, (depth + PRODUCTS - 1) // PRODUCTS
    bands = (out_height + cut.band - 1) // cut.band
    copies = aligned_empty(each * copied.kh * copied.kw * cut.step, x)
    sums = aligned_empty(blocks * cut.band * out_width * lanes, x)
    for unit in range(first, last):
        top, n, group = unit % bands * cut.band, unit // bands % samples, unit // (bands * samples)
        rows, added = min(cut.band, out_height - top), False
        for s in range(slices):
            if not meets(images, n, 1, s) and (added or s < slices - 1):
                continue
            fill_images(x, images, n, 1, s, group * each, each, copied, copied.kh, top, cut.rows, cut.step, copies)
            for block in range(blocks):
                there = group * blocks + block
                asked = images.targets[n] + there * lanes * images.target_pitch + top * out_width * lanes
                scales = weight[there, s * depth * lanes :]
                for r in range(rows):
                    for run in range(runs):
                        j = run * out_width // runs
                        length = (run + 1) * out_width // runs - j
                        place = r * out_width + j
                        for piece in range(pieces):
                            _sum_run(length, copies, r * copied.out_width + j, taps, piece * depth // pieces,
                                     (piece + 1) * depth // pieces, scales, sums, block * rows * out_width + place,
                                     bias[there * lanes :], added or piece > 0, y, asked + place * lanes)
            added = True
        for block in range(blocks):
            target = images.targets[n] + (group * blocks + block) * lanes * images.target_pitch + top * out_width
            transpose_back(y, sums.ctypes.data + block * rows * out_width * lanes * size, rows * out_width, lanes,
                           y.ctypes.data + target * size, images.target_pitch * size)


@jit_parallel
def _pack(weight, groups, parts, results, taps, packed, each):
    """packed (G, blocks, parts, taps, lanes), flat, from the flat weight (G, parts, results, taps), `each` blocks at a time."""
    size = weight.itemsize
    lanes = VECTOR_BYTES // size
    blocks = results // lanes
    for task in numba.prange((groups * blocks + each - 1) // each):
        for block in range(task * each, min(groups * blocks, (task + 1) * each)):
            for part in range(parts):
                source = ((block // blocks * parts + part) * results + block % blocks * lanes) * taps
                transpose(weight, weight.ctypes.data + source * size, taps * size, taps, lanes,
                          packed.ctypes.data + (block * parts + part) * taps * lanes * size)


@jit_parallel
def _convolve_parallel(x, images, weight, bias, groups, window, copied, cut, taps, y, each):
    units = groups * images.targets.shape[0] * ((window.out_height + cut.band - 1) // cut.band)
    for task in numba.prange((units + each - 1) // each):
        _convolve(x, images, weight, bias, groups, window, copied, cut, taps, y, task * each, min(units, (task + 1) * each))


def shape_why_not(problem: Problem) -> str | None:
    """`why_not` for any number of images."""
    window, wide, grouped = problem.window, problem.vector_bytes == 64, problem.groups > 1
    return unmet(
        (grouped or (wide and window[:2] != (1, 1)), "no groups" if wide else "no groups, without AVX-512"),
        (wide or window[2:4] != (1, 1), "no stride, without AVX-512"),
        (window.out_width >= _LEAST_WIDTH, f"rows of fewer than {_LEAST_WIDTH} positions"),
        (problem.positions <= _MOST_POSITIONS, f"more than {_MOST_POSITIONS} positions"),
        (problem.outputs_of_group % problem.lanes == 0, "the outputs of a group are no whole vectors"),
        (not rows_met(window, problem.height), "rows of taps that meet only padding"),
    )


def why_not(problem: Problem) -> str | None:
    many = problem.groups > 1 or problem.images * problem.positions > MOST_POSITIONS
    return unmet((many, "few positions, for which the weight is rather read where it lies")) or shape_why_not(problem)


def grad_input_why_not(problem: Problem) -> str | None:
    return unmet((problem.window[2:4] == (1, 1), "strided")) or why_not(problem.turned())


def _sum_products(x: Array, images: Images, weight: Array, parts: int, bias: Array, window: Window, turned: bool, y: Array,
                  groups: int) -> None:
    """Fill y from the `images` of x and the weight (G, parts, results, taps), whose taps are `turned` or not."""
    channels, results, lanes = x.shape[1] // groups, y.shape[1] // groups, VECTOR_BYTES // x.itemsize
    copied, cut, taps = _plan(window, channels, turned, x.itemsize)
    depth = taps.size * images.sources.shape[1]
    packed = empty((y.shape[1] // lanes, depth * lanes), x.dtype)
    _pack(weight.reshape(-1), groups, parts, results, depth // parts, packed.reshape(-1),
          max(1, PARALLEL_FROM // packed.shape[1]))
    products = results * depth * cut.band * window.out_width
    _convolve_parallel(x.reshape(-1), images, packed, bias, groups, window, copied, cut, taps, y.reshape(-1),
                       max(1, _TASK_PRODUCTS // products))


def convolve_images(x: Array, images: Images, weight: Array, bias: Array, window: Window, y: Array, groups: int) -> None:
    """Fill y (N, O, ...) from the `images` of x (N, C, ...), weight (O, K), contiguous, and bias (O,)."""
    _sum_products(x, images, weight, 1, bias, window, False, y, groups)


def convolve(x: Array, weight: Array, bias: Array, window: Window, y: Array, groups: int) -> None:
    """Fill y (N, O, OH, OW) from x (N, C, H, W), weight (O, C / G, KH, KW) and bias (O,), all contiguous."""
    convolve_images(x, planes_of(x.shape, y.shape), weight, bias, window, y, groups)


def grad_input(g: Array, weight: Array, window: Window, dx: Array, groups: int) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW) and weight (O, C / G, KH, KW), all contiguous, for strides of 1."""
    images, none = planes_of(g.shape, dx.shape), np.zeros(dx.shape[1], g.dtype)
    _sum_products(g, images, weight, len(weight) // groups, none, turned_window(window, dx.shape), True, dx, groups)
