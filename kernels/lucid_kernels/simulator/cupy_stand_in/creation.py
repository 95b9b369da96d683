"""Making device arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .array import DeviceCapsule, check_dtype, ndarray, wrap
from .streams import Stream, count_operation, get_current_stream, refuse_to_device


def _convert(source: Any, dtype: Any, copy: bool, order: Any) -> ndarray:
    if isinstance(source, ndarray):
        return source.astype(source.dtype if dtype is None else dtype, order or "K", copy=copy)
    if isinstance(source, (list, tuple)) and any(isinstance(item, ndarray) for item in source):
        return _convert(ndarray._lookup("stack")(list(source)), dtype, False, order)  # CuPy stacks device arrays, too
    if getattr(source, "__cuda_array_interface__", None) is not None:  # a device array of another library, such as a tensor
        return _convert(from_dlpack(source), dtype, copy, order)
    host = np.asarray(source, dtype=dtype, order=order)
    check_dtype(host.dtype)
    if host.ndim == 0 and get_current_stream().capture is not None:
        return full((), host[()], host.dtype)  # one number is an argument of the kernel that fills the array
    refuse_to_device("host-to-device copy")
    get_current_stream().flush()
    count_operation()
    return wrap(host)


def array(
    obj: Any,
    dtype: Any = None,
    copy: bool = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    *,
    blocking: bool = False,
) -> ndarray:
    """A device array of anything. Raises ValueError for an unsupported dtype."""
    result = _convert(obj, dtype, copy, order)
    return result if result.ndim >= ndmin else result[(None,) * (ndmin - result.ndim)]


def asarray(
    a: Any, dtype: Any = None, order: str | None = None, *, copy: bool | None = None, blocking: bool = False
) -> ndarray:
    """`a` as a device array, itself where possible."""
    return _convert(a, dtype, bool(copy), order or "K")


asanyarray = asarray


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    """`a` as a device array in C order, itself where possible."""
    result = _convert(a, dtype, False, "C")
    return result if result.flags.c_contiguous else result.copy()


def asfortranarray(a: Any, dtype: Any = None) -> ndarray:
    """`a` as a device array in Fortran order, itself where possible."""
    result = _convert(a, dtype, False, "F")
    return result if result.flags.f_contiguous else result.copy("F")


def asnumpy(
    a: Any, stream: Stream | None = None, order: str = "C", out: Any = None, *, blocking: bool = True
) -> np.ndarray:
    """A host copy of a device array."""
    if isinstance(a, ndarray):
        return a.get(stream, order, out, blocking)
    return np.asarray(a, order=order)  # type: ignore[call-overload]


def from_dlpack(array: Any, *, device: Any = None, copy: bool | None = None) -> ndarray:
    """A view of the device array behind `array.__dlpack__`.

    Raises BufferError for memory that is not of the simulated device.
    """
    kind, _ = array.__dlpack_device__()
    capsule = array.__dlpack__() if kind == 2 else None
    if not isinstance(capsule, DeviceCapsule):
        raise BufferError(
            "from_dlpack: only arrays of the simulated device can be taken over; copy host memory with asarray"
        )
    source = capsule.array
    return source.copy() if copy else ndarray._view(source._array, source)


def empty(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    """An array of NaN (bytes 0xFF): uninitialised memory."""
    return ndarray(shape, dtype, order=order)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> ndarray:
    """An array of one value."""
    if dtype is None:
        dtype = fill_value.dtype if isinstance(fill_value, ndarray) else np.asarray(fill_value).dtype
    result = ndarray(shape, dtype, order=order)
    result.fill(fill_value)
    return result


def zeros(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    """An array of zeros."""
    return full(shape, 0, dtype, order)


def ones(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    """An array of ones."""
    return full(shape, 1, dtype, order)


def empty_like(a: ndarray, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> ndarray:
    """`empty` with the shape, dtype and order of a device array. Raises TypeError for a host array."""
    if not isinstance(a, ndarray):
        raise TypeError(f"a cupy.ndarray is wanted, got {type(a)}")
    fortran = order == "F" or (order in ("K", "A") and a.flags.fnc)
    return ndarray(
        a.shape if shape is None else shape, a.dtype if dtype is None else dtype, order="F" if fortran else "C"
    )


def full_like(
    a: ndarray, fill_value: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None
) -> ndarray:
    """`full` with the shape, dtype and order of a device array."""
    result = empty_like(a, dtype, order, subok, shape)
    result.fill(fill_value)
    return result


def zeros_like(a: ndarray, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> ndarray:
    """`zeros` with the shape, dtype and order of a device array."""
    return full_like(a, 0, dtype, order, subok, shape)


def ones_like(a: ndarray, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> ndarray:
    """`ones` with the shape, dtype and order of a device array."""
    return full_like(a, 1, dtype, order, subok, shape)
