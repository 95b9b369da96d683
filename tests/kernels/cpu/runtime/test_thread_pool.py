"""The thread pool runs parallel loops: each iteration once, on all threads, asleep without work, in children of a fork."""
from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.runtime import thread_pool, threads
from lucid_kernels.cpu.runtime.jit import jit_parallel

pytestmark = pytest.mark.skipif(not thread_pool.AVAILABLE or threads.available_cpus() == 1, reason="needs Linux and two processors")
_LOOKS = 1 << 30  # at a flag, some seconds


@jit_parallel
def count(visits: Any, n: int) -> None:
    for i in numba.prange(n):
        visits[i] += 1


@jit_parallel
def meet(flags: Any, address: int, n: int) -> None:
    """Each of two iterations waits until the other one has begun, and says whether it has within n looks."""
    for i in numba.prange(2):
        thread_pool._store(address + 64 * i, np.int64(1))
        looks = 0
        while thread_pool._load(address + 64 * (1 - np.int64(i))) == 0 and looks < n:
            looks += 1
        flags[8 * i + 1] = looks < n


@pytest.fixture(autouse=True)
def same_number_afterwards() -> Iterator[None]:
    before = threads.get_num_threads()
    threads.set_num_threads(2)
    yield
    threads.set_num_threads(before)


def meeting() -> bool:
    """Whether two iterations ran at the same time."""
    flags = np.zeros(16, np.int64)
    meet(flags, flags.ctypes.data, _LOOKS)
    return bool(flags[1] and flags[9])


@pytest.mark.parametrize("by_pool", [True, False])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 64, 1000])
def test_each_iteration_runs_once(n: int, by_pool: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where Numba's layer runs them, since the team is too small."""
    monkeypatch.setattr(thread_pool._started, "value", thread_pool._started.value if by_pool else 0)
    visits = np.zeros(n + 1, np.int64)
    for _ in range(200):
        count(visits, n)
    assert visits.tolist() == [200] * n + [0]


def test_iterations_run_at_the_same_time() -> None:
    assert thread_pool._started.value >= 1
    for _ in range(50):
        assert meeting()


def test_threads_sleep_without_work_and_wake_up() -> None:
    for _ in range(3):
        assert meeting()
        time.sleep(0.05)
        before = time.process_time()
        time.sleep(0.3)
        assert time.process_time() - before < 0.1  # a thread that waits awake would have used 0.3 s


def test_no_more_threads_than_processors() -> None:
    threads.set_num_threads(64)
    assert thread_pool._started.value < threads.available_cpus()
    visits = np.zeros(100, np.int64)
    count(visits, 100)
    assert (visits == 1).all()


def test_where_no_thread_can_be_started_the_layer_runs_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(thread_pool._started, "value", 0)
    monkeypatch.setattr(thread_pool._thread, "start_new_thread", refuse)
    threads.set_num_threads(2)
    assert thread_pool._started.value == 0
    visits = np.zeros(100, np.int64)
    count(visits, 100)
    assert (visits == 1).all()


def test_a_busy_pool_leaves_loops_to_the_layer() -> None:
    """Threads of the user's own: each gets its loops done, whoever has the team."""
    arrays = [np.zeros(1000 + number, np.int64) for number in range(4)]

    def work(visits: np.ndarray) -> None:
        for _ in range(500):
            count(visits, len(visits))

    workers = [threading.Thread(target=work, args=(visits,)) for visits in arrays]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all((visits == 500).all() for visits in arrays)


_CHILD = """
import os
from lucid_kernels.cpu.runtime import thread_pool as _team
from tests.kernels.cpu.runtime.test_thread_pool import count, meeting, np, threads
threads.set_num_threads(2)
assert meeting()
for turn in range(5):
    if (child := os.fork()) == 0:
        started = _team._started.value
        visits = np.zeros(300, np.int64)
        count(visits, 300)
        threads.set_num_threads(2)
        os._exit(0 if started == 0 and (visits == 1).all() and _team._started.value == 1 and meeting() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert meeting()
print("good")
"""


def test_a_child_has_no_threads_until_it_asks_for_them() -> None:
    done = subprocess.run([sys.executable, "-c", _CHILD], capture_output=True, text=True, timeout=200,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(["kernels", "."])})
    assert done.stdout.strip() == "good", done.stderr


_MANY = """
import pathlib, time
from lucid_kernels.cpu.runtime import thread_pool as _team
_team.available_cpus = lambda: 64  # more than there are: they take turns
from tests.kernels.cpu.runtime.test_thread_pool import count, np, threads
threads.set_num_threads(8)
assert _team._started.value == 7


def switches():
    tasks = pathlib.Path("/proc/self/task").iterdir()
    return {task.name: (task / "status").read_text().split("\\nvoluntary_ctxt_switches:")[1].split()[0] for task in tasks}


for n in (1, 2, 3, 5, 8, 9, 100, 1000):
    visits = np.zeros(n, np.int64)
    for turn in range(60):
        count(visits, n)
        if turn % 20 == 0:
            time.sleep(0.02)
    assert (visits == 60).all()
time.sleep(0.3)
before, visits = switches(), np.zeros(2, np.int64)
for turn in range(30):
    count(visits, 2)
    time.sleep(0.01)
after = switches()
print(sum(after[task] != before[task] for task in before))
"""


def test_threads_without_a_part_go_on_sleeping() -> None:
    """Eight threads run loops of any length; one of two iterations wakes one of the seven."""
    done = subprocess.run([sys.executable, "-c", _MANY], capture_output=True, text=True, timeout=200,
                          env={**os.environ, "NUMBA_NUM_THREADS": "8", "PYTHONPATH": os.pathsep.join(["kernels", "."])})
    assert done.stdout.strip() in ("1", "2"), done.stderr
