"""Losses: values against their definitions, derivatives, reductions, labels out of range, errors, PyTorch."""
from __future__ import annotations

import math

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, close, leaf, raises_like_torch, same_as_torch, uniform

LABELS = np.array([0, 2, -100, 1])
WEIGHT = np.array([0.5, 2.0, 1.5])
each_reduction = pytest.mark.parametrize("reduction", ["none", "mean", "sum"])


def probabilities(*shape, seed=0):
    return uniform(*shape, low=0.1, high=0.9, seed=seed)


@each_reduction
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(reduction, smoothing, weighted, device):
    def loss(x):
        weight = lucid.tensor(WEIGHT, device=device) if weighted else None
        return F.cross_entropy(x, lucid.tensor(LABELS, device=device), weight, reduction=reduction, label_smoothing=smoothing)

    x = uniform(4, 3)
    check_derivatives(loss, device, x)
    shares = np.zeros((4, 3))
    shares[[0, 1, 3], LABELS[[0, 1, 3]]] = 1
    weights = WEIGHT if weighted else np.ones(3)
    total = (shares * weights).sum()
    shares = (shares * (1 - smoothing) + smoothing / 3 * (LABELS != -100)[:, None]) * weights
    expected = -(shares * (x - np.log(np.exp(x).sum(1, keepdims=True)))).sum(1)
    close(loss(lucid.tensor(x, device=device)),
          {"none": expected, "sum": expected.sum(), "mean": expected.sum() / total}[reduction], 1e-10)


@pytest.mark.torch
@pytest.mark.parametrize(("shape", "labels"), [((3,), 1), ((2, 3, 2), [[0, 1], [2, 2]]),
                                               ((1, 3, 2, 2), [[[0, 1], [2, -100]]])])
@each_reduction
def test_cross_entropy_of_other_shapes(shape, labels, reduction, device):
    labels = np.array(labels)
    same_as_torch(lambda t, F, x, y, w: F.cross_entropy(x, y, w.detach(), reduction=reduction, label_smoothing=0.1),
                  uniform(*shape), labels, WEIGHT, device=device)
    check_derivatives(lambda x: F.cross_entropy(x, lucid.tensor(labels, device=device), reduction=reduction), device,
                      uniform(*shape))


@each_reduction
def test_cross_entropy_of_probabilities(reduction, device):
    x, target = uniform(4, 3), probabilities(4, 3)
    same_as_torch(lambda t, F, x, p, w: F.cross_entropy(x, p, w, reduction=reduction, label_smoothing=0.1), x, target, WEIGHT,
                  device=device)
    same_as_torch(lambda t, F, x, p: F.cross_entropy(x, p, reduction=reduction), uniform(2, 3, 2), probabilities(2, 3, 2))
    check_derivatives(lambda x, p: F.cross_entropy(x, p, reduction=reduction), device, x, target)


def test_cross_entropy_computes_no_gradient_without_need():
    from lucid.backends import observe

    asked = []
    with observe(lambda name, arrays, attributes, result: asked.append(attributes.get("with_grad"))):
        F.cross_entropy(lucid.tensor(uniform(2, 3)), lucid.tensor([0, 1]))
        with lucid.no_grad():
            F.cross_entropy(leaf(uniform(2, 3)), lucid.tensor([0, 1]))
        F.cross_entropy(leaf(uniform(2, 3)), lucid.tensor([0, 1]))
    assert [a for a in asked if a is not None] == [False, False, True]


def test_cross_entropy_backward_again(device):
    x = lucid.randn(4, 5, device=device).requires_grad_()
    loss = F.cross_entropy(x, lucid.tensor([0, 1, 2, 3], device=device))
    loss.backward(retain_graph=True)
    once = x.grad.clone()
    x.grad.mul_(7.0)  # is not what the graph keeps
    (again,) = lucid.autograd.grad(loss, x, retain_graph=True)
    again.zero_()
    loss.backward(lucid.full_like(loss, 2.0), retain_graph=True)
    loss.backward()
    np.testing.assert_allclose(x.grad.cpu().numpy(), 10 * once.cpu().numpy(), rtol=1e-6)


def test_cross_entropy_of_huge_and_infinite_logits():
    rows = np.array([[1e4, -1e4, 0.0], [-np.inf, 0.0, 1.0], [np.nan, 0.0, 1.0]])
    same_as_torch(lambda t, F, x, y: F.cross_entropy(x, y, reduction="none"), rows, np.array([1, 2, 0]))


def test_all_ignored_and_empty_are_nan():
    assert F.cross_entropy(lucid.ones(2, 3), lucid.tensor([-100, -100])).isnan()
    assert F.cross_entropy(lucid.ones(0, 3), lucid.ones(0).long()).isnan()
    assert F.cross_entropy(lucid.ones(2, 3), lucid.tensor([5, 5]), ignore_index=5, reduction="sum").item() == 0


