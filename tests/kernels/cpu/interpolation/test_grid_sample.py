"""`grid_sample` on the CPU: values and gradients against float64, blocks inside and across the border, threads, NaN and inf."""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.interpolation.grid_sample import grid_sample, grid_sample_grad
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads

from tests.kernels import grid_sample_reference as reference

HOW: dict[str, Any] = {"mode": "bilinear", "padding_mode": "zeros", "align_corners": False}


def inputs(dims: int, reach: float, points: int, channels: int = 2) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    x, grid = rng.normal(size=(2, channels, 4, 5, 3)[: 2 + dims]), rng.uniform(-reach, reach, (2, *(1,) * (dims - 1), points, dims))
    return [rng.normal(size=(*x.shape[:2], *grid.shape[1:-1])), x, grid]


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(("mode", "dims"), reference.KINDS)
def test_values_and_gradients(mode: str, dims: int, padding_mode: str, align_corners: bool) -> None:
    how = (mode, padding_mode, align_corners)
    names = dict(zip(HOW, how, strict=True))
    g, x, grid = inputs(dims, 1.7, 9)
    np.testing.assert_allclose(grid_sample(x, grid, **names), reference.grid_sample(x, grid, *how), atol=1e-12)
    slopes = reference.slopes(x, grid, g, *how)
    for wanted in ((True, True), (True, False), (False, True)):
        found = grid_sample_grad(g, x, grid, **names, with_input=wanted[0], with_grid=wanted[1])
        for ours, slope, want in zip(found, slopes, wanted, strict=True):
            assert (ours is not None) == want
            if want:
                np.testing.assert_allclose(ours, slope, atol=1e-7)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("points", [1, 128, 300])
def test_blocks_inside(dtype: str, points: int) -> None:
    """Corners read in pairs, in whole vectors and parts of one, and beside blocks that reach across the border."""
    g, x, grid = inputs(2, 0.4, points)
    grid[1, 0, :130] *= 3
    rng, step, atol = np.random.default_rng(1), 1e-6, 1e-5 if dtype == "f4" else 1e-12
    arrays = [array.astype(dtype) for array in (g, x, grid)]
    found = grid_sample(*arrays[1:], **HOW)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, reference.grid_sample(x, grid, *HOW.values()), atol=atol)
    dx, dgrid = grid_sample_grad(*arrays, **HOW, with_input=True, with_grid=True)
    assert dx is not None and dgrid is not None
    to_x, to_grid = rng.normal(size=x.shape), rng.normal(size=grid.shape)
    ends = [(g * reference.grid_sample(x + s * to_x, grid + s * to_grid, *HOW.values())).sum() for s in (step, -step)]
    assert (dx * to_x).sum() + (dgrid * to_grid).sum() == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=max(1e-6, 50 * atol))


def test_groups_of_channels_give_the_same_bits_for_any_number_of_threads() -> None:
    g, x, grid = inputs(2, 1.2, 500, channels=24)
    threads, found = get_num_threads(), []
    try:
        for number in range(1, threads + 1):
            set_num_threads(number)
            found.append([grid_sample(x, grid, **HOW), *grid_sample_grad(g, x, grid, **HOW, with_input=True, with_grid=True)])
    finally:
        set_num_threads(threads)
    parts = [grid_sample_grad(g[:, c], x[:, c], grid, **HOW, with_input=True, with_grid=True) for c in (slice(12), slice(12, 24))]
    np.testing.assert_allclose(found[0][1], np.concatenate([dx for dx, _ in parts], 1), atol=1e-12)
    np.testing.assert_allclose(found[0][2], sum(dgrid for _, dgrid in parts), atol=1e-12)
    for others in found[1:]:
        for ours, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(ours, other)


def test_strides_and_out() -> None:
    g, x, grid = (np.asfortranarray(array) for array in inputs(2, 1.2, 7))
    y = grid_sample(x, grid, **HOW)
    np.testing.assert_allclose(y, reference.grid_sample(x, grid, *HOW.values()), atol=1e-12)
    out = np.empty(y.shape[::-1]).T
    assert grid_sample(x, grid, **HOW, out=out) is out
    np.testing.assert_array_equal(out, y)
    outs = np.empty(x.shape[::-1]).T, None
    assert grid_sample_grad(g, x, grid, **HOW, with_input=True, with_grid=True, out=outs)[0] is outs[0]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_rounded_once(dtype: Any) -> None:
    g, x, grid = (array.astype(dtype) for array in inputs(2, 1.2, 9))
    expected = reference.grid_sample(x.astype("f8"), grid.astype("f8"), *HOW.values())
    np.testing.assert_allclose(grid_sample(x, grid, **HOW).astype("f8"), expected, rtol=0.01, atol=1e-3)
    assert all(d.dtype == dtype for d in grid_sample_grad(g, x, grid, **HOW, with_input=True, with_grid=True))


def test_special_numbers() -> None:
    """NaN where a coordinate is none; an inf reaches only the points that are made of it; moved inside, NaN is 0."""
    x = np.arange(1.0, 10).reshape(1, 1, 3, 3)
    grid = np.array([[np.nan, 0.0], [np.inf, 0.0], [1e20, 0.0], [0.0, 0.0]]).reshape(1, 1, 4, 2)
    for padding, expected in (("zeros", [np.nan, np.nan, 0.0, 5.0]), ("border", [4.0, 6.0, 6.0, 5.0])):
        np.testing.assert_array_equal(grid_sample(x, grid, **{**HOW, "padding_mode": padding}).ravel(), expected)
    for mode in ("nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            how = {"mode": mode, "padding_mode": padding, "align_corners": True}
            grid_sample_grad(x[..., :1, :].repeat(2, -1)[..., :4], x, grid, **how, with_input=True, with_grid=True)
    x[0, 0, 0, 0] = np.inf
    assert grid_sample(x, np.full((1, 1, 1, 2), 0.9), **HOW).item() == pytest.approx(9 * 0.65**2)


@pytest.mark.parametrize("shape", [(0, 2, 3, 3), (2, 0, 3, 3)])
def test_empty(shape: tuple[int, ...]) -> None:
    grid = np.zeros((shape[0], 4, 5, 2))
    y = grid_sample(np.empty(shape), grid, **HOW)
    assert y.shape == (*shape[:2], 4, 5)
    dx, dgrid = grid_sample_grad(y, np.empty(shape), grid, **HOW, with_input=True, with_grid=True)
    assert dx is not None and dx.shape == shape and dgrid is not None and not dgrid.any()
