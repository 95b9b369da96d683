"""RawKernel and RawModule: CUDA sources, compiled by g++ and run on the CPU."""

from __future__ import annotations

import ctypes
import functools
import pathlib
import re
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import CUDARuntimeError
from ..module import Function, Module
from . import memory
from .array import ndarray
from .memory import MemoryPointer
from .streams import Stream, count_operation, get_current_stream

#: Dynamic shared memory that a kernel may have without a request for more.
_DEFAULT_SHARED_BYTES = 48 << 10
#: The latest launches: (kernel name, grid, block). Tests look here for what ran.
launches: deque[tuple[str, tuple[int, ...], tuple[int, ...]]] = deque(maxlen=10_000)


#: The functions of kernels by their `ptr`, as the driver knows them.
functions: dict[int, Function] = {}
_HEADERS = pathlib.Path(__file__).resolve().parent
#: CuPy's own headers, of which the stand-in has its own version.
_CUPY_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]cupy/(\w+\.cuh)[>\"].*$", re.M)
_COMMENT = re.compile(r"//.*?$|/\*.*?\*/", re.M | re.S)
#: A brace, a kernel, or a variable of the module, which `RawModule.get_global` finds.
_TOKEN = re.compile(
    r'(?P<linkage>extern\s+"C"\s*\{)|(?P<open>\{)|(?P<close>\})'
    r"|\b__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(?P<kernel>\w+)\s*\("
    r"|\b(?:__device__|__constant__)\b[^(){};=]*?\b(?P<variable>\w+)\s*(?:\[[^;={]*)?(?:=[^;]*)?;"
)


@functools.lru_cache(maxsize=256)
def _compiled(code: str, names: tuple[str, ...], options: tuple[str, ...]) -> Module:
    include_dirs = [option[2:] for option in options if option.startswith("-I")]
    code = _CUPY_INCLUDE.sub(r'#include "\1"', code)
    kernels, variables = _symbols(code)
    return Module(_with_globals(code, variables), dict.fromkeys([*names, *kernels]), options, [*include_dirs, _HEADERS])


def _symbols(code: str) -> tuple[list[str], list[str]]:
    """The kernels in blocks ``extern "C" { }``, and the variables outside of namespaces, classes and functions."""
    kernels: list[str] = []
    variables: list[str] = []
    scopes: list[bool] = []  # for each brace that is open, whether it is one of extern "C"
    for token in _TOKEN.finditer(_COMMENT.sub("", code)):
        if token["close"]:
            del scopes[-1:]
        elif token["linkage"] or token["open"]:
            scopes.append(token["linkage"] is not None)
        elif all(scopes) and token["variable"]:
            variables.append(token["variable"])
        elif all(scopes) and scopes:
            kernels.append(token["kernel"])
    return kernels, list(dict.fromkeys(variables))


def _with_globals(code: str, names: Sequence[str]) -> str:
    """`code`, and behind it two functions for each variable of the module, outside of the code's namespace."""
    functions = [
        f'extern "C" void* lucid_global_{name}() {{ return (void*)&{name}; }}\n'
        f'extern "C" size_t lucid_global_size_{name}() {{ return sizeof({name}); }}\n'
        for name in names
    ]
    return "\n".join([code, "}", *functions, "namespace {\n"]) if functions else code


def _check_options(options: Any) -> tuple[str, ...]:
    if not isinstance(options, tuple):
        raise TypeError(f"Argument 'options' has incorrect type (expected tuple, got {type(options).__name__})")
    return options


_COMPILER_ATTRIBUTES = frozenset(
    (
        "attributes", "binary_version", "cache_mode_ca", "const_size_bytes", "local_size_bytes", "num_regs", "ptx_version",
        "shared_size_bytes",
    )
)  # fmt: skip


class RawModule:
    """A CUDA source with its kernels; compiled with the first `get_function`."""

    def __init__(
        self,
        *,
        code: str | None = None,
        path: str | None = None,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Any = None,
        jitify: bool = False,
    ) -> None:
        if (code is None) == (path is None):
            raise TypeError("Exactly one of `code` and `path` keyword arguments must be given.")
        if code is None:
            if name_expressions is not None:
                raise ValueError("need CUDA C++ code for the requested kernels")
            raise NotImplementedError("the simulator needs the source of a module, not a cubin")
        if name_expressions is not None and backend != "nvrtc":
            raise ValueError("only nvrtc supports retrieving the mangled names for the given name expressions")
        if enable_cooperative_groups:
            raise NotImplementedError("the simulator has no cooperative groups")
        self.code = code
        self.options = _check_options(options)
        self.name_expressions = tuple(name_expressions or ())

    def compile(self, log_stream: Any = None) -> None:
        """Compile now. Raises CompileError."""
        _compiled(self.code, self.name_expressions, self.options)

    def get_function(self, name: str) -> RawKernel:
        """The kernel `name`. Raises CompileError; CUDARuntimeError when there is no such kernel."""
        module = _compiled(self.code, self.name_expressions, self.options)
        try:
            return RawKernel._of(module.get_function(name))
        except KeyError:
            raise CUDARuntimeError(f"CUDA_ERROR_NOT_FOUND: named symbol not found: {name}") from None

    def get_global(self, name: str) -> MemoryPointer:
        """Where the variable `name` of the module lies. Raises CUDARuntimeError when there is no such variable."""
        module = _compiled(self.code, self.name_expressions, self.options)
        if not hasattr(module.library, f"lucid_global_{name}"):
            raise CUDARuntimeError(f"CUDA_ERROR_NOT_FOUND: named symbol not found: {name}")
        address, size = (getattr(module.library, f"lucid_global_{kind}{name}") for kind in ("", "size_"))
        address.restype = size.restype = ctypes.c_size_t
        return MemoryPointer(memory.Symbol(module, address(), size()), 0)


