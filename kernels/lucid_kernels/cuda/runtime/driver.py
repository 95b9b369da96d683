"""The functions of the driver, of cuBLAS and of cuBLASLt that plans call, by address; on the simulator, its own."""
from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import cupy

from lucid_kernels.cuda.runtime import native

#: The simulator's functions; None with the real CuPy.
_simulated: Any = getattr(cupy.cuda, "simulated_driver", None)
SIMULATED = _simulated is not None
_INVALID_CONTEXT = 201


@functools.cache
def address(name: str) -> int:
    """Where the function `name` lies."""
    if _simulated is not None:
        return int(_simulated.address(name))
    library = cublas_lt() if name.startswith("cublasLt") else cublas() if name.startswith("cublas") else _driver()
    found = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert found is not None
    return found


def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


@functools.cache
def cublas() -> ctypes.CDLL:
    """The cuBLAS that CuPy has loaded."""
    from cupy.cuda import cublas as loaded

    assert loaded is not None
    return _library("cublas")


@functools.cache
def cublas_lt() -> ctypes.CDLL | None:
    """The cuBLASLt that cuBLAS has loaded; None where there is none, and on the simulator."""
    if SIMULATED:
        return None
    cublas()
    try:
        return _library("cublasLt")
    except OSError:
        return None


def _library(name: str) -> ctypes.CDLL:
    version = cupy.cuda.runtime.runtimeGetVersion() // 1000
    return ctypes.CDLL(f"{name}64_{version}.dll" if sys.platform == "win32" else f"lib{name}.so.{version}")


class Launch:
    """A launch that is repeated with other arrays, in a tenth of the time of CuPy's, which looks at each argument."""

    def __init__(self, kernel: Any, grid: Sequence[int], block: Sequence[int],
                 parameters: Sequence[int | bytes | ctypes.Array[Any]]) -> None:
        """`parameters` as `native.Program.launch` has them."""
        self.kernel = kernel
        self._program = native.Program()
        self._program.launch(address("cuLaunchKernel"), kernel, grid, block, 0, parameters)
        self._program.finish()
        self._run = native.runner()

    def __call__(self, stream: int, *pointers: int) -> None:
        status = self._run(self._program.address, stream, *pointers)
        if status:
            failed(status, self._program, functools.partial(self._run, self._program.address, stream, *pointers))


def operations() -> int | None:
    """How many operations this thread has done on the simulator; None with the real CuPy, which does not tell."""
    return None if _simulated is None else int(_simulated.operations())


def failed(status: int, program: native.Program, again: Callable[[], int]) -> None:
    """Raise what CuPy raises for a call that has failed; `status` is that of `native.runner`.

    In a thread that has not used CUDA yet the first call fails for want of a context: then it gets one, and all is done `again`.
    """
    place, code = status >> 32, status & 0xFFFFFFFF
    if _simulated is None and code == _INVALID_CONTEXT and place == 0:
        cupy.cuda.Device().use()
        cupy.cuda.runtime.free(0)
        status = again()
        if not status:
            return
        place, code = status >> 32, status & 0xFFFFFFFF
    if program.names[place] in native.PRODUCTS:
        product_failed(code)
    if _simulated is not None:
        _simulated.raise_error()
    from cupy_backends.cuda.api import driver

    raise driver.CUDADriverError(code)


def raise_mistake() -> None:
    """Raise the simulator's error where the last call of a library was wrong, and did not merely fail."""
    if _simulated is not None and _simulated.has_error():
        _simulated.raise_error()


def product_failed(status: int) -> NoReturn:
    """Raise what CuPy raises for a status of cuBLAS or cuBLASLt."""
    if _simulated is not None:
        _simulated.raise_error()
    raise cupy.cuda.cublas.CUBLASError(status)
