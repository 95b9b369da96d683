"""What a network of the bench is: how it is built, and what it learns from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.library import Library


@dataclass(frozen=True)
class Network:
    """A module for a library, a batch of inputs and goals, and the loss between."""

    build: Callable[[Library], Any]
    inputs: Callable[[np.random.Generator], np.ndarray]
    goal: Callable[[np.random.Generator], np.ndarray]
    criterion: str = "CrossEntropyLoss"  # a class of `nn`
    of_images: bool = False  # so it may have another layout

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """A batch: always the same inputs and goals."""
        rng = np.random.default_rng(0)
        return self.inputs(rng), self.goal(rng)


def numbers(*shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    """Uniform float32 numbers from 0 to 1."""
    return lambda rng: rng.random(shape, np.float32)


def labels(classes: int, *shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    """Class numbers, or tokens of a vocabulary."""
    return lambda rng: rng.integers(0, classes, shape)
