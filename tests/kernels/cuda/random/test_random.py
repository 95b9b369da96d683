"""The CUDA random numbers: bit for bit those of the formulas, and of the CPU kernels."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
SEED, OFFSET = 0x123456789ABCDEF, 2**32 - 3  # the offset crosses from the low counter word into the high one
SHAPES = [(1,), (2,), (5, 7), (1001,), (3, 5, 67)]
PLACES = [(SEED, OFFSET), (0, 0), (2**64 - 1, 2**64 - 2), (7, 2**40 + 1)]


@pytest.fixture
def rng(cp):
    from lucid_kernels.cuda.random import random

    return random


def philox(seed, offset, blocks):
    """Philox4x32-10 in NumPy (Random123): blocks of four words."""
    low = np.uint64(0xFFFFFFFF)
    with np.errstate(over="ignore"):
        counter = np.uint64(offset) + np.arange(blocks, dtype=np.uint64)
    c = [counter & low, counter >> np.uint64(32), np.zeros_like(counter), np.zeros_like(counter)]
    k = [np.uint64(seed) & low, np.uint64(seed) >> np.uint64(32)]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ k[0], b & low, (a >> np.uint64(32)) ^ c[3] ^ k[1], a & low]
        k = [(k[0] + np.uint64(0x9E3779B9)) & low, (k[1] + np.uint64(0xBB67AE85)) & low]
    return np.stack(c, -1)


def words(seed, offset, n):
    return philox(seed, offset, -(-n // 4)).ravel()[:n]


def pairs(seed, offset, n):
    """The two words of each of n 64-bit results."""
    both = philox(seed, offset, -(-n // 2)).reshape(-1, 2)[:n]
    return both[:, 0], both[:, 1]


def uniform(dtype, seed, offset, n):
    if dtype == np.float64:
        a, b = pairs(seed, offset, n)
        return ((a >> np.uint64(5)) * 2.0**26 + (b >> np.uint64(6))) * 2.0**-53
    cut = {"float32": 8, "float16": 21, "bfloat16": 24}[np.dtype(dtype).name]
    return ((words(seed, offset, n) >> np.uint64(cut)) * 2.0 ** (cut - 32)).astype(dtype)


def same_bits(actual, expected):
    actual = actual.get()
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    assert actual.tobytes() == np.ascontiguousarray(expected).tobytes()


def test_known_answer():
    """Random123's test vector for a zero counter and key."""
    assert philox(0, 0, 1).tolist() == [[0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]]


@pytest.mark.parametrize(("seed", "offset"), PLACES)
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float64), *HALVES], ids=str)
def test_uniform(cp, schedule, rng, dtype, seed, offset):
    for shape in SHAPES:
        y = rng.random_uniform(shape=shape, dtype=dtype, seed=seed, offset=offset)
        same_bits(y, uniform(dtype, seed, offset, int(np.prod(shape))).reshape(shape))


@pytest.mark.parametrize(("low", "high"), [(0, 10), (-5, 6), (0, 1), (-(2**63), 2**63 - 1), (3, 2**40)])
def test_integers(cp, schedule, rng, low, high):
    a, b = pairs(SEED, OFFSET, 101)
    expected = [low + (((int(x) << 32) + int(y)) * (high - low) >> 64) for x, y in zip(a, b, strict=True)]
    y = rng.random_integers(shape=(101,), dtype=np.int64, low=low, high=high, seed=SEED, offset=OFFSET)
    same_bits(y, np.array(expected, np.int64))


