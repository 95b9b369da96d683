"""Steps on complex parameters: the real and imaginary parts are parameters of their own, as in PyTorch."""
from __future__ import annotations

from typing import Any

from ..backends import run


def in_real_numbers(name: str, arrays: tuple[Any, ...], attributes: dict[str, Any]) -> tuple[Any, ...]:
    """`run(name, arrays, attributes)` on complex arrays seen as real ones of shape ``(2 * n,)``.

    `attributes["out"]` holds one array, or None, for each result.
    """
    like = arrays[0]
    real = "float32" if like.dtype.itemsize == 8 else "float64"
    flat = [None if a is None else run("view_dtype", (_flat(a),), {"dtype": real}) for a in arrays]
    results: list[Any] = []
    for part, target in zip(run(name, flat, {**attributes, "out": None}), attributes["out"], strict=True):
        if part is None:
            results.append(None)
            continue
        whole = run("reshape", (run("view_dtype", (part,), {"dtype": like.dtype}),), {"shape": like.shape})
        results.append(whole if target is None else run("copy", (whole,), {"out": target}))
    return tuple(results)


def _flat(array: Any) -> Any:
    return run("reshape", (run("contiguous", (array,)),), {"shape": (-1,)})
