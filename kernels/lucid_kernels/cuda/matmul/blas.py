"""cuBLAS by address. CuPy's functions refuse to be captured, and set the stream in each call, which drops the workspace.

A handle belongs to one stream of one device, and has its workspace from the start: cuBLAS would otherwise ask for memory in the
first product, which a capture forbids. A stream that is being captured and has no handle yet borrows one that each device
keeps.
"""
from __future__ import annotations

import ctypes
from typing import Any

import cupy

from lucid_kernels.cuda.runtime import driver, recording

#: PyTorch's sizes of a workspace.
_WORKSPACE, _WORKSPACE_OF_90 = 8 << 20, 32 << 20
_i, _l, _p = ctypes.c_int, ctypes.c_longlong, ctypes.c_void_p
_multiply: Any = ctypes.CFUNCTYPE(
    _i, _p, _i, _i, _i, _i, _i, _p, _p, _i, _i, _l, _p, _i, _i, _l, _p, _p, _i, _i, _l, _i, _i, _i,
)(driver.address("cublasGemmStridedBatchedEx"))  # fmt: skip
_handles: dict[tuple[int, int], tuple[int, Any]] = {}  # by device and stream, -1 to be borrowed; with the workspace
_BORROWED = -1


def multiply(*arguments: int) -> None:
    """``cublasGemmStridedBatchedEx`` with these arguments behind the handle, on the current stream. Raises CUBLASError."""
    arguments = (current()[0], *arguments)
    status = _multiply(*arguments)
    if status:
        driver.product_failed(status)
    recording.multiplied("cublasGemmStridedBatchedEx", arguments)


def current() -> tuple[int, Any]:
    """cuBLAS's handle for the current stream, which is also one of cuBLASLt's, and its workspace; on the simulator 0 and None."""
    if driver.SIMULATED:
        return 0, None
    device, stream = cupy.cuda.runtime.getDevice(), cupy.cuda.get_current_stream()
    found = _handles.get((device, stream.ptr))
    if found is not None:
        return found
    if stream.ptr and stream.is_capturing():
        if (device, _BORROWED) not in _handles:
            raise RuntimeError("the first product of matrices on a GPU must not be captured: compute one before")
        borrowed = _handles[device, _BORROWED]
        _use(borrowed[0], stream.ptr, borrowed[1])
        return borrowed
    if (device, _BORROWED) not in _handles:
        _handles[device, _BORROWED] = _create(0)
    _handles[device, stream.ptr] = _create(stream.ptr)
    return _handles[device, stream.ptr]


def _create(stream: int) -> tuple[int, Any]:
    """A handle for `stream` with a workspace outside of the pools: what it holds is no array's."""
    handle = ctypes.c_void_p()
    _check("cublasCreate_v2", ctypes.byref(handle))
    large = int(cupy.cuda.Device().compute_capability) >= 90
    workspace = cupy.cuda.Memory(_WORKSPACE_OF_90 if large else _WORKSPACE)
    _use(handle.value or 0, stream, workspace)
    return handle.value or 0, workspace


def _use(handle: int, stream: int, workspace: Any) -> None:
    _check("cublasSetStream_v2", _p(handle), _p(stream))
    _check("cublasSetWorkspace_v2", _p(handle), _p(workspace.ptr), ctypes.c_size_t(workspace.size))


def _check(name: str, *arguments: Any) -> None:
    status = getattr(driver.cublas(), name)(*arguments)
    if status:
        driver.product_failed(status)
