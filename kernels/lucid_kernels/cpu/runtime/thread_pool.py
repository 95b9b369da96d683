"""A thread pool: threads that share the iterations of a loop, and wait for the next loop awake.

TBB puts its threads to sleep after every loop, and Numba's layer makes an arena for each, which they have to join: the second
thread began 7 us after a call, and the caller went on 2 us after the last one had ended. Here it takes 1 us. After `_PATIENCE`
without work they sleep, and then a launch wakes them. What the pool does not take goes to Numba's layer: loops of another thread
of the user's while it is busy, those of a process that was forked, where no thread of it exists, and those of more threads than
processors. It needs Linux, whose futexes it sleeps on.

The caller cuts the iterations into parts, one for each thread, so that a thread finds what it had in the last loop in its cache.
A thread takes quarters of what is left of its part, then of the others': nobody waits for one that does not run. It enters
through a gate, which the caller closes when nothing is left; then it waits for those who are inside.

A loop of few iterations is no matter of all threads: those that have no part stay outside, and go on sleeping. The others wake
each two more, so that the caller need not wake them one after the other.
"""
from __future__ import annotations

import _thread
import ctypes
import os
import platform
import sys
import threading
from collections.abc import Callable
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .compiler import Kernel
from .intrinsic import I64, intrinsic
from .threads import available_cpus

_SYSTEM_CALLS = {"x86_64": 202, "aarch64": 98}  # the number of futex
AVAILABLE = sys.platform == "linux" and platform.machine() in _SYSTEM_CALLS and sys.maxsize > 1 << 32
_FUTEX = _SYSTEM_CALLS.get(platform.machine(), 0)
_X86 = platform.machine() == "x86_64"
#: The name that kernels have for `_share_out`.
SYMBOL = "lucid_share_out"

# Pauses of 15 to 40 ns for which a thread waits awake: for work, about a millisecond, which is longer than what lies between the
# loops of small networks (with a tenth of it, steps of a perceptron and of the digits net took 1.07 to 1.1 times as long), and
# for the others, before it lets the system run them. One that waits for work does so, too, after each `_PAUSES` more: a thread
# of OpenBLAS, say, may wait for its processor.
_PATIENCE = 40000
_IMPATIENCE, _PAUSES = 4000, 2000

# What all threads read and write, 8 bytes each. Those that one thread changes while others read have a cache line of their own.
_GATE, _LOCK, _STARTED = 0, 64, 72
_SHARE, _DATA, _PARTS = 128, 136, 144
_FIRST_PART, _PART = 192, 64  # of each part the next iteration and the end
_MOST_PARTS = 256
# The gate: how many are inside, whether it is open, and then the number of the loop.
_INSIDE, _OPEN, _LOOP_BIT = (1 << 16) - 1, 1 << 16, 17
_LOOP = 1 << _LOOP_BIT

