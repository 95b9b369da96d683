"""RawKernel and RawModule: CUDA sources, compiled by g++ and run on the CPU."""

from __future__ import annotations

import functools
from collections import deque
from typing import Any

import numpy as np

from .. import guard
from ..module import Function, Module
from .array import ndarray
from .memory import MemoryPointer
from .runtime import CUDARuntimeError
from .streams import Stream, get_current_stream

#: Dynamic shared memory that a kernel may have without asking for more.
_DEFAULT_SHARED_BYTES = 48 << 10
#: The latest launches: (kernel name, grid, block). Tests look here for what ran.
launches: deque[tuple[str, tuple[int, ...], tuple[int, ...]]] = deque(maxlen=10_000)


@functools.lru_cache(maxsize=256)
def _compiled(code: str, names: tuple[str, ...], options: tuple[str, ...]) -> Module:
    include_dirs = [option[2:] for option in options if option.startswith("-I")]
    return Module(code, names, options, include_dirs)


def _check_options(options: Any) -> tuple[str, ...]:
    if not isinstance(options, tuple):
        raise TypeError(f"Argument 'options' has incorrect type (expected tuple, got {type(options).__name__})")
    return options


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
            raise NotImplementedError("the simulator needs the source of a module, not a cubin")
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


class RawKernel:
    """One kernel."""

    name: str
    max_dynamic_shared_size_bytes: int
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
        pointers, keep_alive = function.pack(arguments)
        arrays = function.arrays(arguments)

        def launch(keep_alive: Any = keep_alive) -> None:
            function.launch(grid, block, pointers, shared_mem, arrays)
            guard.check_all()

        launches.append((self.name, tuple(grid), tuple(block)))
        stream = stream or get_current_stream()
        stream.flush()
        if stream.capture is None:
            launch()
        else:  # the scalars are in `pointers`, baked in as in a CUDA graph
            stream.capture.add(launch, [array._allocation for array in used])
