"""The C++ runtime that all kernels share, built and loaded at the first kernel."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from . import build, guard


class Dim3(ctypes.Structure):
    """`dim3`."""

    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class ScheduleStruct(ctypes.Structure):
    """`struct Schedule` of cpu_runtime.h; so are those below."""

    _fields_ = [
        ("order", ctypes.c_int),
        ("seed", ctypes.c_uint),
        ("poison", ctypes.c_int),
        ("flush_denormals", ctypes.c_int),
        ("strict", ctypes.c_int),
        ("eager_copies", ctypes.c_int),
        ("time_limit", ctypes.c_double),
    ]


class Argument(ctypes.Structure):
    """An array that a launch is given."""

    _fields_ = [
        ("address", ctypes.c_size_t),
        ("bytes", ctypes.c_size_t),
        ("writable", ctypes.c_int),
        ("name", ctypes.c_char_p),
    ]


class SharedVariable(ctypes.Structure):
    """A static shared variable."""

    _fields_ = [("address", ctypes.c_size_t), ("bytes", ctypes.c_size_t), ("name", ctypes.c_char_p)]


class Library(ctypes.Structure):
    """What a library of kernels tells of itself."""

    _fields_ = [
        ("begin", ctypes.c_size_t),
        ("end", ctypes.c_size_t),
        ("shared_begin", ctypes.c_size_t),
        ("shared_end", ctypes.c_size_t),
        ("variables", ctypes.c_size_t),
        ("variable", ctypes.POINTER(SharedVariable)),
    ]


class LaunchParameters(ctypes.Structure):
    """All that a launch has besides its arguments."""

    _fields_ = [
        ("kernel", ctypes.c_char_p),
        ("grid", Dim3),
        ("block", Dim3),
        ("dynamic_shared_bytes", ctypes.c_size_t),
        ("schedule", ctypes.POINTER(ScheduleStruct)),
        ("checks", ctypes.c_uint),
        ("arguments", ctypes.c_size_t),
        ("argument", ctypes.POINTER(Argument)),
    ]


@functools.cache
def runtime() -> Any:
    """The loaded runtime. Libraries of kernels find it by its name. Raises CompileError."""
    # PyDLL keeps the interpreter's lock: there is one launch at a time.
    library = ctypes.PyDLL(str(build.runtime()))
    library.lucid_error.restype = ctypes.c_char_p
    library.lucid_switches.restype = ctypes.c_ulonglong
    library.lucid_allocated.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    library.lucid_freed.argtypes = [ctypes.c_size_t]
    guard.watch(library.lucid_allocated, library.lucid_freed)
    return library
