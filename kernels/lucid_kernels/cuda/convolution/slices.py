"""Weight gradients that were summed slice by slice of the batch (split-K): `conv_pack.cu` adds the slices in order."""
from __future__ import annotations

from typing import Any

import numpy as np

from lucid_kernels.cuda.runtime import launch


def add_weight_slices(parts: Any, dw: Any, channels: int, padded: int, taps: int) -> None:
    """Write to dw (O, channels, taps) the sum of `parts` (slice, O, taps, padded)."""
    count, size = len(parts), parts.size // len(parts)
    threads = next((n for n in (8, 4, 2) if count >= 2 * n), 1)  # of an element: for few elements with many slices
    kernel = launch.kernel("conv_pack", f"conv_add_weight_slices<{launch.ctype(dw.dtype)}>")
    kernel(*launch.grid_1d(size * threads), (parts, dw, *map(np.int32, (count, threads, channels, padded, taps, size))))