def test_integers_of_other_dtypes(cp, rng):
    wide = rng.random_integers(shape=(33,), dtype=np.int64, low=0, high=100, seed=1, offset=2)
    for dtype in (np.uint8, np.int32, np.float32):
        narrow = rng.random_integers(shape=(33,), dtype=dtype, low=0, high=100, seed=1, offset=2)
        same_bits(narrow, wide.get().astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normal(cp, schedule, rng, dtype):
    """Against Box and Muller with NumPy's functions in float64."""
    n = 4001
    if dtype == np.float32:
        m, v = philox(SEED, OFFSET, -(-n // 4)).reshape(-1, 2).T.astype(np.float64) * 2.0**-32
        half = 2.0**-33
    else:
        m, v = uniform(np.float64, SEED, OFFSET, n + 1).reshape(-1, 2).T
        half = 2.0**-54
    radius, angle = np.sqrt(-2 * np.log(m + half)), 2 * np.pi * (v + half)
    expected = np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)
    y = rng.random_normal(shape=(n,), dtype=dtype, seed=SEED, offset=OFFSET)
    np.testing.assert_allclose(y.get(), expected.ravel()[:n], atol=2e-6 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponential(cp, schedule, rng, dtype):
    n, bits = 4001, 32 if dtype == np.float32 else 53
    m = words(SEED, OFFSET, n).astype(np.float64) if bits == 32 else uniform(np.float64, SEED, OFFSET, n) * 2.0**53
    y = rng.random_exponential(shape=(n,), dtype=dtype, seed=SEED, offset=OFFSET).get()
    np.testing.assert_allclose(y, -np.log((m + 0.5) * 2.0**-bits), rtol=3e-7 if bits == 32 else 1e-15, atol=2e-16)
    assert y.min() > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniform_numbers_stay_below_the_end(cp, schedule, rng, dtype):
    """In a range of one step nearly half of all numbers are rounded to its end."""
    low, high = dtype(1), np.nextafter(dtype(1), dtype(2))
    y = rng.random_uniform(shape=(4001,), dtype=dtype, low=float(low), high=float(high), seed=SEED, offset=OFFSET).get()
    assert (y == low).all()
    y = rng.random_uniform(shape=(4001,), dtype=dtype, low=-2, high=3, seed=SEED, offset=OFFSET).get()
    expected = uniform(dtype, SEED, OFFSET, 4001) * dtype(5) + dtype(-2)
    assert y.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [0.0, 0.3, 0.5, 1.0])
def test_dropout(cp, schedule, rng, p, dtype):
    for shape in SHAPES:
        x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
        n = x.size
        stays = (words(SEED, OFFSET, n) >= int(p * 2**32)).reshape(shape)
        y = rng.dropout(cp.asarray(x), p=p, seed=SEED, offset=OFFSET)
        same_bits(y, x * np.where(stays, dtype(1 / (1 - p) if p < 1 else 0), dtype(0)))


def test_dropout_of_nan_inf_halves_and_strides(cp, rng):
    x = cp.asarray(np.array([np.nan, np.inf, -np.inf] * 20))
    y = rng.dropout(x, p=0.5, seed=1, offset=0).get()
    assert np.isnan(y[::3]).all() and np.isnan(y).sum() > 20 and np.isinf(y).any()
    wide = np.random.default_rng(1).standard_normal((6, 10))
    keywords = dict(p=0.25, seed=5, offset=9)
    expected = rng.dropout(cp.asarray(np.ascontiguousarray(wide[:, ::2])), **keywords).get()
    out = cp.empty((6, 10))[:, ::2]
    assert rng.dropout(cp.asarray(wide)[:, ::2], out=out, **keywords) is out
    np.testing.assert_array_equal(out.get(), expected)
    for dtype in HALVES:
        y = rng.dropout(cp.asarray(wide[:, ::2].astype(dtype)), **keywords)
        assert y.dtype == dtype
        single = rng.dropout(cp.asarray(wide[:, ::2].astype(dtype).astype(np.float32)), **keywords)
        same_bits(y, single.get().astype(dtype))


def test_out_and_empty(cp, rng):
    keywords = dict(seed=SEED, offset=OFFSET)
    for make, dtype in (
        (rng.random_uniform, np.float32),
        (rng.random_exponential, np.float32),
        (rng.random_normal, np.float64),
        (rng.random_normal, np.float16),
    ):
        expected = make(shape=(4, 5), dtype=dtype, **keywords).get()
        for out in (cp.empty((4, 5), dtype), cp.empty((4, 10), dtype)[:, ::2]):
            assert make(shape=(4, 5), dtype=dtype, out=out, **keywords) is out
            np.testing.assert_array_equal(out.get(), expected)
        assert make(shape=(0, 3), dtype=dtype, **keywords).shape == (0, 3)
        assert make(shape=(), dtype=dtype, **keywords).shape == ()
    assert rng.random_integers(shape=(0,), dtype=np.int64, low=0, high=5, **keywords).size == 0
    assert rng.dropout(cp.empty((0,)), p=0.5, **keywords).size == 0


@pytest.mark.parametrize(("seed", "offset"), PLACES)
def test_bits_of_the_cpu(cp, schedule, rng, seed, offset):
    cpu = pytest.importorskip("lucid_kernels.cpu.random.random")
    keywords = dict(seed=seed, offset=offset)
    for n in (1, 3, 1001, 9999):
        for dtype in (np.float32, np.float64, *HALVES):
            for name in ("random_uniform", "random_normal"):
                expected = getattr(cpu, name)(shape=(n,), dtype=dtype, **keywords)
                same_bits(getattr(rng, name)(shape=(n,), dtype=dtype, **keywords), expected)
            for low, high in ((2, 3), (-1e-3, 0), (0.1, 0.7), (1, 1 + 2**-7)):
                expected = cpu.random_uniform(shape=(n,), dtype=dtype, low=low, high=high, **keywords)
                same_bits(rng.random_uniform(shape=(n,), dtype=dtype, low=low, high=high, **keywords), expected)
        for dtype in (np.float32, np.float64):
            expected = cpu.random_exponential(shape=(n,), dtype=dtype, **keywords)
            same_bits(rng.random_exponential(shape=(n,), dtype=dtype, **keywords), expected)
        for low, high, dtype in ((-3, 12, np.int64), (0, 2**62 + 7, np.int64), (0, 256, np.uint8)):
            expected = cpu.random_integers(shape=(n,), dtype=dtype, low=low, high=high, **keywords)
            same_bits(rng.random_integers(shape=(n,), dtype=dtype, low=low, high=high, **keywords), expected)
        for dtype in (np.float32, np.float64, *HALVES):
            x = np.random.default_rng(n).standard_normal(n).astype(dtype)
            for p in (0.0, 0.1, 1.0):
                same_bits(rng.dropout(cp.asarray(x), p=p, **keywords), cpu.dropout(x, p=p, **keywords))


def check_stored(cp):
    """The numbers of seeds that lie in device memory are those of the seeds, from any block on."""
    from lucid_kernels.cuda.random import random as cuda

    at = cp.asarray(np.array([SEED, OFFSET], np.uint64).view(np.int64))
    stored, place = dict(seed=cuda.Stored(at.data.ptr), offset=7), dict(seed=SEED, offset=OFFSET + 7)
    for dtype in (np.float32, np.float64):
        for draw in (cuda.random_uniform, cuda.random_normal, cuda.random_exponential):
            same_bits(draw(shape=(1001,), dtype=dtype, **stored), draw(shape=(1001,), dtype=dtype, **place).get())
    for dtype in (np.float32, np.float64, *HALVES):
        x = cp.asarray(np.random.default_rng(0).standard_normal(1001).astype(dtype))
        same_bits(cuda.dropout(x, p=0.3, **stored), cuda.dropout(x, p=0.3, **place).get())
    bounds = dict(shape=(1001,), dtype=np.int64, low=-5, high=2**40)
    same_bits(cuda.random_integers(**bounds, **stored), cuda.random_integers(**bounds, **place).get())


def test_stored_seeds(cp, rng):
    check_stored(cp)
    with pytest.raises(NotImplementedError, match="cannot be captured"):
        rng.as_uint64(rng.Stored(8))
