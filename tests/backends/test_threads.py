"""The number of threads; forks and threads of the user's own."""
from __future__ import annotations

import multiprocessing
import os
import pathlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.runtime import threads

import lucid

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ("default", "workqueue")  # the first is TBB, unless there is a single CPU
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


@pytest.fixture(autouse=True)
def same_number_afterwards() -> Iterator[None]:
    before = lucid.get_num_threads()
    yield
    lucid.set_num_threads(before)


def run(code: str, layer: str = "default", **variables: str) -> str:
    """What `code` prints in a fresh interpreter whose kernels run on `layer`."""
    environment = {name: value for name, value in os.environ.items() if name not in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")}
    environment |= {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "kernels")]), **variables}
    if layer != "default":
        environment["NUMBA_THREADING_LAYER"] = layer
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_set_and_get() -> None:
    for number in (1, 3, np.int64(2)):
        lucid.set_num_threads(number)
        assert lucid.get_num_threads() == number and type(lucid.get_num_threads()) is int


@pytest.mark.parametrize("number", [0, -1, "a", 1.5, True, None, 2**40])
def test_refused_numbers_are_those_of_pytorch(number: Any) -> None:
    before = lucid.get_num_threads()
    with pytest.raises((RuntimeError, ValueError)) as ours:
        lucid.set_num_threads(number)
    assert lucid.get_num_threads() == before
    torch = pytest.importorskip("torch")
    with pytest.raises(ours.type):
        torch.set_num_threads(number)


