"""The CPU backend: op name -> NumPy function or Numba kernel."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.cpu.matmul import matmul
from lucid_kernels.cpu.runtime import allocator

from .. import families
from ..common import (
    complex,
    convolution,
    fractional_pooling,
    functions,
    interpolation,
    linalg_gradients,
    linear,
    nll_loss,
    pad,
    poisson,
    slices,
    vectors,
    views,
)
from ..common import fft as common_fft
from ..common import sorting as common_sorting
from ..device import Device
from ..merge import merge
from . import copies, elementwise, indexing, interpreter, linalg, masks, reductions, scans, sorting

DEVICE = Device("cpu")


def _of_volumes(name: str) -> Callable[..., Any]:
    """A function of the module for volumes, which is imported on the first call."""
    def call(*arrays: Any, **attributes: Any) -> Any:
        from lucid_kernels.cpu.convolution import conv3d

        return getattr(conv3d, name)(*arrays, **attributes)

    return call


# NumPy's functions; then, in their place, those that choose one of our kernels by the size and the dtype of the arrays, and call
# what they replace for others.
TABLE: dict[str, Callable[..., Any]] = {}
TABLE |= merge(elementwise.table(TABLE), functions.table(np, indexing.scatter_add, matmul.matmul), linalg.table())
TABLE |= views.table(np) | common_sorting.table(np) | common_fft.table(np, TABLE, allocator.empty)
TABLE |= complex.table(np, TABLE)
TABLE |= fractional_pooling.table(np) | vectors.table(np, TABLE, indexing.scatter_add)
TABLE |= linalg_gradients.table(np, TABLE)
TABLE |= copies.table(TABLE)
TABLE |= indexing.table(TABLE)
TABLE |= masks.table(TABLE)
TABLE |= sorting.table(TABLE)
TABLE |= reductions.table(TABLE)
TABLE |= linear.table(np, TABLE)
TABLE |= scans.table(TABLE)
families.kernels("lucid_kernels.cpu", TABLE)
TABLE |= poisson.table(np, TABLE["gammaincc"])
TABLE |= interpreter.table(TABLE) | nll_loss.table(np, TABLE)
# Slices that conv3d stacks stay in the L3 cache: 0.65 of the time of all at once, for 16 channels.
TABLE |= convolution.table(np, TABLE, 4 << 20, copies.copy_into, *map(_of_volumes, ("convolve", "grad_input", "grad_weight")))
TABLE |= interpolation.table(np, TABLE)
TABLE |= pad.table(np, allocator.empty, copies.copy_into)
TABLE |= slices.table(allocator.empty, copies.fill_with, copies.copy_into, copies.add_into)