@pytest.mark.parametrize("planes", [False, True])
def test_ignored_rows_without_probabilities_have_the_gradient_of_pytorch(planes, device):
    """NaN, unless the row has probabilities: then 0."""
    rows = np.array([[0.0, 1, 2], [1, np.nan, 2], [1, np.inf, 2], [-np.inf, 0, 1], [-np.inf] * 3, [1, 2, 3]], np.float32)
    for reduction in ("mean", "sum", "none"):
        x = lucid.tensor(rows.T[None] if planes else rows, device=device, requires_grad=True)
        target = lucid.tensor([0, -100, -100, -100, -100, -100], device=device)
        loss = F.cross_entropy(x, target[None] if planes else target, reduction=reduction)
        np.testing.assert_allclose(loss.cpu().detach().numpy().sum(), 2.407606, rtol=1e-5)
        loss.sum().backward()
        grad = x.grad.cpu().numpy()[0].T if planes else x.grad.cpu().numpy()
        assert np.isnan(grad[[1, 2, 4]]).all()
        assert not grad[[3, 5]].any()
        assert np.isfinite(grad[0]).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves(dtype, device):
    x = lucid.tensor(uniform(4, 3), device=device).to(getattr(lucid, dtype)).requires_grad_()
    loss = F.cross_entropy(x, lucid.tensor([0, 1, 2, 0], device=device))
    loss.backward()
    assert loss.dtype == x.dtype
    assert x.grad.dtype == x.dtype


def test_a_label_out_of_range(device):
    x = lucid.ones(2, 3, device=device)
    for label in (7, -1):
        with pytest.raises(IndexError, match="out of bounds" if device == "cpu" else None):
            F.cross_entropy(x, lucid.tensor([0, label], device=device)).item()
        with pytest.raises(IndexError, match=f"Target {label} is out of bounds."):
            F.nll_loss(x, lucid.tensor([0, label], device=device)).item()
    assert F.nll_loss(x, lucid.tensor([0, 7], device=device), ignore_index=7).item() == -1


@each_reduction
def test_nll(reduction, device):
    same_as_torch(lambda t, F, x, y, w: F.nll_loss(x, y, w.detach(), reduction=reduction), uniform(4, 3), LABELS, WEIGHT,
                  device=device)
    same_as_torch(lambda t, F, x, y: F.nll_loss(x, y, reduction=reduction), uniform(2, 3, 2), np.array([[0, 1], [2, 2]]))
    same_as_torch(lambda t, F, x, y: F.nll_loss(x, y, reduction=reduction), uniform(3), np.array(1))


@each_reduction
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [LABELS, np.array([0, 2, 1, 1])])
def test_derivatives_of_nll(reduction, weighted, labels, device):
    weight = lucid.tensor(WEIGHT, device=device) if weighted else None
    check_derivatives(lambda x: F.nll_loss(x, lucid.tensor(labels, device=device), weight, reduction=reduction), device,
                      uniform(4, 3))


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_nll_of_halves_infinities_and_no_rows(dtype, device):
    rows = np.array([[-np.inf, 1, 2], [0.3, -np.inf, 0.1], [np.inf, 2, 3], [0.5, 0.7, np.nan]])
    for labels, ignored in (([0, 2, -100, 1], -100), ([1, 0, -100, 0], -100), ([-100] * 4, -100), ([1, 2, 0, 1], 1)):
        for reduction in ("mean", "none"):
            def loss(t, F, x, y, w, ignored=ignored, reduction=reduction):
                kind = getattr(t, dtype)
                return F.nll_loss(x.to(kind), y, w.detach().to(kind), ignore_index=ignored, reduction=reduction).double()

            # A GPU's kernel sums in float32 and rounds once, PyTorch on a CPU the sum of the weights too.
            rtol = 1e-10 if device == "cpu" else float(lucid.finfo(getattr(lucid, dtype)).eps)
            same_as_torch(loss, rows, np.array(labels), WEIGHT, device=device, rtol=rtol)
    assert np.isnan(F.nll_loss(lucid.zeros(0, 3, device=device), lucid.zeros(0, dtype=int, device=device)).item())


def test_class_weights_have_no_gradient():
    x, weight = leaf(uniform(4, 3)), leaf(WEIGHT)
    for loss in (F.nll_loss, F.cross_entropy):
        with pytest.raises(RuntimeError, match="is not differentiable with respect to argument 'weight'"):
            loss(x, lucid.tensor([0, 2, 1, 1]), weight)
        with lucid.no_grad():
            loss(x, lucid.tensor([0, 2, 1, 1]), weight)


