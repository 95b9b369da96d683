"""Functions written for whole registers of AVX-512: what they compute, in which loops, and into what they are compiled."""
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.elementwise import elementwise
from lucid_kernels.cpu.math import basic as math_basic
from lucid_kernels.cpu.math import vector as math_vector
from lucid_kernels.cpu.runtime.jit import jit_exact
from numba.core.caching import NullCache

from tests.kernels.cpu.attention.test_attention import inner_loops

pytestmark = pytest.mark.skipif(not math_vector.AVAILABLE, reason="needs AVX-512")
_TABLE = np.arange(32) / 7


@math_vector.vector_function
def entry_of_test(registers: Any, x: Any) -> Any:
    shifted = registers.builder.fadd(x, registers.constant(1.5 * 2.0**23))
    return registers.look_up(_TABLE, shifted)


@math_vector.vector_function
def scaled_of_test(registers: Any, x: Any) -> Any:
    return registers.scaled(registers.constant(1.5), x)


@math_vector.vector_function
def limited_of_test(registers: Any, x: Any) -> Any:
    return registers.limited(x, 2.5)


@jit_exact
def entries(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = entry_of_test(x[i])


@jit_exact
def scaled(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = scaled_of_test(x[i])


@jit_exact
def limited(x: Any, y: Any) -> None:
    for i in range(y.shape[0]):
        y[i] = limited_of_test(x[i])


@jit_exact
def silu_as_double(x: Any, y: Any) -> None:
    """Vectors of eight lanes, as the result has eight bytes."""
    for i in range(y.shape[0]):
        y[i] = 2.0 * math_basic.silu_by_table(x[i])


@jit_exact
def silu_one_after_the_other(x: Any, y: Any) -> None:
    """Each element depends on the one before, so that there is no vector."""
    last = np.float32(0.0)
    for i in range(y.shape[0]):
        last = math_basic.silu_by_table(x[i] + np.float32(0.0) * last)
        y[i] = last


def test_tables() -> None:
    """The low five bits say which entry, also where others are set."""
    x = np.arange(-40, 41, dtype=np.float32)
    y = np.empty_like(x)
    entries(x, y)
    np.testing.assert_array_equal(y, _TABLE.astype(np.float32)[x.astype(int) % 32])


def test_powers_of_two() -> None:
    """Of exponents rounded down; numbers below the normal ones, 0 and infinity."""
    x = np.array([0.0, -3.0, 2.9, -0.1, 127, 128, -140, -200, 1e9, -1e9, np.inf, -np.inf, np.nan], np.float32)
    y = np.empty_like(x)
    scaled(x, y)
    smallest = 2.0**-140
    wanted = [1.5, 0.1875, 6.0, 0.75, 1.5 * 2.0**127, np.inf, 1.5 * smallest, 0.0, np.inf, 0.0, np.inf, 0.0, np.nan]
    np.testing.assert_array_equal(y, np.array(wanted, np.float32))


def test_limits() -> None:
    x = np.array([0.0, -0.0, 1.5, -2.5, 3, -3, np.inf, -np.inf, np.nan] * 3, np.float32)
    y = np.empty_like(x)
    limited(x, y)
    np.testing.assert_array_equal(y[:9], np.array([0.0, -0.0, 1.5, -2.5, 2.5, -2.5, 2.5, -2.5, 2.5], np.float32))
    np.testing.assert_array_equal(np.signbit(y[:2]), [False, True])
    np.testing.assert_array_equal(y[9:], np.tile(y[:9], 2))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 15, 16, 17, 31, 63, 64, 65, 200])
def test_elements_of_any_place_are_computed_alike(size: int) -> None:
    x = np.random.default_rng(size).normal(0.0, 20.0, size).astype(np.float32)
    y, single, double = np.empty_like(x), np.empty_like(x), np.empty(size)
    elementwise._silu_of_float32.serial(x, y)
    silu_one_after_the_other(x, single)
    silu_as_double(x, double)
    np.testing.assert_array_equal(single, y)
    np.testing.assert_array_equal(double, 2.0 * y)


def test_silu() -> None:
    """Within 4 units in the last place, and within 1 where x is large; limits as in PyTorch."""
    x = np.concatenate([np.linspace(-87, 30, 1_000_001), np.linspace(-3, 3, 1_000_001)]).astype(np.float32)
    y = np.empty_like(x)
    elementwise._silu_of_float32.serial(x, y)
    wanted = x / (1.0 + np.exp(-x.astype(np.float64)))
    errors = np.abs(y - wanted) / np.spacing(np.abs(wanted).astype(np.float32))
    assert errors.max() <= 4.0
    assert errors[x > 17].max() <= 0.5
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1e30, 1e30, -300, 300, -3.4e38, 3.4e38, 1e-40], np.float32)
    y = np.empty_like(x)
    elementwise._silu_of_float32.serial(x, y)
    limits = np.array([0.0, -0.0, np.inf, np.nan, np.nan, -0.0, 1e30, -0.0, 300, -0.0, 3.4e38, 5e-41], np.float32)
    np.testing.assert_array_equal(y, limits)
    np.testing.assert_array_equal(np.signbit(y[~np.isnan(y)]), np.signbit(limits[~np.isnan(limits)]))


@pytest.mark.parametrize("compiled", ["serial", "parallel"])
def test_loops_have_the_instructions_and_call_nothing(compiled: str) -> None:
    kernel = getattr(elementwise._silu_of_float32, compiled)
    fresh = type(kernel)(kernel.py_func, targetoptions=kernel.targetoptions)
    fresh._cache = NullCache()  # nothing to read of what comes from the cache
    fresh(np.ones(20, np.float32), np.empty(20, np.float32))
    (assembly,) = fresh.inspect_asm().values()
    loops = [block for block in inner_loops(assembly) if re.search(r"vdivps\s.*zmm", block)]
    assert loops
    for loop in loops:
        assert re.search(r"vscalefps\s.*zmm", loop)
        assert re.search(r"vperm[it]2ps\s.*zmm", loop)
        assert "call" not in loop
