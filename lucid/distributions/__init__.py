"""Probability distributions: samples, densities, divergences, and gradients through samples; PyTorch's `torch.distributions`.

`distribution`: the base of all.
`exp_family`: exponential families.
`continuous`: distributions of real numbers.
`discrete`: of whole numbers and choices.
`multivariate`: of vectors and matrices.
`independent`: batches as events.
`transformed_distribution`: transformed values.
`mixture_same_family`: mixtures.
`transforms`: differentiable maps with Jacobians.
`constraints`: sets of values.
`constraint_registry`: transforms for constraints.
`kl`: divergences.
`utils`: what they share.

`lucid.distributions` is imported when it is first asked for. A family's module has PyTorch's name too:
``from lucid.distributions.normal import Normal``.

A policy gradient, where samples have no gradient, and a pathwise one, where they have::

    action = Categorical(logits=policy(state)).sample()
    loss = -Categorical(logits=policy(state)).log_prob(action) * reward

    action = Normal(*policy(state)).rsample()
    loss = -reward(action)

>>> from lucid.distributions import Normal, kl_divergence
>>> normal = Normal(0.0, 1.0)
>>> normal.log_prob(lucid.tensor(0.0)), kl_divergence(normal, Normal(1.0, 1.0))
(Tensor(-0.9189, requires_grad=False), Tensor(0.5, requires_grad=False))
"""
import sys as _sys
import types as _types

from . import continuous, discrete, kl, multivariate, transforms
from .constraint_registry import biject_to, transform_to
from .continuous.beta import Beta
from .continuous.cauchy import Cauchy
from .continuous.chi2 import Chi2
from .continuous.continuous_bernoulli import ContinuousBernoulli
from .continuous.exponential import Exponential
from .continuous.fishersnedecor import FisherSnedecor
from .continuous.gamma import Gamma
from .continuous.generalized_pareto import GeneralizedPareto
from .continuous.gumbel import Gumbel
from .continuous.half_cauchy import HalfCauchy
from .continuous.half_normal import HalfNormal
from .continuous.inverse_gamma import InverseGamma
from .continuous.kumaraswamy import Kumaraswamy
from .continuous.laplace import Laplace
from .continuous.log_normal import LogNormal
from .continuous.normal import Normal
from .continuous.pareto import Pareto
from .continuous.studentT import StudentT
from .continuous.uniform import Uniform
from .continuous.von_mises import VonMises
from .continuous.weibull import Weibull
from .discrete.bernoulli import Bernoulli
from .discrete.binomial import Binomial
from .discrete.categorical import Categorical
from .discrete.geometric import Geometric
from .discrete.multinomial import Multinomial
from .discrete.negative_binomial import NegativeBinomial
from .discrete.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from .discrete.poisson import Poisson
from .discrete.relaxed_bernoulli import RelaxedBernoulli
from .discrete.relaxed_categorical import RelaxedOneHotCategorical
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .independent import Independent
from .kl import kl_divergence, register_kl
from .mixture_same_family import MixtureSameFamily
from .multivariate.dirichlet import Dirichlet
from .multivariate.lkj_cholesky import LKJCholesky
from .multivariate.logistic_normal import LogisticNormal
from .multivariate.lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate.multivariate_normal import MultivariateNormal
from .multivariate.wishart import Wishart
from .transformed_distribution import TransformedDistribution
from .transforms import *  # noqa: F403

__all__ = ["Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet", "Distribution",
           "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric", "Gumbel",
           "HalfCauchy", "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy",
           "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal",
           "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal",
           "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "RelaxedBernoulli",
           "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart",
           "biject_to", "kl_divergence", "register_kl", "transform_to"]
__all__ += transforms.__all__

# The modules of families under the names that they have in PyTorch.
for _package in (continuous, discrete, multivariate):
    for _name, _module in list(vars(_package).items()):
        if isinstance(_module, _types.ModuleType):
            globals()[_name] = _module
            _sys.modules.setdefault(f"{__name__}.{_name}", _module)
