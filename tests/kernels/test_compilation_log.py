"""What compiles for long says so: the first by a warning, the others at level INFO; LUCID_VERBOSE shows all of them or none."""
from __future__ import annotations

import logging
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from lucid_kernels import compilation_log
from lucid_kernels.cpu.runtime.jit import jit, jit_parallel

KERNELS = pathlib.Path(compilation_log.__file__).resolve().parents[1]


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, str]]]:
    """(level, message) of what is told, where everything takes longer than the limit."""
    told: list[tuple[int, str]] = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append((record.levelno, record.getMessage()))  # type: ignore[method-assign]
    logger = logging.getLogger("lucid")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    monkeypatch.setattr(compilation_log, "SECONDS", -1.0)
    monkeypatch.setattr(compilation_log, "_advised", False)
    monkeypatch.delenv("LUCID_VERBOSE", raising=False)
    yield told
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


@pytest.fixture
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of this file are compiled each time."""
    monkeypatch.setattr("lucid_kernels.cpu.runtime.cache.KernelCache.load_overload", lambda *arguments: None)
    monkeypatch.setattr("lucid_kernels.cpu.runtime.cache.KernelCache.save_overload", lambda *arguments: None)


def test_each_kernel_says_so_once(records: list[tuple[int, str]], nothing_kept: None) -> None:
    @jit
    def first(x):
        return x + 1

    @jit
    def second(x):
        return first(x) * 2

    for _ in range(2):
        assert second(1.0) == 4 and first(1.0) == 2
    (level, message), (later_level, later) = records
    assert level == logging.WARNING and later_level == logging.INFO
    assert message.startswith("compiling ") and ".second took " in message and "python -m lucid.warmup" in message
    assert ".first took " in later and "warmup" not in later


def test_parallel_kernels_too(records: list[tuple[int, str]], nothing_kept: None) -> None:
    import numba

    @jit_parallel
    def fill(x):
        for i in numba.prange(len(x)):
            x[i] = i

    x = np.zeros(4)
    fill(x)
    assert x.tolist() == [0, 1, 2, 3]
    assert [".fill took" in message for _, message in records] == [True]


def test_kernels_of_a_gpu_too(records: list[tuple[int, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    import lucid

    if not lucid.gpu.is_available():
        pytest.skip(lucid.gpu.why_unavailable())
    from lucid_kernels.cuda.runtime import launch

    monkeypatch.setattr(launch, "_kernels", {})
    for _ in range(2):  # asked for by name: an operation may have a plan that needs no kernel any more
        launch.kernel("elementwise", "binary<float, Remainder>")
    assert ["compiling elementwise.cu took" in message for _, message in records] == [True]


@pytest.mark.parametrize("verbose", ["0", "1"])
def test_with_the_variable_all_are_alike(verbose: str, records: list[tuple[int, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUCID_VERBOSE", verbose)
    for name in "ab":
        with compilation_log.log_if_slow(name):
            pass
    assert [level for level, _ in records] == [logging.INFO] * 2


def test_what_is_fast_says_nothing(records: list[tuple[int, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation_log, "SECONDS", float("inf"))
    with compilation_log.log_if_slow("a"):
        pass
    assert not records


CODE = """
from lucid_kernels import compilation_log
compilation_log.SECONDS = -1
for name in "ab":
    with compilation_log.log_if_slow(name):
        pass
"""


@pytest.mark.parametrize(("verbose", "lines"), [("", 1), ("0", 0), ("1", 2)])
def test_what_a_program_without_logging_shows(verbose: str, lines: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(KERNELS), "LUCID_VERBOSE": verbose}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True)
    assert done.stdout == "" and len(done.stderr.splitlines()) == lines, done.stderr
