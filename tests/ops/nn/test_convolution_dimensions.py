"""Convolutions over one and three dimensions and transposed ones: derivatives, odd shapes, dtypes, errors, PyTorch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, close, raises_like_torch, same_as_torch, uniform

SHAPE = {1: (9,), 2: (5, 4), 3: (4, 5, 3)}
KERNEL = {1: (3,), 2: (3, 2), 3: (2, 3, 2)}
PLAIN: list[dict[str, Any]] = [
    {}, {"stride": 2, "padding": 1}, {"dilation": 2, "padding": 2}, {"groups": 2, "padding": 1}, {"groups": 4, "stride": 2},
    {"padding": "same"}, {"padding": "same", "dilation": 2, "groups": 2}, {"padding": "valid", "stride": 3},
]
TRANSPOSED: list[dict[str, Any]] = [
    {}, {"stride": 2, "padding": 1}, {"stride": 2, "output_padding": 1}, {"stride": 3, "output_padding": 2, "groups": 2},
    {"dilation": 2, "output_padding": 1}, {"dilation": 3, "output_padding": 2, "stride": 2}, {"groups": 4, "stride": 2},
]


def arrays(dims: int, transposed: bool, groups: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Input, weight and bias for 4 channels and 4 results."""
    return (uniform(2, 4, *SHAPE[dims]), uniform(4, 4 // groups, *KERNEL[dims], seed=1), uniform(4, seed=2))


def function(module: Any, dims: int, transposed: bool) -> Any:
    return getattr(module, f"conv_transpose{dims}d" if transposed else f"conv{dims}d")


cases = pytest.mark.parametrize(("dims", "transposed", "options"), [
    *[(dims, False, options) for dims in (1, 3) for options in PLAIN],
    *[(dims, True, options) for dims in (1, 2, 3) for options in TRANSPOSED]], ids=str)


@pytest.mark.torch
@cases
def test_matches_torch(dims: int, transposed: bool, options: dict[str, Any], device: str) -> None:
    same_as_torch(lambda t, F, *tensors: function(F, dims, transposed)(*tensors, **options),
                  *arrays(dims, transposed, options.get("groups", 1)), device=device)


@pytest.mark.parametrize(("dims", "transposed", "options"), [
    (1, False, {}), (1, False, {"stride": 2, "groups": 2}), (3, False, {"padding": 1}), (3, False, {"stride": 2, "groups": 4}),
    (1, True, {"stride": 2}), (2, True, {"dilation": 2, "output_padding": 1}), (3, True, {"stride": 2, "groups": 2})], ids=str)
def test_derivatives(dims: int, transposed: bool, options: dict[str, Any], device: str) -> None:
    x, weight, bias = arrays(dims, transposed, options.get("groups", 1))
    check_derivatives(lambda x, w, b: function(F, dims, transposed)(x, w, b, **options), device,
                      x[:1, :, :3], weight[..., :2, :2, :2] if dims == 3 else weight, bias)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unbatched_and_non_contiguous(dims: int, transposed: bool, device: str) -> None:
    x, weight, _ = arrays(dims, transposed)
    same_as_torch(lambda t, F, x, w: function(F, dims, transposed)(x[0].transpose(-1, 0), w.transpose(0, 1), padding=1),
                  x.repeat(4, -1)[..., :4].swapaxes(1, -1) if dims == 1 else x[..., :1].repeat(4, -1), weight, device=device)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_no_samples(dims: int, transposed: bool, device: str) -> None:
    x, weight, bias = (lucid.tensor(a, device=device, requires_grad=True) for a in arrays(dims, transposed))
    y = function(F, dims, transposed)(x[:0], weight, bias, padding=1)
    assert y.shape[:2] == (0, 4)
    y.sum().backward()
    assert (weight.grad == 0).all() and (bias.grad == 0).all()


def test_no_channels(device: str) -> None:
    y = F.conv3d(lucid.ones(2, 0, 3, 4, 4, device=device), lucid.ones(5, 0, 3, 3, 3, device=device), lucid.ones(5, device=device))
    assert y.shape == (2, 5, 1, 2, 2) and (y == 1).all()


def test_a_depth_without_any_input_beneath_it(device: str) -> None:
    """Taps that meet only padding."""
    same_as_torch(lambda t, F, x, w: F.conv3d(x, w, padding=(3, 0, 0), stride=(2, 1, 1), dilation=(3, 1, 1)),
                  uniform(1, 1, 1, 2, 2), uniform(1, 1, 2, 2, 2), device=device)


def test_nan_and_inf_stay_where_they_are(device: str) -> None:
    x = np.zeros((1, 1, 4, 3, 3))
    x[0, 0, 0, 0, 0], x[0, 0, 3, 2, 2] = np.nan, np.inf
    y = F.conv3d(lucid.tensor(x, device=device), lucid.ones(1, 1, 2, 2, 2, dtype=lucid.float64, device=device))
    assert y.isnan().sum() == 1 and y.isinf().sum() == 1
    y = F.conv1d(lucid.tensor(x[:, :, :, 2, 2], device=device), lucid.ones(1, 1, 2, dtype=lucid.float64, device=device))
    assert y.tolist() == [[[0.0, 0.0, np.inf]]]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves(dims: int, transposed: bool, dtype: str, device: str) -> None:
    x, weight, bias = (lucid.tensor(a, device=device).to(getattr(lucid, dtype)) for a in arrays(dims, transposed))
    convolve = function(F, dims, transposed)
    y = convolve(x, weight.requires_grad_(), bias, padding=1)
    assert y.dtype == x.dtype
    exact = convolve(x.double(), weight.detach().double(), bias.double(), padding=1)
    close(y, exact.cpu().numpy(), 0.03 if dtype == "bfloat16" else 0.005)
    y.sum().backward()
    assert weight.grad.dtype == x.dtype


def test_integers(device: str) -> None:
    y = F.conv_transpose1d(lucid.ones(1, 1, 3, device=device).long(), lucid.ones(1, 1, 2, device=device).long())
    assert y.dtype == lucid.int64 and y.tolist() == [[[1, 2, 2, 1]]]


def test_one_dimension_is_the_same_along_rows_and_columns(device: str) -> None:
    """Stride 1 runs as an image of width 1, groups and strides as one of height 1."""
    x, weight, _ = (lucid.tensor(a, device=device) for a in arrays(1, False))
    joined = F.conv1d(x, weight)
    parts = sum(F.conv1d(x * keep, weight, stride=1) for keep in lucid.eye(4, device=device).double().reshape(4, 4, 1))
    close(parts, joined.cpu().numpy(), 1e-12)
    close(F.conv1d(x, weight, stride=2), joined[:, :, ::2].cpu().numpy(), 1e-12)


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.conv1d(t.ones(2, 3, 4, 5), t.ones(5, 3, 3)), r"Expected 2D \(unbatched\) or 3D \(batched\) input to conv1d"),
    (lambda t, F: F.conv1d(t.ones(2, 3), t.ones(5, 3, 3)), "to have 3 channels, but got 2"),
    (lambda t, F: F.conv1d(t.ones(2, 3, 4), t.ones(5, 3, 3), stride=(1, 1)), "or a list of 1 values"),
    (lambda t, F: F.conv3d(t.ones(2, 3, 4), t.ones(5, 3, 3, 3, 3)), r"Expected 4D \(unbatched\) or 5D \(batched\)"),
    (lambda t, F: F.conv3d(t.ones(1, 3, 4, 4, 4), t.ones(5, 3, 5, 3, 3)), r"\(4 x 4 x 4\). Kernel size: \(5 x 3 x 3\)"),
    (lambda t, F: F.conv_transpose2d(t.ones(2, 4, 4, 4), t.ones(3, 5, 3, 3)), "Given transposed=1.* to have 3 channels, but got 4"),
    (lambda t, F: F.conv_transpose2d(t.ones(2, 4, 4, 4), t.ones(4, 5, 3, 3), t.ones(4)), "expected bias to be 1-dimensional with 5"),
    (lambda t, F: F.conv_transpose2d(t.ones(2, 4, 4, 4), t.ones(4, 5, 3, 3), output_padding=1), "output padding must be smaller"),
    (lambda t, F: F.conv_transpose2d(t.ones(2, 4, 4, 4), t.ones(4, 5, 3, 3), output_padding=-1), "negative output_padding"),
    (lambda t, F: F.conv_transpose2d(t.ones(2, 4, 1, 1), t.ones(4, 5, 1, 1), padding=1), "Output size is too small"),
    (lambda t, F: F.conv_transpose2d(t.ones(2, 4, 4, 4), t.ones(4, 5, 3, 3), groups=3), "to be divisible by 3"),
    (lambda t, F: F.conv_transpose2d(t.ones(2, 4, 4, 4), t.ones(4, 5, 3, 3), stride=0), "non-positive stride"),
    (lambda t, F: F.conv_transpose2d(t.ones(2, 4, 4, 4), t.ones(4, 5, 3, 3), padding="same"), "must be tuple of ints, not str"),
    (lambda t, F: F.conv_transpose2d(t.ones(2, 4, 0, 4), t.ones(4, 5, 3, 3)), "Only zero batch or zero channel inputs"),
    (lambda t, F: F.conv_transpose1d(t.ones(2, 4, 4), t.ones(4, 5, 3).double()), "should be the same"),
])
def test_errors(call: Any, match: str) -> None:
    raises_like_torch(call, match)


def test_functions_of_the_library_itself() -> None:
    assert lucid.conv1d is F.conv1d and lucid.conv3d is F.conv3d
    assert lucid.conv_transpose1d is F.conv_transpose1d and lucid.conv_transpose3d is F.conv_transpose3d
