"""Checkpoints: the same gradients with less kept, random numbers and autocast as before, nested, and errors as PyTorch's."""
from __future__ import annotations

import contextlib
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn
from lucid.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential, set_checkpoint_early_stop


def same(x: Any, y: Any) -> None:
    np.testing.assert_allclose(x.detach().cpu().numpy(), y.detach().cpu().numpy(), rtol=1e-5, atol=1e-6)


def block(width: int = 8) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 16), nn.LayerNorm(16), nn.GELU(), nn.Dropout(0.3), nn.Linear(16, width), nn.Sigmoid())


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_gradients_and_random_numbers(device: str, use_reentrant: bool) -> None:
    lucid.manual_seed(0)
    model = block().to(device)
    x = lucid.randn(4, 8, device=device, requires_grad=True)
    results = []
    for checked in (False, True):
        model.zero_grad()
        x.grad = None
        lucid.manual_seed(1)
        y = checkpoint(model, x, use_reentrant=use_reentrant) if checked else model(x)
        y.square().sum().backward()
        results.append([y, x.grad, *[p.grad for p in model.parameters()], lucid.rand(2)])
    for found, expected in zip(*results, strict=True):
        same(found, expected)


def test_less_is_kept() -> None:
    alive: list[Any] = []

    def function(x: Any) -> Any:
        y = x.exp()
        alive.append(weakref.ref(y))
        return (y * y).sum()

    x = lucid.rand(5, requires_grad=True)
    function(x)
    kept = function(x)
    assert alive[-1]() is not None or kept is None
    y = checkpoint(function, x, use_reentrant=False)
    assert alive[-1]() is None and len(alive) == 3
    y.backward()
    assert len(alive) == 4 and alive[-1]() is None
    same(x.grad, 2 * (2 * x).exp())


def test_arguments_and_results_of_any_kind() -> None:
    def function(pair: Any, *, scale: Any, name: str) -> Any:
        assert name == "name"
        return {"sum": (pair[0] * pair[1]).sum() * scale, "other": pair[0] ** 3}

    a, b, scale = (lucid.rand(3, requires_grad=True) for _ in range(3))

    def gradients(result: Any) -> Any:
        return lucid.autograd.grad([result["sum"].sum(), result["other"].sum()], [a, b, scale])

    plain = gradients(function((a, b), scale=scale, name="name"))
    for found, expected in zip(gradients(checkpoint(function, (a, b), scale=scale, name="name", use_reentrant=False)), plain,
                               strict=True):
        same(found, expected)


def test_autocast_is_that_of_the_first_call() -> None:
    dtypes = []

    def function(x: Any) -> Any:
        dtypes.append((x @ x).dtype.name)
        return (x @ x).float().sum()

    for use_reentrant in (False, True):
        x = lucid.rand(3, 3, requires_grad=True)
        with lucid.autocast("cpu"):
            y = checkpoint(function, x, use_reentrant=use_reentrant)
        y.backward()
        assert dtypes == ["bfloat16", "bfloat16"] and x.grad.dtype == "float32"
        dtypes.clear()


def test_early_stop() -> None:
    calls = []

    def function(x: Any) -> Any:
        y = x.exp().sin()
        calls.append("end")
        return y + 1

    x = lucid.rand(3, requires_grad=True)
    checkpoint(function, x, use_reentrant=False).sum().backward()
    assert calls == ["end"]
    for context, options in ((set_checkpoint_early_stop(False), {}), (contextlib.nullcontext(), {"early_stop": False})):
        calls.clear()
        with context:
            y = checkpoint(function, x, use_reentrant=False, **options)
        y.sum().backward()
        assert calls == ["end", "end"]


