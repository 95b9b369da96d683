"""Special functions, under the names of `torch.special` (https://docs.pytorch.org/docs/2.13/special.html)."""
from __future__ import annotations

from typing import Any

from ._namespace.builtins import publish
from .ops.elementwise.binary import xlog1py, xlogy
from .ops.elementwise.gamma import digamma, polygamma, zeta
from .ops.elementwise.gamma import digamma as psi
from .ops.elementwise.gamma import igamma as gammainc
from .ops.elementwise.gamma import igammac as gammaincc
from .ops.elementwise.gamma import lgamma as gammaln
from .ops.elementwise.gamma import mvlgamma as multigammaln
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

__all__ = ["digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln",
           "i0", "i0e", "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri",
           "polygamma", "psi", "round", "sinc", "softmax", "xlog1py", "xlogy", "zeta"]


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """`lucid.softmax`; here `dtype` is given by keyword only."""
    return _softmax(input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """`lucid.log_softmax`; here `dtype` is given by keyword only."""
    return _log_softmax(input, dim, dtype=dtype)

publish(globals(), __all__)
