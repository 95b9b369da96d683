"""A step of many parameters with one kernel launch for each device."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._writers import writes
from ..backends import run
from ..tensor import Tensor, bump_all
from ._complex import Copies, copy_back, in_real_numbers

Row = Sequence[Any]  # the arrays of a parameter: itself, its gradient, its state


@writes("written")
def step_together(name: str, rows: Sequence[Row], each: dict[str, list[Any]], options: dict[str, Any],
                  written: Iterable[Tensor]) -> None:
    """Run the kernel ``multi_tensor_<name>`` in place on all `rows`, device by device, and record the writes.

    `each` holds attributes with one entry for each row, `written` the tensors that the kernel writes.
    """
    devices = [getattr(row[0].device, "id", None) for row in rows]  # CuPy's devices have no hash
    for device in set(devices):
        copies: Copies = []
        arrays: list[Any] = []
        numbers = [number for number, other in enumerate(devices) if other == device]
        for number in numbers:
            arrays += rows[number] if rows[number][0].dtype.kind != "c" else in_real_numbers(rows[number], copies)
        chosen = {key: [values[number] for number in numbers] for key, values in each.items()}
        run(f"multi_tensor_{name}", arrays, {**options, **chosen})
        copy_back(copies)
    bump_all(written)
