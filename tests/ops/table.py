"""The op table: one row for each operation, from which the tests of values, gradients, dtypes and layouts are made.

A row gives the function, its NumPy reference (float64), and a function that makes its inputs from a random generator.
`smooth` says that the gradient is checked, once and twice.
"""
from __future__ import annotations

from typing import Any

import numpy as np

import lucid
from tests.ops import table_linear_algebra, table_shape, table_special
from tests.ops.row import Row, matrix, pair


def _unary(name: str, reference: Any, low: float = -2.0, high: float = 2.0, smooth: bool = True) -> Row:
    return Row(name, getattr(lucid, name), reference, matrix(low, high), smooth)


UNARY = [
    _unary("abs", np.abs), _unary("neg", np.negative), _unary("exp", np.exp), _unary("exp2", np.exp2),
    _unary("expm1", np.expm1), _unary("log", np.log, 0.1), _unary("log2", np.log2, 0.1), _unary("log10", np.log10, 0.1),
    _unary("log1p", np.log1p, -0.9), _unary("sqrt", np.sqrt, 0.1), _unary("rsqrt", lambda x: 1 / np.sqrt(x), 0.1),
    _unary("reciprocal", np.reciprocal, 0.2), _unary("square", np.square), _unary("sin", np.sin), _unary("cos", np.cos),
    _unary("tan", np.tan, -1.0, 1.0), _unary("sinh", np.sinh), _unary("cosh", np.cosh), _unary("atan", np.arctan),
    _unary("sign", lambda x: np.sign(np.nan_to_num(x))), _unary("floor", np.floor), _unary("ceil", np.ceil), _unary("trunc", np.trunc),
    _unary("round", np.round),
    Row("isnan", lucid.isnan, np.isnan, matrix(), False), Row("isinf", lucid.isinf, np.isinf, matrix(), False),
    Row("isfinite", lucid.isfinite, np.isfinite, matrix(), False),
    Row("clip", lambda x: lucid.clip(x, -1.0, 1.5), lambda x: np.clip(x, -1.0, 1.5), matrix()),
    Row("clip min", lambda x: lucid.clip(x, min=0.5), lambda x: np.maximum(x, 0.5), matrix()),
    Row("pow 3", lambda x: x ** 3, lambda x: x ** 3, matrix()),
    Row("pow 2", lambda x: x ** 2, lambda x: x ** 2, matrix()),
    Row("pow -1", lambda x: x ** -1, lambda x: x ** -1.0, matrix(0.3)),
    Row("pow 0.5", lambda x: x ** 0.5, lambda x: x ** 0.5, matrix(0.3)),
    Row("2 ** x", lambda x: 2 ** x, lambda x: 2.0 ** x, matrix()),
    Row("3 - x", lambda x: 3 - x, lambda x: 3 - x, matrix()), Row("3 / x", lambda x: 3 / x, lambda x: 3 / x, matrix(0.3)),
    Row("x / 3", lambda x: x / 3, lambda x: x / 3, matrix()),
    Row("x + 1", lambda x: x + 1, lambda x: x + 1, matrix()), Row("2 * x", lambda x: 2 * x, lambda x: 2 * x, matrix()),
    Row("x % 0.7", lambda x: x % 0.7, lambda x: x % 0.7, matrix()),
    Row("clone", lucid.clone, lambda x: x, matrix()),
]

_BINARY: list[tuple[str, Any, Any, float, bool]] = [
    ("add", lucid.add, np.add, -2.0, True), ("sub", lucid.sub, np.subtract, -2.0, True),
    ("mul", lucid.mul, np.multiply, -2.0, True), ("div", lucid.div, np.divide, 0.3, True),
    ("pow", lucid.pow, np.power, 0.3, True), ("maximum", lucid.maximum, np.maximum, -2.0, True),
    ("minimum", lucid.minimum, np.minimum, -2.0, True), ("remainder", lucid.remainder, np.remainder, 0.4, False),
    ("fmod", lucid.fmod, np.fmod, 0.4, False), ("floor_divide", lucid.floor_divide, np.floor_divide, 0.4, False),
    ("eq", lucid.eq, np.equal, -2.0, False), ("ne", lucid.ne, np.not_equal, -2.0, False),
    ("lt", lucid.lt, np.less, -2.0, False), ("le", lucid.le, np.less_equal, -2.0, False),
    ("gt", lucid.gt, np.greater, -2.0, False), ("ge", lucid.ge, np.greater_equal, -2.0, False),
]
SHAPES = [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 3, 4), ()), ((), ())]
BINARY = [Row(f"{name} {a} {b}", function, reference, pair(low, 2.0, a, b), smooth, special=a == b)
          for name, function, reference, low, smooth in _BINARY for a, b in SHAPES]

