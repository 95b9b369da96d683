"""Steps of SGD and Adam by `multi_tensor`, as the CPU has them. `out` may be the inputs themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lucid_kernels.cuda import multi_tensor
from lucid_kernels.cuda.runtime import launch, recording
from lucid_kernels.cuda.unscale import multi_tensor_unscale as multi_tensor_unscale


def sgd(
    param: Any,
    grad: Any,
    momentum_buffer: Any,
    *,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    out: tuple[Any, Any] | None = None,
) -> tuple[Any, Any]:
    """One step of stochastic gradient descent: `(param, momentum_buffer)`.

    Without a buffer and with momentum the first buffer is the gradient; without momentum the buffer is passed through.
    """
    out_param, out_buffer = out if out is not None else (None, None)
    new_param = _copy(param, out_param)
    arrays, new_buffer = [new_param, grad], momentum_buffer
    first = momentum_buffer is None
    if momentum:
        new_buffer = _copy(param if first else momentum_buffer, out_buffer)  # what the first one holds is not looked at
        if first:
            launch.fill(new_buffer, 0)
        arrays.append(new_buffer)
    multi_tensor_sgd(
        *arrays, first=[first], lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
        nesterov=nesterov, maximize=maximize,
    )  # fmt: skip
    return launch.deliver(new_param, out_param), launch.deliver(new_buffer, out_buffer) if momentum else new_buffer


def adam(
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
    max_exp_avg_sq: Any,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: float,
    decoupled_weight_decay: bool,
    amsgrad: bool,
    maximize: bool,
    out: tuple[Any, Any, Any, Any] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """One step of Adam or AdamW: `(param, exp_avg, exp_avg_sq, max_exp_avg_sq)`.

    `step` counts from 1. Without `amsgrad`, `max_exp_avg_sq` comes back as it is.
    """
    outs = out if out is not None else (None,) * 4
    largest = amsgrad and max_exp_avg_sq is not None
    count = 4 if largest else 3
    olds = (param, exp_avg, exp_avg_sq, max_exp_avg_sq)[:count]
    new = [_copy(old, target) for old, target in zip(olds, outs[:count], strict=True)]
    multi_tensor_adam(
        new[0], grad, *new[1:], steps=[step], lr=lr, beta1=beta1, beta2=beta2, eps=eps, weight_decay=weight_decay,
        decoupled_weight_decay=decoupled_weight_decay, amsgrad=largest, maximize=maximize,
    )  # fmt: skip
    results = [launch.deliver(array, target) for array, target in zip(new, outs[:count], strict=True)]
    return tuple(results) if largest else (*results, max_exp_avg_sq)


def multi_tensor_sgd(
    *arrays: Any,
    first: Sequence[bool],
    **options: Any,
) -> None:
    """`sgd` of a list of tensors with its `options`, in place, in one launch for each dtype.

    `arrays` are param and grad of the first tensor, with a momentum its momentum_buffer, then those of the next tensor.
    `first` says of each whether this is its first step: then its buffer holds zeros.
    """
    names = ("lr", "weight_decay", "maximize", "momentum", "dampening", "nesterov")
    counts = [[float(new)] for new in first]
    multi_tensor.step(*arrays, rule="Sgd", counts=counts, options=[options[name] for name in names])


def multi_tensor_adam(
    *arrays: Any,
    steps: Sequence[float],
    **options: Any,
) -> None:
    """`adam` of a list of tensors with its `options`, in place, in one launch for each dtype and count of steps.

    `arrays` are param, grad, exp_avg, exp_avg_sq and with `amsgrad` max_exp_avg_sq of the first tensor, then those of the
    next one; `steps` has one entry for each tensor.
    """
    names = ("lr", "weight_decay", "maximize", "beta1", "beta2", "eps", "decoupled_weight_decay", "amsgrad")
    counts = [[step - 1] for step in steps]
    multi_tensor.step(*arrays, rule="Adam", counts=counts, options=[options[name] for name in names])


def _copy(array: Any, out: Any) -> Any:
    """The array that a step writes, with the elements of `array`: `array` itself if that is `out`."""
    new = launch.result(out, array.shape, array.dtype)
    if new is not array:
        recording.unrepeatable()
        new[...] = array
    return new
