"""Sum, mean and variance over each axis of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target

SHAPE = (2048, 4096)
BOUND = 1.0


def cases(side: Side) -> Iterator[Case]:
    """Without recording a graph."""
    values = normal(*((256, 512) if side.quick else SHAPE))
    for name in ("sum", "mean", "var"):
        for axis in (0, 1):
            correction = {"ddof": 1} if name == "var" else {}  # PyTorch's default

            def build(library: Library, name: str = name, axis: int = axis) -> Callable[[], Any]:
                x, function = library.tensor(values), getattr(library.lib, name)
                return lambda: function(x, dim=axis)

            def numpy(dtype: type = np.float32, name: str = name, axis: int = axis, options: dict[str, int] = correction
                      ) -> np.ndarray:
                return getattr(np, name)(values, axis=axis, dtype=dtype, **options)

            yield target(side, f"{name} over axis {axis}, {SHAPE[0]}x{SHAPE[1]}", BOUND, build, needs=(name,),
                         bytes=values.nbytes, traffic="read", numpy=lambda numpy=numpy: numpy,
                         exact=lambda numpy=numpy: numpy(np.float64))
