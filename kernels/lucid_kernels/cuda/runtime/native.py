"""`run`: the calls of a plan in one call of Python's, at the addresses of the driver, of cuBLAS and of cuBLASLt.

Its machine code is made by llvmlite, which Numba brings: no compiler is needed, and no `ctypes` call, which takes longer than
the launch itself. The arguments lie on the stack of the thread, and the interpreter's lock is free during the calls, as it is
in CuPy's: a launch may wait for a full queue, in which a host function may wait for the lock.
"""
from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import llvmlite.binding as llvm

MOST_POINTERS = 48  # of a plan
MOST_PARAMETERS = 96  # of a kernel
_WORDS = 32  # of a step: its kind, the address that it calls, and the arguments
_FASTCALL = 0x80  # METH_FASTCALL

#: The functions that a step may call, with their arguments by kind: a pointer, an int, a long, the pointer with that number among
#: those of the call (*), or where it lies (&), the stream, the parameters of the kernel.
_STEPS = {
    "cuLaunchKernel": "p iiiiii i s P p",
    "cublasGemmStridedBatchedEx": "p ii iii p *iil *iil p *iil iii",
    "cublasLtMatmulDescSetAttribute": "p i & l",
    "cublasLtMatmul": "p p p *p *p p *p *p p p l s",
}
DESCRIPTION = 1  # its place among the arguments of cuBLASLt's product
_KINDS = {name: kind for kind, name in enumerate(_STEPS)}
#: The functions of products, and the places of the matrices among their arguments.
PRODUCTS = {name: tuple(place for place, kind in enumerate(_STEPS[name].replace(" ", "")) if kind == "*")
            for name in ("cublasGemmStridedBatchedEx", "cublasLtMatmul")}
#: The places of numbers of pointers in the words of a step, by its kind.
_PLACES = [[2 + place for place, kind in enumerate(arguments.replace(" ", "")) if kind in "*&"] for arguments in _STEPS.values()]


def _call(name: str) -> str:
    """The block `name` of the loop: load the arguments of a step and call its function."""
    lines, arguments = [f"{name}:"], []
    for number, kind in enumerate(_STEPS[name].replace(" ", "")):
        value = f"%{name}{number}"
        if kind in "sP":
            arguments.append({"s": "ptr %stream", "P": "ptr %parameters"}[kind])
            continue
        lines.append(f"{value}at = getelementptr i64, ptr %step, i64 {number + 2}")
        loaded = {"p": "ptr", "i": "i32"}.get(kind, "i64")
        lines.append(f"{value} = load {loaded}, ptr {value}at")
        if kind in "*&":
            lines.append(f"{value}slot = getelementptr i64, ptr %pointers, i64 {value}")
        if kind == "*":
            lines.append(f"{value}p = load ptr, ptr {value}slot")
        arguments.append({"*": f"ptr {value}p", "&": f"ptr {value}slot"}.get(kind, f"{loaded} {value}"))
    lines += [f"%{name}status = call i32 %function({', '.join(arguments)})", "br label %called"]
    return "\n".join(lines)


