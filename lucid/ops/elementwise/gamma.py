"""The gamma function's logarithm and its derivatives, the Hurwitz zeta function and the incomplete gamma functions.

Computed by kernels in float64, whatever the dtype, and rounded once. Real numbers only; integers become the default float dtype.
"""
from __future__ import annotations

import math
from typing import Any

from ... import _dtypes
from ...autograd.calls import single_op
from ...autograd.inplace import write
from ...autograd.op import Op, Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import promote, reduce_to
from .._out import accepts_out
from .special import real_floating
from .unary import exp, log

METHODS = ("lgamma", "digamma", "mvlgamma", "igamma", "igammac")
INPLACE_METHODS = METHODS


def _unknown(name: str, argument: str) -> NotImplementedError:
    return NotImplementedError(f"the derivative for '{name}: {argument}' is not implemented.")


def _zeta_rule(needs: Any, x: Tensor, q: Tensor) -> Vjp:
    needs_x = needs[0]

    def vjp(g: Tensor, y: Any) -> tuple[None, Tensor]:
        if needs_x:
            raise _unknown("zeta", "self")
        return None, reduce_to(g * -x * _zeta(x + 1, q), q._array.shape)

    return vjp


def _incomplete_rule(name: str, sign: int) -> Any:
    """The derivative of P (`sign` 1) or Q (-1) by x is the density of the gamma distribution; DLMF 8.8.13."""
    def rule(needs: Any, a: Tensor, x: Tensor) -> Vjp:
        needs_a = needs[0]

        def vjp(g: Tensor, y: Any) -> tuple[None, Tensor]:
            if needs_a:
                raise _unknown(name, "input")
            return None, reduce_to(g * exp((a - 1) * log(x) - x - lgamma(a)) * sign, x._array.shape)

        return vjp

    return rule


_lgamma = single_op("lgamma", lambda needs, x: lambda g, y: (g * digamma(x),))
_digamma = single_op("digamma", lambda needs, x: lambda g, y: (g * polygamma(1, x),))
_polygamma = single_op("polygamma", lambda needs, x, *, n: lambda g, y: (g * polygamma(n + 1, x),))
_zeta: Op = single_op("zeta", _zeta_rule)
_gammainc = single_op("gammainc", _incomplete_rule("igamma", 1))
_gammaincc = single_op("gammaincc", _incomplete_rule("igammac", -1))


def _both(name: str, a: Any, b: Any) -> list[Tensor]:
    """Two operands as real floating-point tensors of one dtype. Raises NotImplementedError for others."""
    operands = promote(name, a, b, floating=name == "zeta")
    tensor = next(t for t in operands if isinstance(t, Tensor))
    if not _dtypes.is_floating(tensor.dtype):
        raise NotImplementedError(f"{name} is not implemented for {tensor.dtype.name}: it needs real floating-point tensors")
    return [t if isinstance(t, Tensor) else tensor.new_full((), t) for t in operands]


@accepts_out(castable=True)
def lgamma(input: Tensor) -> Tensor:
    """The logarithm of the absolute value of the gamma function; inf at 0 and at the negative integers.

    >>> lucid.lgamma(lucid.tensor([1.0, 3.0, 5.0])).exp()
    Tensor([ 1.0,  2.0, 24.0], requires_grad=False)
    """
    return _lgamma(real_floating("lgamma", input))


@accepts_out(castable=True)
def digamma(input: Tensor) -> Tensor:
    """The derivative of `lgamma`; NaN at the negative integers, infinite with the sign of ``-input`` at 0.

    >>> lucid.digamma(lucid.tensor([1.0, 2.0]))
    Tensor([-0.5772,  0.4228], requires_grad=False)
    """
    return _digamma(real_floating("digamma", input))


@accepts_out(castable=True)
def polygamma(n: int, input: Tensor) -> Tensor:
    """The derivative of order `n` of `digamma`. Raises RuntimeError for negative `n`.

    >>> lucid.polygamma(1, lucid.tensor([1.0, 2.0]))
    Tensor([1.6449, 0.6449], requires_grad=False)
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return _polygamma(real_floating("polygamma", input), n=n)


def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The derivative of order `n` of `digamma`. See `lucid.polygamma`.

    >>> lucid.tensor([1.0, 2.0]).polygamma(1)
    Tensor([1.6449, 0.6449], requires_grad=False)
    """
    return polygamma(n, self)


def _polygamma_(self: Tensor, n: int) -> Tensor:
    """`polygamma`, written into this tensor. See there."""
    return write(self, lambda old: polygamma(n, old))


@accepts_out(castable=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the gamma function of `p` dimensions; a term of lgamma for each. Raises RuntimeError for p < 1.

    >>> lucid.mvlgamma(lucid.tensor([2.0, 3.0]), 2)
    Tensor([0.4516, 1.5502], requires_grad=False)
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    x = real_floating("mvlgamma", input)
    if input.dtype == _dtypes.bool_:
        raise RuntimeError("mvlgamma(): the tensor may not be a boolean one")
    terms = lgamma(x.unsqueeze(-1) - 0.5 * _count(x, p))
    return terms.sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


def _count(x: Tensor, stop: int) -> Tensor:
    """0, 1, ... in the dtype and on the device of `x`."""
    from ..creation.creation import arange

    return arange(stop, dtype=x.dtype, device=x.device)


@accepts_out(castable=True)
def zeta(input: Any, other: Any) -> Tensor:
    """The Hurwitz zeta function, the sum of ``(k + other) ** -input`` over k >= 0; either may be a number.

    Differentiable by `other` only, as in PyTorch: NotImplementedError in backward if `input` requires grad.

    >>> lucid.special.zeta(lucid.tensor([2.0, 4.0]), lucid.tensor([1.0, 1.0]))
    Tensor([1.6449, 1.0823], requires_grad=False)
    """
    return _zeta(*_both("zeta", input, other))


@accepts_out(castable=True)
def igamma(input: Tensor, other: Tensor) -> Tensor:
    """The lower regularised incomplete gamma function P(input, other); NaN for negative arguments.

    Differentiable by `other` only, as in PyTorch: NotImplementedError in backward if `input` requires grad.

    >>> lucid.igamma(lucid.tensor([1.0, 2.0]), lucid.tensor([1.0, 1.0]))
    Tensor([0.6321, 0.2642], requires_grad=False)
    """
    return _gammainc(*_both("igamma", input, other))


@accepts_out(castable=True)
def igammac(input: Tensor, other: Tensor) -> Tensor:
    """``1 - igamma(input, other)``, the upper regularised incomplete gamma function, accurate where it is small.

    >>> lucid.igammac(lucid.tensor([1.0, 2.0]), lucid.tensor([1.0, 1.0]))
    Tensor([0.3679, 0.7358], requires_grad=False)
    """
    return _gammaincc(*_both("igammac", input, other))


SPECIAL_METHODS = {"polygamma": _polygamma_method, "polygamma_": _polygamma_}


register(__name__)
