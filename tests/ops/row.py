"""A row of the op table, and the inputs that rows have."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np


@dataclasses.dataclass
class Row:
    """An operation under test."""

    name: str
    function: Callable[..., Any]
    reference: Callable[..., Any]
    inputs: Callable[[np.random.Generator], list[np.ndarray]]
    smooth: bool = True
    special: bool = True  # compared on NaN, inf, 0 and -0 as well
    data_dependent: bool = False  # the shape of the result depends on elements, so the device meta refuses


def matrix(low: float = -2.0, high: float = 2.0, shape: tuple[int, ...] = (3, 4)):
    """One array of uniform numbers."""
    return lambda rng: [rng.uniform(low, high, shape)]


def pair(low: float = -2.0, high: float = 2.0, a: tuple[int, ...] = (3, 4), b: tuple[int, ...] = (3, 4)):
    """Two arrays of uniform numbers."""
    return lambda rng: [rng.uniform(low, high, a), rng.uniform(low, high, b)]
