"""Loading and launching the CUDA kernels of this package.

A launcher looks like this:

    grid, block = launch.grid_1d(x.size)
    launch.kernel("elementwise", f"relu<{launch.ctype(x.dtype)}>")(grid, block, (x, y, np.int64(x.size)))

Scalars are typed (`np.int64(n)`, `x.dtype.type(eps)`): CuPy passes a Python number as int64 or float64, whatever the
kernel declares. Arrays are C-contiguous: a kernel is given an address only, never strides.
"""
from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable
from typing import Any

import cupy
import numpy as np

from lucid_kernels.compilation_log import log_if_slow
from lucid_kernels.cuda.runtime import ctype as _ctype
from lucid_kernels.cuda.runtime import recording
from lucid_kernels.cuda.runtime import source as _source
from lucid_kernels.integers import ceil_div as ceil_div

OPTIONS = ("-std=c++17",)
BLOCK = 256
#: Blocks per multiprocessor of a grid-stride kernel: four full waves of 256 threads on a chip with 2048 per SM.
_BLOCKS_PER_SM = 32

_SIMULATED = hasattr(cupy.cuda, "simulated_driver")

_modules: dict[str, Any] = {}
_kernels: dict[tuple[str, str], Any] = {}
_multiprocessors: dict[int, int] = {}


# ---------------------------------------------------------------------------------------------------------- loading
def source(name: str) -> str:
    """The text that is compiled for family `name`, headers inlined. Everything that compiles calls this function."""
    return _source.load(name)


def kernel(file: str, name: str) -> Any:
    """The kernel `name` (`"softmax_rows<float>"`, as in the source's `// instantiate:` line) of `<file>.cu`.

    The whole file is compiled at the first use of one of its kernels, or with `// one module an instance` in it the kernel
    alone; CuPy keeps the result on disk.
    """
    found = _kernels.get((file, name))
    if found is None:
        module = _modules.get(file)
        if module is None:
            text = source(file)
            apart = _source.is_one_module_an_instance(text, _SIMULATED)
            names = (name,) if apart else _source.instantiations(text)
            wanted = _source.architecture(text, cupy.cuda.Device().compute_capability)
            options = (*OPTIONS, *_source.options(text), *([f"-arch={wanted}"] if wanted and takes_architectures() else []))
            module = cupy.RawModule(code=text, options=options, name_expressions=names or None)
            if not apart:
                _modules[file] = module
        with log_if_slow(f"{file}.cu"):
            found = _kernels[file, name] = module.get_function(name)
    return recording.watched(found)


@functools.cache
def takes_architectures() -> bool:
    """Whether a source is compiled for the `source.architecture` that it wants: CuPy names another one behind it, of which NVRTC
    takes the more special from CUDA 13 on, and refuses both before.
    """
    return _SIMULATED or cupy.cuda.nvrtc.getVersion() >= (13, 0)


def generated(text: str) -> Any:
    """The kernel `fused` of a source that we have written at run time. Products and sums are rounded one by one, as by kernels of
    their own.
    """
    return kernel_of_text(text, "fused", ("--fmad=false",))


def kernel_of_text(text: str, name: str, options: tuple[str, ...] = ()) -> Any:
    """The kernel `name`, an instance of a template or not, of a source that is no file of ours; our headers are inlined here."""
    found = _kernels.get((text, name))
    if found is None:
        names = None if re.search(rf'extern\s+"C"[^{{;]*\b{re.escape(name)}\s*\(', text) else (name,)
        module = cupy.RawModule(code=_source.inline_includes(text), options=(*OPTIONS, *options), name_expressions=names)
        with log_if_slow(f"the CUDA kernel {name}"):
            found = _kernels[text, name] = module.get_function(name)
    return recording.watched(found)


def loaded() -> set[tuple[str, str]]:
    """The kernels that have run since `reload`: file and name."""
    return set(_kernels)


def reload() -> None:
    """Forget every compiled kernel, so that the next launch reads `source` again."""
    _modules.clear()
    _kernels.clear()
    recording.forget()


ctype = functools.cache(_ctype.ctype)  # a launch needs it: NumPy takes 1 us for a dtype's name


