"""Normalisation by the root of the mean square: layer normalisation without mean and bias, with its kernels; see `layer_norm`."""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, contiguous, deliver, outputs, result
from .layer_norm import gradients, normalize_rows


@upcast_half(results=(0, None))
def rms_norm(
    x: Array, weight: Array | None, *, normalized_ndim: int, eps: float, out: Sequence[Array | None] | None = None
) -> tuple[Array, Array]:
    """x / sqrt(mean(x^2) + eps) * weight, the mean over the last `normalized_ndim` axes, the shape of weight.

    Returns y, and 1 / sqrt(mean(x^2) + eps) in the shape of the leading axes.
    """
    out_y, out_rstd = outputs(out, 2)
    leading = x.shape[: x.ndim - normalized_ndim]
    rows, width = math.prod(leading), math.prod(x.shape[x.ndim - normalized_ndim :])
    y = result(out_y, x.shape, x.dtype)
    rstd = result(out_rstd, leading, x.dtype)
    if width == 0:
        rstd.fill(np.nan)
    else:
        normalize_rows(contiguous(x).reshape(rows, width), weight, None, eps, y, None, rstd.reshape(rows), y is not out_y)
    return deliver(out_y, y), deliver(out_rstd, rstd)


@upcast_half(results=(1, 2))
def rms_norm_grad(
    g: Array,
    x: Array,
    weight: Array | None,
    rstd: Array,
    *,
    normalized_ndim: int,
    out: Sequence[Array | None] | None = None,
) -> tuple[Array, Array]:
    """Gradients dx and dweight of `rms_norm`; the latter has the shape of the normalised axes."""
    dx, dweight, _ = gradients(g, x, weight, None, rstd, normalized_ndim, (*outputs(out, 2), None))
    return dx, dweight
