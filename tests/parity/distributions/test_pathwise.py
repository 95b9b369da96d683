"""Gradients through samples against PyTorch's: of the same numbers, and by the families that are made of them."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from lucid.ops.random import pathwise

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SHAPES = np.array([1e-3, 0.03, 0.4, 0.9, 1.0, 2.5, 9.0, 40.0, 500.0])


def test_gamma():
    """PyTorch's has three digits in some ranges."""
    torch.manual_seed(0)
    a = torch.tensor(SHAPES).expand(200, 9).contiguous()
    x = torch._standard_gamma(a)
    ours = pathwise.standard_gamma_grad(lucid.tensor(a.numpy()), lucid.tensor(x.numpy()))
    np.testing.assert_allclose(ours.numpy(), torch._standard_gamma_grad(a, x).numpy(), rtol=5e-3)


def test_dirichlet():
    torch.manual_seed(0)
    a = torch.tensor(np.stack(np.meshgrid(SHAPES[1:], SHAPES[1:]), -1).reshape(-1, 2)).expand(20, -1, 2).contiguous()
    x = torch._sample_dirichlet(a).clamp(1e-6, 1 - 1e-6)
    total = a.sum(-1, keepdim=True).expand_as(a).contiguous()
    ours = pathwise.dirichlet_grad(*(lucid.tensor(t.numpy()) for t in (x, a, total)))
    np.testing.assert_allclose(ours.numpy(), torch._dirichlet_grad(x, a, total).numpy(), rtol=2e-2, atol=1e-6)


@pytest.mark.parametrize("name", ["Gamma", "Beta", "Dirichlet"])
def test_chain_rule(name, monkeypatch):
    """With the numbers of lucid in the place of PyTorch's, the gradients of a function of them agree."""
    drawn = {}

    def kept(function, key):
        def draws(*arguments, **keywords):
            drawn[key] = function(*arguments, **keywords)
            return drawn[key]
        return draws

    from lucid.distributions import dirichlet, gamma

    monkeypatch.setattr(gamma, "standard_gamma", kept(gamma.standard_gamma, "x"))
    monkeypatch.setattr(dirichlet, "dirichlet", kept(dirichlet.dirichlet, "x"))
    parameters = {"Gamma": [np.array([0.5, 3.0]), np.array([2.0, 0.7])], "Beta": [np.array([0.5, 3.0]), np.array([2.0, 0.7])],
                  "Dirichlet": [np.array([[0.5, 2.0, 1.0], [3.0, 0.7, 4.0]])]}[name]
    ours = [lucid.tensor(p, requires_grad=True) for p in parameters]
    lucid.manual_seed(0)
    y = getattr(lucid.distributions, name)(*ours).rsample((4,))
    (y * y.detach().cos()).sum().backward()
    x = torch.tensor(drawn["x"].detach().numpy())
    monkeypatch.setattr(torch, "_standard_gamma", lambda a, generator=None: _Fixed.apply(a, x))
    monkeypatch.setattr(torch, "_sample_dirichlet", lambda a, generator=None: x)
    theirs = [torch.tensor(p, requires_grad=True) for p in parameters]
    z = getattr(torch.distributions, name)(*theirs).rsample((4,))
    np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-12)
    (z * z.detach().cos()).sum().backward()
    for one, other in zip(ours, theirs):
        np.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), rtol=5e-3, atol=1e-4)


class _Fixed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, x):
        ctx.save_for_backward(a, x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        a, x = ctx.saved_tensors
        return g * torch._standard_gamma_grad(a.contiguous(), x), None
