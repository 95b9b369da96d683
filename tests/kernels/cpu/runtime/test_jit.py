"""How kernels are compiled: loops shared by threads, functions that only kernels call, errors in threads."""
from __future__ import annotations

import operator
import pathlib
import re
import signal
import sys
import threading
import weakref
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.elementwise import elementwise, ternary
from lucid_kernels.cpu.runtime import compiler, llvm_passes, parallel_loop, patches
from lucid_kernels.cpu.runtime import jit as runtime_jit
from lucid_kernels.cpu.runtime.compiler import InnerLibrary
from lucid_kernels.cpu.runtime.jit import jit, jit_parallel
from lucid_kernels.cpu.runtime.threads import THREADS
from numba.core import types
from numba.core.caching import NullCache


def _without_cache(kernel: Any) -> Any:
    """`kernel` as in a process that finds nothing on disk."""
    fresh = type(kernel)(kernel.py_func, targetoptions=kernel.targetoptions)
    fresh._cache = NullCache()
    return fresh


@jit
def _square(x: Any) -> Any:
    return x * x


@jit
def _squares(x: Any, y: Any, first: Any, last: Any) -> None:
    for i in range(first, last):
        y[i] = _square(x[i])


@jit_parallel
def _squares_parallel(x: Any, y: Any, pair: Any, flag: bool) -> Any:
    step = 3 + pair[0] * 0
    good = np.ones(1, np.bool_)
    for i in numba.prange((x.shape[0] + step - 1) // step):
        if flag and i == 1:
            good[0] = False
            continue
        _squares(x, y, i * step, min(x.shape[0], (i + 1) * step))
    return good[0]


@jit_parallel
def _sum_parallel(x: Any) -> int:
    total = 0
    for i in numba.prange(x.shape[0]):
        total += x[i]
    return total


@jit_parallel
def _allocate_parallel(sizes: Any) -> None:
    for i in numba.prange(sizes.shape[0]):
        np.empty(sizes[i], np.float64)[0] = 1


@jit_parallel
def _square_rows(x: Any) -> Any:
    result = np.zeros(x.shape, x.dtype)
    for i in numba.prange(x.shape[0]):
        _squares(x[i], result[i], 0, x.shape[1])
    return result


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("size", [0, 1, 2, 10, 1000])
def test_a_shared_loop_does_all_iterations(threads: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(THREADS, "value", threads)
    x, y = np.arange(size, dtype=np.float64), np.full(size, -1.0)
    assert _squares_parallel(x, y, (0, 1.5), False)
    assert np.array_equal(y, x**2)
    y = np.full(size, -1.0)
    assert _squares_parallel(x, y, (0, 1.5), True) == (size <= 3)
    skipped = (np.arange(size) >= 3) & (np.arange(size) < 6)
    assert np.array_equal(y, np.where(skipped, -1, x**2))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads_own_nothing_that_they_share(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays live as long as the caller holds them, though the threads count no references; and no longer."""
    monkeypatch.setattr(THREADS, "value", threads)
    x = np.arange(30000.0).reshape(300, 100)
    results = [_square_rows(x) for _ in range(20)]
    for result in results:
        np.testing.assert_array_equal(result, x**2)
    assert sys.getrefcount(x) == 2
    gone = weakref.ref(x)
    del x
    assert gone() is None


def test_a_loop_with_a_sum_is_left_to_numba() -> None:
    kernel = _without_cache(_sum_parallel)
    assert kernel(np.arange(100)) == 4950
    assert kernel._compiler.targetoptions["parallel"]


def test_want_of_memory_in_a_thread_is_an_error() -> None:
    _allocate_parallel(np.array([1, 2, 3]))
    with pytest.raises(RuntimeError, match="want of memory"):
        _allocate_parallel(np.array([1, 1 << 58, 1]))


def test_a_function_that_only_kernels_call_has_no_machine_code() -> None:
    x, y = np.arange(4.0), np.empty(4)
    _without_cache(_squares)(x, y, 0, 4)
    assert np.array_equal(y, x**2)
    compiled = next(iter(_square.inner.overloads.values()))  # type: ignore[attr-defined]
    assert isinstance(compiled.library, InnerLibrary)
    assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0
    assert _square(3.0) == 9 and _square.overloads  # type: ignore[attr-defined]  # from Python it is compiled as usual


@jit
def _fill_twice(x: Any, y: Any) -> None:
    _squares(x, y, 0, x.shape[0])
    _squares(y, y, 0, np.minimum(x, np.zeros(x.shape)).argmin() + 1)


def _unavailable(*arguments: Any) -> Any:
    raise RuntimeError("cannot schedule new futures after shutdown")


@pytest.mark.parametrize("small", [0, 1 << 30])
def test_functions_are_linked_before_or_after_they_are_optimised(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "SMALL", small)
    monkeypatch.setattr(_square, "inner", compiler.inner(_square.py_func, _square.targetoptions))  # type: ignore[attr-defined]
    monkeypatch.setattr(_squares, "inner", compiler.inner(_squares.py_func, _squares.targetoptions))  # type: ignore[attr-defined]
    x, y = np.array([2.0, 3.0, -1.0, 4.0]), np.empty(4)
    _without_cache(_fill_twice)(x, y)
    assert y.tolist() == [16, 81, 1, 16]

    @numba.njit
    def of_a_user(x: Any, y: Any) -> Any:  # links what the kernel has linked: a function of ours and some of Numba's
        _squares(x, y, 0, x.shape[0])
        return np.minimum(x, np.zeros(x.shape)).argmin(), y.sum()

    assert of_a_user(x, y) == (2, 30)


def _follow(places: Any, steps: int) -> Any:
    place = 0
    for _ in range(steps):
        place = places[place]
    return place


def _code(compiled: Any) -> str:
    library = compiled.library
    return str(library.own_module() if isinstance(library, InnerLibrary) else library._final_module)


def test_loops_that_llvm_may_unroll() -> None:
    """Those of `jit_unrolled` and of a user's functions, but no others."""
    places = np.array([2, 0, 1])
    for compile_function, forbidden in ((runtime_jit.jit_exact, True), (runtime_jit.jit_unrolled, False), (numba.njit, False)):
        function = compile_function(_follow)
        if not isinstance(function, compiler.Kernel):
            code = function
            assert function(places, 4) == 2
        else:
            code = function.inner
            code.compile((numba.typeof(places), numba.int64))
        (compiled,) = code.overloads.values()
        assert ("llvm.loop.unroll.runtime.disable" in _code(compiled)) == forbidden


def test_loops_that_compute_four_vectors_in_turn() -> None:
    """Those of `jit_interleaved`, where a kernel calls them."""
    array = numba.typeof(np.ones(3, np.float32))
    divisions = []
    for compile_function in (runtime_jit.jit_exact, runtime_jit.jit_interleaved):
        code = compile_function(elementwise.LOOPS["sigmoid"].serial.py_func).inner
        code.compile((array, array))
        (compiled,) = code.overloads.values()
        optimised = _code(compiled)
        lanes = [int(number) for number in re.findall(r"fdiv .*<(\d+) x float>", optimised)]
        divisions.append(lanes.count(max(lanes)))
    assert divisions[0] == 1
    assert divisions[1] >= 4  # with registers of 16 bytes, what is left has as wide vectors


def _sum_of_zeros(size: int) -> Any:
    return np.zeros((size, 2), np.int16).sum()


@pytest.mark.skipif(not patches.ENABLED, reason="LUCID_PATCHES=0")
def test_functions_of_numpy_have_no_machine_code_where_kernels_call_them(monkeypatch: pytest.MonkeyPatch) -> None:
    linked, compile_overload = [], vars(compiler)["_overload"]

    def overload(function: Any, options: dict[str, Any]) -> Any:
        linked.append(compile_overload(function, options))
        return linked[-1]

    monkeypatch.setattr(compiler, "_overload", overload)
    assert _without_cache(jit(_sum_of_zeros))(3) == 0
    compiled = [version for function in linked for version in function.overloads.values()]
    assert compiled and all(isinstance(version.library, InnerLibrary) for version in compiled)
    number = len(linked)
    assert numba.njit(_sum_of_zeros)(3) == 0 and len(linked) == number  # a function of a user has Numba's own


def _add_one(x: Any, y: Any) -> None:
    for i in numba.prange(x.shape[0]):
        y[i] = x[i] + 1


def _add_ones(x: Any, y: Any) -> None:
    for i in numba.prange(x.shape[0]):
        y[i] = x[i] + np.ones(3)[0]


def test_a_kernel_that_makes_no_arrays_counts_no_references() -> None:
    x, y = np.arange(5.0), np.empty(5)
    for allocates in (True, False):
        kernel = _without_cache(jit_parallel(_add_one, allocates))
        counts = sys.getrefcount(x), sys.getrefcount(y)
        kernel(x, y)
        afterwards = sys.getrefcount(x), sys.getrefcount(y)
        assert afterwards == counts and y.tolist() == [1, 2, 3, 4, 5]
        (compiled,) = kernel.overloads.values()
        assert ("NRT" in compiled.library.get_llvm_str()) == allocates
    with pytest.raises(numba.TypingError, match="Only accept returning of array passed into the function"):
        jit_parallel(_add_ones, allocates=False)(x, y)


@jit
def _polynomial(x: Any, n: int) -> Any:
    return x * x * x + n * x * n // 2


@pytest.mark.skipif(not patches.ENABLED, reason="LUCID_PATCHES=0")
def test_operators_of_numbers_are_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each combination of types; and Numba is as it was afterwards."""
    resolved, resolve = [], types.BaseFunction.get_call_type

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        resolved.append((self.typing_key, *map(str, args)))
        return resolve(self, context, args, kws)

    monkeypatch.setattr(types.BaseFunction, "get_call_type", get_call_type)
    monkeypatch.setattr(patches, "_signatures", {})
    kernel = _without_cache(_polynomial)
    assert kernel(3.0, 2) == 33 and kernel(3, 2) == 33
    assert types.BaseFunction.get_call_type is get_call_type
    products = [kinds for operation, *kinds in resolved if operation is operator.mul]
    assert sorted(products) == [["float64", "float64"], ["float64", "int64"], ["int64", "float64"], ["int64", "int64"]]


def test_a_module_that_compiling_imports_may_compile(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba imports the module of a function that was made from text."""
    (tmp_path / "lucid_imported_late.py").write_text(
        "from lucid_kernels.cpu.runtime.jit import jit\n\n\n@jit\ndef double(x):\n    return 2 * x\n\n\nFOUR = double(2)\n")
    monkeypatch.syspath_prepend(tmp_path)
    scope: dict[str, Any] = {"__name__": "lucid_imported_late"}
    exec(compile("def triple(x):\n    return 3 * x\n", __file__, "exec"), scope)
    kernel = _without_cache(jit(scope["triple"]))
    try:
        assert kernel(2) == 6
        assert sys.modules["lucid_imported_late"].FOUR == 4
    finally:
        sys.modules.pop("lucid_imported_late", None)


def test_functions_are_optimised_on_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is a processor for it, and Python still starts threads; an error is that of the kernel that calls the function."""
    prepare, threads = llvm_passes.prepared, []

    def prepared(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        if broken:
            raise MemoryError
        return prepare(*arguments)

    def compiled_kernel() -> Any:
        for function in (_square, _squares):
            monkeypatch.setattr(function, "inner", compiler.inner(function.py_func, function.targetoptions))  # type: ignore[attr-defined]
        threads.clear()
        x, y = np.array([2.0, 3.0, -1.0, 4.0]), np.empty(4)
        kernel = _without_cache(_fill_twice)
        kernel(x, y)
        assert y.tolist() == [16, 81, 1, 16]
        return kernel

    broken = False
    monkeypatch.setattr(llvm_passes, "prepared", prepared)
    monkeypatch.setattr(llvm_passes, "available_cpus", lambda: 2)
    interval = sys.getswitchinterval()
    compiled_kernel()
    assert threads and threading.current_thread() not in threads
    assert not any(thread.is_alive() for thread in threads) and sys.getswitchinterval() == interval
    broken = True
    with pytest.raises(MemoryError):
        compiled_kernel()
    assert sys.getswitchinterval() == interval
    broken = False
    monkeypatch.setattr(llvm_passes, "available_cpus", lambda: 1)
    compiled_kernel()
    assert set(threads) == {threading.current_thread()}
    monkeypatch.setattr(llvm_passes, "available_cpus", lambda: 2)
    monkeypatch.setattr(llvm_passes.ThreadPoolExecutor, "submit", _unavailable)
    compiled_kernel()
    assert set(threads) == {threading.current_thread()}


def _two_loops(x: Any) -> None:
    for i in numba.prange(3):
        x[i] = 0
    for i in numba.prange(3):
        x[i] = 1


def _no_top_level(x: Any) -> None:
    if x.shape[0]:
        for i in numba.prange(3):
            x[i] = 0


def _shares_a_name(x: Any) -> Any:
    last = 0
    for i in numba.prange(3):
        last = x[i]
    return last


def _uses_it_later(x: Any) -> Any:
    for i in numba.prange(3):
        last = x[i]
    last = 3
    return last


def _counts_from_one(x: Any) -> None:
    for i in numba.prange(1, 3):
        x[i] = 0


@pytest.mark.parametrize(("function", "message"), [
    (_two_loops, "one prange loop"), (_no_top_level, "top level"), (_shares_a_name, "assigns to last"),
    (_uses_it_later, "assigns to last"), (_counts_from_one, "counts from 0")])
def test_other_forms_of_loops_are_named(function: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"{function.__name__}: .*{message}"):
        parallel_loop.split_loop(function, {})


def test_a_guarded_kernel_waits_for_its_turn() -> None:
    guarded = parallel_loop.GuardedKernel(_squares_parallel.py_func, targetoptions={"nopython": True})  # type: ignore[attr-defined]
    x, y = np.arange(9.0), np.empty(9)
    done = threading.Event()
    worker = threading.Thread(target=lambda: (guarded(x, y, (0, 1.5), False), done.set()))
    with parallel_loop._one_at_a_time:
        worker.start()
        assert not done.wait(0.2)
    worker.join()
    assert done.is_set() and np.array_equal(y, x**2)


@pytest.mark.skipif(not patches.ENABLED, reason="LUCID_PATCHES=0")
def test_numba_disable_jit_is_for_the_functions_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    x, y = np.arange(9.0), np.empty(9)
    kernel = _without_cache(runtime_jit.jit_parallel(_squares_parallel.py_func))  # type: ignore[attr-defined]
    kernel(x, y, (0, 1.5), False)
    assert np.array_equal(y, x**2) and len(kernel.overloads) == 1
    assert numba.config.DISABLE_JIT
    assert numba.njit(_two_loops) is _two_loops


@pytest.mark.skipif(not patches.ENABLED, reason="LUCID_PATCHES=0")
def test_the_compiler_runs_with_room_for_its_frames() -> None:
    """At some depth of a recursion each call maps memory for its frame, and unmaps it; with room for them at none."""
    resource = pytest.importorskip("resource")

    def called(number: int) -> int:
        return number

    def calls_at(depth: int) -> int:
        if depth:
            return calls_at(depth - 1)
        total = 0
        for number in range(1000):
            total += called(number)
        return total

    def page_faults() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    before = page_faults()
    assert patches.with_large_stack(lambda deepest: [calls_at(depth) for depth in range(deepest)], 300) == [499500] * 300
    assert page_faults() - before < 900
    with pytest.raises(ZeroDivisionError):
        patches.with_large_stack(lambda number: 1 // number, 0)


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="Python runs handlers in the main thread")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(getattr(signal, "SIGRTMIN", 0) + 1, id="real-time")])
def test_handlers_of_signals_run_after_the_compiler(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    if number not in signal.valid_signals():
        pytest.skip("no such signal on this system")
    kernel, with_room, compiled = _without_cache(_polynomial), patches.with_large_stack, []

    def interrupted(function: Any, argument: Any) -> Any:
        signal.raise_signal(number)
        compiled.append(with_room(function, argument))
        return compiled[-1]

    monkeypatch.setattr(patches, "with_large_stack", interrupted)
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            kernel(3.0, 2)
        assert len(compiled) == 1 and signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
    assert kernel(3.0, 2) == 33 and len(compiled) == 1
    worker = threading.Thread(target=lambda: kernel(3, 2))  # which no handler interrupts, and which may set none
    monkeypatch.setattr(patches, "with_large_stack", with_room)
    worker.start()
    worker.join()
    assert len(kernel.signatures) == 2


def test_read_only_arrays_need_no_kernels_of_their_own() -> None:
    x = np.arange(5.0)
    x.flags.writeable = False
    kernel, y = _without_cache(_squares), np.zeros(5)
    kernel(x, y, 0, 2), kernel(x + 1, y, 2, 4), kernel(x, y, 4, 5)
    assert y.tolist() == [0, 1, 9, 16, 16] and len(kernel.signatures) == 1


def test_a_read_only_out_is_refused() -> None:
    x = np.zeros(5, np.float32)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ternary.lerp(x + 1, x + 2, 0.5, out=x)
    assert not x.any()
