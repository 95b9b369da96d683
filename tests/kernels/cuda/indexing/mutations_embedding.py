"""Planted bugs for embedding: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

from unittest import mock

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.indexing import test_embedding, test_take


def check() -> None:
    from lucid_kernels.cuda.indexing import embedding

    with mock.patch.multiple(embedding, MOST_UNSORTED=0, LEAST_CHUNK=4):
        check_unsorted()


def check_unsorted() -> None:
    import cupy as cp
    from lucid_kernels.cuda.indexing import embedding
    from lucid_kernels.cuda.runtime import launch

    rng = np.random.default_rng(0)
    indices = np.append(rng.integers(0, 6, 60), [8, 3, 8, 0])
    g = rng.normal(size=(64, 37)).astype("f4")
    for padding_idx in (None, 3, 8):
        expected = np.zeros((9, 37), "f4")
        for row, index in zip(g, indices, strict=True):
            if index != padding_idx:
                expected[index] += row
        found = embedding.embedding_grad(cp.asarray(g), cp.asarray(indices), rows=9, padding_idx=padding_idx)
        np.testing.assert_allclose(found.get(), expected, rtol=1e-5, atol=1e-6)
    for wrong in (-1, 9):
        indices[7] = wrong
        embedding.embedding_grad(cp.asarray(g), cp.asarray(indices), rows=9, padding_idx=None)
        try:
            launch.raise_pending()
        except IndexError as error:
            assert f"index {wrong} is outside the table of 9 rows" in str(error)
        else:
            raise AssertionError("no error")


def check_many() -> None:
    import cupy as cp
    from lucid_kernels.cuda.indexing import embedding

    for shares in (2, 32):
        with mock.patch.object(embedding, "_SHARES", shares):
            for count in (1025, 2600):
                test_embedding.test_many(cp, count)


def check_slices() -> None:
    from lucid_kernels.cuda.indexing import embedding

    with mock.patch.multiple(embedding, MOST_UNSORTED=0, LEAST_CHUNK=1):
        test_take.check_gradients(np.float32)


def check_unsorted_slices() -> None:
    test_take.check_gradients(np.float32)


def check_take() -> None:
    test_take.check_selected()
    test_take.check_gathered()


EMBEDDING, SORT, UNSORTED, TAKE = "embedding.cu", "sort_indices.cu", "embedding_unsorted.cu", "take.cu"
MUTATIONS = [
    Mutation(EMBEDDING, "one run a chunk", r"found\[k\] != row", "false", check),
    Mutation(EMBEDDING, "sums that go on", r"sum\[j\] = 0;", ";", check),
    Mutation(EMBEDDING, "only the last of a run", r"sum\[j\] \+= widened", "sum[j] = widened", check),
    Mutation(EMBEDDING, "padding is summed", r"row == padding_idx\) \{", "false) {", check),
    Mutation(EMBEDDING, "padding is summed over chunks", r" \|\| row == padding_idx", "", check),
    Mutation(EMBEDDING, "no lower bound", r"row < 0 \|\| row >= rows\) \{", "row >= rows) {", check),
    Mutation(EMBEDDING, "one row too many", r"row >= rows\) \{", "row > rows) {", check),
    Mutation(EMBEDDING, "before the first", r"start == 0 \|\| ", "", check),
    Mutation(EMBEDDING, "past the end", r"end == count \|\| ", "", check),
    Mutation(EMBEDDING, "the sorted row of g", r"count \+ order\[q\]", "count + q", check),
    Mutation(EMBEDDING, "the sum from the chunk before", r"place \* 2 \+ 1\)", "place * 2)", check),
    Mutation(EMBEDDING, "runs that have begun before", r" \|\| \(start > 0 && sorted\[start - 1\] == row\)", "", check),
    Mutation(EMBEDDING, "chunks behind the last", r"first \+ k < chunks && ", "", check),
    Mutation(EMBEDDING, "the next chunk alone", r"sum\[j\] \+= values\[k\]\[j\];", "if (first == own + 1 && k == 0) sum[j] += values[k][j];", check_many),
    Mutation(EMBEDDING, "the first of the outer slices", r"o \* count", "0 * count", check_slices),
    Mutation(EMBEDDING, "sums of the first of the outer slices", r"o \* chunks", "0 * chunks", check_slices),
    Mutation(EMBEDDING, "written over the first", r"o \* rows", "0 * rows", check_slices),
    Mutation(SORT, "equal ones of the tiles before", r"keys\[k\] \+ before", "keys[k]", check_many),
    Mutation(SORT, "equal ones of the tiles behind", r"keys\[k\] \+ before", "keys[k] + 1", check_many),
    Mutation(SORT, "an index beside itself", r"first \+ n < own", "first + n <= own", check_many),
    Mutation(SORT, "a share in the place of another", r"counts\[s \* count", "counts[0 * count", check_many),
    Mutation(SORT, "indices behind the last", r"j < count \?", "j >= 0 ?", check_many),
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
