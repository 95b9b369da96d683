"""Running sums, products and log-sums lose no more digits than PyTorch's."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
from lucid.backends.families import MANY as LARGE


def logcumsumexp(x: np.ndarray, axis: int) -> np.ndarray:
    return np.logaddexp.accumulate(x, axis)


@pytest.mark.parametrize("shape", [(1000, 3), (1000, 200)], ids=str)
@pytest.mark.parametrize(("name", "reference"), [("cumsum", np.cumsum), ("cumprod", np.cumprod), ("logcumsumexp", logcumsumexp)])
@pytest.mark.parametrize("axis", [0, 1])
def test_float32_is_accumulated_in_float64(shape: tuple[int, int], name: str, reference: Any, axis: int) -> None:
    x = (1 + 0.1 * np.random.default_rng(0).standard_normal(shape)).astype(np.float32)
    assert (x.size < LARGE) == (shape[1] == 3)
    result = getattr(lucid, name)(lucid.tensor(x), axis)
    assert result.dtype == lucid.float32
    np.testing.assert_allclose(result.numpy(), reference(x.astype(np.float64), axis), rtol=1.2e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes_of_large_arrays_are_those_of_small_ones(name: str, dtype: str) -> None:
    x = lucid.tensor(np.random.default_rng(0).integers(0, 2, (300, 300)) * 7).to(getattr(lucid, dtype))
    for dim in (0, 1):
        large, parts = getattr(x, name)(dim), [getattr(row, name)(0) for row in x.unbind(1 - dim)]
        for number in (0, 1):
            found, wanted = large[number], lucid.stack([part[number] for part in parts], 1 - dim)
            assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()


def test_dtypes() -> None:
    x = lucid.ones(3, 2)
    assert x.cumsum(0, dtype=lucid.float64).dtype == lucid.float64
    assert x.double().cumsum(0, dtype=lucid.float32).tolist() == [[1, 1], [2, 2], [3, 3]]
    assert x.long().cumsum(0, dtype=lucid.float32).dtype == lucid.float32
    assert x.half().cumprod(1).dtype == lucid.float16
    assert (x * 1j).cumsum(0)[-1, 0].item() == 3j and (x * 1j).cumprod(0).dtype == lucid.complex64
    large = lucid.ones(70_000, dtype=lucid.int32)
    assert large.cumsum(0)[-1].item() == 70_000 and large.float().cumsum(0, dtype=lucid.float64).dtype == lucid.float64


def test_sums_that_overflow_come_back() -> None:
    x = lucid.tensor([3e38, 3e38, -3e38, -3e38])
    assert x.cumsum(0).tolist() == [pytest.approx(3e38), float("inf"), pytest.approx(3e38), 0.0]
