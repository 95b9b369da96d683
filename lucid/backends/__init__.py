"""The dispatcher: the one place where the name of an operation and the type of an array choose a kernel.

`run` looks the name up in the table of the array's type and calls the kernel; `create` does the same for operations that
have no array to go by. Profilers, counters and recorders see every kernel call through `observe`. Begin with `run`, then
`cpu.backend` and `cpu.elementwise`.

`common`: what NumPy and CuPy compute alike.
`cpu`, `gpu`, `meta`, `symbolic`: a table each; all but the first are imported with their first array.
`elementwise`: a row for each elementwise operation, with all that is known of it.
`families`: the other kernels that both sides have, imported on their first call.
`merge`: joins the tables of modules; two entries of one name are an error.
`sizes`: from how many elements our kernels are faster than NumPy.
`half_precision`: float16 and bfloat16 are computed in float32.
`explain`, `__main__`: which function computes an operation, and why.
`cudnn`, `cuda`, `precision`: whether convolutions and products of matrices on a GPU may use TF32.
`mps`: Apple's GPUs, which are not used.
`device`: devices by name.
`dlpack`: memory shared with other libraries.
`gpu_probe`: whether there is a GPU, and if not, why.
`memory`: how much memory large CPU arrays use, and a limit for it.
`memory_format`: row-major, channels last and other orders.
`out`: results in memory that is there already.
`versions`: counters of the writes to arrays on a GPU.
`boxes`: whether parts of an array overlap.
`sparse`: arrays in which only some elements are kept, on the devices of others.
`storage`: arrays over one piece of memory.
`wrapped_array`: the attributes of arrays that hold another one.
`stored`, `stored_array`: unsigned integers and 8-bit floating-point numbers, of dtypes for storage.
`pickling`: that memory in pickles, once for all tensors over it.
`sharing`: where older pickles look for `storage` and `pickling`.
`shared_memory`: arrays that several processes share.
`threads`: how many threads operations use.

Where the call itself is what takes time (two small arrays, a sum of gradients) the engine looks into `TABLES` without `run`: that
is 0.1 us less. Its arrays are never scalars, so all that it has to see to is `as_array`.
"""
from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np
from lucid_kernels import numpy_warnings
from lucid_kernels.cpu.runtime import signals

from .. import _determinism, _dtypes, _recording
from .._namespace.lazy import load
from . import cuda, cudnn, memory, versions
from . import mps as mps
from .cpu import backend as cpu
from .device import Device, chosen_device, default_device, set_default_device
from .stored_array import as_stored, bits_dtype, wrapped

__all__ = ["TABLES", "Device", "add", "as_array", "as_held", "available", "chosen_device", "create", "cuda", "cudnn",
           "default_device", "device_of", "gpu_module", "is_observed", "kernel_of", "meta_module", "note_read", "observe",
           "register", "row_major_copy", "run", "set_default_device", "symbolic_module", "synchronize", "to_device", "to_host",
           "versions", "wrap_tables"]

numpy_warnings.ignore()

Array = Any  # numpy.ndarray, cupy.ndarray or MetaArray: the tables decide
Kernel = Callable[..., Any]

TABLES: dict[type, Mapping[str, Kernel]] = {np.ndarray: cpu.TABLE}
_plain = dict(TABLES)  # the same, without those that look at calls, or stand before other tables
_modules: dict[type, Any] = {}  # the other backends that have been imported, by the type of their arrays
_added: dict[str, dict[str, Kernel]] = {"gpu": {}, "meta": {}}  # users' own operations, by devices


def run(name: str, arrays: Sequence[Array], attributes: dict[str, Any] | None = None) -> Any:
    """Run operation `name` on `arrays` with the kernel of the backend that owns the first array.

    A Python scalar may stand first in a binary operation; then the second array decides.
    """
    table = TABLES.get(arrays[0].__class__) or TABLES[arrays[1].__class__]
    try:
        result = table[name](*arrays, **attributes) if attributes else table[name](*arrays)
    except MemoryError as error:
        result = memory.run_again(name, table[name], arrays, attributes or {}, error)
    return result if result.__class__ in TABLES else as_array(result)


def as_array(result: Any) -> Any:
    """The result of a kernel, with a NumPy scalar, which NumPy makes of every 0-d result, as the array that a tensor needs."""
    return np.asarray(result) if isinstance(result, np.generic) else result


def create(name: str, device: Device, attributes: dict[str, Any]) -> Array:
    """Run an operation that makes an array from nothing (zeros, arange, random numbers) on `device`."""
    if _determinism.was_used and name == "empty" and _determinism.fills_memory():
        name, attributes = "full", {**attributes, "fill_value": _dtypes.most(attributes["dtype"])}
    if attributes.get("dtype").__class__ in _dtypes.STORED_CLASSES:
        return load("lucid.backends.stored:create")(name, device, attributes)
    if device.type == "cpu":
        return TABLES[np.ndarray][name](**attributes)
    if device.type != "gpu":
        return TABLES[_without_memory(device).ndarray][name](**attributes)
    gpu = gpu_module()
    with gpu.on(device):
        try:
            return TABLES[gpu.ndarray][name](**attributes)
        except MemoryError as error:
            raise memory.out_of_memory(f"{name} on {device}", error) from error


