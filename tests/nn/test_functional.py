"""What nn.functional adds to the operations: linear, one_hot, pad, normalize, similarities, and PyTorch's signatures."""
from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, raises_like_torch, same_as_torch, uniform

PADS = [("constant", (1, 2)), ("constant", (1, 2, -1, 1, 0, 1)), ("constant", (-1, -2)), ("reflect", (1, 2, 3, 0)),
        ("reflect", (-1, 2, -1, 1)), ("replicate", (1, 2, 5, 0)), ("circular", (1, 4, 4, 0)), ("circular", (-1, 2, 0, -1)),
        ("replicate", (1, 1, 1, 1, 1, 1)), ("reflect", (3, -3, -2, 3)), ("circular", (2, -2, -1, 3)), ("replicate", (-3, 2, 1, -3))]


def test_linear(device):
    check_derivatives(F.linear, device, uniform(2, 3, 4), uniform(2, 4, seed=1), uniform(2, seed=2))
    same_as_torch(lambda t, F, x, w: F.linear(x, w), uniform(4), uniform(2, 4), device=device)


@pytest.mark.torch
@pytest.mark.parametrize(("mode", "pad"), PADS, ids=str)
def test_pad(mode, pad, device):
    same_as_torch(lambda t, F, x: F.pad(x, pad, mode), uniform(1, 2, 4, 4), device=device)
    check_derivatives(lambda x: F.pad(x, pad, mode), device, uniform(1, 1, 4, 4))


def test_pad_with_a_value_and_other_dtypes(device):
    same_as_torch(lambda t, F, x: F.pad(x, (1, 0, 2, 0), value=float("inf")), uniform(3, 3), device=device)
    same_as_torch(lambda t, F, x: F.pad(x, (1, 1), value=7), np.arange(3), device=device)
    x = lucid.ones(2, 2)
    assert F.pad(x, ()) is not x
    for dtype in (lucid.float16, lucid.bfloat16, lucid.complex64):
        x = lucid.arange(8, device=device).reshape(1, 8).to(dtype).requires_grad_()
        y = F.pad(x, (7, 7), "reflect")
        assert y.dtype == dtype and y.real.tolist() == [[7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 6, 5, 4, 3, 2, 1, 0]]
        y.real.sum().backward()
        assert x.grad.dtype == dtype and x.grad.real.tolist() == [[2, 3, 3, 3, 3, 3, 3, 2]]


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_pad_of_large_and_strided_tensors(mode):
    same_as_torch(lambda t, F, x: F.pad(x.transpose(1, 2), (1, 2, 3, 0), mode), uniform(2, 120, 11, 40))
    x = lucid.ones(2, 3, 5, 6, device="meta", requires_grad=True)
    y = F.pad(x, (1, 2, 3, 0), mode)
    y.sum().backward()
    assert y.shape == (2, 3, 8, 9) and x.grad.shape == x.shape


@pytest.mark.parametrize(("x", "classes"), [([0, 2, 1], -1), ([[1, 0]], 4), (2, -1)])
def test_one_hot(x, classes, device):
    same_as_torch(lambda t, F, x: F.one_hot(x, classes), np.array(x), device=device)


def test_vectors(device):
    a, b = uniform(3, 4), uniform(3, 4, seed=1)
    check_derivatives(F.normalize, device, a)
    check_derivatives(F.cosine_similarity, device, a, b)
    check_derivatives(F.pairwise_distance, device, a, b[0])
    same_as_torch(lambda t, F, x: F.normalize(x, 1, 0), a, device=device)
    same_as_torch(lambda t, F, x: F.normalize(x * 0), a, device=device)
    out = lucid.empty(0, device=device)
    assert F.normalize(lucid.tensor([[3.0, 4.0]], device=device), out=out) is out and out.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]
    same_as_torch(lambda t, F, x, y: F.cosine_similarity(x, y[0], -1), a, b, device=device)
    same_as_torch(lambda t, F, x, y: F.cosine_similarity(x, y * 0), a, b, device=device)
    same_as_torch(lambda t, F, x, y: F.pairwise_distance(x, y, 1, keepdim=True), a, b, device=device)


