"""Results of planned GPU operations: memory that is used again, of arrays that nobody holds, in each stream and thread."""
from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import backends
from lucid.backends.gpu_probe import gpu_problem

if gpu_problem() is not None:
    pytest.skip(str(gpu_problem()), allow_module_level=True)

gpu = backends.gpu_module()

import cupy  # noqa: E402 - the simulator's, once the backend is there
from lucid_kernels.cuda.runtime import plans, recycling  # noqa: E402

pytestmark = pytest.mark.skipif(not plans.ENABLED, reason="LUCID_GPU_PLANS=0")


def planned_relu() -> Any:
    """The entry of the table, once it is no more the one that imports the kernel."""
    gpu.TABLE["relu"](cupy.zeros((3,), np.float32))
    return gpu.TABLE["relu"]


def test_a_result_that_somebody_holds_is_never_written() -> None:
    entry = planned_relu()
    xs = [cupy.full((5,), number, np.float32) for number in range(40)]
    results = [entry(x) for x in xs]
    for number, y in enumerate(results):
        assert (y.get() == number).all()


@pytest.mark.parametrize("hold", [
    lambda y: y[1:], lambda y: y.reshape(1, 5), lambda y: y.data, lambda y: y.data.mem,
    lambda y: cupy.ndarray((2,), np.float32, y.data), lambda y: cupy.from_dlpack(y)],
    ids=["slice", "reshape", "pointer", "memory", "array", "dlpack"])
def test_whatever_holds_the_memory_keeps_it(hold: Callable[[Any], Any]) -> None:
    entry = planned_relu()
    x = cupy.full((5,), 1, np.float32)
    entry(x)
    y = entry(x)
    address, held = y.data.ptr, hold(y)
    del y
    others = [entry(x) for _ in range(3)]
    assert address not in [other.data.ptr for other in others]
    del held, others
    assert address in [other.data.ptr for other in [entry(x) for _ in range(recycling._MOST)]]


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Rings that are empty, and hold 32 arrays of up to 512 bytes."""
    plans.forget()
    monkeypatch.setattr(recycling, "LIMIT", 32 * 512)
    monkeypatch.setattr(recycling, "_rings", {})
    yield recycling.LIMIT
    plans.forget()


def test_rings_keep_no_more_bytes_than_the_limit(small_limit: int) -> None:
    entry = planned_relu()
    most = 0
    for count in range(1, 65):
        x = cupy.zeros((count,), np.float32)
        kept = [entry(x) for _ in range(8)]
        del kept
        most = max(most, recycling._held)
        assert recycling._held <= small_limit
        assert recycling.idle(0) <= small_limit
    assert most == small_limit
    large = cupy.zeros((200,), np.float32)  # above a 32nd of the limit
    before = recycling._held
    entry(large), entry(large)
    assert recycling._held == before
    recycling.forget()
    assert recycling.idle(0) == 0


def test_full_rings_keep_what_they_have_for_a_while(small_limit: int) -> None:
    entry = planned_relu()
    first, second = (cupy.zeros((count,), np.float32) for count in (5, 6))
    entry(second)
    kept = [entry(first) for _ in range(33)]
    held = {y.data.ptr for y in kept[1:]}
    del kept
    for _ in range(20):  # found no room
        entry(second)
    assert {y.data.ptr for y in [entry(first) for _ in range(32)]} == held
    for _ in range(recycling._PATIENCE * 32):
        entry(second)
    assert recycling.idle(0) == 512  # the rings are those of the second shape now
    address = entry(second).data.ptr
    assert entry(second).data.ptr == address


def test_memory_allocated_does_not_count_free_arrays(uncollected: None) -> None:
    plans.forget()
    x = lucid.ones(1000, device="gpu")
    lucid.relu(x), lucid.relu(x)
    before = lucid.gpu.memory_allocated()
    y = lucid.relu(x)
    assert lucid.gpu.memory_allocated() == before + 4096
    del y
    assert lucid.gpu.memory_allocated() == before
    lucid.gpu.empty_cache()
    assert recycling.idle(0) == 0


def test_free_arrays_make_room_before_memory_runs_out() -> None:
    gc.collect()
    entry = planned_relu()
    x = cupy.zeros((1 << 18,), np.float32)
    kept = [entry(x) for _ in range(6)]
    del kept
    assert recycling.idle(0) >= 4 << 20
    pool = gpu.memory.POOL.pool
    pool.set_limit(size=pool.used_bytes() + (1 << 20))
    try:
        assert cupy.empty((1 << 20,), np.float32).size
        with pytest.raises(MemoryError):
            cupy.empty((1 << 22,), np.float32)
    finally:
        pool.set_limit(size=0)


def test_each_stream_has_its_arrays() -> None:
    entry = planned_relu()
    x = cupy.full((5,), 2, np.float32)
    entry(x), entry(x)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        entry(x)
        other = entry(x).data.ptr
    assert other not in [y.data.ptr for y in [entry(x) for _ in range(4)]]


def test_a_captured_call_takes_no_array_that_is_used_again() -> None:
    entry = planned_relu()
    x = cupy.full((5,), 2, np.float32)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()  # such a stream does not wait for the default one
    with stream:
        entry(x)
        free = entry(x).data.ptr
        stream.begin_capture()
        y = entry(x)
        graph = stream.end_capture()
        assert y.data.ptr != free
        x.fill(3)
        graph.launch()
        assert (y.get() == 3).all()  # in this stream: the default one does not wait for it


def test_another_allocator_is_asked() -> None:
    entry = planned_relu()
    x = cupy.full((5,), 2, np.float32)
    entry(x), entry(x)
    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        y = entry(x)
        assert pool.used_bytes() > 0
    assert (y.get() == 2).all()


def test_threads_get_arrays_of_their_own() -> None:
    entry = planned_relu()
    xs = [cupy.full((7,), number, np.float32) for number in range(4)]
    right: list[int] = []

    def work(number: int) -> None:
        for _ in range(30):
            y = entry(xs[number])
            z = entry(y)
            assert (y.get() == number).all()
            assert (z.get() == number).all()
        right.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(right) == [0, 1, 2, 3]