def test_nested_and_retained() -> None:
    counts = {"inner": 0, "outer": 0}

    def inner(x: Any) -> Any:
        counts["inner"] += 1
        return x.exp().sin()

    def outer(x: Any) -> Any:
        counts["outer"] += 1
        return checkpoint(inner, checkpoint(inner, x * x, use_reentrant=False), use_reentrant=False).cos()

    def plain(x: Any) -> Any:
        return (x * x).exp().sin().exp().sin().cos()

    x = lucid.rand(4, requires_grad=True)
    (expected,) = lucid.autograd.grad(plain(x).sum(), x)
    y = checkpoint(outer, x, use_reentrant=False).sum()
    for retain in (True, False):
        same(lucid.autograd.grad(y, x, retain_graph=retain)[0], expected)
    assert counts["outer"] >= 3
    (first,) = lucid.autograd.grad(checkpoint(outer, x, use_reentrant=False).sum(), x, create_graph=True)
    (exact,) = lucid.autograd.grad(plain(x).sum(), x, create_graph=True)
    same(lucid.autograd.grad(first.sum(), x)[0], lucid.autograd.grad(exact.sum(), x)[0])


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_sequential(use_reentrant: bool) -> None:
    lucid.manual_seed(0)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(5)])
    x = lucid.rand(3, 4, requires_grad=True)
    expected = lucid.autograd.grad(model(x).sum(), x)[0]
    for segments in (1, 2, 5):
        for functions in (model, list(model)):
            x.grad = None
            checkpoint_sequential(functions, segments, x, use_reentrant=use_reentrant).sum().backward()
            same(x.grad, expected)


def test_contexts_of_both_calls() -> None:
    seen = []

    @contextlib.contextmanager
    def context(name: str) -> Any:
        seen.append(name)
        yield

    x = lucid.rand(3, requires_grad=True)
    checkpoint(lambda t: t.exp(), x, use_reentrant=False, context_fn=lambda: (context("first"), context("again"))).sum().backward()
    assert seen == ["first", "again"]


def test_what_is_not_deterministic() -> None:
    sizes = iter((3, 2, 3, 2))

    def shrinking(x: Any) -> Any:
        return x[:next(sizes)].exp()

    x = lucid.rand(3, requires_grad=True)
    with pytest.raises(CheckpointError, match="different metadata"):
        checkpoint(shrinking, x, use_reentrant=False).sum().backward()
    y = checkpoint(shrinking, x, use_reentrant=False, determinism_check="none")
    with pytest.raises(Exception, match=r"shape|size|operand|broadcast"):
        y.sum().backward()
    more = iter((True, False))

    def fewer(x: Any) -> Any:
        return x.exp().exp() if next(more) else x.exp()

    with pytest.raises(CheckpointError, match="different number of tensors"):
        checkpoint(fewer, x, use_reentrant=False).sum().backward()


def test_errors_and_warnings() -> None:
    x = lucid.rand(3, requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed"):
        checkpoint(lucid.exp, x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad"):
        checkpoint(lucid.exp, x.detach(), use_reentrant=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: other"):
        checkpoint(lucid.exp, x, use_reentrant=True, other=3)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(lucid.exp, x, use_reentrant=True, debug=True)
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(lucid.exp, x, use_reentrant=False, determinism_check="other")
    with pytest.raises(ZeroDivisionError):
        checkpoint(lambda t: 1 // 0, x, use_reentrant=False)
    x.exp().sum().backward()  # no hooks remain
    with warnings.catch_warnings(), lucid.no_grad():
        warnings.simplefilter("error")
        assert not checkpoint(lucid.exp, x, use_reentrant=False).requires_grad


def test_a_language_model_block() -> None:
    lucid.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
    x = lucid.randn(2, 5, 8, requires_grad=True)
    found = []
    for checked in (False, True):
        layer.zero_grad()
        lucid.manual_seed(3)
        y = checkpoint(layer, x, use_reentrant=False) if checked else layer(x)
        F.mse_loss(y, lucid.zeros_like(y)).backward()
        found.append([p.grad for p in layer.parameters()])
    for ours, expected in zip(*found, strict=True):
        same(ours, expected)
