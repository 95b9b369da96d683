"""Patterns: against einops where it is installed, and worked examples where it is not."""
from __future__ import annotations

import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import lucid
from lucid.einops import EinopsError, asnumpy, pack, parse_shape, rearrange, reduce, repeat, unpack
from lucid.einops.layers import EinMix, Rearrange, Reduce

ROOT = pathlib.Path(__file__).resolve().parents[1]
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


def test_reductions_of_every_kind(device):
    x = lucid.tensor(X > 7, device=device)
    assert reduce(x, "a b -> a", "any").tolist() == [False, True, True, True]
    assert reduce(x, "a b -> b", "all").tolist() == [False] * 5
    with pytest.raises(TypeError, match="empty list"):
        rearrange([], "a b -> b a")
    with pytest.raises(TypeError, match="Tensor"):
        rearrange(X, "a b -> b a")


@pytest.mark.parametrize(("pattern", "error", "words"), [
    ("i () -> i", NotImplementedError, "Singleton"), ("a b -> (a b)", NotImplementedError, "Shape rearrangement"),
    ("(a b) -> a b", NotImplementedError, "Shape rearrangement"), ("i 2 -> i", NotImplementedError, "Anonymous axes"),
    ("i 2j -> i", EinopsError, "Invalid axis identifier"), ("i j", ValueError, "Einsum pattern"),
    ("i j -> k", EinopsError, "Unknown axis k"), (" ".join(f"a{i}" for i in range(53)) + " ->", RuntimeError, "Too many axes"),
    ("i j, j k -> i k", EinopsError, "for 2 tensors, not 1")])
def test_wrong_einsum(pattern, error, words):
    with pytest.raises(error, match=words):
        lucid.einops.einsum(lucid.tensor(X), pattern)


def test_einsum_without_tensors_or_pattern():
    with pytest.raises(ValueError, match="at minimum two"):
        lucid.einops.einsum(lucid.ones(2))
    with pytest.raises(ValueError, match="must be a string"):
        lucid.einops.einsum(lucid.ones(2), lucid.ones(2))
    assert lucid.einops.einsum(lucid.tensor(X[:, :4]), "i i -> i").tolist() == X[:, :4].diagonal().tolist()
    assert lucid.einops.einsum(lucid.ones(3, 2, 4), lucid.ones(5, 4), "... _ c, out c -> ... out").tolist() == [[8.0] * 5] * 3


def test_pack_and_unpack(device):
    image, tokens = lucid.randn(2, 3, 4, 5, device=device, requires_grad=True), lucid.randn(2, 7, 5, device=device)
    packed, shapes = pack([image, tokens, tokens[:, 0]], "batch * channel")
    assert packed.shape == (2, 20, 5) and shapes == [(3, 4), (7,), ()]
    parts = unpack(packed, shapes, "batch * channel")
    assert all(lucid.equal(a, b) for a, b in zip(parts, (image, tokens, tokens[:, 0]), strict=True))
    assert [part.shape for part in unpack(packed, [(3, -1), (8,)], "b * c")] == [(2, 3, 4, 5), (2, 8, 5)]
    assert [part.shape for part in unpack(packed, [(), (-1,)], "b * c")] == [(2, 5), (2, 19, 5)]
    parts[0].sum().backward()
    assert image.grad.tolist() == lucid.ones(2, 3, 4, 5).tolist()


@pytest.mark.parametrize(("call", "words"), [
    (lambda x: pack([x], "a b"), "No \\*-axis"), (lambda x: pack([x], "* a *"), "more than one"), (lambda x: pack([x], "a b c *"), "axes"),
    (lambda x: pack([x], "_a *"), "underscore"), (lambda x: pack([x], "a a *"), "duplicate"), (lambda x: pack([x], "1 *"), "axis name"),
    (lambda x: unpack(x, [(2,), (2,)], "a *"), "could not split"), (lambda x: unpack(x, [(-1,), (-1,)], "a *"), "more than one -1"),
    (lambda x: unpack(x, [(9,), (-1,)], "a *"), "could not split"), (lambda x: unpack(x, [(2, -1)], "a *"), "do not have the shape"),
    (lambda x: unpack(x, [(5,)], "a b *"), "wrong dim")])
def test_wrong_packing(call, words):
    with pytest.raises(EinopsError, match=words):
        call(lucid.tensor(X))


def test_shapes_and_arrays(device):
    x = lucid.zeros(2, 3, 5, 7, device=device, requires_grad=True)
    assert parse_shape(x, "batch _ h w") == {"batch": 2, "h": 5, "w": 7} and parse_shape(x, "... w") == {"w": 7}
    assert parse_shape(x[:1], "() 3 ...") == {} and parse_shape(x, "_ _ _ _") == {}
    assert isinstance(asnumpy(x), np.ndarray) and asnumpy(x).shape == (2, 3, 5, 7)
    for pattern in ("a b c", "a b c ()", "4 a b c", "a b c d e ...", "(a b) c d e", "a a b c"):
        with pytest.raises(RuntimeError):
            parse_shape(x, pattern)


