"""The functions of the driver and of cuBLAS that plans call, by address; on the simulator, its own."""
from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
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
    found = ctypes.cast(getattr(cublas() if name.startswith("cublas") else _driver(), name), ctypes.c_void_p).value
    assert found is not None
    return found


def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


@functools.cache
def cublas() -> ctypes.CDLL:
    """The cuBLAS that CuPy has loaded."""
    from cupy.cuda import cublas as loaded

    assert loaded is not None
    version = cupy.cuda.runtime.runtimeGetVersion() // 1000
    return ctypes.CDLL(f"cublas64_{version}.dll" if sys.platform == "win32" else f"libcublas.so.{version}")


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
    if program.names[place] == native.PRODUCT[0]:
        product_failed(code)
    if _simulated is not None:
        _simulated.raise_error()
    from cupy_backends.cuda.api import driver

    raise driver.CUDADriverError(code)


def product_failed(status: int) -> NoReturn:
    """Raise what CuPy raises for a status of cuBLAS."""
    if _simulated is not None:
        _simulated.raise_error()
    raise cupy.cuda.cublas.CUBLASError(status)
