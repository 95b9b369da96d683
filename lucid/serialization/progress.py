"""A bar on the terminal while large files are read."""
from __future__ import annotations

import io
import os
import sys
from typing import IO, Any

LONG = 1 << 30  # bytes: some seconds, from a disk


def bar(nbytes: int, progress: bool | None) -> Any:
    """A bar of tqdm for `nbytes`, or None: where `progress` is False, where tqdm is not installed, and if `progress` is None
    also for less than `LONG` and where nobody looks at a terminal.
    """
    if progress is False or (progress is None and (nbytes < LONG or not sys.stderr or not sys.stderr.isatty())):
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        if progress:
            raise ImportError("progress=True needs the package tqdm: pip install tqdm") from None
        return None
    return tqdm(total=nbytes, unit="B", unit_scale=True, desc="Loading")


class _Counted(io.FileIO):
    """A file that tells a bar how much was read."""

    bar: Any = None

    def readinto(self, buffer: Any, /) -> int:
        count = super().readinto(buffer) or 0
        self.bar.update(count)
        return count


def opened(path: str | os.PathLike[str], shown: Any) -> IO[bytes]:
    """The file at `path`, open for reading, which `shown` follows unless it is None."""
    if shown is None:
        return open(path, "rb")
    file = _Counted(path, "rb")
    file.bar = shown
    return io.BufferedReader(file)
