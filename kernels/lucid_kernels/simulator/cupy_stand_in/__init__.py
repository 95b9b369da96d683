"""A stand-in for CuPy 14 on machines without a GPU. ``simulator.install()`` gives it the name `cupy`.

It is stricter than CuPy, so that code which passes here does not fail on a GPU:

- `ndarray` is no `numpy.ndarray`: ``numpy.asarray(x)``, ``x + host_array`` and ``x[...] = host_array`` raise.
- A name, keyword or argument that CuPy lacks raises, when a CuPy is installed to compare with (it needs no GPU for that).
- Reductions give 0-d device arrays, never NumPy scalars. Arithmetic and type promotion are NumPy 2's.
- A kernel's arguments are compared with its signature; strided arrays are refused (CuPy would ignore the strides).
- Fresh memory is NaN and lies between inaccessible pages.
- A captured graph records and does not run; waiting for the device inside raises, and so does launching a graph whose memory has
  been freed to a pool that gives it to others: any but a pool of its own.

As in CuPy, and not in NumPy, indices out of range in an index array wrap around: `x[array]`, `x[array] = value`, `take`,
`take_along_axis`, `put`, `cupyx.scatter_add` and ``ufunc.at``. A single number out of range raises IndexError.

`ElementwiseKernel` and `ReductionKernel` run on the simulator with its checks, as `RawKernel` does. `cupy.random` has
NumPy's bits, not CuPy's. `fuse` runs the operations one by one. Not there: several devices, sparse arrays, cupyx.scipy,
cupyx.jit, cooperative groups; a name that is not there says in one line what to use instead.

`array`, `indices`, `creation`, `functions`: device arrays and their functions.
`kernels`: RawKernel and RawModule.
`elementwise`, `reduction`, `parameters`: ElementwiseKernel and ReductionKernel.
`memory`, `streams`, `device`, `runtime`, `cuda`: memory, streams, graphs and the rest of `cupy.cuda`.
`cublas`: cuBLAS by pointers.
`cublas_lt`: cuBLASLt by address.
`simulated_driver`: the driver's and cuBLAS's functions by address, which the real CuPy does not have.
`random`, `testing`, `cupyx`: the modules of these names.
`refusals`: what CuPy refuses inside a stream capture.
`differences`: functions whose results differ from NumPy's.
`lacking`: what is not there, and what to use instead.
`reference`: the names and arguments of an installed CuPy.
"""

from __future__ import annotations

import builtins
import functools
import sys
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import CompileError
from . import cublas, cuda, cupyx, lacking, random, streams, testing
from . import functions as device_functions
from .array import ndarray
from .creation import (
    array,
    asanyarray,
    asarray,
    ascontiguousarray,
    asfortranarray,
    asnumpy,
    empty,
    empty_like,
    from_dlpack,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from .elementwise import ElementwiseKernel
from .kernels import RawKernel, RawModule
from .memory import get_default_memory_pool, get_default_pinned_memory_pool
from .reduction import ReductionKernel

__version__ = "14.2.0"
__simulated__ = True
_LACKING = ("create_reduction_func", "create_ufunc", "vectorize")

newaxis = None

__all__ = [
    "ElementwiseKernel",
    "RawKernel",
    "RawModule",
    "ReductionKernel",
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "asnumpy",
    "cuda",
    "empty",
    "empty_like",
    "from_dlpack",
    "full",
    "full_like",
    "fuse",
    "get_array_module",
    "get_default_memory_pool",
    "get_default_pinned_memory_pool",
    "is_available",
    "memoize",
    "modules",
    "ndarray",
    "newaxis",
    "ones",
    "ones_like",
    "random",
    "testing",
    "zeros",
    "zeros_like",
]


def get_array_module(*args: Any) -> ModuleType:
    """This module when a device array is among the arguments, else NumPy."""
    # Python's own: `any` of this module is CuPy's once it was read.
    return sys.modules[__name__] if builtins.any(isinstance(value, ndarray) for value in args) else np


def is_available() -> bool:
    """Whether there is a device."""
    return True


def fuse(*args: Any, **kwargs: Any) -> Any:
    """A function of device arrays, which CuPy would run as one kernel: here its operations run one by one.

    A decorator, with or without `kernel_name`.
    """
    if args and callable(args[0]):
        return functools.wraps(args[0])(lambda *values, **options: args[0](*values, **options))
    return fuse


def memoize(for_each_device: bool = False) -> Any:
    """A decorator that keeps the results of a function by its arguments."""
    return functools.cache


def lookup(name: str) -> Any:
    """The attribute `name`: a function of this module, or the one of NumPy as a function of the device.

    Raises AttributeError.
    """
    found = globals().get(name)
    return found if found is not None else __getattr__(name)


ndarray._lookup = staticmethod(lookup)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _LACKING:
        raise AttributeError(lacking.message(f"cupy.{name}"))
    found = globals()[name] = device_functions.find(name)
    return found


class _Namespace(ModuleType):
    """``cupy.linalg`` and ``cupy.fft``."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = device_functions.find(f"{self.__name__}.{name}")
        setattr(self, name, found)
        return found


@functools.cache
def modules() -> dict[str, ModuleType]:
    """The modules of CuPy that the stand-in has, by the names that CuPy gives them."""
    this = sys.modules[__name__]
    found: dict[str, ModuleType] = {
        "cupy": this,
        "cupy.cuda": cuda,
        "cupy.cuda.compiler": lacking.module("cupy.cuda.compiler", {"CompileException": CompileError}),
        "cupy.cuda.cublas": cublas,
        "cupy.cuda.device": cuda.device,
        "cupy.cuda.graph": lacking.module("cupy.cuda.graph", {"Graph": streams.Graph}),
        "cupy.cuda.memory": cuda.memory,
        "cupy.cuda.nvtx": cuda.nvtx,
        "cupy.cuda.pinned_memory": cuda.memory,
        "cupy.cuda.runtime": cuda.runtime,
        "cupy.cuda.stream": streams,
        "cupy.exceptions": np.exceptions,
        "cupy.fft": _Namespace("fft"),
        "cupy.linalg": _Namespace("linalg"),
        "cupy.random": random,
        "cupy.testing": testing,
        "cupyx": cupyx,
        "cupyx.jit": lacking.module("cupyx.jit"),
        "cupyx.profiler": lacking.module("cupyx.profiler", {"time_range": cupyx.time_range}),
        "cupyx.scipy": lacking.module("cupyx.scipy", {"get_array_module": get_array_module}),
        "cupy_backends": lacking.module("cupy_backends"),
        "cupy_backends.cuda": lacking.module("cupy_backends.cuda"),
        "cupy_backends.cuda.api": lacking.module("cupy_backends.cuda.api"),
        "cupy_backends.cuda.api.runtime": cuda.runtime,
        "cupy_backends.cuda.libs": lacking.module("cupy_backends.cuda.libs"),
        "cupy_backends.cuda.libs.cublas": cublas,
    }
    for path, module in found.items():
        parent, _, name = path.rpartition(".")
        if parent:
            setattr(found[parent], name, module)
    for package in (this, cuda, cupyx):  # so that a submodule that is lacking is looked for, and the finder says so
        vars(package).setdefault("__path__", [])
    return found
