"""Every family against PyTorch's: densities, moments, quantiles, gradients, shapes, texts."""
from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import lucid

from .cases import LISTED, build, close, default_dtype, outcome

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
warnings.filterwarnings("ignore", "Singular|Low df|invalid value|divide by zero")

OURS_IS_BETTER = {("Kumaraswamy", "mode")}  # NaN there


@pytest.fixture(autouse=True)
def of_double_precision():
    """PyTorch's generalised Pareto distribution compares with numbers of the default dtype."""
    with default_dtype(torch, "float64"), default_dtype(lucid, "float64"):
        yield


def shown(text: object) -> str:
    """The text of an object of PyTorch, as lucid would say it: sizes, and tensors without what differs."""
    return re.sub(r"torch\.Size", "lucid.Size", repr(text))


def both(name, number, dtype="float64"):
    return build(lucid, name, number, dtype), build(torch, name, number, dtype)


def values_of(theirs, count=(3,)):
    torch.manual_seed(0)
    with torch.no_grad():
        return theirs.sample(count)


def as_ours(x):
    return lucid.tensor(x.detach().numpy())


@pytest.mark.parametrize(("name", "number"), LISTED)
def test_shapes_and_texts(name, number):
    (ours, _), (theirs, _) = both(name, number)
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape) and tuple(ours.event_shape) == tuple(theirs.event_shape)
    assert ours.has_rsample == theirs.has_rsample and ours.has_enumerate_support == theirs.has_enumerate_support
    assert repr(ours) == shown(theirs)
    if name not in ("Uniform", "Wishart"):
        assert str(ours.arg_constraints) == str(theirs.arg_constraints)
    assert list(ours.arg_constraints) == list(theirs.arg_constraints)
    assert (ours.support.event_dim, ours.support.is_discrete) == (theirs.support.event_dim, theirs.support.is_discrete)
    assert type(ours.support).__name__ == type(theirs.support).__name__


@pytest.mark.parametrize(("name", "number"), LISTED)
def test_moments_and_entropy(name, number):
    (ours, _), (theirs, _) = both(name, number)
    for what in ("mean", "mode", "variance", "stddev"):
        if (name, what) in OURS_IS_BETTER:
            continue
        mine, expected = (outcome(lambda: getattr(d, what)) for d in (ours, theirs))
        if isinstance(expected, type):
            assert mine is expected, what
        else:
            close(mine, expected, 1e-6 if name == "VonMises" else 1e-9)
    for what in ("entropy", "perplexity"):
        mine, expected = (outcome(getattr(d, what)) for d in (ours, theirs))
        if isinstance(expected, type):
            assert mine is expected, what
        else:
            close(mine, expected)


@pytest.mark.parametrize(("name", "number"), LISTED)
def test_log_prob_and_its_gradients(name, number):
    (ours, our_parameters), (theirs, their_parameters) = both(name, number)
    x = values_of(theirs)
    y = as_ours(x)
    if x.dtype.is_floating_point and name not in ("Categorical",):
        x.requires_grad_(), y.requires_grad_()
    mine, expected = ours.log_prob(y), theirs.log_prob(x)
    tolerance = 1e-6 if name == "VonMises" else 1e-8
    close(mine, expected, tolerance, tolerance)
    if not expected.requires_grad:
        assert not mine.requires_grad
        return
    weights = torch.linspace(0.5, 2, expected.numel(), dtype=torch.float64).reshape(expected.shape)
    (expected * weights).sum().backward()
    (mine * lucid.tensor(weights.numpy())).sum().backward()
    for one, other in zip([*our_parameters, y], [*their_parameters, x]):
        if other.grad is not None and (other.is_leaf and other.requires_grad):
            gradient = other.grad
            if one is not y and name in ("MultivariateNormal", "Wishart") and one.ndim >= 2:
                # Of a symmetric argument, or of a triangle, only that part of the gradient has a meaning.
                gradient, mine_grad = gradient.tril(), one.grad.tril()
            else:
                mine_grad = one.grad
            close(mine_grad, gradient, 1e-5 if name == "VonMises" else 1e-7, 1e-5 if name == "VonMises" else 1e-7)


