"""Sums of results of formulas, in one pass: the bits of the results and of their sums one after the other."""
from __future__ import annotations

import numpy as np
from lucid_kernels.cpu.elementwise.fused import fused
from lucid_kernels.cpu.reduction.fused_totals import fused_with_totals, is_added_in_one_piece
from lucid_kernels.cpu.reduction.reduction import PIECE, total, total_of_all
from lucid_kernels.expression import Node, Program

_A, _B, _C = (Node("input", np.dtype("float32"), value=number) for number in range(3))
_DIFFERENCE = (_A - _B) * _C
PROGRAM = Program([_DIFFERENCE, _DIFFERENCE * _DIFFERENCE, _DIFFERENCE])  # the last two are added up


def test_the_same_bits():
    for size in (1, 7, 1 << 14, (1 << 14) + 1, 100_003):
        generator = np.random.default_rng(size)
        x, y = [generator.standard_normal(size).astype(np.float32) for _ in range(2)]
        scale = np.asarray(1.5, np.float32)
        for odd in (None, np.inf, np.nan):
            if odd is not None:
                x[size // 2] = odd
            (found,), sums = fused_with_totals(x, y, scale, program=PROGRAM, totals=2)
            first, *others = fused(x, y, scale, program=PROGRAM)
            assert found.tobytes() == first.tobytes()
            np.testing.assert_array_equal(np.array(sums), np.array([total_of_all(array) for array in others]))
            np.testing.assert_allclose(sums, [np.sum(array.astype(np.float64)) for array in others], rtol=1e-4, atol=1e-2)


def test_rows_and_gaps_take_two_passes():
    x = np.random.default_rng(0).standard_normal((64, 300)).astype(np.float32)
    scale = np.asarray(2.0, np.float32)
    for a, b in ((x[:, ::2], x[:, 1::2]), (x, x[0])):
        (found,), sums = fused_with_totals(a, b, scale, program=PROGRAM, totals=2)
        first, *others = fused(a, b, scale, program=PROGRAM)
        assert found.tobytes() == first.tobytes()
        assert sums == [total_of_all(array) for array in others]


def test_sums_of_rows_have_the_bits_of_those_of_an_array():
    for rows, length in ((1, 25), (700, 25), (130, 300), (33, 1 << 13), (5, PIECE)):
        assert is_added_in_one_piece(length)
        generator = np.random.default_rng(rows)
        x, y = [generator.standard_normal((rows, length)).astype(np.float32) for _ in range(2)]
        x[rows // 2, length // 2] = np.inf
        scale = np.asarray(1.5, np.float32)
        (found,), sums = fused_with_totals(x, y, scale, program=PROGRAM, totals=2, length=length)
        first, *others = fused(x, y, scale, program=PROGRAM)
        assert found.tobytes() == first.tobytes()
        for each, array in zip(sums, others, strict=True):
            assert each.tobytes() == total(array, (rows, length, 1)).tobytes()
    assert not is_added_in_one_piece(PIECE + 1)
    assert not is_added_in_one_piece(4)  # by BLAS


def test_sums_of_rows_of_what_has_gaps_take_two_passes():
    x = np.random.default_rng(0).standard_normal((64, 300)).astype(np.float32)
    scale = np.asarray(2.0, np.float32)
    _, sums = fused_with_totals(x[:, ::2], x[:, 1::2], scale, program=PROGRAM, totals=2, length=150)
    for each, array in zip(sums, fused(x[:, ::2], x[:, 1::2], scale, program=PROGRAM)[1:], strict=True):
        assert each.tobytes() == total(array, (64, 150, 1)).tobytes()
