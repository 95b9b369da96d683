"""Planted bugs for bounds: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation


def noticed(indices: np.ndarray, low: int, high: int) -> str | None:
    """The error that the kernel leaves."""
    import cupy as cp
    from lucid_kernels.cuda.indexing import bounds
    from lucid_kernels.cuda.runtime import launch

    bounds.check_bounds(cp.asarray(indices), low=low, high=high, message="{value} of {limit}")
    try:
        launch.raise_pending()
    except IndexError as error:
        return str(error).partition(" (")[0]
    return None


def check() -> None:
    for dtype in (np.int32, np.int64):
        indices = np.zeros(100_000, dtype)
        indices[[0, -1]] = -5, 7
        assert noticed(indices, -5, 8) is None
        assert noticed(indices, -5, 7) == "7 of 7"
        assert noticed(indices, -4, 8) == "-5 of 8"
    assert noticed(np.array([2**32]), 0, 1) == "4294967296 of 1"
    for dtype in (np.int8, np.int64):
        numbers = np.ones(100_000, dtype)
        assert not has_zero(numbers)
        numbers[-1] = 0
        assert has_zero(numbers)


def has_zero(numbers: np.ndarray) -> bool:
    import cupy as cp
    from lucid_kernels.cuda.indexing import bounds
    from lucid_kernels.cuda.runtime import launch

    bounds.check_nonzero(cp.asarray(numbers), message="a zero")
    try:
        launch.raise_pending()
    except RuntimeError as error:
        assert "a zero" in str(error)
        return True
    return False


BOUNDS = "bounds.cu"
MUTATIONS = [
    Mutation(BOUNDS, "one too many", r"index >= high", "index > high", check),
    Mutation(BOUNDS, "no lower bound", r"index < low \|\| ", "", check),
    Mutation(BOUNDS, "lower bound excluded", r"index < low", "index <= low", check),
    Mutation(BOUNDS, "last index left out", r"GRID_STRIDE\(i, n\)", "GRID_STRIDE(i, n - 1)", check),
    Mutation(BOUNDS, "32 bits", r"const i64 index", "const int index", check),
    Mutation(BOUNDS, "limit of zero", r"index, high\)", "index, low)", check),
    Mutation(BOUNDS, "no zero is noticed", r"numbers\[i\] == 0", "numbers[i] == 1 && i < 0", check),
    Mutation(BOUNDS, "past the end", r"GRID_STRIDE\(i, n\)", "GRID_STRIDE(i, n + 1)", check),
]
