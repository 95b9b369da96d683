"""All steps of a recurrent network in one call: its threads share the units, and wait for each other after every step.

A launch for each step, and the calls around it, took 9 of 17 us for one row of 256 features. Here the weight is packed in the
order in which it is read, by the threads that read it: half of 1 MB stays in the L2 cache of each of two.

Nobody waits for a thread that does not run. The units of a step are cut into parts; a thread computes those of its own, then
those that nobody has begun, and after some time those that nobody has finished. All that a part writes has memory of its own for
each step, so that two threads that compute it write the same.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numba import carray as _carray  # type: ignore[attr-defined]

from lucid_kernels.recurrence import GATES, KEPT

from ..arrays.layout import Array
from ..runtime.allocator import empty
from ..runtime.jit import jit, jit_parallel
from ..runtime.threads import THREADS
from ..simd.address import address_of
from ..simd.aligned import aligned, aligned_empty
from ..simd.cpu_features import VECTOR_BYTES
from ..simd.pointer import moved, pointer
from ..simd.transpose import transpose_block
from .cells import gru_units, lstm_units, rnn_relu_units, rnn_tanh_units
from .microkernels import MOST_ROWS, MULTIPLY, acquire, block_rows, release

carray: Any = _carray
# Multiply-adds of a step for each thread: some 2 us.
_SHARE = 1 << 16
# Parts of a step for each thread: the more, the less one waits for the other.
_PARTS = 2
# Vectors of units of a part: the products of a block of rows stay in the L1 cache.
_MOST_VECTORS = 8
# Words between the flags of two parts, which two threads write: two cache lines.
_APART = 16
# Looks at a flag before a thread computes what another one has begun, 4 us and more, and multiply-adds of the part for each
# further one: some four times as long as the part takes. To pack a weight takes as long as a step of so many rows. With threads
# of the user's own, more than processors, a longer wait took up to three times as long.
_PATIENCE, _PATIENCE_WORK, _PACKED_ROWS = 1 << 14, 4, 16


@jit
def _pack(weight: Any, bias: Any, features: int, gate_count: int, first: int, packed: Any, like: Any) -> None:
    """The rows of one vector of units, from `first` on, step by step and gate by gate, with zeros for those behind the last one.

    For pointers to the whole weight and bias, which comes before the first step, and to where they go.
    """
    lanes, zero, size = VECTOR_BYTES // like.itemsize, like.dtype.type(0), gate_count * features
    have, pitch = min(lanes, features - first), gate_count * lanes
    whole = features - features % lanes if have == lanes else 0
    rows, added, result = carray(weight, (size, features)), carray(bias, (size,)), carray(packed, ((features + 1) * pitch,))
    for gate in range(gate_count):
        row = gate * features + first
        for j in range(lanes):
            result[gate * lanes + j] = added[row + j] if j < have else zero
        for k in range(0, whole, lanes):
            source, target = moved(weight, row * features + k), moved(packed, (k + 1) * pitch + gate * lanes)
            transpose_block(source, features, target, pitch)
        for k in range(whole, features):
            for j in range(lanes):
                result[(k + 1) * pitch + gate * lanes + j] = rows[row + j, k] if j < have else zero


def _make_walk(mode: str, units: Any) -> Any:
    gate_count, kept_count, multiply = GATES[mode], KEPT[mode], MULTIPLY[GATES[mode]]

    # Whole arrays as arguments would take as long as the products of a vector of units: each is seven words or more.
    @jit
    def compute(step: int, first: int, n: int, features: int, product: Any, times: Any, addresses: Any) -> None:
        """One part, n units from `first` on, of a step, of which number 0 packs the weight."""
        lanes, width = VECTOR_BYTES // product.itemsize, product.shape[0] // (MOST_ROWS * gate_count)
        room = (features + 1) * gate_count * lanes
        packed = moved(pointer(product, addresses[2]), first // lanes * room)
        if step == 0:
            weight, bias = pointer(product, addresses[0]), pointer(product, addresses[1])
            for j in range(0, n, lanes):
                _pack(weight, bias, features, gate_count, first + j, moved(packed, j // lanes * room), product)
            return
        gates, kept = pointer(product, addresses[3]), pointer(product, addresses[4])
        before, cells, output = pointer(product, addresses[5]), pointer(product, addresses[6]), pointer(product, addresses[7])
        last_hidden, last_cell = pointer(product, addresses[8]), pointer(product, addresses[9])
        products = pointer(product, product.ctypes.data)
        start, size, later, going = times[step - 1, 0], times[step - 1, 1], times[step - 1, 2], times[step - 1, 3]
        row = 0
        while row < size:
            have = block_rows(size - row)
            lines = moved(before, (start + row) * features)
            for j in range(0, n, lanes):
                multiply(lines, features, have, moved(packed, j // lanes * room), features, moved(products, j), width)
            for r in range(row, row + have):
                here, there = (start + r) * features + first, (later + r) * features + first
                hidden, cell = moved(before, there), moved(cells, there)
                if r >= going:
                    hidden, cell = moved(last_hidden, r * features + first), moved(last_cell, r * features + first)
                units(moved(gates, (start + r) * gate_count * features + first), moved(products, (r - row) * gate_count * width),
                      moved(kept, (start + r) * kept_count * features + first), moved(before, here), moved(cells, here),
                      moved(output, here), hidden, cell, features, width, n)  # fmt: skip
            row += have

    @jit
    def walk(task: int, tasks: int, each: int, features: int, times: Any, addresses: Any, begun: Any, finished: Any, like: Any
             ) -> None:
        """What one of `tasks` threads does: the steps one after the other, in parts of `each` units."""
        parts = (features + each - 1) // each
        product = aligned_empty(MOST_ROWS * gate_count * each, like)
        for step in range(len(times) + 1):
            for turn in range(tasks):
                owner = (task + turn) % tasks
                first, last = parts * owner // tasks, parts * (owner + 1) // tasks
                for i in range(last - first):
                    part = last - 1 - i if turn else first + i  # others begin at the other end
                    if acquire(begun, part * _APART) <= step:
                        release(begun, part * _APART, step + 1)
                        compute(step, part * each, min(each, features - part * each), features, product, times, addresses)
                        release(finished, part * _APART, step + 1)
            if step == len(times):
                return
            rows = times[step - 1, 1] if step > 0 else _PACKED_ROWS
            for part in range(parts):
                patience = _PATIENCE + rows * each * gate_count * features // _PATIENCE_WORK
                while acquire(finished, part * _APART) <= step:
                    patience -= 1
                    if patience == 0:
                        compute(step, part * each, min(each, features - part * each), features, product, times, addresses)
                        release(finished, part * _APART, step + 1)

    return walk


_walk_lstm, _walk_gru = _make_walk("LSTM", lstm_units), _make_walk("GRU", gru_units)
_walk_rnn_tanh, _walk_rnn_relu = _make_walk("RNN_TANH", rnn_tanh_units), _make_walk("RNN_RELU", rnn_relu_units)


@jit_parallel
def _lstm(tasks, each, features, times, addresses, begun, finished, like):
    for task in numba.prange(tasks):
        _walk_lstm(task, tasks, each, features, times, addresses, begun, finished, like)


@jit_parallel
def _gru(tasks, each, features, times, addresses, begun, finished, like):
    for task in numba.prange(tasks):
        _walk_gru(task, tasks, each, features, times, addresses, begun, finished, like)


@jit_parallel
def _rnn_tanh(tasks, each, features, times, addresses, begun, finished, like):
    for task in numba.prange(tasks):
        _walk_rnn_tanh(task, tasks, each, features, times, addresses, begun, finished, like)


@jit_parallel
def _rnn_relu(tasks, each, features, times, addresses, begun, finished, like):
    for task in numba.prange(tasks):
        _walk_rnn_relu(task, tasks, each, features, times, addresses, begun, finished, like)


_SEQUENCES = {"LSTM": _lstm, "GRU": _gru, "RNN_TANH": _rnn_tanh, "RNN_RELU": _rnn_relu}


def _times(batch_sizes: Sequence[int], reverse: bool) -> Array:
    """For each step, in the order in which they are computed, its first row and its rows, and those of the next that go on."""
    sizes = np.array(batch_sizes, np.int64)
    times = np.zeros((len(sizes), 4), np.int64)
    order = slice(None, None, -1 if reverse else 1)
    times[:, 0], times[:, 1] = (np.cumsum(sizes) - sizes)[order], sizes[order]
    times[:-1, 2], times[:-1, 3] = times[1:, 0], np.minimum(times[1:, 1], times[:-1, 1])
    return times


def _enter(state: Array, first: Array, batch_sizes: Sequence[int], reverse: bool) -> None:
    """Write the states at first to where their sequences begin."""
    if not reverse:
        state[: len(first)] = first
        return
    number, end = 0, len(state)
    for size in reversed(batch_sizes):
        if size > number:
            state[end - size + number : end] = first[number:size]
            number = size
        end -= size


def sequence(mode: str, gates: Array, weight: Array, bias: Array | None, hidden: Array, cell: Array | None,
             batch_sizes: Sequence[int], reverse: bool) -> tuple[Array | None, ...]:
    """(output, hidden, cell, kept, before, cells), as `recurrence` returns them, for contiguous arrays, not empty."""
    (rows, width), (batch, features), dtype = gates.shape, hidden.shape, gates.dtype
    bias = np.zeros(width, dtype) if bias is None else bias
    output, before, last = empty((rows, features), dtype), empty((rows, features), dtype), empty((batch, features), dtype)
    kept, cells, last_cell = empty((rows, KEPT[mode] * features), dtype), None, None
    _enter(before, hidden, batch_sizes, reverse)
    if cell is not None:
        cells, last_cell = empty((rows, features), dtype), empty((batch, features), dtype)
        _enter(cells, cell, batch_sizes, reverse)
    lanes = VECTOR_BYTES // dtype.itemsize
    vectors = -(-features // lanes)
    tasks = max(1, min(THREADS.value, vectors, batch * width * features // _SHARE))
    each = min(_MOST_VECTORS, -(-vectors // (tasks * _PARTS)) if tasks > 1 else vectors)
    packed = aligned(vectors * lanes * GATES[mode] * (features + 1), dtype)
    arrays = (weight, bias, packed, gates, kept, before, before if cells is None else cells, output, last,
              last if last_cell is None else last_cell)  # fmt: skip
    addresses, flags = np.array([address_of(array) for array in arrays]), np.zeros((2, -(-vectors // each) * _APART), np.int64)
    _SEQUENCES[mode](tasks, each * lanes, features, _times(batch_sizes, reverse), addresses, flags[0], flags[1], packed)
    return output, last, last_cell, kept, before, cells
