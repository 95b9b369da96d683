"""Rows of the op table for special functions. References are NumPy's, or SciPy's where NumPy has none."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from tests.ops.table.row import SHAPES, Row, constant, matrix, pair

HALF = ("float16", "bfloat16")  # not implemented in PyTorch


def _scipy(name: str) -> Any:
    """A function of scipy.special; the test is skipped without SciPy."""
    return lambda *arrays: getattr(pytest.importorskip("scipy.special"), name)(*arrays)


UNARY = [
    Row("erf", matrix(), _scipy("erf")), Row("erfc", matrix(), _scipy("erfc")),
    Row("erfinv", matrix(-0.9, 0.9), _scipy("erfinv")), Row("special.erfcx", matrix(), _scipy("erfcx"), dtypes_differ=HALF),
    Row("special.ndtr", matrix(), _scipy("ndtr")), Row("special.ndtri", matrix(0.1, 0.9), _scipy("ndtri"), dtypes_differ=HALF),
    Row("special.log_ndtr", matrix(), _scipy("log_ndtr"), dtypes_differ=HALF),
    Row("special.entr", matrix(0.2, 2.0), _scipy("entr")),
    Row("lgamma", matrix(0.4, 4.0), _scipy("gammaln")),
    Row("digamma", matrix(0.4, 4.0), _scipy("digamma")),
    Row("polygamma", matrix(0.7, 4.0), lambda x: _scipy("polygamma")(2, x), lambda lib, x: lib.polygamma(2, x)),
    Row("mvlgamma", matrix(2.0, 5.0), lambda x: np.vectorize(_scipy("multigammaln"), [float])(x, 3),
        lambda lib, x: lib.mvlgamma(x, 3)),
    Row("special.zeta", matrix(0.7, 4.0), lambda q: _scipy("zeta")(3.0, q),
        lambda lib, q: lib.special.zeta(3.0, q), dtypes_differ=HALF),
    Row("special.gammaln", matrix(0.4, 4.0), _scipy("gammaln")),
    Row("igamma", matrix(0.5, 5.0), lambda x: _scipy("gammainc")(2.5, x),
        lambda lib, x: lib.igamma(constant(lib, x, 2.5).to(x.dtype), x)),
    Row("igammac", matrix(0.5, 5.0), lambda x: _scipy("gammaincc")(2.5, x),
        lambda lib, x: lib.igammac(constant(lib, x, 2.5).to(x.dtype), x)),
    Row("i0", matrix(), _scipy("i0")), Row("special.i1", matrix(), _scipy("i1")),
    Row("special.i0e", matrix(0.2, 3.0), _scipy("i0e")), Row("special.i1e", matrix(0.2, 3.0), _scipy("i1e")),
]

# Differentiable in the second argument alone.
INCOMPLETE = [Row(f"special.{op}", pair(0.3, 4.0, a, b), _scipy(op), variant=f"{a} {b}", smooth=False)
              for op in ("gammainc", "gammaincc") for a, b in SHAPES]

SOFTMAX = [Row(f"special.{op}", matrix(shape=shape), functools.partial(lambda x, op, dim: _scipy(op)(x, dim), op=op, dim=dim),
               functools.partial(lambda lib, x, op, dim: getattr(lib.special, op)(x, dim), op=op, dim=dim),
                   variant=f"{shape} {dim}")
           for op in ("softmax", "log_softmax") for shape, dim in (((3, 4), 1), ((2, 3, 4), 0), ((3, 4), -2))]

BINARY = [Row(op, pair(0.3, 2.0, a, b), _scipy(op.split(".")[-1]), variant=f"{a} {b}")
          for op in ("xlogy", "special.xlog1py") for a, b in SHAPES]

ROWS = UNARY + BINARY + INCOMPLETE + SOFTMAX