class RawKernel:
    """One kernel."""

    name: str
    max_dynamic_shared_size_bytes: int
    max_threads_per_block = 1024
    preferred_shared_memory_carveout = -1
    _function: Function

    def __init__(
        self, code: str, name: str, options: tuple[str, ...] = (), backend: str = "nvrtc", **kwargs: Any
    ) -> None:
        kernel = RawModule(code=code, options=_check_options(options), **kwargs).get_function(name)
        self.__dict__.update(kernel.__dict__)

    @classmethod
    def _of(cls, function: Function) -> RawKernel:
        self = object.__new__(cls)
        self._function = function
        functions[function.ptr] = function
        self.name = function.name
        self.max_dynamic_shared_size_bytes = _DEFAULT_SHARED_BYTES
        return self

    def _argument(self, position: int, value: Any, used: list[ndarray]) -> Any:
        """A launch argument as the simulator's module takes it. Raises TypeError for what CuPy would get wrong."""
        if isinstance(value, ndarray):
            if not value._array.flags.c_contiguous:
                raise TypeError(f"{self.name}: argument {position} is not C-contiguous; RawKernel ignores strides")
            used.append(value)
            return value._array
        if isinstance(value, MemoryPointer):
            raise TypeError(f"{self.name}: argument {position}: pass the array, not its MemoryPointer")
        if isinstance(value, np.ndarray):
            if value.size != 1:
                raise TypeError(
                    f"You are trying to pass a numpy.ndarray of shape {value.shape} as a kernel parameter. "
                    "Only numpy.ndarrays of size one can be passed by value."
                )
            if value.dtype.names is None and value.dtype.kind != "V":
                return value.reshape(())[()]
        return value

    @property
    def kernel(self) -> Function:
        """The compiled function."""
        return self._function

    def compile(self, log_stream: Any = None) -> None:
        """Nothing to do here: a kernel is compiled when it is made."""

    def __getattr__(self, name: str) -> Any:
        if name in _COMPILER_ATTRIBUTES:
            raise AttributeError(f"the simulator does not know {name} of {self.name}: only NVRTC or a GPU does")
        raise AttributeError(f"'RawKernel' object has no attribute {name!r}")

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0, stream: Stream | None = None) -> None:
        """Launch. Raises TypeError for arguments that the kernel does not declare, CUDARuntimeError, SimulatorError."""
        if shared_mem > self.max_dynamic_shared_size_bytes:
            raise CUDARuntimeError(
                f"cudaErrorInvalidValue: {shared_mem} bytes of shared memory; "
                "set kernel.max_dynamic_shared_size_bytes first"
            )
        function = self._function
        used: list[ndarray] = []
        arguments = [self._argument(position, value, used) for position, value in enumerate(args)]
        _launch(function, grid, block, arguments, used, shared_mem, stream)


def _launch(
    function: Function,
    grid: Any,
    block: Any,
    arguments: list[Any],
    used: Sequence[ndarray],
    shared_mem: int,
    stream: Stream | None,
) -> None:
    pointers, keep_alive = function.pack(arguments)
    arrays = function.arrays(arguments)
    buffers = [array._allocation.buffer for array in used]

    def launch(keep_alive: Any = keep_alive) -> None:
        function.launch(grid, block, pointers, shared_mem, arrays)
        for buffer in buffers:
            buffer.check()

    launches.append((function.name, tuple(grid), tuple(block)))
    stream = stream or get_current_stream()
    stream.flush()
    count_operation()
    if stream.capture is None:
        launch()
    else:  # the scalars are in `pointers`, baked in as in a CUDA graph
        stream.capture.add(launch, [array._allocation for array in used])


def launch_generated(
    code: str,
    name: str,
    options: tuple[str, ...],
    grid: Any,
    block: Any,
    values: Sequence[Any],
    used: Sequence[ndarray],
    stream: Stream | None,
) -> None:
    """Launch a kernel that was written for these `values`, whose arrays may have any strides. Raises as `RawKernel`."""
    function = _compiled(code, (), _check_options(options)).get_function(name)
    arguments = [value._array if isinstance(value, ndarray) else value for value in values]
    _launch(function, grid, block, arguments, used, 0, stream)
