"""Compiled CUDA sources and their kernels, launched on the CPU with checked arguments.

    module = Module(source.load("softmax"), ["softmax_rows<float>"])
    module.get_function("softmax_rows<float>")((rows,), (256,), (x, y, np.int32(columns)))

Arguments are NumPy arrays (device pointers), None (a null pointer) and typed scalars. Each is compared with the C++
signature, which a launch on a GPU never does.
"""

from __future__ import annotations

import ctypes
import itertools
import pathlib
import re
import subprocess
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from . import build, guard, scheduling, symbols
from .errors import ResourceError, SimulatorError
from .runtime import Argument, Dim3, LaunchParameters, Library, ScheduleStruct, SharedVariable, runtime
from .scheduling import current_schedule
from .source import amalgamate, extern_c_kernels, line_of_shared, parameter_names, to_cpp

_MAX_STATIC_SHARED = 48 << 10
_MAX_SHARED = 227 << 10
_SHIM_FILES = {path.name for path in build.FOLDER.glob("*.h")}
_SOURCE_LINE = re.compile(r" at (\S+:\d+)")
_INSTRUCTION = re.compile(r"pc (0x[0-9a-f]+)")


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
        #: Its number to the driver.
        self.ptr = id(self)
        self.module = module
        describe = getattr(module.library, f"lucid_signature_{index}")
        describe.restype = ctypes.c_char_p
        #: One code per argument: '*m' or '*c' (pointer to mutable or const) and the type, kind and bytes: 'f4', '*cf4'.
        self.signature = [code for code in describe().decode().split(",") if code]
        names = parameter_names(module.code, name)
        #: The parameters' names, for messages.
        self.parameters = names if len(names) == len(self.signature) else [""] * len(self.signature)
        #: Bytes of each argument.
        self.sizes = [8 if code[0] == "*" else int("".join(filter(str.isdigit, code)) or 2) for code in self.signature]
        #: Where each begins in a copy of all, at multiples of 16, and where the last one ends.
        self.offsets = [0, *itertools.accumulate(-(-size // 16) * 16 for size in self.sizes)]
        self._launch = getattr(module.library, f"lucid_launch_{index}")
        self._launch.restype = ctypes.c_int
        self._launch.argtypes = [ctypes.c_void_p, ctypes.POINTER(LaunchParameters), ctypes.POINTER(Library)]
        #: Bytes of its own static shared memory.
        self.static_shared = module.static_shared(name)

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

    def arrays(self, arguments: Sequence[Any]) -> list[tuple[int, int, bool, str]]:
        """The arrays among the arguments: address, bytes, whether the kernel may write it, and the parameter's name."""
        return [
            (array.ctypes.data, array.nbytes, code[1] == "m", name)
            for array, code, name in zip(arguments, self.signature, self.parameters, strict=True)
            if code[0] == "*" and isinstance(array, np.ndarray)
        ]

    def launch(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        pointers: Any,
        shared_mem: int = 0,
        arrays: Iterable[tuple[int, int, bool, str]] = (),
    ) -> None:
        """Run the kernel on packed arguments; `arrays` is what `arrays` returns. Raises SimulatorError."""
        if shared_mem and shared_mem + self.static_shared > _MAX_SHARED:
            raise SimulatorError(
                f"kernel {self.name}: {shared_mem} bytes of dynamic shared memory and {self.static_shared} of static "
                "are more than a device has"
            )
        described = [Argument(address, nbytes, writable, name.encode()) for address, nbytes, writable, name in arrays]
        chosen = current_schedule()
        struct = ScheduleStruct(
            chosen.order_number,
            chosen.seed,
            chosen.poison,
            chosen.flush_denormals,
            chosen.strict,
            chosen.eager_copies,
            scheduling.TIME_LIMIT,
        )
        parameters = LaunchParameters(
            self.name.encode(),
            Dim3(*_three(grid)),
            Dim3(*_three(block)),
            shared_mem,
            ctypes.pointer(struct),
            scheduling.CHECKS,
            len(described),
            (Argument * len(described))(*described),
        )
        failed = self._launch(
            ctypes.cast(pointers, ctypes.c_void_p), ctypes.byref(parameters), ctypes.byref(self.module.description)
        )
        if failed:
            raise SimulatorError(self.module.locate(runtime().lucid_error().decode(errors="replace")))

    def __call__(
        self, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Any], shared_mem: int = 0
    ) -> None:
        """Check the arguments, run the kernel and check guarded memory. Raises TypeError, SimulatorError."""
        pointers, keep_alive = self.pack(arguments)
        self.launch(grid, block, pointers, shared_mem, self.arrays(arguments))
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
        self.code = code = amalgamate(code, include_dirs, filename)
        self._filename = filename
        names = list(name_expressions or ())
        names += [name for name in extern_c_kernels(code) if name not in names]
        definitions = [option for option in options if option.startswith(("-D", "--define-macro"))]
        self.path = build.build(to_cpp(code, names, filename), definitions)
        runtime()
        self.library = ctypes.PyDLL(str(self.path))
        #: What the runtime is told of the library.
        self.description = Library()
        self.library.lucid_describe(ctypes.byref(self.description))
        self._variables = self._shared_variables()
        self._functions = {name: Function(self, index, name) for index, name in enumerate(names)}

    def _shared_variables(self) -> list[symbols.Variable]:
        """The static shared variables, told to the runtime. Raises ResourceError for too large ones."""
        description = self.description
        base = description.begin
        variables = symbols.variables(self.path, description.shared_begin - base, description.shared_end - base)
        table = [
            SharedVariable(base + variable.offset, variable.nbytes, variable.name.encode()) for variable in variables
        ]
        description.variables = len(table)
        description.variable = (SharedVariable * len(table))(*table)
        sizes: dict[str, int] = {}
        for variable in variables:
            sizes[variable.function] = sizes.get(variable.function, 0) + variable.nbytes
            if variable.function and sizes[variable.function] > _MAX_STATIC_SHARED:
                where = line_of_shared(self.code, variable.name, self._filename)
                total = sum(other.nbytes for other in variables if other.function == variable.function)
                raise ResourceError(
                    f"uses too much shared data: {total:#x} bytes, {_MAX_STATIC_SHARED:#x} max; '{variable.name}' at {where}"
                )
        return variables

    def static_shared(self, name: str) -> int:
        """The bytes of static shared memory of a kernel's own variables."""
        base = name.split("<")[0].strip()
        sizes: dict[str, int] = {}
        for variable in self._variables:
            if f"{len(base)}{base}" in variable.function:
                sizes[variable.function] = sizes.get(variable.function, 0) + variable.nbytes
        return max(sizes.values(), default=0)

    def get_function(self, name: str) -> Function:
        """The kernel `name`. Raises KeyError."""
        return self._functions[name]

    def locate(self, message: str) -> str:
        """`message` with the source line in the place of each 'pc 0x...', where debug information tells it."""
        base, end = self.description.begin, self.description.end
        addresses = [int(found, 16) for found in _INSTRUCTION.findall(message)]
        addresses = [address for address in dict.fromkeys(addresses) if base <= address < end]
        if not addresses or not build.DEBUG:
            return message
        command = ["addr2line", "-Cfpie", str(self.path)]
        for address in addresses:
            lines = self._source_lines(command, address - base)
            if lines:
                message = message.replace(f"pc {address:#x}", lines[0])
        return message

    @staticmethod
    def _source_lines(command: list[str], offset: int) -> list[str]:
        """The source lines of an instruction, the innermost first, without those of the shim."""
        try:
            output = subprocess.run([*command, hex(offset)], capture_output=True, text=True, check=False).stdout
        except FileNotFoundError:  # binutils is missing: the message is still of use
            return []
        lines = [pathlib.PurePath(place).name for place in _SOURCE_LINE.findall(output)]
        return [place for place in lines if place.split(":")[0] not in _SHIM_FILES]
