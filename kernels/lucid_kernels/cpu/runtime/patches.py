"""What this package changes in other libraries, and which of their private parts it relies on. Imports no Numba.

No other module assigns to an object of another library. With LUCID_PATCHES=0 nothing of `PATCHES` happens: kernels compile more
slowly, large arrays come from malloc, and dtypes have NumPy's attributes only. `SETTINGS` go through interfaces that the
libraries document for that, and always hold.
`RELIED_ON` are the methods that our subclasses override or call although they are private; a test compares their sources with
those that they were written for.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from collections.abc import Callable, Iterator, Mapping
from contextvars import Context
from typing import Any, NamedTuple

import numpy as np

VARIABLE = "LUCID_PATCHES"
ENABLED = os.environ.get(VARIABLE) != "0"


class Change(NamedTuple):
    """A change in another library: what it assigns to, why, what that gains, and the versions that it is for."""

    target: str
    why: str
    gain: str
    versions: str


NUMBA = "numba>=0.65,<0.69"
NUMPY = "numpy>=2.0"

PATCHES = {
    "operators_remembered": Change(
        "numba.core.types.BaseFunction.get_call_type, while a kernel is compiled",
        "Numba resolves each use of an operator anew, and tries NumPy's rules first: in the digits net's kernels 6,500 times for "
        "types that were there before",
        "0.93 of a cold start", NUMBA),
    "overloads_linked": Change(
        "numba.core.typing.templates._OverloadFunctionTemplate._get_impl and _get_jit_decorator, while a kernel is compiled",
        "Numba compiles its implementations of NumPy's functions, and ours of `overload`, to machine code with a wrapper for C, "
        "once for each combination of types, although they are only linked into what calls them",
        "0.95 of the time that softmax takes to compile", NUMBA),
    "compilation_enabled": Change(
        "numba.core.config.DISABLE_JIT, while a kernel is compiled",
        "NUMBA_DISABLE_JIT=1 is for the user's own functions. Numba's implementations of NumPy's, which kernels call, would "
        "not be compiled either",
        "kernels run where it is set", NUMBA),
    "with_large_stack": Change(
        "co_stacksize of a function of ours, by which Python reckons the memory for its frame",
        "Python keeps frames in chunks of 16 KiB. Where one is full, each call maps the next, and unmaps it on return: compiling "
        "the digits net's kernels did that 100,000 times. This frame is said to be so large that it gets a chunk of its own, "
        "half of which remains",
        "0.94 of a cold start", "Python 3.11 to 3.13"),
    "memory_handler": Change(
        "NumPy's memory handler (NEP 49), in a context in which nothing runs but the making of one large array",
        "an array over a foreign buffer has a base, and its views have another base than itself",
        "the sum of two arrays of 4,194,304 elements takes 0.6 to 0.8 of the time: its memory has pages already", NUMPY),
    "dtype_attributes": Change(
        "numpy.dtype: names that PyTorch's dtypes have and NumPy's lack, such as is_floating_point",
        "lucid's dtypes are NumPy's objects, whose class can neither be derived from nor assigned to; dtypes of our own would "
        "have to be converted for each array",
        "code that asks a dtype for them runs", NUMPY),
}  # fmt: skip

SETTINGS = {
    "set_threading_layer": Change(
        "numba.config.THREADING_LAYER, before the first parallel function",
        "GNU OpenMP, which Numba may choose, stalls for 8 ms between kernels and ends processes that fork",
        "see threads.choose_layer", NUMBA),
    "allow_many_arrays": Change(
        "LLVM's option -runtime-memory-check-threshold",
        "LLVM stops vectorising when a loop needs more than 8 alias checks; fused kernels with six arrays need more",
        "fused kernels of six arrays are vectorised", "llvmlite>=0.47,<0.51"),
}  # fmt: skip

#: Where we rely on them -> classes and functions of other libraries, with digests of their sources, which are the same in all
#: versions that `NUMBA` allows. After a change there, read what has changed before the digest is written anew.
RELIED_ON = {
    "compiler._Library, InnerLibrary and KernelLibrary": {
        "numba.core.codegen.CodeLibrary": "b52eb556b15dbb8f",
        "numba.core.codegen.CPUCodeLibrary": "35c2e55cbd800b09",
        "numba.core.codegen.JITCodeLibrary": "a12ea25a24988dc1",
    },
    "compiler._ShortPipeline": {
        "numba.core.compiler.CompilerBase": "f3fefb4c122a2070",
        "numba.core.compiler.Compiler": "23c260d7f9c33f84",
        "numba.core.compiler.DefaultPassBuilder": "56c35d2425a6c90d",
        "numba.core.compiler_machinery.PassManager": "14efb8026d06c221",
    },
    "compiler.KernelCompiler and parallel_loop._SplittingCompiler": {
        "numba.core.dispatcher._FunctionCompiler": "cb6ef2ed42b8aab0",
    },
    "compiler.Kernel": {
        "numba.core.dispatcher.Dispatcher.__init__": "a0576e7f224c5018",
        "numba.core.dispatcher.Dispatcher.compile": "3a28c241c0a46e53",
        "numba.core.dispatcher.Dispatcher._numba_type_": "872d3da142ec6b5a",
        "numba.core.compiler.CompileResult._find_referenced_environments": "89484e3940150ecd",
    },
    "compiler._NoMachineCode": {
        "numba.core.codegen.JITCPUCodegen.set_env": "7d513850a92279ec",
    },
    "object_code": {
        "numba.core.codegen.JitEngine": "dd52133d7a0d9650",
        "numba.core.compiler.CompileResult": "c1f283b8d57b1be1",
        "numba.core.environment.lookup_environment": "41d3df008c1d3750",
    },
    "llvm_passes": {
        "numba.core.codegen.CPUCodegen._module_pass_manager": "b7f52bb0b6d53a8b",
        "numba.core.codegen.CPUCodegen._pass_builder": "20967bc97bd703ef",
        "numba.core.codegen.JITCPUCodegen._customize_tm_options": "297489df9506ad14",
        "numba.core.codegen._parse_refprune_flags": "453ded41f341c979",
        "llvmlite.binding.ffi._lib_fn_wrapper": "9425345107f35bf4",
    },
    "jit": {
        "llvmlite.binding.ffi._LLVMLock": "8fd716e9a6821135",
        "numba.core.boxing.unbox_array": "9d700e8abed0297d",
        "numba.core.cpu.CPUTargetOptions": "13a982611ff7a479",
    },
    "patches.operators_remembered": {
        "numba.core.types.functions.BaseFunction": "a993b19acd9e65d6",
    },
    "patches.overloads_linked": {
        "numba.core.typing.templates._OverloadFunctionTemplate._get_impl": "466c68e3acb145cd",
        "numba.core.typing.templates._OverloadFunctionTemplate._get_jit_decorator": "2e373ba940fbae07",
        "numba.core.typing.templates._OverloadFunctionTemplate._build_impl": "207d638f65ee5fe1",
    },
}


_signatures: dict[tuple[Any, ...], Any] = {}  # (function, types of its arguments) -> signature


@contextlib.contextmanager
def operators_remembered() -> Iterator[None]:
    """Let a builtin function of scalars, mostly an operator, be resolved once for each combination of their types."""
    from numba.core import types

    if not ENABLED:
        yield
        return
    function: Any = types.BaseFunction
    resolve = function.get_call_type

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws or not all(isinstance(kind, (types.Number, types.Boolean)) for kind in args):
            return resolve(self, context, args, kws)
        key = (self, *args)
        signature = _signatures.get(key)
        if signature is None:
            signature = _signatures[key] = resolve(self, context, args, kws)
        return signature

    function.get_call_type = get_call_type
    try:
        yield
    finally:
        function.get_call_type = resolve


@contextlib.contextmanager
def overloads_linked(compiled: Callable[[Any, dict[str, Any]], Any]) -> Iterator[None]:
    """Let `compiled(function, options)` compile the implementations of overloaded functions that a kernel calls.

    They are kept under keys of their own: functions of users get those that Numba compiles.
    """
    from numba.core import targetconfig
    from numba.core.typing import templates

    if not ENABLED:
        yield
        return
    template: Any = vars(templates)["_OverloadFunctionTemplate"]
    implementation, decorator = template._get_impl, template._get_jit_decorator

    def get_impl(self: Any, args: Any, kws: Any) -> Any:
        key = "linked", self.context, tuple(args), tuple(kws.items()), targetconfig.ConfigStack.top_or_none()
        return self._impl_cache.get(key) or self._build_impl(key, args, kws)

    def get_jit_decorator(self: Any) -> Any:
        return lambda **options: lambda function: compiled(function, options)

    template._get_impl, template._get_jit_decorator = get_impl, get_jit_decorator
    try:
        yield
    finally:
        template._get_impl, template._get_jit_decorator = implementation, decorator


@contextlib.contextmanager
def compilation_enabled() -> Iterator[None]:
    """Let Numba compile, whatever the user's NUMBA_DISABLE_JIT says."""
    from numba.core import config

    settings: Any = config  # Numba adds its settings to this module when it is imported
    disabled = settings.DISABLE_JIT
    settings.DISABLE_JIT = disabled and not ENABLED
    try:
        yield
    finally:
        settings.DISABLE_JIT = disabled


