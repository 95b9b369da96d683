"""CosineAnnealingWarmRestarts: a cosine down again and again (SGDR, Loshchilov and Hutter 2017)."""
from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler, set_option


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the initial learning rate down to `eta_min` in `T_0` epochs, then from the start again; every period
    is `T_mult` times as long as the one before.

    ``step(epoch)`` goes to any epoch, also to fractions of one: call ``step(epoch + batch / batches)`` after every batch.
    Raises ValueError unless `T_0` and `T_mult` are integers of at least 1 and `eta_min` is a number, and in `step` for a
    negative epoch.

    >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = lucid.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     print(round(scheduler.get_last_lr()[0], 4))
    ...     scheduler.step()
    1.0
    0.5
    1.0
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0  # the length of the present period
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch  # epochs since its start
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """See the class."""
        self._warn_outside_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to `epoch`, and set its learning rates. May be called before the optimizer's `step`."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            self._find_period(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = self._values("lr")

    def _find_period(self, epoch: float) -> None:
        """Set `T_i` and `T_cur` for `epoch`."""
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        self.T_i, self.T_cur = self.T_0, epoch
        if epoch >= self.T_0:
            if self.T_mult == 1:
                self.T_cur = epoch % self.T_0
            else:
                number = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
                self.T_i = self.T_0 * self.T_mult**number
                self.T_cur = epoch - self.T_0 * (self.T_mult**number - 1) / (self.T_mult - 1)
