"""What a family file describes: cases, seen from one side of the comparison."""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from lucid_kernels.measuring.timing import is_fake

#: Who is compared: our kernels (or lucid), PyTorch, and plain NumPy (CuPy on a GPU).
SIDES = ("ours", "torch", "numpy")


@dataclass
class Case:
    """One comparison. `call` is what this side runs, None where it has nothing to compare."""

    name: str
    call: Callable[[], Any] | None
    bytes: int = 0  # read and written at least, for GB/s and the floor
    traffic: str = "triad"  # how they are moved: a kernel of `roofline.STREAMS`
    flops: int = 0  # of additions and multiplications, for GFLOP/s and the floor
    arithmetic: str = "float32"  # what a GPU computes them in: a key of `ceilings.ARITHMETIC`
    operations: int = 1  # times are divided by it: the length of a chain
    exact: Callable[[], np.ndarray] | None = None  # the result in float64
    part: Any = ...  # the index of the result that `exact` computes
    target: float | None = None  # the most that the ratio to PyTorch should be
    missing: str = ""  # what lucid lacks for this case
    failure: str = ""  # why this side could not prepare the case
    notes: str = ""  # what its line ends with
    variant: str = ""  # which of several ways of calling was the fastest


class Side:
    """One side in one process: its arrays, its modules and how it waits for a device."""

    def __init__(self, name: str, device: str = "cpu", quick: bool = False) -> None:
        self.name = name
        self.device = device
        self.quick = quick
        self.skipped: frozenset[str] = frozenset()  # names of cases that are not prepared
        self.torch: Any = importlib.import_module("torch") if name == "torch" else None
        self.xp: Any = np if name != "torch" else None
        if device == "gpu" and name != "torch":
            self.xp = importlib.import_module("cupy")

    def kernels(self, family: str) -> Any:
        """The module of our kernels of `family`; None on the other sides."""
        if self.name != "ours":
            return None
        return importlib.import_module(f"lucid_kernels.{'cuda' if self.device == 'gpu' else 'cpu'}.{family}")

    def array(self, values: np.ndarray) -> Any:
        """`values` as this side's array, on the device."""
        if self.torch is None:
            return self.xp.asarray(values)
        tensor = self.torch.from_numpy(values)
        return tensor.cuda() if self.device == "gpu" else tensor

    def numpy(self, result: Any) -> np.ndarray:
        """The first array of a result, on the CPU, in float64."""
        if isinstance(result, tuple):
            result = result[0]
        if hasattr(result, "detach"):
            result = result.detach().cpu().numpy()
        elif hasattr(result, "get"):
            result = result.get()
        return np.asarray(result, dtype=np.float64)

    def synchronize(self) -> None:
        """Wait until the device has done what was asked of it."""
        if self.device == "gpu":
            (self.torch.cuda if self.torch is not None else self.xp.cuda.Device()).synchronize()

    def case(self, name: str, *, ours: Callable[[], Any], torch: Callable[[], Any] | None = None,
             numpy: Callable[[], Any] | None = None, **facts: Any) -> Case:
        """The comparison `name`; only this side's callable is ever called, so the others may name what is not there."""
        return Case(name, {"ours": ours, "torch": torch, "numpy": numpy}[self.name], **facts)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Normally distributed float32 numbers, the same on every side."""
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def largest_error(side: Side, case: Case) -> float | None:
    """The largest error of this side's result, relative to the float64 one where that exceeds 1; None without one."""
    if case.call is None or case.exact is None:
        return None
    result = side.numpy(case.call())[case.part]
    exact = np.asarray(case.exact(), dtype=np.float64)
    if result.shape != exact.shape:
        raise AssertionError(f"{case.name}: {side.name} has the shape {result.shape}, not {exact.shape}")
    return float(np.max(np.abs(result - exact) / np.maximum(1, np.abs(exact)), initial=0.0))


def fastest(variants: dict[str, Callable[[], Any]], synchronize: Callable[[], None], seconds: float = 0.15) -> str:
    """The name of the fastest of several ways to compute the same: medians of calls in turns, for about `seconds` each."""
    if len(variants) == 1:
        return next(iter(variants))
    times: dict[str, list[float]] = {name: [] for name in variants}
    for call in variants.values():
        call()  # memory, compilation
        synchronize()
    if is_fake():
        return next(iter(variants))
    start = time.perf_counter()
    while len(times[name := next(iter(variants))]) < 2 or time.perf_counter() - start < seconds * len(variants):
        for name, call in variants.items():
            begin = time.perf_counter()
            call()
            synchronize()
            times[name].append(time.perf_counter() - begin)
    return min(variants, key=lambda name: statistics.median(times[name]))


def module_of(family: str) -> Any:
    """The module of a family: a file of the folder `cases`, the folder `networks`, or `targets.<name>`, a file of that one or
    of `gpu_targets`."""
    folder = "bench" if family.partition(".")[0] in ("networks", "targets", "gpu_targets") else "bench.cases"
    return importlib.import_module(f"{folder}.{family}")


def load(family: str, side: Side) -> Iterator[Case]:
    """The cases of a family."""
    cases: Iterator[Case] = module_of(family).cases(side)
    return cases
