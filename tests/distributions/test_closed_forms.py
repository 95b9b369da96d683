"""Densities, quantiles and divergences that are known, and shapes, without PyTorch."""
from __future__ import annotations

import math

import numpy as np
import pytest

import lucid
from lucid import distributions as d

T = lucid.tensor


def test_known_densities():
    for found, expected in (
        (d.Normal(0.0, 1.0).log_prob(T(0.0)), -0.5 * math.log(2 * math.pi)),
        (d.Laplace(0.0, 1.0).log_prob(T(0.0)), -math.log(2)),
        (d.Cauchy(0.0, 1.0).cdf(T(1.0)), 0.75),
        (d.Beta(1.0, 1.0).log_prob(T(0.3)), 0.0),
        (d.Dirichlet(lucid.ones(3)).log_prob(T([0.2, 0.3, 0.5])), math.log(2)),
        (d.Gamma(1.0, 2.0).log_prob(T(0.5)), math.log(2) - 1),
        (d.Binomial(4, 0.5).log_prob(T(2.0)), math.log(6 / 16)),
        (d.Multinomial(3, T([0.5, 0.5])).log_prob(T([1.0, 2.0])), math.log(3 / 8)),
        (d.Poisson(2.0).log_prob(T(0.0)), -2.0),
        (d.Geometric(0.25).log_prob(T(2.0)), math.log(0.25 * 0.75**2)),
        (d.NegativeBinomial(1.0, 0.75).log_prob(T(2.0)), math.log(0.25 * 0.75**2)),
        (d.StudentT(1.0).log_prob(T(1.0)), -math.log(2 * math.pi)),
        (d.VonMises(0.0, 1e-6).log_prob(T(1.0)), -math.log(2 * math.pi)),
        (d.Weibull(2.0, 1.0).log_prob(T(2.0)), math.log(0.5) - 1),
        (d.MultivariateNormal(lucid.zeros(2), lucid.eye(2)).entropy(), 1 + math.log(2 * math.pi)),
        (d.LKJCholesky(2, 1.0).log_prob(lucid.eye(2)), math.log(0.5)),
        (d.kl_divergence(d.Normal(0.0, 1.0), d.Normal(1.0, 1.0)), 0.5),
        (d.GeneralizedPareto(0.0, 1.0, 0.5).mean, 2.0),
        (d.Uniform(0.0, 1.0).icdf(T(0.3)), 0.3),
    ):
        assert found.item() == pytest.approx(expected, abs=2e-6)


def test_wishart_of_one_dimension_is_gamma():
    x = T([0.3, 1.0, 4.0])
    wishart = d.Wishart(T(5.0), T([[2.0]])).log_prob(x.reshape(3, 1, 1))
    np.testing.assert_allclose(wishart.numpy(), d.Gamma(2.5, 0.25).log_prob(x).numpy(), rtol=1e-5)


def test_shapes():
    batch = d.Normal(lucid.zeros(4, 1), lucid.ones(3))
    assert batch.batch_shape == (4, 3) and batch.event_shape == () and batch.sample((2,)).shape == (2, 4, 3)
    vectors = d.Independent(batch, 1)
    assert vectors.batch_shape == (4,) and vectors.event_shape == (3,)
    assert vectors.log_prob(lucid.zeros(3)).shape == (4,) and vectors.entropy().shape == (4,)
    assert isinstance(vectors.batch_shape, lucid.Size)
    assert d.MultivariateNormal(lucid.zeros(5, 1, 2), lucid.eye(2).expand(3, 2, 2)).log_prob(lucid.zeros(7, 1, 1, 2)).shape == (7, 5, 3)
    assert d.Categorical(lucid.ones(2, 3)).sample((0,)).shape == (0, 2)
    assert d.Normal(lucid.zeros(0), 1.0).sample((2,)).shape == (2, 0)
    assert d.TransformedDistribution(d.Normal(lucid.zeros(3), 1.0), d.StickBreakingTransform()).event_shape == (4,)
    assert d.Bernoulli(lucid.ones(2) / 2).enumerate_support(expand=False).shape == (2, 1)


