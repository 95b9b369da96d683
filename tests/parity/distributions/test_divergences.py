"""Divergences of every registered pair against PyTorch's, with gradients."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import lucid

from .cases import close, default_dtype, outcome

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

V = np.array
FACTORS = V([[1.0, 0.0], [0.4, 0.8]]), V([[0.7, 0.0], [-0.3, 1.1]])
#: Family -> two distributions' parameters.
FAMILIES = {
    "Bernoulli": (dict(probs=V([0.2, 0.6])), dict(probs=V([0.3, 0.4]))),
    "Beta": (dict(concentration1=V([0.5, 2.0]), concentration0=V([1.5, 3.0])), dict(concentration1=1.2, concentration0=V([0.7, 4.0]))),
    "Binomial": (dict(total_count=V([3.0, 5.0]), probs=V([0.3, 0.6])), dict(total_count=V([3.0, 4.0]), probs=V([0.5, 0.5]))),
    "Categorical": (dict(probs=V([[0.2, 0.8], [0.0, 1.0]])), dict(probs=V([[0.5, 0.5], [0.3, 0.7]]))),
    "Cauchy": (dict(loc=V([0.0, 1.0]), scale=V([1.0, 2.0])), dict(loc=0.5, scale=V([2.0, 0.5]))),
    "ContinuousBernoulli": (dict(probs=V([0.2, 0.5])), dict(probs=V([0.7, 0.3]))),
    "Dirichlet": (dict(concentration=V([[0.5, 2.0, 1.0], [3.0, 1.0, 1.0]])), dict(concentration=V([1.0, 1.5, 0.7]))),
    "Exponential": (dict(rate=V([0.5, 2.0])), dict(rate=V([1.5, 0.3]))),
    "Gamma": (dict(concentration=V([0.5, 2.0]), rate=V([1.5, 3.0])), dict(concentration=V([1.2, 0.4]), rate=V([0.7, 4.0]))),
    "Geometric": (dict(probs=V([0.2, 0.6])), dict(probs=V([0.5, 0.3]))),
    "Gumbel": (dict(loc=V([0.0, 1.0]), scale=V([1.0, 2.0])), dict(loc=V([0.5, -1.0]), scale=V([2.0, 0.5]))),
    "HalfNormal": (dict(scale=V([1.0, 2.0])), dict(scale=V([2.0, 0.5]))),
    "Laplace": (dict(loc=V([0.0, 1.0]), scale=V([1.0, 2.0])), dict(loc=V([0.5, -1.0]), scale=V([2.0, 0.5]))),
    "LogNormal": (dict(loc=V([0.0, 1.0]), scale=V([1.0, 2.0])), dict(loc=V([0.5, -1.0]), scale=V([2.0, 0.5]))),
    "LowRankMultivariateNormal": (
        dict(loc=V([[0.0, 1.0], [2.0, 0.5]]), cov_factor=V([[1.0], [0.5]]), cov_diag=V([0.5, 1.0])),
        dict(loc=V([0.3, -1.0]), cov_factor=V([[0.2], [0.5]]), cov_diag=V([1.5, 0.7]))),
    "MultivariateNormal": (dict(loc=V([[0.0, 1.0], [2.0, 0.5]]), scale_tril=FACTORS[0]),
                           dict(loc=V([0.3, -1.0]), scale_tril=V(FACTORS))),
    "Normal": (dict(loc=V([0.0, 1.0]), scale=V([1.0, 2.0])), dict(loc=V([0.5, -1.0]), scale=V([2.0, 0.5]))),
    "OneHotCategorical": (dict(probs=V([[0.2, 0.8], [0.6, 0.4]])), dict(probs=V([0.3, 0.7]))),
    "Pareto": (dict(scale=V([1.0, 2.0]), alpha=V([3.5, 0.8])), dict(scale=V([0.5, 2.5]), alpha=V([1.0, 2.0]))),
    "Poisson": (dict(rate=V([0.5, 2.0])), dict(rate=V([1.5, 0.3]))),
    "Uniform": (dict(low=V([0.2, -0.5]), high=V([0.9, 1.5])), dict(low=V([0.0, -1.0]), high=V([1.0, 1.0]))),
    "Independent": (dict(), dict()),
    "Chi2": (dict(df=V([1.5, 4.0])), dict(df=V([2.5, 3.0]))),
}


def build(library, name, number):
    if name == "Independent":
        base, parameters = build(library, "Normal", number)
        return library.distributions.Independent(base, 1), parameters
    parameters = []
    arguments = {}
    for key, value in FAMILIES[name][number].items():
        if isinstance(value, np.ndarray):
            value = library.tensor(value.tolist(), dtype=library.float64).requires_grad_()
            parameters.append(value)
        arguments[key] = value
    return getattr(library.distributions, name)(**arguments), parameters


@pytest.mark.parametrize("name_q", FAMILIES)
@pytest.mark.parametrize("name_p", FAMILIES)
def test_divergence(name_p, name_q):
    results = []
    with warnings.catch_warnings(), default_dtype(torch, "float64"), default_dtype(lucid, "float64"):
        warnings.simplefilter("ignore")
        for library in (lucid, torch):
            (p, of_p), (q, of_q) = build(library, name_p, 0), build(library, name_q, 1)
            results.append((outcome(lambda: library.distributions.kl_divergence(p, q)), of_p + of_q))
    (ours, our_parameters), (theirs, their_parameters) = results
    if (name_p, name_q) == ("ContinuousBernoulli", "Uniform"):  # PyTorch has infinity for the interval [0, 1] itself
        assert bool(ours[0].isfinite()) and bool(theirs[0].isinf())
        return
    if isinstance(theirs, type):
        assert ours is theirs
        return
    close(ours, theirs)
    if theirs.requires_grad and bool(theirs.isfinite().all()):
        ours.sum().backward(), theirs.sum().backward()
        for one, other in zip(our_parameters, their_parameters):
            if other.grad is not None and one.grad is not None:
                close(one.grad.tril() if one.ndim > 1 else one.grad, other.grad.tril() if other.ndim > 1 else other.grad, 1e-7, 1e-7)
            else:
                assert other.grad is None or not other.grad.any()


def test_transformed_distributions():
    for library in (lucid, torch):
        d = library.distributions
        exp, affine = d.ExpTransform(), d.AffineTransform(library.zeros(2), library.ones(2) * 2)
        p, q = (d.TransformedDistribution(d.Normal(loc, 1.0), [exp, affine]) for loc in (library.zeros(2), library.ones(2)))
        assert d.kl_divergence(p, q).tolist() == [0.5, 0.5]
        with pytest.raises(NotImplementedError):
            d.kl_divergence(p, d.TransformedDistribution(d.Normal(library.zeros(2), 1.0), [exp]))
        with pytest.raises(NotImplementedError):
            d.kl_divergence(d.Independent(d.Normal(library.zeros(2, 3), 1.0), 2), d.Independent(d.Normal(library.zeros(2, 3), 1.0), 1))


def test_every_pair_of_pytorch_is_registered():
    from torch.distributions.kl import _KL_REGISTRY

    from lucid.distributions.kl.registry import _registry

    assert {(p.__name__, q.__name__) for p, q in _registry} == {(p.__name__, q.__name__) for p, q in _KL_REGISTRY}


def test_impossible_events():
    results = []
    for s in (lucid, torch):
        d, t = s.distributions, s.tensor
        one, other = t([0.2, 0.0, 1.0, 0.7, 1.0, 0.0]), t([0.0, 0.4, 0.5, 1.0, 0.0, 0.0])
        choices = t([[0.5, 0.5, 0.0], [0.3, 0.0, 0.7]])
        bounds = d.Uniform(t([0.0, -1.0]), 1.0), d.Uniform(0.0, t([1.0, 0.5]))
        results.append([d.kl_divergence(d.Bernoulli(one), d.Bernoulli(other)), d.kl_divergence(d.Categorical(choices), d.Categorical(choices.flip(0))),
                        d.kl_divergence(*bounds), d.kl_divergence(d.Pareto(t([1.0, 2.0]), 2.0), d.Pareto(1.5, 2.0)),
                        d.kl_divergence(d.Binomial(t([3.0]), 0.5), d.Binomial(t([2.0]), 0.5))])
    for ours, theirs in zip(*results):
        close(ours, theirs, 1e-6, 1e-6)


def test_uniform_distributions_of_the_unit_interval():
    d = lucid.distributions
    unit, coin = d.Uniform(0.0, 1.0), d.ContinuousBernoulli(0.3)
    draws = lucid.rand(200_000, generator=lucid.Generator().manual_seed(0))
    assert d.kl_divergence(unit, coin).item() == pytest.approx((-coin.log_prob(draws)).mean().item(), abs=3e-3)
    assert d.kl_divergence(coin, unit).item() == pytest.approx(-coin.entropy().item())
    assert d.kl_divergence(d.Uniform(0.0, 1.5), coin).item() == np.inf == d.kl_divergence(coin, d.Uniform(0.1, 2.0)).item()
