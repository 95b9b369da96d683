"""Rows of the op table for trigonometric, special and binary functions. References are NumPy's, or SciPy's where NumPy has none."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
from tests.ops.row import Row, matrix, pair


def _scipy(name: str) -> Any:
    """A function of scipy.special; the test is skipped without SciPy."""
    return lambda *arrays: getattr(pytest.importorskip("scipy.special"), name)(*arrays)


def _gammainc(function: Any) -> Any:
    return lambda x: function(lucid.tensor(2.5, dtype=x.dtype, device=x.device), x)


UNARY_SPECIAL = [
    Row("acos", lucid.acos, np.arccos, matrix(-0.9, 0.9)), Row("asin", lucid.asin, np.arcsin, matrix(-0.9, 0.9)),
    Row("acosh", lucid.acosh, np.arccosh, matrix(1.2, 4.0)), Row("asinh", lucid.asinh, np.arcsinh, matrix()),
    Row("atanh", lucid.atanh, np.arctanh, matrix(-0.8, 0.8)), Row("deg2rad", lucid.deg2rad, np.deg2rad, matrix()),
    Row("rad2deg", lucid.rad2deg, np.rad2deg, matrix()), Row("sinc", lucid.sinc, np.sinc, matrix(0.2, 2.0)),
    Row("frac", lucid.frac, lambda x: x - np.trunc(x), matrix(1.1, 1.9)), Row("fix", lucid.fix, np.fix, matrix()),
    Row("positive", lucid.positive, np.positive, matrix()), Row("signbit", lucid.signbit, np.signbit, matrix(), False),
    Row("isposinf", lucid.isposinf, np.isposinf, matrix(), False), Row("isneginf", lucid.isneginf, np.isneginf, matrix(), False),
    Row("isreal", lucid.isreal, np.isreal, matrix(), False), Row("nan_to_num", lucid.nan_to_num, np.nan_to_num, matrix()),
    Row("angle", lucid.angle, np.angle, matrix(0.5)), Row("logit", lucid.logit, _scipy("logit"), matrix(0.1, 0.9)),
    Row("clamp_min", lambda x: lucid.clamp_min(x, 0.5), lambda x: np.maximum(x, 0.5), matrix()),
    Row("clamp_max", lambda x: lucid.clamp_max(x, 0.5), lambda x: np.minimum(x, 0.5), matrix()),
    Row("erf", lucid.erf, _scipy("erf"), matrix()), Row("erfc", lucid.erfc, _scipy("erfc"), matrix()),
    Row("erfinv", lucid.erfinv, _scipy("erfinv"), matrix(-0.9, 0.9)), Row("erfcx", lucid.special.erfcx, _scipy("erfcx"), matrix()),
    Row("ndtr", lucid.special.ndtr, _scipy("ndtr"), matrix()), Row("ndtri", lucid.special.ndtri, _scipy("ndtri"), matrix(0.1, 0.9)),
    Row("log_ndtr", lucid.special.log_ndtr, _scipy("log_ndtr"), matrix()),
    Row("entr", lucid.special.entr, _scipy("entr"), matrix(0.2, 2.0)),
    Row("lgamma", lucid.lgamma, _scipy("gammaln"), matrix(0.4, 4.0)),
    Row("digamma", lucid.digamma, _scipy("digamma"), matrix(0.4, 4.0)),
    Row("polygamma", lambda x: lucid.polygamma(2, x), lambda x: _scipy("polygamma")(2, x), matrix(0.7, 4.0)),
    Row("mvlgamma", lambda x: lucid.mvlgamma(x, 3), lambda x: np.vectorize(_scipy("multigammaln"), [float])(x, 3), matrix(2.0, 5.0)),
    Row("zeta", lambda q: lucid.special.zeta(3.0, q), lambda q: _scipy("zeta")(3.0, q), matrix(0.7, 4.0)),
    Row("gammainc", _gammainc(lucid.igamma), lambda x: _scipy("gammainc")(2.5, x), matrix(0.5, 5.0)),
    Row("gammaincc", _gammainc(lucid.igammac), lambda x: _scipy("gammaincc")(2.5, x), matrix(0.5, 5.0)),
    Row("i0", lucid.i0, _scipy("i0"), matrix()), Row("i1", lucid.special.i1, _scipy("i1"), matrix()),
    Row("i0e", lucid.special.i0e, _scipy("i0e"), matrix(0.2, 3.0)), Row("i1e", lucid.special.i1e, _scipy("i1e"), matrix(0.2, 3.0)),
]

_BINARY: list[tuple[str, Any, Any, float, bool]] = [
    ("fmax", lucid.fmax, np.fmax, -2.0, True), ("fmin", lucid.fmin, np.fmin, -2.0, True),
    ("atan2", lucid.atan2, np.arctan2, 0.3, True), ("hypot", lucid.hypot, np.hypot, 0.3, True),
    ("logaddexp", lucid.logaddexp, np.logaddexp, -2.0, True), ("logaddexp2", lucid.logaddexp2, np.logaddexp2, -2.0, True),
    ("xlogy", lucid.xlogy, _scipy("xlogy"), 0.3, True), ("xlog1py", lucid.special.xlog1py, _scipy("xlog1py"), 0.3, True),
    ("copysign", lucid.copysign, np.copysign, 0.3, True), ("heaviside", lucid.heaviside, np.heaviside, -2.0, False),
    ("ldexp", lucid.ldexp, lambda a, b: a * 2.0 ** b, -2.0, True),
]
BINARY_SPECIAL = [Row(f"{name} {a} {b}", function, reference, pair(low, 2.0, a, b), smooth)
                  for name, function, reference, low, smooth in _BINARY
                  for a, b in [((3, 4), (3, 4)), ((3, 1), (1, 4)), ((), ())]]

TERNARY_SPECIAL = [
    Row("addcmul", lambda x, a, b: lucid.addcmul(x, a, b, value=0.5), lambda x, a, b: x + 0.5 * a * b,
        lambda rng: [rng.uniform(-2, 2, shape) for shape in ((3, 4), (3, 1), (4,))]),
    Row("addcdiv", lambda x, a, b: lucid.addcdiv(x, a, b, value=0.5), lambda x, a, b: x + 0.5 * a / b,
        lambda rng: [rng.uniform(0.5, 2, shape) for shape in ((3, 4), (3, 1), (4,))]),
]

ROWS = UNARY_SPECIAL + BINARY_SPECIAL + TERNARY_SPECIAL
