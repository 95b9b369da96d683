"""Products of stacks of small matrices, against float64."""
import numpy as np
import pytest
from lucid_kernels.cpu.matmul import batched_small, matmul
from lucid_kernels.cpu.matmul.problem import problem_of


def _stack(rng, shape, dtype, layout):
    """Normal numbers, the last two axes as they are, swapped, or with other steps."""
    if layout == "turned":
        return rng.standard_normal((*shape[:-2], shape[-1], shape[-2])).astype(dtype).swapaxes(-1, -2)
    if layout == "apart":
        return rng.standard_normal((*shape[:-1], 2 * shape[-1] + 1)).astype(dtype)[..., 1::2]
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["rows", "turned", "apart"])
@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (3, 3, 3), (4, 4, 1), (1, 9, 26), (5, 17, 8), (9, 2, 16), (4, 33, 24),
                                           (13, 8, 33), (6, 20, 49), (66, 70, 100)])  # fmt: skip
def test_values(m, k, n, layout, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    a, b = _stack(rng, (7, m, k), dtype, layout), _stack(rng, (7, k, n), dtype, layout)
    expected, y = a.astype(np.float64) @ b.astype(np.float64), batched_small.matmul(a, b)
    assert y.dtype == dtype and y.flags.c_contiguous
    np.testing.assert_allclose(y, expected, rtol=0, atol=8 * k * np.finfo(dtype).eps)
    monkeypatch.setattr(batched_small, "_SHARE", 1)  # each matrix by itself: the same bits
    out = np.empty_like(y)
    assert batched_small.matmul(a, b, out) is out
    np.testing.assert_array_equal(out, y)


@pytest.mark.parametrize(("left", "right"), [((5, 3, 4), (4, 9)), ((3, 4), (5, 4, 9)), ((2, 1, 3, 4), (6, 4, 9)),
                                             ((2, 6, 3, 4), (1, 6, 4, 9)), ((0, 1, 3, 4), (6, 4, 9)), ((2, 0, 4), (2, 4, 9))])  # fmt: skip
def test_stacks_are_broadcast(left, right):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(left), rng.standard_normal(right)
    np.testing.assert_allclose(batched_small.matmul(a, b), a @ b, rtol=1e-13, atol=1e-13)


def test_permuted_stack():
    x = np.random.default_rng(0).standard_normal((4, 5, 3, 8))
    a, b = x.transpose(0, 2, 1, 3), x.transpose(0, 2, 3, 1)
    np.testing.assert_allclose(batched_small.matmul(a, b), a @ b, rtol=1e-13, atol=1e-13)


def test_nan_and_infinity_stay_in_their_rows_and_columns():
    a, b = np.ones((3, 3, 3), np.float32), np.ones((3, 3, 3), np.float32)
    a[1, 0, 2], b[2, 1, 1] = np.nan, np.inf
    expected = np.full((3, 3, 3), 3, np.float32)
    expected[1, 0], expected[2, :, 1] = np.nan, np.inf
    np.testing.assert_array_equal(batched_small.matmul(a, b), expected)


def test_what_suits():
    def of(left, right, vector_bytes=None):
        return batched_small.why_not(problem_of(left, right)._replace(vector_bytes=vector_bytes)) is None

    def suits(left, right, vector_bytes=None):
        return of(np.ones(left, np.float32), np.ones(right, np.float32), vector_bytes)

    assert suits((1000, 3, 3), (1000, 3, 3)) and suits((600, 12, 8), (8, 12)) and suits((4, 150, 1, 4), (150, 4, 5))
    assert not suits((100, 3, 3), (100, 3, 3)) and not suits((3, 64, 64), (3, 64, 64))
    assert not suits((100, 33, 33), (100, 33, 33)) and not suits((8, 16, 600), (8, 600, 64))
    for stacks in (((16, 64, 64), (16, 64, 64)), ((1000, 17, 16), (1000, 16, 16))):
        assert suits(*stacks, 64) and not suits(*stacks, 32)
    assert not suits((1000, 3, 4), (1000, 4, 1))
    turned = np.ones((1000, 5, 4), np.float32).swapaxes(1, 2)
    assert not of(np.ones((1000, 1, 4), np.float32), turned)
    assert of(np.ones((1000, 2, 4), np.float32), turned)
    x = np.ones((1000, 3, 3), np.float32)
    np.testing.assert_array_equal(matmul.matmul(x, x, np.arange(3, dtype=np.float32)), np.broadcast_to([3, 4, 5], x.shape))
