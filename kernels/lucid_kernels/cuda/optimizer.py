"""Fused optimizer steps: see `optimizer.cu`. `out` may be the inputs themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.runtime import launch

_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_PART = 1 << 12  # elements that a block takes at once: 16 a thread, and a list of 11.5 million makes 2800 blocks
Row = Sequence[Any]


@launch.upcast_half(like={0: 0, 1: 2})
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
    new_param = launch.result(out_param, param.shape, param.dtype)
    new_buffer = launch.result(out_buffer, param.shape, param.dtype) if momentum else None
    scalar = param.dtype.type
    if param.size:
        launch.kernel("optimizer", f"sgd<{launch.ctype(param.dtype)}>")(
            *launch.grid_1d(param.size),
            (launch.contiguous(param), launch.as_parameter(grad, param), *launch.optional(momentum_buffer, new_param),
             new_param, *launch.optional(new_buffer, new_param), scalar(lr), scalar(momentum), scalar(1 - dampening),
             scalar(weight_decay), np.int32(bool(nesterov)), np.int32(bool(maximize)), np.int64(param.size)),
        )  # fmt: skip
    return (
        launch.deliver(new_param, out_param),
        launch.deliver(new_buffer, out_buffer) if momentum else momentum_buffer,
    )


@launch.upcast_half(like={0: 0, 1: 2, 2: 3, 3: 4})
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
    new = [launch.result(target, param.shape, param.dtype) for target in outs[:count]]
    scalar = param.dtype.type
    if param.size:
        arrays = (param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq)[: count + 1]
        olds = [launch.as_parameter(array, param) for array in arrays]
        if not largest:  # what stands in for the maxima is not touched
            olds.append(olds[3])
        launch.kernel("optimizer", f"adam<{launch.ctype(param.dtype)}>")(
            *launch.grid_1d(param.size),
            (*olds, *new, *new[:4 - count], scalar(lr / (1 - beta1**step)), scalar(math.sqrt(1 - beta2**step)),
             scalar(1 - beta1), scalar(beta2), scalar(1 - beta2), scalar(eps),
             scalar(0 if decoupled_weight_decay else weight_decay),
             scalar(1 - lr * weight_decay if decoupled_weight_decay else 1), np.int32(bool(largest)),
             np.int32(bool(maximize)), np.int64(param.size)),
        )  # fmt: skip
    results = [launch.deliver(array, target) for array, target in zip(new, outs[:count], strict=True)]
    return tuple(results) if largest else (*results, max_exp_avg_sq)


def _sgd_step(
    rows: Sequence[Row], first: Sequence[bool], *, lr: float, momentum: float, dampening: float, weight_decay: float,
    nesterov: bool, maximize: bool,
) -> None:  # fmt: skip
    """A step of tensors with (param, grad), or with a momentum (param, grad, momentum_buffer), in one launch."""
    scalar = rows[0][0].dtype.type
    shares = [(1.0, 0.0) if new else (1.0 - dampening, 1.0) for new in first]
    _launch(
        "multi_tensor_sgd", rows, shares, np.int32(momentum != 0), scalar(lr), scalar(momentum), scalar(weight_decay),
        np.int32(bool(nesterov)), np.int32(bool(maximize)),
    )  # fmt: skip


def _adam_step(
    rows: Sequence[Row], steps: Sequence[float], *, lr: float, beta1: float, beta2: float, eps: float, weight_decay: float,
    decoupled_weight_decay: bool, amsgrad: bool, maximize: bool,
) -> None:  # fmt: skip
    """A step of tensors with (param, grad, exp_avg, exp_avg_sq), with `amsgrad` and max_exp_avg_sq, in one launch."""
    scalar = rows[0][0].dtype.type
    scales = [(lr / (1 - beta1**step), math.sqrt(1 - beta2**step)) for step in steps]
    _launch(
        "multi_tensor_adam", rows, scales, scalar(1 - beta1), scalar(beta2), scalar(1 - beta2), scalar(eps),
        scalar(0 if decoupled_weight_decay else weight_decay),
        scalar(1 - lr * weight_decay if decoupled_weight_decay else 1), np.int32(bool(amsgrad)), np.int32(bool(maximize)),
    )  # fmt: skip


def multi_tensor_sgd(
    *arrays: Any,
    first: Sequence[bool],
    **options: Any,
) -> None:
    """`sgd` of a list of tensors with its `options`, in place: one launch for all contiguous float32 (float64) ones, the others
    follow.

    `arrays` are param and grad of the first tensor, with a momentum its momentum_buffer, then those of the next tensor.
    `first` says of each whether this is its first step: then its buffer holds zeros.
    """
    together, alone = _launches(arrays, len(first))
    for rows, indices in together:
        _sgd_step(rows, [first[index] for index in indices], **options)
    for (param, grad, *buffers), number in alone:
        buffer = buffers[0] if buffers else None
        sgd(param, grad, None if first[number] else buffer, **options, out=(param, buffer))


def multi_tensor_adam(
    *arrays: Any,
    steps: Sequence[float],
    **options: Any,
) -> None:
    """`adam` of a list of tensors with its `options`, in place: one launch for all contiguous float32 (float64) ones, the others
    follow.

    `arrays` are param, grad, exp_avg, exp_avg_sq and with `amsgrad` max_exp_avg_sq of the first tensor, then those of the
    next one; `steps` has one entry for each tensor.
    """
    together, alone = _launches(arrays, len(steps))
    for rows, indices in together:
        _adam_step(rows, [steps[index] for index in indices], **options)
    for (param, grad, mean, square, *largest), number in alone:
        top = largest[0] if largest else None
        adam(param, grad, mean, square, top, step=steps[number], **options, out=(param, mean, square, top))


def multi_tensor_unscale(*arrays: Any) -> None:
    """Multiply gradients by a factor, in place, and set `found` to 1 if an element of one of them is not finite: one launch for
    all contiguous ones of a dtype, the others follow. What is listed twice is multiplied once.

    `arrays` are `found` and the factor, float32 scalars, and the gradients.
    """
    found, inverse, *gradients = arrays
    together: dict[Any, list[Row]] = {}
    capturing = cupy.cuda.get_current_stream().is_capturing()  # see `_launches`
    for gradient in {id(gradient): gradient for gradient in gradients if gradient.size}.values():
        if gradient.flags.c_contiguous and not capturing:
            together.setdefault(gradient.dtype, []).append((gradient,))
            continue
        work = launch.contiguous(gradient)
        launch.kernel("optimizer", f"unscale<{launch.ctype(work.dtype)}>")(
            *launch.grid_1d(work.size), (work, np.int64(work.size), found, inverse)
        )
        if work is not gradient:
            gradient[...] = work
    for rows in together.values():
        _launch("multi_tensor_unscale", rows, (), found, inverse)


def _launches(arrays: Sequence[Any], tensors: int) -> tuple[list[tuple[list[Row], list[int]]], list[tuple[Row, int]]]:
    """`arrays` in rows of equal length, one for each tensor: those of a common launch, by dtype, and those that go alone.

    Each row comes with the index of its tensor. A tensor that is listed twice takes its second step alone, after the first.
    During a stream capture all go alone: the table of addresses is copied from memory that a replay would not find.
    """
    width = len(arrays) // tensors if tensors else 0
    together: dict[Any, tuple[list[Row], list[int]]] = {}
    alone, seen = [], set()
    capturing = cupy.cuda.get_current_stream().is_capturing()
    for number in range(tensors):
        row = arrays[number * width : (number + 1) * width]
        if not capturing and _fits(row) and id(row[0]) not in seen:
            seen.add(id(row[0]))
            rows, indices = together.setdefault(row[0].dtype, ([], []))
            rows.append(row)
            indices.append(number)
        else:
            alone.append((row, number))
    return list(together.values()), alone


def _fits(row: Row) -> bool:
    """Whether the arrays of a tensor can be given by address: contiguous, of one size and one dtype of `_DTYPES`."""
    dtype, size = row[0].dtype, row[0].size
    return dtype in _DTYPES and all(a.dtype == dtype and a.size == size and a.flags.c_contiguous for a in row)


def _launch(name: str, rows: Sequence[Row], scalars: Sequence[tuple[float, float]], *options: Any) -> None:
    """Launch `name` over the elements of all `rows`, with the scalars of each tensor and the options of the step."""
    offsets = np.cumsum([0, *(row[0].size for row in rows)])
    total = int(offsets[-1])
    if not total:
        return
    addresses = np.array([[array.data.ptr if array.size else 0 for array in row] for row in rows], np.int64)
    plan = np.concatenate([offsets, addresses.ravel(), np.array(scalars, np.float64).ravel().view(np.int64)])
    launch.kernel("optimizer", f"{name}<{launch.ctype(rows[0][0].dtype)}>")(
        launch.grid_cap(launch.ceil_div(total, _PART)), (launch.BLOCK,),
        (cupy.asarray(plan), np.int32(len(rows)), np.int64(_PART), *options),
    )  # fmt: skip
