"""CyclicLR: the learning rate goes up and down between two bounds (Smith 2017)."""
from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .scheduler import MomentumScheduler, for_each_group, set_option


class CyclicLR(MomentumScheduler):
    """From `base_lr` to `max_lr` in `step_size_up` steps and back in `step_size_down` (as many, by default); call `step` after
    every batch.

    The height of the cycles stays ('triangular'), halves with every cycle ('triangular2') or shrinks with every step as
    ``gamma ** step`` ('exp_range'); a function `scale_fn` of the cycle or, with ``scale_mode='iterations'``, of the step takes
    the place of `mode`. With `cycle_momentum` the momentum (of Adam: beta1) goes the opposite way, from `max_momentum` to
    `base_momentum`. Raises ValueError for another mode, lists of a wrong length and an optimizer without momentum.

    >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = lucid.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.0, max_lr=1.0, step_size_up=2)
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     print(round(scheduler.get_last_lr()[0], 4))
    ...     scheduler.step()
    0.0
    0.5
    1.0
    0.5
    """

    def __init__(self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float],
                 step_size_up: int = 2000, step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
                 scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle", cycle_momentum: bool = True,
                 base_momentum: float = 0.8, max_momentum: float = 0.9, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        lowest = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(lowest, optimizer.param_groups, strict=True):
                set_option(group, "lr", rate)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        down = float(step_size_up if step_size_down is None else step_size_down)
        self.total_size = float(step_size_up) + down
        self.step_ratio = float(step_size_up) / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._find_momentum(optimizer)
            self.base_momentums = for_each_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = for_each_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for least, most, group in zip(self.base_momentums, self.max_momentums, optimizer.param_groups, strict=True):
                    self._set_momentum(group, most)
                    group["max_momentum"] = most
                    group["base_momentum"] = least
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, of a cycle's number or a step's, relative to that of the first."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[Any]:
        """See the class. Also sets the momentum."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        fraction = 1 + self.last_epoch / self.total_size - cycle
        height = fraction / self.step_ratio if fraction <= self.step_ratio else (fraction - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for least, most, group in zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True):
                self._set_momentum(group, most - (most - least) * height)
        return [base + (most - base) * height for base, most in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and a plain function; the attributes of a callable object are saved."""
        state = super().state_dict()
        scale = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None if scale is None or isinstance(scale, types.FunctionType) else scale.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` gave."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])
