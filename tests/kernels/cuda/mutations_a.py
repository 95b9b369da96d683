"""Planted bugs for elementwise, softmax, cross entropy and the norms; the families' own tests must notice each of them."""
from __future__ import annotations

import functools
import importlib
import importlib.util
import pathlib
from typing import Any
from unittest import mock

import numpy as np
import pytest
from lucid_kernels.cuda.runtime import source
from lucid_kernels.simulator.mutation import Mutation


@functools.cache
def _family(name: str) -> tuple[Any, Any, Any]:
    """The tests of a family, its launchers, and cupy."""
    launchers = source.path_of(f"{name}.py").relative_to(source.FOLDER).with_suffix("").parts
    path = pathlib.Path(__file__).parent.joinpath(*launchers[:-1], f"test_{name}.py")
    spec = importlib.util.spec_from_file_location(f"_mutation_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    tests = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tests)
    return tests, importlib.import_module(".".join(("lucid_kernels.cuda", *launchers))), importlib.import_module("cupy")


def check_activations() -> None:
    tests, elementwise, cupy = _family("elementwise")
    for name in tests.CASES:
        tests.test_values(elementwise, cupy, None, name, np.float32)
    tests.test_nan_and_infinity(elementwise, cupy)


def check_arithmetic() -> None:
    tests, elementwise, cupy = _family("elementwise")
    for name in tests.ARITHMETIC:
        tests.test_broadcasting(elementwise, cupy, None, name, np.float32)


def check_division() -> None:
    tests, elementwise, cupy = _family("elementwise")
    for name in tests.DIVISIONS:
        tests.test_division_with_rest(elementwise, cupy, None, name, np.float32)


def check_gelu() -> None:
    tests, elementwise, cupy = _family("elementwise")
    tests.check_digits_of_gelu(elementwise, cupy)


def check_views() -> None:
    tests, elementwise, cupy = _family("elementwise")
    tests.test_broadcasting_of_views(elementwise, cupy, "sub")
    tests.test_misaligned_rows(elementwise, cupy, "sub")


def check_elementwise_halves() -> None:
    tests, elementwise, cupy = _family("elementwise")
    tests.test_halves_against_float64(elementwise, cupy, None, "mul", np.float16)


def check_softmax() -> None:
    tests, softmax, cupy = _family("softmax")
    for name in tests.NAMES:
        tests.test_values_and_gradients(softmax, cupy, None, name, np.float32)


def check_long_rows() -> None:
    tests, softmax, cupy = _family("softmax")
    for name in tests.NAMES:
        tests.test_rows_longer_than_the_registers(softmax, cupy, name, np.float32)


def check_all_rows() -> None:
    check_softmax()
    check_long_rows()


def check_infinity() -> None:
    tests, softmax, cupy = _family("softmax")
    for dim in (0, 1):
        tests.test_nan_and_infinity(softmax, cupy, "softmax", dim)


def check_halves() -> None:
    tests, softmax, cupy = _family("softmax")
    for dtype in tests.HALVES:
        tests.test_halves_are_rounded_once(softmax, cupy, None, "softmax", dtype)


def check_cross_entropy() -> None:
    tests, cross_entropy, cupy = _family("cross_entropy")
    for reduction in ("none", "mean"):
        tests.test_values_and_gradients(cross_entropy.cross_entropy, cupy, None, reduction, np.float32)
    for labels in (777, 9001):
        tests.test_many_labels_are_summed_in_chunks(cross_entropy.cross_entropy, cupy, None, labels)


def check_bad_labels() -> None:
    tests, cross_entropy, cupy = _family("cross_entropy")
    for shape in ((5, 7), (5, 7, 3)):
        try:
            tests.test_label_out_of_range(cross_entropy.cross_entropy, cupy, None, shape, 7)
        except pytest.fail.Exception as failure:  # what pytest.raises raises; not an AssertionError
            raise AssertionError(str(failure)) from failure


def check_nll_loss() -> None:
    tests, nll_loss, cupy = _family("nll_loss")
    for reduction in ("none", "mean"):
        tests.test_values_and_gradients(nll_loss, cupy, None, reduction, np.float32)
    tests.test_a_class_is_ignored(nll_loss, cupy)
    try:
        tests.test_label_out_of_range(nll_loss, cupy, None)
    except pytest.fail.Exception as failure:
        raise AssertionError(str(failure)) from failure


def check_training() -> None:
    tests, batch_norm, cupy = _family("batch_norm")
    tests.test_training(batch_norm, cupy, None, np.float32, "all")
    with mock.patch.multiple(batch_norm, _KEPT=(64, 1), _LARGEST=32, _ROWS_A_CHUNK=1):  # more chunks than a warp has lanes
        tests.test_training(batch_norm, cupy, None, np.float32, "all")


def check_columns() -> None:
    tests, batch_norm, cupy = _family("batch_norm")
    tests.test_columns_with_another_mean(batch_norm, cupy)


def check_batch_norm_halves() -> None:
    tests, batch_norm, cupy = _family("batch_norm")
    tests.test_halves_are_rounded_once(batch_norm, cupy, np.float16, "half")
    tests, fused, cupy = _family("batch_norm_relu")
    tests.test_the_gradient_stops_where_the_result_was_rounded_to_zero(fused, cupy)


def check_evaluation() -> None:
    tests, batch_norm, cupy = _family("batch_norm")
    tests.test_evaluation(batch_norm, cupy, None, np.float32, True)


def check_layer_norm() -> None:
    tests, layer_norm, cupy = _family("layer_norm")
    tests.test_values_and_gradients(layer_norm, cupy, None, np.float32, "weight and bias")
    tests.check_other_sums(layer_norm, cupy)


def check_rms_norm() -> None:
    tests, rms_norm, cupy = _family("rms_norm")
    tests.test_values_and_gradients(rms_norm, cupy, None, np.float32, True)


def check_long_norms() -> None:
    tests, layer_norm, cupy = _family("layer_norm")
    tests.test_rows_longer_than_the_registers(layer_norm, cupy, np.float32)


def check_group_norm() -> None:
    tests, group_norm, cupy = _family("group_norm")
    for shape, groups in (((2, 6, 5, 7), 3), ((70, 90), 3)):
        tests.test_values_and_gradients(group_norm, cupy, shape, groups, np.float32, 3e-5, True)


def check_large_group_norm() -> None:
    """Of so many elements that two kernels add them up."""
    tests, group_norm, cupy = _family("group_norm")
    tests.test_packs_and_halves(group_norm, cupy, (3, 4, 3201), 2, np.float32, "alike")
    tests.test_packs_and_halves(group_norm, cupy, (700, 2, 12), 1, np.float32, "alike")


def check_batch_norm_relu() -> None:
    tests, fused, cupy = _family("batch_norm_relu")
    tests.test_values_and_gradients(fused, cupy, None, np.float32, True, True)
    tests.test_nan_passes_the_relu(fused, cupy)


def _reductions(file: str, check: Any) -> list[Mutation]:
    """Bugs in the reductions of common.cuh, as `file` uses them."""
    return [
        Mutation(file, "drop a barrier", r"__syncthreads\(\);", ";", check, inside="common.cuh"),
        Mutation(file, "skip a step", r"int offset = 16", "int offset = 8", check, inside="common.cuh"),
        Mutation(file, "half a warp", r"0xffffffffu", "0x0000ffffu", check, inside="common.cuh"),
    ]


MUTATIONS = [
    # unary, binary
    Mutation("elementwise.cu", "the last group left out", r"i < \(n\)", "i < (n) - 1", check_activations, inside="common.cuh"),
    Mutation("elementwise.cu", "NaN lost", r"v0 \? k0 : ex0", "ex0 > k0 ? ex0 : k0", check_activations, inside="formulas.cuh"),
    Mutation("elementwise.cu", "wrong constant", r"0\.044715", "0.0447", check_activations, inside="formulas.cuh"),
    Mutation("elementwise.cu", "wrong operand", r"ex0 \* v0", "v0 * v0", check_activations, inside="formulas.cuh"),
    Mutation("elementwise.cu", "operands exchanged", r"apply\(left\[v\], right\[v\]\)", "apply(right[v], left[v])", check_activations),
    Mutation("elementwise.cu", "not all elements of a group", r"v < V; \+\+v\) elements\[v\] = Op", "v < V - 1; ++v) elements[v] = Op", check_activations),
    # groups and their places
    Mutation("elementwise.cu", "strides of the other operand", r"layout, 2, b", "layout, 1, b", check_arithmetic),
    Mutation("elementwise.cu", "place of the other operand", r"b, at\[2\]", "b, at[1]", check_arithmetic),
    Mutation("elementwise.cu", "index not reduced", r"rest = quotient;", ";", check_arithmetic, inside="map.cuh"),
    Mutation("elementwise.cu", "a dimension too few", r"d < layout\.dims; ", "d < layout.dims - 1; ", check_arithmetic, inside="map.cuh"),
    Mutation("elementwise.cu", "groups of one element", r"inner \*= V;", ";", check_arithmetic, inside="map.cuh"),
    Mutation("elementwise.cu", "past the end of a row", r"v < count \? v : count - 1", "v", check_arithmetic, inside="map.cuh"),
    Mutation("elementwise.cu", "written past the end", r"if \(v < count\)", "", check_arithmetic, inside="map.cuh"),
    Mutation("elementwise.cu", "vectors past the end", r" && count == V", "", check_arithmetic, inside="map.cuh"),
    Mutation("elementwise.cu", "vectors of what is not aligned", r"layout\.is_wide\(array\)", "true", check_views, inside="map.cuh"),
    Mutation("elementwise.cu", "steps backwards from the end", r"layout\.first\[a\]", "0", check_views, inside="map.cuh"),
    Mutation("elementwise.cu", "a half not rounded to even", r"__float2half_rn", "__float2half_rz", check_elementwise_halves, inside="halves.cuh"),
    # floor_divide, remainder
    Mutation("elementwise.cu", "sign of the dividend", r"\? T\(rest \+ b\) : rest", "? rest : rest", check_division, inside="formula.cuh"),
    Mutation("elementwise.cu", "quotient rounded to zero", r" - below;", ";", check_division, inside="formula.cuh"),
    Mutation("elementwise.cu", "division by zero", r"if \(b == T\(0\)\) return a / b;", "", check_division, inside="formula.cuh"),
    Mutation("elementwise.cu", "a zero's sign", r"copysign_\(T\(0\), b\)", "T(0)", check_division, inside="formula.cuh"),
    # the normal distribution
    Mutation("elementwise.cu", "what the square has lost", r"return fmaf\(e, lost \* 6.*$", "return e;", check_gelu, inside="formula.cuh"),
    Mutation("elementwise.cu", "a coefficient with the other sign", r"t, -2\.679", "t, 2.679", check_gelu, inside="formula.cuh"),
    Mutation("elementwise.cu", "the square of infinity", r"x = fabsf\(x\) > 16.*$", "", check_gelu, inside="formula.cuh"),
    # softmax_rows, softmax_columns, and the gradients
    *_reductions("softmax.cu", check_softmax),
    Mutation("softmax.cu", "maximum of one thread", r"all = reduce\(top, Max\(\), -infinity<A>\(\)\)", "all = top", check_softmax,
             inside="rows.cuh"),
    Mutation("softmax.cu", "sum not moved to the maximum", r"sum \* exp_\(top - all\)", "sum", check_softmax, inside="rows.cuh"),
    Mutation("softmax.cu", "sum not moved to a new maximum", r"sum \* exp_\(top - most\)", "sum", check_softmax, inside="rows.cuh"),
    Mutation("softmax.cu", "-inf first", r"sum = top == -infinity<A>\(\) \? A\(0\) :", "sum =", check_infinity, inside="rows.cuh"),
    Mutation("softmax.cu", "a thread with -inf alone", r"reduce\(top == -infinity<A>\(\) \? A\(0\) :", "reduce(", check_infinity,
             inside="rows.cuh"),
    Mutation("softmax.cu", "the rest of a long row left out", r"first < width; first \+= AT_ONCE", "false; first += AT_ONCE", check_long_rows,
             inside="rows.cuh"),
    Mutation("softmax.cu", "the rest of a long row twice", r"threadIdx\.x \* \(i64\)N \+ KEPT \* step", "threadIdx.x * (i64)N",
             check_long_rows, inside="rows.cuh"),
    Mutation("softmax.cu", "packs behind the end of a long row", r"if \(first \+ k \* step >= width\) continue;", "", check_long_rows,
             inside="rows.cuh"),
    Mutation("softmax.cu", "the largest of one thread", r"^  top = reduce\(top, Max.*$", "", check_softmax),
    Mutation("softmax.cu", "the sum of the exponentials of one thread", r"^  sum = reduce\(sum, Sum.*$", "", check_softmax),
    Mutation("softmax.cu", "a turn left out", r"k < blockDim\.y", "k < blockDim.y - 1", check_softmax, inside="rows.cuh"),
    Mutation("softmax.cu", "the first turn twice", r"scratch\[threadIdx\.y \* blockDim\.x", "scratch[0 * blockDim.x", check_softmax,
             inside="rows.cuh"),
    Mutation("softmax.cu", "sum of one thread", r"^ *sum = (S::|turns_)reduce\(sum.*$", "", check_softmax),
    Mutation("softmax.cu", "a lane leaves", r"ExpSum<A> of;", r"\g<0> if (threadIdx.x == 5) return;", check_all_rows),
    Mutation("softmax.cu", "a lane leaves a row in registers", r"^  top = reduce\(top", "  if (threadIdx.x == 5) return;\n\\g<0>", check_softmax),
    Mutation("softmax.cu", "barrier among rows", r"blockDim\.x == 32", "blockDim.x == 64", check_softmax, inside="common.cuh"),
    Mutation("softmax.cu", "wrong slice", r"i / inner \* C \* inner", "i / inner * C", check_softmax),
    Mutation("softmax.cu", "columns beyond the last", r"i < slices \? C : 0", "C", check_softmax),
    Mutation("softmax.cu", "gradient without exp", r"exp_\(y\)", "y", check_softmax),
    Mutation("softmax.cu", "second array of a pair", r"row\[ARRAYS - 1\] = second", "row[ARRAYS - 1] = first", check_softmax,
             inside="rows.cuh"),
    Mutation("softmax.cu", "a half taken for another", r"__bfloat162float\(x\)", "__bfloat162float(x) + 1.f", check_halves,
             inside="halves.cuh"),
    Mutation("softmax.cu", "a part of a pack", r"j < N; \+\+j\) pack", "j < N - 1 + (N == 1); ++j) pack", check_halves, inside="elements.cuh"),
    # cross_entropy_rows, cross_entropy_columns
    *_reductions("cross_entropy.cu", check_cross_entropy),
    Mutation("cross_entropy.cu", "label not checked", r"t >= 0 && t < C", "t >= 0", check_bad_labels),
    Mutation("cross_entropy.cu", "bad label not reported", r"set_error\(", "if (false) set_error(", check_bad_labels),
    Mutation("cross_entropy.cu", "a lane alone reduces", r"smooth = reduce", "if (leader) smooth = reduce", check_cross_entropy),
    Mutation("cross_entropy.cu", "warps that do not wait for the weights", r"scratch\[thread / 32\] = sum;\n  __syncthreads\(\);",
             "scratch[thread / 32] = sum;", check_cross_entropy),
    Mutation("cross_entropy.cu", "weights of some warps", r"thread % 32 < threads / 32 \?", "thread % 32 < threads / 64 ?", check_cross_entropy),
    Mutation("cross_entropy.cu", "gradient not averaged", r"\) \* o.scale : nothing", ") : nothing", check_cross_entropy),
    Mutation("cross_entropy.cu", "ignored label has a gradient", r"result\[j\] = counts \?", "result[j] = true ?", check_cross_entropy),
    Mutation("cross_entropy.cu", "weight of another class", r"o\.weight_of\(c \+ j\), p", "o.weight_of(c), p", check_cross_entropy),
    Mutation("cross_entropy.cu", "gaps left out", r"grad \+ c \* inner", "grad + c", check_cross_entropy),
    Mutation("cross_entropy.cu", "labels beyond the last", r"inside = i < slices", "inside = true", check_cross_entropy),
    # label_weights, sum_chunks
    *_reductions("label_sums.cu", check_cross_entropy)[1:],  # one reduction a block: the first barrier waits for nothing
    Mutation("label_sums.cu", "ignored label has a weight", r"!counts \? A\(0\) :", "", check_cross_entropy),
    Mutation("label_sums.cu", "chunk not cut off", r"first \+ chunk < n \? first \+ chunk : n", "first + chunk", check_cross_entropy),
    Mutation("label_sums.cu", "sum of a warp", r"block_reduce\(sum, Sum\(\), A\(0\), scratch\)", "warp_reduce(sum, Sum())",
             check_cross_entropy),
    # nll_loss, nll_loss_grad
    Mutation("nll_loss.cu", "class of another place", r"\+ t\) \* inner \+ i % inner", "+ t) * inner", check_nll_loss),
    Mutation("nll_loss.cu", "label not checked", r"t >= 0 && t < C", "t >= 0", check_nll_loss),
    Mutation("nll_loss.cu", "an ignored label has a weight", r"t == ignore_index \|\| !is_class", "!is_class", check_nll_loss),
    Mutation("nll_loss.cu", "chunk not cut off", r"first \+ chunk < n \? first \+ chunk : n", "first + chunk", check_nll_loss),
    Mutation("nll_loss.cu", "only the first chunk", r"b < chunks;", "b < 1;", check_nll_loss),
    Mutation("nll_loss.cu", "weights of the first chunk only", r"i < \(chunks \? chunks : n\)", "i < (chunks ? 1 : n)", check_nll_loss),
    Mutation("nll_loss.cu", "bad label not reported", r"set_error\(", "if (false) set_error(", check_nll_loss),
    Mutation("nll_loss.cu", "one gradient for all labels", r"single \? 0 : i", "0", check_nll_loss),
    Mutation("nll_loss.cu", "a class in every row", r"c \+ j == t", "j == t", check_nll_loss),
    Mutation("nll_loss.cu", "not averaged", r"slope / total", "slope", check_nll_loss),
    # plane_statistics, column_statistics, combine_statistics, normalize
    *_reductions("batch_norm.cu", check_training),
    Mutation("batch_norm.cu", "walk past the plane", r"s >= S", "s > S", check_training),
    Mutation("batch_norm.cu", "chunk not cut off", r"first \+ chunk < (count|rows) \? first \+ chunk : (count|rows)", "first + chunk",
             check_training),
    Mutation("batch_norm.cu", "distance of the means", r" \+ d \* d \* A\(size\)", "", check_training),
    Mutation("batch_norm.cu", "biased running variance", r"A\(count - 1\)", "A(count)", check_training),
    Mutation("batch_norm.cu", "counted by every block", r" && blockIdx\.x == 0 && threadIdx\.x == 0\) \+\+", " && threadIdx.x == 0) ++", check_training),
    Mutation("batch_norm.cu", "batch not counted", r"\+\+\*counter;", ";", check_training),
    Mutation("batch_norm.cu", "chunks left out", r"k \+= 32", "k += 64", check_training),
    Mutation("batch_norm.cu", "another channel", r"p / S % C", "p / S % (C - 1 ? C - 1 : 1)", check_training),
    Mutation("batch_norm.cu", "channels of a pack", r"several \|\| j == 0", "j == 0", check_training),
    Mutation("batch_norm.cu", "columns not centred", r"total_square - total \* shift", "total_square", check_training),
    Mutation("batch_norm.cu", "the mean of the first row", r"\+ shift;", ";", check_training),
    Mutation("batch_norm.cu", "inf in the first row", r"x - x == A\(0\) \? x : A\(0\)", "x", check_columns),
    Mutation("batch_norm.cu", "no barrier between the turns", r"__syncthreads\(\);", ";", check_training),
    Mutation("batch_norm.cu", "columns beyond the last", r"if \(column >= C\) continue;", "", check_training),
    Mutation("batch_norm.cu", "a turn left out", r"k < blockDim\.y", "k < blockDim.y - 1", check_columns),
    Mutation("batch_norm.cu", "weight taken for the bias", r"= widened\(bias\[c\]\)", "= widened(weight[c])", check_batch_norm_halves),
    Mutation("batch_norm.cu", "running variance not rounded", r"narrowed<R>\(\(A\(1\) - momentum\) \* widened\(running_var", "narrowed<R>((A(1)) * widened(running_var",
             check_batch_norm_halves),
    # plane_gradients, column_gradients, combine_gradients, input_gradient
    Mutation("batch_norm.cu", "one lane's sum", r"(bias|weight) = warp_reduce.*$", "", check_training),
    Mutation("batch_norm.cu", "gradient without the mean", r"centred -= sums\[channel\] / A\(count\) \+", "centred -=", check_training),
    Mutation("batch_norm.cu", "gradient of training", r"if \(!constant\) centred", "centred", check_evaluation),
    Mutation("batch_norm.cu", "variance taken for 1/std", r"evaluate \? A\(1\)", "false ? A(1)", check_evaluation),
    # ReLU and a residual
    Mutation("batch_norm.cu", "no residual", r"if \(has_residual\) result.*$", "", check_batch_norm_relu),
    Mutation("batch_norm.cu", "NaN becomes 0", r"relu && result\[j\] <= A\(0\)", "relu && !(result[j] > A(0))", check_batch_norm_relu),
    Mutation("batch_norm.cu", "ReLU lets all gradients pass", r"if \(gate == OPEN\) return;", "return;", check_batch_norm_relu),
    Mutation("batch_norm.cu", "ReLU of what was not rounded", r"widened\(narrowed<T>\((.*)\)\);", r"\1;", check_batch_norm_halves),
    Mutation("batch_norm.cu", "the residual's gradient not masked", r"store<N>\(masked \+ p \* N, grad\)", "store<N>(masked + p * N, result)",
             check_batch_norm_relu),
    # row_norm, row_norm_grad
    *_reductions("row_norm.cu", check_layer_norm),
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
