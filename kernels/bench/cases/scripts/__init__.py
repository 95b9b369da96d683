"""Training steps as people write them: many small, different operations in Python loops, in float32 and float64.

No program shall take longer than in PyTorch. `sequences` has recurrent cells, a flow, capsules and attention written by hand;
`optimization` has policy gradients, learning to learn, optimizers in Python, and differential equations.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from bench.case import Case, Side
from bench.cases.scripts import optimization, sequences
from bench.library import Library, target

BRIEF = True
TARGET = 1.0
PROGRAMS = {**sequences.PROGRAMS, **optimization.PROGRAMS}


def cases(side: Side) -> Iterator[Case]:
    """Each program in both dtypes."""
    for name, program in PROGRAMS.items():
        for dtype in ("float32", "float64"):
            yield target(side, f"{name}, {dtype}", TARGET, functools.partial(_step, program=program, dtype=dtype))


def _step(library: Library, program: Callable[[Library], Callable[[], Any]], dtype: str) -> Callable[[], Any]:
    """The training step of a program, made and called with this default dtype."""
    lib = library.lib

    def within(call: Callable[[], Any]) -> Any:
        usual = lib.get_default_dtype()
        lib.set_default_dtype(getattr(lib, dtype))
        try:
            return call()
        finally:
            lib.set_default_dtype(usual)

    lib.manual_seed(0)
    step = within(lambda: program(library))
    return lambda: within(step)
