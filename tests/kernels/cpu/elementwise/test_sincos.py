"""Sine and cosine: errors, arguments of any size, special values, vectors, and through the library."""
from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.elementwise import sincos

import lucid

NAMES = ("sin", "cos")
RANDOM = np.random.default_rng(0)
WHOLE = np.arange(1.0, 5000.0)
ARGUMENTS = {
    "small": RANDOM.uniform(-1, 1, 20_000), "tiny": 10.0 ** RANDOM.uniform(-320, -1, 20_000),
    "usual": RANDOM.uniform(-100, 100, 40_000), "quarters": np.concatenate([WHOLE, np.rint(WHOLE * 1e5)]) * (np.pi / 2),
    "beside": np.nextafter(WHOLE * (np.pi / 2), 0), "large": RANDOM.uniform(-(2.0**30), 2.0**30, 20_000),
    "mixed": RANDOM.choice([1e-3, 2.0, 1e12, 1e300], 20_000) * RANDOM.uniform(-1, 1, 20_000),
}  # fmt: skip


@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="there is no longer float to compare with")
def test_errors_are_below_a_unit(name: str, arguments: str) -> None:
    x = ARGUMENTS[arguments]
    exact = getattr(np, name)(x.astype(np.longdouble))
    units = np.abs(getattr(sincos, name)(x) - exact) / np.spacing(np.abs(exact.astype(np.float64)))
    assert units.max() <= 0.8


@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("name", NAMES)
def test_errors_of_float32_are_half_a_unit(name: str, arguments: str) -> None:
    with np.errstate(over="ignore"):
        x = ARGUMENTS[arguments].astype(np.float32)
    x = x[np.isfinite(x)]
    exact = getattr(np, name)(x.astype(np.float64))
    result = getattr(sincos, name)(x)
    assert result.dtype == np.float32
    assert (np.abs(result - exact) <= 0.53 * np.spacing(np.abs(exact.astype(np.float32)))).all()


@pytest.mark.parametrize("length", [1, 7, 100_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_values_do_not_depend_on_their_neighbours(length: int, dtype: Any) -> None:
    numbers = np.finfo(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, numbers.smallest_subnormal, -numbers.smallest_subnormal,
                        numbers.max / 16], dtype)  # fmt: skip
    x = RANDOM.uniform(-9, 9, length).astype(dtype)
    for name in NAMES:
        kernel = getattr(sincos, name)
        together = kernel(np.concatenate([x, special]))
        np.testing.assert_array_equal(together[:length], kernel(x))
        with np.errstate(invalid="ignore"):
            wanted = getattr(np, name)(special)
        np.testing.assert_allclose(together[length:], wanted, rtol=4 * numbers.eps)
        np.testing.assert_array_equal(np.signbit(together[length : length + 2]), np.signbit(wanted[:2]))


@pytest.mark.parametrize("name", NAMES)
def test_loops_are_vector_instructions(name: str) -> None:
    loop: Any = numba.njit(error_model="numpy")(getattr(sincos, f"_{name}")._function)
    x = np.linspace(0.1, 3, 64)
    loop(x, np.empty_like(x))
    assembly = loop.inspect_asm(loop.signatures[0])
    if "vfmadd" not in assembly:
        pytest.skip("written for x86 with multiply-adds")
    assert re.search(r"vfn?madd\w+pd\s.*%[yz]mm", assembly)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (), (70_000,), (300, 301)])
def test_through_the_library(shape: tuple[int, ...]) -> None:
    values = RANDOM.uniform(-50, 50, shape)
    for name in NAMES:
        x = lucid.from_numpy(np.array(values))
        wanted = getattr(np, name)(values)
        np.testing.assert_allclose(getattr(x, name)().numpy(), wanted, rtol=1e-13, atol=1e-15)
        part = getattr(x.t(), name)() if len(shape) == 2 else getattr(x.reshape(-1)[::2], name)()
        np.testing.assert_allclose(part.numpy(), wanted.T if len(shape) == 2 else wanted.reshape(-1)[::2], rtol=1e-13, atol=1e-15)
        getattr(x, f"{name}_")()
        np.testing.assert_allclose(x.numpy(), wanted, rtol=1e-13, atol=1e-15)
