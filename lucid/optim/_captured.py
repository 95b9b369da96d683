"""A step of an optimizer on a GPU as part of a CUDA graph: its kernels alone, without what Python does around them.

What changes from step to step is read on the device: the options of each group, which are written there when they have changed,
and the counts of steps. Counts that lie on the host, as by default, are counted on there too, and have a copy on the device.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from .. import backends
from ..autograd.inplace import bump_all
from ..backends import TABLES
from ..tensor import Tensor
from . import optimizer as hooks
from ._composed import ComposedOptimizer
from ._gpu import _KERNEL, is_on_gpu

_step: Any = ComposedOptimizer.step
_GONE = (KeyError, IndexError, AttributeError)


class CapturedStep:
    """``optimizer.step()`` of those parameters that have gradients; `launch` is called in a capture, `done` after each launch."""

    def __init__(self, optimizer: ComposedOptimizer, params: Sequence[Tensor]) -> None:
        self.name = type(optimizer).__name__
        self.params: list[Tensor] = []  # in the order in which `launch` gets their gradients
        self._optimizer = optimizer
        self._chosen = frozenset(map(id, params))
        self._groups: list[_Group] = []
        self._is_prepared = False

    @classmethod
    def of(cls, function: Any, arguments: Sequence[Any], params: Callable[[ComposedOptimizer], Sequence[Tensor] | None]
           ) -> CapturedStep | None:
        """Of the call of a step; None where another one takes it. `params` says which parameters have gradients then."""
        if function is not _step.__wrapped__ or len(arguments) != 1 or not isinstance(arguments[0], ComposedOptimizer):
            return None
        optimizer = arguments[0]
        if not (type(optimizer).__module__.startswith(f"{__package__}.") and optimizer._rule):
            return None
        chosen = params(optimizer)
        found = None if not chosen else cls(optimizer, chosen)
        return found if found is not None and found._begin() else None

    def _begin(self) -> bool:
        """Look at the optimizer as it is now; whether a graph can take its steps."""
        optimizer = self._optimizer
        self._groups, self.params = [], []
        if _has_hooks(optimizer) or any(getattr(optimizer, name, None) is not None for name in ("found_inf", "grad_scale")):
            return False
        for group in optimizer.param_groups:
            params = [param for param in group["params"] if id(param) in self._chosen]
            if group.get("differentiable") or any(isinstance(value, Tensor) for value in group.values()):
                return False
            if not params:
                continue
            if len({*map(id, params)}) < len(params):  # a second step of one would need the first one's count
                return False
            if not all(is_on_gpu(p) and p._array.dtype.char in optimizer._rule_dtypes for p in params) or len(
                    {p._array.device.id for p in params}) > 1:
                return False
            found = _Group.of(optimizer, group, params)
            if found is None:
                return False
            self._groups.append(found)
            self.params += params
        return bool(self.params)

    def _look(self) -> None:
        """Note where the step finds what it works with: (container, key, content), and arrays with their tensors."""
        optimizer = self._optimizer
        self._seen = optimizer.state, optimizer.param_groups, len(optimizer.param_groups)
        self._places = [(optimizer.param_groups, number, group) for number, group in enumerate(optimizer.param_groups)]
        self._arrays: list[tuple[Tensor, Any]] = []
        for group in self._groups:
            places, arrays = group.held(optimizer.state)
            self._places += places
            self._arrays += arrays

    def _finds_the_same(self) -> bool:
        """Whether the step finds the very same objects now."""
        optimizer, (state, groups, count) = self._optimizer, self._seen
        if _has_hooks(optimizer) or any(getattr(optimizer, name, None) is not None for name in ("found_inf", "grad_scale")):
            return False
        if optimizer.state is not state or optimizer.param_groups is not groups or len(groups) != count:
            return False
        try:
            for container, key, content in self._places:
                if container[key] is not content:
                    return False
            for tensor, array in self._arrays:
                if tensor._array is not array:
                    return False
        except _GONE:
            return False
        return True

    # ---- for graphs ----------------------------------------------------------------------------------------------
    def holds(self) -> bool:
        """Whether what has been captured is the step that the optimizer would take now."""
        return self._is_prepared and self._finds_the_same() and all(group.is_same() for group in self._groups)

    def prepare(self) -> None:
        """Get ready for a capture, before it begins. Raises ValueError if a graph cannot take the step."""
        before = list(map(id, self.params))
        if not self._begin() or list(map(id, self.params)) != before:
            raise ValueError(f"step() of {self.name} is not what it was when it was recorded")
        for group in self._groups:
            group.prepare()
        self._look()
        self._is_prepared = True

    def launch(self, grads: Sequence[Any]) -> None:
        """Take the step with these arrays of gradients."""
        start = 0
        for group in self._groups:
            end = start + len(group.params)
            group.launch(grads[start:end])
            start = end

    def bring(self) -> None:
        """Bring to the device what has changed there, before a launch."""
        for group in self._groups:
            group.bring()

    def done(self) -> None:
        """Count the step, and what it has written."""
        self._optimizer._opt_called = True  # type: ignore[attr-defined]
        for group in self._groups:
            group.count()
            bump_all(group.written)


class _Group:
    """The parameters of a group that have gradients, with their state."""

    def __init__(self, optimizer: ComposedOptimizer, group: dict[str, Any], params: list[Tensor]) -> None:
        self.params = params
        self.written: list[Tensor] = []
        self._optimizer, self._group = optimizer, group
        self._states: list[Any] = []
        self._rows: list[list[Any]] = []  # without gradients
        self._counts: list[list[Any]] = []
        self._moments = tuple(optimizer._moments(group))
        self._count_of_params = len(group["params"])
        options = [name for name in group if name != "params"]
        self._look: Callable[[Any], Any] = itemgetter(*options, "lr")  # of several, so that it gives a tuple
        self._seen = self._look(group)
        self._on_host = False
        self._copies: Any = None  # of counts on the host
        self._copied: list[float] = []

    @classmethod
    def of(cls, optimizer: ComposedOptimizer, group: dict[str, Any], params: list[Tensor]) -> _Group | None:
        """None where the state has not begun, or the host computes more of it than a count."""
        found = cls(optimizer, group, params)
        for param in params:
            before = len(optimizer.state.get(param) or ())
            state, numbers, names = optimizer._begun(param, group)
            if len(state) != before:
                return None
            moments = [None if name is None else state[name] for name in names]
            found.written += [param, *[moment for moment in moments if moment is not None]]
            found._rows.append([param._array, *[None if moment is None else moment._array for moment in moments]])
            found._states.append(state)
            if not numbers:
                found._counts.append(optimizer._counted(state, group))
            elif all(number._array.__class__ is param._array.__class__ for number in numbers):
                found._counts.append([number._array for number in numbers])
                found.written += numbers
            elif optimizer._numbers == ("step",):
                found._on_host = True
            else:
                return None
        return None if found._on_host and found._counts else found

    def held(self, states: dict[Any, Any]) -> tuple[list[tuple[Any, Any, Any]], list[tuple[Tensor, Any]]]:
        """The places of its state in `states`, and the arrays of those tensors that a graph has."""
        places: list[tuple[Any, Any, Any]] = []
        arrays: list[tuple[Tensor, Any]] = []
        for param, state in zip(self.params, self._states, strict=True):
            if state:
                places.append((states, param, state))
            for key, value in state.items():
                if value.__class__ is Tensor:
                    places.append((state, key, value))
                    if value._array.__class__ is not np.ndarray:
                        arrays.append((value, value._array))
        return places, arrays

    def is_same(self) -> bool:
        """Whether its options ask for the same kernel, with the same arrays."""
        group = self._group
        if len(group["params"]) != self._count_of_params:
            return False
        now = self._look(group)
        return now == self._seen or not (
            any(isinstance(value, Tensor) for value in now) or group.get("differentiable")
            or tuple(self._optimizer._moments(group)) != self._moments
            or any(group.get(name) != before for name, before in self._placing))

    def prepare(self) -> None:
        """Make what lies on the device."""
        gpu, group = backends.gpu_module(), self._group
        self._placing = [(name, group.get(name)) for name in ("capturable", "fused")]
        self._kept = gpu.kept_numbers()
        self._kept.write(self._optimizer._options(group))
        if self._on_host:
            self._copies = gpu.ndarray((len(self.params),), np.float32)
            self._counts = [[self._copies[number]] for number in range(len(self.params))]
            self._copied = []

    def launch(self, grads: Sequence[Any]) -> None:
        """Take the step."""
        arrays = [array for (param, *moments), grad in zip(self._rows, grads, strict=True) for array in (param, grad, *moments)]
        kernel = TABLES[self.params[0]._array.__class__][_KERNEL]
        kernel(*arrays, rule=self._optimizer._rule, counts=self._counts, options=self._optimizer._options(self._group),
               kept=self._kept)

    def bring(self) -> None:
        """Bring options and counts of the host to the device that are others than those there.

        Raises RuntimeError if they ask for another step than that which was captured.
        """
        now = self._look(self._group)
        if now != self._seen:
            if not self.is_same():
                raise RuntimeError("lucid.compile: options of an optimizer that choose what is computed have changed inside of "
                                   "the call")
            self._kept.write(self._optimizer._options(self._group))
            self._seen = now
        if self._on_host:
            counts = [state["step"]._array.item() for state in self._states]
            if counts != self._copied:
                self._copies.set(np.array(counts, np.float32))
            self._copied = counts

    def count(self) -> None:
        """Count a step on the host, as the device does."""
        if self._on_host:
            for state in self._states:
                self._optimizer._count(state, self._group)
            self._copied = [number + 1 for number in self._copied]


def _has_hooks(optimizer: Any) -> bool:
    return bool(hooks._step_pre_hooks or hooks._step_post_hooks or optimizer._optimizer_step_pre_hooks
                or optimizer._optimizer_step_post_hooks)
