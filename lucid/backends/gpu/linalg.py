"""Linear algebra on a GPU, by cuSOLVER."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import cupyx
import numpy as np
from lucid_kernels.cuda.elementwise import elementwise
from lucid_kernels.cuda.matmul import products
from lucid_kernels.cuda.reduction.reduce import channel_sums
from lucid_kernels.cuda.runtime import recording

from ..common import ldl, linalg, linear, matmul
from ..merge import merge
from . import planning

Array = Any
Kernel = Callable[..., Any]


def _svd(x: Array, **attributes: bool) -> Any:
    if not cupy.isfinite(x).all():  # CuPy's says nothing
        raise np.linalg.LinAlgError
    return cupy.linalg.svd(x, **attributes)


# CuPy says nothing of singular matrices by itself.
TABLE: dict[str, Kernel] = merge(
    linalg.table(cupy, cupy.linalg, _svd, lambda: cupyx.errstate(linalg="raise")),
    planning.all_planned(matmul.table(products.matmul, 0, products.rows)), ldl.table(cupy.asnumpy, cupy.asarray))


def sum_of_rows(rows: Array, axis: int, keepdims: bool) -> Array:
    """The sum of the rows of a matrix, as `sum` is called for the gradient of a bias."""
    assert axis == 0
    assert not keepdims
    return channel_sums(rows)


def add_bias(result: Array, bias: Array) -> Array:
    """`result`, to whose rows `bias` has been added."""
    if result.dtype == bias.dtype and result.dtype.char in elementwise.FLOATING:
        return elementwise.add(result, bias, out=result)
    recording.unrepeatable()
    return linear.add_in_place(result, bias)
