"""What the readers of both file formats share."""
from __future__ import annotations

from typing import IO

import numpy as np

from .structure import Damaged

SMALL = 1 << 28  # bytes that any file may become in memory
_CHUNK = 1 << 20  # bytes; files that do not read into memory themselves make a copy of so many


def filled(file: IO[bytes], nbytes: int) -> np.ndarray:
    """The next `nbytes` of a file. Raises Damaged if there are not so many."""
    array = np.empty(nbytes, np.uint8)
    rest = memoryview(array)  # type: ignore[arg-type]
    while rest:
        count = file.readinto(rest[:_CHUNK])  # type: ignore[attr-defined]
        if not count:
            raise Damaged("it is truncated")
        rest = rest[count:]
    return array


def check_ratio(needed: int, size: int, max_ratio: float | None) -> None:
    """Raise Damaged if `size` bytes of a file need more than `max_ratio` times as many in memory, and more than `SMALL`."""
    if max_ratio is not None and needed > max(SMALL, max_ratio * size):
        raise Damaged(f"{size} bytes of it would become {needed} in memory, more than {max_ratio:g} times as many, as in a file "
                      "that is made to exhaust it. If you trust the file, load it with max_ratio=None")
