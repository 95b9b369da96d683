"""The upstream gradient 1 that nobody gave: what rules leave out for it, and what must not be taken for it."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import backends
from lucid.autograd import accumulation
from lucid.backends.gpu_probe import gpu_problem

DEVICES = ["cpu"] if gpu_problem() is not None else ["cpu", "gpu"]


def logits(device: str) -> Any:
    values = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)
    return lucid.tensor(values, device=device).requires_grad_()


def loss_of(x: Any) -> Any:
    return F.cross_entropy(x, lucid.arange(5, device=x.device))


def names_in(call: Any) -> list[str]:
    names: list[str] = []
    with backends.observe(lambda name, *_: names.append(name)):
        call()
    return names


@pytest.mark.parametrize("device", DEVICES)
def test_a_loss_is_not_multiplied_by_one(device: str) -> None:
    x, y = logits(device), logits(device)
    assert "mul" not in names_in(loss_of(x).backward)
    given = lucid.ones((), device=device)
    loss_of(y).backward(given)
    np.testing.assert_array_equal(x.grad.cpu().numpy(), y.grad.cpu().numpy())
    assert not accumulation.is_one(given)


@pytest.mark.parametrize("device", DEVICES)
def test_other_upstream_gradients_are_not_one(device: str) -> None:
    once, twice, hooked, changed = (logits(device) for _ in range(4))
    loss_of(once).backward()
    (2 * loss_of(twice)).backward()
    loss = loss_of(hooked)
    loss.register_hook(lambda g: g.mul_(2) and None)  # in place
    loss.backward()
    loss = loss_of(changed)
    loss.register_hook(lambda g: g * 2)
    loss.backward()
    for x in (twice, hooked, changed):
        np.testing.assert_allclose(x.grad.cpu().numpy(), 2 * once.grad.cpu().numpy(), rtol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_a_graph_that_is_kept_gives_the_same_again(device: str) -> None:
    x = logits(device)
    loss = loss_of(x)
    loss.backward(retain_graph=True)
    first = x.grad.cpu().numpy().copy()
    x.grad.zero_()  # which must not be what the graph keeps
    loss.backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad.cpu().numpy(), first)
    loss.backward()
    np.testing.assert_allclose(x.grad.cpu().numpy(), 2 * first, rtol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_only_the_last_one_is_known(device: str) -> None:
    scalar = lucid.zeros((), device=device)._array
    older, newer = accumulation.one(scalar), accumulation.one(scalar)
    assert not accumulation.is_one(older)
    assert accumulation.is_one(newer)
    newer.mul_(3)
    assert not accumulation.is_one(newer)
