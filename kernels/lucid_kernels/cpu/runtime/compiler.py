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

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, dispatcher, typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher

from lucid_kernels.compilation_log import log_if_slow

from . import llvm_passes, patches, signals
from .cache import KernelCache

_FunctionCompiler: Any = vars(dispatcher)["_FunctionCompiler"]


# Lines of LLVM's code. It inlines some 60, and several times as many where arguments are constants: with 200 the convolutions of
# the digits net took 1.2 times as long.
SMALL = 500


def _mark_loops(module: ir.Module, vectors: int | None) -> None:
    """Mark the loops of `module`, so that LLVM does not unroll those whose number of iterations it does not know.

    It would for CPUs whose model names a large buffer of instructions: eight copies of a vectorised loop, and another loop for
    the rest. That was a quarter of the time for machine code, 0.8 of 14 s for the digits net's kernels. The option
    ``-unroll-runtime`` would also change what Numba compiles for others. A vectorised loop computes `vectors` at a time, or as
    many as LLVM chooses: one where there is much to compute.
    """
    hints = [module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.runtime.disable")])]
    if vectors is not None:
        name = ir.MetaDataString(module, "llvm.loop.interleave.count")
        hints.append(module.add_metadata([name, ir.Constant(ir.IntType(32), vectors)]))
    mark = module.add_metadata([*hints, None])
    mark.operands = (mark, *hints)  # the first refers to the mark itself: so LLVM knows a loop's
    for function in module.functions:
        before = set()
        for block in function.blocks:
            before.add(block)
            end = block.terminator
            if end is not None and end.opname == "br" and not before.isdisjoint(end.operands):  # back to the head of a loop
                end.set_metadata("llvm.loop", mark)


class _NoMachineCode:
    """The code generator, for what Numba does with a library after it has emitted it."""

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing: the environment is set where the code is linked into a kernel (`Kernel.compile`)."""


class _Library(JITCodeLibrary):
    """Code that is optimised once.

    LLVM inlines small functions only. Those, and loops that threads share, are linked before this code is optimised. The larger
    ones, which have been optimised by themselves, are linked into the kernel afterwards: at each level of calls they would be
    optimised again. That took a third of the time of kernels with several levels.
    """

    unrolled = False
    vectors: int | None = None

    def add_ir_module(self, module: Any) -> None:
        """Add the code of a function."""
        if not self.unrolled:
            _mark_loops(module, self.vectors)
        super().add_ir_module(module)

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _called(self) -> list[Any]:
        """The libraries that it links, with what a process that loads this one has to do first."""
        libraries = list(dict.fromkeys(self._linking_libraries))
        for library in libraries:
            self._reload_init.update(library._reload_init)
        return libraries


def _larger(libraries: list[Any]) -> dict[InnerLibrary, None]:
    """The larger functions that `libraries` are or call, and do not contain."""
    larger: dict[InnerLibrary, None] = {}
    for library in libraries:
        if isinstance(library, InnerLibrary):
            larger.update(library.larger)
            if not library.small:
                larger[library] = None
    return larger


def _link_larger(module: Any, waiting: dict[InnerLibrary, None]) -> None:
    """Link into `module` what is missing of the functions in `waiting`. LLVM leaves out what nothing calls."""
    waiting = dict(waiting)
    while True:
        missing = {function.name for function in module.functions if function.is_declaration}
        called = [library for library in waiting if missing & library.code.names]
        if not called:
            return
        for library in called:
            module.link_in(library.own_module())
            del waiting[library]


class InnerLibrary(_Library):
    """Code to be linked into that of kernels."""

    optimised = True

    def __init__(self, codegen: Any, name: str, inlined: bool = False) -> None:
        super().__init__(codegen, name)
        self._inlined = inlined  # whatever its size
        self._sources: list[str] = []
        self._job: Any = None
        self._with_larger: Any = None

    def add_ir_module(self, module: Any) -> None:
        """Add the code of a function."""
        if not self.unrolled:
            _mark_loops(module, self.vectors)
        self._sources.append(cgutils.normalize_ir_text(str(module)))

    def finalize(self) -> None:
        """Have it optimised; no machine code."""
        libraries = self._called()
        others = {library: library._get_module_for_linking().as_bitcode() for library in libraries
                  if not isinstance(library, InnerLibrary)}  # fmt: skip

        sources, self._sources = self._sources, []

        def job() -> tuple[llvm_passes.Code, dict[InnerLibrary, None]]:
            larger = _larger(libraries)
            linked = [others.get(library) or library.code.bitcode for library in libraries if library not in larger]
            return llvm_passes.prepared(self._codegen, sources, linked, self.optimised), larger

        self._job = llvm_passes.submit(job)
        self._finalized = True

    @property
    def code(self) -> llvm_passes.Code:
        """What it is linked from, as soon as that has been optimised."""
        return self._job.result()[0]

    @property
    def larger(self) -> dict[InnerLibrary, None]:
        """The larger functions that it calls, directly or not, and does not contain."""
        return self._job.result()[1]

    @property
    def small(self) -> bool:
        """Whether it is linked before its caller is optimised."""
        return self._inlined or not self.optimised or self.code.lines <= SMALL

    def own_module(self) -> Any:
        """Its code, to be linked into other code, without the larger functions that it calls."""
        return llvm.parse_bitcode(self.code.bitcode)

    def _get_module_for_linking(self) -> Any:
        """All of its code: for functions of users, which Numba compiles."""
        if self._with_larger is None:
            self._with_larger = self.own_module()
            _link_larger(self._with_larger, self.larger)
        return self._with_larger

    def get_pointer_to_function(self, name: str) -> int:
        """0, as for a name that is not there: Python cannot call it."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """A code generator that has nothing to do."""
        return _NoMachineCode()


class _UnrolledLibrary(InnerLibrary):
    unrolled = True


class _InterleavedLibrary(InnerLibrary):
    vectors = 4


class _SeldomLibrary(_InterleavedLibrary):
    """Code of a loop over whole chunks: a call costs it nothing, and within its caller it would be optimised again."""

    @property
    def small(self) -> bool:
        """Whether it is to be inlined."""
        return self._inlined


class LoopLibrary(InnerLibrary):
    """Code that only calls inner functions: optimising it where it is linked is enough."""

    optimised = False


class KernelLibrary(_Library):
    """The code of a kernel, with all that it calls."""

    def finalize(self) -> None:
        """Link and optimise it, and make it machine code.

        What it calls is its own: Numba numbers functions in the order in which a process compiles them, so kernels that two
        processes have kept on disk may call different functions of one name, and the linker would take one of them for both.
        """
        libraries = self._called()
        larger = _larger(libraries)
        for library in libraries:
            if isinstance(library, InnerLibrary):
                if library not in larger:
                    self._final_module.link_in(library.own_module())
            else:
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        for passes, builder in llvm_passes.pass_managers(self._codegen):
            passes.run(self._final_module, builder)
        _link_larger(self._final_module, larger)
        for function in self._final_module.functions:
            if function.linkage in (llvm.Linkage.linkonce_odr, llvm.Linkage.weak_odr) and not function.is_declaration:
                function.linkage = llvm.Linkage.internal
        self._final_module.verify()
        self._finalize_final_module()


class _ShortPipeline(Compiler):
    """Numba's passes but for those that look for what our functions do not have: each finds all variables' lifetimes anew.

    And but for that which keeps Numba's form of a function, to be printed: that is a third of the objects that the garbage
    collector looks through after the digits net's kernels have been compiled.
    """

    missing: tuple[type, ...] = (untyped_passes.WithLifting, untyped_passes.InlineClosureLikes, untyped_passes.InlineInlinables,
               typed_passes.InlineOverloads, typed_passes.AnnotateTypes)  # fmt: skip

    def define_pipelines(self) -> list[Any]:
        (complete,) = super().define_pipelines()
        if self.state.flags.auto_parallel.enabled:
            return [complete]
        passes: Any = PassManager(complete.pipeline_name)
        passes._ENFORCING = False  # after each pass, lifetimes and the order of blocks would be found again
        for each, description in complete.passes:
            if each not in self.missing:
                passes.add_pass(each, description)
        passes.finalize()
        return [passes]

    def compile_extra(self, function: Any) -> Any:
        """Compile `function`, and forget the types of its variables, which only the compiler needs."""
        compiled = super().compile_extra(function)
        compiled.fndesc.typemap = compiled.fndesc.calltypes = None
        return compiled


class _InnerCompiler(_ShortPipeline):
    library: type[InnerLibrary] = InnerLibrary

    def __init__(self, typing_context: Any, target_context: Any, library: Any, args: Any, result: Any, flags: Any, *rest: Any
                 ) -> None:  # fmt: skip
        library = self.library(target_context.codegen(), "inner", bool(flags.forceinline))
        super().__init__(typing_context, target_context, library, args, result, flags, *rest)


class LoopCompiler(_InnerCompiler):
    """Compiles a loop that threads share."""

    library = LoopLibrary


class _OverloadCompiler(_InnerCompiler):
    """Compiles an implementation of a function of NumPy's, which may have what ours have not."""

    missing = (untyped_passes.WithLifting, typed_passes.AnnotateTypes)


class _UnrolledCompiler(_InnerCompiler):
    library = _UnrolledLibrary


class _InterleavedCompiler(_InnerCompiler):
    library = _InterleavedLibrary


class _SeldomCompiler(_InterleavedCompiler):
    library = _SeldomLibrary


def inner(function: Callable[..., Any], options: dict[str, Any], compiler: type[_InnerCompiler] = _InnerCompiler) -> Any:
    """`function` for calls from compiled code only."""
    options = {**options, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return CPUDispatcher(function, None, options, compiler)


def _overload(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The implementation `function` of an overloaded function, for calls from compiled code only."""
    return inner(function, options, _OverloadCompiler)


class _KernelPipeline(_ShortPipeline):
    def __init__(self, typing_context: Any, target_context: Any, library: Any, *rest: Any) -> None:
        library = KernelLibrary(target_context.codegen(), "kernel")
        library.enable_object_caching()
        super().__init__(typing_context, target_context, library, *rest)


class KernelCompiler(_FunctionCompiler):  # type: ignore[misc]
    """Compiles a kernel."""

    py_func: Any
    targetdescr: Any
    targetoptions: dict[str, Any]

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        function = self.py_func
        with contextlib.ExitStack() as around:
            around.enter_context(log_if_slow(f"{function.__module__}.{function.__qualname__}"))
            if not self.targetoptions.get("parallel"):  # for which Numba looks for the machine code of its loops
                around.enter_context(patches.operators_remembered())
                around.enter_context(patches.overloads_linked(_overload))
                around.enter_context(llvm_passes.beside())
            return super()._compile_core(args, return_type)


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


def _writable(kind: Any) -> Any:
    """The type `kind`, of a writable array if it is that of a read-only one."""
    return kind.copy(readonly=False) if isinstance(kind, types.Array) and not kind.mutable else kind


class Kernel(CPUDispatcher):
    """A jitted function that Python calls; kernels that call it get its other self, `inner`."""

    function_compiler: type[KernelCompiler] = KernelCompiler
    inner_compiler: type[_InnerCompiler] = _InnerCompiler

    def __init__(
        self, function: Callable[..., Any], locals: Any = None, targetoptions: Any = None, pipeline_class: Any = _KernelPipeline
    ) -> None:
        options = {**targetoptions, "no_cfunc_wrapper": True}
        super().__init__(function, locals, options, pipeline_class)
        self._compiler = self.function_compiler(function, self.targetdescr, self.targetoptions, self.locals, pipeline_class)
        self._inner_options = targetoptions
        self._cache = KernelCache(function)

    @functools.cached_property
    def inner(self) -> Any:
        """What kernels call. A process that finds all its kernels on disk never makes one."""
        return inner(self.py_func, self._inner_options, self.inner_compiler)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.inner)

    def compile(self, signature: Any) -> Any:
        """Compile for `signature`, or load it from disk; the code that Python calls.

        Read-only arrays, such as broadcast ones, are no types of their own: a kernel writes its results only, which callers
        allocate or have looked at (`layout.result`).
        """
        before = len(self.overloads)
        kinds = tuple(map(_writable, signature))
        with signals.deferred(), _no_garbage_collection(), patches.compilation_enabled():
            entry = patches.with_large_stack(super().compile, kinds)
            if kinds != signature:
                dispatcher: Any = self  # the method is written in C
                dispatcher._insert([kind._code for kind in signature], entry, False)
            if len(self.overloads) > before:
                compiled: Any = next(reversed(self.overloads.values()))
                if getattr(compiled, "metadata", None) is not None:  # compiled, not loaded: Numba itself does it for those
                    for environment in compiled._find_referenced_environments():
                        compiled.library.codegen.set_env(environment.env_name, environment)
        return entry


class UnrolledKernel(Kernel):
    """A kernel whose loops LLVM may unroll where other kernels call it."""

    inner_compiler = _UnrolledCompiler


class InterleavedKernel(Kernel):
    """A kernel whose vectorised loops compute several vectors at a time where other kernels call it."""

    inner_compiler = _InterleavedCompiler


class SeldomKernel(InterleavedKernel):
    """The same, of one that is called for whole chunks only."""

    inner_compiler = _SeldomCompiler
