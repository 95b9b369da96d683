"""Sparse gradients of lookup tables: what they are, how they add up, and the optimizers that take them."""
from __future__ import annotations

import copy

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn, optim
from lucid.autograd import gradgradcheck

WEIGHT = np.random.default_rng(0).normal(size=(7, 3))
INDICES = [[1, 2, 1], [6, 0, 2]]


def table(device="cpu"):
    return lucid.tensor(WEIGHT, device=device, requires_grad=True)


def looked_up(weight, sparse, kind="embedding"):
    indices = lucid.tensor(INDICES, device=weight.device)
    if kind == "embedding":
        return F.embedding(indices, weight, padding_idx=0, sparse=sparse)
    factors = lucid.arange(1.0, 7, dtype=weight.dtype, device=weight.device).reshape(2, 3) if kind == "sum" else None
    return F.embedding_bag(indices, weight, mode=kind, sparse=sparse, per_sample_weights=factors)


@pytest.mark.parametrize("kind", ["embedding", "sum", "mean"])
def test_gradients_are_those_of_dense_ones(kind, device):
    found = []
    for sparse in (True, False):
        weight = table(device)
        (looked_up(weight, sparse, kind) ** 2).sum().backward()
        assert weight.grad.layout is (lucid.sparse_coo if sparse else lucid.strided)
        found.append(weight.grad.to_dense().cpu().numpy())
        if sparse and kind == "embedding":
            assert weight.grad._nnz() == 5 and not weight.grad.is_coalesced()  # without the padding
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_of_second_order():
    weight = table()
    for kind in ("embedding", "sum"):
        assert gradgradcheck(lambda weight: looked_up(weight, True, kind) ** 3, (weight,), fast_mode=True)  # noqa: B023


def test_gradients_add_up(device):
    weight = table(device)
    (looked_up(weight, True).sum() + (weight * 2).sum()).backward()
    assert weight.grad.layout is lucid.strided
    expected = weight.grad.cpu().numpy()
    weight.grad = None
    looked_up(weight, True).sum().backward()
    looked_up(weight, True).sum().backward()
    assert weight.grad.is_sparse and weight.grad._nnz() == 10
    np.testing.assert_array_equal(weight.grad.to_dense().cpu().numpy(), 2 * (expected - 2))
    (weight * 2).sum().backward()  # dense onto sparse
    assert weight.grad.layout is lucid.strided
    looked_up(weight, True).sum().backward()  # sparse onto dense
    np.testing.assert_array_equal(weight.grad.cpu().numpy(), 3 * (expected - 2) + 2)
    weight.grad = None
    sum(looked_up(weight, True).sum() for _ in range(4)).backward()
    assert weight.grad.is_sparse
    np.testing.assert_array_equal(weight.grad.to_dense().cpu().numpy(), 4 * (expected - 2))
    (gradient,) = lucid.autograd.grad(looked_up(weight, True).sum() + looked_up(weight, True).sum(), weight)
    assert gradient.is_sparse and gradient is not weight.grad


def steps(make, sparse, device="cpu", count=3):
    embedding = nn.Embedding(7, 3, sparse=sparse, _weight=lucid.tensor(WEIGHT, device=device))
    optimizer = make(embedding.parameters())
    for number in range(count):
        optimizer.zero_grad()
        (embedding(lucid.tensor(INDICES, device=device).add(number) % 7) ** 2).sum().backward()
        optimizer.step()
    return embedding.weight.detach().cpu().numpy(), optimizer


@pytest.mark.parametrize("make", [
    lambda parameters: optim.SGD(parameters, 0.1), lambda parameters: optim.SGD(parameters, 0.1, momentum=0.9, maximize=True),
    lambda parameters: optim.SGD(parameters, 0.1, momentum=0.9, nesterov=True),
    lambda parameters: optim.Adagrad(parameters, 0.1, lr_decay=0.1)])
def test_steps_are_those_with_dense_gradients(make, device):
    np.testing.assert_allclose(steps(make, True, device)[0], steps(make, False, device)[0], rtol=1e-10)


