"""Elements read, written and combined by index, and bags of rows, in float32 and bfloat16; sums also in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target

ROWS, COLUMNS, COUNT = 50000, 128, 65536  # of the table, and how many rows are named


class Operation(NamedTuple):
    """What is computed of the library, the table (ROWS, COLUMNS), rows (COUNT, COLUMNS), their indices, and the indices spread to
    the shape of the rows; and how many times as many bytes as the rows have are moved beside the table.
    """

    call: Callable[[Any, Any, Any, Any, Any], Any]
    rows: float
    table: float = 2.0  # read, and written


OPERATIONS = {
    "index_select": Operation(lambda lib, x, rows, i, spread: x.index_select(0, i), 2, 0),
    "gather": Operation(lambda lib, x, rows, i, spread: x.gather(0, spread), 2, 0),
    "index_add": Operation(lambda lib, x, rows, i, spread: x.index_add(0, i, rows), 1),
    "index_put": Operation(lambda lib, x, rows, i, spread: x.index_put((i,), rows), 1),
    "index_put with a mask": Operation(lambda lib, x, rows, i, spread: x.index_put((x[:, 0] > 0,), rows[0]), 0),
    "scatter": Operation(lambda lib, x, rows, i, spread: x.scatter(0, spread, rows), 1),
    "scatter_add": Operation(lambda lib, x, rows, i, spread: x.scatter_add(0, spread, rows), 1),
    "scatter_reduce amax": Operation(lambda lib, x, rows, i, spread: x.scatter_reduce(0, spread, rows, "amax"), 1),
    "scatter_reduce prod": Operation(lambda lib, x, rows, i, spread: x.scatter_reduce(0, spread, rows, "prod"), 1),
    "index_reduce mean": Operation(lambda lib, x, rows, i, spread: x.index_reduce(0, i, rows, "mean"), 1),
    "embedding_bag": Operation(
        lambda lib, x, rows, i, spread: lib.nn.functional.embedding_bag(i.reshape(-1, 16), x, mode="sum"), 1, 0),
}
IN_ORDER = ("index_add", "scatter_add", "index_put")


def cases(side: Side) -> Iterator[Case]:
    """Each operation in both dtypes, and sums as deterministic algorithms make them."""
    for name, operation in OPERATIONS.items():
        for dtype in ("float32", "bfloat16"):
            yield _case(side, name, operation, dtype, False)
    for name in IN_ORDER:
        yield _case(side, name, OPERATIONS[name], "float32", True)


def _case(side: Side, name: str, operation: Operation, dtype: str, in_order: bool) -> Case:
    rows, columns, count = (40, 8, 64) if side.quick else (ROWS, COLUMNS, COUNT)

    def build(library: Library) -> Callable[[], Any]:
        kind, rng = getattr(library.lib, dtype), np.random.default_rng(0)
        x, values = library.tensor(normal(rows, columns)).to(kind), library.tensor(normal(count, columns, seed=1)).to(kind)
        indices = library.tensor(rng.integers(0, rows, count))
        spread = indices[:, None].expand(count, columns).contiguous()

        def call() -> Any:
            if not in_order:
                return operation.call(library.lib, x, values, indices, spread)
            library.lib.use_deterministic_algorithms(True)
            try:
                return operation.call(library.lib, x, values, indices, spread)
            finally:
                library.lib.use_deterministic_algorithms(False)

        return call

    itemsize = 2 if dtype == "bfloat16" else 4
    order = " in order" if in_order else ""
    return target(side, f"{name} of {COUNT} rows of {COLUMNS} into {ROWS}{order}, {dtype}", None, build,
                  bytes=int((operation.rows * COUNT + operation.table * ROWS) * COLUMNS * itemsize))
