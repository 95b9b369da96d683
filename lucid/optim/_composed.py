"""Optimizers whose steps are composed of tensor operations, parameter by parameter."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from .. import _dtypes
from .._writers import writes
from ..autograd.grad_mode import enable_grad, set_grad_enabled
from ..ops.creation.creation import tensor
from ..tensor import Tensor, version_box, wrap
from ._complex import Copies, as_real, copy_back
from ._fused import update
from .optimizer import Group, Optimizer

State = dict[str, Any]


class ComposedOptimizer(Optimizer):
    """The base of optimizers that define what their state begins with, and the update of one parameter.

    `foreach`, `fused` and `capturable` are accepted and change nothing. With `differentiable` the operations of a step are
    recorded like any others: gradients flow through it to the gradients and the state it used, and the parameters must not
    be leaves.
    """

    # What groups of checkpoints of older versions lack.
    _later_options: ClassVar[dict[str, Any]] = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False,
                                                "fused": None, "decoupled_weight_decay": False}

    def _begin(self, param: Tensor, group: Group) -> State:
        """The state of `param` before its first step."""
        raise NotImplementedError

    def _update(self, param: Tensor, grad: Tensor, state: State, group: Group) -> None:
        """Take a step: write `param` and `state`, but not `grad`.

        As it is, by elementwise operations: ``_move(grad, param, *state, *scalars, **options)``, with the `_elementwise_state`,
        None for what there is not.
        """
        scalars, options = self._scalars(state, group)
        update(type(self)._move, grad, [param, *map(state.get, self._elementwise_state)], scalars, options)

    _move: ClassVar[Callable[..., None]]

    def _scalars(self, state: State, group: Group) -> tuple[tuple[float, ...], State]:
        """(scalars, options) of the step that begins, which is counted: those that change with each step, and the others."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for option, value in self._later_options.items():
                if option in self.defaults:
                    group.setdefault(option, value)
            for param in group["params"]:  # old checkpoints count steps as numbers
                entries = self.state.get(param)
                if entries and "step" in entries and not isinstance(entries["step"], Tensor):
                    entries["step"] = new_step(float(entries["step"]))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take a step against the gradients (along them with `maximize`); returns what `closure`, if given, returns.

        Raises RuntimeError, with nothing changed, if a gradient does not fit its parameter.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group, pairs in self._ready():
            self._update_group(group, pairs)
        return loss

    def _update_group(self, group: Group, pairs: Sequence[tuple[Tensor, Tensor]]) -> None:
        """Take a step with the parameters of `group` that have gradients: (parameter, gradient) pairs."""
        with set_grad_enabled(bool(self.defaults.get("differentiable"))):
            for param, grad in pairs:
                state = self.state[param]
                if not state:
                    state.update(self._begin(param, group))
                if group.get("differentiable"):  # what the graph has saved of the last step must not be written
                    state.update({name: state[name].clone() for name in self._elementwise_state if name in state})
                if param.is_complex():
                    self._update_parts(param, grad, state, group)
                else:
                    self._update(param, -grad if group.get("maximize") else grad, state, group)

    @writes("written")
    def _update_parts(self, param: Tensor, grad: Tensor, state: State, group: Group) -> None:
        """`_update` of the real and imaginary parts."""
        if group.get("differentiable"):
            raise NotImplementedError("differentiable=True is not supported for complex parameters")
        names = [name for name in self._elementwise_state if state.get(name) is not None]
        written = [param, *[state[name] for name in names]]
        copies: Copies = []
        target, *moments = map(wrap, as_real([t._array for t in written], copies))
        slope = wrap(as_real([grad._array], [])[0])
        self._update(target, -slope if group.get("maximize") else slope, {**state, **dict(zip(names, moments, strict=True))},
                     group)
        copy_back(copies)
        for changed in written:
            version_box(changed).bump()


def new_step(value: float = 0.0) -> Tensor:
    """A count of steps: a 0-d float32 tensor on the CPU, as in PyTorch."""
    return tensor(value, dtype=_dtypes.float32, device="cpu")


def count(state: State) -> float:
    """Count one step more, and return which one it is: 1 at the first."""
    counter = state["step"]
    number: float = counter._array.item() + 1
    counter._array[()] = number
    (counter._version_box or version_box(counter)).bump()
    return number


def decayed(grad: Tensor, param: Tensor, weight_decay: float) -> Tensor:
    """The gradient with the L2 penalty of `weight_decay`."""
    return grad.add(param, alpha=weight_decay) if weight_decay != 0 else grad


def chosen(group: Group, *names: str) -> dict[str, Any]:
    """Options of a group."""
    return {name: group[name] for name in names}


def check_lr(lr: float | Tensor, message: str = "Invalid learning rate: {}") -> None:
    """Raise ValueError for a negative learning rate, or a tensor of several."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(message.format(lr))


def check_not_negative(**options: float) -> None:
    """Raise ValueError that names the first negative option."""
    for name, value in options.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")
