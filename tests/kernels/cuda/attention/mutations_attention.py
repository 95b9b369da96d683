"""Planted bugs for attention: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels import attention_reference as reference
from tests.kernels.cuda.attention import test_attention


def check(*shapes: tuple[int, ...], mask: object = None, scale: float = 0.3) -> None:
    import cupy as cp
    from lucid_kernels.cuda.attention import attention

    for shape in shapes:
        data = reference.data(shape, mask, np.float64)
        results = test_attention.forward_and_backward(attention, cp, *data, is_causal=mask == "causal", scale=scale)
        wanted = reference.expected(*data, is_causal=mask == "causal", scale=scale)
        for got, exact in zip(results, wanted, strict=True):
            np.testing.assert_allclose(got.get(), exact, rtol=1e-9, atol=1e-11)


def check_plain() -> None:
    check((1, 4, 2, 35, 40, 17, 5), (1, 1, 1, 3, 70, 40, 33))


def check_large() -> None:
    check((1, 1, 1, 5, 100, 17, 5), scale=1000.0)


def check_causal() -> None:
    check((1, 2, 1, 40, 70, 5, 5), (1, 1, 1, 70, 35, 5, 5), mask="causal")


def check_masks() -> None:
    for mask in ((1, 1, 1, 1), (1, 0, 0, 1), (0, 1, 1, 0)):
        check((2, 2, 2, 5, 35, 4, 4), (1, 1, 1, 5, 70, 4, 4), mask=mask)


def check_lowest() -> None:
    import cupy as cp
    from lucid_kernels.cuda.attention import attention

    test_attention.test_rows_of_the_lowest_number_are_a_mean(attention, cp, "lowest", np.float64)


ATTENTION = "attention.cu"
MUTATIONS = [
    Mutation(ATTENTION, "drop a barrier", r"__syncthreads\(\);", ";", check_plain),
    Mutation(ATTENTION, "keys past the end", r"key < keys && ", "", check_plain),
    Mutation(ATTENTION, "queries past the end", r"line < lines && column", "column", check_plain),
    Mutation(ATTENTION, "columns past the end", r" && column < width\) x", ") x", check_plain),
    Mutation(ATTENTION, "a term too many", r"first \+ term < width \?", "first + term <= width ?", check_plain),
    Mutation(ATTENTION, "half the lanes of a row", r"offset = SIDE / 2", "offset = SIDE / 4", check_plain),
    Mutation(ATTENTION, "sums not rescaled", r"sum\.at\[i\]\[j\] \*= kept;", "", check_plain),
    Mutation(ATTENTION, "total not rescaled", r"total\[i\] \* kept", "total[i]", check_plain),
    Mutation(ATTENTION, "maximum of the last tile only", r"T largest = top\[i\];", "T largest = -infinity<T>();", check_large),
    Mutation(ATTENTION, "not divided", r" / total\[i\]", "", check_plain),
    Mutation(ATTENTION, "group of another head", r"group = head / \(heads / groups\)", "group = head % groups", check_plain),
    Mutation(ATTENTION, "one head of a group", r"head < \(group \+ 1\) \* repeats", "head < group * repeats + 1", check_plain),
    Mutation(ATTENTION, "only the first columns", r"start = blockIdx\.y \* TILE;", "start = 0;", check_plain),
    Mutation(ATTENTION, "no dot product", r" - dot\) \*", ") *", check_plain),
    Mutation(ATTENTION, "gradient not scaled", r" \* problem\.scale :", " :", check_plain),
    Mutation(ATTENTION, "not transposed", r"add_tile_by_rows<true>", "add_tile_by_rows<false>", check_plain),
    Mutation(ATTENTION, "diagonal hidden", r"key <= query", "key < query", check_causal),
    Mutation(ATTENTION, "a tile of keys short", r"min\(keys, query \+ TILE\)", "min(keys, query)", check_causal),
    Mutation(ATTENTION, "a tile of queries short", r"is_causal \? key : 0", "is_causal ? key + TILE : 0", check_causal),
    Mutation(ATTENTION, "mask of another sample", r"head / heads \* mask_batch", "head % heads * mask_batch", check_masks),
    Mutation(ATTENTION, "mask of the first query", r" \+ query \* mask_query", "", check_masks),
    Mutation(ATTENTION, "mask of the first key", r" \+ key \* mask_key", "", check_masks),
    Mutation(ATTENTION, "NaN in a tile without keys", r"largest == -infinity<T>\(\) \? T\(0\) : largest", "largest", check_masks),
    Mutation(ATTENTION, "-inf of a query without keys", r"blind \? infinity<T>\(\)", "blind ? -infinity<T>()", check_masks),
    Mutation(ATTENTION, "sum rounded away", r"blind \? infinity<T>\(\) : top\[i\];\n(.*)blind \? T\(0\) : T\(1\) / total\[i\]",
             r"blind ? infinity<T>() : top[i] + log_(total[i]);\n\1T(1)", check_lowest),
]
