"""Convolution of volumes, and with ReLU, on a GPU: by tensor cores, else by the two-dimensional kernels."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
from lucid_kernels.cuda.convolution import composed

from ..common import convolution

Kernel = Callable[..., Any]

_WINDOW_BYTES = 1 << 28  # of slices that are stacked at a time


def table(entries: dict[str, Kernel]) -> dict[str, Kernel]:
    """The operations, with the other `entries` of the backend, by the time of a call."""
    return composed.table(convolution.table(cupy, entries, _WINDOW_BYTES))
