"""The printed form of a tensor: ``Tensor([1.0, 2.0, 3.0], requires_grad=False)``."""
from __future__ import annotations

import dataclasses
import sys
from contextvars import ContextVar
from typing import Any

import numpy as np

from . import _dtypes, backends


@dataclasses.dataclass(frozen=True)
class Options:
    """How numbers are printed."""

    precision: int = 4  # digits after the point
    threshold: int = 1000  # elements above which the middle is left out
    edgeitems: int = 3  # elements shown at each end then
    linewidth: int = 100
    sci_mode: bool | None = None  # scientific notation: always, never, or where numbers are very large or small


_PROFILES = {"default": Options(), "short": Options(precision=2, edgeitems=2), "full": Options(threshold=sys.maxsize)}
_options: ContextVar[Options] = ContextVar("lucid_print_options", default=_PROFILES["default"])


def set_printoptions(precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None,
                     linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None) -> None:
    """How tensors are printed in this context: digits after the point, the number of elements above which the middle is left out,
    the elements shown at each end then, the characters of a line, and whether notation is scientific (None: where numbers are
    very large or small).

    `profile` 'default', 'short' or 'full' sets them all first. Arguments left out stay as they are, but for `sci_mode`.
    Raises ValueError for another profile.
    """
    start = _options.get()
    if profile is not None:
        if profile.lower() not in _PROFILES:
            raise ValueError(f"profile must be one of {', '.join(_PROFILES)}, not {profile!r}")
        start = _PROFILES[profile.lower()]
    given: dict[str, Any] = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.set(dataclasses.replace(start, sci_mode=sci_mode, **{k: v for k, v in given.items() if v is not None}))


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
    options = _options.get()
    text = np.array2string(values, separator=", ", prefix=name + "(", threshold=options.threshold,
                           edgeitems=options.edgeitems, max_line_width=options.linewidth,
                           formatter={"bool": str, "float_kind": _real, "complex_kind": _complex})
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
    options = _options.get()
    magnitude = abs(float(value))  # float16 has no 1e8 to compare with
    extreme = bool(magnitude) and not 1e-4 <= magnitude < 1e8
    if extreme if options.sci_mode is None else options.sci_mode:
        return np.format_float_scientific(value, precision=options.precision, trim="0")
    return np.format_float_positional(value, precision=options.precision, trim="0")


def _complex(value: Any) -> str:
    sign = "-" if np.signbit(value.imag) else "+"
    return f"{_real(value.real)}{sign}{_real(abs(value.imag))}j"