def test_one_target_of_a_single_row_may_have_one_dimension():
    """PyTorch takes it in the forward pass, but fails in backward or with label smoothing."""
    x = leaf(uniform(3))
    for loss in (F.cross_entropy, F.nll_loss):
        assert loss(x, lucid.tensor([1])).item() == loss(x, lucid.tensor(1)).item()
        assert loss(x, lucid.tensor([1]), reduction="none").shape == ()
        loss(x, lucid.tensor([1])).backward()


@pytest.mark.torch
@each_reduction
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy",
                                  "binary_cross_entropy_with_logits", "kl_div"])
def test_elementwise_losses(name, reduction, device):
    a, b = probabilities(4, 3), probabilities(4, 3, seed=1)
    same_as_torch(lambda t, F, x, y: getattr(F, name)(x, y, reduction=reduction), a, b, device=device)
    if reduction == "mean":
        check_derivatives(lambda x, y: getattr(F, name)(x, y, reduction="batchmean" if name == "kl_div" else "mean"),
                          device, a, b)


def test_their_options():
    a, b, w = uniform(4, 3), probabilities(4, 3), WEIGHT
    same_as_torch(lambda t, F, x, y: F.smooth_l1_loss(x, y, beta=0.3), a, b)
    same_as_torch(lambda t, F, x, y: F.smooth_l1_loss(x, y, beta=0), a, b)
    same_as_torch(lambda t, F, x, y, w: F.binary_cross_entropy_with_logits(x, y, w.detach(), pos_weight=w.detach() * 2), a, b, w)
    same_as_torch(lambda t, F, x, y, w: F.binary_cross_entropy(x, y, w.detach()), b, probabilities(4, 3, seed=1), w)
    same_as_torch(lambda t, F, x, y: F.kl_div(x, y, reduction="batchmean", log_target=True), a, b)
    same_as_torch(lambda t, F, x, y: F.kl_div(x, y.detach() * 0, reduction="sum"), a, b)
    same_as_torch(lambda t, F, x, y, w: F.mse_loss(x, y, weight=w.detach().expand(4, 3)), a, b, w)


def test_binary_cross_entropy_at_its_ends():
    same_as_torch(lambda t, F, x, y: F.binary_cross_entropy(x, y.detach(), reduction="none"),
                  np.array([0.0, 1.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0, 1.0]), rtol=1e-8)


def test_binary_cross_entropy_with_logits_at_zero_has_its_second_derivative():
    x = leaf(np.zeros(2))
    loss = F.binary_cross_entropy_with_logits(x, lucid.tensor([0.0, 1.0], dtype=lucid.float64), reduction="sum")
    (first,) = lucid.autograd.grad(loss, x, create_graph=True)
    assert lucid.autograd.grad(first.sum(), x)[0].tolist() == [0.25, 0.25]


def test_warnings():
    with pytest.warns(UserWarning, match="different to the input size"):
        F.mse_loss(lucid.ones(4, 3), lucid.ones(3))
    with pytest.warns(UserWarning, match="size_average and reduce args will be deprecated"):
        assert F.l1_loss(lucid.ones(2), lucid.zeros(2), size_average=False).item() == 2
    with pytest.warns(UserWarning, match="batchmean"):
        F.kl_div(lucid.zeros(2), lucid.ones(2))


@pytest.mark.torch
@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.cross_entropy(t.ones(4, 3), t.zeros(3).long()),
     r"Expected input batch_size \(4\) to match target batch_size \(3\)"),
    (lambda t, F: F.cross_entropy(t.ones(4, 3), t.zeros(4).int()), "expected target dtype to be Long or Byte, but got Int"),
    (lambda t, F: F.cross_entropy(t.ones(4, 3), t.zeros(4, 3).long()), "Expected floating point type for target"),
    (lambda t, F: F.cross_entropy(t.ones(4, 3), t.zeros(4, 2)), "multi-target not supported"),
    (lambda t, F: F.cross_entropy(t.ones(2, 3, 4), t.zeros(2, 5).long()), r"Expected target size \[2, 4\], got \[2, 5\]"),
    (lambda t, F: F.cross_entropy(t.ones(4, 3), t.zeros(4).long(), t.ones(2)), "should be defined either for all 3"),
    (lambda t, F: F.cross_entropy(t.ones(4, 3), t.zeros(4).long(), reduction="all"), "all is not a valid value for reduction"),
    (lambda t, F: F.cross_entropy(t.ones(4, 3), t.zeros(4).long(), label_smoothing=2), "label_smoothing must be between"),
    (lambda t, F: F.cross_entropy(t.ones(4, 3), [0, 0, 0, 0]), "must be Tensor, not list"),
    (lambda t, F: F.mse_loss(t.ones(3), t.ones(2)), "must match the size of tensor b"),
    (lambda t, F: F.mse_loss(t.ones(3).long(), t.ones(3).long()), "not implemented for 'Long'"),
    (lambda t, F: F.smooth_l1_loss(t.ones(3), t.ones(3), beta=-1), "does not support negative values for beta"),
    (lambda t, F: F.binary_cross_entropy(t.ones(3), t.ones(2)), "that is different to the input size"),
    (lambda t, F: F.binary_cross_entropy(t.ones(3) * 2, t.ones(3)), "all elements of input should be between 0 and 1"),
    (lambda t, F: F.binary_cross_entropy(t.ones(3), t.ones(3).double()), "Found dtype Double but expected Float"),
    (lambda t, F: F.binary_cross_entropy_with_logits(t.ones(3), t.ones(2)), "must be the same as input size"),
])
def test_errors(call, match):
    raises_like_torch(call, match)


