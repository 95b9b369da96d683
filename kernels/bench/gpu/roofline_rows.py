"""What is known of the rows without a GPU: launches and the host's time on a CUDA that computes nothing, the kernels' compiled
resources, and the time that a chip needs at least for the bytes and the arithmetic.

Nothing here was measured on a GPU, and no estimate is a time of a kernel: it is what no kernel can be faster than.
"""

from __future__ import annotations

import ctypes
import importlib
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.environment import ROOT

if TYPE_CHECKING:
    from bench.gpu.part import Time


class Chip(NamedTuple):
    """What a chip does at most, as NVIDIA states it, without sparsity; and what a multiprocessor holds."""

    name: str
    bytes_per_second: float
    flops: dict[str, float]  # a second, by kind of `ceilings.ARITHMETIC`
    shared: int  # bytes of a multiprocessor, of which each block takes 1 KiB more than it asks for
    threads: int = 2048
    blocks: int = 32
    registers: int = 65536
    source: str = ""


CHIPS = {
    "sm_80": Chip("A100 SXM 80 GB", 2.039e12, {"float32": 19.5e12, "tf32": 156e12, "3xtf32": 52e12, "float16": 312e12,
                                               "bfloat16": 312e12}, 164 << 10, source="NVIDIA A100 data sheet"),
    "sm_90": Chip("H100 SXM", 3.35e12, {"float32": 67e12, "tf32": 494.7e12, "3xtf32": 164.9e12, "float16": 989.4e12,
                                        "bfloat16": 989.4e12}, 228 << 10, source="NVIDIA H100 data sheet"),
}
_WARP, _UNIT = 32, 256  # registers are given to warps in units


class Launch(NamedTuple):
    """A kernel as it was launched."""

    file: str
    name: str
    threads: int
    shared: int  # dynamic

    @property
    def key(self) -> str:
        """Its name in resources.json, behind the architecture."""
        return f"{self.file} {self.name}"


