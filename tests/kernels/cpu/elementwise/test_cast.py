"""Arrays in another dtype: NumPy's numbers, whether threads share them or not, and whether they are streamed or not."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.elementwise import cast as elementwise_cast
from lucid_kernels.cpu.simd import nontemporal

DTYPES = [np.dtype(kind) for kind in "?bBhil"] + [np.dtype(np.float32), np.dtype(np.float64)]


def numbers(dtype: np.dtype, size: int) -> np.ndarray:
    generator = np.random.default_rng(size)
    if dtype.kind == "f":
        x = (generator.standard_normal(size) * 10.0 ** generator.integers(-40, 40, size)).astype(dtype)
        x[: size // 3 : 7] = [np.nan, np.inf, -np.inf, -0.0, 1e300][size % 5]
        return x
    limits = (0, 2) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return generator.integers(*limits, size, dtype=np.uint8 if dtype.kind == "b" else dtype).astype(dtype)


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered in cast")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wanted", DTYPES, ids=str)
def test_as_numpy(wanted: np.dtype, stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nontemporal, "_streamed_from", lambda: 0 if stream else 1 << 40)
    # Streamed, each dtype with some of the others: every pair is a kernel.
    for given in DTYPES[DTYPES.index(wanted) % 3 :: 3] if stream else DTYPES:
        if elementwise_cast.suits(given, wanted):
            for size in (0, 1, 70, 1_100_001):
                x = numbers(given, size)
                y = elementwise_cast.convert(x.reshape(1, -1), wanted)
                assert y.dtype == wanted and y.shape == (1, size)
                np.testing.assert_array_equal(y[0], x.astype(wanted))
                np.testing.assert_array_equal(np.signbit(y[0]), np.signbit(x.astype(wanted)))


def test_others_are_left_to_numpy() -> None:
    for pair in ("i4 i4", "f4 f4", "i4 u1", "i4 ?", "u8 f4", "f4 u2", "f4 u8", "f4 f2", "c8 f4"):
        given, wanted = pair.split()
        assert not elementwise_cast.suits(np.dtype(given), np.dtype(wanted))
