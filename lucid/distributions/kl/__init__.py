"""Kullback-Leibler divergences.

`registry`: functions by pairs of families.
`same_family`: of two distributions of one family.
`different_families`: of two families.
`multivariate`: of multivariate normal distributions.
"""
from . import different_families, multivariate, same_family
from .registry import kl_divergence, register_kl

__all__ = ["kl_divergence", "register_kl"]
