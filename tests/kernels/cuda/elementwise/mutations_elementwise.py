"""Planted bugs for elementwise operations: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.mutations import family


def check_activations() -> None:
    tests, elementwise, cupy = family("elementwise")
    for name in tests.CASES:
        tests.test_values(elementwise, cupy, None, name, np.float32)
    tests.test_nan_and_infinity(elementwise, cupy)


def check_arithmetic() -> None:
    tests, elementwise, cupy = family("elementwise")
    for name in tests.ARITHMETIC:
        tests.test_broadcasting(elementwise, cupy, None, name, np.float32)


def check_division() -> None:
    tests, elementwise, cupy = family("elementwise")
    for name in tests.DIVISIONS:
        tests.test_division_with_rest(elementwise, cupy, None, name, np.float32)


def check_gelu() -> None:
    tests, elementwise, cupy = family("elementwise")
    tests.check_digits_of_gelu(elementwise, cupy)


def check_views() -> None:
    tests, elementwise, cupy = family("elementwise")
    tests.test_broadcasting_of_views(elementwise, cupy, "sub")
    tests.test_misaligned_rows(elementwise, cupy, "sub")


def check_elementwise_halves() -> None:
    tests, elementwise, cupy = family("elementwise")
    tests.test_halves_against_float64(elementwise, cupy, None, "mul", np.float16)


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
]  # fmt: skip
