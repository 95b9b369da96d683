"""Largest and smallest elements of large CPU arrays, and where they are: as NumPy has them."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lucid.backends import run
from lucid.backends.families import LARGE

SHAPES = [((300, 400), 0), ((300, 400), 1), ((300, 400), None), ((3, 40_001), 1), ((40_001, 33), 0), ((5, 300, 700), 1),
          ((5, 300, 700), -1), ((5000, 40, 3), 1), ((70_000,), 0), ((1, 70_000), 0), ((70_000, 1), 1)]  # fmt: skip


def check(x: np.ndarray, axis: Any, keepdims: bool = False) -> None:
    axis = axis if axis is None else axis % x.ndim
    options = {"axis": axis, "keepdims": keepdims}
    for name in ("max", "min"):
        value, position = getattr(x, name)(**options), getattr(x, f"arg{name}")(**options)
        found = {name: run(name, (x,), options), f"arg{name}": run(f"arg{name}", (x,), options)}
        if axis is not None:
            found["values"], found["indices"] = run(f"{name}_with_indices", (x,), options)
        for key, result in found.items():
            wanted = np.asarray(position if key.startswith(("arg", "ind")) else value)
            assert result.dtype == wanted.dtype and result.shape == wanted.shape, key
            np.testing.assert_array_equal(result, wanted, err_msg=key)


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_values_and_positions(shape: tuple[int, ...], axis: Any, dtype: str) -> None:
    x = (np.random.default_rng(0).standard_normal(shape) * 1000).astype(dtype)
    assert x.size >= LARGE
    check(x, axis)
    check(x, axis, keepdims=True)


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_the_first_of_equal_elements_and_the_first_nan(shape: tuple[int, ...], axis: Any) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(-2, 3, shape).astype(np.float32)
    check(x, axis)
    x[rng.random(shape) < 0.3] = np.inf
    x[rng.random(shape) < 0.3] = -np.inf
    check(x, axis)
    x[rng.random(shape) < 0.001] = np.nan
    check(x, axis)
    check(np.full(shape, -np.inf, np.float32), axis)
    check(np.full(shape, np.nan, np.float32), axis)


def test_several_axes_and_strides() -> None:
    x = np.random.default_rng(2).standard_normal((30, 40, 60)).astype(np.float32)
    for axis in ((0, 1), (1, 2), (0, 2)):
        np.testing.assert_array_equal(run("max", (x,), {"axis": axis, "keepdims": False}), x.max(axis))
        np.testing.assert_array_equal(run("min", (x,), {"axis": axis, "keepdims": True}), x.min(axis, keepdims=True))
    check(x.transpose(2, 0, 1), 1)
