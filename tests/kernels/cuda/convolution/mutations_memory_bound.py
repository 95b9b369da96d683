"""Planted bugs for depthwise convolutions, first layers and pooling that halves: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.convolution import test_conv2d, test_depthwise, test_few_channels
from tests.kernels.cuda.pooling import test_pool2d


def check_depthwise(*cases: str) -> None:
    import cupy as cp
    from lucid_kernels.cuda.convolution import conv2d

    for case in cases:
        for order in (test_depthwise.planes, test_depthwise.channels_last):
            results, wanted = test_depthwise.run(cp, conv2d, case, "float32", order)
            for result, exact in zip(results, wanted, strict=True):
                test_conv2d.close(result, exact, 2e-5)


def check_planes() -> None:
    check_depthwise("3x3", "3x3, pairs", "5x5, stride", "3x3, two columns", "3x3, four columns, stride", "3x3, wide padding")


def check_slices() -> None:
    check_depthwise("3x3, many images")


def check_few() -> None:
    import cupy as cp

    for case, enough in (("7x7", None), ("7x7", 1), ("3x3", None), ("3x3, no padding", None)):
        with pytest.MonkeyPatch.context() as monkeypatch:
            test_few_channels.test_values(cp, monkeypatch, None, case, "float32", enough)


def check_max() -> None:
    import cupy as cp
    from lucid_kernels.cuda.pooling import pool2d

    for case in ("halving", "halving by pairs", "halving, overlap"):
        for ceil_mode in (False, True):
            x = np.random.default_rng(0).integers(-3, 4, test_pool2d.WINDOWS[case][0]).astype(np.float64)
            x[0, 0, 1, 1] = np.nan
            y, where = test_pool2d.max_reference(x, case, ceil_mode)
            y_, where_ = pool2d.max_pool2d(cp.asarray(x), **test_pool2d.max_attributes(case, ceil_mode))
            np.testing.assert_array_equal(y_.get(), y)
            np.testing.assert_array_equal(where_.get(), where)


def check_winners() -> None:
    import cupy as cp
    from lucid_kernels.cuda.pooling import pool2d

    for case in ("2x2", "halving by pairs", "even", "dilated", "halving, overlap"):
        for relu in (False, True):
            test_pool2d.test_winners(cp, None, pool2d, case, np.float32, relu)


def check_average() -> None:
    import cupy as cp
    from lucid_kernels.cuda.pooling import pool2d

    for case in ("halving", "halving by pairs", "halving, overlap", "halving, overlap by pairs"):
        shape, kernel, stride, padding, _ = test_pool2d.WINDOWS[case]
        x = test_pool2d.random(shape)
        for ceil_mode, *divisor in ((False, True, None), (True, True, None), (False, False, None), (False, True, 3)):
            y, g, dx = test_pool2d.avg_reference(x, test_pool2d.random, case, ceil_mode, *divisor)
            keywords = dict(kernel_size=kernel, stride=stride, padding=padding, ceil_mode=ceil_mode,
                            count_include_pad=divisor[0], divisor_override=divisor[1])  # fmt: skip
            np.testing.assert_allclose(pool2d.avg_pool2d(cp.asarray(x), **keywords).get(), y, atol=1e-13)
            dx_ = pool2d.avg_pool2d_grad(cp.asarray(g), input_shape=shape, **keywords)
            np.testing.assert_allclose(dx_.get(), dx, atol=1e-13)


DEPTHWISE, FEW, HALVING, POOL = "depthwise.cu", "few_channels.cu", "halving.cu", "pool2d.cu"
MUTATIONS = [
    *(Mutation(DEPTHWISE, name, pattern, replacement, check) for name, pattern, replacement, check in (
        ("rows above the image", r"\(unsigned\)\(top \+ i\) < \(unsigned\)in_h, left, in_w, step", "top + i < in_h, left, in_w, step", check_planes),
        ("columns to the left", r"\(first \+ i >= 0\)", "true", check_planes),
        ("columns to the right", r"\(first \+ i < width\)", "true", check_planes),
        ("weights of the first channel", r"weight \+ \(i64\)channel \* K \* K \+ tap", "weight + tap", check_planes),
        ("weights of neighbouring channels", r"weight \+ \(i64\)tap \* channels \+ channel", "weight + (i64)channel * K * K + tap", check_planes),
        ("no bias", r"has_bias \? widened\(bias\[at\.channel \+ j\]\) : A\(0\)", "A(0)", check_planes),
        ("rows below the result", r"if \(\(int\)at\.strip \* R \+ r < out_h\) store_row", "store_row", check_planes),
        ("rows below the image", r"at\.strip \* R \* S \+ r >= in_h", "at.strip * R * S + r > in_h", check_planes),
        ("gradient: other taps", r"\(LAST - d\) \* S \+ P \+ f;", "(LAST - d) * S + P + 1 - f;", check_planes),
        ("gradient: a column more", r"if \(column \+ f < in_w\) store", "store", check_planes),
        ("slices overlap", r"unsigned item = slice \* share \+ threadIdx\.x", "unsigned item = threadIdx.x", check_slices),
        ("a slice is left out", r"int s = threadIdx\.y; s < slices", "int s = threadIdx.y; s + 1 < slices", check_slices),
        ("one warp counts", r"warp < 8; \+\+warp", "warp < 1; ++warp", check_slices),
        ("one group counts", r"group < blockDim\.y; \+\+group", "group < 1; ++group", check_slices),
        ("channels beyond the last", r"channel < channels \? min", "true ? min", check_planes),
    )),
    *(Mutation(FEW, name, pattern, replacement, check_few) for name, pattern, replacement in (
        ("weights of another chunk", r"weight\[\(i64\)first \* C \* K \* K \+ i\]", "weight[i]"),
        ("rows above the result", r"top \+ i >= 0 && ", ""),
        ("other rows of squares", r"value\[i \+ r\]\[d\]", "value[i][d]"),
        ("other pixels of a square", r"eh = \(kh \+ S - P\) % S", "eh = kh % S"),
        ("rows below the image", r"if \(row >= in_h\) continue;", ""),
        ("columns beyond the image", r"if \(column \+ ew < in_w\) to", "to"),
    )),
    *(Mutation(HALVING, name, pattern, replacement, check) for name, pattern, replacement, check in (
        ("last maximum", r"next > best\[j\] \|\|", "next >= best[j] ||", check_max),
        ("NaN loses", r" \|\| next != next", "", check_max),
        ("rows beyond the plane", r"if \(h < 0 \|\| h >= in_h\) continue;\n    A value\[2 \* V \+ 1\];\n    load_pixels<V, K>\(plane \+ \(i64\)h \* in_w, at\.column, -inf",
         "if (h < 0) continue;\n    A value[2 * V + 1];\n    load_pixels<V, K>(plane + (i64)h * in_w, at.column, -inf", check_max),
        ("the pixel before the row", r"K == 3 && column > 0", "K == 3", check_max),
        ("the wrong place", r"tap\[j\] = kh \* K \+ kw", "tap[j] = kw * K + kh", check_winners),
        ("none has a place", r"tap\[j\] = 4;", "", check_winners),
        ("negative maxima stay", r"if \(relu && best\[j\] < A\(0\)\)", "if (false)", check_winners),
        ("expand: rows mixed up", r"2 \* h \+ j % 2", "h + j % 2 * 2", check_winners),
        ("average: the padding counts", r"return padded \? end", "return true ? end", check_average),
        ("average: beyond the padding", r"min\(begin \+ K, size \+ \(K == 3\)\)", "begin + K", check_average),
        ("gradient: only the window above", r"kh < K - 1; \+\+kh", "kh < 1; ++kh", check_average),
        ("gradient: even rows in two windows", r"oh >= out_h \|\| \(kh && at\.row % 2 == 0\)", "oh >= out_h", check_average),
        ("gradient: the window to the right", r"value\[j\] \+ value\[j \+ 1\] : value", "value[j] : value", check_average),
    )),
    *(Mutation(POOL, name, pattern, replacement, check_winners) for name, pattern, replacement in (
        ("spread: the wrong place", r"in\.h % 2 \* 2 \+ in\.w % 2", "in.w % 2 * 2 + in.h % 2"),
        ("spread: beyond the last window", r"in\.h / 2 < out_h && in\.w / 2 < out_w", "true"),
        ("places as indices", r"place < in_w \? place : place - in_w \+ 2", "place"),
        ("small indices as large ones", r"return size == 4 \? \(\(const int\*\)indices\)\[at\] : ", "return "),
        ("gather: none is a place", r"place == 4 \? narrowed<T>\(0\) : ", ""),
    )),
]