# ------------------------------------------------------------------------------------------------------- geometry
def multiprocessors() -> int:
    """Multiprocessors of the current device."""
    device = cupy.cuda.runtime.getDevice()
    if device not in _multiprocessors:
        _multiprocessors[device] = int(cupy.cuda.Device(device).attributes["MultiProcessorCount"])
    return _multiprocessors[device]


def grid_cap(blocks: int) -> tuple[int]:
    """A one-dimensional grid of at most `blocks` blocks, bounded by what fills the device; the kernel strides over
    the rest. Never empty: callers return early when there is nothing to compute."""
    return (max(1, min(blocks, _BLOCKS_PER_SM * multiprocessors())),)


def grid_1d(n: int) -> tuple[tuple[int], tuple[int]]:
    """Grid and block of an elementwise kernel over `n` elements with a grid-stride loop."""
    return grid_cap(ceil_div(n, BLOCK)), (BLOCK,)


def row_block(columns: int, largest: int = BLOCK) -> int:
    """Threads of a block that reduces a row of `columns` elements: a power of two, whole warps, at most `largest`.

    It depends on the shape only, and with it the order of the additions and the rounding of the result.
    """
    block = 32
    while block < largest and block < columns:
        block *= 2
    return block


def slices(rows: int, columns: int) -> tuple[tuple[int], tuple[int, int]]:
    """Grid and block of a kernel over `Slices<true>` (common.cuh): a warp a row for short rows, else a block a row."""
    if columns <= 512:
        return grid_cap(ceil_div(rows, 4)), (32, 4)
    return grid_cap(rows), (row_block(columns), 1)


# --------------------------------------------------------------------------------------------------------- arrays
def contiguous(array: Any) -> Any:
    """`array` in C order: itself, or a copy by CuPy. None stays None. For parameters; `movement.copies` has it for the rest."""
    if array is None or array.flags.c_contiguous:
        return array
    return cupy.ascontiguousarray(array)


def as_parameter(array: Any, x: Any) -> Any:
    """`array` as a kernel reads it beside `x`: contiguous and in the dtype of `x`."""
    return contiguous(array if array.dtype == x.dtype else array.astype(x.dtype))


def optional(array: Any, x: Any) -> tuple[Any, np.int32]:
    """An optional parameter and its presence (1 or 0) as two kernel arguments; where it is None, `x` stands in unread.

    A flag and not a null pointer: what CuPy passes for None is not documented.
    """
    return (x, np.int32(0)) if array is None else (as_parameter(array, x), np.int32(1))


def result(out: Any, shape: Iterable[int], dtype: Any) -> Any:
    """The array that a kernel writes: `out` where it can be written directly, else a fresh C-contiguous one."""
    shape = tuple(shape)
    if out is not None and out.dtype == dtype and out.shape == shape and out.flags.c_contiguous:
        return out
    return empty(shape, dtype)


def empty(shape: Iterable[int], dtype: Any) -> Any:
    """A C-contiguous array for what a kernel writes."""
    return recording.fresh(cupy.empty(tuple(shape), dtype))


def fill(array: Any, value: Any) -> None:
    """Let all elements be `value`."""
    recording.unrepeatable()
    array.fill(value)


def deliver(array: Any, out: Any) -> Any:
    """Bring a computed `array` into `out` (`None`: it is the result itself) and return what the caller gets."""
    if out is None or out is array:
        return array
    if out.shape != array.shape:
        raise ValueError(f"out has shape {out.shape}, the result has {array.shape}")
    recording.unrepeatable()
    out[...] = array if array.dtype == out.dtype else array.astype(out.dtype)
    return out


def deliver_all(arrays: tuple[Any, ...], out: tuple[Any, ...] | None) -> tuple[Any, ...]:
    """`deliver` for kernels with several results."""
    if out is None:
        return arrays
    return tuple(deliver(array, target) for array, target in zip(arrays, out, strict=True))


def is_half(array: Any) -> bool:
    """Whether `array` is a float16 or bfloat16 array."""
    return array is not None and array.dtype.char in "eE"  # in a tenth of the time of the dtype's name


def _float32(array: Any) -> Any:
    return array.astype(np.float32) if is_half(array) else array


