"""The CPU backend: op name -> NumPy function or Numba kernel."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from lucid_kernels.cpu.matmul import matmul
from lucid_kernels.cpu.runtime import allocator

from . import (
    assembly,
    combination,
    complex_parts,
    convolution,
    copies,
    elementwise,
    factor_gradients,
    fourier,
    fractional_pooling,
    functions,
    half_formulas,
    indexing,
    lapack,
    large_elementwise,
    lazy,
    likelihood,
    linear,
    masks,
    movement,
    ordering,
    padding,
    poisson,
    reductions,
    resampling,
    scans,
    small_formulas,
    sorting,
    vectors,
)
from .device import Device

DEVICE = Device("cpu")


def _of_volumes(name: str) -> Callable[..., Any]:
    """A function of the module for volumes, which is imported on the first call."""
    def call(*arrays: Any, **attributes: Any) -> Any:
        from lucid_kernels.cpu.convolution import conv3d

        return getattr(conv3d, name)(*arrays, **attributes)

    return call


# NumPy's functions; then, in their place, those that choose one of our kernels by the size and the dtype of the arrays, and call
# what they replace for others.
TABLE: dict[str, Callable[..., Any]] = functions.table(np, indexing.scatter_add, matmul.matmul) | lapack.table()
TABLE |= movement.table(np) | ordering.table(np) | fourier.table(np, TABLE, allocator.empty)
TABLE |= complex_parts.table(np, TABLE)
TABLE |= elementwise.table(np) | fractional_pooling.table(np) | vectors.table(np, TABLE, indexing.scatter_add)
TABLE |= factor_gradients.table(np, TABLE)
TABLE |= copies.table(TABLE)
TABLE |= indexing.table(TABLE)
TABLE |= masks.table(TABLE)
TABLE |= sorting.table(TABLE)
TABLE |= reductions.table(TABLE)
TABLE |= linear.table(np, TABLE)
TABLE |= scans.table(TABLE)
TABLE |= combination.table(TABLE) | large_elementwise.table(TABLE)
TABLE |= half_formulas.table(TABLE)
# Activations are kernels for arrays of any size.
lazy.kernels("lucid_kernels.cpu", TABLE, functools.partial(half_formulas.by_formula, least=0))
TABLE |= poisson.table(np, TABLE["gammaincc"])
TABLE |= small_formulas.table(TABLE) | likelihood.table(np, TABLE)
# Slices that conv3d stacks stay in the L3 cache: 0.65 of the time of all at once, for 16 channels.
TABLE |= convolution.table(np, TABLE, 4 << 20, copies.copy_into, *map(_of_volumes, ("convolve", "grad_input", "grad_weight")))
TABLE |= resampling.table(np, TABLE)
TABLE |= padding.table(np, allocator.empty, copies.copy_into)
TABLE |= assembly.table(allocator.empty, copies.fill_with, copies.copy_into, copies.add_into)
