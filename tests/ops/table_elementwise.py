"""Rows of the op table for element-wise operations of one, two and three tensors."""
from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.row import SHAPES, Row, matrix, pair


def _unary(op: str, reference: Any, low: float = -2.0, high: float = 2.0, smooth: bool = True) -> Row:
    return Row(op, matrix(low, high), reference, smooth=smooth)


UNARY = [
    _unary("abs", np.abs), _unary("neg", np.negative), _unary("exp", np.exp), _unary("exp2", np.exp2),
    _unary("expm1", np.expm1), _unary("log", np.log, 0.1), _unary("log2", np.log2, 0.1), _unary("log10", np.log10, 0.1),
    _unary("log1p", np.log1p, -0.9), _unary("sqrt", np.sqrt, 0.1), _unary("rsqrt", lambda x: 1 / np.sqrt(x), 0.1),
    _unary("reciprocal", np.reciprocal, 0.2), _unary("square", np.square), _unary("sin", np.sin), _unary("cos", np.cos),
    _unary("tan", np.tan, -1.0, 1.0), _unary("sinh", np.sinh), _unary("cosh", np.cosh), _unary("atan", np.arctan),
    _unary("sign", lambda x: np.sign(np.nan_to_num(x))), _unary("floor", np.floor), _unary("ceil", np.ceil), _unary("trunc",
        np.trunc),
    _unary("round", np.round),
    Row("isnan", matrix(), np.isnan, smooth=False), Row("isinf", matrix(), np.isinf, smooth=False),
    Row("isfinite", matrix(), np.isfinite, smooth=False),
    Row("clip", matrix(), lambda x: np.clip(x, -1.0, 1.5), lambda lib, x: lib.clip(x, -1.0, 1.5)),
    Row("clip", matrix(), lambda x: np.maximum(x, 0.5), lambda lib, x: lib.clip(x, min=0.5), variant="min"),
    Row("pow", matrix(), lambda x: x ** 3, lambda lib, x: x ** 3, variant="3"),
    Row("pow", matrix(), lambda x: x ** 2, lambda lib, x: x ** 2, variant="2"),
    Row("pow", matrix(0.3), lambda x: x ** -1.0, lambda lib, x: x ** -1, variant="-1"),
    Row("pow", matrix(0.3), lambda x: x ** 0.5, lambda lib, x: x ** 0.5, variant="0.5", special=False),
    Row("pow", matrix(), lambda x: 2.0 ** x, lambda lib, x: 2 ** x, variant="2 ** x"),
    Row("sub", matrix(), lambda x: 3 - x,
        lambda lib, x: 3 - x, variant="3 - x"), Row("div", matrix(0.3), lambda x: 3 / x, lambda lib, x: 3 / x, variant="3 / x"),
    Row("div", matrix(), lambda x: x / 3, lambda lib, x: x / 3, variant="x / 3"),
    Row("add", matrix(), lambda x: x + 1,
        lambda lib, x: x + 1, variant="x + 1"), Row("mul", matrix(), lambda x: 2 * x, lambda lib, x: 2 * x, variant="2 * x"),
    Row("remainder", matrix(), lambda x: x % 0.7, lambda lib, x: x % 0.7, variant="x % 0.7"),
    Row("clone", matrix(), lambda x: x),
    Row("acos", matrix(-0.9, 0.9), np.arccos), Row("asin", matrix(-0.9, 0.9), np.arcsin),
    Row("acosh", matrix(1.2, 4.0), np.arccosh), Row("asinh", matrix(), np.arcsinh),
    Row("atanh", matrix(-0.8, 0.8), np.arctanh), Row("deg2rad", matrix(), np.deg2rad),
    Row("rad2deg", matrix(), np.rad2deg), Row("sinc", matrix(0.2, 2.0), np.sinc),
    Row("frac", matrix(1.1, 1.9), lambda x: x - np.trunc(x)), Row("fix", matrix(), np.fix),
    Row("positive", matrix(), np.positive), Row("signbit", matrix(), np.signbit, smooth=False),
    Row("isposinf", matrix(), np.isposinf, smooth=False), Row("isneginf", matrix(), np.isneginf, smooth=False),
    Row("isreal", matrix(), np.isreal, smooth=False), Row("nan_to_num", matrix(), np.nan_to_num),
    Row("angle", matrix(0.5), lambda x: np.where(x < 0, np.pi, 0 * np.nan_to_num(x, nan=np.nan))), Row("logit", matrix(0.1, 0.9), lambda x: np.log(x / (1 - x))),
    Row("clamp_min", matrix(), lambda x: np.maximum(x, 0.5), lambda lib, x: lib.clamp_min(x, 0.5)),
    Row("clamp_max", matrix(), lambda x: np.minimum(x, 0.5), lambda lib, x: lib.clamp_max(x, 0.5)),
]

