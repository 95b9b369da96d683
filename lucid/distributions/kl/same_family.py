"""Divergences of two distributions of one family."""
from __future__ import annotations

import math
from typing import Any

import lucid

from ... import autograd
from ...tensor import Tensor
from ..continuous.beta import Beta
from ..continuous.cauchy import Cauchy
from ..continuous.continuous_bernoulli import ContinuousBernoulli
from ..continuous.exponential import Exponential
from ..continuous.gamma import Gamma
from ..continuous.gumbel import Gumbel
from ..continuous.half_normal import HalfNormal
from ..continuous.laplace import Laplace
from ..continuous.normal import Normal
from ..continuous.pareto import Pareto
from ..continuous.uniform import Uniform
from ..discrete.bernoulli import Bernoulli
from ..discrete.binomial import Binomial
from ..discrete.categorical import Categorical
from ..discrete.geometric import Geometric
from ..discrete.one_hot_categorical import OneHotCategorical
from ..discrete.poisson import Poisson
from ..exp_family import ExponentialFamily
from ..independent import Independent
from ..multivariate.dirichlet import Dirichlet
from ..transformed_distribution import TransformedDistribution
from ..utils import euler_constant, sum_rightmost
from .registry import kl_divergence, register_kl

_softplus = lucid.nn.functional.softplus


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    of_one = p.probs * (_softplus(-q.logits) - _softplus(-p.logits))
    of_one = lucid.where(p.probs == 0, 0.0, lucid.where(q.probs == 0, math.inf, of_one))
    of_zero = (1 - p.probs) * (_softplus(q.logits) - _softplus(p.logits))
    of_zero = lucid.where(p.probs == 1, 0.0, lucid.where(q.probs == 1, math.inf, of_zero))
    return of_one + of_zero


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return kl_divergence(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    """Infinite where p counts more trials."""
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return lucid.where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    return lucid.where(p.probs == 0, 0.0, lucid.where(q.probs == 0, math.inf, terms)).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    return (p.mean * (p.logits - q.logits) + p._log_norm() + lucid.log1p(-p.probs) - q._log_norm() - lucid.log1p(-q.probs))


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    normalizers = total_p.lgamma() - total_q.lgamma() - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    logarithms = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return normalizers + ((p.concentration - q.concentration) * logarithms).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the log-normaliser (Nielsen & Nock, 2010)."""
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot be computed using "
                                  "Bregman divergences")
    of_p = [parameter.detach().requires_grad_() for parameter in p._natural_params]
    normalizer = p._log_normalizer(*of_p)
    gradients = autograd.grad(normalizer.sum(), of_p, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for one, other, gradient in zip(of_p, q._natural_params, gradients):
        result = result - sum_rightmost((other - one) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    return (q.concentration * (p.rate / q.rate).log() + lucid.lgamma(q.concentration) - lucid.lgamma(p.concentration)
            + (p.concentration - q.concentration) * lucid.digamma(p.concentration)
            + (q.rate - p.rate) * (p.concentration / p.rate))


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -ratio.log() + apart + ratio * euler_constant + lucid.exp((1 + ratio).lgamma() - apart) - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - lucid.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * lucid.exp(-apart / p.scale) - 1


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    """Infinite where p begins before q."""
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return lucid.where(p.scale < q.scale, math.inf, result)


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    """Infinite where p is not inside q."""
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return lucid.where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    """Chyzak & Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions", 2019."""
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    """Of the bases, whatever both have been transformed by."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Independent[Any], q: Independent[Any]) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
