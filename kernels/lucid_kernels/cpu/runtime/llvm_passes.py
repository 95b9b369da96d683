"""LLVM's optimisation of the functions that a kernel calls, on a thread of its own.

Numba's passes are Python, and half of the time to compile is LLVM's, which does not hold Python's lock: while one function is
optimised, Numba goes on with the next. On two processors a cold start of the digits net takes 0.89 of the time. Code is handed
over as text and as bitcode, and each function has a context of LLVM's of its own, so that nothing is shared.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from llvmlite.binding.ffi import lib
from numba.core import codegen as _codegen

from .threads import available_cpus

_numba: Any = _codegen
# The function of C itself: around it llvmlite holds a lock, for which Numba's passes would wait.
_run_passes: Any = getattr(lib.LLVMPY_RunNewModulePassManager, "_cfn", lib.LLVMPY_RunNewModulePassManager)
# Seconds after which a thread that runs Python lets another one go on. A job calls LLVM some twenty times, and would wait 5 ms
# for Numba's passes after each call.
_SWITCH_INTERVAL = 2e-4
_DEFINITION = re.compile(r'^define [^@]*@(?:"([^"]*)"|([^\s(]+))\(.*?^}', re.MULTILINE | re.DOTALL)

_pool: ThreadPoolExecutor | None = None  # while a kernel is compiled, which one thread does at a time


@contextlib.contextmanager
def beside() -> Iterator[None]:
    """What is submitted meanwhile runs on another thread, if there is a processor for it."""
    global _pool
    if _pool is not None or available_cpus() == 1:
        yield
        return
    interval = sys.getswitchinterval()
    with ThreadPoolExecutor(1, "lucid-compiler") as _pool:
        sys.setswitchinterval(min(interval, _SWITCH_INTERVAL))
        try:
            yield
        finally:
            sys.setswitchinterval(interval)
            _pool = None


def submit(job: Callable[[], Any]) -> Future[Any]:
    """Run `job`, after those that were submitted before, on the other thread if there is one."""
    if _pool is not None:
        with contextlib.suppress(RuntimeError):  # Python is ending, and starts no threads
            return _pool.submit(job)
    done: Future[Any] = Future()
    done.set_result(job())
    return done


def pass_managers(codegen: Any) -> Iterator[tuple[Any, Any]]:
    """(passes, builder) of all that optimises a module.

    Numba runs passes for each function, then lightly and then fully for the module. That took a fifth of LLVM's time, and made
    no kernel faster. References are counted less often where variables are in registers, which is all that has to be done before.
    """
    passes, builder = llvm.create_new_module_pass_manager(), codegen._pass_builder(opt=0)
    passes.add_simplify_cfg_pass()
    passes.add_sroa_pass()
    passes.add_refprune_pass(_numba._parse_refprune_flags())
    yield passes, builder
    yield codegen._module_pass_manager()
    # The vector versions of functions that loops call by now (`vector`).
    passes, builder = llvm.create_new_module_pass_manager(), codegen._pass_builder(opt=0)
    passes.add_always_inliner_pass()
    yield passes, builder


@functools.lru_cache(maxsize=1)
def _twin(codegen: Any) -> Any:
    """`codegen` for the other thread: with a description of the machine of its own, since LLVM's keeps what it has looked up."""
    options = {"opt": _numba.config.OPT}
    codegen._customize_tm_options(options)
    twin = copy.copy(codegen)
    twin._tm = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(**options)
    return twin


class Code(NamedTuple):
    """Code of functions that other code may link any number of times."""

    bitcode: bytes
    names: frozenset[str]  # of what it defines
    lines: int


def prepared(codegen: Any, sources: Iterable[str], linked: Iterable[bytes], optimised: bool) -> Code:
    """The functions in `sources`, with the code that is `linked` to them, and `optimised`."""
    context = llvm.create_context()
    module, *others = (llvm.parse_assembly(source, context) for source in sources)
    module.data_layout = codegen._data_layout
    for other in (*others, *(llvm.parse_bitcode(code, context) for code in linked)):
        module.link_in(other)
    module.verify()
    if optimised:
        for passes, builder in pass_managers(_twin(codegen)):
            _run_passes(passes, module, builder)
    names, lines = set(), 0
    for match in _DEFINITION.finditer(str(module)):
        name = match[1] or match[2]
        names.add(name)
        lines += match[0].count("\n") + 3  # LLVM prints a line before it, and one behind
        function = module.get_function(name)
        if function.linkage is llvm.Linkage.external:
            function.linkage = "linkonce_odr"
    return Code(module.as_bitcode(), frozenset(names), lines)
