"""Coordinates of grids: the warning of `meshgrid`."""
from __future__ import annotations

import warnings

import pytest

import lucid


def test_meshgrid_without_indexing_warns(device):
    x, y = lucid.arange(2, device=device), lucid.arange(3, device=device)
    with pytest.warns(UserWarning, match="indexing argument"):
        plain = lucid.meshgrid(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = lucid.meshgrid(x, y, indexing="ij")
        assert lucid.cartesian_prod(x, y).shape == (6, 2)
    assert [g.tolist() for g in plain] == [g.tolist() for g in named]
