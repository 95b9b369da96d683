"""Rows of the op table for the activations of nn.functional, away from their kinks."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.ops.table.elementwise import sigmoid
from tests.ops.table.row import Row, matrix, pair

erf = np.vectorize(math.erf, [float])


def _activation(name: str, reference: Any, *options: Any, variant: str = "", **keywords: Any) -> Row:
    def call(lib: Any, x: Any) -> Any:
        return getattr(lib.nn.functional, name)(x, *options, **keywords)

    return Row(f"nn.functional.{name}", matrix(), reference, call, variant=variant)


def _softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum(1, keepdims=True)


def _hardswish(x: np.ndarray) -> np.ndarray:
    return x * np.clip(x + 3, 0, 6) / 6


def _elu(x: np.ndarray, alpha: float = 1.0, scale: float = 1.0) -> np.ndarray:
    return scale * np.where(x > 0, x, alpha * np.expm1(x))


ROWS = [
    _activation("relu", lambda x: np.maximum(x, 0)), _activation("relu6", lambda x: np.clip(x, 0, 6)),
    _activation("sigmoid", sigmoid), _activation("tanh", np.tanh),
    _activation("logsigmoid", lambda x: np.log(sigmoid(x))), _activation("silu", lambda x: x * sigmoid(x)),
    _activation("gelu", lambda x: x * (1 + erf(x / math.sqrt(2))) / 2),
    _activation("gelu", lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2, approximate="tanh",
                variant="tanh"),
    _activation("mish", lambda x: x * np.tanh(np.log1p(np.exp(x)))), _activation("softplus", lambda x: np.log1p(np.exp(2 * x)) / 2, 2),
    _activation("softsign", lambda x: x / (1 + np.abs(x))), _activation("tanhshrink", lambda x: x - np.tanh(x)),
    _activation("leaky_relu", lambda x: np.where(x > 0, x, 0.1 * x), 0.1), _activation("elu", lambda x: _elu(x, 0.7), 0.7),
    _activation("celu", lambda x: np.where(x > 0, x, 0.7 * np.expm1(x / 0.7)), 0.7),
    _activation("selu", lambda x: _elu(x, 1.6732632423543772, 1.0507009873554805)),
    _activation("hardtanh", lambda x: np.clip(x, -0.9, 0.8), -0.9, 0.8),
    _activation("hardsigmoid", lambda x: np.clip(x + 3, 0, 6) / 6), _activation("hardswish", _hardswish),
    _activation("hardshrink", lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    _activation("softshrink", lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    _activation("threshold", lambda x: np.where(x > 0.3, x, 1.0), 0.3, 1.0),
    _activation("glu", lambda x: x[:, :2] * sigmoid(x[:, 2:])), _activation("softmax", _softmax, 1),
    _activation("softmin", lambda x: _softmax(-x), 1), _activation("log_softmax", lambda x: np.log(_softmax(x)), 1),
    _activation("normalize", lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)),
    Row("nn.functional.prelu", pair(b=(4,)), lambda x, w: np.where(x > 0, x, w * x)),
]
