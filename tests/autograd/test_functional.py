"""Jacobians, Hessians and their products, against closed forms and PyTorch."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from lucid.autograd import functional as AF

X = np.array([[0.5, 1.0], [1.5, 2.0]])
V = np.array([[1.0, -1.0], [0.5, 2.0]])


def function(x):
    return (x.exp() * x).sum(1)


def energy(x):
    return (x ** 3).sum() + x.prod()


def test_jacobian(device):
    x = lucid.tensor(X, device=device)
    jacobian = AF.jacobian(function, x).cpu().numpy()
    expected = np.zeros((2, 2, 2))
    for row in range(2):
        expected[row, row] = np.exp(X[row]) * (X[row] + 1)
    np.testing.assert_allclose(jacobian, expected)


def test_jacobian_of_several_inputs_and_outputs():
    a, b = lucid.tensor([1.0, 2.0]), lucid.tensor([3.0])
    result = AF.jacobian(lambda a, b: (a * b, a.sum()), (a, b))
    assert [[j.tolist() for j in row] for row in result] == [[[[3.0, 0.0], [0.0, 3.0]], [[1.0], [2.0]]],
                                                             [[1.0, 1.0], [0.0]]]


def test_products_agree_with_jacobian_and_hessian():
    x, v = lucid.tensor(X), lucid.tensor(V)
    jacobian = AF.jacobian(function, x).numpy()
    outputs, product = AF.jvp(function, x, v)
    np.testing.assert_allclose(product.numpy(), np.einsum("oij,ij->o", jacobian, V))
    np.testing.assert_allclose(outputs.numpy(), function(x).numpy())
    np.testing.assert_allclose(AF.vjp(function, x, lucid.tensor([1.0, 2.0], dtype=lucid.float64))[1].numpy(),
                               np.einsum("oij,o->ij", jacobian, [1.0, 2.0]))
    hessian = AF.hessian(energy, x).numpy()
    assert hessian.shape == (2, 2, 2, 2)
    for product in (AF.hvp, AF.vhp):
        np.testing.assert_allclose(product(energy, x, v)[1].numpy(), np.einsum("ijkl,kl->ij", hessian, V))


def test_create_graph_and_strict():
    x = lucid.tensor([1.0, 2.0], requires_grad=True)
    AF.jacobian(lambda x: x ** 3, x, create_graph=True).sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]
    assert AF.jacobian(lambda x: lucid.ones(1), x).tolist() == [[0.0, 0.0]]
    with pytest.raises(RuntimeError, match="independent of input 0"):
        AF.jacobian(lambda x: lucid.ones(1), x, strict=True)
    with pytest.raises(RuntimeError, match="can only be None"):
        AF.vjp(lambda x: x * 2, x)
    with pytest.raises(TypeError):
        AF.jacobian(lambda x: x, 1.0)


def test_matches_torch():
    torch = pytest.importorskip("torch")
    for name, f, arguments in (("jacobian", function, ()), ("hessian", energy, ()), ("jvp", function, (V,)),
                               ("hvp", energy, (V,)), ("vhp", energy, (V,)), ("vjp", function, (np.array([1.0, 3.0]),))):
        ours = getattr(AF, name)(f, lucid.tensor(X), *[lucid.tensor(a) for a in arguments])
        theirs = getattr(torch.autograd.functional, name)(f, torch.tensor(X), *[torch.tensor(a) for a in arguments])
        for a, b in zip(ours if isinstance(ours, tuple) else (ours,), theirs if isinstance(theirs, tuple) else (theirs,),
                        strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), err_msg=name)
