"""The driver's, cuBLAS's and cuBLASLt's functions by address, for code that calls them past CuPy, which has no such module.

A launch finds its arrays by their addresses, so that the simulator's checks are those of `RawKernel`; an argument whose address
lies in no block is an error. cuBLAS by address may be captured, as on a GPU, where it is CuPy alone that refuses it.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable
from typing import Any

from . import cublas, cublas_lt, memory, streams
from .array import ndarray
from .kernels import functions, launches

_FAILED = 999
_ADDRESS = struct.Struct("Q")
_errors: dict[int, BaseException] = {}  # by thread


def _launch(function: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int, stream: int | None,
            parameters: Any, extra: Any) -> int:
    kernel = functions[function]
    grid, block = (gx, gy, gz), (bx, by, bz)
    # What is captured has its own copy of the arguments, as in a CUDA graph.
    offsets = kernel.offsets
    values = bytearray(offsets[-1] or 1)
    base = ctypes.addressof(ctypes.c_char.from_buffer(values))
    pointers = (ctypes.c_void_p * len(offsets))(*[base + offset for offset in offsets])
    arrays: list[Any] = []
    allocations: list[memory.Allocation] = []
    for place, (code, size) in enumerate(zip(kernel.signature, kernel.sizes, strict=True)):
        ctypes.memmove(base + offsets[place], parameters[place], size)
        if code[0] == "*":
            (address,) = _ADDRESS.unpack_from(values, offsets[place])
            allocation = memory.allocation_of(address, 1)
            arrays.append((address, allocation.ptr + allocation.size - address, code[1] == "m", kernel.parameters[place]))
            allocations.append(allocation)

    buffers = [allocation.buffer for allocation in allocations]

    def launch(keep_alive: Any = values) -> None:
        kernel.launch(grid, block, pointers, shared, arrays)
        for buffer in buffers:
            buffer.check()

    launches.append((kernel.name, grid, block))
    _run(launch, allocations)
    return 0


def _product(handle: int | None, *arguments: Any) -> int:
    *most, _ = arguments
    _run(cublas.gemm(*most), [memory.allocation_of(most[place], 1) for place in (6, 10, 15)])
    return 0


def _product_lt(handle: int | None, *arguments: Any) -> int:
    # A workspace is not used, and the stream is the current one.
    task, allocations = cublas_lt.prepare(*arguments[:-1])
    _run(task, allocations)
    return 0


def _run(task: Callable[[], None], allocations: list[Any]) -> None:
    stream = streams.get_current_stream()
    stream.flush()
    streams.count_operation()
    if stream.capture is None:
        task()
    else:
        stream.capture.add(task, allocations)


def _guarded(function: Callable[..., int]) -> Callable[..., int]:
    """`function`, whose error is kept for `raise_error`: none can pass through C."""
    def call(*arguments: Any) -> int:
        try:
            return function(*arguments)
        except BaseException as error:
            _errors[threading.get_ident()] = error
            return _FAILED

    return call


def _may_fail(name: str, function: Callable[..., int]) -> Callable[..., int]:
    """`function`, or its failure where a test wants one."""
    return lambda *arguments: cublas_lt.failures.get(name) or function(*arguments)


_u, _i, _l, _p = ctypes.c_uint, ctypes.c_int, ctypes.c_longlong, ctypes.c_void_p
_FUNCTIONS = {
    "cuLaunchKernel": ctypes.CFUNCTYPE(_i, _p, *[_u] * 7, _p, ctypes.POINTER(_p), _p)(_guarded(_launch)),
    "cublasGemmStridedBatchedEx": ctypes.CFUNCTYPE(
        _i, _p, _i, _i, _i, _i, _i, _p, _p, _i, _i, _l, _p, _i, _i, _l, _p, _p, _i, _i, _l, _i, _i, _i)(_guarded(_product)),
    **{name: ctypes.CFUNCTYPE(_i, *arguments)(_guarded(_may_fail(name, function))) for name, (arguments, function) in (
        cublas_lt.FUNCTIONS | {"cublasLtMatmul": (cublas_lt.MATMUL, _product_lt)}).items()},
}


def address(name: str) -> int:
    """Where the function `name` lies."""
    found = ctypes.cast(_FUNCTIONS[name], ctypes.c_void_p).value
    assert found is not None
    return found


def operations() -> int:
    """How many operations this thread has done on the device."""
    return streams.operations()


def forget_elements(array: ndarray) -> None:
    """Let the elements of an array that is used again count as never written."""
    array._allocation.poison()


def has_error() -> bool:
    """Whether the last call that has failed was wrong: a library that merely fails, as a test lets it, leaves no error."""
    return threading.get_ident() in _errors


def raise_error() -> None:
    """Raise the error of the last call that has failed."""
    raise _errors.pop(threading.get_ident())
