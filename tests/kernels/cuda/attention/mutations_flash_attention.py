"""Planted bugs for attention on tensor cores: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

import ml_dtypes
import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels import attention_reference as reference
from tests.kernels.cuda.attention import test_attention, test_dropout, test_flash_attention

TOLERANCE = {np.float32: 4e-6, ml_dtypes.bfloat16: 3e-2}


def chosen(name: str, itemsize: int, width: int, *sizes: int) -> object:
    """Small tiles, which the launcher would not choose: compiling the others takes most of the time of a planted bug."""
    from lucid_kernels.cuda.attention import flash_attention

    return flash_attention.Tiles(32 if width <= 32 else 64, 1, 2, 16, 16)


@contextlib.contextmanager
def small_tiles() -> Iterator[None]:
    from lucid_kernels.cuda.attention import flash_attention

    with mock.patch.object(flash_attention, "_chosen", chosen):
        yield


@small_tiles()
def check(*shapes: tuple[int, ...], mask: object = None, dtype: type = np.float32, scale: float = 0.3) -> None:
    import cupy as cp
    from lucid_kernels.cuda.attention import attention

    for shape in shapes:
        data = reference.data(shape, mask, dtype)
        results = test_attention.forward_and_backward(attention, cp, *data, is_causal=mask == "causal", scale=scale)
        wanted = reference.expected(*data, is_causal=mask == "causal", scale=scale)
        for got, exact in zip(results, wanted, strict=True):
            if exact.ndim == 3:
                np.testing.assert_allclose(got.get(), exact, rtol=1e-5, atol=1e-5)
            else:
                test_flash_attention.close(got, exact, TOLERANCE[dtype])


def check_plain() -> None:
    check((1, 4, 2, 70, 40, 24, 8), (1, 1, 1, 7, 75, 17, 5))


def check_half() -> None:
    check((1, 2, 1, 70, 75, 24, 8), (1, 1, 1, 5, 150, 17, 5), dtype=ml_dtypes.bfloat16)


def check_both() -> None:
    check_plain()
    check_half()


@small_tiles()
def check_large() -> None:
    import cupy as cp
    from lucid_kernels.cuda.attention import flash_attention

    _, q, k, v, _ = reference.data((1, 1, 1, 5, 100, 17, 5), None, np.float32)
    operands = (cp.asarray(a) for a in (q, k, v))
    y = flash_attention.attention(*operands, None, scale=100.0, is_causal=False, out=(None,) * 3)[0]
    test_flash_attention.close(y, reference.attention(q, k, v, None, 100.0, False)[1], 1e-3)


def check_causal() -> None:
    check((1, 2, 1, 40, 70, 8, 8), (1, 1, 1, 70, 35, 5, 5), mask="causal")


def check_masks() -> None:
    for mask in ((1, 1, 1, 1), (1, 0, 0, 1), (0, 1, 1, 0)):
        check((2, 2, 2, 5, 35, 4, 4), (1, 1, 1, 5, 70, 4, 4), mask=mask)


def check_samples() -> None:
    check((2, 2, 2, 5, 35, 4, 4))


def check_wide() -> None:
    check((1, 1, 1, 3, 5, 8, 32), (1, 1, 1, 3, 5, 32, 8))


def check_value_width() -> None:
    check((1, 1, 1, 3, 5, 8, 50))


@small_tiles()
def check_special() -> None:
    import cupy as cp
    from lucid_kernels.cuda.attention import flash_attention

    test_flash_attention.test_numbers_that_tf32_rounds_to_infinity(flash_attention, cp)
    test_flash_attention.test_a_nan_of_low_bits(flash_attention, cp)


@small_tiles()
def check_strides() -> None:
    import cupy as cp
    import pytest
    from lucid_kernels.cuda.attention import flash_attention

    with pytest.MonkeyPatch.context() as patch:
        test_flash_attention.test_heads_of_a_projection_are_read_as_they_lie(flash_attention, cp, patch, np.float32, 8)


@small_tiles()
def check_dropout() -> None:
    import cupy as cp

    for dtype in (np.float32, ml_dtypes.bfloat16):
        test_dropout.check(cp, (2, 2, 1, 5, 37, 24, 8), "causal", dtype)


@small_tiles()
def check_mask_dtypes() -> None:
    import cupy as cp

    test_dropout.test_masks_are_read_in_their_dtype(cp, np.float32)


FLASH = "flash_attention.cu"
PRODUCTS = {"inside": "attention_products.cuh"}
SPLIT = {"inside": "split_tf32.cuh"}
TILES = {"inside": "attention_tiles.cuh"}
MUTATIONS = [
    Mutation(FLASH, "copies are not awaited", r"copies_wait<0>\(\);(?=\s+const bool special =)",
             "copies_wait<1>();", check_plain),
    Mutation(FLASH, "group of another head", r"group = head / \(heads / groups\)", "group = head % groups", check_plain),
    Mutation(FLASH, "a tile of keys short", r"min\(keys, first \+ ROWS\)", "min(keys, first)", check_causal),
    Mutation(FLASH, "a tile of queries short", r"first / LINES \* LINES", "first / LINES * LINES + LINES", check_causal),
    Mutation(FLASH, "sums not rescaled", r"sum\[b\]\[c\]\[2 \* half(?: \+ 1)?\] \*= kept;", ";", check_large),
    Mutation(FLASH, "total not rescaled", r"total\[b\]\[half\] \*= kept;", ";", check_large),
    Mutation(FLASH, "never rescaled", r"> 8\.f", "> 1e30f", check_large),
    Mutation(FLASH, "maximum of the last tile only", r"largest\[b\]\[half\] = shift\[b\]\[half\];",
             "largest[b][half] = -CUDART_INF_F;", check_large),
    Mutation(FLASH, "maximum of half the lanes", r"most = fmaxf\(most, __shfl_xor_sync\(0xffffffffu, most, 2\)\);", "", check_plain),
    Mutation(FLASH, "total of half the lanes", r"all \+= __shfl_xor_sync\(0xffffffffu, all, 2\);", "", check_plain),
    Mutation(FLASH, "NaN in a tile without keys", r"shift == -CUDART_INF_F \? 0\.f : shift", "shift", check_masks, **TILES),
    Mutation(FLASH, "-inf of a query without keys", r"blind \? CUDART_INF_F", "blind ? -CUDART_INF_F", check_masks),
    Mutation(FLASH, "not divided", r"sum\[b\]\[c\]\[e\] \* factor", "sum[b][c][e]", check_plain),
    Mutation(FLASH, "no dot product", r" - dot(?:\[b\]\[e >> 1\])?\)", ")", check_plain),
    Mutation(FLASH, "gradient not scaled", r" \*= scale;", " *= 1.f;", check_plain),
    Mutation(FLASH, "one head of a group", r"steps = repeats \* steps_of_head", "steps = steps_of_head", check_plain),
    Mutation(FLASH, "statistics of the first step", r"statistic = statistics \+ \(step & 1\) \* 3 \* LINES;",
             "statistic = statistics;", check_plain),
    Mutation(FLASH, "only the first columns", r"start = blockIdx\.y \* COLUMNS;", "start = 0;", check_wide),
    Mutation(FLASH, "half of a row's products", r"i \+= LANES", "i += 2 * LANES", check_value_width),
    Mutation(FLASH, "a tile of keys of a warp short", r"first \+ warp_row \+ BLOCKS \* 16 : keys", "first + warp_row : keys", check_causal),
    Mutation(FLASH, "a tile of queries of a warp short", r"this_query \+ LINES <= warp_begin", "this_query <= warp_begin", check_causal),
    Mutation(FLASH, "the first head of a group again", r"q \+= q_head;", "", check_plain),
    Mutation(FLASH, "sums of low parts lost", r"add<LINES>\(d, low\);", "", check_plain, **PRODUCTS),
    Mutation(FLASH, "no low parts", r"mma_tf32\(d, a\.crossed, b\.low\);", "", check_plain, **SPLIT),
    Mutation(FLASH, "inf times a low part", r"low\[i\] = crossed\[i\] = 0u;", "low[i] = 0u;", check_special, **SPLIT),
    Mutation(FLASH, "a NaN that becomes inf", r"\? 0x7fffffffu : word", "? word : word", check_special, **SPLIT),
    Mutation(FLASH, "lines of another matrix", r"\(\(lane >> 4\) \* 8 \+ \(lane & 7\)\)", "(lane & 7)", check_both, **PRODUCTS),
    Mutation(FLASH, "terms of other lines", r"i % 2 \* 2 \+ i / 2", "i", check_plain, **PRODUCTS),
    Mutation(FLASH, "the first 8 lines twice", r"a\[b\]\[2 \* j \+ i / 2\]", "a[b][2 * j]", check_half, **PRODUCTS),
    Mutation(FLASH, "special numbers unseen", r"return largest >= TOO_LARGE;", "return false;", check_special, **TILES),
    Mutation(FLASH, "keys past the end", r"key < keys && ", "", check_masks, **TILES),
    Mutation(FLASH, "keys past the end of a tile without mask", r"r : problem\.keys, problem\.keys - 1\)", "r : problem.keys, 1 << 20)",
             check_plain, **TILES),
    Mutation(FLASH, "one more key than the diagonal", r"is_causal \? r : problem\.keys", "is_causal ? r + 1 : problem.keys", check_causal, **TILES),
    Mutation(FLASH, "one more query than the diagonal", r"r - column : 0", "r - 1 - column : 0", check_causal, **TILES),
    Mutation(FLASH, "one head under a causal mask", r"\(int\)blockIdx\.x % heads,", "0,", check_causal, **TILES),
    Mutation(FLASH, "halves without factor", r" - log2f\(factor\)", "", check_half, **TILES),
    Mutation(FLASH, "floats without factor", r"power<T>\(score, level\) \* factor", "power<T>(score, level)", check_plain, **TILES),
    Mutation(FLASH, "masks past the end", r"query < queries && ", "", check_masks, **TILES),
    Mutation(FLASH, "diagonal hidden", r"key <= query\)", "key < query)", check_dropout, **TILES),
    Mutation(FLASH, "keys past the end of a plain tile", r" && key_end <= keys", "", check_plain, **TILES),
    Mutation(FLASH, "the diagonal in a plain tile", r"key_end <= query \+ 1", "key_end <= query + 64", check_causal, **TILES),
    Mutation(FLASH, "the sample of another head", r"\(index\) / \(count\) \* x##_batch", "(index) % (count) * x##_batch", check_samples,
             **TILES),
    Mutation(FLASH, "the first head of a sample", r" \+ \(index\) % \(count\) \* x##_head", "", check_plain, **TILES),
    Mutation(FLASH, "mask of the first query", r"query \* mask_query \+ ", "", check_masks, **TILES),
    Mutation(FLASH, "mask of the first key", r" \+ key \* mask_key", "", check_masks, **TILES),
    Mutation(FLASH, "the mask of another sample", r"head / heads \* mask_batch", "0 * mask_batch", check_masks, **TILES),
    Mutation(FLASH, "the mask of another head", r"head % heads \* mask_head", "0 * mask_head", check_masks, **TILES),
    Mutation(FLASH, "halves as another dtype", r"mask_kind == 2\)", "mask_kind == 3)", check_mask_dtypes, **TILES),
    Mutation(FLASH, "no dropout", r"drop\(problem, (?:s|upstream), [^;]*;", "", check_dropout),
    Mutation(FLASH, "no dropout of the transposed", r"PLAIN \|\| !drops", "true", check_dropout, **TILES),
    Mutation(FLASH, "dropout of the dot product", r"upstream\[b\]\[j\]\[e\] \* kept - dot\)", "upstream[b][j][e] - dot) * kept",
             check_dropout),
    Mutation(FLASH, "dropout of another head", r"\(\(u64\)head \* queries", "((u64)0 * queries", check_dropout, **TILES),
    Mutation(FLASH, "a word of the block before", r"if \(\(i & 3\) == 3\) words =[^;]*;", "", check_dropout, **TILES),
    Mutation(FLASH, "words of the wrong order", r"i & 2 \? high : low", "i & 2 ? low : high", check_dropout, **TILES),
    Mutation(FLASH, "dropout keeps what it should drop", r">= threshold", "< threshold", check_dropout, **TILES),
    Mutation(FLASH, "columns past the end are copied", r"inside && right(?: \+ e)? < columns_left", "inside", check_plain, **TILES),
    Mutation(FLASH, "rows as if nothing were between them", r"\(first \+ line\) \* stride", "(i64)(first + line) * width", check_strides,
             **TILES),
    Mutation(FLASH, "results as if nothing were between them", r"row \* stride", "(i64)row * width", check_strides, **TILES),
    Mutation(FLASH, "rows past the end are copied", r"inside = down < lines_left", "inside = true", check_plain, **TILES),
    Mutation(FLASH, "rows past the end are stored", r"if \(row >= lines\) continue;", "", check_plain, **TILES),
    Mutation(FLASH, "columns past the end are stored", r"if \(column(?: \+ 1)? < width\) (?=\*r|to\[column \+)", "", check_plain, **TILES),
]
