"""`prange` loops without Numba's parallel transformation, which takes three to five times as long to compile.

Numba makes a function of each `prange` loop, wraps it twice, and has LLVM optimise and emit the kernels called in it for every
one of these. Here the loop becomes one function that each thread calls for its share of the iterations. The threads of the pool
run it (`thread_pool.py`), or those of Numba's threading layer.
"""

from __future__ import annotations

import ast
import copy
import ctypes
import functools
import os
import threading
from collections.abc import Callable
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types

from . import thread_pool
from .compiler import Kernel, KernelCompiler, LoopCompiler, inner
from .intrinsic import intrinsic
from .threads import STARTED_THREADS, THREADS

_VARIABLES = {"lucid_num_threads": THREADS, "lucid_started_threads": STARTED_THREADS}
for _name, _variable in _VARIABLES.items():
    llvmlite.binding.add_symbol(_name, ctypes.addressof(_variable))


# ---- calling a function on all threads -----------------------------------------------------------------------------


@intrinsic
def launch(typing_context: Any, task: Any, count: Any, arguments: Any) -> Any:
    """Call ``task(first, last, *arguments)`` on all threads, for ranges that cover 0..count; RuntimeError if one raised."""
    call = task.get_call_type(typing_context, (types.uint64, types.uint64, *arguments.types), {})

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        compiled = task.dispatcher.overloads[call.args]
        context.active_code_library.add_linking_library(compiled.library)
        count = context.cast(builder, values[1], signature.args[1], types.intp)
        lent = _lent(context, builder, arguments, values[2])
        shared = cgutils.alloca_once_value(builder, cgutils.pack_struct(builder, (lent, ir.IntType(8)(0))))
        share = _share(context, builder.module, compiled.fndesc, call, shared.type)

        i32, i64, pointer = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
        chosen, started = (builder.load(_global(builder.module, name)) for name in _VARIABLES)
        threads = builder.select(builder.icmp_signed("<", started, chosen), started, chosen)
        alone = builder.or_(builder.icmp_signed("<=", count, i64(1)), builder.icmp_signed("<=", threads, i32(1)))
        # The layer divides `size`, and advances the array at `start` by `step` bytes an iteration. With address 0 and a step of 1
        # the address that a call gets is the number of its first iteration.
        start = cgutils.alloca_once_value(builder, ir.Constant(pointer, None))
        size, step = cgutils.alloca_once_value(builder, count), cgutils.alloca_once_value(builder, i64(1))
        data = builder.bitcast(shared, pointer)
        with builder.if_else(alone) as (serial, parallel):
            with serial:
                builder.call(share, (start, size, step, data))
            with parallel:
                parameters = (share.type, start.type, size.type, step.type, pointer, i64, i64, i32)
                parallel_for = cgutils.get_or_insert_function(
                    builder.module, ir.FunctionType(ir.VoidType(), parameters), "numba_parallel_for"
                )
                with builder.if_then(builder.not_(_taken_by_pool(builder, share, count, data, threads))):
                    builder.call(parallel_for, (share, start, size, step, data, i64(0), i64(1), threads))
        failed = builder.load(cgutils.gep_inbounds(builder, shared, 0, 1))
        with cgutils.if_unlikely(builder, cgutils.is_true(builder, failed)):
            message = "a parallel kernel failed in one of its threads, probably for want of memory"
            context.call_conv.return_user_exc(builder, RuntimeError, (message,))
        return context.get_dummy_value()

    return types.void(task, count, arguments), codegen


def _taken_by_pool(builder: Any, share: Any, count: Any, data: Any, threads: Any) -> Any:
    """Run the loop on the threads of the pool, unless they are busy; whether it did."""
    if not thread_pool.AVAILABLE:
        return ir.Constant(ir.IntType(1), 0)
    i64 = ir.IntType(64)
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(i64, [i64] * 4), thread_pool.SYMBOL)
    arguments = [builder.ptrtoint(share, i64), count, builder.ptrtoint(data, i64), builder.sext(threads, i64)]
    return cgutils.is_true(builder, builder.call(function, arguments))


def _lent(context: Any, builder: Any, arguments: Any, values: Any) -> Any:
    """The tuple `values` with arrays that own nothing: the caller holds them until all threads are done.

    Each function that a task calls counts references to the arrays it gets. Threads that do so for the same array take its
    counter from each other: convolutions of 8x8 images took 1.1 to 3 times as long on two threads, as long as on one.
    """
    for number, kind in enumerate(arguments.types):
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, builder.extract_value(values, number))
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            values = builder.insert_value(values, array._getvalue(), number)
    return values


def _global(module: Any, name: str) -> Any:
    """The variable `name` of `_VARIABLES`, as `module` sees it."""
    if name in module.globals:
        return module.globals[name]
    return cgutils.add_global_variable(module, ir.IntType(32), name)


