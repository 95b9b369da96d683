"""Coordinates of grids: the warning of `meshgrid`, evenly spaced complex numbers."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
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


@pytest.mark.parametrize(("start", "end"), [(0, 1j), (1 + 2j, 3), (-5 + 2j, 3 - 7j), (np.complex64(2j), np.float64(3))])
def test_complex_ends(start: Any, end: Any, device: Any) -> None:
    wanted = np.linspace(complex(start), complex(end), 7)
    for dtype, kind in ((None, lucid.complex64), (lucid.complex128, lucid.complex128)):
        for first, last in ((start, end), (lucid.tensor(start, device=device), end), (start, lucid.tensor(end))):
            x = lucid.linspace(first, last, 7, dtype=dtype, device=device)
            y = lucid.logspace(first, last, 7, 2.5, dtype=dtype, device=device)
            assert x.dtype == y.dtype == kind and x.device == device
            np.testing.assert_allclose(x.cpu().numpy(), wanted, rtol=1e-6)
            np.testing.assert_allclose(y.cpu().numpy(), 2.5**wanted, rtol=1e-6)
    out = lucid.empty(7, dtype=lucid.complex64, device=device)
    assert lucid.linspace(start, end, 7, out=out) is out
    np.testing.assert_allclose(out.cpu().numpy(), wanted, rtol=1e-6)
    assert lucid.linspace(start, end, 7, device="meta").dtype == lucid.complex64
    assert lucid.linspace(start, end, 1).tolist() == [complex(start)] and lucid.logspace(start, end, 0).shape == (0,)


def test_complex_ends_take_the_default_dtype() -> None:
    lucid.set_default_dtype(lucid.float64)
    try:
        assert lucid.linspace(0, 1j, 3).dtype == lucid.logspace(0, 1j, 3).dtype == lucid.complex128
    finally:
        lucid.set_default_dtype(lucid.float32)
    assert lucid.linspace(0, 1j, 3, requires_grad=True).requires_grad


@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_ends_that_a_dtype_does_not_hold(name: str, device: Any) -> None:
    function = getattr(lucid, name)
    for start, end in ((0, 1 + 1j), (lucid.tensor(1j), 2)):
        for dtype in (lucid.float32, lucid.int64):
            with pytest.raises(RuntimeError, match="without overflow"):
                function(start, end, 3, dtype=dtype, device=device)
            with pytest.raises(RuntimeError, match="without overflow"):
                function(start, end, 3, out=lucid.empty(3, dtype=dtype, device=device))
    with pytest.raises(RuntimeError, match="without overflow"):
        function(0, 300, 3, dtype=lucid.uint8, device=device)
    with pytest.raises(RuntimeError, match="0-dimensional"):
        function(lucid.ones(1), 2, 3)
    with pytest.raises(RuntimeError, match="without overflow"):
        lucid.arange(0, 3 + 1j)