def upcast_half(function: Any = None, *, statistics: tuple[int, ...] = (), like: dict[int, int] | None = None) -> Any:
    """Let a float32 kernel take float16 and bfloat16: half inputs are computed in float32 and rounded once.

    Results get the dtype of the first half argument, except those at positions `statistics`, which stay float32, and
    those in `like`, `{result: argument}`, which get the dtype of that argument (of x where the argument is None).
    """
    if function is None:
        return functools.partial(upcast_half, statistics=statistics, like=like)
    like = like or {}

    @functools.wraps(function)
    def wrapper(*arrays: Any, out: Any = None, **attributes: Any) -> Any:
        half = next((array for array in arrays if is_half(array)), None)
        if half is None:
            return function(*arrays, out=out, **attributes)
        results = function(*map(_float32, arrays), **attributes)
        many = isinstance(results, tuple)
        outs = out if many and out is not None else (out,) * (len(results) if many else 1)
        rounded = []
        for position, (value, target) in enumerate(zip(results if many else (results,), outs, strict=True)):
            if target is None and value is not None and position not in statistics:
                model = arrays[like[position]] if position in like else None
                value = value.astype((half if model is None else model).dtype, copy=False)
            rounded.append(value if value is None else deliver(value, target))
        return tuple(rounded) if many else rounded[0]

    return wrapper


# --------------------------------------------------------------------------------------------------------- errors
# A kernel that meets an index out of range skips the access and calls `set_error(flag, code, value, limit)` of
# common.cuh. The first error of a device stays in its flag until the host reads it.
_ERROR_WORDS = 6  # int32: code, unused, value (two words), limit (two words)
_errors: list[tuple[str, type[Exception]]] = []
_flags: dict[int, Any] = {}
_pending: dict[int, dict[int, Any]] = {}  # device -> streams, by address, with launches that have not been checked


def error_code(message: str, error: type[Exception] = IndexError) -> np.int32:
    """Register the message of an `error`, with the fields `{value}` and `{limit}`; the returned code is a kernel argument."""
    found = message, error
    if found not in _errors:
        _errors.append(found)
    return np.int32(_errors.index(found) + 1)


def make_flag() -> Any:
    """The error flag of the current device. The first call on a device allocates, so it must not happen inside a capture."""
    device = cupy.cuda.runtime.getDevice()
    flag = _flags.get(device)
    if flag is None:
        flag = _flags[device] = cupy.zeros(_ERROR_WORDS, np.int32)
        cupy.cuda.get_current_stream().synchronize()  # other streams may use the flag first
    return flag


def error_flag() -> Any:
    """The error flag of the current device, a kernel argument (`int*`). Asking for it marks it as to be checked.

    Whoever replays a captured graph that contains such kernels calls it too, before `raise_pending`.
    """
    device = cupy.cuda.runtime.getDevice()
    flag = _flags.get(device)
    if flag is None:
        flag = make_flag()
    stream = cupy.cuda.get_current_stream()
    streams = _pending.get(device)
    if streams is None:
        streams = _pending[device] = {}
    if stream.ptr not in streams:
        streams[stream.ptr] = stream
    return recording.flagged(flag) if recording.recorders else flag


def raise_pending() -> None:
    """Raise the error, an `IndexError` as a rule, that a kernel of the current device has left behind, if any.

    Call it where the host waits for the device anyway: it waits for the kernels that can fail and were launched since
    the last call. Without such launches it costs a dictionary lookup. Inside a capture it does nothing.
    """
    if not _pending:
        return
    device = cupy.cuda.runtime.getDevice()
    current = cupy.cuda.get_current_stream()
    if device not in _pending or current.is_capturing():
        return
    for stream in [*_pending[device].values()]:
        stream.synchronize()
    del _pending[device]
    flag = _flags[device]
    words = flag.get()
    if words[0]:
        flag.fill(0)
        value, limit = words[2:].view(np.int64)
        message, error = _errors[words[0] - 1]
        raise error(f"{message.format(value=value, limit=limit)} (found on gpu:{device} by a kernel launched earlier)")


def forget_pending() -> None:
    """Drop an error that has not been raised, on every device. For tests."""
    for device in list(_pending):
        with cupy.cuda.Device(device), contextlib.suppress(IndexError, RuntimeError):
            raise_pending()

