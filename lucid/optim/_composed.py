"""Optimizers whose steps are composed of tensor operations, parameter by parameter; on a GPU they are kernels (`_gpu`).
Their steps as functions of lists of tensors.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from .. import _dtypes
from .._writers import writes
from ..autograd.grad_mode import enable_grad, no_grad, set_grad_enabled
from ..ops.creation.creation import tensor
from ..tensor import Tensor, version_box, wrap
from . import _gpu
from ._complex import Copies, as_real, copy_back
from ._fused import update
from .optimizer import Group, Optimizer, counts_on_device, shape_error

State = dict[str, Any]
Tensors = Sequence[Tensor]
MaybeTensors = Sequence[Tensor | None]


class ComposedOptimizer(Optimizer):
    """The base of optimizers that define what their state begins with, and the update of one parameter.

    `foreach` is accepted and changes nothing; `fused` and `capturable` say where counts are, as in PyTorch: with the parameters.
    A step with `capturable` may be captured, and repeated with other options: `write_options`. With `differentiable` the
    operations of a step are recorded like any others: gradients flow through it to the gradients and the state it used, and the
    parameters must not be leaves.
    """

    _rule = ""  # of the kernel that takes the steps of a group on a GPU, and the dtypes that it takes
    _rule_dtypes = "fd"
    _numbers: tuple[str, ...] = ("step",)  # 0-d tensors of the state that the kernel counts on

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

    def _options(self, group: Group) -> list[float]:
        """The options of the kernel: the learning rate, the weight decay, whether to climb, and those of the rule."""
        lr, decay = group["lr"], group.get("weight_decay", 0)
        lr = 0.0 if _gpu.is_on_gpu(lr) else float(lr)  # the kernel reads it there
        return [lr, float(decay), group["maximize"], *self._rule_options(group)]

    def _rule_options(self, group: Group) -> Sequence[float]:
        raise NotImplementedError

    def _begun(self, param: Tensor, group: Group) -> tuple[State, list[Tensor], Sequence[str | None]]:
        """The state of `param`, which begins if it has not, its numbers, and the names of its moments; None for those that the
        options do not need.
        """
        state = self.state[param]
        if not state:
            state.update(self._begin(param, group))
        return state, [state[name] for name in self._numbers], self._moments(group)

    def _moments(self, group: Group) -> Sequence[str | None]:
        return self._elementwise_state

    def _counted(self, state: State, group: Group) -> list[float]:
        """The numbers of a state on the host, which are counted on, as they were before."""
        before = [state[name].item() for name in self._numbers]
        self._count(state, group)
        return before

    def _count(self, state: State, group: Group) -> None:
        count(state)

    def write_options(self) -> None:
        """Write learning rates and other options that have changed to where captured steps read them.

        It comes before each replay of a step. A learning rate that is a tensor on the device needs it not. PyTorch has no
        such method: there a captured number stays as it was.
        """
        _gpu.write_options(self)

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
        for number, (group, pairs) in enumerate(self._ready()):
            if pairs.__class__ is _gpu.Collected:
                _gpu.repeat_step(self, group, pairs)
                continue
            self._take(number, group, pairs)
        return loss

    def _take(self, number: int, group: Group, pairs: list[tuple[Tensor, Tensor]]) -> None:
        """Take the step of a group, by its number, with these (parameter, gradient) pairs."""
        left: Sequence[tuple[Tensor, Tensor]] = pairs
        if self._takes_sparse:
            left = pairs = self._without_sparse(group, pairs)
        if self._rule and not (group.get("differentiable") or self.defaults.get("differentiable")):
            left = _gpu.step(self, group, pairs, number)
            if left:
                left = _gpu.unscaled(self, group, left)
        if left:
            self._update_group(group, left)

    def _repeat(self, number: int, group: Group) -> _gpu.Collected | None:
        repeated = self.__dict__.get("_repeated", {}).get(number)
        if repeated is None or group.get("differentiable"):
            return None
        found: _gpu.Collected | None = repeated.collected(self.state, group["params"], self._moments(group))
        return found

    def _without_sparse(self, group: Group, pairs: list[tuple[Tensor, Tensor]]) -> list[tuple[Tensor, Tensor]]:
        """Take the steps with sparse gradients, and return the other pairs."""
        dense = []
        for param, grad in pairs:
            if hasattr(grad._array, "is_sparse"):
                with no_grad():
                    self._update_sparse(param, -grad if group.get("maximize") else grad, group)
            else:
                dense.append((param, grad))
        return dense

    def _update_sparse(self, param: Tensor, grad: Tensor, group: Group) -> None:
        """`_update` with a sparse gradient, in an optimizer that `_takes_sparse`."""
        raise NotImplementedError

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


def take_step(cls: type[ComposedOptimizer], params: Tensors, grads: Tensors, state: Mapping[str, MaybeTensors],
              differentiable: bool = False, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
              **options: Any) -> list[State]:
    """Take a step of `cls` with `options`, in place; returns the state of each of `params` after it.

    `state` has a list for each name of the state, which may be empty where the options do not need it; a None begins in the step.
    With `differentiable` the operations are recorded, and write the tensors of the state themselves. `grad_scale` and `found_inf`
    are read with the option `fused`.

    Raises RuntimeError for counts of steps that are no tensors, and for gradients that do not fit or must not be sparse;
    ValueError for lists of other lengths; NotImplementedError for complex parameters with `differentiable`.
    """
    if not all(isinstance(step, Tensor) for step in state.get("step", ())):
        raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")
    lists = {name: tensors for name, tensors in state.items() if len(tensors)}
    states: list[State] = []
    for param, grad, *tensors in zip(params, grads, *lists.values(), strict=True):
        if hasattr(grad._array, "is_sparse") and not cls._takes_sparse:
            raise RuntimeError(cls._sparse_refusal or f"{cls.__name__} does not support sparse gradients")
        if grad.shape != param.shape or grad.dtype != param.dtype or grad.device != param.device:
            raise shape_error(param, grad)
        if differentiable and param.is_complex():
            raise NotImplementedError("differentiable=True is not supported for complex parameters")
        states.append({name: tensor for name, tensor in zip(lists, tensors, strict=True) if tensor is not None})
    if not states:
        return states
    optimizer = cls.__new__(cls)
    group = {"params": list(params), "capturable": False, "fused": None, **options, "differentiable": False}
    optimizer.defaults = {**group, "differentiable": differentiable}
    optimizer.param_groups = [group]
    optimizer.grad_scale, optimizer.found_inf = grad_scale, found_inf  # type: ignore[attr-defined]
    if len({id(param) for param in params}) == len(params):
        optimizer.state = dict(zip(params, states, strict=True))  # type: ignore[assignment]
        optimizer._take(0, group, list(zip(params, grads, strict=True)))
        return states
    for param, grad, entries in zip(params, grads, states, strict=True):
        optimizer.state = {param: entries}  # type: ignore[assignment]
        optimizer._take(0, group, [(param, grad)])
    return states


def new_step(value: float = 0.0) -> Tensor:
    """A count of steps: a 0-d float32 tensor on the CPU, as in PyTorch."""
    return tensor(value, dtype=_dtypes.float32, device="cpu")


def new_number(param: Tensor, group: Group, value: float = 0.0) -> Tensor:
    """A count of steps, or another number of the state: as PyTorch's, with `capturable` and `fused` where `param` is."""
    return tensor(value, dtype=_dtypes.float32, device=param.device) if counts_on_device(group) else new_step(value)


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
