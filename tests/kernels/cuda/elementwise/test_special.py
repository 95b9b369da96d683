"""CUDA special functions against the CPU kernels, whose formulas and coefficients they share."""
from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels import special_tables
from lucid_kernels.cuda.runtime import source

UNARY = "erf erfc erfinv erfcx ndtr ndtri log_ndtr lgamma digamma i0 i0e i1 i1e".split()
BINARY = ["zeta", "gammainc", "gammaincc"]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, -1.5, 1e-30, 1e30, -1e30, 30.0, 711.0]
TOLERANCE = {np.float32: {"rtol": 3e-7, "atol": 1e-37}, np.float64: {"rtol": 3e-13, "atol": 1e-270}}


@pytest.fixture
def both(cp):
    from lucid_kernels.cuda.elementwise import special

    return pytest.importorskip("lucid_kernels.cpu.elementwise.special"), special


def arguments(dtype, count):
    rng = np.random.default_rng(0)
    if count == 1:
        return [np.concatenate([SPECIAL, rng.uniform(-25, 25, 200), rng.uniform(-1, 1, 80)]).astype(dtype)]
    size = rng.uniform(-3, 2.5, 40)
    a = np.concatenate([np.abs(SPECIAL), 10**size, [300.0, 400.0, 1e4, 0.01]])
    x = np.concatenate([np.abs(SPECIAL)[::-1], 10**size * rng.uniform(0.3, 2.0, 40), [290.0, 600.0, 1.01e4, 0.3]])
    return [a.astype(dtype)[:, None], np.concatenate([x, rng.uniform(0, 2, 12)]).astype(dtype)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_values_are_those_of_the_cpu(both, cp, schedule, name, dtype):
    cpu, cuda = (getattr(module, name) for module in both)
    arrays = arguments(dtype, 1 if name in UNARY else 2)
    result = cuda(*map(cp.asarray, arrays))
    assert result.dtype == dtype
    np.testing.assert_allclose(result.get(), cpu(*arrays), **TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_polygamma(both, cp, schedule, dtype):
    cpu, cuda = both
    (x,) = arguments(dtype, 1)
    for n in (0, 1, 2, 7, 200):
        np.testing.assert_allclose(cuda.polygamma(cp.asarray(x), n=n).get(), cpu.polygamma(x, n=n), **TOLERANCE[dtype])


@pytest.mark.parametrize("name", [*UNARY, *BINARY, "polygamma"])
def test_strides_out_halves_and_empty(both, cp, name):
    kernel, attributes = getattr(both[1], name), {"n": 2} if name == "polygamma" else {}
    count = 2 if name in BINARY else 1
    arrays = [np.random.default_rng(i).uniform(0.1, 0.9, (7, 5)).astype(np.float32) + i for i in range(count)]
    expected = kernel(*map(cp.asarray, arrays), **attributes).get()
    np.testing.assert_array_equal(kernel(*[cp.asarray(a.T.copy()).T for a in arrays], **attributes).get(), expected)
    out = cp.zeros((5, 7), np.float32).T
    assert kernel(*map(cp.asarray, arrays), **attributes, out=out) is out
    np.testing.assert_array_equal(out.get(), expected)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        halves = [a.astype(dtype) for a in arrays]
        wide = kernel(*[cp.asarray(h.astype(np.float32)) for h in halves], **attributes).get().astype(dtype)
        rounded = kernel(*map(cp.asarray, halves), **attributes).get()
        np.testing.assert_array_equal(rounded.astype(np.float32), wide.astype(np.float32))
    for shape in ((), (0,), (3, 0)):
        assert kernel(*[cp.asarray(np.full(shape, 0.5))] * count, **attributes).shape == shape


def test_the_header_has_the_coefficients():
    """Every bit of them."""
    text = source.read("special_tables.cuh")
    found = {name: [float(v) for v in values.replace("\n", " ").split(",")]
             for name, values in re.findall(r"const double (\w+)\[\] = \{(.*?)\};", text, re.S)}  # fmt: skip
    expected = {name: value.ravel().tolist() for name, value in vars(special_tables).items() if name.isupper()}
    assert found == expected
