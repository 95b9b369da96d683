"""Sets of values: of parameters, of samples, and of what transforms take and give.

`base`: what a constraint is, and those that depend on a distribution.
`numbers`: sets of numbers.
`arrays`: sets of vectors and of matrices.
`composed`: constraints made of others.

Example: ``constraints.interval(0, 2).check(lucid.tensor([1.0, 3.0]))`` gives ``[True, False]``.

>>> from lucid.distributions import constraints
>>> constraints.unit_interval.check(lucid.tensor([0.5, 2.0]))
Tensor([ True, False], requires_grad=False)
"""
from .arrays import (
    corr_cholesky,
    lower_cholesky,
    lower_triangular,
    multinomial,
    one_hot,
    positive_definite,
    positive_semidefinite,
    simplex,
    square,
    symmetric,
)
from .base import Constraint, dependent, dependent_property, is_dependent
from .composed import MixtureSameFamilyConstraint, cat, independent, real_vector, stack
from .numbers import (
    boolean,
    greater_than,
    greater_than_eq,
    half_open_interval,
    integer_interval,
    interval,
    less_than,
    nonnegative,
    nonnegative_integer,
    positive,
    positive_integer,
    real,
    unit_interval,
)

__all__ = ["Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
           "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
           "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
           "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
           "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval"]
