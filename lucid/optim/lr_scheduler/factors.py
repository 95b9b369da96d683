"""Schedules by a factor of the epoch: MultiplicativeLR, PolynomialLR, and NoamScheduler of lucid 2.x."""
from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler


class FunctionLR(LRScheduler):
    """What schedules by functions of the epoch share: one for each group, which `state_dict` saves if they are objects.

    Raises ValueError if the number of functions does not fit.
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
                 last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and plain functions."""
        state = super().state_dict()
        state["lr_lambdas"] = [None if isinstance(factor, types.FunctionType) else factor.__dict__.copy()
                               for factor in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` gave."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for factor, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if attributes is not None:
                factor.__dict__.update(attributes)


class MultiplicativeLR(FunctionLR):
    """Multiply the learning rate by ``lr_lambda(epoch)`` at every epoch; a list of functions gives one to each group.

    Functions and lambdas are not saved by `state_dict`; the attributes of callable objects are.

    >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = lucid.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 1 / epoch)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     print(scheduler.get_last_lr())
    ...     scheduler.step()
    [1.0]
    [1.0]
    [0.5]
    """

    def get_lr(self) -> list[Any]:
        """See the class."""
        self._warn_outside_step()
        if self._is_initial:
            return self._values("lr")
        return [group["lr"] * factor(self.last_epoch)
                for factor, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)]


class PolynomialLR(LRScheduler):
    """From the initial learning rate to 0 in `total_iters` epochs, as ``(1 - epoch / total_iters) ** power``.

    >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = lucid.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=2, power=1.0)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     print(scheduler.get_last_lr())
    ...     scheduler.step()
    [1.0]
    [0.5]
    [0.0]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """See the class."""
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._values("lr")
        left = (1 - self.last_epoch / self.total_iters) / (1 - (self.last_epoch - 1) / self.total_iters)
        return [group["lr"] * left**self.power for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class NoamScheduler(LRScheduler):
    """The learning rate ``factor * model_size**-0.5 * min(n**-0.5, n * warmup_steps**-1.5)`` of step n, whatever it was before.

    Raises ValueError for a size, number of steps or factor that is not positive.

    Source: Vaswani et al., "Attention is all you need", 2017.

    >>> optimizer = lucid.optim.Adam([lucid.ones(1, requires_grad=True)])
    >>> scheduler = lucid.optim.lr_scheduler.NoamScheduler(optimizer, model_size=4, warmup_steps=2)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    ...     print(round(scheduler.get_last_lr()[0], 4))
    0.1768
    0.3536
    0.2887
    """

    def __init__(self, optimizer: Optimizer, model_size: int, warmup_steps: int, factor: float = 1.0,
                 last_epoch: int = -1) -> None:
        for name, number in (("model_size", model_size), ("warmup_steps", warmup_steps), ("factor", factor)):
            if number <= 0:
                raise ValueError(f"{name} must be positive, not {number}.")
        self.model_size, self.warmup_steps, self.factor = model_size, warmup_steps, factor
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """See the class."""
        self._warn_outside_step()
        step = max(self.last_epoch, 1)
        rate = self.factor * self.model_size**-0.5 * min(step**-0.5, step * self.warmup_steps**-1.5)
        return [rate for _ in self.base_lrs]