# A parameter in the table of a launch is the number of a pointer of this call, or the address of a constant.
_IR = f"""
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

define ptr @run(ptr %self, ptr %args, i64 %count) {{
entry:
  %pointers = alloca i64, i64 {MOST_POINTERS}
  %parameters = alloca ptr, i64 {MOST_PARAMETERS}
  %plan_object = load ptr, ptr %args
  %plan_address = call i64 @PyLong_AsLongLong(ptr %plan_object)
  %plan = inttoptr i64 %plan_address to ptr
  %stream_at = getelementptr ptr, ptr %args, i64 1
  %stream_object = load ptr, ptr %stream_at
  %stream_address = call i64 @PyLong_AsLongLong(ptr %stream_object)
  %stream = inttoptr i64 %stream_address to ptr
  %steps = load i64, ptr %plan
  %exclusive_at = getelementptr i64, ptr %plan, i64 1
  %exclusive = load i64, ptr %exclusive_at
  %lock = getelementptr i64, ptr %plan, i64 2
  %parts_at = getelementptr i64, ptr %plan, i64 3
  %parts = load i64, ptr %parts_at
  %part_table = getelementptr i64, ptr %plan, i64 4
  %part_words = mul i64 %parts, 3
  %first = getelementptr i64, ptr %part_table, i64 %part_words
  br label %read
read:
  %i = phi i64 [2, %entry], [%i_next, %read_one]
  %reading = icmp slt i64 %i, %count
  br i1 %reading, label %read_one, label %start
read_one:
  %object_at = getelementptr ptr, ptr %args, i64 %i
  %object = load ptr, ptr %object_at
  %address = call i64 @PyLong_AsLongLong(ptr %object)
  %number = sub i64 %i, 2
  %slot = getelementptr i64, ptr %pointers, i64 %number
  store i64 %address, ptr %slot
  %i_next = add i64 %i, 1
  br label %read
start:
  %j = phi i64 [0, %read], [%j_next, %start_one]
  %starting = icmp slt i64 %j, %parts
  br i1 %starting, label %start_one, label %unlock
start_one:
  %part_at = mul i64 %j, 3
  %part = getelementptr i64, ptr %part_table, i64 %part_at
  %part_slot_number = load i64, ptr %part
  %whole_at = getelementptr i64, ptr %part, i64 1
  %whole_number = load i64, ptr %whole_at
  %offset_at = getelementptr i64, ptr %part, i64 2
  %offset = load i64, ptr %offset_at
  %whole_slot = getelementptr i64, ptr %pointers, i64 %whole_number
  %whole = load i64, ptr %whole_slot
  %part_address = add i64 %whole, %offset
  %part_slot = getelementptr i64, ptr %pointers, i64 %part_slot_number
  store i64 %part_address, ptr %part_slot
  %j_next = add i64 %j, 1
  br label %start
unlock:
  %thread = call ptr @PyEval_SaveThread()
  %is_exclusive = icmp ne i64 %exclusive, 0
  br i1 %is_exclusive, label %wait, label %begin
wait:
  %taken = cmpxchg ptr %lock, i64 0, i64 1 acquire monotonic
  %is_taken = extractvalue {{i64, i1}} %taken, 1
  br i1 %is_taken, label %begin, label %wait
begin:
  br label %next
next:
  %n = phi i64 [0, %begin], [%n_next, %called]
  %step = phi ptr [%first, %begin], [%step_next, %called]
  %more = icmp slt i64 %n, %steps
  br i1 %more, label %one, label %done
one:
  %kind = load i64, ptr %step
  %function_at = getelementptr i64, ptr %step, i64 1
  %function = load ptr, ptr %function_at
  switch i64 %kind, label %fill [{' '.join(f"i64 {kind}, label %{name}" for name, kind in _KINDS.items() if kind)}]
fill:
  %size_at = getelementptr i64, ptr %step, i64 {_WORDS - 2}
  %size = load i64, ptr %size_at
  %table_at = getelementptr i64, ptr %step, i64 {_WORDS - 1}
  %table = load ptr, ptr %table_at
  br label %parameter
parameter:
  %k = phi i64 [0, %fill], [%k_next, %parameter_one]
  %filling = icmp slt i64 %k, %size
  br i1 %filling, label %parameter_one, label %cuLaunchKernel
parameter_one:
  %entry_at = getelementptr i64, ptr %table, i64 %k
  %value = load i64, ptr %entry_at
  %moves = icmp ult i64 %value, {MOST_POINTERS}
  %constant = inttoptr i64 %value to ptr
  %place = select i1 %moves, i64 %value, i64 0
  %moving = getelementptr i64, ptr %pointers, i64 %place
  %parameter_address = select i1 %moves, ptr %moving, ptr %constant
  %parameter_at = getelementptr ptr, ptr %parameters, i64 %k
  store ptr %parameter_address, ptr %parameter_at
  %k_next = add i64 %k, 1
  br label %parameter
{chr(10).join(map(_call, _STEPS))}
called:
  %status = phi i32 {', '.join(f"[%{name}status, %{name}]" for name in _STEPS)}
  %n_next = add i64 %n, 1
  %step_next = getelementptr i64, ptr %step, i64 {_WORDS}
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %done, label %next
done:
  %result = phi i32 [0, %next], [%status, %called]
  store atomic i64 0, ptr %lock release, align 8
  call void @PyEval_RestoreThread(ptr %thread)
  %status_wide = zext i32 %result to i64
  %where = shl i64 %n, 32
  %error = or i64 %where, %status_wide
  %success = icmp eq i32 %result, 0
  %code = select i1 %success, i64 0, i64 %error
  %python = call ptr @PyLong_FromLong(i64 %code)
  ret ptr %python
}}
"""


