"""What the GPU can do at the moment: the bandwidth of a copy in its memory, and cuBLAS's products of float32 matrices."""

from __future__ import annotations

from typing import Any

import cupy

from bench.ceilings import Ceilings
from bench.timing import measure_block

#: The largest array in bytes: larger cases take proportionally longer, no cache holds them.
LARGEST = 512 << 20
_WIDTH = 4096


def _synchronize() -> None:
    cupy.cuda.Device().synchronize()


class GpuRoofline(Ceilings):
    """Measures the ceilings as `roofline.Roofline` does on a CPU; keeps the products' peak, which takes much memory."""

    def __init__(self) -> None:
        self._peak: float | None = None

    def stream(self, bytes: int, traffic: str = "triad", seconds: float = 0.03) -> float:
        """Seconds in which a copy moves `bytes` in all; `traffic` makes no difference on a GPU."""
        each = min(max(bytes // 2, 256), LARGEST)
        source, target = cupy.zeros(each, cupy.uint8), cupy.empty(each, cupy.uint8)
        copy = target.data.copy_from_device_async
        stream = cupy.cuda.get_current_stream()
        call = lambda: copy(source.data, each, stream)  # noqa: E731
        return measure_block(call, _synchronize, seconds, "gpu")["seconds"] * bytes / (2 * each)

    def peak(self, seconds: float = 0.03) -> float:
        """Operations a second of a product of float32 matrices, without TF32."""
        if self._peak is None:
            a, b, c = (cupy.ones((_WIDTH, _WIDTH), cupy.float32) for _ in range(3))
            call: Any = lambda: cupy.matmul(a, b, out=c)  # noqa: E731
            self._peak = 2 * _WIDTH**3 / measure_block(call, _synchronize, seconds, "gpu")["seconds"]
        return self._peak
