"""The CPU backend: op name -> NumPy function or Numba kernel."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import families
from ..common import attention, complex, ldl, linalg_gradients, linear
from ..device import Device
from ..merge import merge
from . import (
    convolution,
    creation,
    elementwise,
    fft,
    fractional_pooling,
    interpolation,
    interpreter,
    linalg,
    manipulation,
    matmul,
    pad,
    poisson,
    sorting,
    vectors,
)
from .indexing import elements, embedding_bag, masks, nll_loss
from .reduction import extremes, scans, sums

DEVICE = Device("cpu")

TABLE: dict[str, Callable[..., Any]] = {}
families.kernels("lucid_kernels.cpu", TABLE)
del TABLE["fused"]
TABLE.update(merge(
    TABLE, elementwise.table(TABLE), creation.TABLE, manipulation.TABLE, pad.TABLE, elements.TABLE, embedding_bag.TABLE,
    masks.TABLE, sorting.TABLE, scans.TABLE, sums.TABLE, extremes.TABLE, matmul.TABLE, linalg.TABLE, poisson.TABLE,
    fractional_pooling.TABLE, ldl.table(np.asarray, np.asarray)))
# What is made of other operations.
TABLE.update(merge(
    TABLE, interpreter.table(TABLE), complex.table(np, TABLE), nll_loss.table(TABLE), vectors.table(TABLE), fft.table(TABLE),
    linalg_gradients.table(np, TABLE), convolution.table(TABLE), interpolation.table(TABLE), attention.table(np, TABLE),
    linear.activated(TABLE)))
