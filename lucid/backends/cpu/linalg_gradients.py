"""Gradients of linear algebra on the CPU; of matrices of a few rows by loops of our own."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..common import linalg_gradients
from .linalg import small

Kernel = Callable[..., Any]


def _loops_for(a: np.ndarray) -> Any:
    """The kernels for matrices of a few rows; None for others."""
    if not small(a):
        return None
    from lucid_kernels.cpu.linalg import small_gradients

    return small_gradients


def table(entries: Mapping[str, Kernel]) -> dict[str, Kernel]:
    """The operations, with the other `entries` of the backend, by the time of a call."""
    return linalg_gradients.table(np, entries, _loops_for)
