"""`flip`, `rot90` and `reversed` are copies, laid out as PyTorch's."""
from __future__ import annotations

from typing import Any

import pytest

import lucid as _lucid

lucid: Any = _lucid  # its names are re-exports


@pytest.mark.parametrize("function", [lambda x: x.flip(0), lambda x: x.flip(0, 1), lambda x: x.flip(()), lambda x: x.rot90(),
                                      lambda x: x.rot90(2), lambda x: x.fliplr(), lambda x: x.flipud(), lambda x: reversed(x)])
def test_a_result_shares_no_memory(function: Any, device: str) -> None:
    x = lucid.arange(6.0, device=device).reshape(2, 3)
    y = function(x)
    before = y.tolist()
    y.add_(10)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    x.zero_()
    assert (y - 10).tolist() == before


@pytest.mark.parametrize("make", [
    lambda lib: lib.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=lib.channels_last), lambda lib: lib.arange(6.0).reshape(2, 3).t(),
    lambda lib: lib.arange(6.0).reshape(2, 3)[:, ::2]])
def test_layout(make: Any, device: str) -> None:
    torch = pytest.importorskip("torch")
    for dims in ((0,), (1,), (0, 1), ()):
        wanted, found = make(torch).flip(dims), make(lucid).to(device).flip(dims)
        assert found.stride() == wanted.stride() and found.tolist() == wanted.tolist()
