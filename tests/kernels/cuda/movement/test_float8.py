"""8-bit floating-point numbers on a GPU, to the bit as on the CPU."""
from __future__ import annotations

import numpy as np
import pytest

from lucid import _dtypes
from lucid.backends.stored import float8 as on_cpu

FORMATS = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]


@pytest.fixture
def kernels(cp):
    from lucid_kernels.cuda.movement import float8

    return float8


def numbers(step: int = 5) -> np.ndarray:
    """Floats of all exponents and signs, with fractions around every tie of 2 and 3 bits; NaN, infinities and subnormal ones."""
    upper = (np.arange(1 << 16, dtype=np.uint32)[::step] << 16).reshape(-1, 1)
    return (upper | np.array([0, 1, 0x8000, 0xFFFF], np.uint32)).reshape(-1).view(np.float32)


@pytest.mark.parametrize("format", FORMATS)
def test_rounding(cp, kernels, schedule, format):
    x = numbers()
    bits = kernels.narrow(cp.asarray(x), format=format)
    assert bits.dtype == np.uint8
    np.testing.assert_array_equal(bits.get(), on_cpu.rounded(x, _dtypes.as_dtype(format)))


@pytest.mark.parametrize("format", FORMATS)
def test_values(cp, kernels, format):
    bits = np.arange(256, dtype=np.uint8).reshape(16, 16)
    found = kernels.widen(cp.asarray(bits), format=format).get()
    expected = on_cpu.values(_dtypes.as_dtype(format))[bits]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_shapes_and_strides(cp, kernels):
    x = np.linspace(-500, 500, 60, dtype=np.float32).reshape(6, 10)
    dtype = _dtypes.float8_e4m3fn
    for view in (lambda v: v.T, lambda v: v[::-1, ::3], lambda v: v[1, 2], lambda v: v[:0]):
        bits = kernels.narrow(view(cp.asarray(x)), format=dtype.name)
        np.testing.assert_array_equal(bits.get(), on_cpu.rounded(view(x), dtype))
        np.testing.assert_array_equal(kernels.widen(bits, format=dtype.name).get(), on_cpu.values(dtype)[bits.get()])
