"""Elementwise functions of expanded arrays: the numbers of arrays that are written out, in memory of their own."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.arrays import broadcast
from lucid_kernels.cpu.elementwise import elementwise, operation
from lucid_kernels.cpu.elementwise.fused import fused
from lucid_kernels.expression import Node, Program

SHAPE = (300, 400)
ROWS = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)


def expanded() -> dict[str, np.ndarray]:
    return {"number": np.broadcast_to(np.float32(2.5), SHAPE), "column": np.broadcast_to(ROWS[:, :1], SHAPE),
            "row": np.broadcast_to(ROWS[0], SHAPE), "whole": ROWS}


def test_what_repeats() -> None:
    assert [broadcast.repeats(x) for x in expanded().values()] == [True, True, True, False]
    assert not broadcast.repeats(np.broadcast_to(np.float32(1), (3, 4)))  # few elements
    assert not broadcast.repeats(2.5) and not broadcast.repeats(np.broadcast_to(ROWS, (1, *SHAPE)))
    assert [broadcast.distinct(x).shape for x in expanded().values()] == [(1, 1), (300, 1), (1, 400), SHAPE]


@pytest.mark.parametrize("other", ["number", "column", "row", "whole"])
@pytest.mark.parametrize("one", ["number", "column", "row"])
def test_arithmetic_and_formulas(one: str, other: str) -> None:
    a, b = expanded()[one], expanded()[other]
    for x, y in ((a, b), (b, a), (a[:, 7:], b[:, 7:]), (a, 3.0), (2.0, a)):
        with np.errstate(divide="ignore", invalid="ignore"):
            wanted = {"add": np.add(x, y), "sub": np.subtract(x, y), "mul": np.multiply(x, y), "div": np.true_divide(x, y)}
        for name, expected in wanted.items():
            computed = getattr(elementwise, name)(x, y)
            np.testing.assert_array_equal(computed, expected)
            assert computed.shape == expected.shape and computed.flags.writeable and 0 not in computed.strides
    computed = operation.operation(("maximum",), a, b)
    np.testing.assert_array_equal(computed, np.maximum(a, b))
    assert computed.flags.c_contiguous and computed.flags.writeable and 0 not in computed.strides


def test_of_several_results() -> None:
    kind = np.dtype(np.float32)
    x, y = Node("input", kind, value=0), Node("input", kind, value=1)
    program = Program([Node("add", kind, (x, y)), Node("neg", kind, (x,))])
    total, opposite = fused(expanded()["column"], ROWS, program=program)
    np.testing.assert_array_equal(total, ROWS[:, :1] + ROWS)
    np.testing.assert_array_equal(opposite, np.broadcast_to(-ROWS[:, :1], SHAPE))
    assert opposite.flags.writeable and opposite.shape == SHAPE