_FIRST_PARKED = _FIRST_PART + _MOST_PARTS * _PART  # whether a thread sleeps, or is about to
_SIZE = _FIRST_PARKED + _MOST_PARTS * _PART
_memory = (ctypes.c_char * (_SIZE + _PART))()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_memory))  # threads look at it until the process ends
_STATE = -(-ctypes.addressof(_memory) // _PART) * _PART
_started = ctypes.c_int64.from_address(_STATE + _STARTED)
llvmlite.binding.add_symbol("lucid_thread_pool", _STATE)

_POINTER = ir.IntType(8).as_pointer()


def _jit(function: Callable[..., Any]) -> Any:
    options = {"nopython": True, "nogil": True, "fastmath": False, "error_model": "numpy", "boundscheck": None}
    return Kernel(function, targetoptions=options)


def _word(builder: ir.IRBuilder, address: Any) -> Any:
    return builder.inttoptr(address, I64.as_pointer())


@intrinsic
def _load(typing, address):
    def emit(context, builder, signature, arguments):
        return builder.load_atomic(_word(builder, arguments[0]), "seq_cst", 8)

    return types.int64(types.int64), emit


@intrinsic
def _store(typing, address, value):
    def emit(context, builder, signature, arguments):
        builder.store_atomic(arguments[1], _word(builder, arguments[0]), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), emit


@intrinsic
def _add(typing, address, value):
    """Add to a word; what it was."""

    def emit(context, builder, signature, arguments):
        return builder.atomic_rmw("add", _word(builder, arguments[0]), arguments[1], "seq_cst")

    return types.int64(types.int64, types.int64), emit


@intrinsic
def _replace(typing, address, old, new):
    """Whether a word was `old`, and is `new` now."""

    def emit(context, builder, signature, arguments):
        address, old, new = arguments
        return builder.extract_value(builder.cmpxchg(_word(builder, address), old, new, "seq_cst", "seq_cst"), 1)

    return types.boolean(types.int64, types.int64, types.int64), emit


@intrinsic
def _pause(typing):
    """Let the other half of a core work for some nanoseconds."""

    def emit(context, builder, signature, arguments):
        name, hint = ("llvm.x86.sse2.pause", []) if _X86 else ("llvm.aarch64.hint", [ir.IntType(32)(1)])
        kind = ir.FunctionType(ir.VoidType(), [number.type for number in hint])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, name), hint)
        return context.get_dummy_value()

    return types.void(), emit


@intrinsic
def _call_system(typing, number, address, operation, value):
    """The system call `number` with three arguments, and zeros."""

    def emit(context, builder, signature, arguments):
        kind = ir.FunctionType(I64, [I64], var_arg=True)
        function = cgutils.get_or_insert_function(builder.module, kind, "syscall")
        builder.call(function, [*arguments, *[I64(0)] * 3])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), emit


@intrinsic
def _yield_processor(typing):
    """Let another thread of this processor run."""

    def emit(context, builder, signature, arguments):
        builder.call(cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), emit


@intrinsic
def _call(typing, share, first, count, data):
    """Call a loop's share for `count` iterations from `first` on: see `parallel_loop._share`."""

    def emit(context, builder, signature, arguments):
        share, first, count, data = arguments
        kind = ir.FunctionType(ir.VoidType(), [_POINTER.as_pointer(), I64.as_pointer(), I64.as_pointer(), _POINTER])
        start = cgutils.alloca_once_value(builder, builder.inttoptr(first, _POINTER))
        size, step = cgutils.alloca_once_value(builder, count), cgutils.alloca_once_value(builder, I64(1))
        builder.call(builder.inttoptr(share, kind.as_pointer()), [start, size, step, builder.inttoptr(data, _POINTER)])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), emit


@_jit
def _work(state: int, me: int) -> None:
    """Take iterations as long as there are any, those of one's own part first."""
    parts, share, data = _load(state + _PARTS), _load(state + _SHARE), _load(state + _DATA)
    for number in range(me, me + parts):
        place = state + _FIRST_PART + number % parts * _PART
        last = _load(place + 8)
        first = _load(place)
        while first < last:
            count = (last - first + 3) >> 2
            if _replace(place, first, first + count):
                _call(share, first, count, data)
            first = _load(place)


@_jit
def _wake(state: int, me: int, parts: int) -> None:
    """Wake the two threads that it is up to `me` to wake, if they have a part and sleep."""
    for number in range(2 * me + 1, min(2 * me + 3, parts)):
        parked = state + _FIRST_PARKED + number * _PART
        if _load(parked) and _replace(parked, 1, 0):
            _call_system(_FUTEX, parked, 129, 1)


