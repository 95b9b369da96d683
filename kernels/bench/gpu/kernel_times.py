"""The time of our kernels alone, by CUDA events: the families of `bench.cases`, called without the library above them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bench.gpu.clock import device_seconds
from bench.gpu.place import GPU, SIMULATOR, place

if TYPE_CHECKING:
    from bench.gpu.part import Time

FAMILIES = ("elementwise", "softmax", "cross_entropy", "batch_norm", "layer_norm", "pool2d", "embedding", "random", "optimizer",
            "conv2d", "products")


def measure(given: Time) -> Iterator[dict[str, Any]]:
    """A row for each case. What one family cannot do is a row, and the next begins."""
    from bench.case import Side

    importlib.import_module("lucid.backends.gpu.backend")
    side = Side("ours", "gpu", quick=place() != GPU)
    for family in FAMILIES[1:2] if place() == SIMULATOR else FAMILIES:
        try:
            yield from _family(family, side)
        except Exception as error:
            yield {"name": family, "failed": f"{type(error).__name__}: {error}"}


def _family(family: str, side: Any) -> Iterator[dict[str, Any]]:
    from bench.case import load

    for case in load(family, side):
        if case.call is None:
            continue
        seconds = device_seconds(case.call) / case.operations
        row: dict[str, Any] = {"name": f"{family}: {case.name}", "us": seconds * 1e6}
        if case.bytes:
            row["gigabytes_per_second"] = case.bytes / case.operations / seconds / 1e9
        if case.flops:
            row["teraflops"] = case.flops / case.operations / seconds / 1e12
        yield row
