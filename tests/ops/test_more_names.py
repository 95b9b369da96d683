"""Further names of PyTorch's surface: parts of numbers, diagonals, low-rank factors, histograms of points, settings."""
from __future__ import annotations

import contextvars
import math
from typing import Any

import numpy as np
import pytest

import lucid
from tests.ops.table.agreement import agree

POINTS = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_frexp(dtype, device):
    x = lucid.tensor([0.0, 1.0, -3.5, math.inf, 0.1], dtype=dtype, device=device)
    mantissa, exponent = found = lucid.frexp(x)
    assert found._fields == ("mantissa", "exponent") and exponent.dtype == lucid.int32 and mantissa.dtype == x.dtype
    assert mantissa[:4].tolist() == [0, 0.5, -0.875, math.inf] and exponent.tolist() == [0, 1, 2, 0, -3]
    assert mantissa.ldexp(exponent).tolist() == x.tolist()


def test_frexp_of_extreme_numbers(device):
    agree(lambda lib, x: lib.frexp(x), np.array([5e-324, 1e308, 3.0, -0.3]), device=device, grad=False)
    agree(lambda lib, x: lib.frexp(x).mantissa, np.array([3.0, -0.3, 1e200]), device=device)
    tiny = lucid.tensor([1e-320], dtype=lucid.float64, device=device, requires_grad=True)
    lucid.frexp(tiny).mantissa.sum().backward()
    assert tiny.grad.item() == math.inf  # 2 to the 1063 is no number
    for wrong in (lucid.tensor([1], device=device), lucid.tensor([1j], device=device)):
        with pytest.raises(RuntimeError, match="floating-point"):
            lucid.frexp(wrong)


@pytest.mark.torch
@pytest.mark.parametrize(("shape", "wrap"), [((7, 3), False), ((7, 3), True), ((3, 7), True), ((9, 2), True), ((3, 3, 3), False),
                                             ((0, 3), False), ((3, 3, 2), False), ((3,), False), ((4, 1), True)])
def test_fill_diagonal(shape, wrap, device):
    data = np.random.default_rng(0).standard_normal(shape)
    agree(lambda lib, x: (x * 1).fill_diagonal_(5.0, wrap), data, device=device)
    agree(lambda lib, x: (x * 1).permute(*range(x.ndim)[::-1]).fill_diagonal_(2), data, device=device)


def test_fill_diagonal_refuses(device):
    x = lucid.zeros(2, 2, device=device)
    with pytest.raises(RuntimeError, match="without overflow"):
        x.fill_diagonal_(1j)
    assert x.tolist() == [[0, 0], [0, 0]]
    with pytest.raises(RuntimeError, match="leaf"):
        lucid.zeros(2, 2, device=device, requires_grad=True).fill_diagonal_(1)


def test_adjoint_and_conjugates(device):
    z = lucid.tensor([[1 + 2j, 3j], [4, 5 - 1j]], device=device)
    assert z.adjoint().tolist() == lucid.adjoint(z).tolist() == z.mH.tolist()
    with pytest.raises(RuntimeError, match="1-D"):
        z[0].adjoint()
    with pytest.warns(UserWarning, match="deprecated on 0-D"):
        assert z[0, 0].adjoint().item() == 1 - 2j
    y = z * 1
    assert y.conj_physical_() is y and y.tolist() == z.conj().tolist() == lucid.conj_physical_(z * 1).tolist()
    x = lucid.ones(2, device=device)
    assert lucid.conj_physical(x) is x
    out = lucid.empty(0, dtype=lucid.complex64, device=device)
    assert lucid.conj_physical(z, out=out) is out and out.tolist() == z.conj().tolist()


def test_reversed(device):
    x = lucid.arange(6, device=device).reshape(2, 3)
    assert reversed(x).tolist() == [[3, 4, 5], [0, 1, 2]] and reversed(x[0, 0]).item() == 0


@pytest.mark.torch
@pytest.mark.parametrize("call", [
    lambda lib, i: lib.unravel_index(i, (2, 3)), lambda lib, i: lib.unravel_index(i, 6), lambda lib, i: lib.unravel_index(i, [3, 1, 2]),
    lambda lib, i: lib.unravel_index(i + 7, (2, 3)), lambda lib, i: lib.unravel_index(-i, (2, 3)), lambda lib, i: lib.unravel_index(i, ()),
    lambda lib, i: lib.unravel_index(i.int(), (2, 3)), lambda lib, i: lib.unravel_index(i[:0], (0, 3)), lambda lib, i: lib.unravel_index(i, (0, 3)),
    lambda lib, i: lib.unravel_index(i.double(), (2, 3)), lambda lib, i: lib.unravel_index(i > 0, (2, 3)),
    lambda lib, i: lib.unravel_index(i, (2, -3)), lambda lib, i: lib.unravel_index(i, (2.0, 3)), lambda lib, i: lib.unravel_index(i, "ab")])
def test_unravel_index(call, device):
    agree(call, np.array([[0, 5], [3, 1]]), device=device)


