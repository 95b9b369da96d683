"""Products of matrices by cuBLAS against float64 NumPy."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

SHAPES = [((5, 3), (3, 4)), ((1, 7), (7, 1)), ((1, 1), (1, 1)), ((33, 65), (65, 17)), ((4, 5, 3), (4, 3, 2)),
          ((2, 3, 5, 4), (2, 3, 4, 6)), ((3, 1, 5, 4), (2, 4, 6)), ((5, 4), (7, 4, 2)), ((1, 5, 4), (3, 4, 2)), ((6, 2, 3), (1, 3, 5))]
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-13, np.float16: 2e-3, ml_dtypes.bfloat16: 1e-2}


@pytest.fixture
def matmul(cp):
    from lucid_kernels.cuda.matmul import products

    return products.matmul


def data(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def check(found, a, b, dtype):
    expected = np.matmul(a.astype(np.float64), b.astype(np.float64))
    assert found.dtype == dtype and found.shape == expected.shape and found.flags.c_contiguous
    largest = np.abs(a.astype(np.float64)).max(initial=1) * np.abs(b.astype(np.float64)).max(initial=1) * max(a.shape[-1], 1) ** 0.5
    np.testing.assert_allclose(found.get().astype(np.float64), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * largest)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("shape_a", "shape_b"), SHAPES)
def test_values(matmul, cp, shape_a, shape_b, dtype):
    a, b = data(shape_a, dtype), data(shape_b, dtype, 1)
    check(matmul(cp.asarray(a), cp.asarray(b)), a, b, dtype)


#: Of stacks (6, 5, 4) and (6, 4, 5): transposed, sliced and reversed matrices, stacks in another order, and one for all of a stack.
VIEWS = [
    lambda a, b: (a[0], a[1].T), lambda a, b: (a[0].T, a[1]), lambda a, b: (a[0].T, b[0].T), lambda a, b: (a[0, :, 1:3], b[0, 1:3]),
    lambda a, b: (a[0, ::2], b[0, :, ::2]), lambda a, b: (a[0, :, ::2], b[0, ::2]), lambda a, b: (a[0, ::-1], b[0, :, ::-1]),
    lambda a, b: (a.swapaxes(1, 2), a), lambda a, b: (a, a.swapaxes(1, 2)), lambda a, b: (a[::2], b[::2]),
    lambda a, b: (a[::-1], b[::-1]), lambda a, b: (a.reshape(2, 3, 5, 4).swapaxes(0, 1), b.reshape(3, 2, 4, 5)),
    lambda a, b: (a[:, 2:3], b[:, :, 3:4]), lambda a, b: (a[:, :, 2:3], b[:, 1:2]), lambda a, b: (a, b[:1]), lambda a, b: (a[:1], b),
    lambda a, b: (a.transpose(1, 0, 2), b[:5]), lambda a, b: (a.reshape(6, 5, 2, 2).transpose(0, 2, 1, 3), b.reshape(6, 2, 2, 5)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_views(matmul, cp, dtype):
    a, b = data((6, 5, 4), dtype), data((6, 4, 5), dtype, 1)
    for view in VIEWS:
        check(matmul(*view(cp.asarray(a), cp.asarray(b))), *view(a, b), dtype)
    check(matmul(cp.broadcast_to(cp.asarray(a[0]), a.shape), cp.asarray(b)), np.broadcast_to(a[0], a.shape), b, dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_nothing_to_add_or_to_compute(matmul, cp, dtype):
    for shape_a, shape_b in (((3, 0), (0, 4)), ((0, 3), (3, 4)), ((2, 3, 0), (2, 0, 4)), ((0, 2, 3), (0, 3, 2)), ((0, 2, 3), (3, 2))):
        a, b = data(shape_a, dtype), data(shape_b, dtype)
        check(matmul(cp.asarray(a), cp.asarray(b)), a, b, dtype)


def test_what_cupy_computes(matmul, cp):
    """Vectors, integers, complex numbers, and the error of shapes that do not fit."""
    a, b = data((5, 4), np.float32), data((4,), np.float32)
    np.testing.assert_allclose(matmul(cp.asarray(a), cp.asarray(b)).get(), a @ b, rtol=1e-5)
    half = matmul(cp.asarray(a.astype(np.float16)), cp.asarray(b.astype(np.float16)))
    assert half.dtype == np.float16
    integers = np.arange(20).reshape(5, 4)
    np.testing.assert_array_equal(matmul(cp.asarray(integers), cp.asarray(integers.T)).get(), integers @ integers.T)
    x, y = a * np.complex64(1j), a.T * np.complex64(1 + 2j)
    np.testing.assert_allclose(matmul(cp.asarray(x), cp.asarray(y)).get(), x @ y, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError):
        matmul(cp.asarray(a), cp.asarray(a))


def test_nan_and_infinity(matmul, cp):
    a = np.array([[np.nan, 1], [np.inf, 2]], np.float32)
    b = np.array([[1, 0], [2, 3]], np.float32)
    np.testing.assert_array_equal(matmul(cp.asarray(a), cp.asarray(b)).get(), [[np.nan, np.nan], [np.inf, np.nan]])


def test_products_of_any_views_and_vectors_are_planned(cp, monkeypatch):
    """Also with operands that are copied: the second call does without the launcher."""
    from lucid_kernels.cuda.matmul import products
    from lucid_kernels.cuda.runtime import plans

    from lucid import backends

    a, b = data((6, 5, 4), np.float32), data((6, 4, 5), np.float32, 1)
    views = [*(view for view in VIEWS if all(min(array.strides) > 0 for array in view(a, b))),
             lambda a, b: (a.swapaxes(1, 2), a[0]), lambda a, b: (a[0], b[0, :, 1]), lambda a, b: (a[0, 0], b[0]),
             lambda a, b: (a[:, ::2], b[0])]  # fmt: skip
    entry = backends.gpu_module().TABLE["matmul"]
    for view in views:
        first = entry(*view(cp.asarray(a), cp.asarray(b)))
        with monkeypatch.context() as patched:
            if plans.ENABLED:
                patched.setattr(products, "operand", None)
            second = entry(*view(cp.asarray(a), cp.asarray(b)))
        for found in (first, second):
            np.testing.assert_allclose(found.get(), np.matmul(*view(a, b)), rtol=1e-5, atol=1e-5)
        assert second.shape == first.shape and second.flags.c_contiguous


def test_a_product_can_be_captured(matmul, cp):
    """CuPy's own function refuses it."""
    a, b = cp.asarray(np.eye(3, dtype=np.float32)), cp.asarray(np.arange(9, dtype=np.float32).reshape(3, 3))
    matmul(a, b)
    stream = cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()  # such a stream does not wait for the default one
    with stream:
        stream.begin_capture()
        product = matmul(a, b)
        graph = stream.end_capture()
        b += 1
        graph.launch()
        stream.synchronize()
    np.testing.assert_array_equal(product.get(), b.get())


def test_tf32_where_it_is_allowed(matmul, cp):
    """Products, linear layers and plans made before: the setting holds from the next call on."""
    import lucid
    from lucid.nn import functional as F

    a, b = data((40, 64), np.float32), data((64, 24), np.float32, 1)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    x, weight, bias = lucid.tensor(a, device="gpu"), lucid.tensor(b.T.copy(), device="gpu"), lucid.zeros(24, device="gpu")

    def errors():
        found = (matmul(cp.asarray(a), cp.asarray(b)).get(), F.linear(x, weight, bias).cpu().numpy(), (x @ weight.mT).cpu().numpy())
        return [np.abs(each - exact).max() for each in found]

    assert max(errors()) < 1e-5 and max(errors()) < 1e-5  # the second time by a plan
    try:
        lucid.backends.cuda.matmul.allow_tf32 = True
        assert 1e-4 < min(errors()) and max(errors()) < 0.1
        assert 1e-4 < min(errors())
        check(matmul(cp.asarray(a.astype(np.float64)), cp.asarray(b.astype(np.float64))), a, b, np.float64)
    finally:
        lucid.backends.cuda.matmul.allow_tf32 = False
    assert max(errors()) < 1e-5
