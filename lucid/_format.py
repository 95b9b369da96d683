"""The printed form of a tensor: ``Tensor([1.0, 2.0, 3.0], requires_grad=False)``."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _dtypes, backends

PRECISION = 4  # digits after the point
THRESHOLD = 1000  # elements above which the middle is left out
EDGE = 3  # elements shown at each end then
WIDTH = 100


def format_tensor(tensor: Any) -> str:
    """`Tensor(values, requires_grad=…)`, with the device if it is not the cpu and the dtype if it is not a default.

    A tensor on the device 'meta' has its shape in the place of values: ``Tensor(..., device='meta', shape=(2, 3), …)``.
    """
    name = "Tensor"
    if tensor.is_meta:
        dtype = [] if tensor.dtype == _dtypes.get_default_dtype() else [f"dtype={tensor.dtype.name}"]
        parts = ["...", "device='meta'", f"shape={tuple(tensor.shape)}", *dtype, _history(tensor)]
        return f"{name}({', '.join(parts)})"
    values = backends.to_host(tensor._array)
    if values.dtype == _dtypes.bfloat16:
        values = values.astype(np.float32)
    text = np.array2string(values, separator=", ", prefix=name + "(", threshold=THRESHOLD, edgeitems=EDGE,
                           max_line_width=WIDTH, formatter={"bool": str, "float_kind": _real, "complex_kind": _complex})
    parts = [text]
    if values.size == 0 and values.ndim > 1:
        parts.append(f"shape={tuple(values.shape)}")
    defaults = (_dtypes.get_default_dtype(), _dtypes.int64, _dtypes.bool_, _dtypes.default_complex())
    if tensor.dtype not in defaults:
        parts.append(f"dtype={tensor.dtype.name}")
    if tensor.device != "cpu":
        parts.append(f"device='{tensor.device}'")
    return f"{name}({', '.join([*parts, _history(tensor)])})"


def _history(tensor: Any) -> str:
    return f"requires_grad={tensor.requires_grad}" if tensor.is_leaf else f"grad_fn=<{tensor.grad_fn.name()}>"


def _real(value: Any) -> str:
    if not np.isfinite(value):
        return str(value)
    magnitude = abs(float(value))  # float16 has no 1e8 to compare with
    if magnitude and not 1e-4 <= magnitude < 1e8:
        return np.format_float_scientific(value, precision=PRECISION, trim="0")
    return np.format_float_positional(value, precision=PRECISION, trim="0")


def _complex(value: Any) -> str:
    sign = "-" if np.signbit(value.imag) else "+"
    return f"{_real(value.real)}{sign}{_real(abs(value.imag))}j"
