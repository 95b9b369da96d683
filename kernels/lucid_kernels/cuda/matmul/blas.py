"""cuBLAS by address. CuPy's functions refuse to be captured, and set the stream in each call, which drops the workspace.

A handle belongs to one stream of one device, and has its workspace from the start: cuBLAS would otherwise ask for memory in the
first product, which a capture forbids. A graph has its own (`Workspace`), wherever it is captured and launched: two that run at
once would write over what the other one keeps there. Who captures a stream without saying so (`begin_capture`) borrows what each
device keeps for that, one for all.
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
_captures: dict[tuple[int, int], tuple[int, Workspace]] = {}  # by device and stream, those under way
_spare: dict[int, list[int]] = {}  # by device, handles for captures: each has one of its own, and cannot make it


class Workspace:
    """The workspace of graphs that are not launched at once, on each device, from the first product that one of them captures."""

    def __init__(self) -> None:
        self._memory: dict[int, Any] = {}

    def memory(self, device: int) -> Any:
        """That of the current `device`."""
        if device not in self._memory:
            self._memory[device] = _make_memory()
        return self._memory[device]


def begin_capture(stream: int, workspace: Workspace) -> None:
    """Let the products that `stream` will capture use `workspace`. Call it before the capture begins."""
    device = cupy.cuda.runtime.getDevice()
    spare = _spare.setdefault(device, [])
    _captures[device, stream] = (spare.pop() if spare else _make_handle()), workspace


def end_capture(stream: int) -> None:
    """The capture is over, or has not begun."""
    device = cupy.cuda.runtime.getDevice()
    found = _captures.pop((device, stream), None)
    if found is not None:
        _spare[device].append(found[0])


def multiply(*arguments: int) -> None:
    """``cublasGemmStridedBatchedEx`` with these arguments behind the handle, on the current stream. Raises CUBLASError."""
    arguments = (current()[0], *arguments)
    status = _multiply(*arguments)
    if status:
        driver.product_failed(status)
    recording.multiplied("cublasGemmStridedBatchedEx", arguments)


def current() -> tuple[int, Any]:
    """cuBLAS's handle for the current stream, which is also one of cuBLASLt's, and its workspace; on the simulator 0 and None."""
    device, stream = cupy.cuda.runtime.getDevice(), cupy.cuda.get_current_stream()
    if _captures:
        capture = _captures.get((device, stream.ptr))
        if capture is not None:
            handle, memory = capture[0], capture[1].memory(device)
            _use(handle, stream.ptr, memory)
            return handle, memory
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
    """A handle for `stream`, and its workspace."""
    handle, memory = _make_handle(), _make_memory()
    _use(handle, stream, memory)
    return handle, memory


def _make_handle() -> int:
    if driver.SIMULATED:
        return 0
    handle = ctypes.c_void_p()
    _check("cublasCreate_v2", ctypes.byref(handle))
    return handle.value or 0


def _make_memory() -> Any:
    """Memory for a workspace, outside of the pools: what it holds is no array's."""
    if driver.SIMULATED:
        return None
    large = int(cupy.cuda.Device().compute_capability) >= 90
    return cupy.cuda.Memory(_WORKSPACE_OF_90 if large else _WORKSPACE)


def _use(handle: int, stream: int, memory: Any) -> None:
    if driver.SIMULATED:
        return
    _check("cublasSetStream_v2", _p(handle), _p(stream))
    _check("cublasSetWorkspace_v2", _p(handle), _p(memory.ptr), ctypes.c_size_t(memory.size))


def _check(name: str, *arguments: Any) -> None:
    status = getattr(driver.cublas(), name)(*arguments)
    if status:
        driver.product_failed(status)
