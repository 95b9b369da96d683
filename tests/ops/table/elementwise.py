"""Rows of the op table for element-wise operations of one, two and three tensors."""
from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.table.row import SHAPES, Row, matrix, pair


def _unary(op: str, reference: Any, low: float = -2.0, high: float = 2.0, smooth: bool = True, complex: bool = False,
           out: bool = True, **options: Any) -> Row:
    return Row(op, matrix(low, high), reference, smooth=smooth, complex=complex, out=out, **options)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


UNARY = [
    _unary("abs", np.abs, complex=True), _unary("neg", np.negative, complex=True), _unary("exp", np.exp, complex=True),
    _unary("exp2", np.exp2), _unary("expm1", np.expm1), _unary("log", np.log, 0.1, complex=True),
    _unary("log2", np.log2, 0.1, complex=True), _unary("log10", np.log10, 0.1, complex=True), _unary("log1p", np.log1p, -0.9),
    _unary("sqrt", np.sqrt, 0.1, complex=True), _unary("rsqrt", lambda x: 1 / np.sqrt(x), 0.1, complex=True),
    _unary("reciprocal", np.reciprocal, 0.2, complex=True), _unary("square", np.square, complex=True),
    _unary("sin", np.sin, complex=True), _unary("cos", np.cos, complex=True), _unary("tan", np.tan, -1.0, 1.0, complex=True),
    _unary("sinh", np.sinh, complex=True), _unary("cosh", np.cosh, complex=True), _unary("tanh", np.tanh, complex=True),
    _unary("acos", np.arccos, -0.9, 0.9), _unary("asin", np.arcsin, -0.9, 0.9), _unary("atan", np.arctan),
    _unary("acosh", np.arccosh, 1.2, 4.0), _unary("asinh", np.arcsinh), _unary("atanh", np.arctanh, -0.8, 0.8),
    _unary("sigmoid", sigmoid), _unary("logit", lambda x: np.log(x / (1 - x)), 0.1, 0.9),
    _unary("deg2rad", np.deg2rad), _unary("rad2deg", np.rad2deg), _unary("sinc", np.sinc, 0.2, 2.0),
    _unary("sign", lambda x: np.sign(np.nan_to_num(x))), _unary("sgn", lambda x: np.sign(np.nan_to_num(x))),
    _unary("floor", np.floor), _unary("ceil", np.ceil), _unary("trunc", np.trunc), _unary("fix", np.fix), _unary("round",
        np.round),
    _unary("frac", lambda x: x - np.trunc(x), 1.1, 1.9), _unary("positive", np.positive, complex=True, out=False),
    _unary("nan_to_num", np.nan_to_num),
    _unary("angle", lambda x: np.where(x < 0, np.pi, 0 * np.nan_to_num(x, nan=np.nan)), 0.5),
    _unary("conj", np.conj, complex=True, out=False), _unary("real", np.real, complex=True, out=False),
    _unary("clone", lambda x: x, complex=True, out=False),
    Row("imag", pair(), lambda a, b: b, lambda lib, a, b: lib.imag(lib.complex(a, b)), special=False,
        dtypes_differ=("float16",)),
    _unary("signbit", np.signbit, smooth=False),
    *[_unary(op, getattr(np, op), smooth=False, out=False) for op in ("isnan", "isinf", "isfinite", "isreal")],
    *[_unary(op, getattr(np, op), smooth=False) for op in ("isposinf", "isneginf")],
    _unary("logical_not", np.logical_not, smooth=False),
    Row("round", matrix(), lambda x: np.round(x, 1), lambda lib, x, **out: lib.round(x, decimals=1, **out), variant="decimals",
        special=False, out=True),
    Row("logit", matrix(), lambda x: np.log(np.clip(x, 0.1, 0.9) / (1 - np.clip(x, 0.1, 0.9))),
        lambda lib, x: lib.logit(x, 0.1),
        variant="eps"),
    Row("clamp", matrix(), lambda x: np.clip(x, -1.0, 1.5), lambda lib, x, **out: lib.clamp(x, -1, 1.5, **out), out=True),
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
    ("nextafter", np.nextafter, -2.0, False), ("ldexp", lambda a, b: a * 2.0 ** b, -2.0, True),
    ("heaviside", lambda a, b: np.where(np.isnan(a), 0.0, np.heaviside(a, b)), -2.0, False),
    ("float_power", np.float_power, 0.3, True), ("logical_and", np.logical_and, -2.0, False),
    ("logical_or", np.logical_or, -2.0, False), ("logical_xor", np.logical_xor, -2.0, False),
]
_COMPLEX = {"add", "sub", "mul", "div", "pow"}
_SPLIT = {"add", "div", "pow", "remainder", "lt", "atan2", "maximum"}  # one of each kind of broadcasting is enough
BINARY = [Row(op, pair(low, 2.0, a, b), reference, smooth=smooth, complex=op in _COMPLEX and a == b == (3, 4),
    special=a == b == (3, 4),
              variant="" if a == b == (3, 4) else f"{a} {b}", out=True)
          for op, reference, low, smooth in _BINARY for a, b in (SHAPES if op in _SPLIT else SHAPES[:3:2])]

