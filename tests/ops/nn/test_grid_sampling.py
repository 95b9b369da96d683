"""Images and volumes at any coordinates: values, derivatives, dtypes, errors, PyTorch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, raises_like_torch, same_as_torch, uniform

SHAPES = {2: (2, 3, 4, 5), 3: (2, 2, 3, 4, 2)}
MODES = [("nearest", 2), ("bilinear", 2), ("bicubic", 2), ("nearest", 3), ("bilinear", 3)]


def grid_of(dims: int, reach: float = 1.7) -> np.ndarray:
    return uniform(2, *(2, 3, 4)[:dims], dims, low=-reach, high=reach, seed=1)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(("mode", "dims"), MODES)
def test_matches_torch(mode: str, dims: int, padding_mode: str, align_corners: bool, device: str) -> None:
    same_as_torch(lambda t, F, x, grid: F.grid_sample(x, grid, mode, padding_mode, align_corners), uniform(*SHAPES[dims]),
                  grid_of(dims), device=device)


@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(("mode", "dims"), MODES)
def test_derivatives(mode: str, dims: int, padding_mode: str, device: str) -> None:
    """Coordinates of eighths are at no edge, where differences would be wrong."""
    x, grid = uniform(1, 1, *(2, 3, 3)[:dims]), np.round(grid_of(dims, 1.4)[:1] * 8) / 8 + 0.03
    check_derivatives(lambda x, grid: F.grid_sample(x, grid, mode, padding_mode, False), device, x, grid[:, :1])


def test_inside_of_large_images() -> None:
    """Corners read in pairs, in float32, and gradients that are asked for alone."""
    x, grid = uniform(2, 3, 40, 50).astype("f4"), uniform(2, 20, 30, 2, low=-0.9, high=0.9, seed=1).astype("f4")
    for fixed in ((), (0,), (1,)):
        def apply(t: Any, F: Any, *tensors: Any, fixed: Any = fixed) -> Any:
            x, grid = (tensor.detach() if i in fixed else tensor for i, tensor in enumerate(tensors))
            return F.grid_sample(x, grid, align_corners=False) / 1000

        same_as_torch(apply, x, grid, rtol=2e-3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_dtypes(dtype: str, device: str) -> None:
    x = lucid.arange(4.0, device=device).reshape(1, 1, 2, 2).to(getattr(lucid, dtype))
    y = F.grid_sample(x, lucid.zeros(1, 1, 1, 2, dtype=x.dtype, device=device), align_corners=False)
    assert y.dtype == x.dtype and y.tolist() == [[[[1.5]]]]


@pytest.mark.parametrize("shapes", [((0, 1, 2, 2), (0, 2, 2, 2)), ((1, 0, 2, 2), (1, 2, 2, 2)), ((1, 1, 2, 2), (1, 0, 2, 2))])
def test_empty(shapes: tuple[tuple[int, ...], ...], device: str) -> None:
    same_as_torch(lambda t, F, x, grid: F.grid_sample(x, grid, align_corners=False), *map(np.ones, shapes), device=device)


def test_numbers_that_are_none(device: str) -> None:
    x, grid = uniform(1, 1, 3, 3), np.array([[[[np.nan, 0.0], [np.inf, 0.0], [0.2, 0.1]]]])
    for mode, padding in (("bilinear", "zeros"), ("bilinear", "border"), ("bilinear", "reflection"), ("nearest", "border")):
        same_as_torch(lambda t, F, x: F.grid_sample(x, t.tensor(grid).to(x.device), mode, padding, False).detach(),  # noqa: B023
                      x, device=device)


def test_meta() -> None:
    x, grid = (lucid.ones(*shape, device="meta", requires_grad=True) for shape in ((2, 3, 4, 5), (2, 6, 7, 2)))
    y = F.grid_sample(x, grid, align_corners=True)
    assert y.is_meta and y.shape == (2, 3, 6, 7)
    y.sum().backward()
    assert x.grad.shape == x.shape and grid.grad.shape == grid.shape


@pytest.mark.parametrize("align_corners", [False, True, None])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 1, 3), (2, 1, 3, 1, 2)])
def test_affine_grid(size: tuple[int, ...], align_corners: bool | None, device: str) -> None:
    dims = len(size) - 2
    theta = uniform(2, dims, dims + 1)
    same_as_torch(lambda t, F, theta: F.affine_grid(theta, size, align_corners), theta, device=device)
    check_derivatives(lambda theta: F.affine_grid(theta, size, False), device, theta)


def test_default_of_align_corners_warns() -> None:
    with pytest.warns(UserWarning, match="align_corners=False since"):
        F.grid_sample(lucid.ones(1, 1, 2, 2), lucid.ones(1, 1, 1, 2))
    with pytest.warns(UserWarning, match="align_corners=False since"):
        F.affine_grid(lucid.ones(1, 2, 3), (1, 1, 2, 2))


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.grid_sample(t.ones(1, 1, 2, 2), t.ones(1, 2, 2, 2).double()), "expected scalar type Float but found Double"),
    (lambda t, F: F.grid_sample(t.ones(1, 1, 2, 2), t.ones(1, 2, 2, 3)), "expected grid to have size 2 in last dimension"),
    (lambda t, F: F.grid_sample(t.ones(1, 1, 2, 2), t.ones(2, 2, 2, 2)), "same batch size"),
    (lambda t, F: F.grid_sample(t.ones(1, 1, 0, 2), t.ones(1, 2, 2, 2)), "non-empty spatial dimensions"),
    (lambda t, F: F.grid_sample(t.ones(1, 1, 2, 2), t.ones(1, 2, 2)), "4D input and grid with same number of dimensions"),
    (lambda t, F: F.grid_sample(t.ones(1, 2, 2), t.ones(1, 2, 1)), "expected 4D or 5D input"),
    (lambda t, F: F.grid_sample(t.ones(1, 1, 2, 2, 2), t.ones(1, 2, 2, 2, 3), "bicubic"), "only supports 4D input"),
    (lambda t, F: F.grid_sample(t.ones(1, 1, 2, 2), t.ones(1, 2, 2, 2), "best"), "expected mode to be"),
    (lambda t, F: F.grid_sample(t.ones(1, 1, 2, 2), t.ones(1, 2, 2, 2), padding_mode="best"), "expected padding_mode to be"),
    (lambda t, F: F.grid_sample(t.ones(1, 1, 2, 2).long(), t.ones(1, 2, 2, 2).long()), "not implemented for 'Long'"),
    (lambda t, F: F.affine_grid(t.ones(1, 2, 3), (1, 1, 2)), "only supports 4D and 5D sizes"),
    (lambda t, F: F.affine_grid(t.ones(1, 2, 3), (1, 1, 2, 2, 2)), "shape Nx3x4"),
    (lambda t, F: F.affine_grid(t.ones(2, 3), (1, 1, 2, 2)), "shape Nx2x3"),
    (lambda t, F: F.affine_grid(t.ones(2, 2, 3), (1, 1, 2, 2)), "first two dimensions of batch2"),
    (lambda t, F: F.affine_grid(t.ones(1, 2, 3), (1, 1, 0, 2)), "non-zero, positive output size"),
    (lambda t, F: F.affine_grid(t.ones(1, 2, 3).long(), (1, 1, 2, 2)), "floating point type"),
])
def test_errors(call: Any, match: str) -> None:
    raises_like_torch(call, match)
