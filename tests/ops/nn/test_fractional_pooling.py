"""Fractional max pooling: values and places for given samples, random ones, derivatives, errors, PyTorch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn
from tests.ops.table.derivatives import check_derivatives, raises_like_torch, same_as_torch, uniform

SHAPES = {2: (2, 3, 9, 8), 3: (2, 2, 5, 6, 7)}


@pytest.mark.parametrize("size", [3, 1])
@pytest.mark.parametrize("dims", SHAPES)
def test_matches_torch(dims: int, size: int, device: str) -> None:
    x, samples = uniform(*SHAPES[dims]), uniform(*SHAPES[dims][:2], dims, low=0, high=0.999)

    def apply(t: Any, F: Any, x: Any, samples: Any, which: int = 0) -> Any:
        pool = getattr(F, f"fractional_max_pool{dims}d")
        return pool(x, 2, size, return_indices=True, _random_samples=samples.detach())[which]

    for which in (0, 1):
        same_as_torch(lambda t, F, x, s: apply(t, F, x, s, which), x, samples, device=device)  # noqa: B023
    same_as_torch(lambda t, F, x, s: apply(t, F, x[0], s), x, samples, device=device)
    same_as_torch(lambda t, F, x, s: apply(t, F, x, s), x.astype("f4"), samples.astype("f4"), device=device)
    fixed = lucid.tensor(samples, device=device)
    pool = getattr(F, f"fractional_max_pool{dims}d")
    check_derivatives(lambda x: pool(x, 2, size, _random_samples=fixed) ** 2, device, x[:, :, :5])


def test_random_windows(device: str) -> None:
    """All windows but the first and last are drawn; the maxima are elements, at the places that are returned."""
    x = lucid.arange(20.0, device=device).expand(50, 4, 20, 20)
    y, places = F.fractional_max_pool2d(x, 2, output_ratio=(0.65, 0.65), return_indices=True)
    assert y.shape == (50, 4, 13, 13) and lucid.equal(places % 20, y.long())
    assert (y[..., -1] == 19).all() and len(y[..., 0, 5].unique()) > 1
    z = F.fractional_max_pool2d(lucid.tensor([[[[1.0, np.nan], [2.0, 3.0]]]], device=device), 2, 1)
    assert z.isnan().all()


def test_special_values(device: str) -> None:
    """The first of equal maxima, the last NaN, nothing but -inf; half-precision numbers."""
    x = np.zeros((3, 1, 4, 4))
    x[1, 0, 1:3, 2], x[2] = np.nan, -np.inf
    for dtype in ("f8", "f4", "f2"):
        def places(t: Any, F: Any, x: Any) -> Any:
            return F.fractional_max_pool2d(x, 4, 1, return_indices=True, _random_samples=t.zeros(3, 1, 2).to(x))[1]

        found = places(lucid, F, lucid.tensor(x.astype(dtype), device=device))
        assert found.reshape(-1).tolist() == [0, 10, 0]


def test_modules(device: str) -> None:
    for dims, shape in SHAPES.items():
        layer = getattr(nn, f"FractionalMaxPool{dims}d")
        assert repr(layer(2, 3)) == f"FractionalMaxPool{dims}d()"
        y, places = layer(2, output_ratio=0.5, return_indices=True).to(device)(lucid.ones(shape, device=device))
        assert y.shape == places.shape == (*shape[:2], *(n // 2 for n in shape[2:]))
        for wrong in ({}, {"output_size": 2, "output_ratio": 0.5}, {"output_ratio": 1.5}):
            with pytest.raises(ValueError, match="output"):
                layer(2, **wrong)
    assert F.fractional_max_pool2d(lucid.ones(0, 2, 4, 4, device=device), 2, 3).shape == (0, 2, 3, 3)


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.fractional_max_pool2d(t.ones(1, 2, 6, 7), 2), "requires specifying either"),
    (lambda t, F: F.fractional_max_pool2d(t.ones(1, 2, 6, 7), 2, 6), "pool height 2 too large"),
    (lambda t, F: F.fractional_max_pool3d(t.ones(1, 2, 6, 7, 5), 2, (2, 2, 5)), "pool width 2 too large"),
    (lambda t, F: F.fractional_max_pool2d(t.ones(1, 2, 6, 7), 2, (3, 4, 5)), "output_size must either be"),
    (lambda t, F: F.fractional_max_pool2d(t.ones(1, 2, 6, 7), (2, 3, 4), 3), "kernel_size must either be"),
    (lambda t, F: F.fractional_max_pool2d(t.ones(1, 2, 6, 7), 2, output_ratio=0.5), None),
    (lambda t, F: F.fractional_max_pool2d(t.ones(6, 7), 2, 3), "out of range"),
    (lambda t, F: F.fractional_max_pool2d(t.ones(1, 0, 6, 7), 2, 3), "non-zero size for non-batch"),
    (lambda t, F: F.fractional_max_pool2d(t.ones(1, 2, 6, 7).long(), 2, 3), None),
    (lambda t, F: F.fractional_max_pool2d(t.ones(1, 2, 6, 7), 2, 3, _random_samples=t.ones(1, 3, 2)), "channel size"),
    (lambda t, F: F.fractional_max_pool2d(t.ones(1, 2, 6, 7), 2, 3, _random_samples=t.ones(2, 2)), "3 dimensions"),
    (lambda t, F: F.fractional_max_pool2d(t.ones(1, 2, 6, 7), 2, 3, _random_samples=t.ones(1, 2, 3)), "equals to 2"),
    (lambda t, F: F.fractional_max_pool2d(t.ones(2, 2, 6, 7), 2, 3, _random_samples=t.ones(1, 2, 2)), "batch size"),
    (lambda t, F: F.fractional_max_pool2d(t.ones(1, 2, 6, 7), 2, 3, _random_samples=t.ones(1, 2, 2).double()), "same dtype"),
])
def test_errors(call: Any, match: str) -> None:
    raises_like_torch(call, match)
