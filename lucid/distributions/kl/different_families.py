"""Divergences of distributions of different families, ``-p.entropy() - E[log q(x)]`` with the expectation for x from p.

For most q that takes the mean of p, its variance, or the expectation of a logarithm or an exponential, which the functions
here give.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lucid

from ...tensor import Tensor
from ..continuous.beta import Beta
from ..continuous.continuous_bernoulli import ContinuousBernoulli
from ..continuous.exponential import Exponential
from ..continuous.gamma import Gamma
from ..continuous.gumbel import Gumbel
from ..continuous.laplace import Laplace
from ..continuous.normal import Normal
from ..continuous.pareto import Pareto
from ..continuous.uniform import Uniform
from ..discrete.bernoulli import Bernoulli
from ..discrete.binomial import Binomial
from ..discrete.poisson import Poisson
from ..utils import euler_constant
from .registry import register_kl


def _register(families: tuple[type, ...], q: type) -> Callable[[Any], Any]:
    def decorator(function: Any) -> Any:
        for family in families:
            register_kl(family, q)(function)
        return function

    return decorator


def _x_log_x(x: Tensor) -> Tensor:
    return lucid.special.xlogy(x, x)


def _mean_log(p: Any) -> Tensor:
    """The expectation of the logarithm."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1  # of a uniform distribution


def _mean_exp(p: Any, t: Tensor) -> Tensor:
    """The expectation of ``exp(-t * x)``."""
    if isinstance(p, Normal):
        return lucid.exp(-t * p.loc + 0.5 * (t * p.scale).pow(2))
    if isinstance(p, Exponential):
        return p.rate / (p.rate + t)
    if isinstance(p, Gamma):
        return (1 + t / p.rate).pow(-p.concentration)
    return (lucid.exp(-t * p.low) - lucid.exp(-t * p.high)) / (t * (p.high - p.low))  # of a uniform distribution


def _beyond(condition: Tensor, result: Tensor) -> Tensor:
    """Infinite where values of p are none of q."""
    return lucid.where(condition, math.inf, result)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@_register((Beta, ContinuousBernoulli, Gamma, Pareto), Exponential)
def _with_exponential(p: Any, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    return _beyond(p.low < 0, _with_exponential(p, q))


@_register((Beta, Exponential, Pareto), Gamma)
def _with_gamma(p: Any, q: Gamma) -> Tensor:
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + normalizer - (q.concentration - 1) * _mean_log(p) + q.rate * p.mean


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    return _beyond(p.low < 0, _with_gamma(p, q))


@_register((Exponential, Gamma, Normal, Uniform), Gumbel)
def _with_gumbel(p: Any, q: Gumbel) -> Tensor:
    exponential = _mean_exp(p, q.scale.reciprocal()) * lucid.exp(q.loc / q.scale)
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + exponential


@_register((Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform), Normal)
def _with_normal(p: Any, q: Normal) -> Tensor:
    square = p.variance + (p.mean - q.loc).pow(2)
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + q.scale.log() + square / (2 * q.scale.pow(2))


@_register((Beta, ContinuousBernoulli), Uniform)
def _with_uniform(p: Any, q: Uniform) -> Tensor:
    """Finite where q is uniform on [0, 1] too, where PyTorch has infinity for continuous Bernoulli distributions."""
    return _beyond((q.low > 0) | (q.high < 1), -p.entropy() + (q.high - q.low).log())


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p: Beta, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() - p.mean * q.logits - lucid.log1p(-q.probs) - q._log_norm()


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    """Finite where p is uniform on [0, 1] too, where PyTorch has infinity."""
    result = -p.entropy() - p.mean * q.logits - lucid.log1p(-q.probs) - q._log_norm()
    return _beyond((p.high > 1) | (p.low < 0), result)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    apart = p.loc - q.loc
    ratio = apart / p.scale
    distance = math.sqrt(2 / math.pi) * p.scale * lucid.exp(-0.5 * ratio.pow(2)) + apart * lucid.erf(math.sqrt(0.5) * ratio)
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    width = p.high - p.low
    log_rest = (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / width - 1  # the expectation of log(1 - x)
    normalizer = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    result = normalizer - width.log() - (q.concentration1 - 1) * _mean_log(p) - (q.concentration0 - 1) * log_rest
    return _beyond((p.high > 1) | (p.low < 0), result)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    result = -p.entropy() - q.alpha.log() - q.alpha * q.scale.log() + (q.alpha + 1) * _mean_log(p)
    return _beyond(p.low < q.scale, result)


def _infinite(p: Any, q: Any) -> Tensor:
    """p has values that q has not, whatever the parameters are. The batches are broadcast, where PyTorch has that of p."""
    return lucid.full(lucid.broadcast_shapes(p.batch_shape, q.batch_shape), math.inf, dtype=p.mean.dtype, device=p.mean.device)


for _p, _qs in {
    Beta: (Pareto,), ContinuousBernoulli: (Pareto,), Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform), Poisson: (Bernoulli, Binomial),
}.items():
    for _q in _qs:
        register_kl(_p, _q)(_infinite)