class _Definition(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("method", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


@functools.cache
def runner() -> Callable[..., int]:
    """`run(plan, stream, *pointers)`: the calls of the plan at an address. 0, or a failed call's number << 32 | its status."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name in ("PyLong_AsLongLong", "PyLong_FromLong", "PyEval_SaveThread", "PyEval_RestoreThread"):
        llvm.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    module = llvm.parse_assembly(_IR)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    definition = _Definition(b"run", engine.get_function_address("run"), _FASTCALL, b"run(plan, stream, *pointers)")
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    new = prototype(("PyCFunction_NewEx", ctypes.pythonapi))
    function = new(ctypes.byref(definition), None, None)
    _alive.append((engine, definition))  # what the function points to
    run: Callable[..., int] = function
    return run


_alive: list[Any] = []


class Program:
    """The steps of a plan in memory, as `run` reads them: `address` is where they lie.

    In front of them stand their number, whether one thread at a time may run them, and the lock for that, which is waited for
    without the interpreter's: who holds it does not need that either. Then the pointers into arrays of the call: how many, and
    the number of each, that of the array, and the bytes before.
    """

    def __init__(self) -> None:
        self._steps: list[list[int]] = []
        self._tables: list[Any] = []
        self._alive: list[Any] = []
        self._parts: list[tuple[int, int, int]] = []
        self.names: list[str] = []
        self._exclusive = False
        self.address = 0

    def launch(self, address: int, kernel: Any, grid: Sequence[int], block: Sequence[int], shared: int,
               parameters: Sequence[int | bytes | ctypes.Array[Any]]) -> None:
        """Add a launch by the driver's function at `address`; a parameter is the number of a pointer, a constant's bytes, or
        where its bytes are read at each launch.
        """
        table = (ctypes.c_int64 * max(1, len(parameters)))()
        for place, parameter in enumerate(parameters):
            if isinstance(parameter, bytes):
                constant = ctypes.create_string_buffer(parameter, len(parameter) + 16)
                self._alive.append(constant)
                table[place] = ctypes.addressof(constant)
            elif isinstance(parameter, ctypes.Array):
                self._alive.append(parameter)
                table[place] = ctypes.addressof(parameter)
            else:
                table[place] = parameter
        self._tables.append(table)
        self._alive.append(kernel)
        self._add(kernel.name, [_KINDS["cuLaunchKernel"], address, kernel.kernel.ptr, *_three(grid), *_three(block), shared],
                  [len(parameters), ctypes.addressof(table)])

    def move(self, numbers: Mapping[int, int]) -> None:
        """Let the parameters that are one of these pointers be the other one."""
        for table in self._tables:
            for place, parameter in enumerate(table):
                table[place] = numbers.get(parameter, parameter)
        for step in self._steps:  # products name pointers among their arguments
            for place in _PLACES[step[0]]:
                step[place] = numbers.get(step[place], step[place])

    def part(self, number: int, whole: int, offset: int) -> None:
        """Let the pointer of this number be that of the number `whole`, so many bytes on."""
        self._parts.append((number, whole, offset))

    def product(self, function: str, address: int, arguments: Sequence[int]) -> None:
        """Add a product by a library's `function` at `address`; the matrices are numbers of pointers."""
        self._add(function, [_KINDS[function], address, *arguments], [])

    def attribute(self, address: int, description: Any, attribute: int, pointer: int) -> None:
        """Let an attribute of a `description` of cuBLASLt's, which is this plan's alone, be the pointer with a number.

        Two threads that run the plan take turns, so that each product has its own pointers.
        """
        self._exclusive = True
        name = "cublasLtMatmulDescSetAttribute"
        self._add(name, [_KINDS[name], address, description.value, attribute, pointer, ctypes.sizeof(ctypes.c_void_p)], [])

    def keep(self, thing: Any) -> None:
        """Let `thing` live as long as the program."""
        self._alive.append(thing)

    def _add(self, name: str, words: list[int], last: list[int]) -> None:
        self.names.append(name)
        self._steps.append([*words, *[0] * (_WORDS - len(words) - len(last)), *last])

    def finish(self) -> None:
        """Lay the steps out."""
        words = [len(self._steps), self._exclusive, 0, len(self._parts), *(word for part in self._parts for word in part),
                 *(word for step in self._steps for word in step)]
        self._memory = (ctypes.c_int64 * len(words))(*words)
        self.address = ctypes.addressof(self._memory)


def _three(sizes: Sequence[int]) -> tuple[int, ...]:
    return (*map(int, sizes), 1, 1)[:3]
