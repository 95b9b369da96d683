"""Arrays one after the other, against NumPy."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

KINDS = [np.float32, np.float16, ml_dtypes.bfloat16, np.float64, np.complex128, np.int64, np.uint8, bool]
SHAPES = [
    ([(3,)], 0), ([(3,), (5,)], 0), ([(2, 4), (2, 8), (2, 4)], 1), ([(2, 3), (5, 3)], 0), ([(2, 3, 4), (2, 1, 4), (2, 0, 4)], 1),
    ([(1, 1)] * 17, 1), ([(3, k % 5) for k in range(40)], 1), ([(0, 2), (0, 2)], 0), ([(700, 3), (700, 2)], 1),
]  # fmt: skip


@pytest.fixture
def concatenate(cp):
    from lucid_kernels.cuda.movement.concatenate import concatenate

    return concatenate


def arrays(shapes, kind):
    rng = np.random.default_rng(0)
    return [rng.integers(0, 100, shape).astype(kind) for shape in shapes]


@pytest.mark.parametrize("kind", KINDS)
def test_values(cp, concatenate, schedule, kind):
    for shapes, axis in SHAPES:
        parts = arrays(shapes, kind)
        found = concatenate(*map(cp.asarray, parts), axis=axis)
        expected = np.concatenate(parts, axis)
        assert found.dtype == expected.dtype and found.flags.c_contiguous
        np.testing.assert_array_equal(found.get().view(np.uint8), expected.view(np.uint8))


def test_strides_and_misaligned(cp, concatenate):
    x = np.arange(60, dtype=np.float32).reshape(6, 10)
    for view in (lambda v: v.T, lambda v: v[:, 1:], lambda v: v[::-1, ::2], lambda v: v.reshape(-1)[1:5].reshape(2, 2)):
        for axis in (0, 1):
            found = concatenate(view(cp.asarray(x)), view(cp.asarray(x)), axis=axis)
            np.testing.assert_array_equal(found.get(), np.concatenate([view(x), view(x)], axis))


def test_refusals(cp, concatenate):
    with pytest.raises(ValueError):
        concatenate(cp.zeros((2, 3)), cp.zeros((3, 3)), axis=1)
