"""Special functions, under the names of `torch.special` (https://docs.pytorch.org/docs/2.13/special.html).

>>> lucid.special.expit(lucid.tensor([0.0, 1.0])), lucid.special.ndtr(lucid.tensor(1.96))
(Tensor([0.5000, 0.7311], requires_grad=False), Tensor(0.975, requires_grad=False))
"""
from __future__ import annotations

from typing import Any

from ._namespace.builtins import publish
from .ops.elementwise.bessel import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    spherical_bessel_j0,
)
from .ops.elementwise.binary import xlog1py, xlogy
from .ops.elementwise.gamma import digamma, polygamma, zeta
from .ops.elementwise.gamma import digamma as psi
from .ops.elementwise.gamma import igamma as gammainc
from .ops.elementwise.gamma import igammac as gammaincc
from .ops.elementwise.gamma import lgamma as gammaln
from .ops.elementwise.gamma import mvlgamma as multigammaln
from .ops.elementwise.polynomials import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)
from .ops.elementwise.special import (
    entr,
    erf,
    erfc,
    erfcx,
    erfinv,
    i0,
    i0e,
    i1,
    i1e,
    log_ndtr,
    logit,
    ndtr,
    ndtri,
    sinc,
)
from .ops.elementwise.unary import exp2, expm1, log1p, round
from .ops.nn.activation import log_softmax as _log_softmax
from .ops.nn.activation import sigmoid as expit
from .ops.nn.activation import softmax as _softmax
from .ops.reduction.reduction import logsumexp
from .tensor import Tensor

__all__ = ["airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t", "chebyshev_polynomial_u",
           "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2",
           "expit", "expm1", "gammainc", "gammaincc", "gammaln", "hermite_polynomial_h", "hermite_polynomial_he", "i0",
           "i0e", "i1", "i1e", "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax", "logit",
           "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
           "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round", "scaled_modified_bessel_k0",
           "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
           "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sinc", "softmax", "spherical_bessel_j0",
           "xlog1py", "xlogy", "zeta"]


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """`lucid.softmax`; here `dtype` is given by keyword only.

    >>> lucid.special.softmax(lucid.tensor([0.0, 0.0]), dim=0)
    Tensor([0.5, 0.5], requires_grad=False)
    """
    return _softmax(input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """`lucid.log_softmax`; here `dtype` is given by keyword only.

    >>> lucid.special.log_softmax(lucid.tensor([0.0, 0.0]), dim=0)
    Tensor([-0.6931, -0.6931], requires_grad=False)
    """
    return _log_softmax(input, dim, dtype=dtype)

publish(globals(), __all__)
