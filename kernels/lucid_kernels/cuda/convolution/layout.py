"""How the arrays of convolutions lie in memory: in row-major order, or with the channels last."""
from __future__ import annotations

from typing import Any

from lucid_kernels.cuda.convolution.problem import Sizes
from lucid_kernels.cuda.runtime import launch


def is_channels_last(x: Any) -> bool:
    """Whether the channels of (N, C, ...) lie last in memory, and not also first."""
    return not x.flags.c_contiguous and turned(x).flags.c_contiguous


def turned(x: Any) -> Any:
    """A view of (N, C, ...) with the channels last."""
    return x.transpose(0, *range(2, x.ndim), 1)


def result_like(out: Any, shape: Sizes, source: Any) -> Any:
    """Memory for a result: with the channels last where those of `source` are."""
    if out is not None or not is_channels_last(source):
        return launch.result(out, shape, source.dtype)
    return launch.empty((shape[0], *shape[2:], shape[1]), source.dtype).transpose(0, len(shape) - 1, *range(1, len(shape) - 1))
