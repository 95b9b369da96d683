"""Work that Numba does while it compiles, and that changes nothing in the result, is left out for our kernels."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from llvmlite.binding.ffi import lib
from numba.core import types
from numba.core.base import BaseContext

_signatures: dict[tuple[Any, ...], Any] = {}  # (function, types of its arguments) -> signature


@contextlib.contextmanager
def _operators_remembered() -> Iterator[None]:
    """A builtin function of numbers, mostly an operator, is resolved once for each combination of their types.

    Numba does so for each call anew, and tries NumPy's rules first: a twelfth of the time of the digits net's kernels.
    """
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
def _sizes_remembered() -> Iterator[None]:
    """A type of LLVM is measured once. Numba does so, by parsing a module, for each variable, to tell a debugger its size."""
    context: Any = BaseContext
    measure, sizes = context.get_abi_sizeof, dict[str, int]()

    def get_abi_sizeof(self: Any, kind: Any) -> int:
        key = str(kind)
        size = sizes.get(key)
        if size is None:
            size = sizes[key] = measure(self, kind)
        return size

    context.get_abi_sizeof = get_abi_sizeof
    try:
        yield
    finally:
        context.get_abi_sizeof = measure


@contextlib.contextmanager
def _no_lock_events() -> Iterator[None]:
    """Nobody is told of the 40,000 calls of LLVM: each made two objects for those who listen."""
    lock: Any = lib._lock
    told, lock._cblist = lock._cblist, []
    try:
        yield
    finally:
        lock._cblist = told


@contextlib.contextmanager
def reduced() -> Iterator[None]:
    """All of that. A cold start of the digits net takes a twentieth less."""
    with _operators_remembered(), _sizes_remembered(), _no_lock_events():
        yield


def dissolve(module: ir.Module) -> None:
    """Let go of the values in `module`, whose text has been taken.

    They refer to each other in circles, so the garbage collector would look for them: half a second for the digits net's kernels.
    """
    for function in module.functions:
        for block in function.blocks:
            block.instructions.clear()
            block.terminator = None
        function.blocks.clear()