def test_binary_cross_entropy_and_its_gradients(device):
    """The logarithms are bounded by -100, the denominator of the gradient by 1e-12; gradients differentiate again."""
    x = lucid.tensor([0.0, 1.0, 0.0, 0.25], device=device, requires_grad=True)
    target = lucid.tensor([1.0, 0.0, 0.0, 0.5], device=device, requires_grad=True)
    loss = F.binary_cross_entropy(x, target, reduction="none")
    assert loss.tolist() == pytest.approx([100, 100, 0, -0.5 * math.log(0.25 * 0.75)])
    loss.sum().backward()
    assert x.grad.tolist() == pytest.approx([-1e12, 1e12, 0, -0.25 / (0.25 * 0.75)])
    assert target.grad.tolist() == pytest.approx([math.inf, -math.inf, math.inf, math.log(3)])
    for dtype, tolerance in ((lucid.bfloat16, 0.01), (lucid.float16, 0.001), (lucid.float64, 1e-12)):
        nothing = lucid.zeros(2, 0, 3, dtype=dtype, device=device)
        assert math.isnan(F.binary_cross_entropy(nothing, nothing).item())
        half = F.binary_cross_entropy(lucid.tensor(0.25, dtype=dtype, device=device), lucid.tensor(1.0, dtype=dtype, device=device))
        assert half.dtype == dtype
        assert half.item() == pytest.approx(math.log(4), rel=tolerance)
    probability = lucid.tensor([[0.2, 0.9]], dtype=lucid.float64, device=device, requires_grad=True)
    wanted = lucid.tensor([[0.3, 0.7]], dtype=lucid.float64, device=device, requires_grad=True)
    assert lucid.autograd.gradcheck(F.binary_cross_entropy, (probability, wanted))
    assert lucid.autograd.gradgradcheck(F.binary_cross_entropy, (probability, wanted))


@pytest.mark.parametrize(("name", "expected", "slope"), [
    ("mse_loss", [0.64, 0.09, 0.25], [-1.6, 0.6, -1.0]), ("smooth_l1_loss", [0.32, 0.045, 0.125], [-0.8, 0.3, -0.5]),
    ("huber_loss", [0.32, 0.045, 0.125], [-0.8, 0.3, -0.5])])
def test_bools_as_targets_of_regression(name: str, expected: list[float], slope: list[float], device: str) -> None:
    loss = getattr(F, name)
    for size in (1, 5000):
        p = lucid.tensor([0.2, 0.3, 0.5] * size, device=device, requires_grad=True)
        target = lucid.tensor([True, False, True] * size, device=device)
        y = loss(p, target, reduction="none")
        y.sum().backward()
        np.testing.assert_allclose(y.detach().cpu().numpy(), expected * size, rtol=1e-5)
        np.testing.assert_allclose(p.grad.cpu().numpy(), slope * size, rtol=1e-5)
    for whole in (target, target.long()):
        with pytest.raises(NotImplementedError):
            loss(whole, whole)
        if name == "huber_loss":
            with pytest.raises(RuntimeError, match="can't be cast"):
                loss(whole, p)
        else:
            assert loss(whole, p, reduction="sum").item() == pytest.approx(sum(expected) * size, rel=1e-4)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64"])
def test_the_divergence_of_integers_is_refused(dtype: str, device: str) -> None:
    p, whole = lucid.tensor([0.2, 0.3, 0.5], device=device), lucid.tensor([1, 0, 1], device=device).to(dtype)
    for arguments in ((p, whole), (whole, p), (whole, whole)):
        for log_target in (False, True):
            with pytest.raises(RuntimeError, match="Integral inputs not supported"):
                F.kl_div(*arguments, reduction="sum", log_target=log_target)