_BINARY: list[tuple[str, Any, float, bool]] = [
    ("add", np.add, -2.0, True), ("sub", np.subtract, -2.0, True), ("mul", np.multiply, -2.0, True), ("div", np.divide, 0.3,
        True),
    ("pow", np.power, 0.3, True), ("maximum", np.maximum, -2.0, True), ("minimum", np.minimum, -2.0, True),
    ("remainder", np.remainder, 0.4, False), ("fmod", np.fmod, 0.4, False), ("floor_divide", np.floor_divide, 0.4, False),
    ("eq", np.equal, -2.0, False), ("ne", np.not_equal, -2.0, False), ("lt", np.less, -2.0, False),
    ("le", np.less_equal, -2.0, False), ("gt", np.greater, -2.0, False), ("ge", np.greater_equal, -2.0, False),
    ("fmax", np.fmax, -2.0, True), ("fmin", np.fmin, -2.0, True), ("atan2", np.arctan2, 0.3, True), ("hypot", np.hypot, 0.3,
        True),
    ("logaddexp", np.logaddexp, -2.0, True), ("logaddexp2", np.logaddexp2, -2.0, True), ("copysign", np.copysign, 0.3, True),
    ("heaviside", lambda a, b: np.where(np.isnan(a), 0.0, np.heaviside(a, b)), -2.0, False), ("ldexp", lambda a, b: a * 2.0 ** b, -2.0, True),
]
BINARY = [Row(op, pair(low, 2.0, a, b), reference, smooth=smooth, special=a == b, variant=f"{a} {b}")
          for op, reference, low, smooth in _BINARY for a, b in SHAPES]

TERNARY = [
    Row("lerp", pair(), lambda a, b: a + 0.3 * (b - a), lambda lib, a, b: lib.lerp(a, b, 0.3)),
    Row("lerp", pair(a=(3, 1), b=(2, 1, 4)), lambda a, b: a + 0.8 * (b - a),
        lambda lib, a, b: lib.lerp(a, b, 0.8), variant="broadcast"),
    Row("lerp", lambda rng: [rng.uniform(-2, 2, (3, 4)), rng.uniform(-2, 2, (3, 4)), rng.uniform(-0.5, 1.5, (4,))], lambda a,
        b, w: a + w * (b - a), lambda lib, a, b, w: lib.lerp(a, b, w), variant="weights"),
    Row("where", pair(), lambda a, b: np.where(a > b, a, b * 2), lambda lib, a, b: lib.where(a > b, a, b * 2)),
    Row("where", matrix(), lambda a: np.where(a > 0, a, 0.0), lambda lib, a: lib.where(a > 0, a, 0.0), variant="scalar"),
    Row("addcmul", lambda rng: [rng.uniform(-2, 2, shape) for shape in ((3, 4), (3, 1), (4,))], lambda x, a,
        b: x + 0.5 * a * b, lambda lib, x, a, b: lib.addcmul(x, a, b, value=0.5)),
    Row("addcdiv", lambda rng: [rng.uniform(0.5, 2, shape) for shape in ((3, 4), (3, 1), (4,))], lambda x, a,
        b: x + 0.5 * a / b, lambda lib, x, a, b: lib.addcdiv(x, a, b, value=0.5)),
]

ROWS = UNARY + BINARY + TERNARY