def test_sparse_adam_moves_only_rows_with_gradients(device):
    weight, optimizer = steps(lambda parameters: optim.SparseAdam(parameters, 0.1), True, device)
    expected, mean, square = WEIGHT.copy(), np.zeros((7, 3)), np.zeros((7, 3))
    for number in range(3):
        rows, gradient = (np.array(INDICES) + number) % 7, np.zeros((7, 3))
        np.add.at(gradient, rows, 2 * expected[rows])
        rows = np.unique(rows)
        mean[rows] += 0.1 * (gradient[rows] - mean[rows])
        square[rows] += 0.001 * (gradient[rows] ** 2 - square[rows])
        rate = 0.1 * np.sqrt(1 - 0.999 ** (number + 1)) / (1 - 0.9 ** (number + 1))
        expected[rows] -= rate * mean[rows] / (np.sqrt(square[rows]) + 1e-8)
    np.testing.assert_allclose(weight, expected, rtol=1e-10)
    state = optimizer.state_dict()["state"][0]
    assert state["step"] == 3
    np.testing.assert_allclose(state["exp_avg"].cpu().numpy(), mean, rtol=1e-10, atol=1e-15)
    other = optim.SparseAdam(optimizer.param_groups[0]["params"])
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert other.state_dict()["state"][0]["step"] == 3


@pytest.mark.parametrize(("name", "message"), [
    *[(name, f"^{name} does not support sparse gradients$") for name in
      ("Adadelta", "Adafactor", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop", "Muon")],
    *[(name, "^Adam does not support sparse gradients, please consider SparseAdam instead$") for name in ("Adam", "AdamW")]])
def test_other_optimizers_refuse_them(name, message):
    weight = table()
    looked_up(weight, True).sum().backward()
    with pytest.raises(RuntimeError, match=message):
        getattr(optim, name)([weight]).step()
    np.testing.assert_array_equal(weight.detach().numpy(), WEIGHT)


def test_what_sparse_gradients_do_not_go_with():
    weight = table()
    looked_up(weight, True).sum().backward()
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse gradients"):
        optim.Adagrad([weight], weight_decay=0.1).step()
    with pytest.raises(RuntimeError, match="sparse, dense"):
        optim.SGD([weight], weight_decay=0.1).step()
    for call in (lambda: F.embedding(lucid.tensor([1]), weight, sparse=True, scale_grad_by_freq=True).sum().backward(),
                 lambda: F.embedding_bag(lucid.tensor([[1]]), weight, sparse=True, scale_grad_by_freq=True)):
        with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
            call()
    weight.grad = lucid.ones(7, 3, dtype=lucid.float64)
    with pytest.raises(RuntimeError, match="does not support dense gradients, please consider Adam instead"):
        optim.SparseAdam([weight]).step()
    for options in ({"lr": 0.0}, {"eps": 0.0}, {"betas": (1.0, 0.9)}):
        with pytest.raises(ValueError, match="Invalid"):
            optim.SparseAdam([weight], **options)
    with pytest.raises(ValueError, match="Sparse params at indices \\[\\[0, 0\\]\\]"):
        optim.SparseAdam([lucid.ones(2, 2).to_sparse()])


def test_clipping_and_unscaling():
    weight = table()
    looked_up(weight, True).sum().backward()
    norm = np.linalg.norm(weight.grad.to_dense().numpy())
    np.testing.assert_allclose(nn.utils.clip_grad_norm_([weight], 0.5).item(), norm)
    assert weight.grad.is_sparse
    np.testing.assert_allclose(np.linalg.norm(weight.grad.to_dense().numpy()), 0.5, rtol=1e-5)
    scaler, optimizer = lucid.GradScaler("cpu", init_scale=8.0), optim.SGD([weight], 1.0)
    weight.grad = None
    scaler.scale(looked_up(weight, True).sum()).backward()
    scaler.step(optimizer)
    np.testing.assert_allclose(np.sort(WEIGHT - weight.detach().numpy(), 0)[-1], 2.0)
