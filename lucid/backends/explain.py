"""Which function computes an operation, and why: ``python -m lucid.backends explain add float32 1000000``.

An elementwise operation is called with arrays of that dtype, size and layout: the function of its row is made once more, of the
same parts, each of which says so when it has computed the result.
"""
from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from .. import _dtypes
from . import TABLES, gpu_module, sizes
from .common import elementwise as common
from .cpu import elementwise as cpu
from .cpu import half_precision, ufunc_loops
from .elementwise import ROWS, Kernel, Row
from .elementwise.row import ALIKE, ANY, COMPOSED, FORMULA
from .families import FAMILIES

LAYOUTS = ("contiguous", "transposed", "strided", "broadcast")
_NUMBER = 0.5  # what attributes are that do not stand here
_ATTRIBUTES: dict[str, Any] = {"eps": None, "posinf": None, "neginf": None, "decimals": 0, "approximate": "none", "n": 2}
_FEW = "few elements, or of a dtype or layout that no kernel takes"


class Explanation(NamedTuple):
    """The function that computes the result, by its module and name, and why that one."""

    function: str
    reason: str


def explain(name: str, dtype: str, shape: tuple[int, ...], *, device: str = "cpu", layout: str = "contiguous", out: bool = False
            ) -> Explanation:
    """What computes operation `name` for arrays of `dtype` and `shape`, with `layout` in memory, on `device`; with `out`, written
    into memory that is there already. Raises KeyError for an operation that is none, and TypeError for one without a function for
    `dtype`.

    Of operations that are not elementwise, only where their entry of the table comes from.
    """
    if name not in ROWS:
        return _entry(name, device)
    if any(dtype == stored.name for stored in _dtypes.STORED):
        return Explanation("lucid.backends.stored.table", "a dtype for storage: what PyTorch computes with it, nothing else")
    row, kind = ROWS[name], _dtype(dtype)
    if row.family and name not in common.ARITHMETIC and kind.kind in "biuc":
        raise TypeError("its kernels take floating arrays")
    if device == "gpu":
        return _on_gpu(row, kind)
    found: list[Explanation] = []
    operands, attributes = example(name, dtype, shape, layout), attributes_of(row)
    if out:
        attributes["out"] = np.empty(shape, bool if row.truth else kind)
    try:
        with np.errstate(all="ignore"):
            _watched(row, found)(*operands, **attributes)
    except (ArithmeticError, ValueError) as error:
        raise TypeError(str(error)) from error
    return found[-1]


def attributes_of(row: Row) -> dict[str, Any]:
    """Values of the arguments of a row that are no operands."""
    names = row.attributes.split(", ") if row.attributes else []
    return {name: _ATTRIBUTES.get(name, _NUMBER) for name in names}


def example(name: str, dtype: str, shape: tuple[int, ...], layout: str = "contiguous") -> list[np.ndarray]:
    """Operands of an operation: positive elements with that layout."""
    kind = _dtype(dtype)
    whole = np.resize(np.linspace(0.25, 0.75, 64), math.prod(shape)).reshape(shape)
    x = (whole if kind.kind in "fcV" else np.ceil(whole)).astype(kind)
    if layout == "transposed":
        x = np.asarray(x.T.copy()).T
    elif layout == "strided":
        x = np.repeat(x, 2, axis=-1)[..., ::2]
    elif layout == "broadcast":
        x = np.broadcast_to(x[(0,) * x.ndim], shape)
    return [x] * ROWS[name].arrays


def _dtype(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def _watched(row: Row, found: list[Explanation]) -> Callable[..., Any]:
    def watch(function: Any, name: str, reason: str) -> Any:
        @functools.wraps(function)
        def call(*operands: Any, **attributes: Any) -> Any:
            result = function(*operands, **attributes)
            if result is not None:
                found.append(Explanation(name, reason))
            return result

        return call

    if row.name in common.ARITHMETIC:
        kernel = f"lucid_kernels.cpu.elementwise.elementwise.{row.name}"
        ours = watch(cpu.our(f"elementwise.{row.name}"), kernel, "many elements, also broadcast, or of half precision")
        return common.arithmetic(np.ndarray, watch(getattr(np, row.source), f"numpy.{row.source}", _FEW), lambda: ours,
                                 cpu.is_written_by_ours)
    if row.function == FORMULA:
        return watch(common.of_formula(row, TABLES[np.ndarray]), f"{common.__name__}.of_formula.<locals>.kernel",
                     "its formula: few elements step by step, many by a kernel compiled of it")
    if row.family:
        function = getattr(cpu.module(f"lucid_kernels.cpu.{row.family}"), row.name)
        kernel = watch(function, f"{function.__module__}.{row.name}", "kernels suit arrays of any size")
        if not row.half:
            return kernel
        del kernel.__wrapped__
        return cpu.with_half_precision(watch(functools.partial(half_precision.by_formula, row), *_half()), kernel)
    others = [watch(part, *_label(row, part)) for part in cpu.implementations(row, TABLES[np.ndarray])]
    function = cpu.numpy_function(row)
    name = f"lucid.backends.common.elementwise.{row.name}" if row.function == COMPOSED else f"numpy.{row.source}"
    return cpu.function_of(row, watch(function, name, _FEW), others)


def _label(row: Row, part: Any) -> tuple[str, str]:
    """The function behind an implementation of a row, and when it suits."""
    first = part.args[0]
    if part.func is half_precision.by_formula_if_large:
        return _half()
    if part.func is ufunc_loops.of_large:
        name = row.source if row.loops is True else row.loops
        return "lucid_kernels.cpu.elementwise.ufunc_loops.apply", (
            f"at least {sizes.UFUNC_LOOPS_BYTES:,} bytes, row-major: the loops of numpy.{name} on all threads")
    if not isinstance(first, Kernel):
        return "lucid_kernels.cpu.arrays.broadcast.of_distinct", "repeated elements are computed once"
    layout = {ALIKE: "row-major", ANY: "in any layout"}.get(first.layout, "in rows")
    reason = f"at least {first.least:,} elements of dtype {first.dtypes or 'any'}, {layout}"
    if first.function == FORMULA:
        return "lucid_kernels.cpu.elementwise.operation.operation", reason
    if isinstance(first.function, str):
        return f"{'lucid.backends.cpu' if first.function[0] == '.' else 'lucid_kernels.cpu.elementwise.'}{first.function}", reason
    return f"{first.function.__module__}.{first.function.__qualname__}", f"{reason}: in terms of other operations"


def _half() -> tuple[str, str]:
    return "lucid.backends.cpu.half_precision.by_formula", "half precision, read and written as it is and computed in float32"


def _on_gpu(row: Row, dtype: np.dtype) -> Explanation:
    gpu_module()
    from .gpu import elementwise as gpu

    return Explanation(*gpu.source_of(row, dtype))


def _entry(name: str, device: str) -> Explanation:
    table = TABLES[gpu_module().ndarray if device == "gpu" else np.ndarray]
    function = table[name]
    family = next((family for family, names in FAMILIES.items() if name in names.split()), None)
    if family is not None:
        side = "cuda" if device == "gpu" else "cpu"
        return Explanation(f"lucid_kernels.{side}.{family}.{name}", "kernels suit arrays of any size")
    library = importlib.import_module("cupy") if device == "gpu" else np
    if getattr(library, name, None) is function:
        return Explanation(f"{'cupy' if device == 'gpu' else 'numpy'}.{name}", "its entry of the table, for all dtypes and sizes")
    module = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", name).replace(".<locals>", "")
    return Explanation(f"{module}.{name}", "its entry of the table, which itself chooses by dtype and size")
