"""The functions of the driver and of cuBLAS that plans call, by address; on the simulator, its own."""
from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

import cupy

from lucid_kernels.cuda.runtime import native

#: The simulator's functions; None with the real CuPy.
_simulated: Any = getattr(cupy.cuda, "simulated_driver", None)
_INVALID_CONTEXT = 201


@functools.cache
def address(name: str) -> int:
    """Where the function `name` lies."""
    if _simulated is not None:
        return int(_simulated.address(name))
    function = getattr(ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"), name)
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found


def operations() -> int | None:
    """How many operations the simulator has done so far; None with the real CuPy, which does not tell."""
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
    if _simulated is not None:
        _simulated.raise_error()
    if program.names[place] == native.PRODUCT[0]:
        raise cupy.cuda.cublas.CUBLASError(code)
    from cupy_backends.cuda.api import driver

    raise driver.CUDADriverError(code)