@pytest.mark.torch
@pytest.mark.parametrize("call", [
    lambda lib, x: lib.histogramdd(x, [3, 3]), lambda lib, x: lib.histogramdd(x, 2), lambda lib, x: lib.histogramdd(x[:0], [2, 2]),
    lambda lib, x: lib.histogramdd(x, [2, 2], weight=x.sum(1)), lambda lib, x: lib.histogramdd(x.reshape(2, 2, 2), [2, 2]),
    lambda lib, x: lib.histogramdd(x, [2, 2], range=[0.0, 1.0, 0.0, 1.0], density=True), lambda lib, x: lib.histogramdd(x * math.nan, 2),
    lambda lib, x: lib.histogramdd(x, [x.new_tensor([0, 1, 2]), x.new_tensor([0, 2])]), lambda lib, x: lib.histogramdd(x, [2]),
    lambda lib, x: lib.histogramdd(x[:, 0], [2]), lambda lib, x: lib.histogramdd(x.int(), [2, 2]), lambda lib, x: lib.histogramdd(x, [0, 2]),
    lambda lib, x: lib.histogramdd(x, [2, 2], range=[0.0, 1.0]), lambda lib, x: lib.histogramdd(x, [2, 2], weight=x[:3, 0]),
    lambda lib, x: lib.histogramdd(x, [2, 2], range=[1.0, 0.0, 0.0, 1.0]), lambda lib, x: lib.histogramdd(x, (x.new_tensor([0, 1, 2]), 2)),
    lambda lib, x: lib.histogramdd(x, [x.new_tensor([0, 1, 2])]), lambda lib, x: lib.histogramdd(x[:1], 2)])
def test_histogramdd(call, device):
    agree(call, POINTS, device=device, grad=False)


def product(factors: Any) -> lucid.Tensor:
    u, s, v = factors
    return (u * s.unsqueeze(-2)) @ v.mH


@pytest.mark.parametrize("shape", [(6, 5), (5, 6), (2, 5, 6)])
def test_low_rank_factors(shape, device):
    rng = np.random.default_rng(0)
    data = rng.standard_normal((*shape[:-1], 2)) @ rng.standard_normal((*shape[:-2], 2, shape[-1]))
    a = lucid.tensor(data, device=device)
    for given in (a, a + 1j * a.flip(-1) * 0):
        u, s, v = factors = lucid.svd_lowrank(given, q=2)
        assert (u.shape, s.shape, v.shape) == ((*shape[:-1], 2), (*shape[:-2], 2), (*shape[:-2], shape[-1], 2))
        np.testing.assert_allclose(product(factors).cpu().numpy(), given.cpu().numpy(), atol=1e-10)
    assert lucid.svd_lowrank(a)[1].shape[-1] == 5
    np.testing.assert_allclose(product(lucid.svd_lowrank(a, 2, 0, a * 0.5)).cpu().numpy(), data / 2, atol=1e-10)
    np.testing.assert_allclose(product(lucid.pca_lowrank(a)).cpu().numpy(), data - data.mean(-2, keepdims=True), atol=1e-10)
    np.testing.assert_allclose(product(lucid.pca_lowrank(a, q=2, center=False)).cpu().numpy(), data, atol=1e-10)


def test_low_rank_factors_refuse(device):
    a = lucid.zeros(6, 5, device=device)
    for call in (lambda: lucid.pca_lowrank(a, q=9), lambda: lucid.pca_lowrank(a, q=-1), lambda: lucid.pca_lowrank(a, niter=-1),
                 lambda: lucid.svd_lowrank(a[0])):
        with pytest.raises(ValueError, match="q|niter|unpack"):
            call()
    for call in (lambda: lucid.svd_lowrank(a.int()), lambda: lucid.pca_lowrank(a.int()), lambda: lucid.svd_lowrank(a.half())):
        with pytest.raises(RuntimeError):
            call()


def test_typename():
    assert lucid.typename(lucid.zeros(2)) == "lucid.FloatTensor" and lucid.typename(lucid.zeros(2).long()) == "lucid.LongTensor"
    layer = lucid.nn.Linear(1, 1)
    assert lucid.typename(layer) == lucid.typename(type(layer)) == "lucid.nn.modules.linear.Linear"
    assert [lucid.typename(x) for x in (3, "a", None)] == ["int", "str", "NoneType"]


def in_a_context(function: Any) -> Any:
    return contextvars.copy_context().run(function)


def test_print_options():
    x = lucid.tensor([1.23456, 100.0])

    def shown(**options: Any) -> str:
        lucid.set_printoptions(**options)
        return repr(x)

    plain = repr(x)
    assert "  1.23, " in in_a_context(lambda: shown(precision=2)) and "1.23456" in in_a_context(lambda: shown(precision=6))
    assert "e+00" in in_a_context(lambda: shown(sci_mode=True)) and "  1.23, " in in_a_context(lambda: shown(profile="short"))
    assert repr(x) == plain

    def of_many() -> tuple[str, str]:
        lucid.set_printoptions(threshold=5, edgeitems=1)
        short = repr(lucid.arange(9))
        lucid.set_printoptions(profile="full")
        return short, repr(lucid.arange(2000))

    short, full = in_a_context(of_many)
    assert "[0, ..., 8]" in short and "..." not in full
    with pytest.raises(ValueError, match="profile"):
        lucid.set_printoptions(profile="wide")


def test_deterministic_algorithms():
    def switched() -> tuple[bool, bool]:
        lucid.use_deterministic_algorithms(True, warn_only=True)
        return lucid.are_deterministic_algorithms_enabled(), lucid.is_deterministic_algorithms_warn_only_enabled()

    assert in_a_context(switched) == (True, True) and not lucid.are_deterministic_algorithms_enabled()
    with pytest.raises(TypeError):
        lucid.use_deterministic_algorithms(1)


def test_names_of_splits_that_copy_nothing_either():
    x = lucid.arange(5)
    assert [t.tolist() for t in lucid.unsafe_chunk(x, 2)] == [[0, 1, 2], [3, 4]]
    assert [t.tolist() for t in lucid.unsafe_split(x, 2)] == [[0, 1], [2, 3], [4]]
    assert [t.tolist() for t in lucid.unsafe_split_with_sizes(x, [2, 3])] == [[0, 1], [2, 3, 4]]
