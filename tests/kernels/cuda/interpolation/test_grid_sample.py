"""`grid_sample` on a GPU: values and gradients of all modes against float64, strides and `out`, halves, NaN, nothing."""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.kernels import grid_sample_reference as reference


@pytest.fixture
def kernels(cp: Any) -> Any:
    from lucid_kernels.cuda.interpolation import grid_sample

    return grid_sample


def inputs(dims: int, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x, grid = rng.normal(size=(2, 2, 3, 4, 3)[: 2 + dims]), rng.uniform(-1.7, 1.7, (*(2, 2, 3, 2)[: dims + 1], dims))
    return x.astype(dtype), grid.astype(dtype), rng.normal(size=(*x.shape[:2], *grid.shape[1:-1])).astype(dtype)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(("mode", "dims"), reference.KINDS)
def test_values_and_gradients(cp: Any, kernels: Any, mode: str, dims: int, padding_mode: str, align_corners: bool) -> None:
    how = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    x, grid, g = inputs(dims, np.float64)
    expected = reference.grid_sample(x, grid, mode, padding_mode, align_corners)
    np.testing.assert_allclose(kernels.grid_sample(cp.asarray(x), cp.asarray(grid), **how).get(), expected, atol=1e-12)
    found = kernels.grid_sample_grad(*map(cp.asarray, (g, x, grid)), **how, with_input=True, with_grid=True)
    for ours, slope in zip(found, reference.slopes(x, grid, g, mode, padding_mode, align_corners), strict=True):
        np.testing.assert_allclose(ours.get(), slope, atol=1e-7)
    only = kernels.grid_sample_grad(*map(cp.asarray, (g, x, grid)), **how, with_input=False, with_grid=True)
    assert only[0] is None
    np.testing.assert_array_equal(only[1].get(), found[1].get())


@pytest.mark.parametrize(("mode", "dims"), reference.KINDS)
def test_float32(cp: Any, kernels: Any, mode: str, dims: int) -> None:
    how = {"mode": mode, "padding_mode": "border", "align_corners": False}
    x, grid, g = inputs(dims, np.float32)
    exact = [array.astype(np.float64) for array in (x, grid, g)]
    y = kernels.grid_sample(cp.asarray(x), cp.asarray(grid), **how)
    np.testing.assert_allclose(y.get(), reference.grid_sample(*exact[:2], mode, "border", False), atol=1e-5)
    found = kernels.grid_sample_grad(*map(cp.asarray, (g, x, grid)), **how, with_input=True, with_grid=True)
    for ours, slope in zip(found, reference.slopes(*exact, mode, "border", False), strict=True):
        np.testing.assert_allclose(ours.get(), slope, atol=2e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_strides_out_and_halves(cp: Any, schedule: Any, kernels: Any, dtype: Any) -> None:
    how = {"mode": "bilinear", "padding_mode": "zeros", "align_corners": False}
    x, grid, g = (cp.asarray(np.asfortranarray(array)) for array in inputs(2, dtype))
    y = kernels.grid_sample(x, grid, **how)
    np.testing.assert_allclose(y.get(), reference.grid_sample(x.get().astype("f8"), grid.get().astype("f8"), "bilinear", "zeros",
                                                              False), atol=1e-3 if dtype == np.float16 else 1e-6)
    out = cp.empty(y.shape[::-1], dtype).T
    assert kernels.grid_sample(x, grid, **how, out=out) is out
    np.testing.assert_array_equal(out.get(), y.get())
    assert all(d.dtype == dtype for d in kernels.grid_sample_grad(g, x, grid, **how, with_input=True, with_grid=True))


def test_numbers_that_are_none_and_nothing(cp: Any, kernels: Any) -> None:
    how = {"mode": "bilinear", "padding_mode": "zeros", "align_corners": False}
    x = cp.full((1, 1, 2, 2), np.inf)
    grid = cp.asarray(np.array([[[[np.nan, 0.0], [5.0, 0.0]]]]))
    np.testing.assert_array_equal(kernels.grid_sample(x, grid, **how).get().ravel(), [np.nan, 0.0])
    nothing = cp.empty((1, 0, 2, 2))
    assert kernels.grid_sample(nothing, grid, **how).shape == (1, 0, 1, 2)
    _, dgrid = kernels.grid_sample_grad(cp.empty((1, 0, 1, 2)), nothing, grid, **how, with_input=True, with_grid=True)
    assert not dgrid.get().any()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("mode", "dims"), reference.KINDS)
def test_halves_are_rounded_once(cp: Any, kernels: Any, mode: str, dims: int, dtype: Any) -> None:
    how = {"mode": mode, "padding_mode": "border", "align_corners": False}
    halves = inputs(dims, dtype)
    exact = [array.astype(np.float64) for array in halves]
    eps = float(ml_dtypes.finfo(dtype).eps)
    y = kernels.grid_sample(*map(cp.asarray, halves[:2]), **how)
    assert y.dtype == dtype
    expected = reference.grid_sample(*exact[:2], mode, "border", False)
    np.testing.assert_allclose(y.get().astype(np.float64), expected, rtol=eps, atol=eps / 64)
    found = kernels.grid_sample_grad(*map(cp.asarray, (halves[2], *halves[:2])), **how, with_input=True, with_grid=True)
    for ours, slope in zip(found, reference.slopes(*exact, mode, "border", False), strict=True):
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours.get().astype(np.float64), slope, rtol=eps, atol=eps / 64)
