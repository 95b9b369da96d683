"""Transforms from unconstrained values to constrained ones: `biject_to` by a bijection, `transform_to` by any suitable map.

A parameter of a distribution, learned without constraints::

    concentration = lucid.zeros(3, requires_grad=True)
    constraint = Dirichlet.arg_constraints["concentration"]
    Dirichlet(transform_to(constraint)(concentration)).log_prob(x)

`biject_to` is for densities, as its Jacobian has a determinant; `transform_to` costs less and behaves well in optimisation.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """Factories of transforms by the class of a constraint: ``biject_to.register(MyConstraint, factory)``, or as a decorator."""

    def __init__(self) -> None:
        self._registry: dict[type[constraints.Constraint], Factory] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Let ``factory(constraint)`` make the transforms for constraints of the class of `constraint`, an instance or a class.

        Raises TypeError for anything else.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> transforms.Transform:
        """A transform whose codomain is `constraint`. Raises NotImplementedError where none is registered."""
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _register(constraint: Any, factory: Factory, *registries: ConstraintRegistry) -> None:
    for registry in registries or (biject_to, transform_to):
        registry.register(constraint, factory)


def _above(constraint: Any) -> transforms.Transform:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)])


def _below(constraint: Any) -> transforms.Transform:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)])


def _between(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, int | float) and isinstance(high, int | float) and low == 0 and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _composed(registry: ConstraintRegistry) -> None:
    """The constraints that are made of others, by the transforms that `registry` has for these."""
    def independent(constraint: Any) -> transforms.Transform:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    def cat(constraint: Any) -> transforms.Transform:
        return transforms.CatTransform([registry(part) for part in constraint.cseq], constraint.dim, constraint.lengths)

    def stack(constraint: Any) -> transforms.Transform:
        return transforms.StackTransform([registry(part) for part in constraint.cseq], constraint.dim)

    for kind, factory in ((constraints.independent, independent), (constraints.cat, cat), (constraints.stack, stack)):
        registry.register(kind, factory)


_register(constraints.real, lambda constraint: transforms.identity_transform)
_register(constraints.greater_than, _above)
_register(constraints.greater_than_eq, _above)
_register(constraints.less_than, _below)
_register(constraints.interval, _between)
_register(constraints.half_open_interval, _between)
_register(constraints.corr_cholesky, lambda constraint: transforms.CorrCholeskyTransform())
_register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform(), biject_to)
_register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform(), transform_to)
_register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform(), transform_to)
_register(constraints.positive_definite, lambda constraint: transforms.PositiveDefiniteTransform(), transform_to)
_register(constraints.positive_semidefinite, lambda constraint: transforms.PositiveDefiniteTransform(), transform_to)
_composed(biject_to)
_composed(transform_to)
