"""Samples against the distribution functions (Kolmogorov and Smirnov), against moments, and the same on every device."""
from __future__ import annotations

import math

import numpy as np
import pytest

import lucid
from lucid import distributions as d

N = 4000
T = lucid.tensor
#: Families with a distribution function: one from another one's, where the class has none.
WITH_CDF = {
    "Normal": lambda: d.Normal(T(1.0), 2.0), "Uniform": lambda: d.Uniform(T(-1.0), 2.0), "Laplace": lambda: d.Laplace(T(1.0), 2.0),
    "Cauchy": lambda: d.Cauchy(T(1.0), 2.0), "Exponential": lambda: d.Exponential(T(0.5)), "Gamma": lambda: d.Gamma(T(0.4), 2.0),
    "large Gamma": lambda: d.Gamma(T(30.0), 2.0), "Chi2": lambda: d.Chi2(T(3.0)), "Gumbel": lambda: d.Gumbel(T(1.0), 2.0),
    "HalfNormal": lambda: d.HalfNormal(T(2.0)), "HalfCauchy": lambda: d.HalfCauchy(T(2.0)), "LogNormal": lambda: d.LogNormal(T(0.3), 0.7),
    "Pareto": lambda: d.Pareto(T(2.0), 3.0), "Weibull": lambda: d.Weibull(T(2.0), 1.5), "InverseGamma": lambda: d.InverseGamma(T(2.0), 1.5),
    "Kumaraswamy": lambda: d.Kumaraswamy(T(2.0), 3.0), "GeneralizedPareto": lambda: d.GeneralizedPareto(T(1.0), 2.0, 0.3),
    "ContinuousBernoulli": lambda: d.ContinuousBernoulli(T(0.2)),
}


def statistic(ranks: np.ndarray) -> float:
    ranks = np.sort(ranks)
    n = len(ranks)
    return math.sqrt(n) * max(np.abs(ranks - np.arange(n) / n).max(), np.abs(ranks - np.arange(1, n + 1) / n).max())


@pytest.mark.parametrize("name", WITH_CDF)
def test_distribution_functions(name):
    lucid.manual_seed(len(name))
    distribution = WITH_CDF[name]()
    x = distribution.sample((N,))
    assert statistic(distribution.cdf(x).numpy()) < 1.95  # exceeded once in a thousand
    if name not in ("Gamma", "large Gamma", "Chi2", "InverseGamma"):
        p = lucid.linspace(0.05, 0.95, 19)
        np.testing.assert_allclose(distribution.cdf(distribution.icdf(p)).numpy(), p.numpy(), rtol=2e-4)


#: Others, by the integral of the density; the interval and the number of points.
WITHOUT_CDF = {
    "Beta": (lambda: d.Beta(T(2.0), 3.5), 0.0, 1.0), "StudentT": (lambda: d.StudentT(T(4.0), 1.0, 2.0), -300.0, 300.0),
    "FisherSnedecor": (lambda: d.FisherSnedecor(T(5.0), 9.0), 1e-6, 200.0), "VonMises": (lambda: d.VonMises(T(0.5), T(3.0)), -math.pi, math.pi),
    "RelaxedBernoulli": (lambda: d.RelaxedBernoulli(T(0.8), T(0.3)), 1e-6, 1 - 1e-6),
    "mixture": (lambda: d.MixtureSameFamily(d.Categorical(T([0.3, 0.7])), d.Normal(T([-1.0, 2.0]), T([0.5, 1.0]))), -10.0, 10.0),
}


@pytest.mark.parametrize("name", WITHOUT_CDF)
def test_integrated_densities(name):
    make, low, high = WITHOUT_CDF[name]
    lucid.manual_seed(1)
    distribution = make()
    grid = np.linspace(low, high, 20001)
    density = distribution.log_prob(T(grid.astype(np.float32))).exp().numpy().astype(np.float64)
    density[~np.isfinite(density)] = 0
    cumulative = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid))])
    assert cumulative[-1] == pytest.approx(1, abs=5e-3)
    ranks = np.interp(distribution.sample((N,)).numpy(), grid, cumulative / cumulative[-1])
    assert statistic(ranks) < 2.2


