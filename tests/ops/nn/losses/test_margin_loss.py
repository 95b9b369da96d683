"""Losses of margins, angles and likelihoods: reductions, derivatives, errors, PyTorch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, raises_like_torch, same_as_torch, uniform

SIGNS = np.array([1, -1, 1, -1, 1])
LABELS = np.array([[0, 2, -1, 1], [3, -1, 0, 0], [-1, 1, 1, 1], [1, 0, 2, 3], [2, 2, -1, 0]])
ROWS, OTHERS, THIRD = uniform(5, 4), uniform(5, 4, seed=1), uniform(5, 4, seed=2)
POSITIVE = uniform(5, 4, low=0.1, high=2.0, seed=3)

# name, function of (library, F, reduction, *tensors), arrays
CASES: list[tuple[str, Any, list[np.ndarray]]] = [
    ("hinge", lambda t, F, r, x, y: F.hinge_embedding_loss(x, y, 0.7, reduction=r), [ROWS[:, 0], SIGNS]),
    ("hinge-neither", lambda t, F, r, x, y: F.hinge_embedding_loss(x, y, reduction=r), [ROWS[:, 0], SIGNS - 1]),
    ("ranking", lambda t, F, r, x, y, s: F.margin_ranking_loss(x, y, s, 0.3, reduction=r), [ROWS[:, 0], OTHERS[:, 0], SIGNS]),
    ("soft-margin", lambda t, F, r, x, y: F.soft_margin_loss(x * 100, y, reduction=r), [ROWS[:, 0], SIGNS]),
    ("cosine", lambda t, F, r, x, y, s: F.cosine_embedding_loss(x, y, s, 0.1, reduction=r), [ROWS, OTHERS, SIGNS]),
    ("cosine-one", lambda t, F, r, x, y, s: F.cosine_embedding_loss(x, y, s, reduction=r), [ROWS[0], OTHERS[0], SIGNS[0]]),
    ("multi-margin", lambda t, F, r, x, y: F.multi_margin_loss(x, y, reduction=r), [ROWS, LABELS[:, 3]]),
    ("multi-margin-2", lambda t, F, r, x, y, w: F.multi_margin_loss(x, y, 2, 0.5, w.detach(), reduction=r),
     [ROWS, LABELS[:, 3], uniform(4, low=0.5, high=2.0)]),
    ("multi-margin-one", lambda t, F, r, x, y: F.multi_margin_loss(x, y, reduction=r), [ROWS[0], LABELS[3, 3]]),
    ("multilabel-margin", lambda t, F, r, x, y: F.multilabel_margin_loss(x, y, reduction=r), [ROWS, LABELS]),
    ("multilabel-margin-one", lambda t, F, r, x, y: F.multilabel_margin_loss(x, y, reduction=r), [ROWS[0], LABELS[0]]),
    ("multilabel-soft", lambda t, F, r, x, y, w: F.multilabel_soft_margin_loss(x, y.detach(), w.detach(), reduction=r),
     [ROWS, (THIRD > 0).astype(float), uniform(4, low=0.5, high=2.0)]),
    ("triplet", lambda t, F, r, a, p, n: F.triplet_margin_loss(a, p, n, 0.7, reduction=r), [ROWS, OTHERS, THIRD]),
    ("triplet-swap", lambda t, F, r, a, p, n: F.triplet_margin_loss(a, p, n, p=1, swap=True, reduction=r), [ROWS, OTHERS, THIRD]),
    ("triplet-distance", lambda t, F, r, a, p, n: F.triplet_margin_with_distance_loss(
        a, p, n, distance_function=lambda x, y: 1 - F.cosine_similarity(x, y), swap=True, reduction=r), [ROWS, OTHERS, THIRD]),
    ("huber", lambda t, F, r, x, y: F.huber_loss(x, y, reduction=r, delta=0.6), [ROWS, OTHERS]),
    ("huber-weighted", lambda t, F, r, x, y, w: F.huber_loss(x, y, reduction=r, weight=w.detach()), [ROWS, OTHERS, POSITIVE]),
    ("poisson", lambda t, F, r, x, y: F.poisson_nll_loss(x, y.detach(), reduction=r), [ROWS, POSITIVE * 3]),
    ("poisson-full", lambda t, F, r, x, y: F.poisson_nll_loss(x, y.detach(), False, True, reduction=r), [POSITIVE, POSITIVE * 3]),
    ("gaussian", lambda t, F, r, x, y, v: F.gaussian_nll_loss(x, y, v, reduction=r), [ROWS, OTHERS, POSITIVE]),
    ("gaussian-rows", lambda t, F, r, x, y, v: F.gaussian_nll_loss(x, y, v, True, 0.9, reduction=r), [ROWS, OTHERS, POSITIVE[:, 0]]),
    ("gaussian-column", lambda t, F, r, x, y, v: F.gaussian_nll_loss(x, y, v, reduction=r), [ROWS, OTHERS, POSITIVE[:, :1]]),
    ("gaussian-number", lambda t, F, r, x, y: F.gaussian_nll_loss(x, y, 0.3, reduction=r), [ROWS, OTHERS]),
]


@pytest.mark.torch
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(("function", "arrays"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_matches_torch(function: Any, arrays: list[np.ndarray], reduction: str, device: str) -> None:
    same_as_torch(lambda t, F, *tensors: function(t, F, reduction, *tensors), *arrays, device=device)


@pytest.mark.parametrize(("function", "arrays"), [case[1:] for case in CASES if case[0] != "gaussian-rows"],
                         ids=[case[0] for case in CASES if case[0] != "gaussian-rows"])
def test_derivatives(function: Any, arrays: list[np.ndarray], device: str) -> None:
    """Of the first argument; the bounded variance of `gaussian-rows` has a gradient that is not its derivative."""
    rest = [lucid.tensor(a, device=device) for a in arrays[1:]]
    check_derivatives(lambda x: function(lucid, F, "sum", x, *rest), device, arrays[0])


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.margin_ranking_loss(t.ones(3), t.ones(3, 1), t.ones(3)), "should have same dimension"),
    (lambda t, F: F.cosine_embedding_loss(t.ones(3), t.ones(3), t.ones(3)), "1D target tensor expects 2D input"),
    (lambda t, F: F.cosine_embedding_loss(t.ones(3, 1), t.ones(3, 1), t.ones(3, 1)), "multi-target not supported"),
    (lambda t, F: F.multi_margin_loss(t.ones(3, 2), t.zeros(3).long(), p=3), "only p == 1 and p == 2"),
    (lambda t, F: F.multi_margin_loss(t.ones(3, 2), t.zeros(2).long()), "inconsistent target size"),
    (lambda t, F: F.multi_margin_loss(t.ones(3, 2), t.zeros(3, 1).long()), "inconsistent target size"),
    (lambda t, F: F.multi_margin_loss(t.ones(3, 0), t.zeros(3).long()), "non-empty vector or matrix"),
    (lambda t, F: F.multi_margin_loss(t.ones(3, 2, 2), t.zeros(3).long()), "non-empty vector or matrix"),
    (lambda t, F: F.multi_margin_loss(t.ones(3, 2), t.zeros(3).int()), "expected scalar type Long but found Int"),
    (lambda t, F: F.multi_margin_loss(t.ones(3, 2), t.zeros(3).long() + 2), "target out of range"),
    (lambda t, F: F.multi_margin_loss(t.ones(3, 2), t.zeros(3).long() - 1), "target out of range"),
    (lambda t, F: F.multi_margin_loss(t.ones(3, 2), t.zeros(3).long(), weight=t.ones(3)), "inconsistent weight size, expected 2"),
    (lambda t, F: F.multi_margin_loss(t.ones(3, 2), t.zeros(3).long(), weight=t.ones(2, 1)), "must be one-dimensional"),
    (lambda t, F: F.multi_margin_loss(t.ones(3, 2), t.zeros(3).long(), weight=t.ones(2).double()), "expected scalar type Float"),
    (lambda t, F: F.multi_margin_loss(t.ones(3, 2), t.zeros(3).long(), weight=t.ones(2, requires_grad=True)), "not differentiable"),
    (lambda t, F: F.multi_margin_loss(t.ones(3, 2).long(), t.zeros(3).long()), "not implemented for 'Long'"),
    (lambda t, F: F.multi_margin_loss(t.ones(3, 2), [0, 0, 0]), "must be Tensor, not list"),
    (lambda t, F: F.multilabel_margin_loss(t.ones(3, 2), t.zeros(2).long()), "inconsistent target size"),
    (lambda t, F: F.multilabel_margin_loss(t.ones(1, 2), t.zeros(2).long()), "inconsistent target size"),
    (lambda t, F: F.multilabel_margin_loss(t.ones(3, 0), t.zeros(3, 0).long()), "non-empty vector or matrix"),
    (lambda t, F: F.multilabel_margin_loss(t.ones(3, 2, 2), t.zeros(3, 2, 2).long()), "non-empty vector or matrix"),
    (lambda t, F: F.multilabel_margin_loss(t.ones(3, 2), t.zeros(3, 2)), "expected scalar type Long but found Float"),
    (lambda t, F: F.multilabel_margin_loss(t.ones(1, 2), t.tensor([[-1, 2]])), "'target' is out of range"),
    (lambda t, F: F.multilabel_margin_loss(t.ones(1, 2), t.tensor([[-1, -2]])), "'target' is out of range"),
    (lambda t, F: F.triplet_margin_loss(t.ones(3, 2), t.ones(3, 2), t.ones(3, 2), margin=0), "margin must be greater than 0"),
    (lambda t, F: F.triplet_margin_loss(t.ones(3, 2), t.ones(2), t.ones(3, 2)), "same number of dimensions"),
    (lambda t, F: F.huber_loss(t.ones(3), t.ones(3), delta=0), "non-positive values for delta"),
    (lambda t, F: F.huber_loss(t.ones(3), t.ones(3), reduction="all"), None),
    (lambda t, F: F.gaussian_nll_loss(t.ones(3), t.ones(3), -t.ones(3)), "negative entry"),
    (lambda t, F: F.gaussian_nll_loss(t.ones(3, 2), t.ones(3, 2), t.ones(2)), "incorrect size"),
    (lambda t, F: F.gaussian_nll_loss(t.ones(3, 2), t.ones(3, 2), -1.0), "negative entry"),
])
def test_errors(call: Any, match: str) -> None:
    raises_like_torch(call, match)


@pytest.mark.parametrize("size", [1, 5000])
@pytest.mark.parametrize("name", ["huber_loss", "smooth_l1_loss"])
def test_the_gradient_at_an_infinite_distance(name: str, size: int, device: str) -> None:
    x = lucid.tensor([1.0, 2.0, np.inf, 1.0, np.nan, 1.25] * size, device=device, requires_grad=True)
    target = lucid.tensor([np.inf, -np.inf, 1.0, -3e38, 1.0, 1.0] * size, device=device)
    getattr(lucid.nn.functional, name)(x, target, reduction="sum").backward()
    np.testing.assert_array_equal(x.grad[-6:].cpu().numpy(), [-1, 1, 1, 1, np.nan, 0.25])


NAN, INF = np.nan, np.inf
ODD = np.array([[0, 1, 0, NAN], [NAN, 1, 2, 3], [1, INF, 2, INF], [0.1, -0.9, 0.3, -0.9]])


@pytest.mark.torch
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [1, 3, 1, 2], [3, 2, 3, 1]])
def test_scores_that_are_no_numbers_and_margins_that_are_met(p: int, labels: list[int], device: str) -> None:
    same_as_torch(lambda t, F, x, y: F.multi_margin_loss(x, y, p=p, reduction="none"), ODD, np.array(labels), device=device)
    rows = np.array([[label, 1, -1, 0] for label in labels])
    same_as_torch(lambda t, F, x, y: F.multilabel_margin_loss(x, y, reduction="none"), ODD, rows, device=device)


@pytest.mark.torch
def test_a_weight_that_is_no_number_and_many_labels(device: str) -> None:
    """The weight is not asked for where no margin is missed."""
    weight = np.array([NAN, 1.0, INF, NAN])
    for p in (1, 2):
        same_as_torch(lambda t, F, x, y, p=p: F.multi_margin_loss(x, y, p, weight=t.tensor(weight, device=x.device)),
                      np.array([[3.0, 1, 1, 1], [0, 1, 2, 3]]), np.array([0, 1]), device=device)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 200, (6, 200))
    labels[:3, 1:50] = -1
    same_as_torch(lambda t, F, x, y: F.multilabel_margin_loss(x, y, reduction="none"), rng.normal(size=(6, 200)), labels, device=device)


@pytest.mark.torch
@pytest.mark.parametrize("shapes", [((), ()), ((), (1,)), ((1,), ()), ((3,), (1,)), ((1, 3), ()), ((1, 3), (1,)), ((0, 3), (0,))])
def test_shapes_of_scores_and_targets(shapes: Any, device: str) -> None:
    scores, target = np.ones(shapes[0]), np.zeros(shapes[1], int)
    same_as_torch(lambda t, F, x, y: F.multi_margin_loss(x, y, reduction="none"), scores, target, device=device)
    labels = target if shapes[0] in ((), (1,)) else np.zeros(shapes[0], int)
    same_as_torch(lambda t, F, x, y: F.multilabel_margin_loss(x, y, reduction="none"), scores, labels, device=device)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_second_gradients_of_one_row(reduction: str, device: str) -> None:
    """Shapes of the upstream gradient that are not (N,)."""
    for shape, target in (((3,), lucid.tensor([1], device=device)), ((1, 3), lucid.tensor(1, device=device))):
        check_derivatives(lambda x, y=target: F.multi_margin_loss(x, y, p=2, reduction=reduction), device, uniform(*shape))
    check_derivatives(lambda x: F.multilabel_margin_loss(x, lucid.tensor([1, -1, 0], device=device), reduction=reduction), device,
                      uniform(3))


def test_half_precision_scores(device: str) -> None:
    for dtype in (lucid.float16, lucid.bfloat16):
        x = lucid.tensor(ROWS, device=device).to(dtype)
        for loss, target in ((F.multi_margin_loss, LABELS[:, 3]), (F.multilabel_margin_loss, LABELS)):
            y = lucid.tensor(target, device=device)
            found, expected = loss(x.requires_grad_(), y), loss(x.detach().float(), y)
            assert found.dtype == dtype and found.item() == expected.to(dtype).item()
            found.backward()
            assert x.grad.dtype == dtype


def test_classes_on_meta() -> None:
    x, y = lucid.empty(5, 4, device="meta", requires_grad=True), lucid.empty(5, dtype=lucid.int64, device="meta")
    labels = lucid.empty(5, 4, dtype=lucid.int64, device="meta")
    for reduction, shape in (("none", (5,)), ("mean", ())):
        for loss in (F.multi_margin_loss(x, y, reduction=reduction), F.multilabel_margin_loss(x, labels, reduction=reduction)):
            assert loss.shape == shape
            assert lucid.autograd.grad(loss.sum(), x)[0].shape == (5, 4)
