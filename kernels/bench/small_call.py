"""Where the time of an operation on eight numbers goes: `python -m bench.small_call` in `kernels/` prints the table.

The parts are differences of whole calls, each the fastest of blocks that take turns, in processor time of one process.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import lucid
from lucid.autograd.calls import single_op, view_op
from lucid.backends import TABLES

Call = Callable[[], Any]
COLUMNS = ("NumPy", "choice", "operation", "arguments", "whole", "graph", "PyTorch")


def _calls(lib: Any, grad: bool) -> dict[str, Call]:
    """The public calls of the rows, in lucid or in PyTorch."""
    x, y, m, n = (lib.ones(shape, requires_grad=grad) for shape in ((8,), (8,), (2, 4), (4, 2)))
    return {"x + y": lambda: x + y, "x.sqrt()": lambda: x.sqrt(), "x.sum()": lambda: x.sum(), "m.sum(1)": lambda: m.sum(1),
            "m @ n": lambda: m @ n, "m.reshape(-1)": lambda: m.reshape(-1)}


def _inside(name: str, numpy: Call, *arrays: Any, **attributes: Any) -> dict[str, Call]:
    """What is inside of a row: NumPy's function, the entry of the table before it, and the operation before that."""
    entry, tensors = TABLES[np.ndarray][name], [lucid.tensor(array) for array in arrays]
    operation = (view_op(name, lambda needs, x, *, shape: None) if name == "reshape" else
                 single_op(name, operands=len(arrays), attributes=tuple(attributes)))
    entry(*arrays, **attributes)  # the first call may replace the entry
    return {"NumPy": numpy, "choice": functools.partial(TABLES[np.ndarray][name], *arrays, **attributes),
            "operation": functools.partial(operation, *tensors, **attributes)}


def _parts() -> dict[str, dict[str, Call]]:
    x, m, n = (np.ones(shape, np.float32) for shape in ((8,), (2, 4), (4, 2)))
    every: dict[str, Any] = {"keepdims": False, "dtype": None}
    return {"x + y": _inside("add", lambda: np.add(x, x), x, x), "x.sqrt()": _inside("sqrt", lambda: np.sqrt(x), x),
            "x.sum()": _inside("sum", lambda: np.add.reduce(x), x, axis=None, **every),
            "m.sum(1)": _inside("sum", lambda: np.add.reduce(m, 1), m, axis=(1,), **every),
            "m @ n": _inside("matmul", lambda: m.dot(n), m, n),
            "m.reshape(-1)": _inside("reshape", lambda: m.reshape(-1), m, shape=(-1,))}


def _block(call: Call, count: int) -> float:
    """The microseconds of a call, of so many of them."""
    repeat = range(count)
    start = time.process_time()
    for _ in repeat:
        call()
    return (time.process_time() - start) / count * 1e6


def measure(blocks: int, count: int, beside: bool = False) -> Iterator[tuple[str, dict[str, float]]]:
    """For each row the microseconds of its parts, and `beside` them PyTorch's."""
    sides: dict[str, dict[str, Call]] = {"whole": _calls(lucid, False), "graph": _calls(lucid, True)}
    if beside:
        sides["PyTorch"] = _calls(importlib.import_module("torch"), False)
    for row, parts in _parts().items():
        calls = {"call": lambda: None, **parts, **{side: rows[row] for side, rows in sides.items()}}
        fastest = dict.fromkeys(calls, float("inf"))
        for _ in range(blocks):
            for part, call in calls.items():
                fastest[part] = min(fastest[part], _block(call, count))
        empty = fastest.pop("call")
        times = {part: value - empty for part, value in fastest.items()}
        found = {**times, "choice": times["choice"] - times["NumPy"], "operation": times["operation"] - times["choice"],
                 "arguments": times["whole"] - times["operation"], "graph": times["graph"] - times["whole"]}
        yield row, {part: found[part] for part in COLUMNS if part in found}


if __name__ == "__main__":
    print(f"| | {' | '.join(COLUMNS)} |\n|{' --- |' * (len(COLUMNS) + 1)}")
    for label, values in measure(200, 1000, importlib.util.find_spec("torch") is not None):
        print(f"| `{label}` | {' | '.join(f'{values[part]:.2f}' if part in values else '' for part in COLUMNS)} |")
