"""Planted bugs for embedding: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

from unittest import mock

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.indexing import test_take


def check() -> None:
    from lucid_kernels.cuda.indexing import embedding

    with mock.patch.object(embedding, "MOST_UNSORTED", 0):
        check_unsorted()


def check_unsorted() -> None:
    import cupy as cp
    from lucid_kernels.cuda.indexing import embedding
    from lucid_kernels.cuda.runtime import launch

    rng = np.random.default_rng(0)
    indices = np.append(rng.integers(0, 6, 60), [8, 3, 8, 0])
    g = rng.normal(size=(64, 37)).astype("f4")
    for padding_idx in (None, 3):
        expected = np.zeros((9, 37), "f4")
        for row, index in zip(g, indices, strict=True):
            if index != padding_idx:
                expected[index] += row
        found = embedding.embedding_grad(cp.asarray(g), cp.asarray(indices), rows=9, padding_idx=padding_idx)
        np.testing.assert_array_equal(found.get(), expected)
    for wrong in (-1, 9):
        indices[7] = wrong
        embedding.embedding_grad(cp.asarray(g), cp.asarray(indices), rows=9, padding_idx=None)
        try:
            launch.raise_pending()
        except IndexError as error:
            assert f"index {wrong} is outside the table of 9 rows" in str(error)
        else:
            raise AssertionError("no error")


def check_slices() -> None:
    from lucid_kernels.cuda.indexing import embedding

    with mock.patch.object(embedding, "MOST_UNSORTED", 0):
        test_take.check_gradients(np.float32)


def check_unsorted_slices() -> None:
    test_take.check_gradients(np.float32)


def check_take() -> None:
    test_take.check_selected()
    test_take.check_gathered()


EMBEDDING, UNSORTED, TAKE = "embedding.cu", "embedding_unsorted.cu", "take.cu"
MUTATIONS = [
    Mutation(EMBEDDING, "every thread of a run sums", r"if \(first > 0 && sorted\[first - 1\] == row\) continue;", "", check),
    Mutation(EMBEDDING, "before the first", r"first > 0 && ", "", check),
    Mutation(EMBEDDING, "padding is summed", r"if \(row == padding_idx\) continue;", "", check),
    Mutation(EMBEDDING, "no lower bound", r"row < 0 \|\| ", "", check),
    Mutation(EMBEDDING, "one row too many", r"row >= rows", "row > rows", check),
    Mutation(EMBEDDING, "past the end", r"q < count && ", "", check),
    Mutation(EMBEDDING, "the sorted row of g", r"count \+ order\[q\]", "count + q", check),
    Mutation(EMBEDDING, "only the first of a run", r"sum\[j\] \+= value", "if (q == first) sum[j] += value", check),
    Mutation(EMBEDDING, "the first of the outer slices", r"o \* count", "0 * count", check_slices),
    Mutation(EMBEDDING, "written over the first", r"o \* rows", "0 * rows", check_slices),
    Mutation(UNSORTED, "every thread of a row sums", r"if \(before < first\) continue;", "", check_unsorted),
    Mutation(UNSORTED, "the first is not looked at", r"before = 0", "before = 1", check_unsorted),
    Mutation(UNSORTED, "padding is summed", r"if \(row == padding_idx\) continue;", "", check_unsorted),
    Mutation(UNSORTED, "no lower bound", r"row < 0 \|\| ", "", check_unsorted),
    Mutation(UNSORTED, "one row too many", r"row >= rows", "row > rows", check_unsorted),
    Mutation(UNSORTED, "the last is left out", r"q < count;", "q < count - 1;", check_unsorted),
    Mutation(UNSORTED, "all rows are added", r"if \(indices\[q\] != row\) continue;", "", check_unsorted),
    Mutation(UNSORTED, "the first of the outer slices", r"o \* count", "0 * count", check_unsorted_slices),
    Mutation(UNSORTED, "written over the first", r"o \* rows", "0 * rows", check_unsorted_slices),
    Mutation(TAKE, "one slice too many", r"index < length\) value = reinterpret_cast<const W\*>\(x\)\[\(row",
             "index <= length) value = reinterpret_cast<const W*>(x)[(row", check_take),
    Mutation(TAKE, "before the first", r"index >= 0 && ", "", check_take),
    Mutation(TAKE, "the first of the outer slices", r"row / count \* length", "0 * length", check_take),
    Mutation(TAKE, "the other index", r"row % count", "row / count % count", check_take),
    Mutation(TAKE, "the first element of each slice", r" \+ e % inner", "", check_take),
]
