"""DataLoader with worker processes."""
from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import data

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tests look at POSIX processes")


class Samples(data.Dataset[Any]):
    """Arrays, numbers and strings."""

    def __len__(self) -> int:
        return 11

    def __getitem__(self, index: int) -> Any:
        return {"x": np.full(2, index, np.float32), "y": index, "name": str(index)}


class Failing(data.Dataset[int]):
    def __init__(self, error: type[Exception] = ValueError) -> None:
        self.error = error

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> int:
        if index == 3:
            raise self.error("sample three is bad")
        return index


class Picky(Exception):
    """Cannot be made from a message."""

    def __init__(self, message: str, code: int = 0) -> None:
        if "Caught" in message:
            raise TypeError("no")
        super().__init__(message)


class Share(data.IterableDataset[int]):
    """Each worker yields its part."""

    def __iter__(self) -> Iterator[int]:
        info = data.get_worker_info()
        assert info is not None and info.dataset is self
        return iter(range(info.id, 10, info.num_workers))


class Randomness(data.Dataset[Any]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        info = data.get_worker_info()
        assert info is not None
        assert lucid.initial_seed() == info.seed
        return [lucid.rand(1).item(), random.random(), float(np.random.rand())]


class OnGpu(data.Dataset[Any]):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> lucid.Tensor:
        return lucid.ones(2).to("gpu")


class Environment(data.Dataset[Any]):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Any:
        return str(lucid.ones(1).device), str(lucid.ones(1).dtype), "cupy" in sys.modules, os.getpid()


class Slow(data.Dataset[int]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        time.sleep(30)
        return index


class Dying(data.Dataset[int]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        os._exit(7)


class Unpicklable(data.Dataset[int]):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Any:
        return lambda: index


def first_of(batch: list[Any]) -> Any:
    return batch[0]


def fail_to_start(worker: int) -> None:
    raise OSError(f"worker {worker} has no disk")


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


def test_batches_come_in_order() -> None:
    expected = [data.default_collate([Samples()[i] for i in range(start, min(start + 3, 11))]) for start in (0, 3, 6, 9)]
    got = list(data.DataLoader(Samples(), 3, num_workers=2))
    assert [batch["name"] for batch in got] == [batch["name"] for batch in expected]
    for ours, theirs in zip(got, expected, strict=True):
        for key in ("x", "y"):
            assert ours[key].tolist() == theirs[key].tolist() and ours[key].dtype == theirs[key].dtype


def test_shuffle_does_not_depend_on_workers() -> None:
    orders = []
    for workers in (0, 1, 2):
        loader = data.DataLoader(data.TensorDataset(lucid.arange(11)), 4, shuffle=True, num_workers=workers,
                                 generator=lucid.Generator().manual_seed(5))
        orders.append([[batch[0].tolist() for batch in loader] for _ in range(2)])
    assert orders[0] == orders[1] == orders[2]


def test_persistent_workers() -> None:
    loader = data.DataLoader(Environment(), None, sampler=[0] * 6, num_workers=2, persistent_workers=True)
    processes = set()
    for epoch in range(3):
        for number, (*_, process) in enumerate(loader):
            processes.add(process)
            if epoch == 1 and number == 1:
                break  # what the workers still send belongs to no epoch
        else:
            assert number == 5
    assert len(processes) == 2 == len(multiprocessing.active_children())
    del loader


def test_an_error_in_a_worker() -> None:
    batches = iter(data.DataLoader(Failing(), 2, num_workers=2))
    assert next(batches).tolist() == [0, 1]
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 1") as caught:
        next(batches)
    assert "in __getitem__" in str(caught.value) and "sample three is bad" in str(caught.value)
    assert next(batches).tolist() == [4, 5]
    with pytest.raises(StopIteration):
        next(batches)


@pytest.mark.parametrize(("error", "raised"), [(KeyError, KeyError), (Picky, RuntimeError)])
def test_classes_of_errors(error: type[Exception], raised: type[Exception]) -> None:
    with pytest.raises(raised, match=f"(?s)Caught {error.__name__} in DataLoader worker.*sample three is bad"):
        list(data.DataLoader(Failing(error), 2, num_workers=1))


def test_an_error_in_worker_init_fn() -> None:
    with pytest.raises(OSError, match="worker 0 has no disk"):
        list(data.DataLoader(Samples(), 2, num_workers=1, worker_init_fn=fail_to_start))


def test_a_batch_that_cannot_be_sent() -> None:
    with pytest.raises(Exception, match="Caught .* in DataLoader worker process 0"):
        list(data.DataLoader(Unpicklable(), 1, num_workers=1, collate_fn=first_of))


def test_functions_that_cannot_be_sent() -> None:
    with pytest.raises(RuntimeError, match="cannot send the dataset, collate_fn or worker_init_fn"):
        list(data.DataLoader(Samples(), 2, num_workers=2, collate_fn=lambda batch: batch))


def test_iterable_dataset() -> None:
    got = [batch.tolist() for batch in data.DataLoader(Share(), 2, num_workers=3)]
    assert got == [[0, 3], [1, 4], [2, 5], [6, 9], [7], [8]]
    assert sorted(data.DataLoader(Share(), None, num_workers=2)) == list(range(10))


def test_random_numbers() -> None:
    def draw(seed: int) -> Any:
        lucid.manual_seed(seed)
        return [[column.tolist() for column in batch] for batch in data.DataLoader(Randomness(), 2, num_workers=2)]

    first = draw(0)
    assert first == draw(0) != draw(1)
    assert first[0] != first[1]  # each worker has a seed of its own


def test_workers_never_touch_a_gpu(device: str) -> None:
    if device == "cpu":
        pytest.skip("about the other device")
    with pytest.raises(RuntimeError, match="must not touch a GPU"):
        list(data.DataLoader(OnGpu(), 2, num_workers=1))
    held = data.TensorDataset(lucid.ones(4, device=device))
    with pytest.raises(RuntimeError, match=r"cannot send a tensor on gpu:0 to a worker process.*\.to\(device\)"):
        list(data.DataLoader(held, 2, num_workers=1))
    assert len(list(data.DataLoader(held, 2))) == 2
    lucid.set_default_device(device)
    try:
        where, _, cupy, _ = next(iter(data.DataLoader(Environment(), None, num_workers=1)))
    finally:
        lucid.set_default_device(None)
    assert (where, cupy) == ("cpu", False)


def test_workers_know_the_default_dtype() -> None:
    lucid.set_default_dtype(lucid.float64)
    try:
        _, dtype, *_ = next(iter(data.DataLoader(Environment(), None, num_workers=1)))
    finally:
        lucid.set_default_dtype(lucid.float32)
    assert dtype == "float64"


def test_leaving_a_loop_early() -> None:
    for _ in data.DataLoader(Samples(), 1, num_workers=2):
        assert len(multiprocessing.active_children()) == 2
        break
    assert multiprocessing.active_children() == []


def test_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lucid.data.workers.GRACE", 0.2)
    with pytest.raises(RuntimeError, match=r"timed out after 0\.3 seconds"):
        list(data.DataLoader(Slow(), 1, num_workers=1, timeout=0.3))


def test_a_worker_that_dies() -> None:
    with pytest.raises(RuntimeError, match=r"DataLoader worker \d \(pid \d+\) exited unexpectedly with exit code 7"):
        list(data.DataLoader(Dying(), 1, num_workers=2))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_start_methods(method: str) -> None:
    loader = data.DataLoader(data.TensorDataset(lucid.arange(5)), 2, num_workers=2, multiprocessing_context=method)
    assert [batch[0].tolist() for batch in loader] == [[0, 1], [2, 3], [4]]


def test_large_batches_do_not_block() -> None:
    """Tasks and replies that are larger than a pipe's buffer."""
    wanted = list(range(200_000))
    dataset = data.TensorDataset(lucid.arange(200_000))
    loader = data.DataLoader(dataset, num_workers=1, batch_sampler=[wanted] * 6)
    assert [len(batch[0]) for batch in loader] == [200_000] * 6


def test_a_script_without_a_main_guard_is_told_so(tmp_path: Any) -> None:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent("""
        import lucid
        from lucid import data
        for batch in data.DataLoader(data.TensorDataset(lucid.arange(4)), 2, num_workers=1):
            print(batch)
    """))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=60,
                            check=False)
    assert result.returncode == 1 and "if __name__ == '__main__':" in result.stderr
