"""Hooks around the call of a module and its backward pass."""
from __future__ import annotations

from typing import Any

import pytest

import lucid
from lucid import Tensor, nn
from tests.nn.models import Block


def test_forward_hooks() -> None:
    block = Block()
    order: list[str] = []
    block.register_forward_pre_hook(lambda module, args: order.append("pre"))
    block.register_forward_pre_hook(lambda module, args: (args[0] * 2,), prepend=True)
    block.register_forward_hook(lambda module, args, output: order.append(str(args[0].tolist())))
    doubled = block.register_forward_hook(lambda module, args, output: output * 10)
    assert block(lucid.ones(2)).tolist() == [20.0, 20.0]
    assert order == ["pre", "[2.0, 2.0]"]
    doubled.remove()
    assert block(lucid.ones(2)).tolist() == [2.0, 2.0]


def test_forward_hooks_with_kwargs() -> None:
    class Scale(nn.Module):
        def forward(self, x: Tensor, by: float = 1.0) -> Tensor:
            return x * by

    module = Scale()
    handle = module.register_forward_pre_hook(lambda m, args, kwargs: (args, {"by": 3.0}), with_kwargs=True)
    module.register_forward_hook(lambda m, args, kwargs, out: out + kwargs["by"], with_kwargs=True)
    assert module(lucid.ones(1), by=2.0).tolist() == [6.0]
    handle.remove()
    module.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        module(lucid.ones(1), by=1.0)


def test_always_called_hooks_run_after_an_error() -> None:
    class Broken(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("broken")

    module, seen = Broken(), []
    module.register_forward_hook(lambda m, args, out: seen.append("normal"))
    module.register_forward_hook(lambda m, args, out: seen.append("always"), always_call=True)
    with pytest.raises(ValueError, match="broken"):
        module(1)
    assert seen == ["always"]


def test_full_backward_hooks() -> None:
    block = Block()
    seen: list[Any] = []

    def hook(module: Any, grad_input: Any, grad_output: Any) -> Any:
        seen.append((grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 10,)

    handle = block.register_full_backward_hook(hook)
    pre = block.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
    x = lucid.ones(2, requires_grad=True)
    block(x).sum().backward()
    assert seen == [([2.0, 2.0], [2.0, 2.0])]
    assert x.grad.tolist() == [20.0, 20.0]
    assert block.weight.grad.tolist() == [2.0, 2.0]
    handle.remove()
    pre.remove()
    x.grad = None
    block(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_backward_hooks_with_several_inputs_and_outputs() -> None:
    class Two(nn.Module):
        def forward(self, a: Tensor, b: Tensor, n: int) -> tuple[Tensor, Tensor, int]:
            return a * b, b * 2, n

    module, seen = Two(), []
    module.register_full_backward_hook(lambda m, gin, gout: seen.append((gin, gout)))
    a, b = lucid.ones(2, requires_grad=True), lucid.full((2,), 3.0, requires_grad=True)
    first, _, _ = module(a, b, 4)
    first.sum().backward()
    grad_input, grad_output = seen[0]
    assert [g if g is None else g.tolist() for g in grad_input] == [[3.0, 3.0], [1.0, 1.0], None]
    assert [g if g is None else g.tolist() for g in grad_output] == [[1.0, 1.0], None, None]


def test_backward_hook_without_inputs_that_require_grad() -> None:
    block, seen = Block(), []
    block.register_full_backward_hook(lambda m, gin, gout: seen.append((gin, gout[0].tolist())))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        block(lucid.ones(2)).sum().backward()
    assert seen == [((None,), [1.0, 1.0])]