def add(name: str, kernels: Mapping[str, Kernel]) -> None:
    """Enter an operation of a user's own, with a kernel for each of the devices 'cpu', 'gpu' and 'meta' that has one.

    Raises ValueError if there is an operation of that name.
    """
    if name in cpu.TABLE or any(name in table for table in _added.values()):
        raise ValueError(f"there is an operation named {name!r} already")
    if "cpu" in kernels:
        cpu.TABLE[name] = kernels["cpu"]
    for device, table in _added.items():
        if device in kernels:
            table[name] = kernels[device]
    for module in _modules.values():
        _extend(module)


def _storing(table: dict[str, Kernel]) -> dict[str, Kernel]:
    """What makes arrays of another dtype in the `table` of a backend, also of the dtypes for storage."""
    plain_cast, plain_view = table["cast"], table["view_dtype"]

    @functools.wraps(plain_cast)
    def cast(x: Array, *, dtype: np.dtype, out: Array | None = None) -> Array:
        if dtype.__class__ in _dtypes.STORED_CLASSES:
            return load("lucid.backends.stored:narrow")(x, dtype)
        return plain_cast(x, dtype=dtype) if out is None else plain_cast(x, dtype=dtype, out=out)

    @functools.wraps(plain_view)
    def view_dtype(x: Array, *, dtype: np.dtype) -> Array:
        if dtype.__class__ not in _dtypes.STORED_CLASSES:
            return plain_view(x, dtype=dtype)
        return as_stored(plain_view(x, dtype=bits_dtype(dtype)), dtype, x if x.base is None else x.base)

    return {"cast": cast, "view_dtype": view_dtype}


cpu.TABLE.update(_storing(cpu.TABLE))


def _extend(module: Any) -> None:
    """Give a backend the users' operations."""
    name = getattr(module, "NAME", None)  # others have no operations of their own
    if name is not None:
        module.TABLE.update({**_added[name], **_storing(module.TABLE)})


Observer = Callable[[str, Sequence[Array], dict[str, Any], Any], None]
Before = Callable[[str, Sequence[Array], dict[str, Any]], None]
_observer: ContextVar[Observer | None] = ContextVar("lucid_observer", default=None)
_before: ContextVar[Before | None] = ContextVar("lucid_observer_before", default=None)
_observing = 0  # contexts with an observer, of all threads
_lock = threading.Lock()


class _Observed(dict[str, Kernel]):
    """A table that tells the observer of the context about each call. It stands in `TABLES` only while there is one at all, so
    that nobody else pays for the check. What has been looked up is kept: a recording takes few times as long as its kernels.
    """

    def __init__(self, table: Mapping[str, Kernel]) -> None:
        super().__init__()
        self.table = table

    def __missing__(self, name: str) -> Kernel:
        kernel = self.table[name]
        observer_of, before_of, scalar = _observer.get, _before.get, np.generic

        def call(*arrays: Array, **attributes: Any) -> Any:
            before = before_of()
            if before is not None:
                before(name, arrays, attributes)
            result = kernel(*arrays, **attributes) if attributes else kernel(*arrays)
            if isinstance(result, scalar):
                result = as_array(result)
            observer = observer_of()
            if observer is not None:
                observer(name, arrays, attributes, result)
            return result

        self[name] = call
        return call

    def __contains__(self, name: object) -> bool:
        return name in self.table

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)


@contextlib.contextmanager
def observe(callback: Observer, before: Before | None = None) -> Iterator[None]:
    """Call `callback(name, arrays, attributes, result)` after every kernel call in this context, and `before` of the first three
    before it; of several, the innermost `before` alone.
    """
    outer = _observer.get()

    def both(*call: Any) -> None:
        callback(*call)
        outer(*call)  # type: ignore[misc]

    token = _observer.set(callback if outer is None else both)
    token_before = _before.set(before or _before.get())
    _count_observers(1)
    try:
        yield
    finally:
        _count_observers(-1)
        _before.reset(token_before)
        _observer.reset(token)


def is_observed() -> bool:
    """Whether this context has an observer."""
    return _observing > 0 and _observer.get() is not None


def kernel_of(kind: type, name: str) -> Kernel:
    """The kernel `name` for arrays of the class `kind`, which tells no observer."""
    return _plain[kind][name]


def _count_observers(change: int) -> None:
    global _observing
    with _lock:
        _observing += change
        _set_tables()


