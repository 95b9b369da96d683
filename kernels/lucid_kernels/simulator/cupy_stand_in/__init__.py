"""A stand-in for CuPy 14 on machines without a GPU. ``simulator.install()`` gives it the name `cupy`.

It is stricter than CuPy, so that code which passes here does not fail on a GPU:

- `ndarray` is no `numpy.ndarray`: ``numpy.asarray(x)``, ``x + host_array`` and ``x[...] = host_array`` raise.
- A name, keyword or argument that CuPy lacks raises, when a CuPy is installed to ask (it needs no GPU for that).
- Reductions give 0-d device arrays, never NumPy scalars. Arithmetic and type promotion are NumPy 2's.
- A kernel's arguments are compared with its signature; strided arrays are refused (CuPy would ignore the strides).
- Fresh memory is NaN and lies between inaccessible pages.
- A captured graph records and does not run; waiting for the device inside raises, and so does launching a graph whose
  memory has been freed.

As in CuPy, and not in NumPy, numbers out of range in an index array wrap around: `x[array]`, `x[array] = value`, `take`,
`take_along_axis`, `put`, `cupyx.scatter_add` and ``ufunc.at``. A single number out of range raises IndexError.

Not there: several devices, ElementwiseKernel and its kin, cupy.random, sparse arrays, cooperative groups.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from . import cublas, cuda, cupyx, functions
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
from .kernels import RawKernel, RawModule
from .memory import get_default_memory_pool, get_default_pinned_memory_pool

__version__ = "14.2.0"
__simulated__ = True
_UNSUPPORTED = ("ElementwiseKernel", "ReductionKernel", "fuse", "random", "vectorize")

newaxis = None

__all__ = [
    "RawKernel",
    "RawModule",
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
    "get_array_module",
    "get_default_memory_pool",
    "get_default_pinned_memory_pool",
    "modules",
    "ndarray",
    "newaxis",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def get_array_module(*args: Any) -> ModuleType:
    """This module when a device array is among the arguments, else NumPy."""
    return sys.modules[__name__] if any(isinstance(value, ndarray) for value in args) else np


def lookup(name: str) -> Any:
    """The attribute `name`: a function of this module, or the one of NumPy as a function of the device.

    Raises AttributeError.
    """
    found = globals().get(name)
    return found if found is not None else __getattr__(name)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _UNSUPPORTED:
        raise AttributeError(f"the simulator's stand-in for CuPy does not have cupy.{name}")
    if name in ("linalg", "fft"):
        found: Any = _Namespace(name)
    else:
        found = functions.find(name)
    globals()[name] = found
    return found


class _Namespace(ModuleType):
    """``cupy.linalg`` and ``cupy.fft``."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = functions.find(f"{self.__name__}.{name}")
        setattr(self, name, found)
        return found


def modules() -> dict[str, ModuleType]:
    """The modules of CuPy that the stand-in has, by the names that CuPy gives them."""
    backends, backends_cuda, libraries = (
        ModuleType(name) for name in ("cupy_backends", "cupy_backends.cuda", "cupy_backends.cuda.libs")
    )
    backends.cuda = backends_cuda  # type: ignore[attr-defined]
    backends_cuda.libs = libraries  # type: ignore[attr-defined]
    libraries.cublas = cublas  # type: ignore[attr-defined]
    return {
        "cupy": sys.modules[__name__],
        "cupy.cuda": cuda,
        "cupy.cuda.cublas": cublas,
        "cupy.cuda.device": cuda.device,
        "cupy.cuda.memory": cuda.memory,
        "cupy.cuda.runtime": cuda.runtime,
        "cupyx": cupyx,
        "cupy_backends": backends,
        "cupy_backends.cuda": backends_cuda,
        "cupy_backends.cuda.libs": libraries,
        "cupy_backends.cuda.libs.cublas": cublas,
    }
