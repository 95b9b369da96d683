"""The base of all distributions: shapes, checks of parameters and values, and what follows from the methods of a family."""
from __future__ import annotations

import warnings
from typing import Any, Self

import lucid

from ..tensor import Size, Tensor
from . import constraints
from .constraints import Constraint
from .utils import lazy_property


def _refuted(condition: Any) -> bool:
    """Whether `condition` is False anywhere; on the device 'meta' nobody can tell."""
    return not condition.is_meta and not bool(condition.all())


class Distribution:
    """A family of distributions, one for each element of `batch_shape`, whose values have the shape `event_shape`.

    A sample has the shape ``sample_shape + batch_shape + event_shape``, and `log_prob` of it ``sample_shape + batch_shape``.
    With `validate_args`, the default but under ``python -O``, parameters and values are compared with `arg_constraints` and
    `support`, and ValueError says which are wrong.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    #: The parameters that `expand` expands, with the dimensions of theirs that belong to an event.
    _parameters: dict[str, int]

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Let distributions made from now on check their parameters and values, or not. Raises ValueError for no bool."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = Size(), event_shape: Any = Size(), validate_args: bool | None = None) -> None:  # noqa: B008
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            constrained = self.arg_constraints
        except NotImplementedError:
            constrained = {}
            warnings.warn(f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                          "initialize the distribution with `validate_args=False` to turn off validation.", stacklevel=4)
        for name, constraint in constrained.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue  # the other one of two parametrisations was given
            value = getattr(self, name)
            if _refuted(constraint.check(value)):
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                                 f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n"
                                 f"{value}")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """The same distributions with their batch expanded to `batch_shape`, as `Tensor.expand` does; no memory is copied.

        A subclass with a constructor of its own overrides this.
        """
        owner: Any = next((cls for cls in type(self).__mro__ if "_parameters" in vars(cls)), None)
        if owner is None:
            raise NotImplementedError
        new = self._get_checked_instance(owner, _instance)
        shape = Size(batch_shape)
        for name, dims in owner._parameters.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                new.__dict__[name] = value.expand(shape + value.shape[value.ndim - dims:])
        return self._finish(new, shape)

    def _finish(self, new: Any, batch_shape: Any) -> Any:
        """Make `new`, whose parameters are set, a distribution like this one with `batch_shape`."""
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters: of distributions that are independent of each other."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one value."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """What the parameters have to satisfy, by name."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint that values satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The likeliest value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each element of a value."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The square root of `variance`."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Values of the shape ``sample_shape + batch_shape + event_shape``, without a graph."""
        with lucid.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Values whose gradients go to the parameters; for families with `has_rsample`."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``. Deprecated."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability, or of its density, at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along a new first dimension; without `expand`, with ones for the batch."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, in nats, of the shape `batch_shape`."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of `entropy`."""
        return lucid.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = Size()) -> Size:  # noqa: B008
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        """Raise ValueError for a `value` that does not fit the shapes or lies outside of the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        given = value.shape
        if self._event_shape and given[len(given) - len(self._event_shape):] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {given} vs {self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        for i, j in zip(reversed(given), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {given} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                          "distribution with `validate_args=False` to turn off validation.", stacklevel=3)
            return
        if _refuted(support.check(value)):
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                             f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}")

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ "
                                      "method must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            value = self.__dict__.get(name)
            if value is not None:
                single = value.numel() == 1 and not value.is_meta
                shown.append(f"{name}: {value if single and value.ndim else value.item() if single else value.shape}")
        return f"{self.__class__.__name__}({', '.join(shown)})"
