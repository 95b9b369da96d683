"""The pool of memory for large arrays, and its sets of ranges."""

import gc
import os
import pathlib
import pickle
import random
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from lucid_kernels.cpu.runtime import allocator
from lucid_kernels.cpu.runtime.allocator import SMALLEST, Pool, empty
from lucid_kernels.cpu.runtime.free_list import Ranges

KERNELS = pathlib.Path(__file__).parents[4] / "kernels"
MIB = 1 << 20


@pytest.fixture
def pool():
    made = Pool(limit=64 * MIB)
    array = made.empty((SMALLEST,), np.uint8)
    if made.count().allocated == 0:
        pytest.skip("no pool on this system")
    del array
    made.empty_cache()
    return made


def test_ranges_against_a_set_of_numbers():
    ranges, numbers, rng = Ranges(), set(), random.Random(0)
    for _ in range(2000):
        start = rng.randrange(200)
        stop = start + rng.randrange(1, 12)
        part = set(range(start, stop))
        if not part & numbers:
            ranges.add(start, stop)
            numbers |= part
        elif part <= numbers:
            whole = max(first for first, _ in ranges if first <= start)
            ranges.remove(whole, start, stop)
            numbers -= part
        listed = list(ranges)
        assert {n for first, last in listed for n in range(first, last)} == numbers and ranges.total == len(numbers)
        assert len(ranges) == len(listed) and all(a[1] < b[0] for a, b in zip(listed, listed[1:], strict=False))
        fitting = [(last - first, first) for first, last in listed if last - first >= 5]
        assert ranges.smallest(5) == (min(fitting)[1] if fitting else None)
        assert all(ranges.before(last) == first for first, last in listed) and ranges.before(1000) == 1000


def test_an_array_is_as_any_other(pool):
    x = pool.empty((512, 1024), np.float32)
    x[:] = np.arange(1024)
    assert x.base is None and x.flags.owndata and x.flags.c_contiguous and x.flags.writeable
    assert x[3:].base is x and x[3:][2:].base is x and x.T.base is x
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), x)
    np.testing.assert_array_equal(np.from_dlpack(x), x)
    assert pool.empty((MIB,), np.float16).dtype == np.float16 and pool.empty((2, 0), np.int64).shape == (2, 0)


def test_memory_is_used_again_when_the_last_view_has_died(pool):
    x = pool.empty((4 * MIB,), np.uint8)
    address = x.ctypes.data
    keepers = [x[5:], memoryview(x), x.reshape(4, -1).T, np.from_dlpack(x), np.ndarray((3,), np.uint8, buffer=x)]
    del x
    while keepers:
        assert pool.count().allocated == 4 * MIB
        assert pool.empty((4 * MIB,), np.uint8).ctypes.data != address
        keepers.pop()
    assert pool.count().allocated == 0
    assert pool.empty((4 * MIB,), np.uint8).ctypes.data == address


def test_arrays_that_live_never_share(pool):
    rng, live = random.Random(1), []
    for number in range(400):
        if live and rng.random() < 0.5:
            array, value = live.pop(rng.randrange(len(live)))
            assert (array == value).all()
        else:
            array = pool.empty((rng.randrange(1, 3 * MIB),), np.uint8)
            array[:] = number % 251
            live.append((array, number % 251))
    assert all((array == value).all() for array, value in live)
    counts = pool.count()
    assert counts.allocated >= sum(array.nbytes for array, _ in live) and counts.hits and counts.misses
    del array
    live.clear()
    assert pool.count().allocated == 0


def test_free_neighbours_serve_a_larger_array(pool):
    parts = [pool.empty((2 * MIB,), np.uint8) for _ in range(4)]
    first = parts[0].ctypes.data
    parts.clear()
    assert pool.empty((8 * MIB,), np.uint8).ctypes.data == first
    assert pool.empty((12 * MIB,), np.uint8).ctypes.data == first, "the free end grows into unused memory"
    assert pool.count().reserved == 12 * MIB


def test_the_part_of_a_size_that_was_freed_last_serves_first(pool):
    parts = [pool.empty((2 * MIB,), np.uint8) for _ in range(4)]
    third, second = parts[2].ctypes.data, parts[1].ctypes.data
    parts[2] = parts[1] = None
    assert pool.empty((2 * MIB - 5,), np.uint8).ctypes.data == second
    other = pool.empty((2 * MIB,), np.uint8)
    assert other.ctypes.data == second and pool.empty((2 * MIB,), np.uint8).ctypes.data == third


def test_an_array_that_cannot_be_made_costs_no_memory(pool):
    for shape, dtype, error in (((MIB,), "no dtype", TypeError), ((-MIB,), np.uint8, ValueError)):
        with pytest.raises(error):
            pool.empty(shape, dtype)
    assert pool.count().allocated == 0


def test_numpy_makes_its_own_arrays_elsewhere(pool):
    x = pool.empty((MIB,), np.uint8)
    x[:] = 1
    others = [np.empty((MIB,), np.uint8), np.zeros((MIB,), np.uint8), x.copy()]
    assert not any(np.may_share_memory(x, other) for other in others)
    with pytest.raises(ValueError, match="resize"):
        x.resize((2 * MIB,), refcheck=False)


def test_counts_and_peaks(pool):
    pool.reset_peaks()
    x, y = pool.empty((3 * MIB,), np.uint8), pool.empty((5 * MIB + 1,), np.uint8)
    assert pool.count()[:4] == (8 * MIB + (1 << 16),) * 4
    del y
    assert pool.count()[:2] == (3 * MIB, 8 * MIB + (1 << 16))
    assert pool.count().max_allocated == 8 * MIB + (1 << 16)
    pool.reset_peaks()
    assert pool.count().max_allocated == 3 * MIB
    pool.empty_cache()
    assert pool.count().reserved == x.nbytes
    pool.reset_peaks()
    assert pool.count().max_reserved == 3 * MIB


