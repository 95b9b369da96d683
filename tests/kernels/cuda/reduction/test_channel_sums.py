"""Sums over all dimensions but the second, against float64."""
from __future__ import annotations

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

from lucid_kernels.cuda.reduction.reduce import channel_sums  # noqa: E402

rng = np.random.default_rng(0)
SHAPES = [(1, 1), (3, 5), (64, 33), (65, 32), (1000, 70), (20000, 3), (2, 3, 1), (2, 3, 7), (5, 4, 3, 9), (3, 2, 130, 97), (1, 1, 40000)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums(shape: tuple[int, ...], dtype: str) -> None:
    x = rng.standard_normal(shape).astype(dtype)
    expected = x.astype(np.float64).sum((0, *range(2, x.ndim)))
    bound = np.finfo(dtype).eps * np.abs(x).astype(np.float64).sum((0, *range(2, x.ndim)))
    out = cp.full((shape[1],), np.nan, dtype)
    found = channel_sums(cp.asarray(x), out=out)
    assert found is out
    assert (np.abs(found.get() - expected) <= 8 * bound).all()
    np.testing.assert_array_equal(channel_sums(cp.asarray(x)).get(), found.get())


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 3, 0), (0, 4, 2)])
def test_empty(shape: tuple[int, ...]) -> None:
    np.testing.assert_array_equal(channel_sums(cp.zeros(shape, np.float32)).get(), np.zeros(shape[1], np.float32))


def test_strides_halves_and_integers() -> None:
    x = rng.standard_normal((4, 6, 8)).astype(np.float32)
    for values in (x[:, ::2], x.transpose(1, 0, 2), x.astype(np.float16)):
        np.testing.assert_allclose(channel_sums(cp.asarray(values) if values.flags.c_contiguous else _view(values)).get(),
                                   values.astype(np.float64).sum((0, 2)), rtol=1e-2, atol=1e-2)


def _view(values: np.ndarray) -> object:
    """The same strides on the device."""
    order = sorted(range(values.ndim), key=lambda d: -values.strides[d])
    return cp.asarray(np.ascontiguousarray(values.transpose(order))).transpose(np.argsort(order).tolist())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(70, 40), (3, 4, 5)])
def test_nan_and_infinity_stay_in_their_channel(value: float, shape: tuple[int, ...]) -> None:
    x = np.ones(shape, np.float32)
    x[-1, 2] = value
    found = channel_sums(cp.asarray(x)).get()
    np.testing.assert_array_equal(found, x.sum((0, *range(2, x.ndim))))
