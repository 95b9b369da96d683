"""Recurrent networks on a CPU: all steps in one call (`sequence`), or, of few steps or many rows and of the gradients,
the elementwise part of a step, row by row; `recurrence` has the loop.

A row is walked gate by gate, so that each loop is a vector loop over few arrays: what it wrote last is in the L1 cache. Composed
of other operations, an LSTM of 64 steps of 32 rows and 256 features took 1.4 times as long, forward and backward: each step adds
a gradient of the whole weight, and keeps a dozen arrays. Here the gradient of the weight is one product for all steps.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba

from lucid_kernels.recurrence import Side, backward, forward, in_shape, rows_of

from ..arrays.half_precision import upcast_half
from ..arrays.layout import Array, contiguous, deliver, outputs, row_chunk
from ..math import basic as math_basic
from ..matmul import matmul
from ..matmul.prepacked import PackedColumns, suits
from ..runtime import tuning
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact, jit_inline, jit_parallel
from ..simd.cpu_features import VECTOR_BYTES
from .cells import element, gru_units, lstm_units, rnn_relu_units, rnn_tanh_units
from .sequence import sequence


@jit_exact
def _note(state, noted):
    for j in range(state.shape[0]):
        noted[j] = state[j]


@jit_exact
def _lstm_grad_row(g, kept, cells, d_gates, d_hidden, d_cell):
    n = g.shape[0]
    one = g.dtype.type(1)
    into, forget, new, out = kept[:n], kept[n : 2 * n], kept[2 * n : 3 * n], kept[3 * n :]
    d_into, d_forget, d_new, d_out = d_gates[:n], d_gates[n : 2 * n], d_gates[2 * n : 3 * n], d_gates[3 * n :]
    for j in range(n):
        t = math_basic.tanh(forget[j] * cells[j] + into[j] * new[j])
        d = d_hidden[j] + g[j]
        d_out[j] = d * t * (out[j] * (one - out[j]))
        d_cell[j] += d * out[j] * (one - t * t)
    for j in range(n):
        d_into[j] = d_cell[j] * new[j] * (into[j] * (one - into[j]))
        d_new[j] = d_cell[j] * into[j] * (one - new[j] * new[j])
    for j in range(n):
        d_forget[j] = d_cell[j] * cells[j] * (forget[j] * (one - forget[j]))
        d_cell[j] *= forget[j]


@jit_exact
def _gru_grad_row(g, kept, before, d_gates, d_product, d_hidden):
    n = g.shape[0]
    one = g.dtype.type(1)
    reset, update, new, part = kept[:n], kept[n : 2 * n], kept[2 * n : 3 * n], kept[3 * n :]
    d_reset, d_update, d_new = d_gates[:n], d_gates[n : 2 * n], d_gates[2 * n :]
    d_part = d_product[2 * n :]
    for j in range(n):
        d = d_hidden[j] + g[j]
        d_new[j] = d * (one - update[j]) * (one - new[j] * new[j])
        d_update[j] = d * (before[j] - new[j]) * (update[j] * (one - update[j]))
        d_hidden[j] = d * update[j]
    for j in range(n):
        d_reset[j] = d_new[j] * part[j] * (reset[j] * (one - reset[j]))
        d_part[j] = d_new[j] * reset[j]
    for j in range(2 * n):
        d_product[j] = d_gates[j]


@jit_exact
def _tanh_grad_row(g, kept, d_gates, d_hidden):
    one = g.dtype.type(1)
    for j in range(g.shape[0]):
        d_gates[j] = (d_hidden[j] + g[j]) * (one - kept[j] * kept[j])


@jit_exact
def _relu_grad_row(g, kept, d_gates, d_hidden):
    zero = g.dtype.type(0)
    for j in range(g.shape[0]):
        d_gates[j] = zero if kept[j] <= zero else d_hidden[j] + g[j]


def _make_row(units: Any) -> Any:
    @jit_inline
    def row(r, gates, product, kept, before, cells, output, hidden, cell):
        """Row r of a step; those without a cell have the hidden state instead."""
        features = hidden.shape[1]
        offset = r * features
        _note(hidden[r], before[r])
        units(element(gates, r * gates.shape[1]), element(product, r * product.shape[1]), element(kept, r * kept.shape[1]),
              element(before, offset), element(cells, offset), element(output, offset), element(hidden, offset),
              element(cell, offset), features, features, features)  # fmt: skip

    return row


_lstm_row, _gru_row, _rnn_tanh_row, _rnn_relu_row = map(_make_row, (lstm_units, gru_units, rnn_tanh_units, rnn_relu_units))


@jit_parallel
def _lstm(gates, product, kept, before, cells, output, hidden, cell):
    rows, step = hidden.shape[0], row_chunk(gates.shape[1])
    for c in numba.prange((rows + step - 1) // step):
        for r in range(c * step, min(rows, (c + 1) * step)):
            _note(cell[r], cells[r])
            _lstm_row(r, gates, product, kept, before, cells, output, hidden, cell)


@jit_parallel
def _lstm_grad(g, kept, before, cells, d_gates, d_product, d_hidden, d_cell):
    rows, step = g.shape[0], row_chunk(kept.shape[1])
    for c in numba.prange((rows + step - 1) // step):
        for r in range(c * step, min(rows, (c + 1) * step)):
            _lstm_grad_row(g[r], kept[r], cells[r], d_gates[r], d_hidden[r], d_cell[r])


@jit_parallel
def _gru(gates, product, kept, before, cells, output, hidden, cell):
    rows, step = hidden.shape[0], row_chunk(gates.shape[1])
    for c in numba.prange((rows + step - 1) // step):
        for r in range(c * step, min(rows, (c + 1) * step)):
            _gru_row(r, gates, product, kept, before, before, output, hidden, hidden)


@jit_parallel
def _gru_grad(g, kept, before, cells, d_gates, d_product, d_hidden, d_cell):
    rows, step = g.shape[0], row_chunk(kept.shape[1])
    for c in numba.prange((rows + step - 1) // step):
        for r in range(c * step, min(rows, (c + 1) * step)):
            _gru_grad_row(g[r], kept[r], before[r], d_gates[r], d_product[r], d_hidden[r])


@jit_parallel
def _rnn_tanh(gates, product, kept, before, cells, output, hidden, cell):
    rows, step = hidden.shape[0], row_chunk(gates.shape[1])
    for c in numba.prange((rows + step - 1) // step):
        for r in range(c * step, min(rows, (c + 1) * step)):
            _rnn_tanh_row(r, gates, product, kept, before, before, output, hidden, hidden)


@jit_parallel
def _rnn_tanh_grad(g, kept, before, cells, d_gates, d_product, d_hidden, d_cell):
    rows, step = g.shape[0], row_chunk(kept.shape[1])
    for c in numba.prange((rows + step - 1) // step):
        for r in range(c * step, min(rows, (c + 1) * step)):
            _tanh_grad_row(g[r], kept[r], d_gates[r], d_hidden[r])


@jit_parallel
def _rnn_relu(gates, product, kept, before, cells, output, hidden, cell):
    rows, step = hidden.shape[0], row_chunk(gates.shape[1])
    for c in numba.prange((rows + step - 1) // step):
        for r in range(c * step, min(rows, (c + 1) * step)):
            _rnn_relu_row(r, gates, product, kept, before, before, output, hidden, hidden)


@jit_parallel
def _rnn_relu_grad(g, kept, before, cells, d_gates, d_product, d_hidden, d_cell):
    rows, step = g.shape[0], row_chunk(kept.shape[1])
    for c in numba.prange((rows + step - 1) // step):
        for r in range(c * step, min(rows, (c + 1) * step)):
            _relu_grad_row(g[r], kept[r], d_gates[r], d_hidden[r])


# ---- entry points --------------------------------------------------------------------------------------------------
_STEPS = {
    "LSTM": (_lstm, _lstm_grad), "GRU": (_gru, _gru_grad), "RNN_TANH": (_rnn_tanh, _rnn_tanh_grad),
    "RNN_RELU": (_rnn_relu, _rnn_relu_grad),
}  # fmt: skip


def _zeros(shape: tuple[int, ...], dtype: Any) -> Array:
    array = empty(shape, dtype)
    array.fill(0)
    return array


def _product(a: Array, b: Array | PackedColumns) -> Array:
    return b.product(a) if isinstance(b, PackedColumns) else matmul.matmul(a, b)


_SIDE = Side(
    empty, _zeros, lambda array: array.copy(order="C"), _product, lambda mode, *arrays: _STEPS[mode][0](*arrays),
    lambda mode, *arrays: _STEPS[mode][1](*arrays),
)  # fmt: skip


def _operand(matrix: Array, batch_sizes: Sequence[int]) -> Array | PackedColumns:
    """What the steps multiply by: packed once if that is worth it; a copy by rows for OpenBLAS, which else turns it each time.

    One row, and a few with a large matrix (`skinny`), are multiplied with it as it lies: 0.4 to 0.9 of the time. So is the
    input of a single step, which would turn it once anyway.
    """
    rows, many = batch_sizes[0], len(batch_sizes) >= tuning.RECURRENT_LEAST_STEPS
    if many and suits(matrix, rows):
        return PackedColumns(matrix)
    few = rows < tuning.PREPACKED_LEAST_ROWS if many else rows <= tuning.SHARED_FEW_ROWS
    as_it_lies = rows == 1 or len(batch_sizes) == 1 or (few and rows * matrix.size >= tuning.SHARED_TURNED_FROM)
    return matrix if as_it_lies else contiguous(matrix)


def _delivered(results: Sequence[Array | None], out: Sequence[Array | None]) -> tuple[Array | None, ...]:
    return tuple([None if array is None else deliver(target, array) for array, target in zip(results, out, strict=True)])


@upcast_half(results=(0, 0, 0, None, None, None))
def recurrence(
    gates: Array, weight: Array, bias: Array | None, hidden: Array, cell: Array | None, *, mode: str,
    batch_sizes: Sequence[int], reverse: bool, out: Sequence[Array | None] | None = None,
) -> tuple[Array | None, ...]:  # fmt: skip
    """Run a recurrent network: `gates` (..., G * H) are what the inputs contribute, with the biases: N rows, time after time.

    `mode` is 'LSTM', 'GRU', 'RNN_TANH' or 'RNN_RELU', with G = 4, 3, 1 and 1 gates, in the order of PyTorch; `weight` (G * H, H)
    and `bias` (G * H,), which may be None, belong to the hidden state. `hidden` and, of an LSTM, `cell` (..., H) are the state at
    first, of B rows. `batch_sizes` are those of each time, never growing, N in all; with `reverse` the last time comes first.

    Returns the hidden states (..., H) and the last `hidden` and `cell` (None but for an LSTM), shaped as `gates` and `hidden`,
    and for the gradient, as matrices, the values of the gates, and the hidden state and the cell before each step.
    """
    weight, rows, state, memory = contiguous(weight), rows_of(contiguous(gates)), rows_of(hidden), rows_of(cell)
    few = state.size > 0 and len(state) <= tuning.RECURRENT_MOST_ROWS[VECTOR_BYTES]
    if few and len(batch_sizes) >= tuning.RECURRENT_LEAST_STEPS:
        inner = None if bias is None else contiguous(bias)
        results = sequence(mode, rows, weight, inner, state, memory, batch_sizes, reverse)
    else:
        columns = _operand(weight.T, batch_sizes)
        results = forward(_SIDE, rows, columns, bias, state, memory, mode, batch_sizes, reverse)
    return _delivered(in_shape(results, gates, hidden), outputs(out, 6))


@upcast_half(results=(None, None, None, None))
def recurrence_grad(
    g: Array | None, g_hidden: Array | None, g_cell: Array | None, weight: Array, kept: Array, before: Array,
    cells: Array | None, *, mode: str, batch_sizes: Sequence[int], reverse: bool, out: Sequence[Array | None] | None = None,
) -> tuple[Array | None, ...]:  # fmt: skip
    """The gradients of `recurrence` for those of its first three results, None for those without one.

    Returns matrices: those of the gates, of the product of weight and hidden state (None where it is the same), of `hidden` and
    of `cell`.
    """
    g, g_hidden, g_cell = map(rows_of, (None if g is None else contiguous(g), g_hidden, g_cell))
    columns = _operand(contiguous(weight), batch_sizes)
    results = backward(_SIDE, g, g_hidden, g_cell, columns, kept, before, cells, mode, batch_sizes, reverse)
    return _delivered(results, outputs(out, 4))
