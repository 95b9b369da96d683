"""What the GPU can do at the moment: the bandwidth of a copy in its memory, and cuBLAS's products of matrices."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import cupy
import numpy as np

from lucid_kernels.measuring.ceilings import ARITHMETIC, Ceilings
from lucid_kernels.measuring.timing import is_fake, measure_block

#: The largest array in bytes: larger cases take proportionally longer, no cache holds them.
LARGEST = 512 << 20
_WIDTH = 4096
#: cuBLAS's numbers of the types of elements, and of the arithmetic with sums in float32.
_ELEMENTS, _SUMS = {"float32": 0, "float16": 2, "bfloat16": 14}, {"float32": 68, "tf32": 77}


def _synchronize() -> None:
    cupy.cuda.Device().synchronize()


class GpuRoofline(Ceilings):
    """Measures the ceilings as `roofline.Roofline` does on a CPU; keeps the products' peak, which takes much memory."""

    def __init__(self) -> None:
        self._peaks: dict[str, float] = {}

    def stream(self, bytes: int, traffic: str = "triad", seconds: float = 0.03) -> float:
        """Seconds in which a copy moves `bytes` in all; `traffic` makes no difference on a GPU."""
        each = min(max(bytes // 2, 256), LARGEST if not is_fake() else 256)
        source, target = cupy.zeros(each, cupy.uint8), cupy.empty(each, cupy.uint8)
        copy = target.data.copy_from_device_async
        stream = cupy.cuda.get_current_stream()
        call = lambda: copy(source.data, each, stream)  # noqa: E731
        return measure_block(call, _synchronize, seconds, "gpu")["seconds"] * bytes / (2 * each)

    def peak(self, seconds: float = 0.03, arithmetic: str = "float32", width: int = _WIDTH) -> float:
        """Operations a second of a product of square matrices."""
        if arithmetic not in self._peaks:
            elements, sums, times = ARITHMETIC[arithmetic]
            width = width if not is_fake() else 64
            call = product(elements, sums, width)
            self._peaks[arithmetic] = 2 * width**3 / times / measure_block(call, _synchronize, seconds, "gpu")["seconds"]
        return self._peaks[arithmetic]


def product(elements: str, sums: str, width: int) -> Callable[[], None]:
    """A call of cuBLAS that multiplies two matrices of random numbers: zeros take less power, and so less time."""
    from lucid_kernels.cuda.matmul import blas

    size = 4 if elements == "float32" else 2
    numbers = cupy.asarray(np.resize(np.random.default_rng(0).standard_normal(1 << 16, dtype=np.float32), width * width))
    if elements == "float16":
        numbers = numbers.astype(cupy.float16)
    elif elements == "bfloat16":  # the upper halves of float32
        numbers = numbers.view(cupy.uint16)[1::2].copy()
    result = cupy.empty(width * width * size, cupy.uint8)
    one, zero, kind = (ctypes.c_float * 1)(1), (ctypes.c_float * 1)(0), _ELEMENTS[elements]
    factors = [ctypes.addressof(factor) for factor in (one, zero)]

    def call() -> None:
        blas.multiply(0, 0, width, width, width, factors[0], numbers.data.ptr, kind, width, 0, numbers.data.ptr, kind, width, 0,
                      factors[1], result.data.ptr, kind, width, 0, 1, _SUMS[sums], -1)

    call.__dict__["keeps"] = one, zero  # whose addresses the call passes
    return call
