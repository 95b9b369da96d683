"""Locks across a fork, whose child has the memory of its parent but only the thread that has forked. Imports no Numba."""

from __future__ import annotations

import functools
import os
import threading
from typing import Any

from .threads import STARTED_THREADS, set_num_threads

_threads = 1  # of Python, when the process forked


def hold(lock: Any) -> None:
    """Let forks wait for `lock`: no thread of the child would release one that another thread of its parent held.

    Of two locks, the one that a thread takes first is given here last: hooks that are registered later are called earlier.
    """
    if hasattr(os, "register_at_fork"):
        release = functools.partial(lock.__exit__, None, None, None)
        os.register_at_fork(before=lock.__enter__, after_in_parent=release, after_in_child=release)


def limit_children() -> None:
    """Let a child of a process with several threads compute on its own one alone.

    The locks inside TBB cannot be held, and as long as another thread that has run kernels lives, TBB's workers do not end
    before a fork: a child that used it stopped in 1 of 40 forks of a process with six busy threads.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_count_threads, after_in_child=_limit)


def _count_threads() -> None:
    global _threads
    _threads = threading.active_count()


def _limit() -> None:
    if _threads > 1:
        STARTED_THREADS.value = 1
        set_num_threads(1)
