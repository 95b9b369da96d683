"""Special functions against 40 digits of mpmath, their limits, and what every kernel promises."""
from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.elementwise import special

mpmath = pytest.importorskip("mpmath")
UNARY = "erf erfc erfinv erfcx ndtr ndtri log_ndtr lgamma digamma i0 i0e i1 i1e".split()
BINARY = ["zeta", "gammainc", "gammaincc"]
inf, nan = math.inf, math.nan


def log_ndtr(x):
    return mpmath.log(mpmath.ncdf(x)) if x < 0 else mpmath.log1p(-mpmath.ncdf(-x))


def ndtri(p):
    return -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * p)


TRUTH = {
    "erf": mpmath.erf, "erfc": mpmath.erfc, "erfinv": mpmath.erfinv, "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
    "ndtr": mpmath.ncdf, "ndtri": ndtri, "log_ndtr": log_ndtr, "lgamma": lambda x: mpmath.re(mpmath.loggamma(x)),
    "digamma": mpmath.digamma, "i0": lambda x: mpmath.besseli(0, x), "i1": lambda x: mpmath.besseli(1, x),
    "i0e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x), "i1e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x),
}
# name: intervals of the arguments, and relative errors allowed in float64
RANGES = {
    "erf": ([(-4, 4), (-1e-8, 1e-8), (0.9, 1.1)], 2.7e-16), "erfc": ([(-4, 26)], 1e-15), "erfinv": ([(-1, 1), (0.9999, 1), (-1e-8, 1e-8)], 2e-15),
    "erfcx": ([(-26, 30), (100, 1e8)], 1e-15), "ndtr": ([(-37, 10)], 2e-15), "ndtri": ([(0.001, 0.999), (1e-300, 1e-9)], 2e-15),
    "log_ndtr": ([(-100, 8), (-1e4, -1e3)], 2e-15), "lgamma": ([(0.01, 30), (1e3, 1e6), (-1.9, -1.1)], 4e-15),
    "digamma": ([(1e-3, 30), (1.4, 1.52), (1e3, 1e8), (-3.95, -3.75)], 4e-15), "i0": ([(-20, 20), (20, 712)], 2e-15),
    "i1": ([(-20, 20), (20, 712)], 2e-15), "i0e": ([(-20, 20), (100, 1e6)], 2e-15), "i1e": ([(-20, 20), (100, 1e6)], 2e-15),
}  # fmt: skip


def assert_close(result, truth, tolerance):
    for y, exact in zip(result.ravel().tolist(), truth, strict=True):
        assert abs(y - exact) <= tolerance * abs(exact), (y, exact)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", UNARY)
def test_values(name, dtype):
    ranges, tolerance = RANGES[name]
    x = np.concatenate([np.random.default_rng(0).uniform(low, high, 60) for low, high in ranges])
    if dtype == np.float32:
        x, tolerance = x[np.abs(x) > 1e-30].astype(dtype), 1.3e-7
        x = x[(np.abs(x) < 88) | (name not in ("i0", "i1"))]
        x = x[np.abs(x) != 1] if name == "erfinv" else x[x > -9.0] if name in ("erfcx", "ndtr") else x
        x = x[x < 9.0] if name == "erfc" else x
    with mpmath.workdps(60):
        assert_close(getattr(special, name)(x), [TRUTH[name](mpmath.mpf(float(v))) for v in x], tolerance)


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_polygamma(n):
    x = np.random.default_rng(1).uniform(0.05, 25, 60)
    if n <= 5:
        x = np.append(x, [-0.3, -1.7, -4.4])
    with mpmath.workdps(40):
        assert_close(special.polygamma(x, n=n), [mpmath.polygamma(n, mpmath.mpf(v)) for v in x.tolist()], 4e-15)


def test_trigamma_of_float32():
    x = np.concatenate([np.random.default_rng(1).uniform(low, high, 60) for low, high in ((0.05, 25), (-9, 0), (1e3, 1e9))])
    x = x.astype(np.float32)
    with mpmath.workdps(40):
        assert_close(special.polygamma(x, n=1), [mpmath.polygamma(1, mpmath.mpf(v)) for v in x.tolist()], 6.1e-8)
    limits = np.array([0.0, -0.0, -1.0, -1e30, inf, -inf, nan], np.float32)
    np.testing.assert_array_equal(special.polygamma(limits, n=1), [inf, inf, inf, inf, 0.0, nan, nan])


