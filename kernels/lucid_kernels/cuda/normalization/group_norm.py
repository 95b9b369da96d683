"""Group normalisation on a GPU: layer normalisation of the groups, then the parameters of the channels."""
from __future__ import annotations

from typing import Any

from lucid_kernels.cuda.normalization.layer_norm import layer_norm, layer_norm_grad
from lucid_kernels.cuda.runtime import launch, recording


def _rows(x: Any, groups: int) -> Any:
    """The groups of all samples as rows."""
    return launch.contiguous(x).reshape(x.shape[0], groups, -1)


def _each(parameter: Any, x: Any) -> Any:
    """A parameter of each channel, beside x."""
    return launch.as_parameter(parameter, x).reshape(-1, *(1,) * (x.ndim - 2))


@launch.upcast_half(statistics=(1, 2))
def group_norm(
    x: Any, weight: Any, bias: Any, *, groups: int, eps: float, out: tuple[Any, ...] | None = None
) -> tuple[Any, ...]:
    """(y, mean, rstd) of `x`, normalised over each group of channels of a sample; see the CPU kernel."""
    y, mean, rstd = layer_norm(_rows(x, groups), None, None, normalized_ndim=1, eps=eps)
    y = y.reshape(x.shape)
    if weight is not None or bias is not None:
        recording.unrepeatable()
    if weight is not None:
        y *= _each(weight, x)
    if bias is not None:
        y += _each(bias, x)
    return launch.deliver_all((y, mean, rstd), out)


@launch.upcast_half(like={0: 1, 1: 2, 2: 2})
def group_norm_grad(
    g: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, groups: int, out: tuple[Any, ...] | None = None
) -> tuple[Any, ...]:
    """(dx, dweight, dbias) of `group_norm`; see the CPU kernel."""
    rows, statistics = _rows(x, groups), [launch.as_parameter(statistic, x) for statistic in (mean, rstd)]
    scaled = g if weight is None else g * _each(weight, x)
    dx, _, _ = layer_norm_grad(_rows(scaled, groups), rows, None, *statistics, normalized_ndim=1)
    normal = ((rows - statistics[0][..., None]) * statistics[1][..., None]).reshape(x.shape)
    others = (0, *range(2, x.ndim))
    return launch.deliver_all((dx.reshape(x.shape), (g * normal).sum(axis=others), g.sum(axis=others)), out)