def test_signatures_are_those_of_torch():
    torch = pytest.importorskip("torch")
    for name in set(F.__all__) - {"batch_norm_relu"}:  # which PyTorch does not have
        theirs = getattr(torch.nn.functional, name)
        try:
            expected = list(inspect.signature(theirs).parameters)
        except ValueError:  # written in C++
            continue
        if expected in (["args", "kwargs"], ["input", "kwargs"]):
            continue
        assert list(inspect.signature(getattr(F, name)).parameters)[:len(expected)] == expected, name


@pytest.mark.torch
@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.linear(t.ones(4, 3), t.ones(2, 4)), "mat1 and mat2 shapes cannot be multiplied"),
    (lambda t, F: F.one_hot(t.tensor([1.0])), "only applicable to index tensor"),
    (lambda t, F: F.one_hot(t.tensor([3]), 2), "Class values must be smaller than num_classes"),
    (lambda t, F: F.one_hot(t.tensor([-1])), "Class values must be non-negative"),
    (lambda t, F: F.one_hot(t.zeros(0).long()), "Can not infer total number of classes"),
    (lambda t, F: F.pad(t.ones(2, 2), (1,)), "Padding length must be divisible by 2"),
    (lambda t, F: F.pad(t.ones(2, 2), (1,) * 6), "less than or equal to two times the input dimension"),
    (lambda t, F: F.pad(t.ones(2, 2), (1, 1), "mirror"), "Unrecognised padding mode mirror"),
    (lambda t, F: F.pad(t.ones(2, 2), (2, 1), "reflect"), "Padding size should be less than the corresponding input dimension"),
    (lambda t, F: F.pad(t.ones(2, 2), (3, 1), "circular"), "wrapping around more than once"),
    (lambda t, F: F.pad(t.ones(2, 2), (-1, -1), "replicate"), None),
    (lambda t, F: F.pad(t.ones(2, 2), (1, 1), "reflect", 1.0), "doesn't take in value argument"),
    (lambda t, F: F.pad(t.ones(2), (1, 1), "reflect"), "is not supported for 1D input tensor"),
    (lambda t, F: F.pad(t.ones(2, 2), (-2, -1)), "length must be non-negative"),
    (lambda t, F: F.normalize(t.ones(2, 2).long()), "Expected a floating point or complex tensor"),
    (lambda t, F: F.cosine_similarity(t.ones(2, 2).long(), t.ones(2, 2).long()), "expected common dtype to be floating point"),
])
def test_errors(call, match):
    raises_like_torch(call, match)


@pytest.mark.parametrize("rows", [3, 700])  # step by step, and by a kernel
def test_cosine_similarity_of_odd_vectors(rows, device):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((rows, 1, 5)).astype(np.float32), rng.standard_normal((2, 5)).astype(np.float32)
    a[1] = 0
    x, y = lucid.tensor(a, device=device, requires_grad=True), lucid.tensor(b, device=device)
    result = F.cosine_similarity(x, y, -1)
    a, b = a.astype(np.float64), b.astype(np.float64)
    lengths = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    expected = np.divide((a * b).sum(-1), lengths, out=np.zeros((rows, 2)), where=lengths > 0)
    found = result.detach().cpu().numpy()
    assert np.abs(found - expected).max() < 1e-6
    result.sum().backward()
    assert np.allclose(x.grad[1, 0].cpu().numpy(), 1e8 * (b / np.linalg.norm(b, axis=-1, keepdims=True)).sum(0), rtol=1e-5)
    assert F.cosine_similarity(x[:, 0, :0], y[:1, :0]).tolist() == [0.0] * rows
    assert F.cosine_similarity(lucid.tensor([math.nan, 1.0]), lucid.tensor([1.0, 1.0]), 0).isnan().item()
    half = F.cosine_similarity(x[2:].to(lucid.bfloat16), y.to(lucid.bfloat16), -1)
    assert half.dtype == lucid.bfloat16
    assert np.abs(half.detach().float().cpu().numpy() - expected[2:]).max() < 0.02
