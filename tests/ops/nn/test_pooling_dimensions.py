"""Pooling over one and three dimensions, adaptive maxima, norms: derivatives, indices, errors, PyTorch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.nn.test_pooling import distinct
from tests.ops.table.derivatives import check_derivatives, raises_like_torch, same_as_torch, uniform

SHAPE = {1: (2, 3, 9), 3: (2, 2, 5, 6, 4)}
MAX: list[dict[str, Any]] = [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
                             {"kernel_size": 2, "stride": 1, "dilation": 2}]
MEAN: list[dict[str, Any]] = [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
                              {"kernel_size": 3, "padding": 1, "count_include_pad": False, "stride": 2}]


@pytest.mark.parametrize("options", MAX, ids=str)
@pytest.mark.parametrize("dims", [1, 3])
def test_maxima(dims: int, options: dict[str, Any], device: str) -> None:
    name = f"max_pool{dims}d"
    same_as_torch(lambda t, F, x: getattr(F, name)(x, **options), uniform(*SHAPE[dims]), device=device)
    same_as_torch(lambda t, F, x: getattr(F, name)(x, **options, return_indices=True)[1], uniform(*SHAPE[dims]), device=device)
    same_as_torch(lambda t, F, x: getattr(F, name)(x[0], **options), uniform(*SHAPE[dims]).round(), device=device)  # ties
    check_derivatives(lambda x: getattr(F, name)(x, **options), device, distinct(1, 1, *SHAPE[dims][2:]))


@pytest.mark.parametrize("options", MEAN, ids=str)
@pytest.mark.parametrize("dims", [1, 3])
def test_means(dims: int, options: dict[str, Any], device: str) -> None:
    name = f"avg_pool{dims}d"
    same_as_torch(lambda t, F, x: getattr(F, name)(x, **options), uniform(*SHAPE[dims]), device=device)
    same_as_torch(lambda t, F, x: getattr(F, name)(x[0], **options), uniform(*SHAPE[dims]), device=device)
    check_derivatives(lambda x: getattr(F, name)(x, **options), device, uniform(1, 1, *SHAPE[dims][2:]))


def test_windows_of_different_lengths(device: str) -> None:
    same_as_torch(lambda t, F, x: F.max_pool3d(x, (1, 2, 3), (2, 1, 2), (0, 1, 1)), uniform(*SHAPE[3]), device=device)
    same_as_torch(lambda t, F, x: F.avg_pool3d(x, (2, 3, 1), (1, 2, 2), (1, 1, 0), divisor_override=5), uniform(*SHAPE[3]),
                  device=device)


def test_nan(device: str) -> None:
    x = np.zeros((1, 1, 2, 2, 4))
    x[0, 0, 1, 1, 1] = np.nan
    same_as_torch(lambda t, F, x: F.max_pool3d(x, 2), x, device=device)
    same_as_torch(lambda t, F, x: F.adaptive_max_pool3d(x, (1, 1, 2)), x, device=device)


@pytest.mark.parametrize(("dims", "size"), [(1, 4), (1, 20), (1, None), (3, 2), (3, (3, None, 1)), (3, (7, 2, 4))])
def test_adaptive_means(dims: int, size: Any, device: str) -> None:
    name = f"adaptive_avg_pool{dims}d"
    if size is not None:
        same_as_torch(lambda t, F, x: getattr(F, name)(x, size), uniform(*SHAPE[dims]), device=device)
    check_derivatives(lambda x: getattr(F, name)(x, size), device, uniform(1, 1, *SHAPE[dims][2:]))


@pytest.mark.parametrize(("shape", "size"), [((2, 3, 9), 4), ((3, 9), 12), ((2, 3, 5, 6), (2, 4)), ((3, 5, 6), (None, 3)),
                                             ((2, 2, 5, 4, 3), 2), ((1, 2, 3, 5, 4), (4, 2, 3))])
def test_adaptive_maxima(shape: tuple[int, ...], size: Any, device: str) -> None:
    dims = len(shape) - 2 if len(shape) in (3, 5) or size == (2, 4) else len(shape) - 1
    if shape == (3, 5, 6):
        dims = 2
    name = f"adaptive_max_pool{dims}d"
    for array in (uniform(*shape), uniform(*shape).round()):
        same_as_torch(lambda t, F, x: getattr(F, name)(x, size), array, device=device)
        same_as_torch(lambda t, F, x: getattr(F, name)(x, size, return_indices=True)[1], array, device=device)
    check_derivatives(lambda x: getattr(F, name)(x, size), device, distinct(*shape))


@pytest.mark.torch
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("norm", [1.0, 2.0, 3.0])
def test_norms(dims: int, norm: float, device: str) -> None:
    shape = (2, 2, 5, 6, 4)[:dims + 2]
    x = uniform(*shape, low=0.1)
    same_as_torch(lambda t, F, x: getattr(F, f"lp_pool{dims}d")(x, norm, 2, 1), x, device=device)
    check_derivatives(lambda x: getattr(F, f"lp_pool{dims}d")(x, norm, 2), device, x[:1, :1])


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_lp_pooling_of_zeros_has_the_gradient_zero(dims: int, device: str) -> None:
    x = lucid.zeros(1, 1, *(4,) * dims, device=device, requires_grad=True)
    getattr(F, f"lp_pool{dims}d")(x, 2.0, 2).sum().backward()
    assert not x.grad.any()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves(dtype: str, device: str) -> None:
    x = lucid.arange(64, device=device).reshape(1, 1, 4, 4, 4).to(getattr(lucid, dtype))
    for y in (F.max_pool3d(x, 2), F.avg_pool3d(x, 2), F.adaptive_max_pool3d(x, 2), F.adaptive_avg_pool3d(x, 2)):
        assert y.dtype == x.dtype and y.shape == (1, 1, 2, 2, 2)


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.max_pool1d(t.ones(4), 2), None),
    (lambda t, F: F.max_pool1d(t.ones(1, 4), 5), None),
    (lambda t, F: F.max_pool1d(t.ones(1, 4), (2, 2)), "must either be a single int"),
    (lambda t, F: F.max_pool3d(t.ones(1, 4, 4), 2), None),
    (lambda t, F: F.avg_pool1d(t.ones(1, 3, 4), 2, padding=2), "at most half"),
    (lambda t, F: F.avg_pool3d(t.ones(1, 3, 4, 4, 4), 2, divisor_override=0), "divisor must be not zero"),
    (lambda t, F: F.avg_pool3d(t.ones(1, 3, 4, 4, 4), 5), "Output size is too small"),
    (lambda t, F: F.adaptive_max_pool2d(t.ones(1, 3, 4, 4), (1, 2, 3)), "output_size must be 2"),
    (lambda t, F: F.adaptive_avg_pool3d(t.ones(1, 3, 4, 4), (1, 2)), None),
    (lambda t, F: F.adaptive_max_pool1d(t.ones(3), 2), None),
])
def test_errors(call: Any, match: str) -> None:
    raises_like_torch(call, match)
