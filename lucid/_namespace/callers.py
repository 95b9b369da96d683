"""Which line of the user a warning is about."""
from __future__ import annotations

import sys


def stacklevel() -> int:
    """The `stacklevel` with which a warning of the caller names the innermost line that is not in lucid."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("lucid."):
        level, frame = level + 1, frame.f_back
    return level
