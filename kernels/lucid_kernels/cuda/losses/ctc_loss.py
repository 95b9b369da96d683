"""Connectionist temporal classification on a GPU: see `ctc_loss.cu`."""
from __future__ import annotations

from typing import Any

import numpy as np

from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch, rows

_BAD_LABEL = launch.error_code("ctc_loss: target {value} is not one of {limit} classes")
_WARP = 32


def ctc_loss(
    x: Any, labels: Any, inputs: Any, lengths: Any, *, blank: int, zero_infinity: bool, with_grad: bool,
    out: tuple[Any, Any] | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The losses (N,) of logarithms of probabilities x (T, N, C), and with `with_grad` the gradient of each.

    A label that is no class counts as blank; the error is raised later, by `launch.raise_pending`.
    """
    out_losses, out_grad = out or (None, None)
    frames, batch, classes = x.shape
    width = labels.shape[1]
    losses = launch.result(out_losses, (batch,), x.dtype)
    kind = x.dtype
    grad = launch.result(out_grad, x.shape, rows.accumulator(kind)) if with_grad else None
    if batch:
        x, labels, inputs, lengths = map(copies.contiguous, (x, labels, inputs, lengths))
        forward = launch.empty((batch, frames, 2 * width + 1), np.dtype(np.float64))
        backward = launch.empty(forward.shape, forward.dtype) if with_grad else forward
        arrays, sizes = (x, labels, inputs, lengths, forward, backward), (frames, batch, classes, width, blank)
        scalars = (*map(np.int64, sizes), np.int32(zero_infinity))
        name = f"<{launch.ctype(x.dtype)}>"
        launch.kernel("ctc_loss", "ctc_states" + name)(
            (batch, 2 if with_grad else 1), (launch.row_block(2 * width + 1),),
            (*arrays, losses, *scalars, launch.error_flag(), _BAD_LABEL),
        )  # fmt: skip
        if grad is not None and grad.size:
            launch.kernel("ctc_loss", "ctc_grad" + name)(launch.grid_cap(frames * batch), (_WARP,), (*arrays, grad, *scalars))
    if grad is not None and out_grad is None and grad.dtype != kind:
        grad = copies.copied(grad, kind)
    return launch.deliver(losses, out_losses), None if grad is None else launch.deliver(grad, out_grad)