SHAPE = [
    Row("reshape", lambda x: x.reshape(4, -1), lambda x: x.reshape(4, -1), matrix()),
    Row("flatten", lambda x: lucid.flatten(x, 1), lambda x: x.reshape(2, -1), matrix(shape=(2, 3, 4))),
    Row("transpose", lambda x: x.transpose(0, 2), lambda x: x.transpose(2, 1, 0), matrix(shape=(2, 3, 4))),
    Row("permute", lambda x: x.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1), matrix(shape=(2, 3, 4))),
    Row("movedim", lambda x: lucid.movedim(x, 0, -1), lambda x: np.moveaxis(x, 0, -1), matrix(shape=(2, 3, 4))),
    Row("T", lambda x: x.T, lambda x: x.T, matrix()), Row("mT", lambda x: x.mT, lambda x: x.swapaxes(-1, -2), matrix()),
    Row("squeeze", lambda x: x.squeeze(1), lambda x: x.squeeze(1), matrix(shape=(3, 1, 2))),
    Row("unsqueeze", lambda x: x.unsqueeze(-1), lambda x: x[..., None], matrix()),
    Row("expand", lambda x: x.expand(2, 3, 4), lambda x: np.broadcast_to(x, (2, 3, 4)), matrix(shape=(3, 1))),
    Row("repeat", lambda x: x.repeat(2, 1, 3), lambda x: np.tile(x, (2, 1, 3)), matrix()),
    Row("tile", lambda x: x.tile(2), lambda x: np.tile(x, 2), matrix()),
    Row("repeat_interleave", lambda x: x.repeat_interleave(2, 1), lambda x: np.repeat(x, 2, 1), matrix()),
    Row("flip", lambda x: x.flip(0, 1), lambda x: np.flip(x, (0, 1)), matrix()),
    Row("roll", lambda x: x.roll((1, -1), (0, 1)), lambda x: np.roll(x, (1, -1), (0, 1)), matrix()),
    Row("roll flat", lambda x: x.roll(2), lambda x: np.roll(x, 2), matrix()),
    Row("tril", lambda x: x.tril(), np.tril, matrix()), Row("triu", lambda x: x.triu(1), lambda x: np.triu(x, 1), matrix()),
    Row("diagonal", lambda x: x.diagonal(1), lambda x: np.diagonal(x, 1), matrix()),
    Row("diag", lambda x: lucid.diag(x, -1), lambda x: np.diag(x, -1), matrix(shape=(3,))),
    Row("narrow", lambda x: x.narrow(1, 1, 2), lambda x: x[:, 1:3], matrix()),
    Row("select", lambda x: x.select(1, -1), lambda x: x[:, -1], matrix()),
    Row("split", lambda x: x.split(3, 1)[1], lambda x: x[:, 3:], matrix()),
    Row("chunk", lambda x: x.chunk(2, 1)[0], lambda x: x[:, :2], matrix()),
    Row("unbind", lambda x: x.unbind(1)[2], lambda x: x[:, 2], matrix()),
    Row("cat", lambda a, b: lucid.cat([a, b, a], 1), lambda a, b: np.concatenate([a, b, a], 1), pair(b=(3, 2))),
    Row("stack", lambda a, b: lucid.stack([a, b], 1), lambda a, b: np.stack([a, b], 1), pair()),
    Row("hstack", lambda a, b: lucid.hstack([a, b]), lambda a, b: np.hstack([a, b]), pair()),
    Row("vstack", lambda a, b: lucid.vstack([a, b]), lambda a, b: np.vstack([a, b]), pair()),
    Row("where", lambda a, b: lucid.where(a > b, a, b * 2), lambda a, b: np.where(a > b, a, b * 2), pair()),
    Row("where scalar", lambda a: lucid.where(a > 0, a, 0.0), lambda a: np.where(a > 0, a, 0.0), matrix()),
]

TERNARY = [
    Row("lerp", lambda a, b: lucid.lerp(a, b, 0.3), lambda a, b: a + 0.3 * (b - a), pair()),
    Row("lerp broadcast", lambda a, b: lucid.lerp(a, b, 0.8), lambda a, b: a + 0.8 * (b - a), pair(a=(3, 1), b=(2, 1, 4))),
    Row("lerp weights", lambda a, b, w: lucid.lerp(a, b, w), lambda a, b, w: a + w * (b - a),
        lambda rng: [rng.uniform(-2, 2, (3, 4)), rng.uniform(-2, 2, (3, 4)), rng.uniform(-0.5, 1.5, (4,))]),
]

ROWS = UNARY + BINARY + SHAPE + TERNARY + table_linear_algebra.ROWS + table_special.ROWS + table_shape.ROWS
