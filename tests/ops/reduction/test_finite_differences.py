"""`gradient` beside PyTorch's: spacings, places, dimensions, orders at the edges, dtypes and errors."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
from lucid.autograd import gradcheck, gradgradcheck
from tests.ops.table.agreement import agree

DATA = np.random.default_rng(0).standard_normal((3, 5, 4))


def places(lib: Any, x: Any) -> list[Any]:
    """Uneven places of the samples in each dimension."""
    return [lib.arange(n, dtype=lib.float64, device=x.device) ** 1.5 for n in x.shape]


@pytest.mark.torch
@pytest.mark.parametrize("keywords", [{}, {"spacing": 2.0}, {"dim": 1}, {"dim": (0, -1)}, {"edge_order": 2}, {"spacing": [1.0, 2.0, 3.0]},
                                      {"spacing": "places"}, {"spacing": "places", "edge_order": 2}, {"dim": ()},
                                      {"spacing": 3, "dim": -1, "edge_order": 2}, {"spacing": 1j, "dim": 0}])
@pytest.mark.parametrize("data", [DATA, DATA[:, :3, :3], np.rint(DATA * 9).astype(np.int64), DATA + 1j * DATA[::-1]])
def test_as_pytorch(keywords, data, device):
    def call(lib: Any, x: Any) -> Any:
        given = dict(keywords)
        if given.get("spacing") == "places":
            given["spacing"] = places(lib, x)
        return lib.gradient(x, **given)

    agree(call, data, device=device, grad=keywords.get("spacing") != 1j)


@pytest.mark.parametrize("call", [
    lambda lib, x: lib.gradient(x, dim=(0, 0)), lambda lib, x: lib.gradient(x, edge_order=3), lambda lib, x: lib.gradient(x[:1]),
    lambda lib, x: lib.gradient(x[:2], edge_order=2), lambda lib, x: lib.gradient(x > 0), lambda lib, x: lib.gradient(x, dim=5),
    lambda lib, x: lib.gradient(x.to(lib.uint8)), lambda lib, x: lib.gradient(x, spacing=[2.0]), lambda lib, x: lib.gradient(x, spacing="a"),
    lambda lib, x: lib.gradient(x, spacing=[2.0], dim=(0, 1)), lambda lib, x: lib.gradient(x[0, 0], spacing=(lib.zeros(1, 4),)),
    lambda lib, x: lib.gradient(x[0, 0, 0]), lambda lib, x: lib.gradient(x[0, 0, :2])])
def test_errors_and_corners(call):
    agree(call, DATA, grad=False)


def test_wrong_number_of_places(device):
    with pytest.raises(RuntimeError, match="expected 4 places"):
        lucid.gradient(lucid.zeros(4, device=device), spacing=(lucid.arange(3.0, device=device),))


def test_gradients(device):
    x = lucid.tensor(DATA[0], device=device, requires_grad=True)
    at = [lucid.tensor(np.arange(n) ** 1.5, device=device, requires_grad=True) for n in (5, 4)]
    for order in (1, 2):
        def function(x: Any, a: Any, b: Any, order: int = order) -> Any:
            return lucid.gradient(x, spacing=(a, b), edge_order=order)

        assert gradcheck(function, (x, *at), fast_mode=True) and gradgradcheck(function, (x, *at), fast_mode=True)
