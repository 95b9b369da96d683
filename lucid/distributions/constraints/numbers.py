"""Sets of numbers. Bounds may be tensors, which broadcast with what is checked."""
from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .base import Constraint


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value  # false for NaN


class _Bounded(Constraint):
    """With the bounds that the class has, in its `repr`."""

    def __repr__(self) -> str:
        bounds = (f"{name}={getattr(self, name)}" for name in ("lower_bound", "upper_bound") if hasattr(self, name))
        return f"{super().__repr__()[:-1]}{', '.join(bounds)})"


class _FromBelow(_Bounded):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound
        super().__init__()


class _FromAbove(_Bounded):
    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound
        super().__init__()


class _Between(_Bounded):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        super().__init__()


class _GreaterThan(_FromBelow):
    """Numbers above `lower_bound`.

    >>> lucid.distributions.constraints.greater_than(1.0).check(lucid.tensor([1.0, 2.0]))
    Tensor([False,  True], requires_grad=False)
    """

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_FromBelow):
    """Numbers from `lower_bound` on.

    >>> lucid.distributions.constraints.greater_than_eq(1.0).check(lucid.tensor([1.0, 2.0]))
    Tensor([True, True], requires_grad=False)
    """

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_FromAbove):
    """Numbers below `upper_bound`.

    >>> lucid.distributions.constraints.less_than(1.0).check(lucid.tensor([0.0, 1.0]))
    Tensor([ True, False], requires_grad=False)
    """

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Between):
    """Numbers from `lower_bound` to `upper_bound`, both included.

    >>> lucid.distributions.constraints.interval(0.0, 1.0).check(lucid.tensor([1.0, 2.0]))
    Tensor([ True, False], requires_grad=False)
    """

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers from `lower_bound`, included, to `upper_bound`, left out.

    >>> lucid.distributions.constraints.half_open_interval(0.0, 1.0).check(lucid.tensor([0.0, 1.0]))
    Tensor([ True, False], requires_grad=False)
    """

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


def _whole(value: Tensor, inside: Tensor) -> Tensor:
    """Whether numbers are whole ones, and `inside`."""
    return inside & (value % 1 == 0) if value.is_floating_point() else inside


class _IntegerInterval(_Between):
    """Whole numbers from `lower_bound` to `upper_bound`, both included.

    >>> lucid.distributions.constraints.integer_interval(0, 2).check(lucid.tensor([2.0, 1.5, 3.0]))
    Tensor([ True, False, False], requires_grad=False)
    """

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _whole(value, (self.lower_bound <= value) & (value <= self.upper_bound))


class _IntegerLessThan(_FromAbove):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _whole(value, value <= self.upper_bound)


class _IntegerGreaterThan(_FromBelow):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return _whole(value, value >= self.lower_bound)


boolean = _Boolean()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