def occupancy(chip: Chip, registers: int, shared: int, threads: int) -> float:
    """The share of a multiprocessor's threads that blocks fill; `registers` are those of a thread, `shared` bytes of a block."""
    warps = -(-threads // _WARP)
    of_registers = chip.registers // (max(1, -(-registers * _WARP // _UNIT) * _UNIT) * warps)
    resident = min(chip.blocks, chip.threads // (warps * _WARP), of_registers, chip.shared // (shared + 1024))
    return resident * warps * _WARP / chip.threads


def estimate(chip: Chip, bytes: int, flops: int, arithmetic: str) -> tuple[float, str]:
    """Seconds that `chip` takes at least, and for what; 0 where a row names neither."""
    moved, computed = bytes / chip.bytes_per_second, flops / chip.flops[arithmetic]
    return (computed, arithmetic) if computed > moved else (moved, "memory" if moved else "")


def measure(given: Time) -> Iterator[dict[str, Any]]:
    """A row for each case of the batch, measured on the stub of this process."""
    from bench.case import Side, load
    from bench.gpu.rows import FAMILIES
    from bench.host.report import measure as host_seconds
    from bench.host.stub import current

    importlib.import_module("lucid.backends.gpu.backend")
    installed, architecture = current(), given.facts["architecture"]
    resources = json.loads((ROOT / "kernels" / "resources.json").read_text(encoding="utf-8"))
    chip = CHIPS[architecture]
    side = Side("ours", "gpu")
    side.skipped = frozenset(given.facts.get("left_out", ()))  # which are not even prepared
    for family in given.facts.get("families") or FAMILIES:
        for case in load(family, side):
            if case.name in side.skipped:
                continue
            row: dict[str, Any] = {"family": family, "name": case.name, "bytes": case.bytes, "flops": case.flops}
            if case.call is None:
                yield row | {"failed": case.failure or f"missing: {case.missing}"}
                continue
            for _ in range(3):  # a plan is made at the second call
                case.call()
            installed.counts()
            launches = launched(installed, case.call)
            row |= installed.counts()
            is_step = family in ("targets.training", "gpu_targets.large_models")
            seconds, _ = host_seconds(case.call, 2e-2 if is_step else 2e-3, 10 if is_step else 30)
            least, bound = estimate(chip, case.bytes, case.flops, case.arithmetic)
            row |= {"host_us": seconds * 1e6 / case.operations, "least_us": least * 1e6 / case.operations, "bound": bound,
                    "operations": case.operations, "kernels": [_described(chip, architecture, kernel, resources)
                                                               for kernel in dict.fromkeys(launches)]}
            yield row


def launched(installed: Any, call: Callable[[], Any]) -> list[Launch]:
    """Our kernels that a call launches; those of CuPy have no name here."""
    from lucid_kernels.cuda.runtime import launch

    seen: list[tuple[int, int, int]] = []
    pointer, numbers = ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint)
    kind = ctypes.CFUNCTYPE(None, pointer, numbers, pointer, ctypes.POINTER(pointer))
    watch = kind(lambda function, sizes, stream, parameters: seen.append((function, sizes[3] * sizes[4] * sizes[5], sizes[6])))
    installed.library.stub_watch(watch)
    try:
        call()
    finally:
        installed.library.stub_watch(None)
    names = {kernel.kernel.ptr: key for key, kernel in launch._kernels.items()}
    return [Launch(*names[function], threads, shared) for function, threads, shared in seen
            if function in names and "\n" not in names[function][0]]  # the text of a kernel that was generated has no resources


def _described(chip: Chip, architecture: str, kernel: Launch, resources: dict[str, dict[str, int]]) -> dict[str, Any]:
    found = resources.get(f"{architecture} {kernel.key}")
    if found is None:
        return {"kernel": kernel.key, "threads": kernel.threads}
    shared = found["shared"] + kernel.shared
    return {"kernel": kernel.key, "threads": kernel.threads, "registers": found["registers"], "shared": shared,
            "spills": found["spills"], "occupancy": occupancy(chip, found["registers"], shared, kernel.threads)}


def page(rows: list[dict[str, Any]], architecture: str, cpu: str) -> str:
    """The table in Markdown."""
    chip = CHIPS[architecture]
    peaks = ", ".join(f"{kind} {flops / 1e12:.0f}" for kind, flops in chip.flops.items())
    lines = [
        "# Rows not run on a GPU", "",
        "Written by `python kernels/bench/gpu_rows.py`. **No row here has run on a GPU**: no batch had time for them.",
        "Those that have run are in the `*-batch.md` beside this page; `kernels/bench/gpu_batch.py` runs them all.", "",
        "- *launches*, *products* (of cuBLAS) and *host us*, of a call (*host us* of an operation in chains): the real CuPy on a",
        f"  CUDA that computes nothing, on {cpu}; the fastest of many blocks, of a thread's own time.",
        f"- *at least us*: what a {chip.name} needs for the bytes ({chip.bytes_per_second / 1e12:.2f} TB/s) or the arithmetic",
        f"  (TFLOP/s: {peaks}), whichever takes longer, as if nothing else took time.",
        f"  Source: {chip.source}; 3xtf32 is a third of TF32. An estimate of what no kernel can undercut, not of what ours take.",
        "  Where it is less than the host's time, the host decides.",
        f"- *kernels*: those of ours, compiled by NVRTC for {architecture}: registers, bytes of shared memory a block, the share",
        "  of a multiprocessor's threads that fit at once; CuPy's own and generated ones are not among them. All are right on",
        "  the simulator against float64 (`tests/kernels/cuda`).", "",
        "| row | launches | products | host us | at least us | of | kernels (registers, shared, occupancy) |",
        "| --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        if "failed" in row:
            lines.append(f"| {row['name']} | | | | | | {row['failed']} |")
            continue
        bound = row["bound"] if row["least_us"] >= row["host_us"] or not row["bound"] else f"{row['bound']}; host"
        least = f"{row['least_us']:,.2f}" if row["bound"] else ""
        lines.append(f"| {row['name']} | {row['launches']} | {row['products']} | {row['host_us']:,.1f} | {least} | {bound} "
                     f"| {_kernels(row['kernels'])} |")
    return "\n".join(lines)


def _kernels(kernels: list[dict[str, Any]]) -> str:
    """Up to four of them; of more the number, and that of the lowest occupancy."""
    known = [kernel for kernel in kernels if "registers" in kernel]
    if len(kernels) <= 4:
        return "; ".join(map(_kernel, kernels)) or "none of ours"
    least = min(known, key=lambda kernel: kernel["occupancy"])
    return f"{len(kernels)}, of which the lowest occupancy has {_kernel(least)}"


def _kernel(kernel: dict[str, Any]) -> str:
    name = f"`{kernel['kernel'].partition(' ')[2]}`"
    if "registers" not in kernel:
        return name
    spills = f", {kernel['spills']} bytes spilled" if kernel["spills"] else ""
    return f"{name} {kernel['registers']}, {kernel['shared']:,}, {kernel['occupancy']:.0%}{spills}"
