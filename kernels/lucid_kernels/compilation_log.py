"""Log messages about compilations that took more than a second: else the first steps on a machine are silent for long.

The first of a process is a warning of the logger `lucid`, which Python shows where nothing is set up; those after it are told at
level INFO. LUCID_VERBOSE=1 shows all on the standard error output, LUCID_VERBOSE=0 none.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import time
from collections.abc import Iterator

SECONDS = 1.0
_ADVICE = ("kernels are compiled when they first run, and kept on disk for the next process; `python -m lucid.warmup` compiles "
           "them beforehand, LUCID_VERBOSE=1 shows each that is slow, LUCID_VERBOSE=0 none")  # fmt: skip

_logger = logging.getLogger("lucid")
_advised = False


@functools.cache
def _show() -> None:
    """Let level INFO pass, to the standard error output unless the program has set up something else."""
    if not _logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        _logger.addHandler(handler)
    _logger.setLevel(logging.INFO)


@contextlib.contextmanager
def log_if_slow(name: str) -> Iterator[None]:
    """Tell how long the block has compiled what is called `name`, if that is more than a second."""
    global _advised
    start = time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    if seconds <= SECONDS:
        return
    verbose = os.environ.get("LUCID_VERBOSE", "")
    message = f"compiling {name} took {seconds:.1f} s"
    if verbose not in ("", "0"):
        _show()
    if verbose or _advised:
        _logger.info(message)
    else:
        _advised = True
        _logger.warning("%s; %s", message, _ADVICE)
