"""Planted bugs for conv2d: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.convolution import test_conv2d


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


CONV = "conv2d.cu"
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
]  # fmt: skip
