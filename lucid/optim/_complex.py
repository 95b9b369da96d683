"""Complex parameters in steps: their real and imaginary parts are parameters of their own, as in PyTorch."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..backends import run

Copies = list[tuple[Any, Any]]


def as_real(arrays: Sequence[Any], copies: Copies) -> list[Any]:
    """Complex `arrays` seen as real ones of shape ``(2 * n,)``. What a strided one becomes is a copy: it is added to `copies`,
    with the array.
    """
    parts = []
    for array in arrays:
        flat = run("reshape", (run("contiguous", (array,)),), {"shape": (-1,)})
        parts.append(run("view_dtype", (flat,), {"dtype": "float32" if array.dtype.itemsize == 8 else "float64"}))
        if not array.flags.c_contiguous:
            copies.append((parts[-1], array))
    return parts


def copy_back(copies: Copies) -> None:
    """Write what `as_real` copied into the arrays that it came from."""
    for copy, array in copies:
        whole = run("reshape", (run("view_dtype", (copy,), {"dtype": array.dtype}),), {"shape": array.shape})
        run("copy", (whole,), {"out": array})
