"""How products are cut into tiles: whatever the shape, they fit the caches and the register blocks, and the bits stay the same."""
from __future__ import annotations

import pytest
from lucid_kernels.cpu.matmul.tiling import BLOCK_ROWS, plan_of
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES

SHAPES = [(8, 1, 8), (64, 784, 256), (64, 128, 3136), (1024, 256, 1024), (5000, 3, 9), (9, 3000, 5000), (100_000, 64, 64), (64, 64, 100_000)]
LAYOUTS = [(left, right) for left in (False, True) for right in (False, True)]


def plan(shape, layout, itemsize, threads):
    """The plan for operands whose steps of the sum are contiguous or not, by `layout`."""
    (m, k, n), (left, right) = shape, layout
    strides = [(width * itemsize, itemsize) if rows else (itemsize, height * itemsize)
               for height, width, rows in ((m, k, left), (k, n, not right))]
    return plan_of((m, k), n, *strides, itemsize, threads)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("itemsize", [4, 8])
def test_tiles_are_whole_vectors_that_fit_the_caches(shape, layout, itemsize):
    for threads in (1, 2, 7, 64):
        found = plan(shape, layout, itemsize, threads)
        assert found.rows * itemsize % VECTOR_BYTES == 0 == found.columns * itemsize % VECTOR_BYTES
        assert 0 < found.rows * itemsize <= 4096
        assert 0 < found.columns * itemsize <= 4096
        assert found.turned == plan(shape, layout, itemsize, 1).turned
        if found.turned or found.packs_rows:
            assert found.rows * itemsize <= 1024
        if found.turned:
            assert layout[1]
            assert shape[2] >= BLOCK_ROWS


def test_few_rows_are_turned_where_that_saves_copies():
    assert plan((64, 784, 256), (True, True), 4, 1).turned
    assert not plan((256, 784, 64), (True, True), 4, 1).turned
    assert not plan((64, 784, 256), (True, False), 4, 1).turned


def test_what_is_copied():
    assert plan((256, 784, 64), (True, True), 4, 1).copies_columns
    assert not plan((256, 784, 20), (True, False), 4, 1).copies_columns
    assert plan((256, 784, 1024), (True, False), 4, 1).copies_columns
    assert not plan((64, 784, 1024), (True, False), 4, 1).copies_columns
    assert plan((1024, 300, 256), (False, False), 4, 1).packs_rows
    assert not plan((256, 300, 256), (False, False), 4, 1).packs_rows
    assert not plan((1024, 300, 10), (False, False), 4, 1).packs_rows


def test_threads_share_rows_where_columns_are_few():
    found = plan((128, 784, 10), (True, True), 4, 2)
    assert found.rows == 64 and found.columns >= 10


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("threads", [2, 8])
def test_all_threads_have_a_share_of_large_products(layout, threads):
    for m, k, n in ((1024, 256, 1024), (128, 4096, 4096), (4096, 4096, 128), (512, 512, 512)):
        found = plan((m, k, n), layout, 4, threads)
        down, across = (n, m) if found.turned else (m, n)
        assert -(-down // found.rows) * -(-across // found.columns) >= threads
