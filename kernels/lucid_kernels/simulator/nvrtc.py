"""NVRTC, NVIDIA's run-time compiler, called without a driver: what a CUDA kernel takes of a chip."""

from __future__ import annotations

import ctypes
import dataclasses
import pathlib
import re
import sysconfig
from collections.abc import Iterable, Sequence

from lucid_kernels import extras
from lucid_kernels.cuda.runtime import source

from .build import cuda_include_dirs

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
#: What lucid_kernels.cuda.runtime.launch asks for and what CuPy 14 adds.
CUPY_OPTIONS = ("-std=c++17", "-ftz=true", "--device-as-default-execution-space")

_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclasses.dataclass
class Resources:
    """What one kernel takes: registers per thread, and bytes of static shared memory, stack and spills."""

    registers: int = 0
    shared: int = 0
    stack: int = 0
    spills: int = 0

    def worse_than(self, baseline: Resources) -> bool:
        """Whether the kernel needs clearly more than before."""
        return (
            self.registers > baseline.registers * 1.1 + 2
            or self.shared > baseline.shared
            or self.stack > baseline.stack
            or self.spills > baseline.spills
        )


class CompilationError(Exception):
    """NVRTC refused a source; the message is its log."""


class Nvrtc:
    """NVIDIA's run-time compiler, called directly: CuPy would want a driver."""

    def __init__(self) -> None:
        self._library = _load_nvrtc()
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: {self._library.nvrtcGetErrorString(status).decode()}")

    @property
    def version(self) -> str:
        """As '13.0'."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def compile(self, text: str, file: str, options: Sequence[str], names: Iterable[str]) -> tuple[dict[str, str], str]:
        """Compile a source to machine code.

        Returns the C++ name of every kernel instance by its name in the machine code, and the log. Raises
        CompilationError.
        """
        names = list(names)
        program = ctypes.c_void_p()
        self._call("nvrtcCreateProgram", ctypes.byref(program), text.encode(), file.encode(), 0, None, None)
        try:
            for name in names:
                self._call("nvrtcAddNameExpression", program, name.encode())
            flags = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
            failed = self._library.nvrtcCompileProgram(program, len(options), flags)
            log = self._log(program)
            if failed:
                raise CompilationError(log)
            lowered = {}
            for name in names:
                symbol = ctypes.c_char_p()
                self._call("nvrtcGetLoweredName", program, name.encode(), ctypes.byref(symbol))
                lowered[(symbol.value or b"").decode()] = name
            return lowered, log
        finally:
            self._call("nvrtcDestroyProgram", ctypes.byref(program))

    def _log(self, program: ctypes.c_void_p) -> str:
        size = ctypes.c_size_t()
        self._call("nvrtcGetProgramLogSize", program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        self._call("nvrtcGetProgramLog", program, text)
        return text.value.decode(errors="replace")


def _load_nvrtc() -> ctypes.CDLL:
    packages = pathlib.Path(sysconfig.get_path("purelib"))
    for path in sorted(packages.glob("nvidia/cu*/lib/libnvrtc.so.*")):
        for builtins in path.parent.glob("libnvrtc-builtins.so.*"):
            ctypes.CDLL(str(builtins), ctypes.RTLD_GLOBAL)  # libnvrtc opens it by its bare name
        return ctypes.CDLL(str(path))
    try:
        return ctypes.CDLL("libnvrtc.so")  # of a toolkit
    except OSError:
        raise RuntimeError(f"NVRTC was not found: {extras.command('simulator')}") from None


def parse_log(log: str) -> dict[str, Resources]:
    """The resources of each kernel, from what ptxas says with -v."""
    kernels: dict[str, Resources] = {}
    current = Resources()
    for line in log.splitlines():
        if match := _ENTRY.search(line):
            current = kernels.setdefault(match[1], Resources())
        if match := _STACK.search(line):
            current.stack, current.spills = int(match[1]), int(match[2]) + int(match[3])
        if match := _REGISTERS.search(line):
            current.registers = int(match[1])
            shared = _SHARED.search(line)
            current.shared = int(shared[1]) if shared else 0
    return kernels


def compiled_resources(nvrtc: Nvrtc, text: str, file: str, names: Iterable[str], architecture: str) -> dict[str, Resources]:
    """What the kernels of a source take on one chip, by their names. Raises CompilationError."""
    options = [*CUPY_OPTIONS, *source.options(text), f"-arch={architecture}", "--ptxas-options=-v", "-lineinfo"]
    options += [f"-I{folder}" for folder in cuda_include_dirs()]
    lowered, log = nvrtc.compile(text, file, options, names)
    return {lowered.get(symbol, symbol): found for symbol, found in parse_log(log).items()}
