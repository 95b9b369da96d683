"""Planted bugs for joined arrays and copies by tiles: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from lucid_kernels.simulator.mutation import Mutation


def check() -> None:
    import cupy

    tests: Any = importlib.import_module("tests.kernels.cuda.movement.test_concatenate")
    concatenate = importlib.import_module("lucid_kernels.cuda.movement.concatenate").concatenate
    tests.test_values(cupy, concatenate, None, np.float32)


def check_tiles() -> None:
    import cupy

    tests: Any = importlib.import_module("tests.kernels.cuda.movement.test_transpose")
    copies = importlib.import_module("lucid_kernels.cuda.movement.copies")
    tests.test_values(cupy, copies, None, np.float32)
    tests.test_into_any_strides(cupy, copies, np.float32)
    with pytest.MonkeyPatch.context() as patch:
        tests.test_several_tiles_a_block(cupy, copies, patch)


def check_float8() -> None:
    import cupy

    tests: Any = importlib.import_module("tests.kernels.cuda.movement.test_float8")
    kernels = importlib.import_module("lucid_kernels.cuda.movement.float8")
    for format in tests.FORMATS:
        tests.test_rounding(cupy, kernels, None, format)
        tests.test_values(cupy, kernels, format)
def check_casts() -> None:
    import cupy

    tests: Any = importlib.import_module("tests.kernels.cuda.movement.test_transpose")
    copies = importlib.import_module("lucid_kernels.cuda.movement.copies")
    tests.test_into_other_dtypes(cupy, copies, None)
    with pytest.MonkeyPatch.context() as patch:
        tests.test_several_tiles_a_block(cupy, copies, patch)


FILE = "concatenate.cu"
FLOAT8 = "float8.cu"
TILES = "transpose.cu"
MUTATIONS = [
    Mutation(FILE, "rows of the result", r" \* \(row - width\)", " * (row - width - 1)", check),
    Mutation(FILE, "arrays behind the sixteenth", r" \+ first \+ begin", " + begin", check),
    Mutation(FILE, "the place of an array", r"first \+ begin\]", "first]", check),
    Mutation(FILE, "the first block of an array", r"blockIdx.x >= sections.block", "blockIdx.x > sections.block", check),
    Mutation(FILE, "the blocks of another array", r"\(blockIdx.x - block\)", "blockIdx.x", check),
    Mutation(FILE, "units behind the end", r"if \(own \+ k \* THREADS < n\)", "", check),
    Mutation(FILE, "the last array left out", r" SECTION\(15\)", "", check),
    Mutation(FLOAT8, "ties to even", r" - 1u \+ last", "", check_float8),
    Mutation(FLOAT8, "the smallest normal number", r"128 - bias", "127 - bias", check_float8),
    Mutation(FLOAT8, "numbers beyond the largest", r"code > most \? most : code", "code", check_float8),
    Mutation(FLOAT8, "a zero without a sign", r"code \? sign \| code : 0u", "sign | code", check_float8),
    Mutation(FLOAT8, "halfway between powers of two", r" \|\| power > 0", "", check_float8),
    Mutation(FLOAT8, "the sign of small numbers", r"sign \| __float_as_uint", "__float_as_uint", check_float8),
    Mutation(TILES, "a tile that is not turned", r"tile\[threadIdx.x \+ s \* 32\]\[threadIdx.y \+ k \* 8\]", "tile[threadIdx.y + k * 8][threadIdx.x + s * 32]",
             check_tiles, inside="transpose.cuh"),
    Mutation(TILES, "the last columns", r"rows && column < tiles.columns", "rows && column + 1 < tiles.columns", check_tiles, inside="transpose.cuh"),
    Mutation(TILES, "columns behind the end", r"rows && column < tiles.columns", "rows", check_tiles, inside="transpose.cuh"),
    Mutation(TILES, "rows behind the end", r"row < tiles.rows && column", "column", check_tiles, inside="transpose.cuh"),
    Mutation(TILES, "steps of the outer dimensions", r"to \+= place \* tiles.y_step", "to += place * tiles.x_step", check_tiles, inside="transpose.cuh"),
    Mutation(TILES, "the last columns of few rows", r"tiles.columns - first < WIDE \?", "tiles.columns - first < 0 ?", check_tiles,
             inside="transpose.cuh"),
    Mutation(TILES, "the place of a row of few", r"row = i - column \* rows", "row = i - column", check_tiles, inside="transpose.cuh"),
    Mutation("transpose_cast.cu", "the type of the source", r"narrowed<Y>\(widened\(x\)\)", "narrowed<Y>((int)widened(x))", check_casts),
    Mutation(TILES, "what lies in front of the first", r"from = tiles.x_first", "from = 0", check_tiles, inside="transpose.cuh"),
]
