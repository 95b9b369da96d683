"""Interpolation and channels as pixels: sizes and factors, derivatives, errors, PyTorch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.derivatives import check_derivatives, raises_like_torch, same_as_torch, uniform

SHAPE = {1: (2, 3, 7), 2: (2, 3, 5, 4), 3: (1, 2, 3, 4, 5)}
MODES = [(mode, dims, None) for mode in ("nearest", "nearest-exact", "area") for dims in (1, 2, 3)]
MODES += [(mode, dims, align) for mode, dims in (("linear", 1), ("bilinear", 2), ("trilinear", 3), ("bicubic", 2))
          for align in (None, False, True)]


@pytest.mark.torch
@pytest.mark.parametrize(("mode", "dims", "align_corners"), MODES)
@pytest.mark.parametrize("target", [{"size": 8}, {"size": 1}, {"size": 3}, {"scale_factor": 2}, {"scale_factor": 1.7},
                                    {"scale_factor": 0.6}, {"scale_factor": 1.7, "recompute_scale_factor": True}], ids=str)
def test_matches_torch(mode: str, dims: int, align_corners: bool | None, target: dict[str, Any], device: str) -> None:
    same_as_torch(lambda t, F, x: F.interpolate(x, **target, mode=mode, align_corners=align_corners), uniform(*SHAPE[dims]),
                  rtol=1e-7, device=device)


@pytest.mark.parametrize(("mode", "dims", "align_corners"), MODES)
def test_derivatives(mode: str, dims: int, align_corners: bool | None, device: str) -> None:
    check_derivatives(lambda x: F.interpolate(x, scale_factor=1.5, mode=mode, align_corners=align_corners), device,
                      uniform(1, 1, *SHAPE[dims][2:]))


LARGE_SHAPE = {1: (4, 5, 301), 2: (3, 4, 26, 25), 3: (2, 3, 9, 12, 13)}


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("mode", "dims", "align_corners"), [case for case in MODES if case[0] != "area"])
@pytest.mark.parametrize("target", [{"scale_factor": 2}, {"scale_factor": 1.7}, {"scale_factor": 0.4}, {"size": 20}], ids=str)
def test_large(dtype: str, mode: str, dims: int, align_corners: bool | None, target: dict[str, Any]) -> None:
    """Our kernel, which serves larger inputs on the CPU."""
    same_as_torch(lambda t, F, x: F.interpolate(x, **target, mode=mode, align_corners=align_corners),
                  uniform(*LARGE_SHAPE[dims]).astype(dtype), rtol=1e-4 if dtype == "float32" else 1e-12)


@pytest.mark.torch
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize(("shape", "dtype"), [((2, 3, 9, 11), "float64"), ((3, 4, 50, 43), "float32")])
def test_antialias(shape: tuple[int, ...], dtype: str, mode: str, device: str) -> None:
    for target in ({"size": (4, 3)}, {"size": 20}, {"scale_factor": (0.5, 1.3)}, {"size": (5, 7), "align_corners": True}):
        same_as_torch(lambda t, F, x: F.interpolate(x, **target, mode=mode, antialias=True),  # noqa: B023
                      uniform(*shape).astype(dtype), rtol=1e-4 if dtype == "float32" else 1e-10, device=device)


def test_derivatives_of_antialias(device: str) -> None:
    check_derivatives(lambda x: F.interpolate(x, size=(3, 9), mode="bicubic", antialias=True), device, uniform(1, 1, 5, 6))


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
@pytest.mark.parametrize("shape", [(1, 1, 6, 5), (3, 4, 30, 25)])
def test_inf(mode: str, shape: tuple[int, ...], device: str) -> None:
    """inf and NaN come out where PyTorch has them, in the result and in the gradient."""
    x = uniform(*shape)
    x[0, 0, 2, 3] = np.inf
    same_as_torch(lambda t, F, x: F.interpolate(x, scale_factor=1.6, mode=mode), x, device=device)
    g = uniform(*shape)
    g[0, 0, 4, 1] = np.inf
    for size in ((9, 13), (3, 2)):
        same_as_torch(lambda t, F, x, g: (F.interpolate(x, size=size, mode=mode)[..., :2, :2] * g[..., :2, :2] * g[0, 0, 4, 1]),  # noqa: B023
                      uniform(*shape), g, device=device)


def test_dtypes_of_nearest(device: str) -> None:
    """Whole numbers that float32 does not hold stay what they are."""
    x = lucid.tensor([[[2**60 + 1, 3]]], device=device)
    assert F.interpolate(x, scale_factor=2).tolist() == [[[2**60 + 1, 2**60 + 1, 3, 3]]]


def test_one_number_for_each_dimension(device: str) -> None:
    for target in ({"size": (3, 9)}, {"scale_factor": (0.5, 3.0)}):
        for mode in ("nearest", "bilinear"):
            same_as_torch(lambda t, F, x: F.interpolate(x, **target, mode=mode), uniform(*SHAPE[2]), device=device)  # noqa: B023


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_other_dtypes(dtype: str, device: str) -> None:
    x = lucid.tensor([[[0.0, 1.0]]], device=device).to(getattr(lucid, dtype))
    y = F.interpolate(x, scale_factor=2, mode="linear")
    assert y.dtype == x.dtype and y.tolist() == [[[0.0, 0.25, 0.75, 1.0]]]
    assert F.interpolate(x, scale_factor=2).tolist() == [[[0.0, 0.0, 1.0, 1.0]]]


def test_bytes_are_rounded_and_do_not_wrap_around(device: str) -> None:
    """A bicubic curve goes beyond the pixels; PyTorch rounds after each dimension, the last one first."""
    edge = lucid.tensor([[[[0, 0, 255, 255]] * 2]], dtype=lucid.uint8, device=device)
    assert F.interpolate(edge, (1, 8), mode="bicubic").tolist() == [[[[0, 0, 0, 58, 197, 255, 255, 255]]]]
    pixels = lucid.tensor([[[[0, 1], [1, 1]]]], dtype=lucid.uint8, device=device)
    assert F.interpolate(pixels, (1, 1), mode="bilinear").tolist() == [[[[1]]]]  # 0.75; of 0.5 and 1 with halves rounded up
    with pytest.raises(NotImplementedError, match="Long"):
        F.interpolate(lucid.ones(1, 1, 4, 4, dtype=lucid.int64, device=device), 3, mode="bilinear")


@pytest.mark.parametrize("shape", [(8, 3, 2), (2, 8, 3, 2), (2, 2, 4, 1, 3)])
def test_pixels(shape: tuple[int, ...], device: str) -> None:
    same_as_torch(lambda t, F, x: F.pixel_shuffle(x, 2), uniform(*shape), device=device)
    same_as_torch(lambda t, F, x: F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2) * 2, uniform(*shape), device=device)
    check_derivatives(lambda x: F.pixel_shuffle(x, 2), device, uniform(*shape))
    same_as_torch(lambda t, F, x: F.channel_shuffle(x, 2), uniform(2, 6, 3, 2), device=device)


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.interpolate(t.ones(1, 1, 4)), "either size or scale_factor should be defined"),
    (lambda t, F: F.interpolate(t.ones(1, 1, 4), 2, 2), "only one of size or scale_factor"),
    (lambda t, F: F.interpolate(t.ones(1, 1, 4), (2, 2)), "same number of spatial dimensions"),
    (lambda t, F: F.interpolate(t.ones(1, 1, 4), scale_factor=(2, 2)), "same number of spatial dimensions"),
    (lambda t, F: F.interpolate(t.ones(1, 1, 4), 2, align_corners=True), "align_corners option can only be set"),
    (lambda t, F: F.interpolate(t.ones(1, 1, 4), 2, mode="bilinear"), "Got 3D input, but bilinear mode"),
    (lambda t, F: F.interpolate(t.ones(1, 1, 4), 2, mode="best"), None),
    (lambda t, F: F.interpolate(t.ones(1, 1, 4), 2, recompute_scale_factor=True), "not meaningful with an explicit size"),
    (lambda t, F: F.interpolate(t.ones(1, 1, 4), 0), "should be greater than 0"),
    (lambda t, F: F.pixel_shuffle(t.ones(3, 2, 2), 2), "divisible by the square of upscale_factor"),
    (lambda t, F: F.pixel_shuffle(t.ones(2, 2), 2), "at least 3 dimensions"),
    (lambda t, F: F.pixel_unshuffle(t.ones(3, 3, 2), 2), "divisible by downscale_factor"),
    (lambda t, F: F.channel_shuffle(t.ones(1, 3, 2), 2), "divisible by groups"),
])
def test_errors(call: Any, match: str) -> None:
    raises_like_torch(call, match)
