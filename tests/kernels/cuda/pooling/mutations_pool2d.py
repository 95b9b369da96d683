"""Planted bugs for pool2d: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.pooling import test_pool2d


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


def check_windows() -> None:
    import cupy as cp
    from lucid_kernels.cuda.pooling import pool2d

    for case in ("overlap", "dilated", "partial"):
        test_pool2d.test_winners(cp, None, pool2d, case, np.float32, True)


def check_windows_of_packs() -> None:
    import cupy as cp
    from lucid_kernels.cuda.pooling import pool2d

    test_pool2d.test_halves_and_channels_last(cp, None, pool2d, "overlap", np.float16, 16)


POOL = "pool2d.cu"
MUTATIONS = [
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
    # max_pool2d_grad_windows
    Mutation(POOL, "windows: the first left out", r"first_from\(w - reach_w, stride_w\)", "first_from(w - reach_w + 1, stride_w)", check_windows),
    Mutation(POOL, "windows: the last left out", r"first_from\(h \+ 1, stride_h\)", "first_from(h, stride_h)", check_windows),
    Mutation(POOL, "windows: beyond the last", r"min\(first_from\(w \+ 1, stride_w\), out_w\)", "first_from(w + 1, stride_w)", check_windows),
    Mutation(POOL, "windows: not all of dilated ones", r"reach_w = \(i64\)\(kernel_w - 1\) \* dilation_w", "reach_w = kernel_w - 1", check_windows),
    Mutation(POOL, "windows: another channel's place", r"<< \(i \+ j\)", "<< j", check_windows_of_packs),
    Mutation(POOL, "windows: all channels of a pack", r"if \(hits >> j & 1\) sum", "sum", check_windows_of_packs),
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
]  # fmt: skip
