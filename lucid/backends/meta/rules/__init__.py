"""The shape and dtype rules of all operations.

An operation brings its rule along: its CPU kernel, run on small stand-ins. Where lengths of the result are computed, or the
kernel is compiled or needs certain lengths, a rule of these modules says the shape. Operations whose shape depends on the
elements raise NotImplementedError. No rule takes memory, or time, in proportion to the lengths.

`new_rules`: what the rules share.
`creation`, `manipulation`, `indexing`: new arrays; shapes and orders; elements by index.
`linalg`, `fft`: linear algebra; Fourier transforms.
`convolution`, `pooling`, `interpolation`: layers of images.
`normalization`, `sequences`, `losses`: other layers, losses.
`optimizers`: steps of optimizers, which write in place.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from ...common.elementwise import ARITHMETIC
from ...cpu import backend as cpu
from ...elementwise import ROWS
from ...merge import merge
from ..array import MetaArray, blank
from ..probe import delivered, probed
from . import (
    convolution,
    creation,
    fft,
    indexing,
    interpolation,
    linalg,
    losses,
    manipulation,
    normalization,
    optimizers,
    pooling,
    sequences,
)
from .new_rules import Kernel, data_dependent, new_rules

# Compiled kernels whose result is as the first argument, in row-major order.
LIKE_FIRST = ("softmax softmax_grad log_softmax log_softmax_grad dropout batch_norm_eval poisson_quantile cross "
              "random_gamma standard_gamma_grad dirichlet_grad").split()
DATA_DEPENDENT = ("bincount", "nonzero")

_OTHERS, _rule = new_rules()


def _like_first(*arrays: MetaArray, out: MetaArray | None = None, **attributes: Any) -> MetaArray:
    return arrays[0].copy() if out is None else out


def _elementwise(*arrays: MetaArray, out: MetaArray | None = None, **attributes: Any) -> MetaArray:
    """Of kernels that are compiled also for a few elements."""
    return delivered(blank(np.broadcast_shapes(*[array.shape for array in arrays]), arrays[0].dtype), out)


_OTHERS |= dict.fromkeys(LIKE_FIRST, _like_first)
_OTHERS |= {row.name: _elementwise for row in ROWS.values() if row.family and row.name not in ARITHMETIC}
_OTHERS |= {name: data_dependent(name) for name in DATA_DEPENDENT}


@_rule
def increment(counter: MetaArray) -> MetaArray:
    return counter


@_rule
def fused(*arrays: MetaArray | None, program: Any, out: Any = None) -> Any:
    shapes = program.result_shapes([() if array is None else array.shape for array in arrays])
    results = tuple(map(blank, shapes, program.dtypes))
    return delivered(results if len(results) > 1 else results[0], out)


def _only_meta(name: str, rule: Kernel) -> Kernel:
    """`rule` for arrays that are all on the device 'meta'."""
    def kernel(*arrays: Any, **attributes: Any) -> Any:
        for array in arrays:
            if hasattr(array, "dtype") and array.__class__ is not MetaArray:
                raise RuntimeError(f"op '{name}' got an array on the device 'meta' and one on another device")
        return rule(*arrays, **attributes)

    kernel.__name__ = name
    return kernel


RULES = merge(_OTHERS, *[family.RULES for family in (
    convolution, creation, fft, indexing, interpolation, linalg, losses, manipulation, normalization, optimizers, pooling,
    sequences)])
TABLE: dict[str, Kernel] = {
    name: _only_meta(name, RULES[name] if name in RULES else probed(name)) for name in cpu.TABLE}
