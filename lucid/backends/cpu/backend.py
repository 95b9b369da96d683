"""The CPU backend: op name -> NumPy function or Numba kernel."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import families
from ..common import complex, functions, linalg_gradients, nll_loss
from ..common import elementwise as common_elementwise
from ..device import Device
from ..merge import merge
from . import (
    convolution,
    creation,
    elementwise,
    fft,
    fractional_pooling,
    half_precision,
    interpolation,
    interpreter,
    linalg,
    manipulation,
    matmul,
    pad,
    poisson,
    sorting,
    ternary,
    vectors,
)
from .indexing import elements, embedding_bag, masks
from .reduction import extremes, scans, sums

DEVICE = Device("cpu")

# NumPy's functions; then, in their place, those that choose one of our kernels by the size and the dtype of the arrays, and call
# what they replace for others.
_elementwise: dict[str, Callable[..., Any]] = functions.table(np) | common_elementwise.table(np)
_elementwise |= ternary.table(_elementwise) | elementwise.table(_elementwise)
_elementwise |= half_precision.table(_elementwise)

TABLE: dict[str, Callable[..., Any]] = {}
# Activations are kernels for arrays of any size.
families.kernels("lucid_kernels.cpu", TABLE, functools.partial(half_precision.by_formula, least=0))
del TABLE["fused"]
TABLE.update(merge(
    TABLE, _elementwise, creation.TABLE, manipulation.TABLE, pad.TABLE, elements.TABLE, embedding_bag.TABLE, masks.TABLE,
    sorting.TABLE, scans.TABLE, sums.TABLE, extremes.TABLE, matmul.TABLE, linalg.TABLE, poisson.TABLE,
    fractional_pooling.TABLE))
# What is made of other operations.
TABLE.update(merge(
    TABLE, interpreter.table(TABLE), complex.table(np, TABLE), nll_loss.table(np, TABLE), vectors.table(TABLE), fft.table(TABLE),
    linalg_gradients.table(np, TABLE), convolution.table(TABLE), interpolation.table(TABLE)))
