"""What a constraint is, and those that are known only together with a distribution."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ...tensor import Tensor


class Constraint:
    """A set of values. `check` says which values lie in it; the last `event_dim` dimensions of these make one event.

    >>> positive = lucid.distributions.constraints.positive
    >>> isinstance(positive, lucid.distributions.constraints.Constraint), positive.check(lucid.tensor([1.0, -1.0]))
    (True, Tensor([ True, False], requires_grad=False))
    """

    # Any: properties in some. Not as annotations, which would be looked for in instances.
    is_discrete = cast(Any, False)
    event_dim = cast(Any, 0)

    def check(self, value: Tensor) -> Tensor:
        """A bool for each event of `value`."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__[1:] + "()"


class _Dependent(Constraint):
    """A set that depends on other values; it checks nothing. What it leaves out of `is_discrete` and `event_dim` is unknown."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        """Whether the set is discrete. Raises NotImplementedError where that is not known."""
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:
        """The dimensions of an event. Raises NotImplementedError where they are not known."""
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """The same with what was not known: ``constraints.dependent(event_dim=1)``."""
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, value: Tensor) -> Tensor:
        """Raises ValueError: there is nothing to compare with."""
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Whether `constraint` is one that depends on other values.

    >>> c = lucid.distributions.constraints
    >>> c.is_dependent(c.dependent), c.is_dependent(c.positive)
    (True, False)
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of a class of distributions that returns a constraint; of the class itself, a dependent constraint::

        class Uniform(Distribution):
            @constraints.dependent_property(is_discrete=False, event_dim=0)
            def support(self):
                return constraints.interval(self.low, self.high)

    >>> class Below(lucid.distributions.Distribution):
    ...     @lucid.distributions.constraints.dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return lucid.distributions.constraints.less_than(self.bound)
    >>> lucid.distributions.constraints.is_dependent(Below.support)
    True
    """

    def __init__(self, fn: Callable[..., Any] | None = None, *, is_discrete: Any = NotImplemented,
                 event_dim: Any = NotImplemented) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        """The decorator with these keywords."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


dependent = _Dependent()
dependent_property = _DependentProperty
