"""Stochastic gradient descent."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._layout import strided
from ..ops.creation.creation import zeros_like
from ..tensor import Tensor
from ._composed import ComposedOptimizer, MaybeTensors, State, Tensors, decayed, take_step
from ._multi_tensor import step_together
from .optimizer import Group, check_options


class SGD(ComposedOptimizer):
    """Stochastic gradient descent with momentum, Nesterov momentum and L2 weight decay, as `torch.optim.SGD`.

    State of a parameter: 'momentum_buffer', with a momentum, from the first step on. `lr` and `weight_decay` may be tensors
    of one element. `foreach` and `fused` are accepted and change nothing: a step is one kernel for all parameters anyway.
    With `differentiable`, where it is composed of operations, parameters must not be leaves.

    Raises ValueError for negative options, and for Nesterov momentum without momentum or with dampening.

    >>> w = nn.Parameter(lucid.tensor([3.0]))
    >>> optimizer = lucid.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w ** 2).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    Tensor([1.38], requires_grad=False)
    """

    _elementwise_state = ("momentum_buffer",)
    _takes_sparse = True
    _rule = "Sgd"
    _rule_dtypes = "fdeE"
    _numbers = ()

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_options(fused, foreach, differentiable)
        self._step_supports_amp_scaling = bool(fused)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)

    def _update_group(self, group: Group, pairs: Sequence[tuple[Tensor, Tensor]]) -> None:
        if self.defaults["differentiable"]:
            super()._update_group(group, pairs)
            return
        options = {"lr": float(group["lr"]), "momentum": group["momentum"], "dampening": group["dampening"],
                   "weight_decay": float(group["weight_decay"]), "nesterov": group["nesterov"],
                   "maximize": group["maximize"]}
        has_momentum = group["momentum"] != 0
        rows, first = [], []
        written: list[Tensor] = []
        for param, grad in pairs:
            row: tuple[Any, ...] = (param._array, grad._array)
            new = False
            if has_momentum:
                state = self.state[param]
                buffer = state.get("momentum_buffer")
                new = buffer is None
                if buffer is None:
                    buffer = state["momentum_buffer"] = zeros_like(param)
                row += (buffer._array,)
                written.append(buffer)
            rows.append(row)
            first.append(new)
            written.append(param)
        step_together("sgd", rows, {"first": first}, options, written)

    def _update_sparse(self, param: Tensor, grad: Tensor, group: Group) -> None:
        """Only the rows of the gradient are written. Raises RuntimeError with weight decay, which would change all."""
        from ..ops.sparse.values import add_into  # with the first sparse gradient

        grad = _direction(param, grad, self.state[param], group)
        if grad.layout is strided:
            param.sub_(grad, alpha=float(group["lr"]))
        else:
            add_into(param, grad, -float(group["lr"]))

    def _rule_options(self, group: Group) -> tuple[float, ...]:
        return group["momentum"], group["dampening"], group["nesterov"]

    def _begun(self, param: Tensor, group: Group) -> tuple[State, list[Tensor], Sequence[str | None]]:
        if group["momentum"] == 0:
            return {}, [], self._moments(group)
        state = self.state[param]
        self._first = state.get("momentum_buffer") is None
        if self._first:
            state["momentum_buffer"] = zeros_like(param)
        return state, [], self._moments(group)

    def _moments(self, group: Group) -> tuple[str | None, ...]:
        return ("momentum_buffer" if group["momentum"] != 0 else None,)

    def _counted(self, state: State, group: Group) -> list[float]:
        """Whether this is the first step, which is not damped; the same as others where none is."""
        return [float(bool(state) and self._first and group["dampening"] != 0)]

    def _begin(self, param: Tensor, group: Group) -> State:
        return {}

    def _update(self, param: Tensor, grad: Tensor, state: State, group: Group) -> None:
        """The step in operations that can be differentiated."""
        param.sub_(_direction(param, grad, state, group), alpha=float(group["lr"]))


def _direction(param: Tensor, grad: Tensor, state: State, group: Group) -> Tensor:
    """What the step goes against, after `grad` has been taken into the momentum."""
    grad = decayed(grad, param, float(group["weight_decay"]))
    momentum = group["momentum"]
    if momentum == 0:
        return grad
    buffer = state.get("momentum_buffer")
    if buffer is None:
        buffer = state["momentum_buffer"] = grad.clone()
    else:
        buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
    return grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer


def sgd(params: Tensors, d_p_list: Tensors, momentum_buffer_list: list[Tensor | None], has_sparse_grad: bool = False,
        foreach: bool | None = None, fused: bool | None = None, grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None, *, weight_decay: float, momentum: float, lr: float, dampening: float, nesterov: bool,
        maximize: bool) -> None:
    """A step of `SGD` with lists of parameters, gradients and momentum buffers, written in place; a buffer that begins takes the
    place of a None in `momentum_buffer_list`.

    `foreach` and `has_sparse_grad` change nothing. Raises RuntimeError for gradients that do not fit.

    >>> w, buffers = lucid.ones(1), [None]
    >>> lucid.optim.sgd.sgd([w], [lucid.ones(1)], buffers,
    ...     weight_decay=0.0, momentum=0.9, lr=0.5, dampening=0.0, nesterov=False, maximize=False)
    >>> w, buffers
    (Tensor([0.5], requires_grad=False), [Tensor([1.0], requires_grad=False)])
    """
    state: dict[str, MaybeTensors] = {"momentum_buffer": momentum_buffer_list} if momentum != 0 else {}
    states = take_step(SGD, params, d_p_list, state, grad_scale=grad_scale, found_inf=found_inf, fused=fused,
                       weight_decay=weight_decay, momentum=momentum, lr=lr, dampening=dampening, nesterov=nesterov,
                       maximize=maximize)
    if momentum != 0:
        momentum_buffer_list[:] = [entries.get("momentum_buffer") for entries in states]
