"""`ndarray`, the array of the simulated device, and `run`, which makes an operation of the device of a NumPy function."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from . import indices, memory, refusals
from .differences import UFUNCS, clip
from .memory import Allocation, MemoryPointer
from .streams import Stream, count_operation, fetch, get_current_stream, refuse_to_device, refuse_to_host

_NUMBERS = (int, float, complex)
_PLAIN = (*_NUMBERS, bool)
_SCALARS = (*_PLAIN, np.generic)
_KINDS = "biufc"
#: The methods of cupy.ndarray that NumPy has under the same name, with the same meaning, and that write nothing.
_METHODS = frozenset(
    (
        "all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "clip", "compress", "conj", "conjugate",
        "cumprod", "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat",
        "reshape", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose", "var",
    )
)  # fmt: skip


def check_dtype(dtype: Any) -> np.dtype:
    """`dtype` as a NumPy dtype. Raises ValueError for those that CuPy does not have."""
    dtype = np.dtype(dtype)
    if dtype.name != "bfloat16" and (dtype.kind not in _KINDS or dtype.type in (np.longdouble, np.clongdouble)):
        raise ValueError(f"Unsupported dtype {dtype}")
    return dtype


def unwrap(value: Any, what: str, arrays: list[ndarray]) -> Any:
    """`value` with NumPy arrays over device memory in the place of device arrays, which are appended to `arrays`.

    Raises TypeError for a NumPy array: it is host memory.
    """
    if isinstance(value, ndarray):
        arrays.append(value)
        return value._array
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)} ({what}: host array where a device array is needed)")
    if isinstance(value, (list, tuple)):
        return type(value)([unwrap(item, what, arrays) for item in value])
    if isinstance(value, _NUMBERS) and value.__class__ not in _PLAIN and not isinstance(value, np.generic):
        raise TypeError(f"Unsupported type {type(value)}")  # CuPy looks at the class alone
    return value


def wrap(result: Any, owners: Iterable[ndarray] = ()) -> Any:
    """What a NumPy function has returned, as device arrays: views of `owners` stay views, the rest is copied."""
    if isinstance(result, np.ndarray):
        for owner in owners:
            if np.may_share_memory(result, owner._array):
                return ndarray._view(result, owner)
        return _to_device(result)
    if isinstance(result, np.generic):
        return _to_device(np.asarray(result))
    if isinstance(result, tuple):
        return tuple(wrap(item, owners) for item in result)
    if isinstance(result, list):
        return [wrap(item, owners) for item in result]
    return result


def _to_device(host: np.ndarray) -> ndarray:
    """A device copy, in C order unless the array is in Fortran order only."""
    allocation = memory.alloc(host.nbytes).mem
    if host.flags.f_contiguous and not host.flags.c_contiguous:
        array = allocation.array(host.shape[::-1], host.dtype).T
    else:
        array = allocation.array(host.shape, host.dtype)
    array[...] = host
    return ndarray._from(array, allocation)


#: Functions that write their first argument and return nothing.
_WRITING = frozenset(["copyto", "fill_diagonal", "put"])


def run(function: Callable[..., Any], what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a NumPy function as an operation of the current stream; inside a capture, record it instead.

    Raises TypeError for host arrays among the arguments, and what the function raises.
    """
    owners: list[ndarray] = []
    host_args = unwrap(args, what, owners)
    host_kwargs = {key: unwrap(value, what, owners) for key, value in kwargs.items()} if kwargs else {}
    refusals.check(what, host_args, host_kwargs)
    stream = get_current_stream()
    stream.flush()

    def compute() -> Any:
        with np.errstate(all="ignore"):  # a GPU does not warn
            return function(*host_args, **host_kwargs)

    if what in _WRITING and stream.capture is not None:
        stream.capture.add(compute, [owner._allocation for owner in owners])
        count_operation()
        return None
    out = kwargs.get("out")
    if isinstance(out, tuple):
        out = out[0]
    if out is not None:
        if stream.capture is None:
            compute()
        else:
            before = out._array.copy()  # the shapes and types are checked now, the values are for later
            compute()
            out._array[...] = before
            stream.capture.add(compute, [owner._allocation for owner in owners])
        count_operation()
        return out
    result = wrap(compute(), owners)
    if not isinstance(result, ndarray) or all(result._allocation is not owner._allocation for owner in owners):
        count_operation()  # not for a view
    if stream.capture is not None:
        _record(stream, compute, result, owners)
    return result


