"""Whether only deterministic algorithms may run. The setting belongs to the context."""
from __future__ import annotations

from contextvars import ContextVar

_mode: ContextVar[tuple[bool, bool]] = ContextVar("lucid_deterministic", default=(False, False))


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Require the same results in every run; `warn_only` for warnings where there are none.

    lucid's kernels on the CPU are deterministic anyway. On a GPU sums with repeated indices (`index_add`, `scatter_add`, the
    gradients of indexing and embeddings) add in the order in which threads arrive, whatever is required. Raises TypeError for
    what is no bool.
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"use_deterministic_algorithms(): argument '{name}' must be bool, not {type(value).__name__}")
    _mode.set((mode, warn_only))


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` has been called with."""
    return _mode.get()[0]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether only warnings are wanted."""
    return _mode.get()[1]