@_jit
def _take_part(state: int, me: int) -> None:
    """What a thread of the pool does, for ever; `me` is 1 for the first one."""
    parked = state + _FIRST_PARKED + me * _PART
    while True:
        gate, pauses = _load(state + _GATE), 0
        while not (gate & _OPEN and me < _load(state + _PARTS)):
            if pauses < _PATIENCE:
                _pause()
                pauses += 1
                if pauses > _IMPATIENCE and pauses % _PAUSES == 0:
                    _yield_processor()
            else:
                _store(parked, 1)
                gate = _load(state + _GATE)  # who opens it from now on sees that
                if not (gate & _OPEN and me < _load(state + _PARTS)):
                    _call_system(_FUTEX, parked, 128, 1)  # wait, unless somebody has written there
                _store(parked, 0)
                pauses = 0
            gate = _load(state + _GATE)
        if _replace(state + _GATE, gate, gate + 1):  # the same loop as that of the number of parts
            _wake(state, me, _load(state + _PARTS))
            _work(state, me)
            now = _add(state + _GATE, -1)
            while now & _OPEN and now >> _LOOP_BIT == gate >> _LOOP_BIT:
                _pause()
                now = _load(state + _GATE)


@_jit
def _share_out(state: int, share: int, count: int, data: int, threads: int) -> bool:
    """Run a loop of `count` iterations on that many threads; False if the pool cannot."""
    if threads - 1 > _load(state + _STARTED) or not _replace(state + _LOCK, 0, 1):
        return False
    parts = min(threads, count)
    _store(state + _SHARE, share)
    _store(state + _DATA, data)
    _store(state + _PARTS, parts)
    for number in range(parts):
        _store(state + _FIRST_PART + number * _PART, count * number // parts)
        _store(state + _FIRST_PART + number * _PART + 8, count * (number + 1) // parts)
    _add(state + _GATE, _LOOP + _OPEN)
    _wake(state, 0, parts)
    _work(state, 0)
    gate, pauses = _add(state + _GATE, -_OPEN), 0
    while gate & _INSIDE:
        if pauses < _IMPATIENCE:
            _pause()
            pauses += 1
        else:
            _yield_processor()
        gate = _load(state + _GATE)
    _store(state + _LOCK, 0)
    return True


@intrinsic
def _entry(typing, function):
    """The address of `_share_out` as C would call it, without the state."""
    call = function.get_call_type(typing, (types.int64,) * 5, {})

    def emit(context, builder, signature, arguments):
        compiled = function.dispatcher.overloads[call.args]
        context.active_code_library.add_linking_library(compiled.library)
        entry = ir.Function(builder.module, ir.FunctionType(I64, [I64] * 4), "lucid_share_out_entry")
        entry.linkage = "internal"
        inside = ir.IRBuilder(entry.append_basic_block())
        state = cgutils.add_global_variable(builder.module, ir.IntType(8), "lucid_thread_pool")
        words = inside.ptrtoint(state, I64), *entry.args
        share_out = context.declare_function(builder.module, compiled.fndesc)
        _, taken = context.call_conv.call_function(inside, share_out, call.return_type, call.args, words)
        inside.ret(inside.zext(taken, I64))
        return builder.ptrtoint(entry, I64)

    return types.int64(function), emit


@_jit
def _entry_point() -> int:
    return _entry(_share_out)


_starting = threading.Lock()


def start_pool() -> None:
    """Let kernels find `_share_out`."""
    if AVAILABLE:
        llvmlite.binding.add_symbol(SYMBOL, _entry_point())


def start(number: int) -> None:
    """Have `number` threads beside that of the caller, but no more than there are other processors."""
    if not AVAILABLE or number <= _started.value:
        return
    wanted = min(number, available_cpus() - 1, _MOST_PARTS - 1)
    with _starting:
        while _started.value < wanted:
            _take_part.compile((types.int64, types.int64))
            try:
                _thread.start_new_thread(_take_part, (_STATE, _started.value + 1))
            except RuntimeError:  # the system allows no more
                return
            _started.value += 1


def _leave_behind() -> None:
    """In a child no thread of the pool exists: Numba's layer runs its loops, unless it calls `set_num_threads`."""
    global _starting
    _starting = threading.Lock()
    ctypes.memset(_STATE, 0, _SIZE)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_behind)
