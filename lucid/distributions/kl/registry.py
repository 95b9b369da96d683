"""Divergences by pairs of families, and the search among them."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from ..distribution import Distribution

Function = Callable[[Any, Any], Tensor]
_registry: dict[tuple[type, type], Function] = {}
_memoized: dict[tuple[type, type], Function | None] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Function], Function]:
    """A decorator: the function computes ``kl_divergence(p, q)`` for distributions of these classes, and of classes derived
    from them.

    Of several functions that suit, the one with the most derived classes is taken; where two are as near, a warning says so::

        @register_kl(BaseP, DerivedQ)
        def kl_version1(p, q): ...

    >>> class Point(lucid.distributions.Normal):
    ...     pass
    >>> @lucid.distributions.register_kl(Point, Point)
    ... def same(p, q):
    ...     return lucid.tensor(0.0)
    >>> lucid.distributions.kl_divergence(Point(0.0, 1.0), Point(5.0, 1.0))
    Tensor(0.0, requires_grad=False)
    """
    for name, given in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(given, type):  # libraries have distributions that are not derived from ours
            raise TypeError(f"Expected {name} to be a class but got {given}")

    def decorator(function: Function) -> Function:
        _registry[type_p, type_q] = function
        _memoized.clear()
        return function

    return decorator


def _nearest(matches: list[tuple[type, type]], first: int) -> tuple[type, type]:
    """The most derived pair, of which the class at `first` counts first."""
    second = 1 - first

    def is_less(a: tuple[type, type], b: tuple[type, type]) -> bool:
        if a[first] is not b[first]:
            return issubclass(a[first], b[first])
        return issubclass(a[second], b[second])

    return functools.reduce(lambda best, pair: pair if is_less(pair, best) else best, matches)


def _found(type_p: type, type_q: type) -> Function | None:
    matches = [pair for pair in _registry if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not matches:
        return None
    left, right = _nearest(matches, 0), _nearest(matches, 1)
    if _registry[left] is not _registry[right]:
        warnings.warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left[0].__name__}, "
                      f"{right[1].__name__})", RuntimeWarning, stacklevel=3)
    return _registry[left]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence of `p` from `q`, the expectation of ``log p(x) - log q(x)`` for x from `p`, of the shape
    `batch_shape`. Raises NotImplementedError for pairs without a formula.

    Example: ``kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))`` is 0.5.

    >>> normal = lucid.distributions.Normal
    >>> lucid.distributions.kl_divergence(normal(0.0, 1.0), normal(1.0, 1.0))
    Tensor(0.5, requires_grad=False)
    """
    key = type(p), type(q)
    if key not in _memoized:
        _memoized[key] = _found(*key)
    function = _memoized[key]
    if function is None:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type "
                                  f"{q.__class__.__name__}")
    return function(p, q)
