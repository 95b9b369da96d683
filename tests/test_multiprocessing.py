"""`lucid.multiprocessing`: processes that are started together and waited for."""
from __future__ import annotations

import os
import signal

import pytest

import lucid
from lucid import multiprocessing as mp


def _write(number: int, shared: lucid.Tensor) -> None:
    shared[number] = number + 1.0


def _fail(number: int) -> None:
    if number == 1:
        raise KeyError("planted")
    signal.pause()


def _end(number: int) -> None:
    os.kill(os.getpid(), signal.SIGTERM) if number else signal.pause()


def test_processes_write_into_shared_memory() -> None:
    shared = lucid.zeros(2).share_memory_()
    mp.spawn(_write, (shared,), nprocs=2)
    assert shared.tolist() == [1, 2]


def test_an_error_ends_all() -> None:
    with pytest.raises(mp.ProcessRaisedException, match="KeyError: 'planted'") as raised:
        mp.start_processes(_fail, nprocs=2, start_method="fork")
    assert raised.value.error_index == 1


def test_a_signal_ends_all() -> None:
    with pytest.raises(mp.ProcessExitedException, match="process 1 terminated with signal SIGTERM"):
        mp.start_processes(_end, nprocs=2, start_method="fork")


def test_it_is_pythons_module_too() -> None:
    assert mp.get_context("spawn") and mp.cpu_count() and mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    with pytest.raises(AssertionError, match="unknown sharing strategy"):
        mp.set_sharing_strategy("pigeons")
