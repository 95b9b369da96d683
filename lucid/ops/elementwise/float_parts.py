"""Floating-point numbers taken apart: `frexp`."""
from __future__ import annotations

from typing import Any, NamedTuple

from ... import _dtypes
from ...autograd.calls import operation
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import require_tensor
from .._out import accepts_out

METHODS = ("frexp",)


class Frexp(NamedTuple):
    """The result of `frexp`."""

    mantissa: Tensor
    exponent: Tensor


def _frexp_rule(needs: Any, x: Tensor) -> Vjp:
    # Two factors, as 2 to the power of the largest exponents is no number of the dtype.
    def vjp(g: Tensor, y: tuple[Tensor, ...]) -> tuple[Tensor]:
        half = y[0].div(2, rounding_mode="floor")
        return (g * (-half).to(g.dtype).exp2() * (half - y[0]).to(g.dtype).exp2(),)

    return vjp


_frexp = operation("frexp", _frexp_rule, saved_outputs=(1,), outputs=(0,))


@accepts_out
def frexp(input: Tensor) -> Frexp:
    """The named tuple (mantissa, exponent) with ``input == mantissa * 2 ** exponent`` and mantissas of sizes in [0.5, 1).

    The exponents are int32; 0, inf and NaN are their own mantissas with the exponent 0. Raises RuntimeError for integers and
    complex tensors.

    >>> lucid.frexp(lucid.tensor([8.0, 0.75]))
    Frexp(mantissa=Tensor([0.50, 0.75], requires_grad=False), exponent=Tensor([4, 0], dtype=int32, requires_grad=False))
    """
    if not _dtypes.is_floating(require_tensor("frexp", input).dtype):
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return Frexp(*_frexp(input))


register(__name__)