_INTEGERS: list[tuple[str, Any]] = [
    ("gcd", np.gcd), ("lcm", np.lcm), ("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or),
    ("bitwise_xor", np.bitwise_xor), ("bitwise_left_shift", np.left_shift), ("bitwise_right_shift", np.right_shift),
]
INTEGERS = [Row(op, lambda rng: [rng.integers(1, 9, (3, 4)), rng.integers(1, 4, (4,))], reference, smooth=False, out=True)
            for op, reference in _INTEGERS]
INTEGERS += [Row(op, pair(), None, smooth=False, special=False, variant="of numbers") for op, _ in _INTEGERS]
INTEGERS += [
    Row("bitwise_not", lambda rng: [rng.integers(-9, 9, (3, 4))], np.bitwise_not, smooth=False, out=True),
    Row("bitwise_not", matrix(), None, smooth=False, special=False, variant="of numbers"),
]

OPTIONS = [
    Row("add", pair(), lambda a, b: a + 2 * b,
        lambda lib, a, b, **out: lib.add(a, b, alpha=2, **out), variant="alpha", out=True,
        complex=True),
    Row("sub", pair(), lambda a, b: a - 2 * b,
        lambda lib, a, b, **out: lib.sub(a, b, alpha=2, **out), variant="alpha", out=True),
    Row("div", pair(0.4), np.floor_divide,
        lambda lib, a, b, **out: lib.div(a, b, rounding_mode="floor", **out), variant="floor",
        smooth=False, out=True),
    Row("div", pair(0.4), lambda a, b: np.trunc(a / b), lambda lib, a, b, **out: lib.div(a, b, rounding_mode="trunc", **out),
        variant="trunc", smooth=False, out=True),
    Row("isclose", pair(), lambda a, b: np.isclose(a, b, 0.5, 0.1),
        lambda lib, a, b: lib.isclose(a, b, 0.5, 0.1), smooth=False),
    *[Row(op, pair(0.3), reference) for op, reference in (
        ("power", np.power), ("multiply", np.multiply), ("divide", np.divide), ("true_divide", np.divide), ("subtract",
            np.subtract))],
]

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
    Row("addcmul", pair(), lambda a, b: a + 0.5 * a * b, lambda lib, a, b: lib.addcmul(a, a, b, value=0.5), variant="one shape"),
    Row("addcdiv", matrix(), lambda a: a + 0.5 * a / (a * a + 1), lambda lib, a: lib.addcdiv(a, a, a * a + 1, value=0.5),
        variant="one shape"),
]

ROWS = UNARY + BINARY + INTEGERS + OPTIONS + TERNARY
