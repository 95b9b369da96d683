"""How Numba compiles our functions: what only other kernels call is linked into them, and never emitted by itself.

Numba compiles each jitted function that a kernel calls as if Python were to call it: wrappers, machine code, a file in the cache.
Most of ours are called from kernels only. Without that, the first step of a small conv net compiles in half the time.
"""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

from ._cache import KernelCache


class _NoMachineCode:
    """The code generator, for what Numba does with a library after it has emitted it."""

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing: the environment is set where the code is linked into a kernel (`Kernel.compile`)."""


class InnerLibrary(JITCodeLibrary):
    """Code to be linked into that of kernels. It is optimised here as well: loops vectorise better before they are inlined."""

    optimised = True

    def finalize(self) -> None:
        """Link what it calls; no machine code."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        if self.optimised:
            self._optimize_final_module()
        self._final_module.verify()
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """0, as for a name that is not there: Python cannot call it."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """A code generator that has nothing to do."""
        return _NoMachineCode()


class LoopLibrary(InnerLibrary):
    """Code that only calls inner functions: optimising it where it is linked is enough."""

    optimised = False


class _InnerCompiler(Compiler):
    library: type[InnerLibrary] = InnerLibrary

    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing_context, target_context, self.library(target_context.codegen(), "inner"), *rest)


class _LoopCompiler(_InnerCompiler):
    library = LoopLibrary


def inner(function: Callable[..., Any], options: dict[str, Any], loop: bool = False) -> Any:
    """`function` for calls from compiled code only."""
    options = {**options, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return CPUDispatcher(function, None, options, _LoopCompiler if loop else _InnerCompiler)


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """A compiler makes many objects and few cycles: looking for those takes a tenth of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Kernel(CPUDispatcher):
    """A jitted function that Python calls; kernels that call it get its other self, `inner`."""

    def __init__(
        self, function: Callable[..., Any], locals: Any = None, targetoptions: Any = None, pipeline_class: Any = Compiler
    ) -> None:
        options = {**targetoptions, "no_cfunc_wrapper": True}
        super().__init__(function, locals, options, pipeline_class)
        self._inner_options = targetoptions
        self._cache = KernelCache(function)

    @functools.cached_property
    def inner(self) -> Any:
        """What kernels call. A process that finds all its kernels on disk never makes one."""
        return inner(self.py_func, self._inner_options)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.inner)

    def compile(self, signature: Any) -> Any:
        """Compile for `signature`, or load it from disk; the code that Python calls."""
        before = len(self.overloads)
        with _no_garbage_collection():
            entry = super().compile(signature)
        if len(self.overloads) > before:
            compiled: Any = next(reversed(self.overloads.values()))
            if getattr(compiled, "metadata", None) is not None:  # compiled, not loaded: Numba itself does it for those
                for environment in compiled._find_referenced_environments():
                    compiled.library.codegen.set_env(environment.env_name, environment)
        return entry
