"""A step of many parameters with one kernel launch for each device."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..backends import run
from ..tensor import Tensor, version_box

Row = tuple[Any, ...]  # the arrays of a parameter: itself, its gradient, its state


def step_together(name: str, rows: Sequence[Row], each: dict[str, list[Any]], options: dict[str, Any],
                  written: Iterable[Tensor]) -> None:
    """Run the kernel ``multi_tensor_<name>`` in place on all `rows`, device by device, and record the writes.

    `each` holds attributes with one entry for each row, `written` the tensors that the kernel writes. Real and imaginary
    parts of complex parameters are parameters of their own, as in PyTorch.
    """
    by_device: dict[Any, list[int]] = {}
    for number, row in enumerate(rows):
        by_device.setdefault(row[0].device, []).append(number)
    for numbers in by_device.values():
        arrays: list[Any] = []
        copies: list[tuple[Any, Any]] = []
        for number in numbers:
            row = rows[number]
            arrays += row if row[0].dtype.kind != "c" else _in_real_numbers(row, copies)
        chosen = {key: [values[number] for number in numbers] for key, values in each.items()}
        run(f"multi_tensor_{name}", arrays, {**options, **chosen})
        for copy, original in copies:
            run("copy", (run("reshape", (run("view_dtype", (copy,), {"dtype": original.dtype}),), {"shape": original.shape}),),
                {"out": original})
    for tensor in written:
        version_box(tensor).bump()


def _in_real_numbers(row: Row, copies: list[tuple[Any, Any]]) -> list[Any]:
    """The complex arrays of `row` seen as real ones of shape ``(2 * n,)``. What a strided array becomes is a copy: it is added
    to `copies`, with the array.
    """
    real = "float32" if row[0].dtype.itemsize == 8 else "float64"
    parts = []
    for index, array in enumerate(row):
        flat = run("reshape", (run("contiguous", (array,)),), {"shape": (-1,)})
        parts.append(run("view_dtype", (flat,), {"dtype": real}))
        if not array.flags.c_contiguous and index != 1:
            copies.append((parts[-1], array))
    return parts
