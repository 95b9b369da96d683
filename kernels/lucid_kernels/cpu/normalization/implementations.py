"""Which implementation normalises a batch: lists by preference, of `why_not` and what computes it."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..arrays.layout import Array
from ..elementwise.elementwise import relu_grad
from ..runtime import tuning
from ..runtime.implementations import Implementations, anything, unmet
from ..simd.nontemporal import streams
from . import batch_norm_2d as columns
from . import batch_norm_planes as planes
from .channel_parameters import BIAS, MEAN, RSTD, WEIGHT


class Problem(NamedTuple):
    """Normalisation of (N, C, S), which is not empty."""

    samples: int
    channels: int
    length: int

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> Problem:
        """That of (N, C, *S)."""
        return cls(shape[0], shape[1], math.prod(shape[2:]))


def _table_why_not(problem: Problem) -> str | None:
    return unmet((problem.length == 1, "channels of several elements in a sample"))


def _columns_why_not(problem: Problem) -> str | None:
    """Copying a small table takes microseconds, compiling the columns half a second in each direction."""
    large = problem.samples * problem.channels >= tuning.BATCH_NORM_COLUMNS_FROM
    return _table_why_not(problem) or unmet((large, f"less than {tuning.BATCH_NORM_COLUMNS_FROM} elements"))


def _table(array: Array) -> Array:
    """(N, C, 1) as (N, C)."""
    return array.reshape(array.shape[:2])


def _transposed(array: Array) -> Array:
    """(N, C, 1) as a new (1, C, N)."""
    return np.ascontiguousarray(_table(array).T)[None]


# ---- forward: ``run(x, residual, parameters, training, relu, momentum, eps, y)``, arrays (N, C, S); residual, training
# ---- and relu are None or there ----------------------------------------------------------------------------------------


def _forward_columns(x: Array, residual: Array | None, parameters: Array, training: bool | None, relu: bool | None,
                     momentum: float, eps: float, y: Array) -> None:
    target = _table(y)
    if training is None:
        columns.affine(_table(x), parameters, target)
    else:
        columns.train(_table(x), parameters, momentum, eps, target)
    if residual is not None:
        target += _table(residual)
    if relu is not None:
        np.maximum(target, 0, out=target)


def _forward_transposed(x: Array, residual: Array | None, parameters: Array, training: bool | None, relu: bool | None,
                        momentum: float, eps: float, y: Array) -> None:
    turned = _transposed(x)
    target = np.empty_like(turned)
    added = None if residual is None else _transposed(residual)
    planes.forward(turned, added, parameters, training, relu, momentum, eps, target, False)
    _table(y)[...] = target[0].T


def _forward_planes(x: Array, residual: Array | None, parameters: Array, training: bool | None, relu: bool | None,
                    momentum: float, eps: float, y: Array) -> None:
    stream = streams((2 if residual is None else 3) * x.nbytes)
    planes.forward(x, residual, parameters, training, relu, momentum, eps, y, stream)


FORWARD = Implementations(
    columns=(_columns_why_not, _forward_columns),
    transposed=(_table_why_not, _forward_transposed),
    planes=(anything, _forward_planes),
)


# ---- gradient: ``run(g, x, y, parameters, training, relu, dx, dresidual)``; y and dresidual are there for a residual -----


def _gradient_columns(g: Array, x: Array, y: Array | None, parameters: Array, training: bool | None, relu: bool | None,
                      dx: Array, dresidual: Array | None) -> None:
    g, x = _table(g), _table(x)
    if relu is not None:
        if y is None:
            y = (x - parameters[MEAN]) * (parameters[RSTD] * parameters[WEIGHT]) + parameters[BIAS]
        g = relu_grad(g, y.reshape(x.shape), out=None if dresidual is None else _table(dresidual))
    columns.gradient(g, x, parameters, training, _table(dx))


def _gradient_transposed(g: Array, x: Array, y: Array | None, parameters: Array, training: bool | None, relu: bool | None,
                         dx: Array, dresidual: Array | None) -> None:
    turned = _transposed(x)
    target = np.empty_like(turned)
    masked = None if dresidual is None else np.empty_like(turned)
    results = None if y is None else _transposed(y)
    planes.gradient(_transposed(g), turned, results, parameters, training, relu, target, masked, False)
    _table(dx)[...] = target[0].T
    if masked is not None and dresidual is not None:
        _table(dresidual)[...] = masked[0].T


def _gradient_planes(g: Array, x: Array, y: Array | None, parameters: Array, training: bool | None, relu: bool | None,
                     dx: Array, dresidual: Array | None) -> None:
    stream = streams((3 if y is None else 5) * x.nbytes)
    planes.gradient(g, x, y, parameters, training, relu, dx, dresidual, stream)


GRADIENT = Implementations(
    columns=(_columns_why_not, _gradient_columns),
    transposed=(_table_why_not, _gradient_transposed),
    planes=(anything, _gradient_planes),
)


@functools.lru_cache(maxsize=1024)
def chosen(implementations: Implementations, shape: tuple[int, ...]) -> tuple[Callable[..., None], tuple[int, int, int]]:
    """What computes (N, C, *S), and the shape (N, C, S) that it takes."""
    problem = Problem.of(shape)
    return implementations.choose(problem).run, problem