def test_trigamma_far_from_zero():
    x = np.array([-1e9 - 0.25])
    np.testing.assert_allclose(special.polygamma(x, n=1), 2 * math.pi**2, rtol=1e-6)


def test_zeta():
    rng = np.random.default_rng(2)
    x, q = 1 + 10 ** rng.uniform(-3, 1.3, 60), 10 ** rng.uniform(-3, 2, 60)
    with mpmath.workdps(40):
        truth = [mpmath.zeta(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(x.tolist(), q.tolist(), strict=True)]
    assert_close(special.zeta(x, q), truth, 4e-15)


def lower(a, x):
    """P(a, x) by its series, all of whose terms are positive."""
    a, x = mpmath.mpf(a), mpmath.mpf(x)
    term = total = mpmath.mpf(1)
    n = a
    while term > total * mpmath.mpf(10) ** -58:
        n += 1
        term *= x / n
        total += term
    return total * mpmath.exp(a * mpmath.log(x) - x - mpmath.loggamma(a + 1))


@pytest.mark.parametrize(("low", "high"), [(-6, -2), (-2, 0), (0, 1), (1, 2), (2, 2.31), (2.31, 3), (3, 4.5)])
def test_incomplete_gamma(low, high):
    """Near the peak, where neither P nor Q is small, and in the tails; on both sides of the limit of the uniform expansion."""
    rng = np.random.default_rng(3)
    a = 10 ** rng.uniform(low, high, 24)
    x = np.where(np.arange(24) % 2, a * rng.uniform(0.6, 1.5, 24), np.abs(a + 3 * rng.normal(size=24) * np.sqrt(a)))
    if high <= 0:
        x = 10 ** rng.uniform(-6, 1, 24)
    with mpmath.workdps(60):
        p = [lower(*pair) for pair in zip(a.tolist(), x.tolist(), strict=True)]
        kept = [i for i, value in enumerate(p) if 1e-250 < value and 1 - value > mpmath.mpf(10) ** -35]
        tolerance = 1e-14 + 1e-16 * float(np.max(a)) ** 0.6
        assert_close(special.gammainc(a[kept], x[kept]), [p[i] for i in kept], tolerance)
        assert_close(special.gammaincc(a[kept], x[kept]), [1 - p[i] for i in kept], tolerance)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma_of_float32(name):
    """Sums and fractions end earlier, but the results are those of float64, rounded."""
    rng = np.random.default_rng(5)
    a = (10 ** rng.uniform(-5, 4, 4000)).astype(np.float32)
    x = np.where(np.arange(4000) % 2, a * rng.uniform(0.3, 2.0, 4000), 10 ** rng.uniform(-5, 3, 4000)).astype(np.float32)
    expected = getattr(special, name)(a.astype(np.float64), x.astype(np.float64))
    result = getattr(special, name)(a, x)
    kept = expected > 1e-37
    np.testing.assert_allclose(result[kept], expected[kept], rtol=6.5e-8)


LIMITS = {
    "erf": [(0.0, 0.0), (inf, 1.0), (-inf, -1.0)], "erfc": [(inf, 0.0), (-inf, 2.0)],
    "erfinv": [(1.0, inf), (-1.0, -inf), (1.5, nan), (-2.0, nan), (0.0, 0.0)], "erfcx": [(inf, 0.0), (-inf, inf), (-30.0, inf)],
    "ndtr": [(inf, 1.0), (-inf, 0.0)], "ndtri": [(0.0, -inf), (1.0, inf), (0.5, 0.0), (-0.1, nan), (1.1, nan)],
    "log_ndtr": [(inf, 0.0), (-inf, -inf)], "lgamma": [(0.0, inf), (-1.0, inf), (-2.0, inf), (inf, inf), (-inf, inf), (1.0, 0.0)],
    "digamma": [(0.0, -inf), (-0.0, inf), (-1.0, nan), (-5.0, nan), (inf, inf), (-inf, nan)],
    "i0": [(0.0, 1.0), (inf, inf), (-inf, inf), (800.0, inf)], "i1": [(0.0, 0.0), (inf, inf), (-inf, -inf)],
    "i0e": [(0.0, 1.0), (inf, 0.0)], "i1e": [(0.0, 0.0), (-inf, 0.0)],
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", UNARY)
def test_limits(name, dtype):
    for x, expected in [*LIMITS[name], (nan, nan)]:
        np.testing.assert_array_equal(getattr(special, name)(np.array(x, dtype)), expected, f"{name}({x})")


@pytest.mark.parametrize("name", UNARY)
def test_every_float32_in_steps(name):
    """The code for float32, which loops vectorise, is that for float64 rounded: from the smallest to the largest number."""
    bits = np.arange(0, 0x7F800000, 9973, dtype=np.int32)
    x = np.concatenate([bits.view(np.float32), -bits.view(np.float32)])
    kernel = getattr(special, name)
    exact = kernel(x.astype(np.float64))
    with np.errstate(over="ignore"):
        expected = exact.astype(np.float32)
    result = kernel(x)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(result), np.isinf(expected))
    finite = np.isfinite(expected)
    steps = np.abs(result[finite].astype(np.float64) - exact[finite]) / np.spacing(np.abs(expected[finite]))
    assert steps.max() <= (1 if name == "erf" else 0.52), x[finite][steps.argmax()]


def test_limits_of_two_arguments():
    cases = {
        "zeta": [(1.0, 2.0, inf), (0.5, 2.0, nan), (2.0, 0.0, inf), (3.0, -2.0, inf), (2.5, -1.5, nan), (nan, 1.0, nan), (2.0, nan, nan)],
        "gammainc": [(0.0, 1.0, 1.0), (0.0, 0.0, nan), (2.0, 0.0, 0.0), (2.0, inf, 1.0), (inf, 2.0, 0.0), (inf, inf, nan),
                     (-1.0, 2.0, nan), (1.0, -2.0, nan), (nan, 1.0, nan), (1.0, nan, nan)],
    }  # fmt: skip
    cases["gammaincc"] = [(a, x, 1 - p) for a, x, p in cases["gammainc"]]
    for name, rows in cases.items():
        for a, b, expected in rows:
            np.testing.assert_array_equal(getattr(special, name)(np.array(a), np.array(b)), expected, f"{name}({a}, {b})")
    np.testing.assert_array_equal(special.polygamma(np.array([0.0, -1.0, inf, -inf, nan]), n=1), [inf, inf, 0.0, nan, nan])
    np.testing.assert_array_equal(special.polygamma(np.array([0.0, -1.0]), n=2), [-inf, -inf])
    np.testing.assert_array_equal(special.polygamma(np.array([2.0]), n=0), special.digamma(np.array([2.0])))


@pytest.mark.parametrize("name", [*UNARY, *BINARY, "polygamma"])
def test_strides_out_halves_and_empty(name):
    kernel, attributes = getattr(special, name), {"n": 2} if name == "polygamma" else {}
    count = 2 if name in BINARY else 1
    arrays = [np.random.default_rng(i).uniform(0.1, 0.9, (7, 5)).astype(np.float32) + i for i in range(count)]
    expected = kernel(*arrays, **attributes)
    assert expected.dtype == np.float32 and expected.flags.c_contiguous
    np.testing.assert_array_equal(kernel(*[a.T.copy().T for a in arrays], **attributes), expected)
    for out in (np.empty((7, 5), np.float32), np.empty((5, 7), np.float32).T):
        assert kernel(*arrays, **attributes, out=out) is out
        np.testing.assert_array_equal(out, expected)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        halves = [a.astype(dtype) for a in arrays]
        wide = kernel(*[h.astype(np.float32) for h in halves], **attributes).astype(dtype)
        np.testing.assert_array_equal(kernel(*halves, **attributes).astype(np.float32), wide.astype(np.float32))
    for shape in ((), (0,), (3, 0)):
        assert kernel(*[np.full(shape, 0.5)] * count, **attributes).shape == shape


def test_broadcasting():
    a, x = np.array([[0.5], [3.0]]), np.array([0.2, 1.0, 5.0])
    for name in BINARY:
        full = getattr(special, name)(*[np.ascontiguousarray(v) for v in np.broadcast_arrays(a + 1, x)])
        np.testing.assert_array_equal(getattr(special, name)(a + 1, x), full)


def test_chunks_on_threads_are_the_same():
    x = np.random.default_rng(4).uniform(-3, 3, 40_000)
    y = special.ndtr(x)
    np.testing.assert_array_equal(y, np.concatenate([special.ndtr(part) for part in np.split(x, 8)]))