_wrapping = 0  # contexts in which operations of plain arrays may get those of function transforms, of all threads
_wrapper: type[Any] | None = None  # the table that such operations are looked up in, made of the plain one


def wrap_tables(table: type[Any], change: int) -> int:
    """Enter (1) or leave (-1) a context in which the tables are wrapped in `table`; how many there are now."""
    global _wrapping, _wrapper
    with _lock:
        _wrapper = table
        _wrapping += change
        if _wrapping == max(change, 0):  # the first one, or none any more
            _set_tables()
        return _wrapping


def _set_tables() -> None:
    """What stands in `TABLES`, but for arrays of function transforms, whose operations come here again."""
    for kind, table in _plain.items():
        observed: Mapping[str, Kernel] = _Observed(table) if _observing else table
        TABLES[kind] = _wrapper(observed) if _wrapping and _wrapper else observed


def gpu_module() -> Any:
    """The GPU backend, imported on first use. Raises RuntimeError that says what to install if it cannot be used."""
    return _use(_gpu())


@functools.cache
def _gpu() -> Any:
    with signals.deferred():  # half of a module cannot be imported again
        from .gpu import backend as gpu  # imports cupy, or the simulator's stand-in for it

        return gpu


def meta_module() -> Any:
    """The backend of the device 'meta', imported on first use."""
    from . import meta

    return _use(meta)


def symbolic_module() -> Any:
    """The backend that formulas are traced with, imported on first use."""
    from . import symbolic

    return _use(symbolic)


def as_held(array: Array) -> Array:
    """The memory of `array` as a tensor holds it: with our object for its dtype, as a stored array if that is for storage.

    Raises TypeError for a dtype that we do not have.
    """
    array = _dtypes.canonical(array)
    return wrapped(array) if array.dtype.__class__ in _dtypes.STORED_CLASSES else array


def gpu_is_used() -> bool:
    """Whether the GPU backend has been imported."""
    return _gpu.cache_info().currsize > 0


def _without_memory(device: Device) -> Any:
    """The backend of a device that is neither the CPU nor a GPU."""
    device._require_memory()
    return meta_module() if device.type == "meta" else symbolic_module()


def _use(module: Any) -> Any:
    if module.ndarray not in _modules:
        with _lock:
            _extend(module)
            _plain[module.ndarray] = module.TABLE
            _modules[module.ndarray] = module
            _set_tables()
    return module


def register(backend: Any) -> None:
    """Add a backend whose arrays hold those of others, which observers and `wrap_tables` pass over."""
    _modules[backend.ndarray] = backend
    TABLES[backend.ndarray] = backend.TABLE


def available() -> bool:
    """Whether the device 'gpu' can be used: CuPy with a CUDA device, or the simulator by LUCID_GPU."""
    from .gpu_probe import gpu_problem

    return gpu_problem() is None


def device_of(array: Array) -> Device:
    """The device whose memory holds `array`."""
    device: Device = cpu.DEVICE if array.__class__ is np.ndarray else _modules[array.__class__].device_of(array)
    return device


def to_device(array: Array, device: Device, copy: bool = False, non_blocking: bool = False) -> Array:
    """`array` on `device`; the same array when it is there already, unless `copy`. With `non_blocking` the host does not wait for
    a copy of pinned memory to a GPU.

    Raises NotImplementedError for an array on the device 'meta' that should go to another one: it has no elements.
    """
    if device.type not in ("cpu", "gpu") and not hasattr(_modules.get(array.__class__), "lifted"):
        return _without_memory(device).from_array(array, copy)
    if array.__class__ is np.ndarray:
        if device.type == "cpu":
            return row_major_copy(array) if copy else array
        try:
            return gpu_module().from_host(array, device, non_blocking)
        except MemoryError as error:
            raise memory.out_of_memory(f"copy of {list(array.shape)} {array.dtype} to {device}", error) from error
    module = _modules[array.__class__]
    if device.type == "cpu" and not hasattr(module, "lifted"):
        return module.to_host(array)
    return module.to_device(array, device, copy)


def row_major_copy(array: Array) -> Array:
    """A copy of `array` on its device, in row-major order."""
    return cpu.TABLE["copy"](array) if array.__class__ is np.ndarray else array.copy()


def to_host(array: Array) -> np.ndarray:
    """`array` as a NumPy array; no copy when it is one. Waits for a GPU and raises its pending index errors.

    Raises NotImplementedError for an array on the device 'meta'.
    """
    if _recording.under_way:
        note_read(array)
    host: np.ndarray = array if array.__class__ is np.ndarray else _modules[array.__class__].to_host(array)
    return host


def note_read(array: Array) -> None:
    """Tell the recorder of this context that Python is about to see the elements of `array`."""
    recorder = _recording.current()
    if recorder is not None:
        recorder.read(array)


def synchronize() -> None:
    """Wait for every GPU operation issued so far and raise the index errors that they found."""
    for module in _modules.values():
        module.synchronize()
