"""Transforms of numbers."""
from __future__ import annotations

import math
from numbers import Real
from typing import Any

import lucid

from ...tensor import Tensor
from .. import constraints
from ..constraints import Constraint
from ..utils import broadcast_all, lazy_property
from .base import Transform

_softplus = lucid.nn.functional.softplus


class _Rising(Transform):
    """A bijective rising transform without parameters: all of its class are equal."""

    domain: Any = constraints.real
    bijective = True
    sign: Any = 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    __hash__ = None


class ExpTransform(_Rising):
    """``y = exp(x)``.

    >>> exp = lucid.distributions.ExpTransform()
    >>> exp(lucid.tensor([0.0, 1.0])), exp.log_abs_det_jacobian(lucid.tensor(1.0), None)
    (Tensor([1.0000, 2.7183], requires_grad=False), Tensor(1.0, requires_grad=False))
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SigmoidTransform(_Rising):
    """``y = 1 / (1 + exp(-x))``, and ``x = logit(y)``.

    >>> lucid.distributions.SigmoidTransform()(lucid.tensor([0.0, 1.0]))
    Tensor([0.5000, 0.7311], requires_grad=False)
    """

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = lucid.finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -_softplus(-x) - _softplus(x)


def clipped_sigmoid(x: Tensor) -> Tensor:
    """The logistic function, inside (0, 1) in floating-point numbers too."""
    limits = lucid.finfo(x.dtype)
    return lucid.sigmoid(x).clamp(min=limits.tiny, max=1.0 - limits.eps)


class SoftplusTransform(_Rising):
    """``y = log(1 + exp(x))``.

    >>> lucid.distributions.SoftplusTransform()(lucid.tensor([0.0]))
    Tensor([0.6931], requires_grad=False)
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return _softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -_softplus(-x)


class TanhTransform(_Rising):
    """``y = tanh(x)``. A cache saves the inverse of values near -1 and 1, which is not exact.

    >>> lucid.distributions.TanhTransform()(lucid.tensor([0.0, 1.0]))
    Tensor([0.0000, 0.7616], requires_grad=False)
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return lucid.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - _softplus(-2.0 * x))


class PowerTransform(Transform):
    """``y = x ** exponent`` of positive numbers.

    >>> lucid.distributions.PowerTransform(2.0)(lucid.tensor([3.0]))
    Tensor([9.0], requires_grad=False)
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    __hash__ = None

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return lucid.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AbsTransform(Transform):
    """``y = |x|``, which has no inverse: `inv` gives the positive one.

    >>> lucid.distributions.AbsTransform()(lucid.tensor([-1.0, 2.0]))
    Tensor([1.0, 2.0], requires_grad=False)
    """

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    __hash__ = None

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """``y = loc + scale * x``, of numbers or, with `event_dim`, of vectors (1) or matrices (2) element by element.

    >>> double = lucid.distributions.AffineTransform(1.0, 2.0)
    >>> y = double(lucid.tensor([3.0]))
    >>> y, double.inv(y)
    (Tensor([7.0], requires_grad=False), Tensor([3.0], requires_grad=False))
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        return constraints.real if self.event_dim == 0 else constraints.independent(constraints.real, self.event_dim)

    codomain = domain

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        for mine, others in ((self.loc, other.loc), (self.scale, other.scale)):
            equal = mine == others
            if not (bool(equal.all()) if isinstance(equal, Tensor) else equal):
                return False
        return True

    __hash__ = None

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Real):
            return 1 if float(self.scale) > 0 else -1 if float(self.scale) < 0 else 0
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        shape = x.shape
        if isinstance(self.scale, Real):
            result = lucid.full_like(x, math.log(abs(self.scale)))
        else:
            result = lucid.abs(self.scale).log()
        if self.event_dim:
            result = result.reshape((*result.shape[:-self.event_dim], -1)).sum(-1)
            shape = shape[:-self.event_dim]
        return result.expand(shape)

    def forward_shape(self, shape: Any) -> Any:
        return lucid.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape
