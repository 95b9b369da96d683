"""Optimizers around another one, which set `param_groups` themselves and do not call `Optimizer.__init__`."""
from __future__ import annotations

import copy
import pickle
import warnings
from collections import defaultdict
from typing import Any

import pytest

import lucid
from lucid import nn, optim


def lookahead(library: Any) -> Any:
    """Zhang et al. 2019, as its implementations for PyTorch are written."""
    class Lookahead(library.optim.Optimizer):
        def __init__(self, optimizer: Any, k: int = 2, alpha: float = 0.5) -> None:
            self.optimizer = optimizer
            self.k, self.alpha = k, alpha
            self.param_groups = optimizer.param_groups
            self.defaults = optimizer.defaults
            self.state = defaultdict(dict)
            self.fast_state = optimizer.state
            self.count = 0

        def step(self, closure: Any = None) -> Any:
            loss = self.optimizer.step(closure)
            self.count += 1
            if self.count % self.k == 0:
                for group in self.param_groups:
                    for fast in group["params"]:
                        slow = self.state[fast].setdefault("slow", library.zeros_like(fast.data))
                        slow += (fast.data - slow) * self.alpha
                        fast.data.copy_(slow)
            return loss

        def state_dict(self) -> Any:
            return {"fast": self.optimizer.state_dict(), "count": self.count}

    return Lookahead


Module = lookahead(lucid)


class Reversed(optim.Optimizer):
    """The groups are a property, and nothing else is there."""

    def __init__(self, inner: optim.Optimizer) -> None:
        self.inner = inner

    @property
    def param_groups(self) -> Any:
        return self.inner.param_groups

    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for param in group["params"]:
                param.grad.neg_()
        return self.inner.step(closure)


def train(library: Any, wrap: Any, schedule: Any, steps: int = 5, **where: Any) -> list[Any]:
    """The parameters and learning rates of each step."""
    param = library.tensor([1.0, -2.0], **where).requires_grad_()
    optimizer = wrap(library.optim.SGD([param], lr=0.5, momentum=0.9))
    scheduler = schedule(optimizer)
    found: list[Any] = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (param ** 2).sum()
        loss.backward()
        optimizer.step()
        scheduler.step()
        found.append((param.tolist(), scheduler.get_last_lr(), optimizer.param_groups[0]["lr"]))
    return found


SCHEDULES: dict[str, Any] = {
    "StepLR": lambda library: lambda o: library.optim.lr_scheduler.StepLR(o, 2, 0.5),
    "CosineAnnealingLR": lambda library: lambda o: library.optim.lr_scheduler.CosineAnnealingLR(o, 5),
    "LambdaLR": lambda library: lambda o: library.optim.lr_scheduler.LambdaLR(o, lambda epoch: 1 / (epoch + 1)),
    "OneCycleLR": lambda library: lambda o: library.optim.lr_scheduler.OneCycleLR(o, 1.0, 10),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_lookahead_steps_and_is_scheduled_as_in_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours = train(lucid, lookahead(lucid), SCHEDULES[name](lucid))
    theirs = train(torch, lookahead(torch), SCHEDULES[name](torch))
    for mine, expected in zip(ours, theirs, strict=True):
        assert mine[0] == pytest.approx(expected[0], rel=1e-5)
        assert mine[1] == pytest.approx(expected[1]) and mine[2] == pytest.approx(expected[2])


def test_lookahead_steps(device: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the scheduler sees that the optimizer steps
        found = train(lucid, Module, lambda o: optim.lr_scheduler.StepLR(o, 1, 0.1), 2, device=device)
    assert found[0] == ([0.0, 0.0], [pytest.approx(0.05)], pytest.approx(0.05))
    # The momentum, 0.9 * 2, goes on with the new learning rate: -0.09, of which Lookahead takes the half.
    assert found[1][0] == pytest.approx([-0.045, 0.09])


def test_a_wrapper_without_any_attribute_of_the_base_class() -> None:
    found = train(lucid, Reversed, lambda o: optim.lr_scheduler.StepLR(o, 1, 0.5), 1)
    assert found == [([2.0, -4.0], [0.25], 0.25)]


def test_hooks_of_a_wrapper_are_its_own() -> None:
    param = lucid.ones(1).requires_grad_()
    param.grad = lucid.ones(1)
    first, second = Module(optim.SGD([param], lr=1.0)), Module(optim.SGD([param], lr=1.0))
    seen: list[str] = []
    handle = first.register_step_pre_hook(lambda *args: seen.append("before"))
    first.register_step_post_hook(lambda *args: seen.append("after"))
    second.step()
    assert seen == []
    first.step()
    assert seen == ["before", "after"]
    handle.remove()
    first.step()
    assert seen == ["before", "after", "after"]


def test_copies_and_pickles_have_hooks_of_their_own() -> None:
    inner = optim.SGD([nn.Parameter(lucid.ones(1))], lr=1.0)
    for copied in (copy.copy(inner), copy.deepcopy(inner), pickle.loads(pickle.dumps(inner))):
        copied.param_groups[0]["params"][0].grad = lucid.ones(1)
        copied.register_step_pre_hook(lambda *args: None)
        copied.step()
        assert not inner._optimizer_step_pre_hooks
