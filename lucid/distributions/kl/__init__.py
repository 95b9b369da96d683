"""Kullback-Leibler divergences.

`registry`: functions by pairs of families.
`same_family`: of two distributions of one family.
`different_families`: of two families.
`multivariate`: of multivariate normal distributions.

>>> from lucid.distributions import Exponential, kl_divergence
>>> kl_divergence(Exponential(1.0), Exponential(1.0))
Tensor(0.0, requires_grad=False)
"""
from . import different_families, multivariate, same_family
from .registry import kl_divergence, register_kl

__all__ = ["kl_divergence", "register_kl"]
