"""Planted bugs for elements by index: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import importlib
from typing import Any

import ml_dtypes
import numpy as np
from lucid_kernels.simulator.mutation import Mutation


def _modules() -> tuple[Any, Any, Any]:
    import cupy

    return (importlib.import_module("tests.kernels.cuda.indexing.test_scatter"), cupy,
            importlib.import_module("lucid_kernels.cuda.indexing.scatter"))


def check_atomic() -> None:
    tests, cupy, scatter = _modules()
    tests.check_along(cupy, scatter, np.float32, 7, False)
    tests.check_at(cupy, scatter, np.float32, False)
    tests.test_written_once(cupy, scatter, np.float32)
    tests.test_indices_out_of_range_are_left_out(cupy, scatter)


def check_in_order() -> None:
    tests, cupy, scatter = _modules()
    for count in (20, 3000):
        tests.test_the_last_value_stays_in_order(cupy, scatter, None, count)
    tests.check_at(cupy, scatter, np.float32, True)
    tests.check_along(cupy, scatter, ml_dtypes.bfloat16, 300, True)
    tests.test_indices_out_of_range_are_left_out(cupy, scatter)


def check_combined() -> None:
    tests, cupy, scatter = _modules()
    tests.check_combined(cupy, scatter, np.float32, 9, False)
    tests.test_nan_and_infinity_are_combined(cupy, scatter)


def check_products_in_order() -> None:
    tests, cupy, scatter = _modules()
    tests.test_products_in_order(cupy, scatter)
    tests.test_more_than_three_arrays_of_indices(cupy, scatter)


def check_placed() -> None:
    tests, cupy, scatter = _modules()
    for shape, axis in (((5, 16), 1), ((6, 4, 3), 1)):
        tests.check_placed(cupy, scatter, np.float32, shape, axis)


ATOMIC, COMBINE, ORDER, HEADER = "scatter.cu", "scatter_combine.cu", "scatter_in_order.cu", "scatter.cuh"
MUTATIONS = [
    Mutation(ATOMIC, "added without an atomic", r"atomicAdd\(y \+ at\[0\], values\[at\[1\]\]\)", "y[at[0]] += values[at[1]]", check_atomic),
    Mutation(ATOMIC, "values of another place", r"values\[at\[1\]\]", "values[i]", check_atomic),
    Mutation(ATOMIC, "from the end", r"if \(index < 0\) index \+= indexed.length\[k\];", "", check_atomic, inside=HEADER),
    Mutation(ATOMIC, "past the end", r"&& index < indexed.length\[k\]", "", check_atomic, inside=HEADER),
    Mutation(ATOMIC, "steps of another dimension", r"indexed.step\[k\]", "indexed.step[0]", check_atomic, inside=HEADER),
    Mutation(ORDER, "out of range somewhere", r"at\[0\] : NOWHERE", "at[0] : 0", check_in_order),
    Mutation(ORDER, "each value again", r"if \(before < i\) continue;", "", check_in_order),
    Mutation(ORDER, "the first value stays", r"if \(places\[q\] == place\) sum", "if (places[q] == place && (how || q == i)) sum", check_in_order),
    Mutation(ORDER, "what was there is lost", r"how \? widened\(y\[place\]\) : Accumulator<T>\(0\)", "Accumulator<T>(0)", check_in_order),
    Mutation(ORDER, "products are sums", r"A\(sum \* value\)", "A(sum + value)", check_products_in_order),
    Mutation(ORDER, "a place out of range is one from the end", r"at\[0\] : NOWHERE", "at[0] : -1", check_products_in_order),
    Mutation("place.cu", "from the end", r"if \(index < 0\) index \+= length;", "", check_placed),
    Mutation("place.cu", "the element of another slice", r"\+ e % inner", "", check_placed),
    Mutation("place.cu", "all of a word", r"if \(c \+ j == index\)", "", check_placed),
    Mutation(COMBINE, "the smaller one is the larger", r"a > b : a < b", "a > b : a > b", check_combined),
    Mutation(COMBINE, "NaN loses", r"a != a \|\| ", "", check_combined),
    Mutation(COMBINE, "values of another place", r"values\[at\[1\]\]", "values[i]", check_combined),
    Mutation(ORDER, "in the order of the places", r"values\[order\[q\]\]", "values[q]", check_in_order),
    Mutation(ORDER, "the neighbours' values", r"q < n && places\[q\] == place; \+\+q", "q < n; ++q", check_in_order),
]  # fmt: skip
