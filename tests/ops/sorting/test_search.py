"""Searches in sorted sequences and membership against PyTorch."""
from __future__ import annotations

import numpy as np
import pytest

from tests.ops.table.agreement import agree

RNG = np.random.default_rng(0)
ROWS = np.sort(np.round(RNG.normal(size=(4, 5)) * 2) / 2, 1)
VALUES = np.where(RNG.random((4, 3)) < 0.2, np.nan, np.round(RNG.normal(size=(4, 3)) * 2) / 2)


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(right, device):
    agree(lambda lib, s, v: lib.searchsorted(s, v, right=right), ROWS, VALUES, device=device, grad=False)
    agree(lambda lib, s, v: lib.searchsorted(s[0], v, right=right, out_int32=True), ROWS, VALUES, device=device, grad=False)
    agree(lambda lib, s: lib.searchsorted(s[0], 0.5, right=right), ROWS, device=device, grad=False)
    agree(lambda lib, s, v: lib.searchsorted(s.reshape(2, 2, 5), v.reshape(2, 2, 3), right=right), ROWS, VALUES, device=device,
          grad=False)
    agree(lambda lib, s, v: lib.searchsorted(s[:, :0], v, right=right), ROWS, VALUES, device=device, grad=False)
    agree(lambda lib, s, v: lib.bucketize(v, s[0], right=right), ROWS, VALUES, device=device, grad=False)
    agree(lambda lib, s: lib.bucketize(0.5, s[0], right=right), ROWS, device=device, grad=False)


def test_sides_and_sorters(device):
    agree(lambda lib, s: lib.searchsorted(s, s, side="right"), ROWS, device=device, grad=False)
    agree(lambda lib, s: lib.searchsorted(s, s, side="left", right=True), ROWS, device=device, grad=False)
    agree(lambda lib, s: lib.searchsorted(s, s, side="middle"), ROWS, device=device, grad=False)
    shuffled = RNG.permuted(ROWS, axis=1)
    agree(lambda lib, s: lib.searchsorted(s, s, sorter=lib.argsort(s, -1)), shuffled, device=device, grad=False)
    agree(lambda lib, s: lib.searchsorted(s, s, sorter=lib.argsort(s, -1)[:, :2]), shuffled, device=device, grad=False)


def test_searchsorted_refuses(device):
    agree(lambda lib, s, v: lib.searchsorted(s, v[:2]), ROWS, VALUES, device=device, grad=False)
    agree(lambda lib, s, v: lib.searchsorted(s, v.float()), ROWS, VALUES, device=device, grad=False)
    agree(lambda lib, s: lib.bucketize(s, s), ROWS, device=device, grad=False)


@pytest.mark.parametrize("invert", [False, True])
def test_isin(invert, device):
    x = np.round(VALUES)
    agree(lambda lib, x: lib.isin(x, x[0], invert=invert), x, device=device, grad=False)
    agree(lambda lib, x: lib.isin(x, 1, invert=invert, assume_unique=True), x, device=device, grad=False)
    agree(lambda lib, x: lib.isin(1, x, invert=invert), x, device=device, grad=False)
    agree(lambda lib, x: lib.isin(x, x[:, :0], invert=invert), x, device=device, grad=False)
    agree(lambda lib, x: lib.isin(x > 0, x > 0), x, device=device, grad=False)