def run_in_place(function: Callable[..., Any], what: str, args: tuple[Any, ...]) -> None:
    """Run a function that writes its first argument, or record it."""
    owners: list[ndarray] = []
    host_args = unwrap(args, what, owners)
    refusals.check(what, host_args, {})
    stream = get_current_stream()
    stream.flush()
    count_operation()

    def compute() -> None:
        with np.errstate(all="ignore"):
            function(*host_args)

    if stream.capture is not None:
        stream.capture.add(compute, [owner._allocation for owner in owners])
    else:
        compute()


def _record(stream: Stream, compute: Callable[[], Any], result: Any, owners: list[ndarray]) -> None:
    """Make a captured operation fill `result` at every launch, and take out the values that it has now."""
    several = isinstance(result, (tuple, list))
    assert stream.capture is not None
    for position, array in enumerate(result if several else [result]):
        if not isinstance(array, ndarray) or any(array._allocation is owner._allocation for owner in owners):
            continue

        def fill(target: np.ndarray = array._array, position: int = position) -> None:
            value = compute()
            np.copyto(target, value[position] if several else value)

        stream.capture.add(fill, [*(owner._allocation for owner in owners), array._allocation])
        array._allocation.poison()


class Flags:
    """The flags of a device array."""

    def __init__(self, flags: Any, owns: bool) -> None:
        self.c_contiguous: bool = flags.c_contiguous
        self.f_contiguous: bool = flags.f_contiguous
        self.owndata = owns

    @property
    def forc(self) -> bool:
        """Whether contiguous in either order."""
        return self.c_contiguous or self.f_contiguous

    @property
    def fnc(self) -> bool:
        """Whether in Fortran order only."""
        return self.f_contiguous and not self.c_contiguous

    def __getitem__(self, name: str) -> bool:
        return getattr(self, name.lower())

    def __repr__(self) -> str:
        return "\n".join(
            f"  {name.upper()} : {getattr(self, name)}" for name in ("c_contiguous", "f_contiguous", "owndata")
        )


_CONVERSIONS: tuple[Callable[..., Any], ...] = (bool, int, float, complex, operator.index, repr, str, format)


def _fetched(convert: Callable[..., Any]) -> Any:
    """The method of an array that hands its elements to `convert`."""

    def method(array: ndarray, *arguments: Any) -> Any:
        fetch(f"{convert.__name__}(ndarray)")
        return convert(array._array, *arguments)

    return method


class DeviceCapsule:
    """What `ndarray.__dlpack__` gives: only `from_dlpack` of the stand-in opens it, a CPU library cannot."""

    def __init__(self, array: ndarray) -> None:
        self.array = array


