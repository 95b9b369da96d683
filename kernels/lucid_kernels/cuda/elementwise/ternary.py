"""Elements of one array or another, by a mask, on a GPU."""
from __future__ import annotations

from typing import Any

import numpy as np

from lucid_kernels.cuda.elementwise import strides
from lucid_kernels.cuda.runtime import launch

_WORDS = {1: ("unsigned char", np.uint8), 2: ("unsigned short", np.uint16), 4: ("unsigned", np.uint32), 8: ("i64", np.int64)}


def suits(condition: Any, *values: Any) -> bool:
    """Whether `where` takes these: a mask, and arrays of one dtype of up to 8 bytes, one of them perhaps a number that such an
    array can hold.
    """
    kind = condition.__class__
    arrays = [value for value in values if value.__class__ is kind]
    dtype = arrays[0].dtype if arrays else None
    if dtype is None or condition.dtype != np.bool_ or dtype.itemsize not in _WORDS or any(x.dtype != dtype for x in arrays):
        return False
    return all(value.__class__ is kind or _holds(dtype, value) for value in values)


def _holds(dtype: Any, value: Any) -> bool:
    """Whether `value` is a number that an array of `dtype` has as it is, or rounded."""
    if dtype.kind == "b":
        return value.__class__ is bool
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return value.__class__ is int and bool(limits.min <= value <= limits.max)
    return dtype.kind in "fV" and value.__class__ in (int, float)


def where(condition: Any, a: Any, b: Any, *, out: Any = None) -> Any:
    """`a` where `condition` is true, else `b`, broadcast together: what `suits`. `out` may be one of them."""
    values = [a, b]
    numbers = next((place for place, value in enumerate(values, 1) if not hasattr(value, "dtype")), 0)
    arrays = [value for value in values if hasattr(value, "dtype")]
    dtype = arrays[0].dtype
    name, word = _WORDS[dtype.itemsize]
    number = word(0)
    if numbers:
        with np.errstate(over="ignore"):
            number = np.asarray(values[numbers - 1]).astype(dtype).view(word)[()]
        values[numbers - 1] = arrays[0]  # not read
    y = strides.result(out, np.broadcast_shapes(condition.shape, *[x.shape for x in arrays]), dtype, [*arrays, condition])
    if y.size:
        strides.run(launch.kernel("ternary", f"where<{name}>"), (y.view(word),), (condition, *[x.view(word) for x in values]),
                    (number, np.int32(numbers)), 16 // dtype.itemsize)
    return launch.deliver(y, out)
