"""The order in which the simulator runs the threads of a block and the blocks of a grid.

A GPU promises no order. Code that lacks a barrier or a wait can be right by luck under one order; a test that passes
under every entry of `SCHEDULES` has had that luck taken away.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Order = Literal["forward", "reverse", "shuffled"]
_ORDERS: tuple[Order, ...] = ("forward", "reverse", "shuffled")

#: Seconds of processor time after which a launch is stopped: a kernel that never ends is reported, not waited for.
TIME_LIMIT = float(os.environ.get("LUCID_SIMULATOR_TIME_LIMIT", "60"))


#: What can be checked, and its bit in `enum Check` of runtime_fibers.h.
_CHECKS = {"bounds": 1, "races": 2, "uninitialized": 4, "barriers": 8, "alignment": 16}


def parse_checks(names: str) -> int:
    """The bits of 'bounds,races', 'all' or 'none'. Raises ValueError."""
    if names in ("all", "none"):
        return sum(_CHECKS.values()) if names == "all" else 0
    wanted = {name.strip() for name in names.split(",") if name.strip()}
    if unknown := wanted - set(_CHECKS):
        raise ValueError(
            f"LUCID_SIMULATOR_CHECKS: {', '.join(sorted(unknown))}: not one of {', '.join(_CHECKS)}, all, none"
        )
    return sum(_CHECKS[name] for name in wanted)


#: The checks of every launch.
CHECKS = parse_checks(os.environ.get("LUCID_SIMULATOR_CHECKS", "all"))
if os.environ.get("LUCID_SIMULATOR_GUARD") == "0":
    CHECKS &= ~_CHECKS["bounds"]  # arrays that are no arguments are not known then
#: Whether kernels are built with a call at each access, for the checks that look at accesses.
INSTRUMENTED = bool(CHECKS & ~_CHECKS["barriers"])


@dataclasses.dataclass(frozen=True)
class Schedule:
    """How one launch is run.

    order: of the warps, the lanes of a warp, and (reverse only) the blocks.
    seed: of the order 'shuffled'.
    poison: fill shared memory with what fresh memory holds (NaN) at the start of every block.
    flush_denormals: treat denormal floats as zero, as CuPy's option -ftz=true does.
    strict: report threads that meet at different barriers and lanes that read inactive lanes.
    eager_copies: cp.async copies land at once, not at the wait: shows a buffer that is overwritten while it is read.
    """

    order: Order = "forward"
    seed: int = 1
    poison: bool = True
    flush_denormals: bool = True
    strict: bool = True
    eager_copies: bool = False

    @property
    def order_number(self) -> int:
        """The order as the C++ side counts it."""
        return _ORDERS.index(self.order)


#: The schedules that a kernel's tests run under.
SCHEDULES = (
    Schedule("forward"),
    Schedule("reverse", eager_copies=True),
    Schedule("shuffled", seed=7),
    Schedule("shuffled", seed=99, eager_copies=True),
)

_current: ContextVar[Schedule] = ContextVar("lucid_simulator_schedule", default=SCHEDULES[0])


@contextmanager
def schedule(chosen: Schedule) -> Iterator[Schedule]:
    """Run the launches of this context under `chosen`: ``with schedule(Schedule("reverse")): ...``"""
    token = _current.set(chosen)
    try:
        yield chosen
    finally:
        _current.reset(token)


def current_schedule() -> Schedule:
    """The schedule of the next launch."""
    return _current.get()
