"""Averages of the weights of a model over the steps of its training, as in `torch.optim.swa_utils`.

Stochastic weight averaging (SWA, equal weights) is from Izmailov et al., "Averaging Weights Leads to Wider Optima and Better
Generalization", UAI 2018; the exponential moving average (EMA) goes back to Polyak and Juditsky, 1992. ::

    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    for x, y in loader:
        ...
        optimizer.step()
        average.update_parameters(model)

>>> from lucid.optim.swa_utils import AveragedModel
>>> model = nn.Linear(1, 1)
>>> average = AveragedModel(model)
>>> average.update_parameters(model)
>>> average.n_averaged.item()
1
"""
from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .. import _dtypes, _recording
from ..autograd.grad_mode import no_grad
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..ops.creation.creation import tensor
from ..tensor import Tensor
from .lr_scheduler.scheduler import LRScheduler, for_each_group
from .optimizer import Optimizer

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
           "update_bn"]

Count = Any  # a number, or a tensor of no dimensions
AvgFn = Callable[[Tensor, Tensor, Count], Tensor]
MultiAvgFn = Callable[[Sequence[Tensor], Sequence[Tensor], Count], None]


def get_ema_avg_fn(decay: float = 0.999) -> AvgFn:
    """The function that gives ``decay * average + (1 - decay) * current``. Raises ValueError for a decay outside 0 to 1.

    >>> average = lucid.optim.swa_utils.get_ema_avg_fn(0.75)
    >>> average(lucid.tensor(0.0), lucid.tensor(4.0), 1)
    Tensor(1.0, requires_grad=False)
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(averaged: Tensor, current: Tensor, num_averaged: Count) -> Tensor:
        return decay * averaged + (1 - decay) * current

    return ema_update


def get_swa_avg_fn() -> AvgFn:
    """The function that gives the mean of `num_averaged` models, of which `averaged` is the mean, and one more.

    >>> lucid.optim.swa_utils.get_swa_avg_fn()(lucid.tensor(1.0), lucid.tensor(4.0), 2)  # the mean of three
    Tensor(2.0, requires_grad=False)
    """
    @no_grad()
    def swa_update(averaged: Tensor, current: Tensor, num_averaged: Count) -> Tensor:
        return averaged + (current - averaged) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAvgFn:
    """`get_ema_avg_fn` for lists of tensors, the first of which is updated in place, without copies.

    Integers are rounded towards zero. Raises ValueError for a decay outside 0 to 1.

    >>> averages = [lucid.tensor(0.0)]
    >>> lucid.optim.swa_utils.get_ema_multi_avg_fn(0.75)(averages, [lucid.tensor(4.0)], 1)
    >>> averages
    [Tensor(1.0, requires_grad=False)]
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(averaged: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Count) -> None:
        for average, value in zip(averaged, current, strict=True):
            if _dtypes.is_differentiable(average.dtype):
                average.lerp_(value, 1 - decay)
            else:
                average.copy_(average * decay + value * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> MultiAvgFn:
    """`get_swa_avg_fn` for lists of tensors, the first of which is updated in place, without copies.

    The function raises RuntimeError for integers.

    >>> averages = [lucid.tensor(1.0)]
    >>> lucid.optim.swa_utils.get_swa_multi_avg_fn()(averages, [lucid.tensor(4.0)], 2)
    >>> averages
    [Tensor(2.0, requires_grad=False)]
    """
    @no_grad()
    def swa_update(averaged: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Count) -> None:
        share = 1 / (num_averaged + 1)
        for average, value in zip(averaged, current, strict=True):
            average.lerp_(value, share)

    return swa_update


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


class AveragedModel(Module):
    """A copy of `model`, on `device` where that is given, that holds the average of its parameters over the calls of
    `update_parameters`; calling it calls the copy.

    `avg_fn(average, current, num_averaged)` returns the new average of a parameter; `multi_avg_fn` gets lists of all
    parameters of one device and dtype instead, and writes the averages into the first. The default is the mean of all models
    so far. The first update copies the parameters.

    Buffers: with `use_buffers` those of floating-point and complex dtype are averaged like parameters, without it they are
    copied from the model. `Buffer(ema="average")` and `Buffer(ema="copy")` decide for one buffer. Integers and bools, a
    count of batches for example, are always copied: PyTorch averages them, and cuts off the fraction. A buffer that was None
    or had another shape when the copy was made is taken over.

    `state_dict()` holds the number of updates, `n_averaged`, and the copy as `module`, but no functions. Raises
    AssertionError if both functions are given.

    >>> model = nn.Linear(1, 1, bias=False)
    >>> average = lucid.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     _ = nn.init.constant_(model.weight, value)
    ...     average.update_parameters(model)
    >>> average.module.weight.item()
    2.0
    """

    _integers_too = False  # `lucid.torch` averages them, as PyTorch does

    def __init__(self, model: Module, device: Any = None, avg_fn: AvgFn | None = None, multi_avg_fn: MultiAvgFn | None = None,
                 use_buffers: bool = False) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=_dtypes.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged copy of the model returns."""
        return self.module(*args, **kwargs)

    @_recording.not_recorded
    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the present parameters of `model`, which may be on another device, into the average.

        Parameters and buffers are those of the copy in the order of `modules()`, tied ones once. Raises ValueError, with
        nothing changed, for a model with more or fewer buffers.
        """
        averaged, copied = self._sort_buffers(model)
        # As in PyTorch, the number of parameters is not checked: a model may have got more.
        pairs = [*zip(self.module.parameters(), model.parameters(), strict=False), *averaged]
        found = [(average.detach(), value.detach().to(average.device)) for average, value in pairs]
        count = int(self.n_averaged)
        to_average = [pair for pair in found if self._has_average(pair[0])] if count else []
        for average, value in found:
            if not count or not self._has_average(average):
                average.copy_(value)
        self._average(to_average, count)
        for owner, name, buffer in copied:
            self._copy_buffer(owner, name, buffer)
        self.n_averaged += 1

    def _average(self, pairs: list[tuple[Tensor, Tensor]], count: int) -> None:
        """Update the first tensor of each pair with the second."""
        if self.avg_fn is not None:
            for average, value in pairs:
                average.copy_(self.avg_fn(average, value, self.n_averaged.detach().to(average.device)))
            return
        groups: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
        for average, value in pairs:
            averages, values = groups.setdefault((average.device, average.dtype), ([], []))
            averages.append(average)
            values.append(value)
        for (device, _), (averages, values) in groups.items():
            if self.multi_avg_fn is not None:
                self.multi_avg_fn(averages, values, self.n_averaged.detach().to(device))
            elif _dtypes.is_differentiable(averages[0].dtype):
                get_swa_multi_avg_fn()(averages, values, count)
            else:
                for average, value in zip(averages, values, strict=True):
                    average.copy_(get_swa_avg_fn()(average, value, count))

    def _sort_buffers(self, model: Module) -> tuple[list[tuple[Tensor, Tensor]], list[tuple[Module, str, Tensor | None]]]:
        """The buffers to average, as pairs (average, value), and those to copy: (module of the copy, name, value)."""
        slots, values = list(_slots(self.module)), [owner._buffers[name] for owner, name in _slots(model)]
        if len(slots) != len(values):
            raise ValueError(f"the averaged model has {len(slots)} buffers, but the model {len(values)}: make a new "
                             "AveragedModel of a model with other modules")
        averaged, copied = [], []
        seen = set()
        for (owner, name), value in zip(slots, values, strict=True):
            average = owner._buffers[name]
            if average is not None and id(average) in seen:  # tied buffers are one
                continue
            seen.add(id(average))
            if average is not None and value is not None and self._averages(value) and average.shape == value.shape:
                averaged.append((average, value))
            else:
                copied.append((owner, name, value))
        return averaged, copied

    def _averages(self, buffer: Tensor) -> bool:
        """Whether `buffer` of the model goes into an average."""
        wish = getattr(buffer, "ema", None)
        return self._has_average(buffer) and (self.use_buffers if wish is None else wish == "average")

    def _has_average(self, tensor: Tensor) -> bool:
        """Whether numbers of this dtype are averaged."""
        return self._integers_too or _dtypes.is_differentiable(tensor.dtype)

    def _copy_buffer(self, owner: Module, name: str, value: Tensor | None) -> None:
        """Give the buffer `name` of `owner`, a module of the copy, the content `value`."""
        target = owner._buffers[name]
        if target is not None and value is not None and target.shape == value.shape:
            target.detach().copy_(value.detach())
        elif value is None:
            setattr(owner, name, None)
        else:
            device = next((p.device for p in self.module.parameters()), value.device) if target is None else target.device
            setattr(owner, name, value.detach().to(device, copy=True))


def _slots(model: Module) -> Iterator[tuple[Module, str]]:
    """Pairs (module, name) of all buffers below `model`, those that are None too."""
    return ((module, name) for module in model.modules() for name in module._buffers)


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the running statistics of all batch normalisations of `model`, as the mean over the batches of `loader`.

    A batch is the input of the model, moved to `device` where that is given, or a list or tuple whose first item is. The model
    runs in training mode, and is in the mode it was before afterwards, as are the momenta, also if a batch raises.

    >>> model = nn.Sequential(nn.BatchNorm1d(1))
    >>> lucid.optim.swa_utils.update_bn([lucid.tensor([[1.0], [3.0]])], model)
    >>> model[0].running_mean
    Tensor([2.0], requires_grad=False)
    """
    norms = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not norms:
        return
    was_training = model.training
    try:
        model.train()
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # the plain mean of all batches
        for batch in loader:
            input = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(input if device is None else input.to(device))
    finally:
        for norm, momentum in norms.items():
            norm.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Lead the learning rate of each group to `swa_lr`, a number or one for each group, in `anneal_epochs` steps, and keep it.

    `anneal_strategy` is "cos", half a wave of the cosine, or "linear". Raises ValueError for another strategy, for epochs that
    are not an integer of at least 0, and for a number of learning rates that is not that of the groups.

    >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = lucid.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> for _ in range(3):
    ...     print(scheduler.get_last_lr())
    ...     optimizer.step()
    ...     scheduler.step()
    [1.0]
    [0.75]
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos",
                 last_epoch: int = -1) -> None:
        rates = for_each_group("swa_lr", optimizer, swa_lr)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """The share of `swa_lr` after the part `t`, from 0 to 1, of the epochs."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def _share(self, step: int) -> float:
        return self.anneal_func(max(0.0, min(1.0, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> list[Any]:
        """See the class. From the present learning rate follows the one at the start, so that it may be changed by hand."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            rate, goal = group["lr"], group["swa_lr"]
            start = goal if before == 1 else (rate - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