def test_mahalanobis_of_many_batches():
    """A factor for each of a batch, and more dimensions of vectors on both sides of it."""
    factor = lucid.tril(lucid.rand(3, 1, 2, 2, dtype=lucid.float64)) + lucid.eye(2, dtype=lucid.float64)
    loc, x = lucid.randn(3, 4, 2, dtype=lucid.float64), lucid.randn(5, 3, 4, 2, dtype=lucid.float64)
    found = d.MultivariateNormal(loc, scale_tril=factor).log_prob(x)
    for i in range(3):
        for j in range(4):
            one = d.MultivariateNormal(loc[i, j], scale_tril=factor[i, 0]).log_prob(x[:, i, j])
            np.testing.assert_allclose(found[:, i, j].numpy(), one.numpy(), rtol=1e-9)


def test_half_precision_and_integers():
    assert d.Normal(lucid.zeros(2, dtype=lucid.float16), 1.0).sample((3,)).dtype == lucid.float16
    assert d.Categorical(logits=lucid.zeros(3, dtype=lucid.bfloat16)).sample((4,)).dtype == lucid.int64
    assert d.Dirichlet(lucid.ones(3, dtype=lucid.float16)).rsample((5,)).dtype == lucid.float16


def test_meta():
    loc = lucid.zeros(3, device="meta")
    normal = d.Normal(loc, 1.0)
    assert normal.sample((2,)).shape == (2, 3) and normal.log_prob(loc).is_meta
    assert d.Gamma(loc + 1, 1.0).rsample((4,)).shape == (4, 3)
    assert "Normal" in repr(normal)


def test_samples_are_differentiable_once():
    concentration = T(2.0, requires_grad=True)
    lucid.manual_seed(0)
    y = d.Gamma(concentration, 1.0).rsample()
    (gradient,) = lucid.autograd.grad(y, concentration, create_graph=True)
    with pytest.raises((NotImplementedError, RuntimeError)):
        gradient.backward()


def test_implicit_gradients_are_derivatives_of_expectations():
    """E[x^2] of Gamma(a, 1) is a (a + 1), E[x] of Beta(a, b) is a / (a + b), E[x^2] of t is df / (df - 2)."""
    lucid.manual_seed(0)
    a = T(1.7, dtype=lucid.float64, requires_grad=True)
    d.Gamma(a, 1.0).rsample((100_000,)).square().mean().backward()
    assert a.grad.item() == pytest.approx(2 * 1.7 + 1, rel=0.03)
    a.grad = None
    d.Beta(a, 2.0).rsample((100_000,)).mean().backward()
    assert a.grad.item() == pytest.approx(2 / 3.7**2, rel=0.03)
    df = T(9.0, dtype=lucid.float64, requires_grad=True)
    d.StudentT(df).rsample((200_000,)).square().mean().backward()
    assert df.grad.item() == pytest.approx(-2 / 49, rel=0.3)


def test_parameters_are_learned():
    """A policy gradient and a pathwise one reach the same optimum."""
    lucid.manual_seed(0)
    data = d.Gamma(3.0, 2.0).sample((2000,))
    raw = lucid.zeros(2, requires_grad=True)
    optimizer = lucid.optim.Adam([raw], lr=0.1)
    for _ in range(150):
        concentration, rate = d.transform_to(d.constraints.positive)(raw).unbind()
        loss = -d.Gamma(concentration, rate).log_prob(data).mean()
        optimizer.zero_grad(), loss.backward(), optimizer.step()
    np.testing.assert_allclose(raw.exp().detach().numpy(), [3.0, 2.0], rtol=0.15)


def test_lazy_parameters_keep_their_graph_without_gradients():
    probs = T([0.2, 0.8], requires_grad=True)
    categorical = d.Categorical(probs)
    with lucid.no_grad():
        logits = categorical.logits
    assert logits.requires_grad


def test_wrong_families_for_a_divergence():
    for pair in ((3, d.Normal), (d.Normal, None)):
        with pytest.raises(TypeError, match="to be a class but got"):
            d.register_kl(*pair)
