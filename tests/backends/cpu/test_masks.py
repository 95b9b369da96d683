"""Large arrays and masks on the CPU: our kernels against NumPy's ways, which serve the small ones."""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lucid.backends.common import indexing
from lucid.backends.cpu.backend import TABLE

SHAPE = (3, 130, 140)
RNG = np.random.default_rng(0)
DTYPES = ["f4", "f8", "f2", ml_dtypes.bfloat16, "i8", "i4", "u1", "?", "c8", "c16"]
MASKS = {"full": RNG.random(SHAPE) > 0.5, "transposed": RNG.random(SHAPE[::-1]).T > 0.5, "matrix": RNG.random(SHAPE[1:]) > 0.5,
         "column": RNG.random((3, 130, 1)) > 0.5, "number": np.ones((), np.bool_), "none": np.zeros(SHAPE, np.bool_)}


def fill(x: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray:
    return np.where(mask, np.asarray(value, x.dtype), x)


PLAIN: dict[str, Any] = indexing.table(np, np.add.at, np.ufunc.at) | {
    "where": np.where, "masked_fill": fill, "tril": np.tril, "triu": np.triu, "getitem": lambda x, index: x[index]}


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


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 1])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_elements_at_a_mask(dtype: Any, share: float) -> None:
    x = number(dtype)
    for mask in (RNG.random(SHAPE) < share, RNG.random(SHAPE[::-1]).T < share):
        for array in (x, x.transpose(0, 2, 1).copy().transpose(0, 2, 1)):
            found, wanted = (table["getitem"](array, index=(mask,)) for table in (TABLE, PLAIN))
            check(found, wanted, x)
        for values in (found, np.broadcast_to(np.ones((), dtype), found.shape)):
            arguments = {"shape": SHAPE, "index": (mask,), "unique": True}
            check(TABLE["scatter_new"](values, **arguments), PLAIN["scatter_new"](values, **arguments), found)
        for one, other in zip(TABLE["nonzero"](mask), np.nonzero(mask), strict=True):
            check(one, other)
        for value in (1, np.ones((), dtype)):
            check(TABLE["index_put"](x, value, index=(mask,)), PLAIN["index_put"](x, value, index=(mask,)), x)
            out = x.copy()
            assert TABLE["index_put"](out, value, index=(mask,), out=out) is out
            check(out, PLAIN["index_put"](x, value, index=(mask,)))
    check(TABLE["index_put"](x, found, index=(mask,)), PLAIN["index_put"](x, found, index=(mask,)), x)


def test_rows_at_a_mask() -> None:
    x, mask = RNG.random((130, 140, 5)), RNG.random((130, 140)) > 0.5
    check(TABLE["getitem"](x, index=(mask,)), x[mask], x)
    check(TABLE["getitem"](x.transpose(1, 0, 2), index=(mask.T,)), x.transpose(1, 0, 2)[mask.T], x)
    check(TABLE["scatter_new"](x[mask], shape=x.shape, index=(mask,), unique=True), np.where(mask[..., None], x, 0))
    with pytest.raises(IndexError):
        TABLE["getitem"](x, index=(mask.T,))
    with pytest.raises(ValueError, match="True|shape"):
        TABLE["scatter_new"](np.ones(7), shape=mask.shape, index=(mask,), unique=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(20_000,), (130, 140), (3, 1, 130, 140), (20_000, 1)], ids=str)
def test_nonzero(shape: tuple[int, ...], dtype: Any) -> None:
    x = RNG.integers(0, 3, shape).astype(dtype)
    if x.dtype.kind in "fc":
        x.flat[5], x.flat[6] = np.nan, -0.0
    for array in (x, x.T):
        for found, wanted in zip(TABLE["nonzero"](array), np.nonzero(array.astype("c16")), strict=True):
            check(found, wanted)


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        TABLE["where"](MASKS["full"], np.zeros((2, 130, 140)), np.zeros((2, 130, 140)))
