"""Hooks on what operations save: gradients stay the same, memory is freed, and errors are PyTorch's."""
from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

from ..amp.test_recipes import RECIPES


def by_numpy() -> saved_tensors_hooks:
    return saved_tensors_hooks(lambda t: t.cpu().numpy().copy(), lucid.from_numpy)


def same(x: Any, y: Any) -> None:
    np.testing.assert_allclose(x.detach().cpu().numpy(), y.detach().cpu().numpy(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.__name__)
def test_gradients_of_networks(recipe: Any) -> None:
    lucid.manual_seed(0)
    model, loss_of = recipe()
    loss_of(model).backward()
    plain = [p.grad for p in model.parameters()]
    model.zero_grad()
    with by_numpy():
        loss = loss_of(model)
    loss.backward()
    for parameter, expected in zip(model.parameters(), plain, strict=True):
        same(parameter.grad, expected)


FUNCTIONS = {
    "outputs": lambda a, b: (a.exp() * b.sigmoid() + a.tanh() * F.relu(b)).softmax(-1),
    "products": lambda a, b: a @ b.t() + F.linear(a, b),
    "reductions": lambda a, b: a.max(0)[0] * b.prod(1) + (a * a).sum().sqrt() + b.std(),
    "views": lambda a, b: a[1:].t()[0] * b.reshape(-1)[:2] / a.flatten()[2:4],
    "in place": lambda a, b: (a * 1).mul_(b).add_(b, alpha=2).exp_(),
    "several outputs": lambda a, b: lucid.linalg.qr(a + 3 * lucid.eye(3))[0] + F.layer_norm(b, (3,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_two_orders(name: str) -> None:
    lucid.manual_seed(1)
    function = FUNCTIONS[name]
    a, b = (lucid.rand(3, 3, requires_grad=True) for _ in range(2))

    def gradients() -> list[Any]:
        first = lucid.autograd.grad((function(a, b) ** 2).sum(), (a, b), create_graph=True)
        return [*first, *lucid.autograd.grad(sum((g * g).sum() for g in first), (a, b), allow_unused=True)]

    plain = gradients()
    with by_numpy():
        hooked = gradients()
    for x, y in zip(hooked, plain, strict=True):
        same(x, y)


def test_a_graph_that_is_retained() -> None:
    a = lucid.rand(3, requires_grad=True)
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = a.exp().sigmoid()
    first = lucid.autograd.grad(y.sum(), a, retain_graph=True)[0]
    first.mul_(0)
    second = lucid.autograd.grad(y.sum(), a)[0]
    same(second, lucid.autograd.grad(a.exp().sigmoid().sum(), a)[0])
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_what_was_saved_is_freed() -> None:
    class Packed:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

    packed: list[Any] = []

    def pack(tensor: Any) -> Any:
        packed.append(weakref.ref(kept := Packed(tensor)))
        return kept

    a = lucid.rand(3, 3, requires_grad=True)
    gc.disable()
    try:
        with saved_tensors_hooks(pack, lambda kept: kept.tensor):
            loss = (a.exp() @ a).sum()
        assert packed and all(reference() is not None for reference in packed)
        loss.backward()
        assert not any(reference() for reference in packed)
        packed.clear()
        with saved_tensors_hooks(pack, lambda kept: kept.tensor):
            loss = (a.exp() @ a).sum()
        del loss
        assert not any(reference() for reference in packed)
    finally:
        gc.enable()


def test_functions_of_the_user() -> None:
    seen: list[str] = []

    class Cube(lucid.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * x * x
            ctx.save_for_backward(x, y, None)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y, none = ctx.saved_tensors
            assert none is None and y.grad_fn is not None
            return 3 * g * y / x

    x = lucid.rand(3, requires_grad=True)

    def pack(tensor: Any) -> Any:
        seen.append("pack")
        return 2 * tensor

    with saved_tensors_hooks(pack, lambda t: t / 2):
        y = Cube.apply(x)
    assert seen == ["pack", "pack"]
    (gradient,) = lucid.autograd.grad(y.sum(), x, create_graph=True)
    same(gradient, 3 * x * x)
    same(lucid.autograd.grad(gradient.sum(), x)[0], 6 * x)


def test_the_inner_hooks_are_called() -> None:
    seen: list[str] = []
    x = lucid.rand(3, requires_grad=True)
    with saved_tensors_hooks(lambda t: seen.append("outer") or t, lambda t: t):
        with saved_tensors_hooks(lambda t: seen.append("inner") or t, lambda t: t):
            x.exp()
        x.exp()
        with lucid.no_grad():
            x.exp()
    x.exp()
    assert seen == ["inner", "outer"]


def test_errors() -> None:
    x = lucid.rand(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="in place"), saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        x.exp()
    with saved_tensors_hooks(lambda t: t, lambda t: 3):  # type: ignore[arg-type,return-value]
        y = x.exp()
    with pytest.raises(TypeError, match="expected to be a Tensor"):
        y.sum().backward()
    with disable_saved_tensors_hooks("not here"):
        x.exp().sum().backward()
        with pytest.raises(RuntimeError, match="not here"), by_numpy():
            pass
    with by_numpy(), pytest.raises(RuntimeError, match="too late"), disable_saved_tensors_hooks("too late"):
        pass
    with by_numpy():
        pass


def test_save_on_cpu(device: str) -> None:
    x = lucid.rand(3, 3, device=device, requires_grad=True)
    with save_on_cpu(pin_memory=device == "gpu"):
        y = (x.exp() @ x).sum()
    y.backward()
    same(x.grad, lucid.autograd.grad((x.exp() @ x).sum(), x)[0])
