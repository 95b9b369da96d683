"""Planted bugs for batch_norm: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

from unittest import mock

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.mutations import family, reductions


def check_training() -> None:
    tests, batch_norm, cupy = family("batch_norm")
    tests.test_training(batch_norm, cupy, None, np.float32, "all")
    with mock.patch.multiple(batch_norm, _KEPT=(64, 1), _LARGEST=32, _ROWS_A_CHUNK=1):  # more chunks than a warp has lanes
        tests.test_training(batch_norm, cupy, None, np.float32, "all")


def check_columns() -> None:
    tests, batch_norm, cupy = family("batch_norm")
    tests.test_columns_with_another_mean(batch_norm, cupy)


def check_batch_norm_halves() -> None:
    tests, batch_norm, cupy = family("batch_norm")
    tests.test_halves_are_rounded_once(batch_norm, cupy, np.float16, "half")
    tests, fused, cupy = family("batch_norm_relu")
    tests.test_the_gradient_stops_where_the_result_was_rounded_to_zero(fused, cupy)


def check_few_threads() -> None:
    tests, batch_norm, cupy = family("batch_norm")
    with mock.patch.multiple(batch_norm.launch, _BLOCKS_PER_SM=1, multiprocessors=lambda: 1), mock.patch.object(batch_norm, "_COLUMN_BLOCKS", 1):
        for shape in tests.OF_SEVERAL_TURNS:
            tests.compare_with_the_reference(batch_norm, cupy, shape, np.float32)


def check_kinds() -> None:
    tests, batch_norm, cupy = family("batch_norm")
    tests.test_parameters_of_any_kind(batch_norm, cupy, np.float16)


def check_evaluation() -> None:
    tests, batch_norm, cupy = family("batch_norm")
    tests.test_evaluation(batch_norm, cupy, None, np.float32, True)


def check_batch_norm_relu() -> None:
    tests, fused, cupy = family("batch_norm_relu")
    tests.test_values_and_gradients(fused, cupy, None, np.float32, True, True)
    tests.test_nan_passes_the_relu(fused, cupy)


MUTATIONS = [
    # plane_statistics, column_statistics, combine_statistics, normalize
    *reductions("batch_norm.cu", check_training),
    Mutation("batch_norm.cu", "walk past the plane", r"s >= S", "s > S", check_few_threads),
    Mutation("batch_norm.cu", "chunk not cut off", r"first \+ chunk < (count|rows) \? first \+ chunk : (count|rows)", "first + chunk",
             check_training),
    Mutation("batch_norm.cu", "distance of the means", r" \+ d \* d \* A\(size\)", "", check_training),
    Mutation("batch_norm.cu", "biased running variance", r"A\(count - 1\)", "A(count)", check_training),
    Mutation("batch_norm.cu", "counted by every block", r" && blockIdx\.x == 0 && threadIdx\.x == 0\) \+\+", " && threadIdx.x == 0) ++", check_training),
    Mutation("batch_norm.cu", "batch not counted", r"\+\+\*counter;", ";", check_training),
    Mutation("batch_norm.cu", "chunks left out", r"k \+= 32", "k += 64", check_training),
    Mutation("batch_norm.cu", "another channel", r"channel = \(int\)\(plane - quotient\(plane, C\) \* C\)", "channel = 0", check_training),
    Mutation("batch_norm.cu", "the channel of the turn before", r"c \+= step_c;", "", check_few_threads),
    Mutation("batch_norm.cu", "the place of the turn before", r"s \+= step_s;", "", check_few_threads),
    Mutation("batch_norm.cu", "the parameters of the first turn", r"!columns \|\| step_c != 0 \|\| is_first", "is_first", check_few_threads),
    Mutation("batch_norm.cu", "a turn's elements again", r"x \+ \(p \+ step\) \* N", "x + p * N", check_few_threads),
    Mutation("batch_norm.cu", "channels of a pack", r"\(x - centre\[j % M\]\) \* scale", "(x - centre[0]) * scale", check_training),
    Mutation("batch_norm.cu", "float16 taken for bfloat16", r"kind == FLOAT16\) load", "false) load", check_kinds),
    Mutation("batch_norm.cu", "the sums of columns not scaled", r"of_weight \* rstd\[0\]", "of_weight", check_training),
    Mutation("batch_norm.cu", "columns not centred", r"total_square - total \* shift", "total_square", check_training),
    Mutation("batch_norm.cu", "the mean of the first row", r"\+ shift;", ";", check_training),
    Mutation("batch_norm.cu", "inf in the first row", r"x - x == A\(0\) \? x : A\(0\)", "x", check_columns),
    Mutation("batch_norm.cu", "no barrier between the turns", r"__syncthreads\(\);", ";", check_training),
    Mutation("batch_norm.cu", "columns beyond the last", r"if \(column >= C\) continue;", "", check_training),
    Mutation("batch_norm.cu", "a turn left out", r"k < blockDim\.y", "k < blockDim.y - 1", check_columns),
    Mutation("batch_norm.cu", "weight taken for the bias", r"load_parameters\(bias, bias_kind", "load_parameters(weight, bias_kind", check_batch_norm_halves),
    Mutation("batch_norm.cu", "running variance not rounded", r"narrowed<R>\(\(A\(1\) - momentum\) \* widened\(running_var", "narrowed<R>((A(1)) * widened(running_var",
             check_batch_norm_halves),
    # plane_gradients, column_gradients, combine_gradients, input_gradient
    Mutation("batch_norm.cu", "one lane's sum", r"(bias|weight) = warp_reduce.*$", "", check_training),
    Mutation("batch_norm.cu", "gradient without the mean", r"centred -= offset\[j % M\] \+", "centred -=", check_training),
    Mutation("batch_norm.cu", "gradient of training", r"if \(!constant\) centred", "centred", check_evaluation),
    Mutation("batch_norm.cu", "variance taken for 1/std", r"evaluate \? A\(1\)", "false ? A(1)", check_evaluation),
    # ReLU and a residual
    Mutation("batch_norm.cu", "no residual", r"if \(has_residual\) result.*$", "", check_batch_norm_relu),
    Mutation("batch_norm.cu", "NaN becomes 0", r"relu && result\[j\] <= A\(0\)", "relu && !(result[j] > A(0))", check_batch_norm_relu),
    Mutation("batch_norm.cu", "ReLU lets all gradients pass", r"if \(gate == OPEN\) return;", "return;", check_batch_norm_relu),
    Mutation("batch_norm.cu", "ReLU of what was not rounded", r"widened\(narrowed<T>\((.*)\)\);", r"\1;", check_batch_norm_halves),
    Mutation("batch_norm.cu", "the residual's gradient not masked", r"store<N>\(masked \+ p \* N, grad\)", "store<N>(masked + p * N, result)",
             check_batch_norm_relu),
]  # fmt: skip