def with_large_stack(function: Callable[[Any], Any], argument: Any) -> Any:
    """``function(argument)``, with a mebibyte for the frames of all that it calls."""
    return function(argument)


if ENABLED:
    with_large_stack.__code__ = with_large_stack.__code__.replace(co_stacksize=1 << 17)


def memory_handler(context: Context, set_handler: Callable[[Any], Any], handler: Any) -> None:
    """Let NumPy take memory from `handler`, a capsule of NEP 49, for arrays that are made in `context`."""
    if not ENABLED:
        raise RuntimeError(f"{VARIABLE}=0")
    context.run(set_handler, handler)


def dtype_attributes(attributes: Mapping[str, Any]) -> None:
    """Give `attributes` to NumPy's dtypes where these have none of that name."""
    if ENABLED:
        (names,) = gc.get_referents(np.dtype.__dict__)
        for name, attribute in attributes.items():
            names.setdefault(name, attribute)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(np.dtype))


def set_threading_layer(layer: str) -> None:
    """Let Numba run the parallel loops that are left to it on `layer`."""
    import numba

    numba.config.THREADING_LAYER = layer  # type: ignore[attr-defined]


def allow_many_arrays() -> None:
    """Let LLVM vectorise loops over many arrays."""
    import llvmlite.binding

    llvmlite.binding.set_option("", "-runtime-memory-check-threshold=2000")
