"""Interpolation and channels as pixels: sizes and factors, derivatives, errors, PyTorch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, leaf, raises_like_torch, same_as_torch, uniform

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


@pytest.mark.parametrize("shape", [(1, 1, 5, 7), (2, 3, 40, 43)])
@pytest.mark.parametrize(("mode", "antialias"), [("nearest", False), ("bilinear", False), ("bilinear", True), ("bicubic", True)])
def test_a_length_that_a_factor_does_not_change_is_left_alone(shape: tuple[int, ...], mode: str, antialias: bool, device: str
                                                              ) -> None:
    options = {"mode": mode, "antialias": antialias}
    factor = 1 + 0.9 / shape[-1]  # of no whole pixel
    x = leaf(uniform(*shape), device)
    for y in (F.interpolate(x, scale_factor=factor, **options), F.interpolate(x, scale_factor=(factor, 1.0), **options)):
        np.testing.assert_array_equal(y.detach().cpu().numpy(), x.detach().cpu().numpy())
        (gradient,) = lucid.autograd.grad(y, x, x.detach())
        np.testing.assert_array_equal(gradient.cpu().numpy(), x.detach().cpu().numpy())
    wide = F.interpolate(x, scale_factor=(factor, 1.5), **options)
    row = F.interpolate(x[:, :, 2:3], scale_factor=(1.0, 1.5), **options)[:, :, 0]
    np.testing.assert_allclose(wide[:, :, 2].detach().cpu().numpy(), row.detach().cpu().numpy(), rtol=1e-12)
    byte = (x.detach() * 100 + 128).to(lucid.uint8)
    assert lucid.equal(F.interpolate(byte, scale_factor=factor, **options), byte)


def test_a_length_that_a_factor_does_not_change_in_other_dimensions(device: str) -> None:
    line, volume = (lucid.tensor(uniform(*shape), device=device) for shape in ((2, 3, 7), (1, 2, 3, 4, 5)))
    assert lucid.equal(F.interpolate(line, scale_factor=1.1, mode="linear"), line)
    assert lucid.equal(F.interpolate(volume, scale_factor=1.1, mode="trilinear"), volume)
    # Nothing is left alone here: elements are those at i / 1.1, rounded down.
    assert F.interpolate(lucid.arange(7.0, device=device)[None, None], scale_factor=1.1).tolist() == [[[0, 0, 1, 2, 3, 4, 5]]]
    upsample = lucid.nn.Upsample(scale_factor=1.1, mode="linear")
    assert lucid.equal(upsample(line), line)
    assert not lucid.equal(lucid.nn.Upsample(scale_factor=1.1)(line), line)
    assert lucid.equal(lucid.nn.Upsample(scale_factor=1.1, recompute_scale_factor=True)(line), line)


def test_nearest_pixels_of_a_factor_that_doubles_a_length(device: str) -> None:
    """floor(5 * 2.15) = 10 pixels are two of each in 2 dimensions, and those at i / 2.15 in others."""
    x = lucid.arange(5.0, device=device)
    twice = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert F.interpolate(x[None, None, None], scale_factor=(1.0, 2.15)).tolist() == [[[twice]]]
    assert F.interpolate(x[None, None, None].to(lucid.uint8), scale_factor=(1.0, 2.15)).tolist() == [[[twice]]]
    assert F.interpolate(x[None, None], scale_factor=2.15).tolist() == [[[0, 0, 0, 1, 1, 2, 2, 3, 3, 4]]]
    assert F.interpolate(x[None, None, None], scale_factor=(1.0, 2.15), mode="nearest-exact").tolist() == [
        [[[0, 0, 1, 1, 2, 2, 3, 3, 3, 4]]]]


@pytest.mark.torch
@pytest.mark.parametrize(("mode", "dims", "align_corners"), [case for case in MODES if case[0] != "area"])
@pytest.mark.parametrize("factor", [1.1, 0.99, 2.1, (1.1, 2.15, 0.9)])
def test_factors_of_no_whole_pixel(mode: str, dims: int, align_corners: bool | None, factor: Any, device: str) -> None:
    torch = pytest.importorskip("torch")
    scale = factor if isinstance(factor, float) else factor[:dims]
    for antialias in {False, mode in ("bilinear", "bicubic")}:
        for recompute in (None, True):
            options = {"scale_factor": scale, "mode": mode, "align_corners": align_corners, "antialias": antialias,
                       "recompute_scale_factor": recompute}
            x = uniform(2, 2, *(5, 7, 6)[:dims])
            wanted = torch.nn.functional.interpolate(torch.tensor(x), **options).numpy()
            np.testing.assert_allclose(F.interpolate(lucid.tensor(x, device=device), **options).cpu().numpy(), wanted, rtol=1e-7)


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


@pytest.mark.torch
@pytest.mark.parametrize("options", [{"size": (12, 40)}, {"size": (5, 3), "antialias": True}, {"scale_factor": 1.7},
                                     {"size": (36, 28), "antialias": True, "align_corners": True}], ids=str)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_bytes_are_those_of_torch(mode: str, options: dict[str, Any], device: str) -> None:
    torch = pytest.importorskip("torch")
    image = np.random.default_rng(0).integers(0, 256, (2, 3, 37, 29), dtype=np.uint8)
    wanted = torch.nn.functional.interpolate(torch.from_numpy(image), mode=mode, **options)
    assert (F.interpolate(lucid.tensor(image, device=device), mode=mode, **options).cpu().numpy() == wanted.numpy()).all()


def test_bytes_are_rounded_and_do_not_wrap_around(device: str) -> None:
    """A bicubic curve goes beyond the pixels; PyTorch rounds after each dimension, the last one first."""
    edge = lucid.tensor([[[[0, 0, 255, 255]] * 2]], dtype=lucid.uint8, device=device)
    assert F.interpolate(edge, (1, 8), mode="bicubic").tolist() == [[[[0, 0, 0, 58, 197, 255, 255, 255]]]]
    pixels = lucid.tensor([[[[0, 1], [1, 1]]]], dtype=lucid.uint8, device=device)
    assert F.interpolate(pixels, (1, 1), mode="bilinear").tolist() == [[[[1]]]]  # 0.75; of 0.5 and 1 with halves rounded up
    with pytest.raises(NotImplementedError, match="upsample_linear1d"):
        F.interpolate(edge[0], 3, mode="linear")
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
