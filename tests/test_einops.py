"""Patterns: against einops where it is installed, and worked examples where it is not."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from lucid.einops import EinopsError, rearrange, reduce, repeat

X = np.arange(20.0).reshape(4, 5)


@pytest.mark.parametrize(("pattern", "lengths", "expected"), [
    ("a b -> b a", {}, X.T), ("(a c) b -> c (b a)", {"a": 2}, X.reshape(2, 2, 5).transpose(1, 2, 0).reshape(2, 10)),
    ("a (b c) -> a b c", {"b": 5}, X[..., None]), ("... b -> b ...", {}, X.T), ("a b -> a 1 b ()", {}, X[:, None, :, None]),
    ("... -> (...)", {}, X.reshape(-1)), ("a ... -> (a ...)", {}, X.reshape(-1)), ("a b -> a b", {}, X)])
def test_rearrange(pattern, lengths, expected, device):
    result = rearrange(lucid.tensor(X, device=device), pattern, **lengths)
    assert np.array_equal(result.cpu().numpy(), expected)


@pytest.mark.parametrize(("pattern", "reduction", "expected"), [
    ("a b -> a", "mean", X.mean(1)), ("a b -> b", "max", X.max(0)), ("(a 2) b -> a b", "sum", X.reshape(2, 2, 5).sum(1)),
    ("a b ->", "prod", X.prod()), ("a b -> () b", "min", X.min(0)[None]), ("... b -> b", "sum", X.sum(0)),
    ("a b -> 1 1", "sum", X.sum().reshape(1, 1)), ("a b -> b", lambda x, dims: x.sum(dims) * 2, X.sum(0) * 2)])
def test_reduce(pattern, reduction, expected, device):
    x = lucid.tensor(X, device=device, requires_grad=True)
    result = reduce(x, pattern, reduction)
    np.testing.assert_allclose(result.numpy(force=True), expected)
    result.sum().backward()
    assert x.grad.shape == x.shape


@pytest.mark.parametrize(("pattern", "lengths", "expected"), [
    ("a b -> a b c", {"c": 2}, np.repeat(X[..., None], 2, 2)), ("a b -> a (b c)", {"c": 3}, np.repeat(X, 3, 1)),
    ("a b -> (2 a) b", {}, np.tile(X, (2, 1))), ("... b -> ... b 2", {}, np.repeat(X[..., None], 2, 2))])
def test_repeat(pattern, lengths, expected, device):
    result = repeat(lucid.tensor(X, device=device), pattern, **lengths)
    assert np.array_equal(result.cpu().numpy(), expected)


def test_lists_are_stacked():
    images = [lucid.full((2, 3), float(i)) for i in range(4)]
    assert rearrange(images, "b h w -> h (b w)").shape == (2, 12)


@pytest.mark.parametrize("pattern", [
    "a b c -> a b c", "a b -> a", "a a -> a", "a b -> a b 3", "(a b -> a b", "a b) -> a b", "((a) b) -> a b", "a b", "a .. -> a",
    "(a ...) b -> a b ...", "a b -> a b ...", "_a b -> b _a", "(a b) c -> a b c", "a b -> b a c"])
def test_wrong_patterns(pattern):
    with pytest.raises(EinopsError):
        rearrange(lucid.tensor(X), pattern)


def test_wrong_lengths():
    with pytest.raises(EinopsError, match="divide"):
        rearrange(lucid.tensor(X), "(a c) b -> a c b", a=3)
    with pytest.raises(EinopsError, match="not used"):
        rearrange(lucid.tensor(X), "a b -> b a", q=3)
    with pytest.raises(EinopsError, match="sizes"):
        repeat(lucid.tensor(X), "a b -> a b c")
    with pytest.raises(EinopsError, match="reduction"):
        reduce(lucid.tensor(X), "a b -> a", "middle")


def test_einsum():
    a, b = lucid.randn(2, 3, 4), lucid.randn(2, 4, 5)
    expected = a @ b
    for result in (lucid.einops.einsum("batch i j, batch j k -> batch i k", a, b), lucid.einops.einsum(a, b, "b i j, b j k -> b i k"),
                   lucid.einops.einsum("bij,bjk->bik", a, b)):
        assert lucid.allclose(result, expected, atol=1e-6)
