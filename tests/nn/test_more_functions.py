"""Local response normalisation, Gumbel-softmax, in-place activations and lazy normalisations, beside PyTorch."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import nn
from lucid.nn import functional as F
from tests.nn.parity import same_as_torch

GENERATOR = np.random.default_rng(0)


@pytest.mark.torch
@pytest.mark.parametrize("shape", [(2, 5, 3), (2, 3, 2, 2), (1, 4, 2, 1, 2), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("options", [(2,), (3, 0.1, 0.5, 2.0), (1, 1.0)], ids=str)
def test_local_response_norm(shape: tuple[int, ...], options: tuple[Any, ...], device: str) -> None:
    def script(library: Any, x: Any) -> Any:
        layer = library.nn.LocalResponseNorm(*options)
        return layer, lambda: layer(x)

    same_as_torch(script, GENERATOR.normal(size=shape), device=device)


def test_local_response_norm_of_odd_inputs() -> None:
    torch = pytest.importorskip("torch")
    assert repr(nn.LocalResponseNorm(2, 1.0)) == repr(torch.nn.LocalResponseNorm(2, 1.0))
    assert F.local_response_norm(lucid.ones(0, 2, 3), 2).shape == (0, 2, 3)
    with pytest.raises(ValueError, match="3D or higher"):
        F.local_response_norm(lucid.ones(2, 3), 2)


@pytest.mark.parametrize("dim", [0, -1])
def test_gumbel_softmax(dim: int, device: str) -> None:
    logits = lucid.tensor([[0.0, 1.0, 2.0], [3.0, -1.0, 0.0]], device=device, requires_grad=True)
    soft = F.gumbel_softmax(logits, tau=0.5, dim=dim)
    assert lucid.allclose(soft.sum(dim), lucid.ones_like(soft.sum(dim)))
    (soft * soft).sum().backward()
    assert logits.grad is not None and bool((logits.grad != 0).any())
    logits.grad = None
    hard = F.gumbel_softmax(logits, hard=True, dim=dim)
    assert set(np.round(hard.tolist(), 5).ravel()) <= {0.0, 1.0}
    assert hard.sum(dim).round().tolist() == lucid.ones_like(hard.sum(dim)).tolist()
    (hard * logits.detach()).sum().backward()
    assert logits.grad is not None and bool((logits.grad != 0).any())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_gumbel_softmax_in_half_precision(dtype: str, device: str) -> None:
    soft = F.gumbel_softmax(lucid.zeros(200, 64, dtype=dtype, device=device))
    assert bool(soft.isfinite().all()) and soft.float().sum(1).tolist() == pytest.approx([1] * 200, abs=0.05)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_slopes_of_rrelu(dtype: str, device: str) -> None:
    slopes = -F.rrelu(-lucid.ones(3000, dtype=dtype, device=device), 2, 3, training=True)
    assert 2 <= slopes.min().item() < 2.01 and 2.95 < slopes.max().item() < 3


def test_gumbel_softmax_draws_the_distribution_of_the_logits() -> None:
    logits = lucid.tensor([0.5, 0.3, 0.2]).log().expand(4000, 3)
    shares = F.gumbel_softmax(logits, hard=True).mean(0)
    assert shares.tolist() == pytest.approx([0.5, 0.3, 0.2], abs=0.04)


IN_PLACE: list[tuple[str, tuple[Any, ...]]] = [
    ("relu_", ()), ("leaky_relu_", (0.2,)), ("elu_", (0.5,)), ("hardtanh_", (-0.5, 0.3)), ("celu_", (0.5,)), ("selu_", ()),
    ("threshold_", (0.1, 7.0)), ("rrelu_", (0.1, 0.3))]


@pytest.mark.torch
@pytest.mark.parametrize(("name", "arguments"), IN_PLACE)
def test_activations_in_place(name: str, arguments: tuple[Any, ...], device: str) -> None:
    torch = pytest.importorskip("torch")
    values = GENERATOR.normal(size=(3, 4))
    results = []
    for library, keywords in ((lucid, {"device": device}), (torch, {})):
        x = library.tensor(values, requires_grad=True, **keywords)
        y = x * 1
        assert getattr(library.nn.functional, name)(y, *arguments) is y
        (y * y).sum().backward()
        results.append((y.detach().cpu().numpy(), x.grad.cpu().numpy()))
        with pytest.raises(RuntimeError):
            getattr(library.nn.functional, name)(x, *arguments)
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)


LAZY: list[tuple[str, tuple[int, ...]]] = [
    ("LazyBatchNorm3d", (2, 3, 2, 2, 2)), ("LazyInstanceNorm1d", (2, 3, 4)), ("LazyInstanceNorm2d", (2, 3, 2, 4)),
    ("LazyInstanceNorm3d", (2, 3, 2, 2, 2))]


@pytest.mark.torch
@pytest.mark.parametrize(("name", "shape"), LAZY)
@pytest.mark.parametrize("options", [{}, {"affine": False}, {"track_running_stats": False}], ids=str)
def test_lazy_normalisations(name: str, shape: tuple[int, ...], options: dict[str, Any], device: str) -> None:
    torch = pytest.importorskip("torch")
    x = GENERATOR.normal(size=shape)
    found = []
    for library, keywords in ((lucid, {"device": device}), (torch, {})):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            layer: Callable[..., Any] = getattr(library.nn, name)(**options, dtype=library.float64)
        before = list(layer.state_dict())
        layer.to(**keywords)
        y = layer(library.tensor(x, **keywords))
        state = {key: value.cpu().numpy() for key, value in layer.state_dict().items()}
        found.append((before, type(layer).__name__, repr(layer), y.detach().cpu().numpy(), state))
    mine, theirs = found
    assert mine[:2] == theirs[:2]
    assert list(mine[4]) == list(theirs[4])
    for ours, reference in ((mine[3], theirs[3]), *((mine[4][key], theirs[4][key]) for key in theirs[4])):
        np.testing.assert_allclose(ours, reference, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["upsample", "upsample_nearest", "upsample_bilinear"])
def test_old_names_of_interpolate(name: str, device: str) -> None:
    torch = pytest.importorskip("torch")
    x = GENERATOR.normal(size=(1, 2, 3, 4))
    with pytest.warns(UserWarning, match=f"{name} is deprecated"):
        y = getattr(F, name)(lucid.tensor(x, device=device), scale_factor=2)
    with pytest.warns(UserWarning, match="deprecated"):
        expected = getattr(torch.nn.functional, name)(torch.tensor(x), scale_factor=2)
    np.testing.assert_allclose(y.cpu().numpy(), expected.numpy())
    assert F.pdist is lucid.pdist


def test_precision_of_products() -> None:
    assert lucid.get_float32_matmul_precision() == "highest"
    try:
        lucid.set_float32_matmul_precision("high")
        with pytest.warns(UserWarning, match="not one of"):
            lucid.set_float32_matmul_precision("best")
        with pytest.raises(RuntimeError, match="expects a str"):
            lucid.set_float32_matmul_precision(1)  # type: ignore[arg-type]
        assert lucid.get_float32_matmul_precision() == "high" and lucid.backends.cuda.matmul.allow_tf32
        lucid.backends.cuda.matmul.allow_tf32 = False
        assert lucid.get_float32_matmul_precision() == "highest"
        lucid.set_float32_matmul_precision("medium")
        assert lucid.backends.cuda.matmul.allow_tf32
        with pytest.raises(RuntimeError, match="expects a bool, but got int"):
            lucid.backends.cuda.matmul.allow_tf32 = 1  # type: ignore[assignment]
        with pytest.raises(AttributeError):
            lucid.backends.cuda.matmul.allow_tf64 = True  # type: ignore[attr-defined]
    finally:
        lucid.set_float32_matmul_precision("highest")