DISCRETE = {
    "Bernoulli": lambda: d.Bernoulli(T(0.3)), "Geometric": lambda: d.Geometric(T(0.3)), "Binomial": lambda: d.Binomial(7, T(0.3)),
    "NegativeBinomial": lambda: d.NegativeBinomial(3.5, T(0.4)), "Poisson": lambda: d.Poisson(T(2.5)),
    "Categorical": lambda: d.Categorical(T([0.1, 0.0, 0.6, 0.3])),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_frequencies(name):
    lucid.manual_seed(2)
    distribution = DISCRETE[name]()
    x = distribution.sample((20_000,)).numpy().astype(int)
    values = np.arange(4 if name == "Categorical" else 2 if name == "Bernoulli" else 8)
    expected = distribution.log_prob(T(values if name == "Categorical" else values.astype(np.float32))).exp().numpy()
    found = np.array([(x == value).mean() for value in values])
    assert np.all(np.abs(found - expected) < 4.5 * np.sqrt(expected * (1 - expected) / len(x)) + 1e-9)


VECTORS = {
    "Dirichlet": lambda: d.Dirichlet(T([0.5, 2.0, 3.0])), "MultivariateNormal": lambda: d.MultivariateNormal(T([1.0, -1.0]), T([[2.0, 0.5], [0.5, 1.0]])),
    "LowRank": lambda: d.LowRankMultivariateNormal(T([1.0, -1.0]), T([[1.0], [0.5]]), T([0.5, 1.0])),
    "Multinomial": lambda: d.Multinomial(6, T([0.2, 0.3, 0.5])), "OneHotCategorical": lambda: d.OneHotCategorical(T([0.2, 0.3, 0.5])),
    "Wishart": lambda: d.Wishart(T(6.0), T([[2.0, 0.5], [0.5, 1.0]])),
}


@pytest.mark.parametrize("name", VECTORS)
def test_moments(name):
    lucid.manual_seed(3)
    distribution = VECTORS[name]()
    x = distribution.sample((20_000,))
    tolerance = 5 * (distribution.variance.numpy() / 20_000) ** 0.5
    assert np.all(np.abs((x.mean(0) - distribution.mean).numpy()) < tolerance)
    np.testing.assert_allclose(x.var(0).numpy(), distribution.variance.numpy(), rtol=0.1)


def test_correlations():
    """Elements off the diagonal of matrices of the concentration c are beta distributed on (-1, 1), of c - 1 + n / 2."""
    lucid.manual_seed(4)
    for concentration in (0.7, 1.0, 3.0):
        factor = d.LKJCholesky(3, T(concentration)).sample((N,))
        matrix, shape = factor @ factor.mT, concentration - 1 + 1.5
        for row, column in ((1, 0), (2, 0), (2, 1)):
            element = (matrix[:, row, column] + 1) / 2
            assert element.var().item() == pytest.approx(1 / (4 * (2 * shape + 1)), rel=0.1)
            assert abs(element.mean().item() - 0.5) < 0.02
        assert bool(d.constraints.corr_cholesky.check(factor).all())


#: Distributions of every kind of random numbers, with parameters on a device.
ON_DEVICES = {
    "Normal": lambda t: d.Normal(t([1.0, 2.0]), t([1.0, 3.0])), "Gamma": lambda t: d.Gamma(t([0.5, 2.0]), t([1.0, 3.0])),
    "Beta": lambda t: d.Beta(t([0.5, 2.0]), t([1.0, 3.0])), "Dirichlet": lambda t: d.Dirichlet(t([0.5, 2.0])),
    "StudentT": lambda t: d.StudentT(t([2.0, 5.0])), "Poisson": lambda t: d.Poisson(t([2.0, 5.0])),
    "Binomial": lambda t: d.Binomial(t([5.0, 9.0]), t([0.2, 0.5])), "Categorical": lambda t: d.Categorical(t([0.2, 0.5])),
    "Bernoulli": lambda t: d.Bernoulli(t([0.2, 0.5])), "Multinomial": lambda t: d.Multinomial(4, t([0.2, 0.5])),
    "MultivariateNormal": lambda t: d.MultivariateNormal(t([0.0, 1.0]), t([[2.0, 0.5], [0.5, 1.0]])),
    "Gumbel": lambda t: d.Gumbel(t([0.0, 1.0]), t([2.0, 0.5])), "VonMises": lambda t: d.VonMises(t([0.0, 1.0]), t([2.0, 0.5])),
    "LKJCholesky": lambda t: d.LKJCholesky(3, t([0.5, 1.0])), "Wishart": lambda t: d.Wishart(t([4.0, 5.0]), t([[2.0, 0.5], [0.5, 1.0]])),
    "OneHotCategorical": lambda t: d.OneHotCategorical(t([0.2, 0.5])), "LogitRelaxed": lambda t: d.RelaxedBernoulli(t(0.5), t([0.2, 0.5])),
    "LowRank": lambda t: d.LowRankMultivariateNormal(t([1.0, -1.0]), t([[1.0], [0.5]]), t([0.5, 1.0])),
    "NegativeBinomial": lambda t: d.NegativeBinomial(t([2.5, 3.0]), t([0.2, 0.5])), "Cauchy": lambda t: d.Cauchy(t([0.0, 1.0]), t([2.0, 0.5])),
    "Mixture": lambda t: d.MixtureSameFamily(d.Categorical(t([0.3, 0.7])), d.Normal(t([-1.0, 2.0]), t([0.5, 1.0]))),
    "LogisticNormal": lambda t: d.LogisticNormal(t([0.0, 1.0]), t([1.0, 0.5])), "Kumaraswamy": lambda t: d.Kumaraswamy(t([0.5, 1.0]), t([1.0, 2.5])),
}


def kept(parameters, tensor):
    parameters.append(tensor.requires_grad_())
    return tensor


@pytest.mark.parametrize("name", ON_DEVICES)
def test_devices(name, device):
    """A seed gives the same samples, densities and gradients; nothing leaves the device."""
    found = []
    for place in ("cpu", device):
        parameters = []
        distribution = ON_DEVICES[name](lambda values, place=place, parameters=parameters: kept(parameters, lucid.tensor(values, device=place)))
        lucid.manual_seed(5)
        x = distribution.sample((3,))
        lucid.manual_seed(5)
        again = distribution.sample((3,))
        assert bool((x == again).all()) and x.device == parameters[0].device
        log_prob = distribution.log_prob(x)
        log_prob.sum().backward(retain_graph=True)  # what the constructor computed
        if distribution.has_rsample:
            lucid.manual_seed(5)
            distribution.rsample((3,)).square().sum().backward()
        found.append([x, log_prob, *(p.grad for p in parameters if p.grad is not None)])
    for one, other in zip(*found):
        np.testing.assert_allclose(one.detach().cpu().numpy(), other.detach().cpu().numpy(), rtol=2e-4, atol=2e-5)
