"""Copies, casts and fills of any strides, against NumPy's."""
from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

KINDS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int64, np.int32, np.uint8, bool]
VIEWS = [
    lambda v: v, lambda v: v.transpose(2, 0, 1), lambda v: v[:, 1:, ::3], lambda v: v[::-1, :, 1:], lambda v: v[1], lambda v: v[:0],
    lambda v: v[0, 0, 0],
]  # fmt: skip


@pytest.fixture
def copies(cp):
    from lucid_kernels.cuda.movement import copies

    return copies


@pytest.mark.parametrize(("source", "target"), [*itertools.product(KINDS, KINDS[:5] + KINDS[-2:])])
def test_casts(cp, copies, source, target):
    x = (np.random.default_rng(0).standard_normal((3, 5, 8)) * 9).astype(source)
    x = abs(x) if target == np.uint8 else x
    for view in VIEWS:
        found = copies.copied(view(cp.asarray(x)), np.dtype(target))
        assert found.flags.c_contiguous and found.dtype == target
        np.testing.assert_array_equal(found.get().astype(np.float64), view(x).astype(target).astype(np.float64))


def test_special_values(cp, copies):
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 1e30, 65519, 65520, 2049, 2051, 1e-8], np.float32)
    with np.errstate(all="ignore"):
        for kind in (np.float16, ml_dtypes.bfloat16, np.float64, bool):
            np.testing.assert_array_equal(copies.copied(cp.asarray(x), np.dtype(kind)).get().astype(np.float64),
                                          x.astype(kind).astype(np.float64))


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.uint8])
def test_into_any_strides(cp, copies, schedule, kind):
    x = np.arange(3 * 5 * 8).reshape(3, 5, 8).astype(kind)
    for view in VIEWS:
        memory = cp.full((3, 5, 8), 7, kind)
        expected = np.full((3, 5, 8), 7, kind)
        source = view(x).copy()
        out = view(memory)
        assert copies.copy(cp.asarray(source), out) is out
        if source.ndim:
            view(expected)[...] = source
        else:
            expected[0, 0, 0] = source
        np.testing.assert_array_equal(memory.get(), expected)
    row = cp.asarray(x[0, 0])
    np.testing.assert_array_equal(copies.copy(row, cp.empty((4, 8), kind)).get(), np.broadcast_to(x[0, 0], (4, 8)))


@pytest.mark.parametrize("kind", [np.float32, np.float16, ml_dtypes.bfloat16, np.uint8, np.int64, np.complex64])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_several_at_once(cp, copies, kind, count):
    """As the heads of an attention lie: each in its part of one array, with its dimensions in another order."""
    for heads, width in ((2, 8), (3, 5)):
        parts = [(np.arange(2 * heads * 3 * width).reshape(2, heads, 3, width) % 50 + 60 * number).astype(kind)
                 for number in range(count)]
        memory = cp.full((2, 3, count, heads, width), 7, kind)
        whole = memory.transpose(2, 0, 3, 1, 4)
        copies.copy_each([whole[number] for number in range(count)], [cp.asarray(part) for part in parts])
        np.testing.assert_array_equal(whole.get(), np.stack(parts))
    shapes = [(2, 0), (2, 0)], [(2, 3), (3, 2)], [(), ()]
    for first, second in shapes:
        targets = [cp.zeros(first, kind), cp.zeros(second, kind)]
        copies.copy_each(targets, [cp.ones(first, kind), cp.full(second, 2, kind)])
        assert all((target.get() == number).all() for number, target in enumerate(targets, 1))


def test_of_memory_into_itself(cp, copies):
    x = cp.arange(12, dtype=np.float32).reshape(3, 4)
    copies.copy(x[:2].copy(), x[1:])
    copies.copy(x[:, ::-1], x)
    np.testing.assert_array_equal(x.get(), np.array([[0, 1, 2, 3], [0, 1, 2, 3], [4, 5, 6, 7]], np.float32)[:, ::-1])


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int64, bool])
def test_fills(cp, copies, kind):
    for view in VIEWS[:-1]:
        memory, expected = cp.zeros((3, 5, 8), kind), np.zeros((3, 5, 8), kind)
        copies.fill(view(memory), 3)
        view(expected)[...] = 3
        np.testing.assert_array_equal(memory.get().astype(np.float64), expected.astype(np.float64))
