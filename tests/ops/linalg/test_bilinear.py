"""The bilinear form: values, derivatives, errors, PyTorch."""
from __future__ import annotations

from typing import Any

import pytest

import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, raises_like_torch, same_as_torch, uniform


@pytest.mark.parametrize("lead", [(), (5,), (2, 3), (0,)])
def test_matches_torch(lead: tuple[int, ...], device: str) -> None:
    arrays = uniform(*lead, 3), uniform(*lead, 4, seed=1), uniform(2, 3, 4, seed=2), uniform(2, seed=3)
    same_as_torch(lambda t, F, *tensors: F.bilinear(*tensors), *arrays, device=device)
    same_as_torch(lambda t, F, *tensors: F.bilinear(*tensors), *arrays[:3], device=device)


def test_derivatives(device: str) -> None:
    check_derivatives(F.bilinear, device, uniform(2, 3), uniform(2, 4, seed=1), uniform(2, 3, 4, seed=2), uniform(2, seed=3))


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.bilinear(t.ones(2, 3), t.ones(3, 4), t.ones(2, 3, 4)), "batch dimensions do not match"),
    (lambda t, F: F.bilinear(t.ones(2, 3), t.ones(2, 3), t.ones(2, 3, 4)), "do not match weight size"),
    (lambda t, F: F.bilinear(t.ones(2, 3), t.ones(2, 4), t.ones(2, 3, 4), t.ones(3)), "bias size"),
])
def test_errors(call: Any, match: str) -> None:
    raises_like_torch(call, match)