@pytest.mark.parametrize(("variables", "expected"), [
    ({"NUMBA_NUM_THREADS": "3"}, 3), ({"OMP_NUM_THREADS": "5"}, 5), ({"OMP_NUM_THREADS": "4,2"}, 4),
    ({"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "5"}, 1)])
def test_variables_set_the_default(variables: dict[str, str], expected: int) -> None:
    assert run("import lucid; print(lucid.get_num_threads())", **variables) == str(expected)


def test_asking_imports_no_numba_and_the_number_reaches_kernels_and_blas() -> None:
    code = """
import sys, lucid
from lucid_kernels.cpu.matmul import openblas
lucid.set_num_threads(1)
assert 'numba' not in sys.modules
x = lucid.randn(1 << 20)
x.relu()
import numba
from lucid_kernels.cpu.runtime import threads
print(threads.THREADS.value, numba.get_num_threads(), openblas.one_thread._threads is None or openblas.one_thread._threads[0]())
"""
    assert run(code) in ("1 1 1", "1 1 True")


@pytest.mark.parametrize("number", [1, 2, 5])
def test_results_do_not_depend_on_the_number(number: int) -> None:
    lucid.manual_seed(1)
    x = lucid.randn(64, 33, 40, requires_grad=True)
    weight = lucid.randn(33)

    def results() -> list[np.ndarray]:
        y = lucid.nn.functional.batch_norm(x, None, None, weight, training=True).softmax(1)
        (gradient,) = lucid.autograd.grad(y.square().sum(), x)
        return [y.detach().numpy(), gradient.numpy(), lucid.dropout(lucid.ones(100_000), 0.5, True).numpy()]

    lucid.set_num_threads(2)
    lucid.manual_seed(2)
    expected = results()
    lucid.set_num_threads(number)
    lucid.manual_seed(2)
    for ours, theirs in zip(results(), expected, strict=True):
        assert np.array_equal(ours, theirs)


@needs_fork
@pytest.mark.parametrize("layer", LAYERS)
def test_a_child_computes_after_a_fork(layer: str) -> None:
    code = """
import os, lucid
x = lucid.randn(1 << 20)
a = lucid.randn(300, 300)
expected, product = x.relu().sum().item(), (a @ a).sum().item()
for turn in range(3):
    child = os.fork()
    if child == 0:
        good = x.relu().sum().item() == expected and abs((a @ a).sum().item() - product) < 1
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert x.relu().sum().item() == expected
print('good')
"""
    assert run(code, layer) == "good"


@needs_fork
def test_a_child_of_busy_threads_computes_on_one() -> None:
    """TBB's locks may be held by threads that the child does not have, as may the compiler's."""
    code = """
import os, threading, lucid
x, stop = lucid.ones(1 << 16), threading.Event()
def formula(terms):
    return lucid.fuse(eval('lambda x: x' + ' + x' * terms))(x)[0].item()
def work(number):
    while not stop.is_set():
        x.relu(), lucid.randn(4)
        if number == 0:
            work.terms += 1
            formula(work.terms)
work.terms = 10
formula(0), lucid.randn(4), x.relu()  # imports what they need: Python's locks for imports are not held in a fork
threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
[thread.start() for thread in threads]
for turn in range(1, 7):
    if (child := os.fork()) == 0:
        good = x.relu()[0].item() == 1 and formula(turn) == turn + 1 and len(lucid.randn(4)) == 4 and lucid.get_num_threads() == 1
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
[thread.join() for thread in threads]
print(lucid.get_num_threads())
"""
    assert run(code, NUMBA_NUM_THREADS="2").endswith("2")


def _sum_of_relu(seed: int) -> float:
    return lucid.from_numpy(np.random.default_rng(seed).standard_normal(1 << 18)).relu().sum().item()


@needs_fork
def test_processes_of_multiprocessing_compute_after_the_parent() -> None:
    expected = [_sum_of_relu(seed) for seed in range(4)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(_sum_of_relu, range(4)).get(120) == expected


@pytest.mark.parametrize("layer", LAYERS)
def test_several_threads_call_kernels_at_once(layer: str) -> None:
    code = """
import threading, numpy as np, lucid
x = [lucid.randn(300_000) for _ in range(4)]
expected = [a.relu().numpy().copy() for a in x]
wrong = []
def work(k):
    for turn in range(40):
        if not np.array_equal(x[k].relu().numpy(), expected[k]):
            wrong.append(k)
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(wrong)
"""
    assert run(code, layer) == "[]"


def test_several_threads_change_the_number_and_multiply() -> None:
    a = np.random.default_rng(0).standard_normal((200, 200))
    x, expected = lucid.from_numpy(a), a @ a
    errors = []

    def work(number: int) -> None:
        for _ in range(30):
            lucid.set_num_threads(number)
            if not np.allclose((x @ x).numpy(), expected):
                errors.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in (1, 2, 3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors
    lucid.set_num_threads(2)
    assert lucid.get_num_threads() == 2


def test_without_tbb_one_warning_says_what_to_install() -> None:
    code = """
import sys, warnings
from lucid_kernels.cpu.runtime import threads
threads.load_tbb, threads.affine_cpus = lambda: False, lambda: 2
threads.sys.platform, threads.platform.machine = 'linux', lambda: 'x86_64'
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter('always')
    import lucid
    lucid.randn(1 << 18).relu().tanh()
import numba
print(numba.threading_layer(), [str(w.message) for w in caught if 'pip install tbb' in str(w.message)].__len__())
"""
    assert run(code) == "workqueue 1"


_OWN_FUNCTION = """
import os, sys, warnings
import numba, numpy as np
{first}
@numba.njit(parallel=True)
def increment(x):
    for i in numba.prange(x.size):
        x[i] += 1
increment(np.ones(10))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import lucid
    x = lucid.ones(1 << 18)
    assert x.relu().sum().item() == 1 << 18
print(numba.threading_layer(), *[str(warning.message) for warning in caught])
"""


@needs_fork
@pytest.mark.parametrize("first", ["import lucid", "import lucid; lucid.set_num_threads(2)"])
def test_a_parallel_function_of_the_user_runs_on_the_same_layer(first: str) -> None:
    if threads.affine_cpus() == 1 or not threads.load_tbb():
        pytest.skip("kernels do not run on TBB")
    code = _OWN_FUNCTION.format(first=first) + """
if (child := os.fork()) == 0:
    os._exit(x.relu().sum().item() != 1 << 18)
assert os.waitpid(child, 0)[1] == 0
"""
    assert run(code) == "tbb"


def test_a_layer_that_numba_has_chosen_before_is_told() -> None:
    if threads.affine_cpus() == 1 or not threads.load_tbb():
        pytest.skip("kernels do not run on TBB")
    layer, *message = run(_OWN_FUNCTION.format(first="")).split(maxsplit=1)
    assert layer == "tbb" or "import lucid first" in message[0]


@needs_fork
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system cannot pin a process")
@pytest.mark.parametrize("variables", [{}, {"NUMBA_NUM_THREADS": "2"}, {"NUMBA_THREADING_LAYER": "tbb"}],
                         ids=["default", "two threads", "tbb"])
def test_on_a_single_cpu_a_process_that_has_forked_ends(variables: dict[str, str]) -> None:
    code = """
import os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import lucid
x = lucid.ones(1 << 18)
assert round(x.exp().log().sum().item()) == 1 << 18
if (child := os.fork()) == 0:
    sys.exit(x.relu().sum().item() != 1 << 18)
assert os.waitpid(child, 0)[1] == 0
print(x.relu().sum().item())
"""
    assert run(code, **variables) == str(float(1 << 18))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system cannot pin a process")
def test_tbb_on_a_single_cpu_is_refused_with_a_warning() -> None:
    code = """
import os, warnings
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import lucid
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    lucid.ones(1 << 18).relu()
print(*[str(warning.message) for warning in caught])
"""
    assert "NUMBA_THREADING_LAYER=tbb is not used on a single CPU" in run(code, "tbb")


def test_more_threads_than_the_workqueue_has_started() -> None:
    code = """
import lucid
for number in (1, 7, 2, 64):
    lucid.set_num_threads(number)
    print(number == lucid.get_num_threads() and lucid.ones(1 << 18).relu().sum().item())
"""
    assert set(run(code, "workqueue").split()) == {str(float(1 << 18))}
