"""A step of many parameters with one kernel launch for each device."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._writers import writes
from ..autograd.inplace import bump_all
from ..backends import run
from ..tensor import Tensor
from ._complex import Copies, as_real, copy_back

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
        indices = [index for index, other in enumerate(devices) if other == device]
        for index in indices:
            arrays += rows[index] if rows[index][0].dtype.kind != "c" else as_real(rows[index], copies)
        chosen = {key: [values[index] for index in indices] for key, values in each.items()}
        run(f"multi_tensor_{name}", arrays, {**options, **chosen})
        copy_back(copies)
    bump_all(written)
