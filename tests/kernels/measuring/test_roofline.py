"""The ceilings are positive and consistent; their values belong to the machine."""
from __future__ import annotations

import math

import numpy as np
import pytest
from lucid_kernels.cpu.simd.aligned import aligned
from lucid_kernels.measuring import roofline
from lucid_kernels.measuring.roofline import STREAMS, Roofline


@pytest.mark.parametrize("traffic", STREAMS)
@pytest.mark.parametrize("size", [100, 1 << 16, 1 << 22])
def test_streams(traffic: str, size: int) -> None:
    seconds = Roofline().stream(size, traffic, 0.002)
    assert 0 < seconds < math.inf


def test_more_than_the_largest_array_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline, "LARGEST", 1 << 12)
    measured = Roofline()
    measured.stream(1 << 30, "triad", 0.002)
    assert measured.arrays[0].nbytes == 1 << 12


def test_peak() -> None:
    assert Roofline().peak(0.002) > 1e8  # any machine with an FMA does a hundred million


def test_floor_is_that_of_the_slower_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = Roofline()
    monkeypatch.setattr(measured, "stream", lambda bytes, traffic, seconds: bytes / 1e9)
    monkeypatch.setattr(measured, "peak", lambda seconds, arithmetic: 1e9)
    assert measured.floor(1000, "triad", 5000) == 5000 / 1e9
    assert measured.floor(9000, "triad", 5000) == 9000 / 1e9
    assert measured.floor(0, "triad", 0) is None


def test_the_faster_triad_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its result is streamed, so it begins with a whole vector."""
    times = iter([3e-3, 2e-3, 5e-3])
    monkeypatch.setattr(roofline, "measure_block", lambda call, synchronize, seconds: (call(), {"seconds": next(times)})[1])
    monkeypatch.setattr(roofline, "streams", lambda moved, result: True)
    measured, size = Roofline(), 3 << 20
    measured.arrays = [aligned(size // 12, np.dtype(np.float32)) for _ in range(3)]
    for array in measured.arrays:
        array.fill(1)
    assert measured.stream(size, "triad") == pytest.approx(2e-3)
    assert (measured.arrays[2] == 4).all()
    assert measured.stream(size, "update") == pytest.approx(5e-3)


def test_what_the_kernels_compute() -> None:
    a, b, c = np.arange(100, dtype=np.float32), np.ones(100, np.float32), np.zeros(100, np.float32)
    STREAMS["triad"][0](a, b, c, 2)
    np.testing.assert_array_equal(c, a + 3)
    STREAMS["update"][0](a, b, c, 2)
    np.testing.assert_allclose(c, a + 3, rtol=1e-6)
    STREAMS["read"][0](a, b, c, 2)
    assert c[0] + c[50] == a.sum()


def test_the_multiply_adds_are_fused_and_in_registers() -> None:
    data = np.full((1, 16), 0.5, np.float32)
    roofline._multiply_add_all(data, 3)
    expected = [0.5 + index for index in range(roofline._SUMS)]
    for _ in range(3):
        expected = [0.5 * value + 0.5 for value in expected]
    assert data[0, 0] == pytest.approx(sum(expected))
