"""Planted bugs for bags of rows: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from lucid_kernels.simulator.mutation import Mutation


def _modules() -> tuple[Any, Any, Any]:
    import cupy

    return (importlib.import_module("tests.kernels.cuda.indexing.test_embedding_bag"), cupy,
            importlib.import_module("lucid_kernels.cuda.indexing.embedding_bag"))


def check_rows() -> None:
    tests, cupy, kernels = _modules()
    tests.check_sums(cupy, kernels, np.float32, 8)
    tests.test_maxima(cupy, kernels, np.float32)
    tests.test_rows_out_of_range_are_left_out(cupy, kernels)


def check_edges() -> None:
    tests, cupy, kernels = _modules()
    tests.test_edges_lengths_and_bags(cupy, kernels)
    launch = importlib.import_module("lucid_kernels.cuda.runtime.launch")
    for offsets, message in (([1, 2], "has to be 0"), ([0, 2, 1, 3], "decrease"), ([0, 6], "greater"), ([0, *[9, 8] * 20], "")):
        edges = kernels.bag_edges(cupy.asarray(np.array(offsets)), count=5, include_last=True)
        kernels.bag_sums(cupy.ones((3, 2)), cupy.zeros(5, np.int64), edges, None, None)
        try:
            launch.raise_pending()
        except RuntimeError as error:
            assert message in str(error)
        else:
            raise AssertionError("such offsets went unnoticed")


BAGS = "embedding_bag.cu"
MUTATIONS = [
    Mutation(BAGS, "an offset that may decrease", r"offset < offsets\[b - 1\]", "offset < 0", check_edges),
    Mutation(BAGS, "edges out of range", r"offset < 0 \? 0 : offset < count \? offset : count", "offset", check_edges),
    Mutation(BAGS, "the count is no edge", r"b < n \? \(i64\)offsets\[b\] : count", "(i64)offsets[b]", check_edges),
    Mutation(BAGS, "the bag before", r"edges\[middle \+ 1\] <= i", "edges[middle + 1] < i", check_edges),
    Mutation(BAGS, "divided by no rows", r"length > 1 \? length : 1", "length", check_edges),
    Mutation(BAGS, "a row past the end", r"row >= rows\) continue;\n      Accumulator<T> value\[N\]",
             "row > rows) continue;\n      Accumulator<T> value[N]", check_rows),
    Mutation(BAGS, "without factors", r"has_factors \? widened\(factors\[i\]\)", "has_factors ? Accumulator<T>(1)", check_rows),
    Mutation(BAGS, "the last of equal ones", r"value > peak", "value >= peak", check_rows),
    Mutation(BAGS, "an empty bag has a row", r"i64 found = -1;", "i64 found = 0;", check_rows),
]