def test_layers(device):
    x = lucid.tensor(X, device=device)
    layers = lucid.nn.Sequential(Rearrange("(a c) b -> a b c", c=2), Reduce("a b c -> a c", "max"))
    copied = pickle.loads(pickle.dumps(layers))
    assert copied(x).tolist() == X.reshape(2, 2, 5).max(2).tolist()
    assert repr(layers[0]) == "Rearrange('(a c) b -> a b c', c=2)" and repr(layers[1]) == "Reduce('a b c -> a c', 'max')"
    for wrong in (lambda: Rearrange("a b -> a c"), lambda: Rearrange("a b -> b a", q=1), lambda: Reduce("a b -> a", "middle"),
                  lambda: Reduce("a -> a b", "sum"), lambda: Rearrange("a -> a ...")):
        with pytest.raises(EinopsError):
            wrong()


@pytest.mark.parametrize(("pattern", "weight", "bias", "lengths", "shape", "einsum"), [
    ("t b c_in -> t b c_out", "c_in c_out", "c_out", {"c_in": 4, "c_out": 6}, (2, 3, 6), "tbi,io->tbo"),
    ("t b (h c) -> b t (h d)", "h c d", "h d", {"h": 2, "c": 2, "d": 3}, (3, 2, 6), None),
    ("... c -> ... c", "c", "c", {"c": 4}, (2, 3, 4), "tbc,c->tbc"), ("t b c -> b (t d)", "c d", None, {"c": 4, "d": 2}, (3, 4), None)])
def test_einmix(pattern, weight, bias, lengths, shape, einsum, device):
    layer = EinMix(pattern, weight, bias, **lengths).to(device)
    x = lucid.randn(2, 3, 4, device=device)
    y = layer(x)
    assert y.shape == shape and layer.weight.shape == tuple(lengths[axis] for axis in weight.split()) and (layer.bias is None) == (bias is None)
    if einsum:
        assert lucid.allclose(y, lucid.einsum(einsum, x, layer.weight) + layer.bias, atol=1e-5)
    y.sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())
    assert pickle.loads(pickle.dumps(layer))(x).tolist() == y.tolist() and repr(layer).startswith(f"EinMix({pattern!r}")


@pytest.mark.parametrize(("pattern", "weight", "bias", "lengths"), [
    ("a b -> a c", "b", None, {"b": 2}), ("a b -> a b", "...", None, {}), ("a ... -> a b", "b", None, {"b": 2}),
    ("(...) a -> ... a", "a", None, {"a": 2}), ("a 2 -> a b", "b", None, {"b": 2}), ("a b -> a b", "(a b)", None, {"a": 2, "b": 2}),
    ("a b -> a b", "b", None, {}), ("a b -> a b", "b", None, {"b": 2, "c": 2}), ("a b -> a b", "b c", None, {"b": 2, "c": 2}),
    ("a b -> a b", "b", "c", {"b": 2}), ("a b -> a b", "b", "a", {"b": 2}), ("a b -> a b", "b", 3, {"b": 2}),
    ("(...) a -> a ...", "a", "a", {"a": 2}), ("... a -> a ...", "a", "a", {"a": 2})])
def test_wrong_einmix(pattern, weight, bias, lengths):
    with pytest.raises(EinopsError):
        EinMix(pattern, weight, bias, **lengths)


PACKAGE = """
class AbstractBackend:
    pass
"""
PROGRAM = """
import sys
if {before}:
    import einops._backends
import lucid
assert {before} == ("einops" in sys.modules)
import einops._backends as found
(backend,) = [kind() for kind in found.AbstractBackend.__subclasses__()]
x = lucid.arange(6.0).reshape(2, 3)
assert backend.framework_name == "lucid" and backend.is_appropriate_type(x) and not backend.is_appropriate_type([])
assert backend.reduce(x, "max", {{1}}).tolist() == [2, 5] and backend.transpose(x, (1, 0)).shape == (3, 2)
assert backend.add_axes(x, 3, {{1: 4}}).shape == (2, 4, 3) and backend.concat([x, x], 1).shape == (2, 6)
assert backend.from_numpy(backend.to_numpy(x)).requires_grad and backend.layers().Rearrange("a b -> b a")(x).shape == (3, 2)
assert backend.einsum("ab->a", x).tolist() == [3, 12] and backend.stack_on_zeroth_dimension([x, x]).shape == (2, 2, 3)
assert backend.tile(x, (2, 1)).shape == (4, 3) and backend.add_axis(x, 0).shape == (1, 2, 3) and backend.arange(0, 3).tolist() == [0, 1, 2]
assert not any(type(finder).__name__ == "_Watch" for finder in sys.meta_path)
"""


@pytest.mark.parametrize("before", [False, True])
def test_the_package_learns_of_lucid(before, tmp_path):
    folder = tmp_path / "einops"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "_backends.py").write_text(PACKAGE)
    path = os.pathsep.join([str(tmp_path), *(str(ROOT / part) for part in (".", "kernels"))])
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(before=before)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr


def test_with_the_package(device):
    einops = pytest.importorskip("einops")
    x = lucid.tensor(X, device=device, requires_grad=True)
    y = einops.rearrange(einops.repeat(einops.reduce(x, "(a 2) b -> a b", "sum"), "a b -> a b c", c=3), "a b c -> c (a b)")
    assert y.shape == (3, 10) and y.device == device
    y.sum().backward()
    assert x.grad.tolist() == (X * 0 + 3).tolist()
    assert lucid.equal(einops.pack([x, x], "a *")[0], pack([x, x], "a *")[0]) and einops.parse_shape(x, "a b") == {"a": 4, "b": 5}
