"""Planted bugs for conv2d, pool2d and random: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda import test_unscale
from tests.kernels.cuda.convolution import test_conv2d
from tests.kernels.cuda.pooling import test_pool2d
from tests.kernels.cuda.random import test_random


# ---- conv2d --------------------------------------------------------------------------------------------------------
def check_conv(*cases: str) -> None:
    import cupy as cp
    from lucid_kernels.cuda.convolution import conv2d

    for case in cases:
        x, weight, bias = test_conv2d.data(case)
        keywords = test_conv2d.attributes(case)
        y, g, dx, dw = test_conv2d.reference(x, weight, bias, 1, **keywords)
        x_, weight_, bias_, g_ = map(cp.asarray, (x, weight, bias, g))
        test_conv2d.close(conv2d.conv2d(x_, weight_, bias_, **keywords), y, 1e-12)
        test_conv2d.close(conv2d.conv2d_grad_input(g_, weight_, input_shape=x.shape, **keywords), dx, 1e-12)
        test_conv2d.close(conv2d.conv2d_grad_weight(g_, x_, weight_shape=weight.shape, **keywords), dw, 1e-12)


def check_tiles() -> None:
    check_conv("tile", "1x1, two tiles each way", "stride beyond the kernel", "patches")


def check_direct() -> None:
    check_conv("pairs of channels", "pairs of channels, long sum", "multiplier")


def check_slices() -> None:
    check_conv("split sum")


# ---- pool2d --------------------------------------------------------------------------------------------------------
def check_max() -> None:
    import cupy as cp
    from lucid_kernels.cuda.pooling import pool2d

    for case in ("overlap", "dilated"):
        x = np.random.default_rng(0).integers(-3, 4, test_pool2d.WINDOWS[case][0]).astype(np.float64)
        x[0, 0, 1, 1] = np.nan
        y, where = test_pool2d.max_reference(x, case, True)
        y_, where_ = pool2d.max_pool2d(cp.asarray(x), **test_pool2d.max_attributes(case, True))
        np.testing.assert_array_equal(y_.get(), y)
        np.testing.assert_array_equal(where_.get(), where)
        np.testing.assert_array_equal(pool2d.max_pool2d_gather(cp.asarray(x), where_).get(), y)
        clipped, places = pool2d.max_pool2d(cp.asarray(x), **test_pool2d.max_attributes(case, True), relu=True)
        np.testing.assert_array_equal(clipped.get(), np.where(y < 0, 0, y))
        np.testing.assert_array_equal(places.get(), np.where(y <= 0, -1, where))


def check_max_grad() -> None:
    import cupy as cp
    from lucid_kernels.cuda.pooling import pool2d

    rng = np.random.default_rng(3)
    g, where = rng.standard_normal((1, 2, 20, 21)), rng.integers(0, 600, (1, 2, 20, 21))
    dx = np.zeros((2, 600))
    for plane, i, gi in zip(dx, where.reshape(2, -1), g.reshape(2, -1), strict=True):
        np.add.at(plane, i, gi)
    result = pool2d.max_pool2d_grad(cp.asarray(g), cp.asarray(where), input_shape=(1, 2, 20, 30))
    np.testing.assert_array_equal(result.get().reshape(2, 600), dx)
    for plane, i, gi in zip(dx, where.reshape(2, -1), g.reshape(2, -1), strict=True):
        plane[i] = gi
    placed = pool2d.max_unpool2d(cp.asarray(g), cp.asarray(where), output_size=(20, 30)).get().reshape(2, 600)
    np.testing.assert_array_equal(placed[dx != 0], dx[dx != 0])


def check_channels_last() -> None:
    import cupy as cp
    from lucid_kernels.cuda.pooling import pool2d

    test_pool2d.test_halves_and_channels_last(cp, None, pool2d, "overlap", np.float16, 16)
    test_pool2d.test_adaptive_maxima_of_channels_that_come_last(cp, None, pool2d, np.float16)


def check_bad_index() -> None:
    import cupy as cp
    from lucid_kernels.cuda.pooling import pool2d
    from lucid_kernels.cuda.runtime import launch

    for bad in (-1, 12):
        where = cp.asarray(np.full((1, 1, 1, 1), bad))
        for call in (
            lambda where=where: pool2d.max_pool2d_gather(cp.ones((1, 1, 3, 4)), where),
            lambda where=where: pool2d.max_pool2d_grad(cp.ones((1, 1, 1, 1)), where, input_shape=(1, 1, 3, 4)),
        ):
            call()
            try:
                launch.raise_pending()
            except IndexError:
                continue
            raise AssertionError("a bad index went unnoticed")


def check_average() -> None:
    import cupy as cp
    from lucid_kernels.cuda.pooling import pool2d

    for case in ("overlap", "partial"):
        shape, kernel, stride, padding, _ = test_pool2d.WINDOWS[case]
        x = test_pool2d.random(shape)
        for count_include_pad in (False, True):
            y, g, dx = test_pool2d.avg_reference(x, test_pool2d.random, case, True, count_include_pad, None)
            keywords = dict(kernel_size=kernel, stride=stride, padding=padding, ceil_mode=True,
                            count_include_pad=count_include_pad, divisor_override=None)  # fmt: skip
            np.testing.assert_allclose(pool2d.avg_pool2d(cp.asarray(x), **keywords).get(), y, atol=1e-13)
            dx_ = pool2d.avg_pool2d_grad(cp.asarray(g), input_shape=shape, **keywords)
            np.testing.assert_allclose(dx_.get(), dx, atol=1e-13)


def check_adaptive() -> None:
    import cupy as cp
    from lucid_kernels.cuda.pooling import pool2d

    for shape, output_size in test_pool2d.ADAPTIVE:
        x, g = test_pool2d.random(shape), test_pool2d.random((*shape[:2], *output_size), 1)
        y, dx = test_pool2d.adaptive_reference(x, g)
        y_ = pool2d.adaptive_avg_pool2d(cp.asarray(x), output_size=output_size)
        np.testing.assert_allclose(y_.get(), y, atol=1e-13)
        dx_ = pool2d.adaptive_avg_pool2d_grad(cp.asarray(g), input_shape=shape)
        np.testing.assert_allclose(dx_.get(), dx, atol=1e-13)
        y, where = test_pool2d.adaptive_max_reference(x, output_size)
        y_, where_ = pool2d.adaptive_max_pool2d(cp.asarray(x), output_size=output_size)
        np.testing.assert_array_equal(y_.get(), y)
        np.testing.assert_array_equal(where_.get(), where)


def check_stored() -> None:
    import cupy as cp

    test_random.check_stored(cp)


# ---- random --------------------------------------------------------------------------------------------------------
def check_random() -> None:
    import cupy as cp
    from lucid_kernels.cpu.random import random as cpu
    from lucid_kernels.cuda.random import random

    place = dict(seed=test_random.SEED, offset=test_random.OFFSET)
    for dtype in (np.float32, np.float64):
        y = random.random_uniform(shape=(1001,), dtype=dtype, **place)
        test_random.same_bits(y, test_random.uniform(dtype, *place.values(), 1001))
        for interval in (dict(low=1.0, high=1 + 2.0**-20), dict(low=0.1, high=0.8)):
            expected = cpu.random_uniform(shape=(1001,), dtype=dtype, **place, **interval)
            test_random.same_bits(random.random_uniform(shape=(1001,), dtype=dtype, **place, **interval), expected)
        expected = cpu.random_exponential(shape=(1001,), dtype=dtype, **place)
        test_random.same_bits(random.random_exponential(shape=(1001,), dtype=dtype, **place), expected)
        expected = cpu.random_normal(shape=(1001,), dtype=dtype, **place)
        test_random.same_bits(random.random_normal(shape=(1001,), dtype=dtype, **place), expected)
        x = np.random.default_rng(0).standard_normal(1001).astype(dtype)
        x[:100] = np.inf
        test_random.same_bits(random.dropout(cp.asarray(x), p=0.3, **place), cpu.dropout(x, p=0.3, **place))
    bounds = dict(low=-7, high=2**40, dtype=np.int64)
    expected = cpu.random_integers(shape=(1001,), **bounds, **place)
    test_random.same_bits(random.random_integers(shape=(1001,), **bounds, **place), expected)


def check_unscale() -> None:
    import cupy as cp
    from lucid_kernels.cuda.unscale import multi_tensor_unscale

    for dtype in test_unscale.DTYPES:
        for position in (None, 0, 4999, slice(None)):
            test_unscale.check(cp, multi_tensor_unscale, dtype, position)
        test_unscale.check(cp, multi_tensor_unscale, dtype, 17, np.inf)
        test_unscale.test_strided_mixed_and_repeated_gradients(cp, multi_tensor_unscale, dtype)


PHILOX, NUMBERS = "philox.cuh", "numbers.cuh"
CONV, POOL, RANDOM, UNSCALE = "conv2d.cu", "pool2d.cu", "random.cu", "unscale.cu"
MUTATIONS = [
    # all tiled kernels of conv2d
    Mutation(CONV, "no barrier", r"__syncthreads\(\);  // one", "// one", check_tiles),
    Mutation(
        CONV,
        "one buffer for two slabs",
        r"const int then = \(slab \+ 1\) & 1",
        "const int then = slab & 1",
        check_tiles,
    ),
    Mutation(
        CONV, "shared memory out of range", r"cols\[now\]\[k\]\[col \+ i\]", "cols[now][k][col + i + 8]", check_tiles
    ),
    Mutation(
        CONV,
        "lost carry",
        r"if \(mid >= mids\) \{ mid -= mids; \+\+major; \}",
        "if (mid >= mids) mid -= mids;",
        check_tiles,
    ),
    Mutation(CONV, "last slab left out", r"\(terms \+ SLAB - 1\) / SLAB", "terms / SLAB", check_tiles),
    Mutation(CONV, "no pixel guard", r"if \(col \+ j >= pixels\) break;", ";", check_tiles),
    # conv2d_tile
    Mutation(
        CONV, "no row guard on load", r"term < terms && o < lines \? weight", "term < terms ? weight", check_tiles
    ),
    Mutation(CONV, "no row guard on store", r"if \(row \+ i < group_out\)\n", "\n", check_tiles),
    Mutation(
        CONV,
        "no padding guard",
        r"inside && at\.major < channels && h >= 0",
        "inside && at.major < channels",
        check_tiles,
    ),
    # conv2d_grad_input_tile
    Mutation(
        CONV,
        "phase without padding",
        r"first_pixel = \(phase - pad % stride \+ stride\) % stride",
        "first_pixel = phase",
        check_tiles,
    ),
    Mutation(CONV, "first tap", r"first_tap \* dilation % stride != phase", "first_tap % stride != phase", check_tiles),
    Mutation(CONV, "outputs below the last", r" && oh < out_h", "", check_tiles),
    # conv2d_grad_weight_tile, conv2d_sum_slices
    Mutation(
        CONV, "sum not guarded", r"term < end && offset\[i\] >= 0 && h >= 0", "offset[i] >= 0 && h >= 0", check_slices
    ),
    Mutation(CONV, "slices overlap", r"slice \* slabs_per_slice \* SLAB", "slice * slabs_per_slice", check_slices),
    Mutation(CONV, "every block writes slice 0", r"\(\(i64\)slice \* out_channels \+", "(", check_slices),
    Mutation(CONV, "last slice lost", r"s < slices", "s + 1 < slices", check_slices),
    # the direct kernels
    Mutation(
        CONV, "direct: no bias", r"has_bias \? sum \+ widened\(bias\[o\]\) : sum", "sum", check_direct
    ),
    Mutation(
        CONV,
        "direct: past the image",
        r"if \(h >= 0 && h < in_h && w >= 0 && w < in_w\) sum",
        "if (h >= 0 && w >= 0) sum",
        check_direct,
    ),
    Mutation(CONV, "direct: stride ignored", r"above < 0 \|\| above % stride_h", "above < 0", check_direct),
    Mutation(CONV, "direct: threads overlap", r"out_w, 256\)", "out_w, 255)", check_direct),
    Mutation(
        CONV,
        "direct: no barrier",
        r"__syncthreads\(\);\n  value = lane < warps",
        "\n  value = lane < warps",
        check_direct,
        inside="common.cuh",
    ),
    # max_pool2d
    Mutation(POOL, "NaN loses", r"value\[j\] > best\[j\] \|\| value\[j\] != value\[j\]", "value[j] > best[j]", check_max),
    Mutation(POOL, "last maximum", r"value\[j\] > best\[j\] \|\|", "value[j] >= best[j] ||", check_max),
    Mutation(POOL, "starts in the padding", r"if \(w0 < 0\) w0 \+= .*;", ";", check_max),
    Mutation(POOL, "negative maxima stay", r"relu && best\[j\] < A\(0\)", "false", check_max),
    Mutation(POOL, "0 lets its gradient pass", r"relu && best\[j\] <= A\(0\)", "relu && best[j] < A(0)", check_max),
    Mutation(POOL, "reaches past the image", r", \(i64\)in_h\);", ", (i64)in_h + 1);", check_max),
    Mutation(POOL, "packs of other channels", r"base = e % packs \* N", "base = e % packs", check_channels_last),
    Mutation(POOL, "pixels side by side", r"step = channels;", "", check_channels_last),
    Mutation(POOL, "indices of the first of a pack", r"indices\[e \* N \+ j\]", "indices[e * N]", check_channels_last),
    Mutation(POOL, "halves not rounded from their sums", r"if \(sizeof\(T\) < sizeof\(A\)\)", "if (false)", check_channels_last),
    # max_pool2d_grad
    Mutation(
        POOL, "bands overlap", r"target >= begin && target < end", "target >= 0 && target < in_size", check_max_grad
    ),
    Mutation(POOL, "only the first lane adds", r"rest &= rest - 1\)", "rest = 0)", check_max_grad),
    Mutation(POOL, "no lane is first", r"first == lane", "first == lane + 1", check_max_grad),
    Mutation(POOL, "tail", r"i < out_size \? load_index", "i <= out_size ? load_index", check_max_grad),
    Mutation(POOL, "unpooling adds", r"add \? sum \+ term : term", "sum + term", check_max_grad),
    Mutation(POOL, "half a warp", r"0xffffffffu, target, source", "0x0000ffffu, target, source", check_max_grad),
    Mutation(
        POOL, "bad index not reported", r"\(target < \(relu \? -1 : 0\) \|\| target >= in_size\)", "target >= in_size", check_bad_index
    ),
    # max_pool2d_gather
    Mutation(POOL, "gather: bad index not reported", r"index < 0 \|\| index >= in_size", "index < 0", check_bad_index),
    Mutation(POOL, "gather: wrong plane", r"e / out_size \* in_size", "e / in_size * in_size", check_max),
    # avg_pool2d, avg_pool2d_grad
    Mutation(
        POOL,
        "window beyond the padding",
        r"end = min\(begin \+ kernel, \(i64\)size \+ pad\)",
        "end = begin + kernel",
        check_average,
    ),
    Mutation(POOL, "average: one column more", r"j < w\.end", "j <= w.end", check_average),
    Mutation(POOL, "average: padding always counts", r"return count_include_pad \?", "return true ?", check_average),
    Mutation(
        POOL,
        "average gradient: one window more",
        r"\(h - kernel_h\) / stride_h \+ 1",
        "(h - kernel_h) / stride_h",
        check_average,
    ),
    Mutation(
        POOL,
        "average gradient: past the last",
        r"min\(w / stride_w \+ 1, \(i64\)out_w\)",
        "w / stride_w + 1",
        check_average,
    ),
    # adaptive_max_pool2d, adaptive_avg_pool2d and its kin
    Mutation(
        POOL,
        "adaptive maximum: one column more",
        r"w < w1; \+\+w\) take_maxima",
        "w <= w1; ++w) take_maxima",
        check_adaptive,
    ),
    Mutation(
        POOL,
        "adaptive: end rounded down",
        r"\(\(i \+ 1\) \* in \+ out - 1\) / out",
        "(i + 1) * in / out",
        check_adaptive,
    ),
    Mutation(POOL, "adaptive: rows only", r"\(\(h1 - h0\) \* \(w1 - w0\)\)", "(h1 - h0)", check_adaptive),
    Mutation(POOL, "adaptive: lanes not added", r"sum = warp_reduce\(sum, Sum\(\)\);", "", check_adaptive),
    Mutation(
        POOL, "adaptive: lanes skip", r"i \+= 32 \* N", "i += 64 * N", check_adaptive
    ),
    Mutation(
        POOL,
        "adaptive gradient: one output only",
        r"\(\(h \+ 1\) \* out_h - 1\) / in_h",
        "h * out_h / in_h",
        check_adaptive,
    ),
    # random_uniform, random_normal, random_integers: the store matches once, in the helper, and once in each kernel
    Mutation(RANDOM, "nine rounds", r"round < 10", "round < 9", check_random, inside=PHILOX),
    Mutation(RANDOM, "32-bit counter", r"\(unsigned\)\(counter >> 32\)", "0u", check_random, inside=PHILOX),
    Mutation(RANDOM, "stored: always from the first block", r"at\[1\] \+ offset", "at[1]", check_stored, inside=PHILOX),
    Mutation(RANDOM, "tail", r"q \* Numbers<T>::count, n\)", "q * Numbers<T>::count, n + 1)", check_random),
    Mutation(RANDOM, "uniform: 23 bits", r"\(float\)\(w\.y >> 8\)", "(float)(w.y >> 9 << 1)", check_random),
    Mutation(RANDOM, "uniform: the end", r"number < range\.top \? number : range\.top", "number", check_random),
    Mutation(RANDOM, "uniform: contracted", r"add\(mul\(unit, range\.span\), range\.low\)",
             "fused(unit, range.span, range.low)", check_random),
    Mutation(RANDOM, "exponential: 1 - u rounded", r"e == T\(0\) \? -rest : f", "f", check_random, inside=NUMBERS),
    Mutation(RANDOM, "rounded twice", r"__fmaf_rn\(a, b, c\)", "__fadd_rn(__fmul_rn(a, b), c)", check_random, inside=NUMBERS),
    Mutation(RANDOM, "rounded twice in double", r"__fma_rn\(a, b, c\)", "__dadd_rn(__dmul_rn(a, b), c)", check_random, inside=NUMBERS),
    Mutation(RANDOM, "quadrant", r"\(quadrant \+ 1\) & 2", "quadrant & 2", check_random, inside=NUMBERS),
    Mutation(RANDOM, "integers: low word first", r"\(u64\)w\.z << 32 \| w\.w", "(u64)w.w << 32 | w.z", check_random),
    Mutation(RANDOM, "dropout: keeps the wrong ones", r"words\[j\] >= threshold", "words[j] < threshold", check_random),
    Mutation(RANDOM, "dropout: tail", r"if \(i < n\)", "", check_random),
    Mutation(
        RANDOM,
        "dropout: inf times zero",
        r"widened\(x\[i\]\) \* \(words\[j\] >= threshold \? scale : Accumulator<T>\(0\)\)",
        "(words[j] >= threshold ? widened(x[i]) * scale : Accumulator<T>(0))",
        check_random,
    ),
    # gradients of a scaled loss
    Mutation(UNSCALE, "infinity is finite", r"!\(g - g == 0\)", "g != g", check_unscale),
    Mutation(UNSCALE, "seen by thread 0 only", r"__syncthreads_or\(bad\)", "bad", check_unscale),
    Mutation(UNSCALE, "the last element decides", r"bad \|= unscale_element\(grad \+ i, \*inverse\);\n      start", "bad = unscale_element(grad + i, *inverse);\n      start",
             check_unscale),
    Mutation(UNSCALE, "one tensor as it is", r"GRID_STRIDE\(i, n\) bad", "GRID_STRIDE(i, n - 1) bad", check_unscale),
]
