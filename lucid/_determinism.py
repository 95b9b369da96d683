"""Whether only deterministic algorithms may run. The setting belongs to the context."""
from __future__ import annotations

from contextvars import ContextVar

was_used = False  # whether the mode was ever on
fill_uninitialized = True  # whether memory that is found as it is gets filled while the mode is on
_mode: ContextVar[tuple[bool, bool]] = ContextVar("lucid_deterministic", default=(False, False))


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Require the same results in every run; `warn_only` for warnings where there are none.

    lucid's kernels on the CPU are deterministic anyway. On a GPU sums with repeated indices (`index_add`, `scatter_add`,
    `index_put` that accumulates, the gradients of indexing) add in the order in which threads arrive, and of several values
    written to one element any stays, unless deterministic algorithms are required: then in the order of the elements, which
    takes a sort of many. Memory as it is found, of `empty` and its kin, is filled with NaN, True or the largest integer, unless
    `lucid.utils.deterministic.fill_uninitialized_memory` is False. Raises TypeError for what is no bool.

    >>> lucid.use_deterministic_algorithms(True)
    >>> lucid.are_deterministic_algorithms_enabled()
    True
    >>> lucid.use_deterministic_algorithms(False)
    """
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"use_deterministic_algorithms(): argument '{name}' must be bool, not {type(value).__name__}")
    global was_used
    was_used = was_used or mode
    _mode.set((mode, warn_only))


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` has been called with.

    >>> lucid.are_deterministic_algorithms_enabled()
    False
    """
    return _mode.get()[0]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether only warnings are wanted.

    >>> lucid.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _mode.get()[1]


def fills_memory() -> bool:
    """Whether memory that has no content is to be filled, so that every run finds the same."""
    return _mode.get()[0] and fill_uninitialized
