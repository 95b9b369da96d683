"""The places of the elements that are not zero."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from tests.ops.arrays import host, on

M = np.random.default_rng(0).standard_normal((3, 4))


def test_nonzero(device: str) -> None:
    x = on(device, M > 0)
    np.testing.assert_array_equal(host(x.nonzero()), np.argwhere(M > 0))
    rows, columns = x.nonzero(as_tuple=True)
    assert rows.tolist() == np.nonzero(M > 0)[0].tolist() and columns.dtype == lucid.int64
    assert on(device, 3.0).nonzero().shape == (1, 0) and on(device, 0.0).nonzero().shape == (0, 0)
    assert lucid.zeros(0, 2, device=device).nonzero().shape == (0, 2)


def test_nonzero_static(device: str) -> None:
    x = on(device, [[0.0, 1.0], [2.0, 3.0]])
    assert lucid.nonzero_static(x, size=2).tolist() == [[0, 1], [1, 0]]
    assert x.nonzero_static(size=4, fill_value=-5).tolist() == [[0, 1], [1, 0], [1, 1], [-5, -5]]
    assert x.nonzero_static(size=0).shape == (0, 2) and x[0, 1].nonzero_static(size=2).shape == (2, 0)
    assert lucid.zeros(0, 3, device=device).nonzero_static(size=1).tolist() == [[-1, -1]]
    assert x.to("meta").nonzero_static(size=3).shape == (3, 2)
    with pytest.raises(RuntimeError, match="size"):
        x.nonzero_static(size=-1)
