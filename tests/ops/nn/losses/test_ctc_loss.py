"""The loss of unaligned sequences: values and gradients as PyTorch's, lengths, targets that do not fit, errors."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, raises_like_torch, same_as_torch, uniform

TARGETS, LENGTHS = np.array([[1, 2, 2], [3, 0, 0], [2, 3, 2], [1, 1, 0]]), (3, 0, 3, 2)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("blank", [0, 4])
def test_matches_torch(blank: int, reduction: str, device: str) -> None:
    targets = np.where(TARGETS == 0, 1, TARGETS)
    for inputs in ((8, 8, 8, 8), (5, 4, 8, 3)):
        same_as_torch(lambda t, F, x, y: F.ctc_loss(x.log_softmax(2), y, inputs, LENGTHS, blank, reduction),  # noqa: B023
                      uniform(8, 4, 5), targets, device=device)
    same_as_torch(lambda t, F, x, y: F.ctc_loss(x, y, t.tensor((8, 7, 8, 8)), t.tensor(LENGTHS), blank, reduction),
                  uniform(8, 4, 5), targets, device=device)


def test_other_shapes(device: str) -> None:
    """Targets one after the other, and a single sequence."""
    together = np.concatenate([row[:n] for row, n in zip(TARGETS, LENGTHS, strict=True)])
    same_as_torch(lambda t, F, x, y: F.ctc_loss(x.log_softmax(2), y, (8, 8, 8, 8), LENGTHS), uniform(8, 4, 5), together,
                  device=device)
    same_as_torch(lambda t, F, x, y: F.ctc_loss(x.log_softmax(1), y, t.tensor(8), t.tensor(3), reduction="none"), uniform(8, 5),
                  TARGETS[0], device=device)


def test_targets_that_do_not_fit(device: str) -> None:
    for inputs in ((2, 8, 8, 2), (0, 0, 8, 8)):
        for zero_infinity in (False, True):
            def apply(t: Any, F: Any, x: Any, y: Any, inputs: Any = inputs, zero_infinity: bool = zero_infinity) -> Any:
                loss = F.ctc_loss(x.log_softmax(2), y, inputs, LENGTHS, reduction="none", zero_infinity=zero_infinity)
                return loss if zero_infinity else loss.detach()

            same_as_torch(apply, uniform(8, 4, 5), np.where(TARGETS == 0, 1, TARGETS), device=device)


def test_derivatives(device: str) -> None:
    targets = lucid.tensor([[1, 1], [2, 1]], device=device)
    check_derivatives(lambda x: F.ctc_loss(x.log_softmax(2), targets, (4, 3), (2, 1), reduction="sum"), device, uniform(4, 2, 3))
    for zero_infinity in (False, True):  # the kernel's gradient and that of its operations; the second target does not fit
        x = lucid.tensor(uniform(4, 2, 3), device=device, requires_grad=True)
        loss = F.ctc_loss(x.log_softmax(2), targets, (4, 1), (2, 2), reduction="none", zero_infinity=zero_infinity)
        loss = loss if zero_infinity else loss[0]
        kernel, operations = (lucid.autograd.grad(loss.sum(), x, create_graph=graph, retain_graph=True)[0].detach().cpu().numpy()
                              for graph in (False, True))
        np.testing.assert_allclose(kernel[:, 0], operations[:, 0], rtol=1e-12, atol=1e-15)
        assert not (kernel[:, 1].any() if zero_infinity else kernel[1:, 1].any())


def test_a_target_that_is_no_class() -> None:
    x = lucid.zeros(4, 2, 3)
    with pytest.raises(IndexError, match="target 3 is not one of 3 classes"):
        F.ctc_loss(x, lucid.tensor([[1, 2], [1, 3]]), (4, 4), (2, 2))
    assert F.ctc_loss(x, lucid.tensor([[1, 2], [1, 3]]), (4, 4), (2, 1)).isfinite()


def test_module() -> None:
    x, y = lucid.tensor(uniform(6, 2, 4)).log_softmax(2), lucid.tensor([[1, 2], [3, 1]])
    layer = lucid.nn.CTCLoss(blank=1, reduction="sum", zero_infinity=True)
    assert repr(layer) == "CTCLoss()"
    assert layer(x, y + 1 - (y == 3).long(), (6, 6), (2, 2)) == F.ctc_loss(x, y + 1 - (y == 3).long(), (6, 6), (2, 2), 1, "sum")


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.ctc_loss(t.ones(4, 2, 3), t.ones(2, 2).long(), (4, 4), (2, 2), blank=3), "blank must be in label range"),
    (lambda t, F: F.ctc_loss(t.ones(4, 2, 3), t.ones(2, 2).long(), (4,), (2, 2)), "must be of size batch_size"),
    (lambda t, F: F.ctc_loss(t.ones(4, 2, 3), t.ones(2, 2).long(), (5, 4), (2, 2)), "input_lengths to have values"),
    (lambda t, F: F.ctc_loss(t.ones(4, 2, 3), t.ones(5).long(), (4, 4), (2, 2)), "Expected tensor to have size"),
])
def test_errors(call: Any, match: str) -> None:
    raises_like_torch(call, match)


@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_an_infinite_loss(reduction: str, zero_infinity: bool, device: str) -> None:
    """Two steps do not hold the blank between two equal labels: the second loss is inf with the gradient NaN, or 0 and 0."""
    rows = [[[0.1, 0.2, 0.3], [0.5, 0.1, 0.2]], [[0.3, 0.2, 0.1], [0.1, 0.1, 0.4]]]
    x = lucid.tensor(rows, dtype="float64", device=device, requires_grad=True)
    targets, two = lucid.tensor([[1, 2], [1, 1]], device=device), lucid.tensor([2, 2], device=device)
    loss = F.ctc_loss(x.log_softmax(2), targets, two, two, reduction=reduction, zero_infinity=zero_infinity)
    loss.sum().backward()
    scale = 4 if reduction == "mean" else 1  # the mean of two losses, each divided by the length of its target
    finite, other = 2.303886 / scale, 0.0 if zero_infinity else np.inf
    expected = [finite, other] if reduction == "none" else finite + other
    np.testing.assert_allclose(loss.detach().cpu().numpy(), expected, rtol=1e-6)
    slope = np.array([[0.30061, -0.667775, 0.367165], [0.367165, 0.332225, -0.69939]]) / scale
    np.testing.assert_allclose(x.grad[:, 0].cpu().numpy(), slope, atol=1e-6)
    np.testing.assert_array_equal(x.grad[:, 1].cpu().numpy(), 0.0 if zero_infinity else np.nan)
