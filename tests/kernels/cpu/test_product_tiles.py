"""How products are cut into tiles: whatever the shape, they fit the caches and the register blocks, and the bits stay the same."""
from __future__ import annotations

import pytest
from lucid_kernels.cpu._microkernels import ROWS, VECTOR_BYTES
from lucid_kernels.cpu._panels import COLUMN_PANEL_BYTES
from lucid_kernels.cpu._product_tiles import Operands, tiles_of, waste

SHAPES = [(8, 1, 8), (64, 784, 256), (64, 128, 3136), (1024, 256, 1024), (5000, 3, 9), (9, 3000, 5000), (100_000, 64, 64), (64, 64, 100_000)]
LAYOUTS = [(left, right) for left in (False, True) for right in (False, True)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("itemsize", [4, 8])
def test_tiles_are_whole_blocks_that_fit_the_caches(shape, layout, itemsize):
    operands = Operands(*shape, *layout, itemsize)
    for threads in (1, 2, 7, 64):
        turned, rows, columns = tiles_of(operands, threads)
        assert rows * itemsize % VECTOR_BYTES == 0 == columns * itemsize % COLUMN_PANEL_BYTES
        assert 0 < rows * itemsize <= 4096
        assert 0 < columns * itemsize <= 4096
        assert turned == tiles_of(operands, 1).turned
        packed = not (operands.turned() if turned else operands).left_contiguous
        if turned or packed:
            assert rows * itemsize <= 1024
        if turned:
            assert layout[1]
            assert shape[2] >= ROWS


def test_few_rows_are_turned_where_that_saves_packing():
    assert tiles_of(Operands(64, 784, 256, True, True, 4), 1).turned
    assert not tiles_of(Operands(256, 784, 64, True, True, 4), 1).turned
    assert not tiles_of(Operands(64, 784, 256, True, False, 4), 1).turned


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("threads", [2, 8])
def test_all_threads_have_a_share_of_large_products(layout, threads):
    for m, k, n in ((1024, 256, 1024), (128, 4096, 4096), (4096, 4096, 128), (512, 512, 512)):
        turned, rows, columns = tiles_of(Operands(m, k, n, *layout, 4), threads)
        down, across = (n, m) if turned else (m, n)
        assert -(-down // rows) * -(-across // columns) >= threads


def test_waste_is_the_share_of_packing_and_padding():
    assert waste(Operands(1024, 256, 1024, True, False, 4)) < 0.05
    assert waste(Operands(64, 784, 256, True, True, 4)) < waste(Operands(64, 784, 256, True, False, 4)) < 0.3
    assert waste(Operands(1024, 1024, 17, True, False, 4)) > 0.3
    assert waste(Operands(8, 1024, 1024, True, False, 4)) > 0.5
