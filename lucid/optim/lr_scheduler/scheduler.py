"""LRScheduler: the base class of learning-rate schedules."""
from __future__ import annotations

import warnings
from typing import Any

from ... import _recording
from ...tensor import Tensor
from ..optimizer import Group, Optimizer

_ORDER = ("In PyTorch 1.1.0 and later, you should call them in the opposite order: `optimizer.step()` before "
          "`lr_scheduler.step()`. Failure to do this will skip the first value of the learning rate schedule. See more "
          "details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate")
EPOCH_WARNING = ("The epoch parameter in `scheduler.step()` is deprecated. Please use `scheduler.step()` to step the "
                 "scheduler. With an epoch, the closed form is used instead of the chainable form, where available.")


def set_option(group: Group, name: str, value: Any) -> None:
    """Set an option of a parameter group; one that is a tensor is filled, and stays the same tensor."""
    if isinstance(group[name], Tensor):
        group[name].fill_(float(value))
    else:
        group[name] = value


def own(value: Any) -> Any:
    """A copy of a tensor; anything else as it is."""
    return value.clone() if isinstance(value, Tensor) else value


def for_each_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """`value` once for each parameter group, or the values in a list. Raises ValueError if their number does not fit."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * groups
    elif len(value) != groups:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                         f"param_groups has {groups}.")
    return [own(item) for item in value]


class LRScheduler:
    """The base class of learning-rate schedules, as in PyTorch: a subclass defines `get_lr`.

    Making one sets the first learning rate; call `step` after the optimizer's. `last_epoch` resumes after that epoch:
    the groups then need the 'initial_lr' that an earlier schedule wrote there. Raises TypeError without an Optimizer and
    KeyError where 'initial_lr' is missing.

    >>> class Halving(lucid.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr * 0.5 ** self.last_epoch for lr in self.base_lrs]
    >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=0.8)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.4]
    """

    _get_lr_called_within_step = False
    _is_initial = False  # while the constructor sets the first learning rate
    _last_lr: list[Any]
    last_epoch: int
    optimizer: Optimizer

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", own(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with "
                               "last_epoch >= 0. Load the optimizer's state_dict first, or leave last_epoch at -1.")
        self.base_lrs: list[Any] = self._values("initial_lr")
        self.last_epoch = last_epoch
        if not hasattr(optimizer, "_has_scheduler"):  # only steps from now on count for the warning of `step`
            optimizer._has_scheduler = True  # type: ignore[attr-defined]
            optimizer._opt_called = False  # type: ignore[attr-defined]
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def _undo_first_step(self) -> None:
        self.last_epoch -= 1

    def _values(self, name: str) -> list[Any]:
        """An option of each parameter group, copied where it is a tensor."""
        return [own(group[name]) for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[Any]:
        """The learning rates set last, one for each parameter group.

        >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=0.5)
        >>> lucid.optim.lr_scheduler.StepLR(optimizer, step_size=2).get_last_lr()
        [0.5]
        """
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The learning rates for `last_epoch`, computed from the present ones: for subclasses to define.

        >>> class Halving(lucid.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [lr * 0.5 ** self.last_epoch for lr in self.base_lrs]
        >>> Halving(lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=0.5)).get_lr()
        [0.5]
        """
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "step" in cls.__dict__:
            cls.step = _recording.not_recorded(cls.step)  # type: ignore[method-assign]

    @_recording.not_recorded
    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch and set its learning rates. `epoch` is deprecated: it goes to that epoch.

        Warns if the optimizer has not stepped since the schedule was made.

        >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=0.5)
        >>> scheduler = lucid.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_reports_to_scheduler"):
                warnings.warn("Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                              f"initialization. {_ORDER}", UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):  # a copied optimizer has not stepped
                warnings.warn(f"Detected call of `lr_scheduler.step()` before `optimizer.step()`. {_ORDER}", UserWarning,
                              stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        compute = self.get_lr if epoch is None else getattr(self, "_get_closed_form_lr", self.get_lr)
        self._get_lr_called_within_step = True
        try:
            rates = compute()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = self._values("lr")

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                          UserWarning, stacklevel=3)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer.

        >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=0.5)
        >>> lucid.optim.lr_scheduler.StepLR(optimizer, step_size=2).state_dict()["step_size"]
        2
        """
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load what `state_dict` gave. The learning rates themselves are in the optimizer's state_dict.

        >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=0.5)
        >>> scheduler = lucid.optim.lr_scheduler.StepLR(optimizer, step_size=2)
        >>> scheduler.load_state_dict({**scheduler.state_dict(), "last_epoch": 7})
        >>> scheduler.last_epoch
        7
        """
        self.__dict__.update(state_dict)


class MomentumScheduler(LRScheduler):
    """What schedules share that set the momentum too: the option 'momentum' or the first of 'betas'."""

    use_beta1: bool

    def _find_momentum(self, optimizer: Optimizer) -> None:
        """Say which option it is. Raises ValueError if there is none."""
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults

    def _set_momentum(self, group: Group, value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class _LRScheduler(LRScheduler):
    """The base class by its old name."""