class ndarray(np.lib.mixins.NDArrayOperatorsMixin):  # CuPy's name
    """An array in (simulated) device memory.

    It is not a `numpy.ndarray`, never becomes one without `get`, and refuses to be mixed with one.
    """

    __slots__ = ("__weakref__", "_allocation", "_array", "_base")
    __array_priority__ = 100
    _array: np.ndarray
    _allocation: Allocation
    _base: ndarray | None
    _lookup: Callable[[str], Any]  # the package's, which sets it: NumPy's protocol hands over functions by name

    def __new__(
        cls,
        shape: Any,
        dtype: Any = float,
        memptr: MemoryPointer | None = None,
        strides: tuple[int, ...] | None = None,
        order: str = "C",
    ) -> ndarray:
        dtype = check_dtype(dtype)
        shape = (operator.index(shape),) if not isinstance(shape, Iterable) else tuple(map(operator.index, shape))
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if memptr is None:
            allocation = memory.alloc(nbytes).mem
            if order == "F":
                return cls._from(allocation.array(shape[::-1], dtype).T, allocation)
            return cls._from(allocation.array(shape, dtype), allocation)
        allocation = memptr.mem
        start = memptr.ptr - allocation.ptr
        rest = allocation.array((allocation.size,), np.uint8)[start:]
        if strides is not None:
            first = rest[: rest.size // dtype.itemsize * dtype.itemsize].view(dtype)
            return cls._from(np.lib.stride_tricks.as_strided(first, shape, strides), allocation)
        if nbytes > rest.size:
            raise ValueError(f"an array of {nbytes} bytes does not fit in the {rest.size} bytes at memptr")
        return cls._from(rest[:nbytes].view(dtype).reshape(shape), allocation)

    @classmethod
    def _from(cls, array: np.ndarray, allocation: Allocation) -> ndarray:
        self = object.__new__(cls)
        self._array = array
        self._allocation = allocation
        self._base = None
        return self

    @classmethod
    def _view(cls, array: np.ndarray, owner: ndarray) -> ndarray:
        self = cls._from(array, owner._allocation)
        self._base = owner if owner._base is None else owner._base
        return self

    # ---------------------------------------------------------------- never a host array by accident
    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        for value in inputs:
            if isinstance(value, (ndarray, *_SCALARS)):
                continue
            if isinstance(value, np.ndarray):
                raise TypeError(f"Unsupported type {type(value)}")
            return NotImplemented
        function = UFUNCS.get(ufunc, ufunc) if method == "__call__" else getattr(ufunc, method)
        if method == "at":
            return run_in_place(indices.at(ufunc), ufunc.__name__, inputs)
        return run(function, ufunc.__name__, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self._lookup(function.__name__)(*args, **kwargs)

    # ---------------------------------------------------------------- host and device
    def get(self, stream: Stream | None = None, order: str = "C", out: Any = None, blocking: bool = True) -> np.ndarray:
        """A copy in host memory. Raises TypeError for an `out` of another shape or dtype."""
        if out is None:
            out = np.empty(self.shape, self.dtype, order=order if order in "CF" else "C")  # type: ignore[call-overload]
        elif out.dtype != self.dtype or out.shape != self.shape:
            raise TypeError(f"{out.dtype}{out.shape} array cannot be obtained from {self.dtype}{self.shape} array")
        if blocking:
            fetch("ndarray.get", stream)
            np.copyto(out, self._array)
        else:
            refuse_to_host("ndarray.get", stream)
            (stream or get_current_stream()).push(lambda: np.copyto(out, self._array))
        return out

    def set(self, arr: np.ndarray, stream: Stream | None = None) -> None:
        """Copy a NumPy array of the same shape and dtype to the device. Raises TypeError, ValueError."""
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if arr.dtype != self.dtype:
            raise TypeError(f"{arr.dtype} array cannot be set to {self.dtype} array")
        if arr.shape != self.shape:
            raise ValueError(f"Shape mismatch. Old shape: {self.shape}, new shape: {arr.shape}")
        stream = stream or get_current_stream()
        refuse_to_device("ndarray.set", stream)
        if memory.is_pinned(arr) and not stream.is_null:
            stream.push(lambda: np.copyto(self._array, arr))  # whoever changes `arr` now is too early
        else:
            stream.flush()
            count_operation()
            np.copyto(self._array, arr)

    def item(self, *index: Any) -> Any:
        """One element as a Python scalar."""
        fetch("ndarray.item")
        return self._array.item(*index)

    def tolist(self) -> Any:
        """The elements as nested lists."""
        fetch("ndarray.tolist")
        return self._array.tolist()

    def tobytes(self, order: str = "C") -> bytes:
        """The elements as bytes."""
        fetch("ndarray.tobytes")
        return self._array.tobytes(order)  # type: ignore[arg-type]

    __bool__, __int__, __float__, __complex__, __index__, __repr__, __str__, __format__ = map(_fetched, _CONVERSIONS)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)  # CUDA: a consumer on the CPU must refuse

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:
        if dl_device is not None and dl_device[0] == 1:  # an explicit request for a copy in host memory
            return self.get().__dlpack__()
        return DeviceCapsule(self.copy() if copy else self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "version": 3,
            "strides": None if self._array.flags.c_contiguous else self.strides,
            "data": (self._array.ctypes.data, False),
            "stream": 1,
        }

    # ---------------------------------------------------------------- structure
    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes. Assigning reshapes in place."""
        return self._array.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        view = self._array.view()
        view.shape = shape
        self._array = view

    dtype = property(operator.attrgetter("_array.dtype"), doc="The type of the elements.")
    ndim = property(operator.attrgetter("_array.ndim"), doc="The number of axes.")
    size = property(operator.attrgetter("_array.size"), doc="The number of elements.")
    itemsize = property(operator.attrgetter("_array.itemsize"), doc="Bytes of an element.")
    nbytes = property(operator.attrgetter("_array.nbytes"), doc="Bytes of all elements.")
    strides = property(operator.attrgetter("_array.strides"), doc="Bytes from one element to the next, per axis.")
    _c_contiguous = property(operator.attrgetter("_array.flags.c_contiguous"), doc="`flags.c_contiguous`, by CuPy's shorter way.")

    @property
    def flags(self) -> Flags:
        """Contiguity and ownership."""
        return Flags(self._array.flags, self._base is None)

    @property
    def base(self) -> ndarray | None:
        """The array that this one is a view of, or None."""
        return self._base

    @property
    def device(self) -> Any:
        """The device of the memory."""
        from .device import Device

        return Device(0)

    @property
    def data(self) -> MemoryPointer:
        """The address of the first element."""
        return MemoryPointer(self._allocation, self._array.ctypes.data - self._allocation.ptr)

    @property
    def T(self) -> ndarray:
        """The view with the axes reversed."""
        return ndarray._view(self._array.T, self)

    @property
    def mT(self) -> ndarray:
        """The view with the last two axes swapped."""
        return ndarray._view(np.swapaxes(self._array, -1, -2), self)

    @property
    def real(self) -> ndarray:
        """The view of the real parts."""
        return ndarray._view(self._array.real, self)

    @property
    def imag(self) -> ndarray:
        """The view of the imaginary parts; an array of zeros for a real array."""
        return ndarray._view(self._array.imag, self) if self.dtype.kind == "c" else wrap(self._array.imag, (self,))

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[ndarray]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[position] for position in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        if indices.is_basic(index):
            # An index of Ellipsis keeps NumPy from turning an element into a scalar, which would be a copy.
            index = index if isinstance(index, tuple) else (index,)
            if not any(item is Ellipsis for item in index):
                index = (*index, Ellipsis)
            return ndarray._view(self._array[index], self)
        refusals.check_index(index)
        return run(indices.getitem, "getitem", (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, np.ndarray):
            if value.ndim:
                raise ValueError("non-scalar numpy.ndarray cannot be used for setitem (copy it to the device first)")
            value = value[()]
        if not isinstance(value, (ndarray, *_SCALARS)):
            raise TypeError(f"Unsupported type {type(value)}")
        refusals.check_index(index)
        run_in_place(indices.setitem, "setitem", (self, index, value))

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = None, subok: Any = None, copy: bool = True
    ) -> ndarray:
        """A copy with another dtype; the array itself when nothing changes and `copy` is false."""
        dtype = check_dtype(dtype)
        if not copy and dtype == self.dtype and (order in "KA" or self.flags[order + "_CONTIGUOUS"]):
            return self
        return run(lambda array: array.astype(dtype, order=order, casting=casting or "unsafe"), "astype", (self,), {})

    def copy(self, order: Any = "C") -> ndarray:
        """A copy."""
        return run(lambda array: array.copy(order), "copy", (self,), {})

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy()

    def fill(self, value: Any) -> None:
        """Set every element."""
        self[...] = value

    def view(self, dtype: Any = None) -> ndarray:
        """The same memory, as another dtype."""
        return ndarray._view(self._array.view() if dtype is None else self._array.view(check_dtype(dtype)), self)

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        """Sort in place."""
        run_in_place(lambda array: array.sort(axis), "sort", (self,))

    def partition(self, kth: Any, axis: int = -1) -> None:
        """Partition in place."""
        run_in_place(lambda array: array.partition(kth, axis), "partition", (self,))

    def put(self, indices: Any, values: Any, mode: Any = "wrap") -> None:
        """Set elements by flat index."""

        def put(array: np.ndarray, indices: Any, values: Any) -> None:
            np.put(array, indices, values, mode)

        run_in_place(put, "put", (self, indices, values))

    def scatter_add(self, slices: Any, value: Any) -> None:
        """Add at an index, repeated indices accumulating."""
        scatter(np.add, self, slices, value)

    def __getattr__(self, name: str) -> Any:  # sum, reshape, argmax, ...
        if name not in _METHODS:
            raise AttributeError(f"'cupy.ndarray' object has no attribute {name!r}")
        method: Callable[..., Any] = _OWN_METHODS.get(name) or getattr(np.ndarray, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            return run(method, name, (self, *args), kwargs)

        return call


_OWN_METHODS: dict[str, Callable[..., Any]] = {"clip": clip, "take": indices.take}
#: CuPy's scatter functions use atomicAdd and its kin, which not every type has: bfloat16 and complex numbers do not.
_SCATTER_TYPES = {
    "add": ["int32", "int64", "uint32", "uint64", "float16", "float32", "float64"],
    "maximum": ["int32", "uint32", "uint64", "float32", "float64"],
    "minimum": ["int32", "uint32", "uint64", "float32", "float64"],
}


def scatter(ufunc: np.ufunc, array: ndarray, index: Any, values: Any) -> None:
    """``ufunc.at`` on the device. Raises TypeError for host arrays and for dtypes without atomics."""
    if not isinstance(array, ndarray):
        raise TypeError(f"a cupy.ndarray is wanted, got {type(array)}")
    supported = _SCATTER_TYPES.get(ufunc.__name__)
    if supported is not None and array.dtype.name not in supported:
        raise TypeError(
            f"cupy.{ufunc.__name__}.at and cupyx.scatter do not support {array.dtype}, only {', '.join(supported)}"
        )
    refusals.check_index(index)
    run_in_place(indices.at(ufunc), f"{ufunc.__name__}.at", (array, index, values))


def bytes_at(address: int, nbytes: int) -> np.ndarray:
    """Device memory by address, as bytes that stay valid. Raises ValueError when it is not inside one live block."""
    allocation = memory.allocation_of(address, nbytes)
    start = address - allocation.ptr
    return allocation.array((allocation.size,), np.uint8)[start : start + nbytes]
