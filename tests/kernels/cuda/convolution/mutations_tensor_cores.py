"""Planted bugs for convolutions on tensor cores: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

from unittest import mock

from lucid_kernels.simulator.mutation import Mutation

from lucid.backends import cudnn
from tests.kernels.cuda.convolution import test_tensor_cores


def check(*cases: tuple[str, str, bool, int]) -> None:
    """Each case with a kind of numbers, a layout and a number of slices, in the smallest tile."""
    import cupy as cp
    from lucid_kernels.cuda.convolution import configurations, tensor_cores

    with cudnn.flags(allow_tf32=True):
        for case, kind, last, slices in cases:
            test_tensor_cores.check(cp, tensor_cores, case, kind, last, configurations.WARP_TILES[-1], slices)


def check_first() -> None:
    check(("groups", "tf32", False, 2), ("whole slabs", "tf32", False, 1), ("volume", "tf32", False, 1))


def check_last() -> None:
    check(("groups", "tf32", True, 2), ("volume", "tf32", True, 1), ("whole slabs", "bfloat16", True, 2))


def check_warpgroups() -> None:
    import cupy as cp
    from lucid_kernels.cuda.convolution import configurations, tensor_cores

    for kind, last in (("tf32", False), ("bfloat16", True)):
        test_tensor_cores.check(cp, tensor_cores, "whole slabs", kind, last, configurations.WARPGROUP_TILES[0], 1)


def check_many_slices() -> None:
    check(("whole slabs", "tf32", False, 4))


def check_both() -> None:
    check_first()
    check_last()


def check_few_blocks() -> None:
    import cupy as cp
    from lucid_kernels.cuda.convolution import tensor_cores
    from lucid_kernels.cuda.runtime import launch

    with mock.patch.object(launch, "_BLOCKS_PER_SM", 1):
        test_tensor_cores.check_packing(cp, tensor_cores)


def check_halves() -> None:
    check(("odd groups", "float16", True, 1), ("3x3", "bfloat16", False, 1), ("1x1", "float16", True, 2))


def check_numbers() -> None:
    import cupy as cp
    from lucid_kernels.cuda.convolution import tensor_cores

    test_tensor_cores.test_numbers_that_are_not_finite(cp, tensor_cores, "tf32")


def check_exact() -> None:
    check(("groups", "exact", False, 2), ("volume", "exact", True, 1))


def check_exact_numbers() -> None:
    import cupy as cp
    from lucid_kernels.cuda.convolution import tensor_cores

    test_tensor_cores.test_numbers_that_are_not_finite(cp, tensor_cores, "exact")


PRODUCT, WEIGHT, PACK = "conv_product.cu", "conv_grad_weight.cu", "conv_pack.cu"
_EARLY = r"    if \(slab \+ STAGES - 1 < (block\.)?slabs\) copy_slab\(\);\n    copies_commit\(\);\n"
_BARRIER = r"__syncthreads\(\);  // the slab is there"
MUTATIONS = [
    # conv_product
    Mutation(PRODUCT, "no barrier", _BARRIER, "// the slab is there", check_first),
    Mutation(PRODUCT, "waits for one slab too few", r"copies_wait<STAGES - 2>", "copies_wait<STAGES - 1>", check_last),
    Mutation(PRODUCT, "slabs after the first are not copied", _EARLY, "    copies_commit();\n", check_last),
    Mutation(PRODUCT, "the swizzle of the source's reads", r"\(\(matrix >> 1\) \^ in_matrix\) \* 16", "(matrix >> 1) * 16", check_last),
    Mutation(PRODUCT, "the swizzle of the weight's reads", r"\(\(matrix & 1\) \^ in_matrix\) \* 16", "(matrix & 1) * 16", check_first),
    Mutation(PRODUCT, "halves of the weight's chunks", r"b\[j\]\[0\] = r\[0\];", "b[j][0] = r[1];", check_last),
    Mutation(PRODUCT, "above the image", r"\(unsigned\)\(h\[i\] \+ shift_h\) < \(unsigned\)size_h", "h[i] + shift_h < size_h", check_first),
    Mutation(PRODUCT, "in front of the volume", r"\(unsigned\)\(d\[i\] \+ shift_d\) < \(unsigned\)size_d && ", "", check_last),
    Mutation(PRODUCT, "the tap stays", r"        tap\.next\(taps_h, taps_w\);\n", "", check_first),
    Mutation(PRODUCT, "a tap is found too late", r"(\} while \(c >= chunks\);\n) *source\.find\([^;]*;", r"\1", check_last),
    Mutation(PRODUCT, "terms behind the last", r"i \* LINES \* row_size, there \? 16 : 0", "i * LINES * row_size, 16", check_last),
    Mutation(PRODUCT, "pixels behind the last", r"if \(place < 0 \|\| ", "if (", check_first),
    Mutation(PRODUCT, "columns behind the last", r" \|\| column >= columns\) continue;", ") continue;", check_first),
    Mutation(PRODUCT, "results of other rows", r"\(e >> 1\) \* 8 \+ \(lane >> 2\)\) \* of_row", "(lane >> 2)) * of_row", check_first),
    Mutation(PRODUCT, "pixels of another sample", r"\(int\)n \* size_d \+ d", "size_d + d", check_first),
    Mutation(PRODUCT, "the bias of the first group", r"bias\[in_all", "bias[column", check_halves),
    Mutation(PRODUCT, "no ReLU", r"values\[e\] = positive\(values\[e\]\)", "values[e] = values[e]", check_halves),
    Mutation(PRODUCT, "ReLU of NaN", r"x <= 0.f \? 0.f : x", "x > 0.f ? x : 0.f", check_numbers, inside="conv_elements.cuh"),
    Mutation(PRODUCT, "a slice begins too early", r"int first_slab = slice \* slabs_per_slice", "int first_slab = 0 * slabs_per_slice", check_first),
    Mutation(PRODUCT, "every slice in one place", r"parts \+ \(i64\)slice \* batch", "parts + (i64)0 * batch", check_first),
    Mutation(PRODUCT, "the first tap of a phase", r"first_tap < kernel && \(phase \+ pad", "first_tap < kernel && (phase", check_first, inside="conv_geometry.cuh"),
    Mutation(PRODUCT, "the step between taps", r"-\(tap_step \* dilation / stride\)", "-tap_step", check_first, inside="conv_geometry.cuh"),
    Mutation(PRODUCT, "no carry to the depth", r"    h = 0;\n    \+\+d;", "    h = 0;", check_last, inside="conv_geometry.cuh"),
    Mutation(PRODUCT, "no residual", r"values\[e\] \+= added\[e\];", ";", check_halves),
    Mutation(PRODUCT, "the residual of another pixel", r"load<V>\(residual \+ at, added\)", "load<V>(residual, added)", check_halves),
    Mutation(PRODUCT, "exact products are not added", r"sum\[i\]\[j\]\[e\] \+= part\[e\];", "sum[i][j][e] = part[e];", check_exact, inside="conv_mma.cuh"),
    Mutation(PRODUCT, "inf times a low part", r"low\[i\] = crossed\[i\] = 0u;", "low[i] = 0u;", check_exact_numbers, inside="split_tf32.cuh"),
    Mutation(PRODUCT, "no low parts", r"if \(LOW\) mma_tf32\(d, a\.crossed, b\.low\);", "", check_exact, inside="split_tf32.cuh"),
    Mutation(PRODUCT, "rows of the first warpgroup", r"stage_out \+ warp / 4 \* 64 \* 128", "stage_out", check_warpgroups),
    # conv_grad_weight
    Mutation(WEIGHT, "exact words of the wrong pixels", r"\(e & 1\) \* 4 \* pitch", "(e & 1) * 2 * pitch", check_exact),
    Mutation(WEIGHT, "low parts of the wrong term", r"right\[j\]\.template set<true>\(e, b\[j\]\[e\]\)", "right[j].template set<true>(e, b[j][0])", check_exact, inside="conv_mma.cuh"),
    Mutation(WEIGHT, "no barrier", _BARRIER, "// the slab is there", check_both),
    Mutation(WEIGHT, "waits for one slab too few", r"copies_wait<STAGES - 2>", "copies_wait<STAGES - 1>", check_both),
    Mutation(WEIGHT, "words of the wrong pixels", r"\(e >> 1\) \* 4 \* pitch", "(e >> 1) * 2 * pitch", check_last),
    Mutation(WEIGHT, "matrices of halves swapped", r"\(\(matrix >> 1\) \* 8 \+ \(lane & 7\)\) \* pitch \+ \(matrix & 1\) \* 16", "((matrix & 1) * 8 + (lane & 7)) * pitch + (matrix >> 1) * 16", check_halves),
    Mutation(WEIGHT, "pixels behind the last", r"const bool there = p < pixels;", "const bool there = true;", check_last),
    Mutation(WEIGHT, "no carry to the next volume", r"if \(d >= out_d\) \{ d -= out_d; \+\+n; \}", "", check_last),
    Mutation(WEIGHT, "above the image", r"\(unsigned\)h < \(unsigned\)in_h", "h < in_h", check_both),
    Mutation(WEIGHT, "slices overlap", r"begin = slice \* slabs_per_slice \* 32", "begin = slice * slabs_per_slice", check_first),
    Mutation(WEIGHT, "rows that fill up are stored", r"if \(row >= stored_rows\) continue;", "", check_halves),
    Mutation(WEIGHT, "columns behind the last", r"if \(column < columns\) store", "store", check_first),
    Mutation(WEIGHT, "the rows of a tap", r"taps\[i\] >> 12 & 4095", "taps[i] & 4095", check_first),
    Mutation(WEIGHT, "the channels of a tap", r"\* in_w \+ w\) \* in_channels \+ c;", "* in_w + w) * in_channels;", check_first),
    Mutation(WEIGHT, "chunks that are not swizzled", r"\(\(chunk \^ pixel\) & 7\)", "(chunk & 7)", check_warpgroups),
    Mutation(WEIGHT, "the columns of the first warpgroup", r"j / 8 \* 32 \* 128, step", "j / 8 * 32 * 128 + 4096, step", check_warpgroups),
    Mutation(WEIGHT, "terms of the wrong half", r"step \* 16 \+ low \* 8", "step * 16 + high * 8", check_warpgroups, inside="warpgroups.cuh"),
    # conv_pack
    Mutation(PACK, "a NaN by adding", r"  if \(\(bits & 0x7fffffffu\) > 0x7f800000u\) return bits \| 0x00400000u;\n", "", check_numbers, inside="conv_mma.cuh"),
    Mutation(PACK, "rounded down", r"\(bits \+ 0xfffu \+ \(bits >> 13 & 1u\)\)", "(bits)", check_first, inside="conv_mma.cuh"),
    Mutation(PACK, "no zeros behind the terms", r"row < rows && term < terms", "row < rows", check_halves),
    Mutation(PACK, "the weight is not turned", r"gradient \? term : row\), c = gradient \? row : term", "row), c = term", check_last),
    Mutation(PACK, "the weight is not rounded", r"\? rounded<Kind>\(weight\[at\]\)", "? weight[at]", check_first),
    Mutation(PACK, "channels are not rounded", r"= rounded<Kind>\(read\[turn\]\.element\[j\]\)", "= read[turn].element[j]", check_first),
    Mutation(PACK, "channels of the wrong group", r"(PIXELS / CHUNK\), )group = in_all / padded, c = in_all % padded", r"\1group = 0, c = in_all", check_few_blocks),
    Mutation(PACK, "no zeros behind the channels", r"in_all < all && c < channels \? pixels", "in_all < all ? pixels", check_few_blocks),
    Mutation(PACK, "no zeros behind channels that lie last", r"= c \+ i < channels \? rounded", "= true ? rounded", check_halves),
    Mutation(PACK, "pixels that are not swizzled", r"\(column \^ \(row / CHUNK & 7\)\)", "column", check_few_blocks),
    Mutation(PACK, "no barrier", r"__syncthreads\(\);\n#pragma unroll", "#pragma unroll", check_few_blocks),
    Mutation(PACK, "no residual", r"if \(has_residual\) sum \+= widened\(residual\[e\]\);", "", check_first),
    Mutation(PACK, "the last slice", r"s < slices", "s + 1 < slices", check_first),
    Mutation(PACK, "the bias of another channel", r"bias\[\(int\)e / inner % channels\]", "bias[e % channels]", check_first),
    Mutation(PACK, "no ReLU", r"relu \? positive\(sum\) : sum", "sum", check_first),
    Mutation(PACK, "taps and channels", r"tap = e / padded % taps", "tap = e / padded % taps * 0", check_first),
    Mutation(PACK, "sums of the other threads", r"i < 256 && first_slice == 0", "i < together", check_many_slices),
]
