"""Elements by a mask on a GPU against NumPy: words of every size, which are not changed."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

DTYPES = [np.bool_, np.uint8, np.float16, ml_dtypes.bfloat16, np.int32, np.float32, np.float64, np.complex64]


@pytest.fixture
def ternary(cp):
    from lucid_kernels.cuda.elementwise import ternary

    return ternary


def values(dtype, shape, seed):
    """Elements of any bits, so NaN with payloads as well."""
    bits = np.random.default_rng(seed).integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8)
    return (bits % 2 if dtype == np.bool_ else bits).view(dtype)[..., 0]


def same(result, expected):
    assert result.dtype == expected.dtype and result.shape == expected.shape
    np.testing.assert_array_equal(np.ascontiguousarray(result.get()).view(np.uint8), np.ascontiguousarray(expected).view(np.uint8))


def number_of(dtype):
    kind = np.dtype(dtype).kind
    return True if kind == "b" else 7 if kind in "iu" else -np.inf


def check(ternary, cp, dtype, shapes=((), (0,), (1,), (37,), (5, 33), (3, 2, 8))):
    for shape in shapes:
        mask, a, b = values(np.bool_, shape, 1), values(dtype, shape, 2), values(dtype, shape, 3)
        on = [cp.asarray(each) for each in (mask, a, b)]
        same(ternary.where(*on), np.where(mask, a.view(f"V{a.itemsize}"), b.view(f"V{a.itemsize}")).view(dtype))
        if a.dtype.kind == "c":
            continue
        number = np.asarray(number_of(dtype)).astype(dtype)
        for given, left, right in (((on[0], number_of(dtype), on[2]), np.broadcast_to(number, shape), b),
                                   ((on[0], on[1], number_of(dtype)), a, np.broadcast_to(number, shape))):
            word = f"u{a.itemsize}"
            assert ternary.suits(*given)
            same(ternary.where(*given), np.where(mask, left.view(word), right.view(word)).view(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_values(ternary, cp, dtype):
    check(ternary, cp, dtype)


def check_views(ternary, cp):
    for dtype in (np.uint8, np.float16, np.float64):
        mask, a, b = values(np.bool_, (6, 40), 1), values(dtype, (40,), 2), values(dtype, (40, 6), 3)
        on = [cp.asarray(each) for each in (mask, a, b)]
        for cut in (lambda m, x, y: (m, x, y.T), lambda m, x, y: (m[:, 1:], x[:-1], y.T[:, 1:]),
                    lambda m, x, y: (m[:, ::2], x[::-2], y.T[::-1, ::2]), lambda m, x, y: (m[0], x, y.T), lambda m, x, y: (m[2, 3], x, y.T)):
            m, x, y = cut(mask, a, b)
            word = f"u{a.itemsize}"
            expected = np.where(m, x.view(word), np.ascontiguousarray(y).view(word)).view(dtype)
            same(ternary.where(*cut(*on)), expected)
        same(ternary.where(on[0].T, on[2], on[2]), b)
        for target in (0, 1):  # one of the arguments
            full = [on[0].copy(), cp.asarray(b).T.copy(), cp.asarray(b).T.copy() ** 0]
            expected = np.where(mask, full[1].get(), full[2].get())
            out = full[1 + target]
            assert ternary.where(*full, out=out) is out
            same(out, expected)


def test_views_and_results_that_are_arguments(ternary, cp, schedule):
    check_views(ternary, cp)


def test_what_is_not_for_it(ternary, cp):
    mask, x = cp.ones(3, bool), {kind: cp.ones(3, kind) for kind in "?Bifd"}
    for a, b in ((x["f"], x["d"]), (x["i"], 0.5), (x["B"], 256), (x["B"], -1), (x["?"], 1), (x["i"], True), (x["f"], 1j), (1, 2)):
        assert not ternary.suits(mask, a, b)
    assert not ternary.suits(x["B"], x["f"], x["f"]) and not ternary.suits(mask, *[cp.ones(3, "D")] * 2)
