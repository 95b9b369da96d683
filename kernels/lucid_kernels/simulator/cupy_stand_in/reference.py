"""What the installed CuPy offers, if one is installed: the stand-in refuses names and arguments that it does not have.

CuPy can be imported for that without a GPU. LUCID_SIMULATOR_CHECK_API=0 turns the comparison off.
"""

from __future__ import annotations

import functools
import inspect
import os
from typing import Any

from ..cupy_names import real_cupy

_CHECK = os.environ.get("LUCID_SIMULATOR_CHECK_API", "1") != "0"
MISSING = object()


@functools.cache
def version() -> str | None:
    """The version of the installed CuPy, or None."""
    if not _CHECK:
        return None
    with real_cupy() as cupy:
        return getattr(cupy, "__version__", None)  # a mere folder of that name has none


@functools.cache
def find(path: str) -> Any:
    """The object `path` ('linalg.norm') of the installed CuPy; `MISSING` when it has none such, None without CuPy."""
    if version() is None:
        return None
    with real_cupy() as cupy:
        found: Any = cupy
        for name in path.split("."):
            found = getattr(found, name, MISSING)
            if found is MISSING:
                return MISSING
        return found


def signature(path: str) -> inspect.Signature | None:
    """The parameters of a function of CuPy, where Python can tell."""
    function = find(path)
    if function is None or function is MISSING:
        return None
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # compiled code without a signature
        return None