def _share(context: Any, module: Any, task: Any, call: Any, shared: Any) -> Any:
    """What a thread runs, with the parameters of a ufunc's loop: unpack the arguments and call the task for its iterations."""
    i64, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
    parameters = (pointer.as_pointer(), i64.as_pointer(), i64.as_pointer(), pointer)
    share = ir.Function(module, ir.FunctionType(ir.VoidType(), parameters), module.get_unique_name(f"share.{task.mangled_name}"))
    share.linkage = "internal"
    builder = ir.IRBuilder(share.append_basic_block())
    start, size, _, data = share.args
    first = builder.ptrtoint(builder.load(start), i64)
    last = builder.add(first, builder.load(size))
    shared = builder.bitcast(data, shared)
    arguments = cgutils.unpack_tuple(builder, builder.load(cgutils.gep_inbounds(builder, shared, 0, 0)))
    function = context.declare_function(module, task)
    status, _ = context.call_conv.call_function(builder, function, call.return_type, call.args, (first, last, *arguments))
    with cgutils.if_unlikely(builder, status.is_error):
        builder.store(ir.IntType(8)(1), cgutils.gep_inbounds(builder, shared, 0, 1))
    builder.ret_void()
    return share


# ---- a loop as such a function -------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4)  # the kernels of a file are compiled one after the other
def _parsed(path: str, modified: float) -> ast.Module:
    with open(path, encoding="utf-8") as file:
        return ast.parse(file.read())


def syntax_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """The source of `function`; one that was generated has its text in `__source__`."""
    path, line = function.__code__.co_filename, function.__code__.co_firstlineno
    text = getattr(function, "__source__", None)
    for node in ast.walk(_parsed(path, os.stat(path).st_mtime) if text is None else ast.parse(text)):
        if not isinstance(node, ast.FunctionDef) or node.name != function.__name__:
            continue
        if line in (node.lineno, *(decorator.lineno for decorator in node.decorator_list)):
            return copy.deepcopy(node)
    raise TypeError(f"the source of {function.__qualname__} is not in {path}")


def _is_parallel(node: ast.AST) -> bool:
    return isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func).endswith("prange")


def _stored(nodes: list[ast.stmt]) -> set[str]:
    names = (node for statement in nodes for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}


def split_loop(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """`function` with its `prange` loop as a call of `launch`.

    The loop stands at the top level of the function, counts from 0, does not return, and assigns to no name that is used outside
    of it: a sum over the iterations would depend on the threads. Raises TypeError for another form.
    """
    definition = syntax_of(function)
    loops = [node for node in ast.walk(definition) if _is_parallel(node)]
    if len(loops) != 1 or loops[0] not in definition.body:
        raise TypeError(f"{function.__qualname__}: a parallel kernel has one prange loop, at its top level")
    (loop,) = loops
    assert isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)
    place = definition.body.index(loop)
    outside = {argument.arg for argument in definition.args.args} | _stored(definition.body[:place])
    shared = (outside | _stored(definition.body[place + 1 :])) & _stored([loop])
    if shared:
        names = ", ".join(sorted(shared))
        raise TypeError(f"{function.__qualname__}: the prange loop assigns to {names}, which its threads share")
    if len(loop.iter.args) != 1 or any(isinstance(node, ast.Return) for node in ast.walk(loop)):
        raise TypeError(f"{function.__qualname__}: a prange loop counts from 0 and does not return")
    read = (node.id for statement in loop.body for node in ast.walk(statement) if isinstance(node, ast.Name))
    taken = list(dict.fromkeys(name for name in read if name in outside))

    (count,) = loop.iter.args
    definition.decorator_list, definition.returns = [], None
    for argument in definition.args.args:
        argument.annotation = None
    task = copy.deepcopy(definition)
    task.name = f"{function.__name__}_share"
    task.args.args = [ast.arg(name) for name in ("_first", "_last", *taken)]
    shares = ast.parse(f"for _ in range(_first, _last): pass\n_launch({task.name}, 0, ({' '.join(f'{n},' for n in taken)}))").body
    task.body = [ast.For(loop.target, shares[0].iter, loop.body, [], lineno=loop.lineno, col_offset=0)]  # type: ignore[attr-defined]
    shares[1].value.args[1] = count  # type: ignore[attr-defined]
    definition.body[place] = ast.copy_location(shares[1], loop)

    scope: dict[str, Any] = {}
    namespace = {**function.__globals__, "_launch": launch}
    module = ast.fix_missing_locations(ast.Module([task, definition], []))
    exec(compile(module, function.__code__.co_filename, "exec"), namespace, scope)
    namespace[task.name] = inner(scope[task.name], options, LoopCompiler)
    split: Callable[..., Any] = scope[function.__name__]
    return split


class _SplittingCompiler(KernelCompiler):
    """Compiles a parallel kernel after its loop has been split off; not needed where it is loaded from disk.

    A kernel of another form is left to Numba's transformation.
    """

    _split: Callable[..., Any] | None = None

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        if self._split is None:
            try:
                self._split = split_loop(self.py_func, self.targetoptions)
            except TypeError:
                self._split = self.py_func
                self.targetoptions = {**self.targetoptions, "parallel": True}
        return super()._compile_core(args, return_type)

    def _get_implementation(self, args: Any, kws: Any) -> Callable[..., Any]:
        assert self._split is not None
        return self._split


class ParallelKernel(Kernel):
    """A jitted function with a `prange` loop."""

    function_compiler = _SplittingCompiler


_one_at_a_time = threading.Lock()


class GuardedKernel(ParallelKernel):
    """A parallel kernel for a threading layer that ends the process when two threads launch kernels at once."""

    def __call__(self, *arguments: Any) -> Any:
        """Run, after the kernels of other threads."""
        with _one_at_a_time:
            return super().__call__(*arguments)


def _unlock_in_child() -> None:
    global _one_at_a_time
    _one_at_a_time = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_in_child)  # the thread that holds it does not exist there
