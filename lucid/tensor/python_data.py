"""Arrays from Python's scalars and sequences, with the dtypes that PyTorch gives them."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import _dtypes

_NUMBERS = frozenset((bool, int, float, complex))
_OVERFLOW = "Overflow when unpacking long long: an int is beyond the range of int64"


def from_python(data: Any, wanted: np.dtype | None, tensor: type[Any], floating: bool = False) -> np.ndarray:
    """A NumPy array of the dtype `wanted` from a scalar or nested sequences of scalars, arrays and objects of the class `tensor`.

    Without a `wanted` dtype Python's scalars become the default float dtype, int64, bool or the default complex dtype, and what
    has a dtype keeps it; with `floating` all become the default float dtype, or the complex one if some are complex.
    Tensors beside each other are scalars, and must have one element each: `stack` joins others.
    Raises TypeError for data that is not numeric, ValueError for ragged sequences and ints beyond int64, and RuntimeError for
    values that `wanted` does not hold.
    """
    others: set[Any] = set()  # the dtypes of tensors and arrays, and the classes of what is no number of Python's own

    def plain(value: Any, number: bool = False) -> Any:
        """`value` without tensors; `number` says that one of several elements has no place here."""
        if value.__class__ in _NUMBERS:
            return value
        if isinstance(value, (list, tuple)):
            # As in PyTorch the first one decides: after a scalar or tensor all are scalars.
            numbers = bool(value) and isinstance(value[0], (tensor, np.generic, *_NUMBERS))
            return [plain(item, numbers) for item in value]
        others.add(value.dtype if isinstance(value, (tensor, np.ndarray)) else value.__class__)
        if not isinstance(value, tensor):
            return value
        if not number:
            return value.tolist()
        if value.numel() != 1 and (value.dtype if wanted is None else wanted).kind in "biu":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return complex(value) if value.is_complex() else value.reshape(()).tolist() if value.numel() == 1 else float(value)

    values = plain(data)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"expected a sequence of equal length at every level: {error}") from None
    if array.dtype.kind == "O" and not others:  # an int that no integer dtype holds
        kinds = _classes(data)
        if kinds <= {bool, int} and not floating and (wanted is None or wanted.kind in "biu"):
            raise ValueError(_OVERFLOW)
        array = array.astype(np.complex128 if complex in kinds else np.float64)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"can't make a tensor of {type(data).__name__} (its elements have no numeric type)")
    if floating:
        wanted = _dtypes.default_complex() if array.dtype.kind == "c" else _dtypes.get_default_dtype()
    if wanted is not None:
        _require_fit(array, wanted)
        return array if wanted in _dtypes.STORED else array.astype(wanted, copy=False)
    if others:
        common = _common_dtype(others | (_classes(data) & _NUMBERS))
        if common is not None:
            return array.astype(common, copy=False)
    if array.dtype.kind == "f" and not isinstance(data, np.generic):
        return array.astype(_dtypes.get_default_dtype(), copy=False)
    if array.dtype.kind == "c":
        return array.astype(_dtypes.default_complex(), copy=False)
    if array.dtype.kind == "u":
        if array.size and array.max() >= 1 << 63:
            raise ValueError(_OVERFLOW)
        return array.astype(np.int64)
    return array


def _classes(data: Any) -> set[type]:
    """The classes of what stands in nested sequences."""
    return set().union(*map(_classes, data)) if isinstance(data, (list, tuple)) else {data.__class__}


def _common_dtype(kinds: set[Any]) -> np.dtype | None:
    """The dtype that scalars of these classes, and tensors and arrays of these dtypes, have together: those of NumPy keep theirs.
    None if we have no such dtype."""
    found: list[np.dtype] = []
    for kind in kinds:
        if not isinstance(kind, type) or issubclass(kind, np.generic):
            found.append(np.dtype(kind))
        else:
            found += [_dtypes.dtype_of_scalar(base(0)) for base in (bool, int, float, complex) if issubclass(kind, base)][:1]
    if not found or not all(dtype in _dtypes.CATEGORY for dtype in found):
        return None
    return functools.reduce(_dtypes.promote_types, found)


def _require_fit(array: np.ndarray, wanted: np.dtype) -> None:
    """Raise RuntimeError for values that an integer dtype does not hold; negative ints wrap around in uint8, as in PyTorch."""
    kind = array.dtype.kind
    if wanted == _dtypes.uint64 and array.size:
        if kind == "f":
            raise TypeError("an integer is required")
        if kind == "i" and array.min() < 0:
            raise OverflowError("can't convert negative int to unsigned")
    if wanted.kind not in "iu" or kind not in "iuf" or array.size == 0 or array.dtype == wanted:
        return
    limit = 1 << 8 * wanted.itemsize - (wanted.kind == "i")
    low = -limit if wanted.kind == "i" else 0 if kind == "f" else 1 - limit
    if not low <= array.min() <= array.max() < limit:  # nor are NaN
        raise RuntimeError(f"value cannot be converted to type {wanted.name} without overflow")
