"""The steps of optimizers as functions of lists of tensors: those of the classes, without an optimizer that lasts."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..tensor import Tensor
from ._composed import ComposedOptimizer, State
from .optimizer import misfit

Tensors = Sequence[Tensor]
MaybeTensors = Sequence[Tensor | None]


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
            raise misfit(param, grad)
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