def test_the_limit(pool):
    arrays = [pool.empty((8 * MIB,), np.uint8) for _ in range(4)]
    pool.set_limit(10 * MIB)
    arrays.clear()
    assert pool.count().reserved == 10 * MIB
    pool.set_limit(0)
    assert pool.count().reserved == 0
    x = pool.empty((8 * MIB,), np.uint8)
    assert (x == 0).all(), "the pages went back to the system, which gives clear ones"


def test_during_an_exception(pool):
    def fail():
        x = pool.empty((MIB,), np.uint8)
        raise KeyError(x.shape)

    def fail_in_c():
        return [np.add(pool.empty((MIB,), np.float32), value) for value in (1, "x")]

    for _ in range(3):
        with pytest.raises(KeyError):
            fail()
        with pytest.raises(TypeError):
            fail_in_c()
        with pytest.raises(ZeroDivisionError):
            (lambda x: 1 / 0)(pool.empty((MIB,), np.uint8))
    assert pool.count().allocated == 0


def test_the_garbage_collector_frees_arrays(pool):
    class Cycle:
        pass

    for _ in range(50):
        cycle = Cycle()
        cycle.itself, cycle.array = cycle, pool.empty((MIB,), np.uint8)
    del cycle
    gc.collect()
    assert pool.count().allocated == 0


def test_a_finalizer_within_the_pool_gets_memory_elsewhere(pool):
    with pool._lock:
        x = pool.empty((MIB,), np.uint8)  # as from a finalizer that the garbage collector calls here
        with pytest.raises(RuntimeError, match="finalizer"):
            pool.count()
        del x
    assert pool.count().allocated == 0


def test_a_signal_handler_just_after_the_lock_was_taken_waits_for_nobody(pool):
    pool._lock._lock.acquire()
    try:
        x = pool.empty((MIB,), np.uint8)
        assert pool.count().allocated == x.nbytes
    finally:
        pool._lock._lock.release()


def test_threads(pool):
    errors = []

    def work(value):
        for _ in range(200):
            x = pool.empty((MIB + value,), np.uint8)
            x[::4096] = value
            if not (x[::4096] == value).all():
                errors.append(value)

    threads = [threading.Thread(target=work, args=(value,)) for value in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and pool.count().allocated == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fork():
    script = """if True:
        import os, numpy as np
        from lucid_kernels.cpu.runtime.allocator import POOL
        x, y = POOL.empty((4 << 20,), np.uint8), POOL.empty((4 << 20,), np.uint8)
        x[:], y[:] = 1, 2
        address = y.ctypes.data
        del y
        child = os.fork()
        z = POOL.empty((4 << 20,), np.uint8)
        assert z.ctypes.data == address
        z[:] = 3 if child else 4
        x[:] = 5 if child else 6
        if child:
            assert os.waitpid(child, 0)[1] == 0
        assert (z == (3 if child else 4)).all() and (x == (5 if child else 6)).all()
        """
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, env={**os.environ, "PYTHONPATH": str(KERNELS)})


def test_arrays_outlive_the_modules():
    script = """if True:
        import sys, numpy as np
        from lucid_kernels.cpu.runtime.allocator import POOL
        class Last:
            def __init__(self): self.x = POOL.empty((1 << 20,), np.float32); self.x[:] = 1
            def __del__(self): self.x += 1
        sys.last, np.last = Last(), Last()
        """
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": str(KERNELS)})


def test_without_a_pool(pool, monkeypatch):
    monkeypatch.setattr("lucid_kernels.cpu.runtime.allocator._area_size", lambda: 0)
    none = Pool(limit=MIB)
    x = none.empty((2 * MIB,), np.uint8)
    assert x.nbytes == 2 * MIB and none.count()[:4] == (0, 0, 0, 0)
    none.empty_cache()


def test_no_room_in_the_area(monkeypatch):
    monkeypatch.setattr("lucid_kernels.cpu.runtime.allocator._area_size", lambda: 8 * MIB)
    small = Pool(limit=MIB)
    arrays = [small.empty((3 * MIB,), np.uint8) for _ in range(4)]
    for number, array in enumerate(arrays):
        array[:] = number
    assert all((array == number).all() for number, array in enumerate(arrays)) and small.count().allocated < 9 * MIB


def test_no_memory_at_all(pool):
    with pytest.raises(MemoryError, match=r"\(1125899906842624,\)"):
        pool.empty((1 << 50,), np.float32)
    assert pool.count().allocated == 0


def test_only_large_arrays_come_from_the_pool():
    assert not weakref.getweakrefcount(empty((1000,), np.float32))
    assert not weakref.getweakrefcount(empty((SMALLEST - 1,), np.uint8))
    assert empty((), np.float64).shape == () and empty((3, 0), np.float32).size == 0


@pytest.mark.parametrize(("value", "expected"), [("1048576", "1048576"), ("much", "ValueError: LUCID_MEMORY_LIMIT")])
def test_the_limit_in_the_environment(value, expected):
    done = subprocess.run([sys.executable, "-c", "from lucid_kernels.cpu.runtime.allocator import POOL; print(POOL._limit)"],
                          capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(KERNELS), "LUCID_MEMORY_LIMIT": value})
    assert expected in done.stdout + done.stderr


def test_an_empty_limit_in_the_environment_is_none(monkeypatch):
    monkeypatch.delenv("LUCID_MEMORY_LIMIT", raising=False)
    expected = allocator._default_limit()
    for value, limit in (("", expected), ("0", 0)):
        monkeypatch.setenv("LUCID_MEMORY_LIMIT", value)
        assert allocator._default_limit() == limit
