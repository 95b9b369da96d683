"""What the GPU can do at most: the bandwidth of copies, cuBLAS's products, and the time of a launch that computes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bench.gpu.clock import device_seconds
from bench.gpu.place import GPU, place

if TYPE_CHECKING:
    from bench.gpu.part import Time

#: Bytes read and written by a copy: two sizes that the L2 holds, two that it does not.
COPIES = {"8 MiB": 8 << 20, "32 MiB": 32 << 20, "128 MiB": 128 << 20, "1 GiB": 1 << 30}
WIDTH = 8192


def measure(given: Time) -> Iterator[dict[str, Any]]:
    """A row for each ceiling."""
    import cupy
    from lucid_kernels.measuring.gpu_roofline import GpuRoofline

    small = place() != GPU
    for name, size in COPIES.items():
        moved = size >> 12 if small else size
        source, target = cupy.zeros(moved // 2, cupy.uint8), cupy.empty(moved // 2, cupy.uint8)

        def copy(source: Any = source, target: Any = target, count: int = moved // 2) -> None:
            target.data.copy_from_device_async(source.data, count, cupy.cuda.get_current_stream())

        yield {"name": f"copy of {name}", "gigabytes_per_second": moved / device_seconds(copy) / 1e9}
        del source, target
    roofline = GpuRoofline()
    for arithmetic in ("float32", "tf32", "bfloat16", "float16"):
        yield {"name": f"product of {arithmetic}", "teraflops": roofline.peak(0.2, arithmetic, WIDTH) / 1e12}
    import lucid

    x = lucid.ones(8, device="gpu")
    yield {"name": "the smallest kernel, one after the other", "us": device_seconds(lambda: lucid.nn.functional.relu(x)) * 1e6}
