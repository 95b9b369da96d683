"""Writes docs/operations.md, the page of all operations, from the op table: ``python -m tests.ops.page``.

What the page says is found by running the rows on the CPU and on the device meta, not by what they claim.
"""
from __future__ import annotations

import inspect
import operator
import pathlib
import sys
import warnings
from typing import Any

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / "kernels")]

import lucid  # noqa: E402
from lucid import autograd, backends  # noqa: E402
from tests.ops.table import ROWS  # noqa: E402
from tests.ops.table.outcomes import DTYPES, flat, inputs_of, outcome, tensors  # noqa: E402
from tests.ops.table.row import Row  # noqa: E402

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "operations.md"
HEAD = """# Operations

<!-- Written by `python -m tests.ops.page`, which runs the rows of `tests/ops/table`: do not edit. -->

Every operation, and what it can do, as its tests find it.

- **method**, **in place**: whether there are `x.name()` and `x.name_()`.
- **out**: takes `out=`, the tensor to write the result into.
- **backends**: where it runs; on `meta` only shapes, dtypes and strides are computed, which some results do not allow.
- **dtypes**: of the inputs: bool, uint8, i (int8 to int64), half (float16), bf16 (bfloat16), f (float32, float64),
  c (complex64, complex128). `+` joins what an operation takes; its inputs are of one dtype here.
- **gradient**: how often it can be differentiated. `no` means that the result never requires grad, or that it is constant
  between its steps and the gradient is 0.

| operation | method | in place | out | backends | dtypes | gradient |
| --- | --- | --- | --- | --- | --- | --- |
"""
NAMES = {"float16": "half", "bfloat16": "bf16"}
GROUPS = {"i": ("int8", "int16", "int32", "int64"), "f": ("float32", "float64"), "c": ("complex64", "complex128")}


def _function(op: str) -> Any:
    return operator.attrgetter(op)(lucid)


def _dtypes(rows: list[Row]) -> str:
    """The dtypes that one of the rows takes; rows of indices alone say nothing, if there are others."""
    rows = [row for row in rows if any(a.dtype.kind == "f" for a in inputs_of(row, "float64"))] or rows
    works = [d for d in DTYPES if any(not isinstance(outcome(lucid, row, inputs_of(row, d), d), Exception) for row in rows)]
    if len(works) == len(DTYPES):
        return "all"
    parts = []
    for dtype in works:
        group = next((g for g, members in GROUPS.items() if dtype in members and all(m in works for m in members)), None)
        name = group or NAMES.get(dtype, dtype)
        if name not in parts:
            parts.append(name)
    return " + ".join(parts)


def _backends(rows: list[Row]) -> str:
    found = ["cpu", "gpu"]  # whose tables have the same names, by a test
    for row in rows:
        given = [t.to("meta") for t in tensors(lucid, inputs_of(row, "float32"), "float32")]
        try:
            if all(t.is_meta for t in flat(row.function(*given)) if isinstance(t, lucid.Tensor)):
                return " ".join([*found, "meta"])
        except Exception:  # in one of several classes: the device has no elements, or the dtype no kernel
            continue
    return " ".join(found)


def _gradient(rows: list[Row]) -> str:
    """The most that a row allows; whether the numbers are right is for the tests of gradients."""
    return max((_times(row) for row in rows), key=["no", "once", "twice"].index)


def _times(row: Row) -> str:
    given = tensors(lucid, inputs_of(row, "float64"), "float64")
    leaves = [t.requires_grad_() for t in given if t.is_floating_point()]
    try:
        results = [t for t in flat(row.function(*given)) if isinstance(t, lucid.Tensor) and t.requires_grad]
        if not results:
            return "no"
        first = autograd.grad([_total(t) for t in results], leaves, create_graph=True, allow_unused=True)
    except (RuntimeError, TypeError, BufferError):
        return "no"
    if not row.smooth and not any(bool(g.any()) for g in first if g is not None):
        return "no"
    try:
        autograd.grad([(g * g).sum() for g in first if g is not None and g.requires_grad], leaves, allow_unused=True)
    except (NotImplementedError, RuntimeError) as error:
        if "twice" in str(error) or isinstance(error, NotImplementedError):
            return "once"
    return "twice"


def _total(t: Any) -> Any:
    return (t.abs() if t.is_complex() else t).sum()


def _line(op: str, rows: list[Row]) -> str:
    name, function = op.rsplit(".", 1)[-1], _function(op)
    plain = "." not in op or op.startswith("Tensor.")
    method = "yes" if plain and hasattr(lucid.Tensor, name) else ""
    place = "yes" if plain and hasattr(lucid.Tensor, f"{name}_") else ""
    takes = hasattr(function, "without_out") or (callable(function) and "out" in _parameters(function))
    out = "yes" if takes and not op.startswith("Tensor.") else ""
    return f"| `{op}` | {method} | {place} | {out} | {_backends(rows)} | {_dtypes(rows)} | {_gradient(rows)} |"


def _parameters(function: Any) -> Any:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def text() -> str:
    """The page."""
    rows: dict[str, list[Row]] = {}
    for row in ROWS:
        rows.setdefault(row.op, []).append(row)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HEAD + "\n".join(_line(op, rows[op]) for op in sorted(rows, key=str.lower)) + "\n"


if __name__ == "__main__":
    backends.meta_module()
    PAGE.write_text(text(), encoding="utf-8")
    print(f"{len(ROWS)} rows, written to {PAGE}")
