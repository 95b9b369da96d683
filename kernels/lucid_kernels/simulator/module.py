"""Compiled CUDA sources and their kernels, launched on the CPU with checked arguments.

    module = Module(source.load("softmax"), ["softmax_rows<float>"])
    module.get_function("softmax_rows<float>")((rows,), (256,), (x, y, np.int32(columns)))

Arguments are NumPy arrays (device pointers), None (a null pointer) and typed scalars. Each is compared with the C++
signature, which a launch on a GPU never does.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import subprocess
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from . import build, guard
from .errors import SimulatorError
from .scheduling import ScheduleStruct, current_schedule
from .source import amalgamate, extern_c_kernels, to_cpp

#: Written arrays up to this many bytes are watched for plain writes of one element by two blocks.
_WATCHED_BYTES = int(os.environ.get("LUCID_SIMULATOR_WATCHED_BYTES", 1 << 18))
_SHIM_FILES = {path.name for path in build.FOLDER.glob("*.h")}
_SOURCE_LINE = re.compile(r" at (\S+:\d+)")
_FAULT_ADDRESS = re.compile(r"pc (0x[0-9a-f]+)")


def _accepts(code: str, dtype: np.dtype) -> bool:
    """Whether a C++ type, by its code from cpu_launch.h, holds elements of `dtype`."""
    if code == "v0" or code[0] == "x":  # void*, and pointers to structs such as float4*
        return True
    if dtype.name == "bfloat16":
        return code == "B2"
    if code == "h2":
        return dtype == np.float16
    if dtype == np.float16:
        return False
    return dtype.kind == code[0] and dtype.itemsize == int(code[1:])


def _three(sizes: Sequence[int]) -> tuple[int, ...]:
    return (*sizes, 1, 1)[:3]


class Function:
    """One kernel of a `Module`. Call it with (grid, block, arguments)."""

    def __init__(self, module: Module, index: int, name: str) -> None:
        self.name = name
        self.module = module
        describe = getattr(module.library, f"lucid_signature_{index}")
        describe.restype = ctypes.c_char_p
        #: One code per argument: '*m' or '*c' (pointer to mutable or const) and the type, kind and bytes: 'f4', '*cf4'.
        self.signature = [code for code in describe().decode().split(",") if code]
        self._launch = getattr(module.library, f"lucid_launch_{index}")
        self._launch.restype = ctypes.c_int
        self._launch.argtypes = [
            ctypes.c_char_p,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.POINTER(ScheduleStruct),
        ]

    def pack(self, arguments: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The arguments as a C array of pointers to their values, and what must live as long as it.

        Raises TypeError for a number or type of arguments that the kernel does not declare.
        """
        if len(arguments) != len(self.signature):
            raise TypeError(f"{self.name}: takes {len(self.signature)} arguments, got {len(arguments)}")
        pointers = (ctypes.c_void_p * max(1, len(arguments)))()
        keep_alive: list[Any] = [arguments]
        for position, (argument, code) in enumerate(zip(arguments, self.signature, strict=True)):
            value = self._value(argument, code, f"{self.name}: argument {position}")
            keep_alive.append(value)
            pointers[position] = value.ctypes.data
        return pointers, keep_alive

    @staticmethod
    def _value(argument: Any, code: str, where: str) -> np.ndarray:
        """The bytes that the kernel gets for one argument, as an array. Raises TypeError."""
        if code[0] == "*":
            if argument is None:
                return np.zeros(1, np.uintp)
            if not isinstance(argument, np.ndarray):
                raise TypeError(f"{where}: kernel wants a pointer, got {type(argument).__name__}")
            if not _accepts(code[2:], argument.dtype):
                raise TypeError(f"{where}: kernel wants pointer to {code[2:]}, array is {argument.dtype}")
            if code[1] == "m" and not argument.flags.writeable:
                raise TypeError(f"{where}: read-only array passed as a mutable pointer")
            return np.array([argument.ctypes.data], np.uintp)
        if code[0] == "x":
            struct = np.asarray(argument)
            if struct.nbytes != int(code[1:]):
                raise TypeError(f"{where}: struct of {code[1:]} bytes wanted, got {struct.nbytes}")
            return struct
        if isinstance(argument, np.ndarray):
            raise TypeError(f"{where}: kernel wants scalar {code}, got an array")
        if not isinstance(argument, np.generic):
            # CuPy passes a Python int as int64 and a float as float64, whatever the kernel declares.
            kind = type(argument).__name__
            raise TypeError(
                f"{where}: pass an explicitly typed scalar for {code} "
                f"(got python {kind}; on a GPU its bytes would be reinterpreted)"
            )
        if not _accepts(code, argument.dtype):
            raise TypeError(f"{where}: kernel wants {code}, got {argument.dtype}")
        return np.asarray(argument).reshape(1)

    def written(self, arguments: Sequence[Any]) -> list[np.ndarray]:
        """The arrays among the arguments that the kernel may write."""
        pairs = zip(arguments, self.signature, strict=True)
        return [array for array, code in pairs if code.startswith("*m") and isinstance(array, np.ndarray)]

    def launch(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        pointers: Any,
        shared_mem: int = 0,
        written: Iterable[np.ndarray] = (),
    ) -> None:
        """Run the kernel on packed arguments; `written` arrays are watched for races between blocks.

        Raises SimulatorError.
        """
        self._watch([array for array in written if array.flags.c_contiguous and 0 < array.nbytes <= _WATCHED_BYTES])
        sizes = (ctypes.c_uint * 6)(*_three(grid), *_three(block))
        struct = current_schedule().to_struct()
        failed = self._launch(
            self.name.encode(),
            ctypes.cast(pointers, ctypes.c_void_p),
            ctypes.cast(sizes, ctypes.c_void_p),
            shared_mem,
            ctypes.byref(struct),
        )
        if failed:
            raise SimulatorError(self.module.locate(self.module.library.lucid_error().decode(errors="replace")))

    def _watch(self, arrays: list[np.ndarray]) -> None:
        count = len(arrays)
        addresses = (ctypes.c_void_p * count)(*[array.ctypes.data for array in arrays])
        sizes = (ctypes.c_size_t * count)(*[array.nbytes for array in arrays])
        item_sizes = (ctypes.c_size_t * count)(*[array.itemsize for array in arrays])
        self.module.library.lucid_watch(count, addresses, sizes, item_sizes)

    def __call__(
        self, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Any], shared_mem: int = 0
    ) -> None:
        """Check the arguments, run the kernel and check guarded memory. Raises TypeError, SimulatorError."""
        pointers, keep_alive = self.pack(arguments)
        self.launch(grid, block, pointers, shared_mem, self.written(arguments))
        del keep_alive
        guard.check_all()


