"""Linear algebra on a GPU, by cuSOLVER."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import cupyx
import numpy as np
from lucid_kernels.cuda.matmul import products

from ..common import linalg, matmul
from ..merge import merge
from ..sizes import LARGE

Array = Any
Kernel = Callable[..., Any]


def _svd(x: Array, **attributes: bool) -> Any:
    if not cupy.isfinite(x).all():  # CuPy's says nothing
        raise np.linalg.LinAlgError
    return cupy.linalg.svd(x, **attributes)


# CuPy says nothing of singular matrices by itself.
TABLE: dict[str, Kernel] = merge(
    linalg.table(cupy, cupy.linalg, _svd, lambda: cupyx.errstate(linalg="raise")), matmul.table(products.matmul, LARGE))
