"""Padding to and of lengths of 0, as PyTorch allows or refuses it."""
from __future__ import annotations

import pytest

import lucid
from lucid.nn import functional as F

ALLOWED = [("reflect", (1, 2, 3), (1, 1, -2, 0), (1, 0, 5)), ("reflect", (1, 2, 3), (-3, 0, 0, 0), (1, 2, 0)),
           ("replicate", (1, 1, 2, 3), (0, 0, -1, -1), (1, 1, 0, 3)), ("replicate", (0, 1, 2, 3), (1, 1, -2, 0), (0, 1, 0, 5)),
           ("reflect", (1, 1, 2, 2, 3), (0, 0, -2, 0, 1, 0), (1, 1, 3, 0, 3)), ("reflect", (0, 2, 3), (1, 1), (0, 2, 5)),
           ("circular", (2, 3), (-3, 0), (2, 0)), ("circular", (0, 3), (1, 1), (0, 5)), ("constant", (2, 3), (-3, 0), (2, 0)),
           ("constant", (2, 0), (1, 1), (2, 2))]
REFUSED = [("reflect", (2, 3), (-3, 0)), ("replicate", (2, 3), (-2, -1)), ("replicate", (1, 2, 3), (-3, 0, -2, 0)),
           ("reflect", (1, 2, 3), (-4, 0, 0, 0)), ("reflect", (0, 3), (1, 1)), ("replicate", (1, 0, 3), (1, 1)),
           ("replicate", (0, 2, 3), (1, 0, 0, 0)), ("reflect", (1, 0, 2, 3), (0, 0, 0, 0)), ("replicate", (2, 0), (1, 0)),
           ("circular", (2, 3), (-3, -1)), ("circular", (2, 0), (1, 0)), ("constant", (2, 3), (-4, 1))]


@pytest.mark.parametrize(("mode", "shape", "pad", "expected"), ALLOWED)
def test_padding_to_nothing_that_is_allowed(mode, shape, pad, expected, device):
    x = lucid.ones(*shape, device=device, requires_grad=True)
    y = F.pad(x, pad, mode)
    assert y.shape == expected
    y.sum().backward()
    assert not y.any()
    assert not x.grad.any()


@pytest.mark.parametrize(("mode", "shape", "pad"), REFUSED)
def test_padding_to_nothing_that_is_refused(mode, shape, pad, device):
    with pytest.raises(RuntimeError):
        F.pad(lucid.ones(*shape, device=device), pad, mode)


@pytest.mark.torch
def test_shapes_and_refusals_as_pytorch():
    torch = pytest.importorskip("torch")
    for mode, shape, pad, expected in ALLOWED:
        assert tuple(torch.nn.functional.pad(torch.ones(*shape), pad, mode).shape) == expected
    for mode, shape, pad in REFUSED:
        with pytest.raises(RuntimeError):
            torch.nn.functional.pad(torch.ones(*shape), pad, mode)