class Module:
    """A CUDA source, compiled for the CPU.

    name_expressions: template instances to compile, as NVRTC takes them; `extern "C"` kernels are always there.
    options: compiler options of NVRTC; only definitions (-D) matter here.
    include_dirs: where headers in quotes are looked for.
    Raises CompileError.
    """

    def __init__(
        self,
        code: str,
        name_expressions: Iterable[str] | None = None,
        options: Iterable[str] = (),
        include_dirs: Iterable[str | pathlib.Path] = (),
        filename: str = "kernel.cu",
    ) -> None:
        code = amalgamate(code, include_dirs, filename)
        names = list(name_expressions or ())
        names += [name for name in extern_c_kernels(code) if name not in names]
        definitions = [option for option in options if option.startswith(("-D", "--define-macro"))]
        self.path = build.build(to_cpp(code, names, filename), definitions)
        # PyDLL keeps the interpreter's lock: a library holds one launch at a time.
        self.library = ctypes.PyDLL(str(self.path))
        self.library.lucid_error.restype = ctypes.c_char_p
        self.library.lucid_switches.restype = ctypes.c_ulonglong
        self._functions = {name: Function(self, index, name) for index, name in enumerate(names)}

    def get_function(self, name: str) -> Function:
        """The kernel `name`. Raises KeyError."""
        return self._functions[name]

    @property
    def switches(self) -> int:
        """How often the module has switched between threads since it was loaded: its cost."""
        return self.library.lucid_switches()

    def locate(self, message: str) -> str:
        """`message` with the source line of its 'pc 0x...' added, where debug information tells it."""
        match = _FAULT_ADDRESS.search(message)
        if match is None or not build.DEBUG:
            return message
        offset = self._offset_in_library(int(match[1], 16))
        if offset is None:
            return message
        command = ["addr2line", "-Cfpie", str(self.path), hex(offset)]
        try:
            output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        except FileNotFoundError:  # binutils is missing: the message is still of use
            return message
        places = [pathlib.PurePath(place).name for place in _SOURCE_LINE.findall(output)]
        places = [place for place in places if place.split(":")[0] not in _SHIM_FILES]
        return f"{message} at {places[0]}" if places else message

    def _offset_in_library(self, address: int) -> int | None:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            for line in maps:
                fields = line.split()
                low, high = (int(bound, 16) for bound in fields[0].split("-"))
                if low <= address < high and fields[-1] == str(self.path):
                    return address - low + int(fields[2], 16)
        return None
