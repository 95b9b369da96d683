"""lucid and PyTorch under the same names: one piece of code for both, as a user writes it."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from bench.case import Case, Side, fastest
from bench.gpu_targets.bounds import gpu_bound

#: One way of computing a case, or several by name, of which the fastest counts.
Calls = Callable[[], Any] | dict[str, Callable[[], Any]]


class Library:
    """lucid or torch: `lib`, its `nn`, `F` (`nn.functional`) and `optim`, and what the cases need of them on `device`."""

    def __init__(self, name: str, device: str = "cpu") -> None:
        self.device = "cuda" if device == "gpu" else device  # PyTorch's name, which lucid knows too
        self.is_torch = name == "torch"
        self.lib: Any = importlib.import_module(name)
        self.nn: Any = importlib.import_module(f"{name}.nn")
        self.F: Any = importlib.import_module(f"{name}.nn.functional")
        self.optim: Any = importlib.import_module(f"{name}.optim")

    @classmethod
    def of(cls, side: Side) -> Library:
        """The library of the side 'ours' or 'torch'."""
        return cls("torch" if side.name == "torch" else "lucid", side.device)

    def lacks(self, names: Sequence[str]) -> str:
        """Those of the dotted `names` that the library does not have, as text; empty if it has all."""
        return ", ".join(name for name in names if not self._has(name))

    def _has(self, name: str) -> bool:
        value: Any = SimpleNamespace(nn=self.nn, optim=self.optim)
        first, *rest = name.split(".")
        value = getattr(value, first, None) or getattr(self.lib, first, None)
        for part in rest:
            value = getattr(value, part, None)
        return value is not None

    def tensor(self, values: np.ndarray, grad: bool = False) -> Any:
        """A copy of `values` on the device, with `grad` a leaf that requires its gradient."""
        return self.lib.tensor(values, device=self.device, requires_grad=grad)

    def backward(self, output: Any, inputs: Sequence[Any], g: Any) -> Callable[[], Any]:
        """A call that computes the gradients of `output` for the upstream gradient `g`, and nothing else."""
        grad, inputs = self.lib.autograd.grad, list(inputs)
        return lambda: grad(output, inputs, g, retain_graph=True)

    def layouts(self) -> tuple[str, ...]:
        """The layouts to choose from: PyTorch's convolutions are faster in one or the other; ours choose inside."""
        return ("NCHW", "channels_last") if self.is_torch else ("NCHW",)

    def in_layout(self, value: Any, layout: str) -> Any:
        """A tensor or a model in `layout`. A tensor that requires its gradient gives another leaf."""
        if layout == "NCHW":
            return value
        if isinstance(value, self.nn.Module):
            return value.to(memory_format=self.lib.channels_last)
        return value.detach().contiguous(memory_format=self.lib.channels_last).requires_grad_(value.requires_grad)


def target(side: Side, name: str, bound: float | None, build: Callable[[Library], Calls], *, needs: Sequence[str] = (),
           numpy: Callable[[], Callable[[], Any]] | None = None, **facts: Any) -> Case:
    """A case of both libraries: `build` prepares it on one of them, `numpy` on plain NumPy.

    `needs` are dotted names; lucid without one of them makes the case 'missing' instead of an error. A `build` that raises
    is this case's failure; the next cases still run. On a GPU the targets are those of `gpu_targets`, beside PyTorch alone.
    """
    if side.device != "cpu":
        bound, numpy = gpu_bound(name), None
    if side.name == "numpy":
        return Case(name, None if numpy is None else numpy(), target=bound, **facts)
    if name in side.skipped:
        return Case(name, None, target=bound, **facts)
    library = Library.of(side)
    missing = library.lacks(needs)
    if missing:
        return Case(name, None, target=bound, missing=f"{library.lib.__name__}.{missing}", **facts)
    try:
        calls = build(library)
        if callable(calls):
            return Case(name, calls, target=bound, notes=getattr(calls, "notes", ""), **facts)
        variant = fastest(calls, side.synchronize)
    except Exception as error:
        traceback.print_exc()
        return Case(name, None, target=bound, failure=f"{type(error).__name__}: {error}", **facts)
    return Case(name, calls[variant], target=bound, variant=variant, **facts)
