"""What the stand-in does not have, and what to use instead: one line for each."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

_INSTEAD = {
    "cupy.vectorize": "write an ElementwiseKernel",
    "cupy.create_ufunc": "write an ElementwiseKernel",
    "cupy.create_reduction_func": "write a ReductionKernel",
    "cupyx.jit": "write a RawKernel in CUDA C++",
    "cupyx.profiler.benchmark": "times on a simulator mean nothing",
    "cupy.cuda.ExternalStream": "a stream of another library does not exist here; use cupy.cuda.Stream",
    "cupy.cuda.ManagedMemory": "use device memory and explicit copies",
    "cupy.cuda.texture": "read the array itself",
    "cupy.cuda.nccl": "there is one device",
    "cupy.cuda.cub": "use cupy.sum and its like",
    "cupy.cuda.thrust": "use cupy.sort and its like",
    "cupy.cuda.cufft": "use cupy.fft",
    "cupy.cuda.curand": "use cupy.random",
    "cupy.cuda.cusolver": "use cupy.linalg",
    "cupyx.scipy": "test it on a GPU, or with SciPy on the result of cupy.asnumpy",
}
_OTHERWISE = "test it on a GPU, or ask for it with the call that you need in an issue of lucid"


def message(path: str) -> str:
    """The line about ``'cupy.name'``."""
    parts = path.split(".")
    known = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    instead = next((_INSTEAD[name] for name in known if name in _INSTEAD), _OTHERWISE)
    return f"the simulator's stand-in for CuPy lacks {path}: {instead}"


def attributes(module: str) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a module of CuPy's. It raises AttributeError."""

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(name if name.startswith("__") else message(f"{module}.{name}"))

    return __getattr__


def module(name: str, contents: dict[str, Any] | None = None) -> ModuleType:
    """A module of CuPy's that has `contents` and says of everything else that it is lacking."""
    made = ModuleType(name)
    made.__path__ = []
    vars(made).update(contents or {})
    made.__getattr__ = attributes(name)  # type: ignore[method-assign]
    return made