@pytest.mark.parametrize(("name", "number"), LISTED)
def test_cdf_and_icdf(name, number):
    (ours, _), (theirs, _) = both(name, number)
    x = values_of(theirs)
    mine, expected = outcome(lambda: ours.cdf(as_ours(x))), outcome(lambda: theirs.cdf(x))
    if isinstance(expected, type):
        assert mine is expected
    else:
        close(mine, expected)
    p = torch.linspace(0.05, 0.95, 5, dtype=torch.float64).reshape((5,) + (1,) * len(theirs.batch_shape))
    mine, expected = outcome(lambda: ours.icdf(as_ours(p))), outcome(lambda: theirs.icdf(p))
    if isinstance(expected, type):
        assert mine is expected
    else:
        close(mine, expected)


@pytest.mark.parametrize(("name", "number"), LISTED)
def test_enumerate_support(name, number):
    (ours, _), (theirs, _) = both(name, number)
    for expand in (True, False):
        mine, expected = (outcome(lambda: d.enumerate_support(expand)) for d in (ours, theirs))
        if isinstance(expected, type):
            assert mine is expected
        else:
            close(mine, expected)


@pytest.mark.parametrize(("name", "number"), LISTED)
def test_expand(name, number):
    (ours, _), (theirs, _) = both(name, number)
    shape = (2, *theirs.batch_shape)
    mine, expected = ours.expand(shape), theirs.expand(shape)
    assert tuple(mine.batch_shape) == tuple(expected.batch_shape) and tuple(mine.event_shape) == tuple(expected.event_shape)
    x = values_of(expected)
    close(mine.log_prob(as_ours(x)), expected.log_prob(x), 1e-6, 1e-6)
    assert tuple(mine.sample((3,)).shape) == tuple(x.shape)
    if not isinstance(moment := outcome(lambda: expected.variance), type):
        close(mine.variance, moment, 1e-6)


@pytest.mark.parametrize(("name", "number"), LISTED)
def test_samples_lie_in_the_support(name, number):
    lucid.manual_seed(1)
    (ours, parameters), (theirs, _) = both(name, number)
    for shape in ((), (5,), (2, 3)):
        x, expected = ours.sample(shape), values_of(theirs, shape)
        assert tuple(x.shape) == tuple(expected.shape) and str(x.dtype) == str(expected.dtype).removeprefix("torch.")
        assert not x.requires_grad
        assert bool(ours.support.check(x).all())
    if ours.has_rsample and parameters and name not in ("OneHotCategoricalStraightThrough",):
        assert ours.rsample((2,)).requires_grad


@pytest.mark.parametrize(("name", "number"), LISTED)
def test_single_precision(name, number):
    (ours, _), (theirs, _) = both(name, number, "float32")
    x = values_of(theirs)
    with default_dtype(lucid, "float32"), default_dtype(torch, "float32"):
        close(ours.log_prob(as_ours(x)), theirs.log_prob(x), 2e-4, 2e-4)
        if not isinstance(mean := outcome(lambda: theirs.mean), type):
            close(ours.mean, mean, 1e-5, 1e-6)
        entropy = outcome(theirs.entropy)
        if not isinstance(entropy, type):
            close(ours.entropy(), entropy, 1e-4, 1e-4)


def test_names():
    ours, theirs = lucid.distributions, torch.distributions
    assert set(ours.__all__) == set(theirs.__all__)
    for module in ("constraints", "transforms", "kl", "constraint_registry", "utils"):
        mine, expected = getattr(ours, module), getattr(theirs, module)
        assert all(hasattr(mine, name) for name in expected.__all__), module
    for name in ("normal", "categorical", "studentT", "relaxed_bernoulli", "lkj_cholesky"):
        assert hasattr(theirs, name)
        __import__(f"lucid.distributions.{name}")
    public = {name for name in vars(torch.distributions.Distribution) if not name.startswith("__")}
    assert public <= {*vars(ours.Distribution), "__annotations__"}


def test_kumaraswamy_has_a_mode():
    d = lucid.distributions.Kumaraswamy(lucid.tensor([2.0, 3.0, 0.5]), lucid.tensor([3.0, 2.0, 2.0]))
    grid = lucid.linspace(0.001, 0.999, 999)
    best = grid[d.log_prob(grid.unsqueeze(-1)).argmax(0)]
    np.testing.assert_allclose(d.mode[:2].numpy(), best[:2].numpy(), atol=2e-3)
    assert bool(d.mode[2].isnan())
