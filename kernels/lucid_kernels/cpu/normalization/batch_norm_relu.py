"""Batch normalisation, an added residual and ReLU in one pass over (N, C, *S); see `batch_norm`.

Apart from each other these functions move the array three times as often. The gradient needs where the result was positive:
with a residual it reads that from the result, without one it computes it from the input again, which the pass over the
input hides. A large (N, C) without S takes separate loops.
"""
from __future__ import annotations

from collections.abc import Sequence

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, contiguous, deliver, outputs, result
from .batch_norm import count, deliver_running, inverse_deviation, parameters_of, parameters_to_train
from .channel_parameters import DBIAS, DWEIGHT, MEAN, NEW_MEAN, NEW_VAR, RSTD
from .implementations import FORWARD, GRADIENT, chosen


@upcast_half(results=(0, None, None, 4, 5))
def batch_norm_relu(
    x: Array,
    residual: Array | None,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    counter: Array | None = None,
    *,
    training: bool,
    momentum: float,
    eps: float,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array, Array, Array | None, Array | None]:
    """max(batch_norm(x) + residual, 0) for x (N, C, *S) and a residual of its shape, or None for 0.

    Returns y, the mean (C,) and 1/std (C,) that were used, and the new running statistics: see `batch_norm`. Without
    `training` the running statistics are used, and returned as they are; with it `counter`, an array of one int64, grows by 1.
    """
    out_y, out_mean, out_rstd, out_running_mean, out_running_var = outputs(out, 5)
    y = result(out_y, x.shape, x.dtype)
    parameters = parameters_of_mode(x, weight, bias, running_mean, running_var, training, eps)
    if x.size:
        run, shape = chosen(FORWARD, x.shape)
        added = None if residual is None else contiguous(residual).reshape(shape)
        inputs = contiguous(x).reshape(shape)
        run(inputs, added, parameters, training or None, True, float(momentum), float(eps), y.reshape(shape))
    if training:
        count(counter)
    return (
        deliver(out_y, y),
        deliver(out_mean, parameters[MEAN]),
        deliver(out_rstd, parameters[RSTD]),
        deliver_running(out_running_mean, parameters[NEW_MEAN], running_mean),
        deliver_running(out_running_var, parameters[NEW_VAR], running_var),
    )


def parameters_of_mode(
    x: Array, weight: Array | None, bias: Array | None, running_mean: Array | None, running_var: Array | None, training: bool,
    eps: float
) -> Array:  # fmt: skip
    """The rows of `channel_parameters` for x (N, C, *): `parameters_to_train`, or without `training` those to apply."""
    if training:
        return parameters_to_train(x, weight, bias, running_mean, running_var)
    assert running_mean is not None and running_var is not None
    parameters = parameters_of(x, weight, bias, running_mean, inverse_deviation(running_var, eps))
    parameters[NEW_MEAN], parameters[NEW_VAR] = running_mean, running_var
    return parameters


@upcast_half(results=(1, 3, 4, 0))
def batch_norm_relu_grad(
    g: Array,
    x: Array,
    y: Array | None,
    weight: Array | None,
    bias: Array | None,
    mean: Array,
    rstd: Array,
    *,
    training: bool,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array, Array, Array | None]:
    """Gradients dx (N, C, *S), dweight (C,), dbias (C,) and dresidual of `batch_norm_relu`.

    `y` is the result if there was a residual. Without one, `y` and the last result are None.
    """
    out_dx, out_dweight, out_dbias, out_dresidual = outputs(out, 4)
    dx = result(out_dx, x.shape, x.dtype)
    dresidual = None if y is None else result(out_dresidual, x.shape, x.dtype)
    parameters = parameters_of(x, weight, bias, mean, rstd)
    if x.size:
        run, shape = chosen(GRADIENT, x.shape)
        inputs = (None if array is None else contiguous(array).reshape(shape) for array in (g, x, y))
        targets = (None if array is None else array.reshape(shape) for array in (dx, dresidual))
        run(*inputs, parameters, training or None, True, *targets)
    else:
        parameters[DWEIGHT], parameters[DBIAS] = 0, 0
    results_of = (deliver(out_dx, dx), deliver(out_dweight, parameters[DWEIGHT]), deliver(out_dbias, parameters[DBIAS]))
    return (*results_of, None if dresidual is None else deliver(out_dresidual, dresidual))
