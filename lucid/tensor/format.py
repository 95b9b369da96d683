"""The printed form of a tensor: ``Tensor([1.0, 2.0, 3.0], requires_grad=False)``."""
from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from .. import _dtypes, backends


@dataclasses.dataclass(frozen=True)
class Options:
    """How elements are printed."""

    precision: int = 4  # digits after the point
    threshold: int = 1000  # elements above which the middle is left out
    edgeitems: int = 3  # elements shown at each end then
    linewidth: int = 100
    sci_mode: bool | None = None  # scientific notation: always, never, or where elements are very large or small


_PROFILES = {"default": Options(), "short": Options(precision=2, edgeitems=2), "full": Options(threshold=sys.maxsize)}
_options: ContextVar[Options] = ContextVar("lucid_print_options", default=_PROFILES["default"])


def set_printoptions(precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None,
                     linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None) -> None:
    """How tensors are printed in this context: digits after the point, the number of elements above which the middle is left out,
    the elements shown at each end then, the characters of a line, and whether notation is scientific (None: where numbers are
    very large or small).

    `profile` 'default', 'short' or 'full' sets them all first. Arguments left out stay as they are, but for `sci_mode`.
    Raises ValueError for another profile.

    >>> lucid.set_printoptions(precision=2)
    >>> lucid.tensor([3.14159])
    Tensor([3.14], requires_grad=False)
    >>> lucid.set_printoptions(profile="default")
    """
    start = _options.get()
    if profile is not None:
        if profile.lower() not in _PROFILES:
            raise ValueError(f"profile must be one of {', '.join(_PROFILES)}, not {profile!r}")
        start = _PROFILES[profile.lower()]
    given: dict[str, Any] = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _options.set(dataclasses.replace(start, sci_mode=sci_mode, **{k: v for k, v in given.items() if v is not None}))


def current_options() -> Options:
    """What `set_printoptions` has said in this context."""
    return _options.get()


def format_tensor(tensor: Any) -> str:
    """`Tensor(values, requires_grad=…)` in columns, with the device if it is not the cpu and the dtype if it is not a default.

    A tensor on the device 'meta' has its shape in the place of values: ``Tensor(..., device='meta', shape=(2, 3), …)``.
    """
    cls = tensor.__class__
    name = "Tensor" if cls.__module__.startswith("lucid.") else cls.__name__
    if hasattr(tensor._array, "is_sparse"):
        return _format_sparse(name, tensor)
    if tensor.is_meta:
        dtype = [] if tensor.dtype == _dtypes.get_default_dtype() else [f"dtype={tensor.dtype.name}"]
        parts = ["...", "device='meta'", f"shape={tuple(tensor.shape)}", *dtype, f"requires_grad={tensor.requires_grad}"]
        return f"{name}({', '.join(parts)})"
    values = backends.to_host(tensor._array)
    options = _options.get()
    shown = ends(values, options.edgeitems) if values.size > options.threshold else values
    text = np.array2string(values, separator=", ", prefix=name + "(", threshold=options.threshold,
                           edgeitems=options.edgeitems, max_line_width=options.linewidth,
                           formatter={"all": _column_of(shown.ravel().tolist(), values.dtype, options)})
    parts = [text]
    if values.size == 0 and values.ndim > 1:
        parts.append(f"shape={tuple(values.shape)}")
    defaults = (_dtypes.get_default_dtype(), _dtypes.int64, _dtypes.bool_, _dtypes.default_complex())
    if tensor.dtype not in defaults:
        parts.append(f"dtype={tensor.dtype.name}")
    if tensor.device != "cpu":
        parts.append(f"device='{tensor.device}'")
    return f"{name}({', '.join([*parts, f'requires_grad={tensor.requires_grad}'])})"


def _format_sparse(name: str, tensor: Any) -> str:
    """The parts of a sparse tensor, as PyTorch shows them: ``Tensor(indices=..., values=..., size=(2, 3), nnz=3, ...)``."""
    array = tensor._array
    parts = dict(zip(_PARTS[array.sparse_layout.name], array.parts(), strict=True))
    lines: list[str] = []
    for part, content in parts.items():
        start = f"{name if not lines else ' ' * len(name)}{'(' if not lines else ' '}{part}="
        if tensor.is_meta:
            text = f"{name}(..., shape={tuple(content.shape)})"
        else:
            text = format_tensor(type(tensor.detach())(backends.to_host(content)).type(content.dtype))
            text = text.rpartition(", requires_grad=")[0].partition(f", dtype={content.dtype.name}")[0] + ")"
        lines.append(start + text.replace("\n", "\n" + " " * len(start)))
    rest = [f"size={tuple(tensor.shape)}", f"nnz={array.nnz}", f"layout={array.sparse_layout}"]
    if tensor.dtype not in (_dtypes.get_default_dtype(), _dtypes.int64, _dtypes.bool_, _dtypes.default_complex()):
        rest.insert(2, f"dtype={tensor.dtype.name}")
    if tensor.device != "cpu":
        rest.insert(0, f"device='{tensor.device}'")
    return ",\n".join(lines) + f",\n{' ' * (len(name) + 1)}{', '.join([*rest, f'requires_grad={tensor.requires_grad}'])})"


_PARTS = {"sparse_coo": ("indices", "values"), "sparse_csr": ("crow_indices", "col_indices", "values"),
          "sparse_csc": ("ccol_indices", "row_indices", "values")}


def ends(values: np.ndarray, count: int) -> np.ndarray:
    """The first and last `count` elements along each dimension: those that are printed where the middle is left out."""
    for axis, length in enumerate(values.shape):
        if length > 2 * count:
            values = np.take(values, [*range(count), *range(length - count, length)], axis)
    return values


def _column_of(shown: list[Any], dtype: np.dtype, options: Options) -> Callable[[Any], str]:
    """What prints an element as wide as the widest of those that are `shown`, and floats with digits alike."""
    if _dtypes.CATEGORY[dtype] < 2:
        plain: Callable[[Any], str] = str
    elif dtype.kind == "c":
        real, imag = _float_format([z.real for z in shown], options), _float_format([abs(z.imag) for z in shown], options)

        def plain(z: Any) -> str:
            z = complex(z)
            return f"{z.real:{real}}{'-' if math.copysign(1, z.imag) < 0 else '+'}{abs(z.imag):{imag}}j"
    else:
        form = _float_format([float(x) for x in shown], options)

        def plain(x: Any) -> str:
            return f"{float(x):{form}}"

    width = max([len(plain(x)) for x in shown], default=0)
    return lambda x: plain(x).rjust(width)


def _float_format(numbers: list[float], options: Options) -> str:
    """The format for `numbers`: scientific if one of them is very large or small, with as many digits as they need."""
    finite = [x for x in numbers if math.isfinite(x)]
    scientific = options.sci_mode
    if scientific is None:
        scientific = any(x and not 1e-4 <= abs(x) < 1e8 for x in finite)
    kind = "e" if scientific else "f"
    digits = [f"{x:.{options.precision}{kind}}".partition("e")[0].partition(".")[2].rstrip("0") for x in finite]
    return f".{max(map(len, digits), default=0) or min(1, options.precision)}{kind}"
