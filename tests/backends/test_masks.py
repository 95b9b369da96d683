"""Large arrays and masks on the CPU: our kernels against NumPy's ways, which serve the small ones."""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lucid.backends import functions
from lucid.backends.cpu import TABLE

PLAIN = functions.table(np, np.add.at, lambda a, b: a @ b)
SHAPE = (3, 130, 140)
RNG = np.random.default_rng(0)
DTYPES = ["f4", "f8", "f2", ml_dtypes.bfloat16, "i8", "i4", "u1", "?", "c8", "c16"]
MASKS = {"full": RNG.random(SHAPE) > 0.5, "transposed": RNG.random(SHAPE[::-1]).T > 0.5, "matrix": RNG.random(SHAPE[1:]) > 0.5,
         "column": RNG.random((3, 130, 1)) > 0.5, "number": np.ones((), np.bool_), "none": np.zeros(SHAPE, np.bool_)}


def number(dtype: Any) -> np.ndarray:
    return RNG.integers(0, 9, SHAPE).astype(dtype)


def check(found: Any, wanted: Any, *arguments: np.ndarray) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)
    assert not any(np.shares_memory(found, argument) for argument in arguments)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_where(dtype: Any, mask: str) -> None:
    a, b, m = number(dtype), number(dtype), MASKS[mask]
    one = a.dtype.type(1)
    for pair in ((a, b), (a, one), (one, b), (a, b[0, 0]), (a[:, :, :1], b), (a.transpose(0, 2, 1).copy().transpose(0, 2, 1), b),
                 (a, np.broadcast_to(b[:1, :1, :1], SHAPE)), (a, 1), (1, b)):
        check(TABLE["where"](m, *pair), PLAIN["where"](m, *pair), a, b)


def test_where_of_two_dtypes() -> None:
    a, m = number("i4"), MASKS["full"]
    for pair in ((a, number("f4")), (a, 0.5), (number("f2"), number("f8"))):
        check(TABLE["where"](m, *pair), PLAIN["where"](m, *pair))


def test_not_finite_numbers_are_copied_bit_by_bit() -> None:
    bits = RNG.integers(0, 1 << 32, SHAPE, dtype=np.uint32)
    found = TABLE["where"](MASKS["full"], bits.view("f4"), bits[::-1].view("f4"))
    np.testing.assert_array_equal(found.view("u4"), np.where(MASKS["full"], bits, bits[::-1]))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_masked_fill(dtype: Any, mask: str) -> None:
    x, m = number(dtype), MASKS[mask]
    for value in (1, np.ones((), dtype)):
        wanted = PLAIN["masked_fill"](x, m, value)
        check(TABLE["masked_fill"](x, m, value), wanted, x)
        check(TABLE["masked_fill"](x[::-1], m, value), PLAIN["masked_fill"](x[::-1], m, value), x)
        for out in (x.copy(), x.transpose(2, 1, 0).copy().transpose(2, 1, 0)):
            assert TABLE["masked_fill"](out, m, value, out=out) is out
            check(out, wanted, x)


def test_a_mask_that_is_filled_by_itself() -> None:
    x = MASKS["full"].copy()
    TABLE["masked_fill"](x, x[:, ::-1], False, out=x)
    np.testing.assert_array_equal(x, MASKS["full"] & ~MASKS["full"][:, ::-1])


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_triangles(dtype: Any, name: str) -> None:
    for x in (number(dtype), number(dtype).transpose(0, 2, 1), number(dtype)[0], np.broadcast_to(number(dtype)[0, 0], SHAPE)):
        for k in (0, 1, -1, 5, -130, 129, 500, -500):
            check(TABLE[name](x, k=k), PLAIN[name](x, k=k), x)


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        TABLE["where"](MASKS["full"], np.zeros((2, 130, 140)), np.zeros((2, 130, 140)))
