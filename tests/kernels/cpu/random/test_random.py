"""Random numbers: known answers of Random123, the formulas of the module in plain Python, and statistics."""

import math

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.random import random as kernels
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads
from lucid_kernels.uniform_range import uniform_range

MASK = 0xFFFFFFFF


def philox(counter, key):
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        product0, product1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (product1 >> 32) ^ c1 ^ k0, product1 & MASK, (product0 >> 32) ^ c3 ^ k1, product0 & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c0, c1, c2, c3


def words(count, seed, offset):
    """The first `count` words of a stream, in order."""
    made = []
    for q in range(-(-count // 4)):
        counter = (q + offset) % 2**64
        made += philox((counter & MASK, counter >> 32, 0, 0), (seed & MASK, seed >> 32))
    return made[:count]


def bits53(a, b):
    return (a >> 5 << 26) + (b >> 6)


def test_known_answers():
    assert philox((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    assert philox((MASK,) * 4, (MASK,) * 2) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


SEEDS = [(0, 0), (1, 7), (2**64 - 1, 2**64 - 2), (0x123456789ABCDEF0, 2**32 - 1)]


@pytest.mark.parametrize(("seed", "offset"), SEEDS)
def test_streams(seed, offset):
    stream = words(4 * 11, seed, offset)
    key = {"seed": seed, "offset": offset}
    y = kernels.random_uniform(shape=(3, 7), dtype=np.float32, **key)
    assert y.reshape(-1).tolist() == [(w >> 8) * 2.0**-24 for w in stream[:21]]
    y = kernels.random_uniform(shape=(21,), dtype=np.float64, **key)
    pairs = list(zip(stream[0::2], stream[1::2], strict=True))
    assert y.tolist() == [bits53(a, b) * 2.0**-53 for a, b in pairs[:21]]
    for low, high in ((-3, 4), (0, 1), (-(2**63), 2**63 - 1), (5, 5 + 2**40 + 12345)):
        y = kernels.random_integers(shape=(21,), dtype=np.int64, low=low, high=high, **key)
        assert y.tolist() == [low + (((a << 32) + b) * (high - low) >> 64) for a, b in pairs[:21]]
    y = kernels.dropout(np.ones(41, np.float32), p=0.25, **key)
    assert y.tolist() == [float(np.float32(4 / 3)) if w >= 2**30 else 0.0 for w in stream[:41]]


@pytest.mark.parametrize(("seed", "offset"), SEEDS)
def test_normal_is_box_muller(seed, offset):
    stream = words(4 * 50, seed, offset)
    y = kernels.random_normal(shape=(199,), dtype=np.float32, seed=seed, offset=offset)
    z = kernels.random_normal(shape=(99,), dtype=np.float64, seed=seed, offset=offset)
    single, double = [], []
    for m, v in zip(stream[0::2], stream[1::2], strict=True):
        radius, angle = math.sqrt(-2 * math.log(float(np.float32((m + 0.5) * 2**-32)))), math.pi * (2 * v + 1) * 2**-32
        single += [radius * math.cos(angle), radius * math.sin(angle)]
    for a, b, c, d in zip(*(stream[i::4] for i in range(4)), strict=True):
        radius, angle = (
            math.sqrt(-2 * math.log((bits53(a, b) + 0.5) * 2**-53)),
            math.pi * (2 * bits53(c, d) + 1) * 2**-53,
        )
        double += [radius * math.cos(angle), radius * math.sin(angle)]
    np.testing.assert_allclose(y, single[:199], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(z, double[:99], rtol=1e-14, atol=1e-15)


def minus_log(m, width):
    """-log((m + 0.5) / 2^width), exact where that is near 1."""
    rest = (2**width - 1 - m + 0.5) * 2.0**-width
    return -math.log1p(-rest) if rest < 0.5 else -math.log((m + 0.5) * 2.0**-width)


@pytest.mark.parametrize(("seed", "offset"), SEEDS)
def test_exponential_is_a_logarithm(seed, offset):
    stream = words(4 * 50, seed, offset)
    single = kernels.random_exponential(shape=(200,), dtype=np.float32, seed=seed, offset=offset)
    double = kernels.random_exponential(shape=(100,), dtype=np.float64, seed=seed, offset=offset)
    np.testing.assert_allclose(single, [minus_log(m, 32) for m in stream], rtol=3e-7)
    pairs = [bits53(a, b) for a, b in zip(stream[0::2], stream[1::2], strict=True)]
    np.testing.assert_allclose(double, [minus_log(m, 53) for m in pairs], rtol=1e-15)


def test_ends_of_the_exponential_distribution():
    """Of a number next to 1 the logarithm would be 0, of 24 random bits it would end at 16.6."""
    for exponential, kind, width in (
        (kernels._exponential32, np.uint32, 32),
        (kernels._exponential64, np.int64, 53),
    ):
        for rest in (0, 1, 5):
            assert exponential(kind(2**width - 1 - rest)) == pytest.approx((rest + 0.5) * 2.0**-width, rel=2e-7)
        assert exponential(kind(0)) == pytest.approx((width + 1) * math.log(2), rel=2e-7)
        jump = [float(exponential(kind(int(2 ** (width - 0.5)) + step))) for step in (-2000, 2000)]  # where e becomes 0
        assert jump == pytest.approx([math.log(2) / 2] * 2, rel=1e-5) and jump[0] >= jump[1]


RANGES = [(2, 3), (-3, -2), (-1, 1), (-1e-3, 0), (0, 0.3), (0.1, 0.3), (0, 6e4), (-3e4, 3e4), (1, 1 + 2**-7), (0, 1e-3)]
WIDE_RANGES = [*RANGES, (0, 1e38), (-1e38, 1e38), (-1e-30, 0), (1e-30, 1e-20)]
FLOATS = [np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_uniform_ranges(dtype):
    for low, high in RANGES if dtype == np.float16 else WIDE_RANGES:
        y = kernels.random_uniform(shape=(20_000,), dtype=dtype, seed=6, offset=0, low=low, high=high)
        assert y.dtype == dtype and (y >= dtype.type(low)).all() and (y < dtype.type(high)).all()
        wide = np.sort((y.astype(np.float64) - low) / (high - low))
        coarse = float(np.spacing(dtype.type(max(-low, high)))) / (high - low)
        assert np.abs(wide - np.linspace(0, 1, wide.size)).max() < 1.63 / math.sqrt(wide.size) + 1.01 * coarse


@pytest.mark.parametrize("dtype", FLOATS[2:], ids=str)
def test_the_greatest_uniform_number_is_below_the_end(dtype):
    unit = 1 - dtype.type(2.0**-24 if dtype == np.float32 else 2.0**-53)
    for low, high in WIDE_RANGES:
        span, start, top, *_ = uniform_range(dtype, low, high)
        greatest = kernels._in_range(unit, span, start, top)
        step = abs(float(np.spacing(dtype.type(high))))
        assert start <= greatest < dtype.type(high) and high - greatest <= (high - low) * 1e-6 + 2 * step
        assert kernels._in_range(dtype.type(0), span, start, top) == dtype.type(low)


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_halves_of_a_range_are_equally_likely(dtype):
    """Rounded to the nearest, the first would come half as often as the others, and the last one and a half times."""
    y = kernels.random_uniform(shape=(200_000,), dtype=dtype, seed=3, offset=0, low=2, high=2 + 2**-3)
    values, counts = np.unique(y.astype(np.float32), return_counts=True)
    assert len(values) == (64 if dtype == np.float16 else 8) and values[0] == 2
    assert ((counts - counts.mean()) ** 2 / counts.mean()).sum() < len(values) + 4 * math.sqrt(2 * len(values))


def test_a_range_without_numbers():
    for dtype in FLOATS:
        for low, high in ((5, 5), (-7, -7), (0, 0)):
            y = kernels.random_uniform(shape=(100,), dtype=dtype, seed=6, offset=0, low=low, high=high)
            assert (y == low).all()
    y = kernels.random_uniform(shape=(100,), dtype=np.float16, seed=6, offset=0, low=1000.3, high=1001)
    assert (y == 1000.5).all()
    y = kernels.random_uniform(shape=(100,), dtype=ml_dtypes.bfloat16, seed=6, offset=0, low=1000.3, high=1001)
    assert (y == 1000).all()


NORMAL32 = [3200412909, 3207759508, 3208630419, 1060511311]
NORMAL64 = [13827671176063524470, 13824433228584547636, 13827495315108912134, 4608726178106466264]
SUM32 = 213124830575065
SUM64 = 16918863467362134228


def test_normal_bits_do_not_change():
    """These bits are the same on every machine and backend; a change breaks every seeded result."""
    y = kernels.random_normal(shape=(100_001,), dtype=np.float32, seed=42, offset=3)
    z = kernels.random_normal(shape=(100_001,), dtype=np.float64, seed=42, offset=3)
    assert y[:4].view(np.uint32).tolist() == NORMAL32
    assert z[:4].view(np.uint64).tolist() == NORMAL64
    assert int(y.view(np.uint32).sum(dtype=np.uint64)) == SUM32
    assert int(z.view(np.uint64).sum(dtype=np.uint64)) == SUM64


EXPONENTIAL32 = 105783481038863
EXPONENTIAL64 = 981213946904851187


def test_exponential_bits_do_not_change():
    y = kernels.random_exponential(shape=(100_001,), dtype=np.float32, seed=42, offset=3)
    z = kernels.random_exponential(shape=(100_001,), dtype=np.float64, seed=42, offset=3)
    assert int(y.view(np.uint32).sum(dtype=np.uint64)) == EXPONENTIAL32
    assert int(z.view(np.uint64).sum(dtype=np.uint64)) == EXPONENTIAL64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponential_distribution(dtype):
    y = np.sort(kernels.random_exponential(shape=(200_000,), dtype=dtype, seed=11, offset=0).astype(np.float64))
    assert y[0] > 0
    distance = np.abs(-np.expm1(-y) - (np.arange(y.size) + 0.5) / y.size).max()
    assert distance * math.sqrt(y.size) < 1.63
    assert (y > 7).mean() == pytest.approx(math.exp(-7), rel=0.2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normal_distribution(dtype):
    y = kernels.random_normal(shape=(200_000,), dtype=dtype, seed=11, offset=0).astype(np.float64)
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((y**power).mean() - moment) < 4 * math.sqrt(variance / y.size)
    assert abs(np.corrcoef(y[0::2], y[1::2])[0, 1]) < 0.01
    y.sort()
    cdf = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in y])
    distance = np.abs(cdf - (np.arange(y.size) + 0.5) / y.size).max()
    assert distance * math.sqrt(y.size) < 1.63  # passed by 99 of 100 seeds


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_uniform_distribution(dtype):
    y = kernels.random_uniform(shape=(200_000,), dtype=dtype, seed=6, offset=0)
    assert y.dtype == dtype and float(y.min()) >= 0 and float(y.max()) < 1
    wide = np.sort(y.astype(np.float64))
    coarse = 2.0**-8 if dtype == ml_dtypes.bfloat16 else 2.0**-11
    assert np.abs(wide - np.linspace(0, 1, wide.size)).max() < 1.63 / math.sqrt(wide.size) + coarse


def test_integers():
    y = kernels.random_integers(shape=(70_000,), dtype=np.int32, low=-3, high=4, seed=0, offset=0)
    assert y.dtype == np.int32
    values, counts = np.unique(y, return_counts=True)
    assert values.tolist() == list(range(-3, 4))
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 22.5  # chi-squared, 6 degrees of freedom, 0.999


def test_results_do_not_depend_on_threads_or_size():
    x = np.ones(50_001, np.float32)

    def draw(count):
        return (
            kernels.random_normal(shape=(count,), dtype=np.float32, seed=1, offset=2),
            kernels.random_uniform(shape=(count,), dtype=np.float64, seed=1, offset=2, low=-3, high=4),
            kernels.random_exponential(shape=(count,), dtype=np.float32, seed=1, offset=2),
            kernels.dropout(x[:count], p=0.5, seed=1, offset=2),
        )

    many, before = draw(x.size), get_num_threads()
    set_num_threads(1)
    try:
        alone = draw(x.size)
    finally:
        set_num_threads(before)
    for a, b, c in zip(many, alone, draw(999), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a[:999], c)


def test_offset_moves_by_blocks():
    y = kernels.random_uniform(shape=(40,), dtype=np.float32, seed=3, offset=0)
    np.testing.assert_array_equal(kernels.random_uniform(shape=(20,), dtype=np.float32, seed=3, offset=5), y[20:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_shapes_and_out(dtype):
    key = {"seed": 1, "offset": 0}
    for function in (kernels.random_uniform, kernels.random_normal):
        assert function(shape=(), dtype=dtype, **key).shape == ()
        assert function(shape=(0, 3), dtype=dtype, **key).shape == (0, 3)
        expected = function(shape=(3, 5), dtype=dtype, **key)
        for out in (np.empty((3, 5), dtype), np.empty((5, 3), dtype).T):
            assert function(shape=(3, 5), dtype=dtype, **key, out=out) is out
            np.testing.assert_array_equal(out, expected)
    x = np.arange(1, 16).reshape(5, 3).astype(dtype).T
    copy = x.copy()
    y = kernels.dropout(x, p=0.5, **key)
    assert y.dtype == dtype and y.flags.c_contiguous
    assert set(np.unique(y / x).tolist()) == {0.0, 2.0}
    out = np.empty((5, 3), dtype).T
    assert kernels.dropout(x, p=0.5, **key, out=out) is out
    np.testing.assert_array_equal(out, y)
    np.testing.assert_array_equal(x, copy)
    assert kernels.dropout(x[:0], p=0.5, **key).shape == (0, 5)


def test_dropout_edges():
    key = {"seed": 1, "offset": 0}
    x = np.linspace(-1, 1, 100, dtype=np.float32)
    np.testing.assert_array_equal(kernels.dropout(x, p=0.0, **key), x)
    assert not kernels.dropout(x, p=1.0, **key).any()
    kept = kernels.dropout(np.ones(100_000, np.float32), p=0.9, **key) != 0
    assert abs(kept.mean() - 0.1) < 0.004


def test_dropout_of_inf_as_in_torch():
    torch = pytest.importorskip("torch")
    y = kernels.dropout(np.full(100, np.inf, np.float32), p=0.5, seed=1, offset=0)
    reference = torch.nn.functional.dropout(torch.full((100,), math.inf), 0.5)
    assert {str(v) for v in y.tolist()} == {str(v) for v in reference.tolist()} == {"inf", "nan"}
