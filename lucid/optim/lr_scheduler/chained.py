"""ChainedScheduler: several schedules at once."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler


class ChainedScheduler(LRScheduler):
    """Let all `schedulers` take a step each time: each changes the learning rate that the one before it has left.

    Raises ValueError for no schedules, a `ReduceLROnPlateau`, whose `step` needs a metric, and schedules of different
    optimizers; TypeError for what is no schedule.

    >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=1.0)
    >>> schedulers = lucid.optim.lr_scheduler
    >>> halved, shrinking = schedulers.ConstantLR(optimizer, 0.5, total_iters=2), schedulers.ExponentialLR(optimizer, 0.5)
    >>> scheduler = schedulers.ChainedScheduler([halved, shrinking])
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     print(scheduler.get_last_lr())
    ...     scheduler.step()
    [0.5]
    [0.25]
    [0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        for number, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {number} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(f"{name} does not support `ReduceLROnPlateau` (at index {number}): its step() needs a metric")
            if scheduler.optimizer is not optimizer:
                raise ValueError(f"{name} expects all schedulers to belong to the same optimizer, but "
                                 f"{type(scheduler).__name__} at index {number} belongs to another one")
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = self._values("lr")

    def step(self) -> None:
        """Let all schedules take a step."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._values("lr")

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, with the states of the schedules."""
        state = {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "_schedulers")}
        return state | {"_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` gave."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)
