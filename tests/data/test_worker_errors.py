"""What cannot reach a worker process or come back from it raises, says what to do, and never waits forever."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import lucid
from lucid import data

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tests look at POSIX processes")
ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = """
from lucid.data import DataLoader, Dataset
class Numbers(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return index
if __name__ == "__main__":
    try:
        print([batch.tolist() for batch in DataLoader(Numbers(), 2, num_workers=1, timeout=30, {options})])
    except RuntimeError as error:
        print(error)
"""
NOTEBOOK = "import sys, types\nsys.modules['__main__'] = main = types.ModuleType('__main__')\nexec({program!r}, main.__dict__)"


def run(kind: str, options: str, tmp_path: pathlib.Path) -> str:
    program = PROGRAM.format(options=options)
    arguments: dict[str, list[str]] = {"command": ["-c", program], "input": ["-"], "notebook": [str(tmp_path / "kernel.py")]}
    (tmp_path / "kernel.py").write_text(NOTEBOOK.format(program=program))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "kernels")])}
    found = subprocess.run([sys.executable, *arguments[kind]], input=program if kind == "input" else "", env=environment, timeout=60,
                           check=False, text=True, capture_output=True)
    return found.stdout + found.stderr


@pytest.mark.parametrize("kind", ["command", "input", "notebook"])
def test_programs_that_workers_cannot_import(kind: str, tmp_path: pathlib.Path) -> None:
    told = run(kind, "", tmp_path)
    assert "a worker process cannot import" in told and "__main__':" not in told
    assert "into a module" in told and "multiprocessing_context='fork'" in told
    if kind == "input":  # what it says helps
        assert run(kind, "multiprocessing_context='fork'", tmp_path) == "[[0, 1], [2, 3]]\n"


# ---- pickles that cannot be read -----------------------------------------------------------------------------------
def _refuse(what: str, where: int) -> Any:
    if os.getpid() == where or where == 0:
        raise ValueError(f"cannot be read: {what}")
    return _Fragile(what, where)


class _Fragile:
    """Can be pickled, but not be read in the process `where`, 0 for any."""

    def __init__(self, what: str, where: int = 0) -> None:
        self.what, self.where = what, where

    def __reduce__(self) -> Any:
        return _refuse, (self.what, self.where)


class _Numbers(data.Dataset[Any]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: Any) -> Any:
        return index


class _Made(_Numbers):
    """A dataset that makes what only the process `where` cannot read."""

    def __init__(self, where: int) -> None:
        self.where = where

    def __getitem__(self, index: Any) -> Any:
        return _Fragile("batch", self.where) if index == 3 else index


class _Bad(_Numbers):
    def __reduce__(self) -> Any:
        return _refuse, ("dataset", 0)


class _Sampler(data.Sampler[Any]):
    def __init__(self, bad: Any) -> None:
        self.bad = bad

    def __iter__(self) -> Iterator[Any]:
        return iter([0, 1, 2, self.bad, 4, 5])

    def __len__(self) -> int:
        return 6


def outcomes(loader: Any, error: type[Exception] = ValueError, match: str = "cannot be read") -> list[Any]:
    """What a loader yields, the name of its error in the place of a batch that raised."""
    found: list[Any] = []
    batches = iter(loader)
    while True:
        try:
            found.append(next(batches))
        except StopIteration:
            return found
        except error as caught:
            assert match in str(caught)
            found.append("raised")


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_that_the_main_process_cannot_read(workers: int) -> None:
    """The batches before and after it come as ever."""
    loader = data.DataLoader(_Made(os.getpid()), batch_size=None, num_workers=workers, timeout=30, collate_fn=_same)
    assert outcomes(loader) == [0, 1, 2, "raised", 4, 5, 6, 7]


def _same(value: Any) -> Any:
    return value


@pytest.mark.parametrize("bad", [_Fragile("index"), lambda: None], ids=["cannot be read", "cannot be sent"])
def test_indices_that_a_worker_does_not_get(bad: Any) -> None:
    loader = data.DataLoader(_Numbers(), batch_size=None, sampler=_Sampler(bad), num_workers=1, timeout=30, collate_fn=_same)
    assert outcomes(loader, Exception, "read" if isinstance(bad, _Fragile) else "pickle") == [0, 1, 2, "raised", 4, 5]


def test_datasets_that_a_worker_cannot_read() -> None:
    loader = data.DataLoader(_Bad(), batch_size=4, num_workers=1, timeout=30)
    assert outcomes(loader) == ["raised", "raised"]


# ---- the end of a loop ---------------------------------------------------------------------------------------------
class _Stop(StopIteration):
    pass


class _Stopping(_Numbers):
    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def __getitem__(self, index: Any) -> Any:
        if index == 3:
            raise self.error("by mistake")
        return index


def _stop(batch: Any) -> Any:
    raise StopIteration("by mistake")


class _Stream(data.IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(4))


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("error", [StopIteration, _Stop])
def test_stop_iteration_does_not_end_the_loop(error: type[Exception], workers: int) -> None:
    """It would look as if there were no more samples."""
    with pytest.raises(RuntimeError, match="StopIteration|_Stop"):
        list(data.DataLoader(_Stopping(error), 2, num_workers=workers))
    for dataset in (_Numbers(), _Stream()):
        with pytest.raises(RuntimeError, match="StopIteration"):
            list(data.DataLoader(dataset, 2, num_workers=workers, collate_fn=_stop))
    assert [batch.tolist() for batch in data.DataLoader(_Stream(), 2, num_workers=workers)] == [[0, 1], [2, 3]]
    assert lucid.data.get_worker_info() is None
