"""Threads that share the steps of a recurrent network; its values are those of `test_recurrent`."""
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from lucid_kernels.cpu.recurrent import sequence as recurrent_sequence
from lucid_kernels.cpu.recurrent.sequence import _APART, sequence
from lucid_kernels.cpu.runtime.threads import THREADS
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES

from ...recurrent_reference import data, run


def _call(arrays, mode, batch_sizes, reverse):
    gates, weight, bias, hidden, cell = arrays
    return sequence(mode, gates, weight, bias, hidden, cell, batch_sizes, reverse)


def _assert_same(got, want):
    for a, b in zip(got, want, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("rows", range(1, 14))
def test_blocks_of_rows(rows):
    arrays, attributes = data("LSTM", 33, (rows, rows, 1, 1), rows % 2 == 0, True)
    for got, want in zip(_call(arrays, **attributes), run(*arrays, **attributes), strict=False):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("mode", "reverse"), [("LSTM", False), ("GRU", True), ("RNN_TANH", False), ("RNN_RELU", True)])
def test_same_bits_on_any_number_of_threads(mode, reverse, monkeypatch):
    arrays, attributes = data(mode, 70, (5, 5, 3, 3, 1), reverse, mode == "GRU")
    monkeypatch.setattr(recurrent_sequence, "_SHARE", 1)
    monkeypatch.setattr(THREADS, "value", 1)
    want = _call(arrays, **attributes)
    for threads in (2, 3, 9):
        monkeypatch.setattr(THREADS, "value", threads)
        _assert_same(_call(arrays, **attributes), want)


@pytest.mark.parametrize("tasks", [1, 2, 3])
@pytest.mark.parametrize("threads", [1, 2])
def test_waits_for_no_thread_that_does_not_run(tasks, threads, monkeypatch):
    arrays, attributes = data("LSTM", 70, (2, 2, 1, 1), False, False)
    want, kernel = _call(arrays, **attributes), recurrent_sequence._SEQUENCES["LSTM"]

    def stuck(_tasks, _each, features, times, addresses, begun, finished, like):
        begun, finished = np.zeros((2, _APART * features), np.int64)
        begun[[0, 3 * _APART]] = len(times)  # all steps but the last, by a thread that never goes on
        kernel(tasks, VECTOR_BYTES // 8, features, times, addresses, begun, finished, like)

    monkeypatch.setitem(recurrent_sequence._SEQUENCES, "LSTM", stuck)
    monkeypatch.setattr(THREADS, "value", threads)
    _assert_same(_call(arrays, **attributes), want)


def test_threads_of_ones_own(monkeypatch):
    arrays, attributes = data("GRU", 70, (4,) * 30, False, True, np.float64)
    monkeypatch.setattr(recurrent_sequence, "_SHARE", 1)
    want = _call(arrays, **attributes)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: _call(arrays, **attributes), range(12)):
            _assert_same(got, want)


def test_alignment_and_steps_of_states():
    arrays, attributes = data("LSTM", 20, (3,) * 4, True, False, np.float32)
    want = _call(arrays, **attributes)
    moved = [None if a is None else np.concatenate([a.ravel()[:1], a.ravel()])[1:].reshape(a.shape) for a in arrays]
    moved[3:] = [np.asfortranarray(a) for a in moved[3:]]
    _assert_same(_call(moved, **attributes), want)
