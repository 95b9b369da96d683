"""Sorting and the largest elements: the order of equal elements and of NaN, dtypes, empty and 0-d tensors."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from tests.ops.arrays import host, on


def test_sort(device: str) -> None:
    x = on(device, [3.0, np.nan, 1.0, 3.0, -np.inf])
    values, indices = x.sort()
    assert indices.tolist() == [4, 2, 0, 3, 1] and indices.dtype == lucid.int64
    np.testing.assert_array_equal(host(values), [-np.inf, 1, 3, 3, np.nan])
    assert x.sort(descending=True).indices.tolist() == [1, 0, 3, 2, 4]
    assert x.argsort().tolist() == [4, 2, 0, 3, 1]
    assert on(device, [True, False]).sort().values.tolist() == [False, True]
    assert x.to(lucid.bfloat16).argsort().tolist() == [4, 2, 0, 3, 1]
    assert lucid.zeros(0, 3, device=device).sort(0).indices.shape == (0, 3)
    assert on(device, 2.0).sort().indices.item() == 0
    assert x.topk(2).indices.tolist() == [1, 0] and x.topk(1, largest=False).values.item() == -np.inf
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        x.topk(6)
