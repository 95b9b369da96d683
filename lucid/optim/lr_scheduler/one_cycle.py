"""OneCycleLR: the learning rate goes up once and down once, the momentum the other way."""
from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .scheduler import MomentumScheduler, for_each_group


class OneCycleLR(MomentumScheduler):
    """The 1cycle policy, stepped after every batch, as `torch.optim.lr_scheduler.OneCycleLR`.

    The learning rate rises from ``max_lr / div_factor`` to `max_lr` in the first `pct_start` of the steps and falls to
    ``max_lr / div_factor / final_div_factor`` in the rest, along a cosine or ('linear') a line; with `three_phase` it first
    falls back the way it came. With `cycle_momentum` the momentum (of Adam: beta1) goes from `max_momentum` to
    `base_momentum` and back. The number of steps is `total_steps`, or ``epochs * steps_per_epoch``.

    Raises ValueError for options out of range, for an optimizer without momentum, and at a step beyond the last.

    >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = lucid.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=4, pct_start=0.5)
    >>> for _ in range(3):
    ...     print(round(scheduler.get_last_lr()[0], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    0.04
    1.0
    0.5
    """

    def __init__(self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
                 anneal_strategy: str = "cos", cycle_momentum: bool = True, base_momentum: float | list[float] = 0.85,
                 max_momentum: float | list[float] = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4,
                 three_phase: bool = False, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        max_lrs = for_each_group("max_lr", optimizer, max_lr)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._find_momentum(optimizer)
            highest = for_each_group("max_momentum", optimizer, max_momentum)
            lowest = for_each_group("base_momentum", optimizer, base_momentum)
        if last_epoch == -1:
            for number, group in enumerate(optimizer.param_groups):
                group["initial_lr"] = max_lrs[number] / div_factor
                group["max_lr"] = max_lrs[number]
                group["min_lr"] = group["initial_lr"] / final_div_factor
                if cycle_momentum:
                    self._set_momentum(group, highest[number])
                    group["max_momentum"] = highest[number]
                    group["base_momentum"] = lowest[number]
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """See the class. Also sets the momentum."""
        self._warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(f"Tried to step {self.last_epoch} times. The specified number of total steps is "
                             f"{self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases[:-1]:
            if self.last_epoch <= phase["end_step"]:
                break
            start = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        progress = (self.last_epoch - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], progress))
            if self.cycle_momentum:
                self._set_momentum(group, self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]],
                                                       progress))
        return rates

    def _anneal(self, start: Any, end: Any, progress: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * progress + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * progress) + 1)


def _total_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is not None:
        given = {"total_steps": total_steps}
    elif epochs is not None and steps_per_epoch is not None:
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    else:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())


def _phases(total_steps: int, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
    """The phases in order: the step at which each ends, and the keys of the groups with its first and last values."""
    def phase(end_step: float, lr: tuple[str, str], momentum: tuple[str, str]) -> dict[str, Any]:
        return {"end_step": end_step, "start_lr": lr[0], "end_lr": lr[1], "start_momentum": momentum[0],
                "end_momentum": momentum[1]}

    up = phase(float(pct_start * total_steps) - 1, ("initial_lr", "max_lr"), ("max_momentum", "base_momentum"))
    if not three_phase:
        return [up, phase(total_steps - 1, ("max_lr", "min_lr"), ("base_momentum", "max_momentum"))]
    return [up,
            phase(float(2 * pct_start * total_steps) - 2, ("max_lr", "initial_lr"), ("base_momentum", "max_momentum")),
            phase(total_steps - 1, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum"))]
