"""Planted bugs for the norms of rows: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.mutations import family, reductions


def check_layer_norm() -> None:
    tests, layer_norm, cupy = family("layer_norm")
    tests.test_values_and_gradients(layer_norm, cupy, None, np.float32, "weight and bias")
    tests.check_other_sums(layer_norm, cupy)


def check_rms_norm() -> None:
    tests, rms_norm, cupy = family("rms_norm")
    tests.test_values_and_gradients(rms_norm, cupy, None, np.float32, True)


def check_long_norms() -> None:
    tests, layer_norm, cupy = family("layer_norm")
    tests.test_rows_longer_than_the_registers(layer_norm, cupy, np.float32)


def check_group_norm() -> None:
    tests, group_norm, cupy = family("group_norm")
    for shape, groups in (((2, 6, 5, 7), 3), ((70, 90), 3)):
        tests.test_values_and_gradients(group_norm, cupy, shape, groups, np.float32, 3e-5, True)


def check_large_group_norm() -> None:
    """Of so many elements that two kernels add them up."""
    tests, group_norm, cupy = family("group_norm")
    tests.test_packs_and_halves(group_norm, cupy, (3, 4, 3201), 2, np.float32, "alike")
    tests.test_packs_and_halves(group_norm, cupy, (700, 2, 12), 1, np.float32, "alike")


MUTATIONS = [
    # row_norm, row_norm_grad
    *reductions("row_norm.cu", check_layer_norm),
    Mutation("row_norm.cu", "not centred", r"squares \+= d \* d", "squares += value[0][j] * value[0][j]", check_layer_norm),
    Mutation("row_norm.cu", "statistics of another row", r"mean\[r\] = centre", "mean[0] = centre", check_layer_norm),
    Mutation("row_norm.cu", "gradient without the mean", r"w\[j\] - mean_gw", "w[j]", check_layer_norm),
    Mutation("row_norm.cu", "the mean of a part of a row", r"centre \+= sum / A\(width\);", "", check_long_norms),
    Mutation("row_norm.cu", "squares around the mean of a part", r"squares -= .*$", "", check_long_norms),
    Mutation("row_norm.cu", "inf in the part", r"if \(kept < width && !\(centre.*$", "", check_long_norms),
    Mutation("row_norm.cu", "scale of another row", r"rstd\[r\] = scale", "rstd[0] = scale", check_rms_norm),
    Mutation("row_norm.cu", "weight left out", r"value\[0\]\[j\] \* w\[j\] - mean", "value[0][j] - mean", check_rms_norm),
    Mutation("row_norm.cu", "mean taken off", r"centred \? S::reduce", "true ? S::reduce", check_rms_norm),
    Mutation("row_norm.cu", "parameters of the first group", r"r % groups \* \(width / span\)", "0", check_group_norm),
    Mutation("row_norm.cu", "one parameter for all", r"set\[at / span\]", "set[0]", check_group_norm),
    # row_norm_gradients, plane_gradients, column_sums, plane_sums, add_partials
    Mutation("row_norm.cu", "the sums of the last row", r"to_weight\[k\]\[j\] \+=", "to_weight[k][j] =", check_layer_norm),
    Mutation("row_norm.cu", "all sums in one place", r"partial_weight\) \+ blockIdx\.x \* width", "partial_weight)", check_layer_norm),
    Mutation("row_norm.cu", "a row of the block left out", r"y < blockDim\.y; \+\+y", "y < blockDim.y - 1; ++y", check_layer_norm),
    Mutation("row_norm.cu", "the warps of the first row", r"int warp = threadIdx\.y \* warps", "int warp = 0", check_layer_norm),
    Mutation("row_norm.cu", "no turns", r"turn \^= 1", "turn ^= 0", check_layer_norm),
    Mutation("row_norm.cu", "rows behind the last", r"r < rows \? width : 0", "width", check_layer_norm),
    Mutation("row_norm.cu", "sums of columns behind the last", r" && k \* across \+ column < width", "", check_layer_norm),
    Mutation("row_norm.cu", "the mean of one plane", r"plane < \(r \+ 1\) \* each", "plane < r * each + 1", check_large_group_norm),
    Mutation("row_norm.cu", "one weight for all planes", r"weight\[plane % parameters\]", "weight[0]", check_large_group_norm),
    Mutation("row_norm.cu", "the planes of one sample", r"plane \+= blockDim\.x \* parameters", "plane += planes", check_large_group_norm),
    Mutation("row_norm.cu", "drop a barrier", r"__syncthreads\(\);", ";", check_layer_norm),
    Mutation("row_norm.cu", "shared array too small", r"weights\[TURNS\]", "weights[TURNS - 1]", check_layer_norm),
    Mutation("row_norm.cu", "a turn left out", r"k < TURNS", "k < TURNS - 1", check_layer_norm),
    Mutation("row_norm.cu", "no column guard", r" && tile \+ i < width", "", check_layer_norm),
    Mutation("row_norm.cu", "no column guard in the second stage", r"threadIdx\.y == 0 && column < width", "threadIdx.y == 0",
             check_layer_norm),
    Mutation("row_norm.cu", "a chunk left out", r"k < chunks", "k < chunks - 1", check_layer_norm),
    Mutation("row_norm.cu", "statistics of another plane", r"mean\[p / each\]", "mean[p % each]", check_large_group_norm),
    Mutation("row_norm.cu", "a plane cut short", r"at < span", "at < span - 1", check_large_group_norm),
    Mutation("row_norm.cu", "statistics of another sample", r"mean\[plane / each\]", "mean[p / each]", check_group_norm),
    Mutation("row_norm.cu", "a sample left out", r"at < samples \* span", "at < (samples - 1) * span", check_group_norm),
]  # fmt: skip
