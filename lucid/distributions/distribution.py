"""`Distribution`, the base class: shapes, checks of parameters and values, and methods that follow from those of a family."""
from __future__ import annotations

import warnings
from typing import Any, Self

import lucid

from .. import _recording
from ..tensor import Size, Tensor
from . import constraints
from .constraints import Constraint
from .utils import lazy_property


def _refuted(condition: Any, value: Tensor, place: str) -> bool:
    """Whether `condition` is False anywhere; on the device 'meta' nobody can tell. A recording leaves that to a step, which
    replays take too and which names the `place`.
    """
    if _recording.current() is not None:
        _require_everywhere(condition, value, place)
        return False
    return not condition.is_meta and not bool(condition.all())


@_recording.not_recorded
def _require_everywhere(condition: Tensor, value: Tensor, place: str) -> None:
    if not condition.is_meta and not bool(condition.all()):
        raise ValueError(f"Expected {place} to satisfy its constraint, but found invalid values:\n{value}")


class Distribution:
    """A family of distributions, one for each element of `batch_shape`, whose values have the shape `event_shape`.

    A sample has the shape ``sample_shape + batch_shape + event_shape``, and `log_prob` of it ``sample_shape + batch_shape``.
    With `validate_args`, the default but under ``python -O``, parameters and values are compared with `arg_constraints` and
    `support`, and ValueError says which are wrong.

    >>> normal = lucid.distributions.Normal(lucid.zeros(3), 1.0)
    >>> isinstance(normal, lucid.distributions.Distribution), normal.batch_shape, normal.sample((2,)).shape
    (True, lucid.Size([3]), lucid.Size([2, 3]))
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    #: The parameters that `expand` expands, with the dimensions of theirs that belong to an event.
    _parameters: dict[str, int]
    _kept: tuple[str, ...] = ()  # attributes that stay the same when the batch is expanded

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Let distributions made from now on check their parameters and values, or not. Raises ValueError for no bool.

        >>> lucid.distributions.Distribution.set_default_validate_args(False)
        >>> lucid.distributions.Normal(0.0, -1.0).scale
        Tensor(-1.0, requires_grad=False)
        >>> lucid.distributions.Distribution.set_default_validate_args(True)
        """
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
            if _refuted(constraint.check(value), value, f"parameter {name} of distribution {type(self).__name__}"):
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                                 f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n"
                                 f"{value}")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """The same distributions with their batch expanded to `batch_shape`, as `Tensor.expand` does; no memory is copied.

        A subclass with a constructor of its own overrides this.

        >>> lucid.distributions.Normal(0.0, 1.0).expand((2, 3)).batch_shape
        lucid.Size([2, 3])
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
        for name in self._kept:
            setattr(new, name, getattr(self, name))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters: of distributions that are independent of each other.

        >>> lucid.distributions.Normal(lucid.zeros(3), 1.0).batch_shape
        lucid.Size([3])
        """
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one value.

        >>> lucid.distributions.MultivariateNormal(lucid.zeros(2), lucid.eye(2)).event_shape
        lucid.Size([2])
        """
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """What the parameters have to satisfy, by name.

        >>> sorted(lucid.distributions.Normal(0.0, 1.0).arg_constraints)
        ['loc', 'scale']
        """
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint that values satisfy.

        >>> lucid.distributions.Exponential(1.0).support.check(lucid.tensor([1.0, -1.0]))
        Tensor([ True, False], requires_grad=False)
        """
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The expected value.

        >>> lucid.distributions.Uniform(1.0, 3.0).mean
        Tensor(2.0, requires_grad=False)
        """
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The likeliest value.

        >>> lucid.distributions.Beta(3.0, 2.0).mode
        Tensor(0.6667, requires_grad=False)
        """
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each element of a value.

        >>> lucid.distributions.Normal(0.0, 2.0).variance
        Tensor(4.0, requires_grad=False)
        """
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The square root of `variance`.

        >>> lucid.distributions.Normal(0.0, 2.0).stddev
        Tensor(2.0, requires_grad=False)
        """
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Values of the shape ``sample_shape + batch_shape + event_shape``, without a graph.

        >>> lucid.distributions.Normal(lucid.zeros(3), 1.0).sample((2,)).shape
        lucid.Size([2, 3])
        """
        with lucid.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:  # noqa: B008
        """Values whose gradients go to the parameters; for families with `has_rsample`.

        >>> loc = lucid.tensor(0.0, requires_grad=True)
        >>> lucid.distributions.Normal(loc, 1.0).rsample().backward()
        >>> loc.grad
        Tensor(1.0, requires_grad=False)
        """
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``. Deprecated.

        >>> lucid.distributions.Normal(lucid.zeros(3), 1.0).sample_n(2).shape
        lucid.Size([2, 3])
        """
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability, or of its density, at `value`.

        >>> lucid.distributions.Bernoulli(0.25).log_prob(lucid.tensor([0.0, 1.0])).exp()
        Tensor([0.75, 0.25], requires_grad=False)
        """
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of at most `value`.

        >>> lucid.distributions.Normal(0.0, 1.0).cdf(lucid.tensor([0.0, 1.96]))
        Tensor([0.500, 0.975], requires_grad=False)
        """
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`.

        >>> lucid.distributions.Normal(0.0, 1.0).icdf(lucid.tensor([0.5, 0.975]))
        Tensor([0.00, 1.96], requires_grad=False)
        """
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along a new first dimension; without `expand`, with ones for the batch.

        >>> lucid.distributions.Bernoulli(0.5).enumerate_support()
        Tensor([0.0, 1.0], requires_grad=False)
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, in nats, of the shape `batch_shape`.

        >>> lucid.distributions.Normal(0.0, 1.0).entropy()
        Tensor(1.4189, requires_grad=False)
        """
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of `entropy`.

        >>> lucid.distributions.Categorical(lucid.ones(4)).perplexity()
        Tensor(4.0, requires_grad=False)
        """
        return lucid.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = Size()) -> Size:  # noqa: B008
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        """Raise ValueError for a `value` that does not fit the shapes or lies outside of the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        given = value._array.shape
        if self._event_shape and given[len(given) - len(self._event_shape):] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}.")
        expected = (*self._batch_shape, *self._event_shape)
        if given != expected:  # else it fits, as it mostly does
            for i, j in zip(reversed(given), reversed(expected)):
                if i != 1 and j != 1 and i != j:
                    raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs "
                                     f"{Size(expected)}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                          "distribution with `validate_args=False` to turn off validation.", stacklevel=3)
            return
        if _refuted(support.check(value), value, f"value argument of distribution {type(self).__name__}"):
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
