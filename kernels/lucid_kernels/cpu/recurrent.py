"""Recurrent networks on a CPU: the elementwise part of a step and of its gradient, row by row; `recurrence` has the loop.

A row is walked gate by gate, so that each loop is a vector loop over few arrays: what it wrote last is in the L1 cache. Composed
of other operations, an LSTM of 64 steps of 32 rows and 256 features took 1.4 times as long, forward and backward: each step adds
a gradient of the whole weight, and keeps a dozen arrays. Here the gradient of the weight is one product for all steps.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba

from lucid_kernels.recurrence import Side, backward, forward

from . import _math, blas
from ._compile import jit_exact, jit_parallel
from ._layout import Array, contiguous, deliver, outputs, row_chunk, upcast_half
from ._packed_product import LEAST_ROWS, PackedColumns, suits
from ._pool import empty

_LEAST_STEPS = 4  # for which a weight is packed

@jit_exact
def _sigmoid_row(a, b, y):
    for j in range(y.shape[0]):
        y[j] = _math.sigmoid(a[j] + b[j])


@jit_exact
def _tanh_row(a, b, y):
    for j in range(y.shape[0]):
        y[j] = _math.tanh(a[j] + b[j])


@jit_exact
def _relu_row(a, b, y):
    zero = y.dtype.type(0)
    for j in range(y.shape[0]):
        s = a[j] + b[j]
        y[j] = zero if s <= zero else s  # a NaN stays


@jit_exact
def _lstm_row(gates, product, kept, before, cells, output, hidden, cell):
    n = hidden.shape[0]
    _sigmoid_row(gates[: 2 * n], product[: 2 * n], kept[: 2 * n])
    _tanh_row(gates[2 * n : 3 * n], product[2 * n : 3 * n], kept[2 * n : 3 * n])
    _sigmoid_row(gates[3 * n :], product[3 * n :], kept[3 * n :])
    into, forget, new, out = kept[:n], kept[n : 2 * n], kept[2 * n : 3 * n], kept[3 * n :]
    for j in range(n):
        before[j] = hidden[j]
        cells[j] = cell[j]
    for j in range(n):
        cell[j] = forget[j] * cell[j] + into[j] * new[j]
    for j in range(n):
        output[j] = out[j] * _math.tanh(cell[j])
    for j in range(n):
        hidden[j] = output[j]


@jit_exact
def _lstm_grad_row(g, kept, cells, d_gates, d_hidden, d_cell):
    n = g.shape[0]
    one = g.dtype.type(1)
    into, forget, new, out = kept[:n], kept[n : 2 * n], kept[2 * n : 3 * n], kept[3 * n :]
    d_into, d_forget, d_new, d_out = d_gates[:n], d_gates[n : 2 * n], d_gates[2 * n : 3 * n], d_gates[3 * n :]
    for j in range(n):
        t = _math.tanh(forget[j] * cells[j] + into[j] * new[j])
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
def _gru_row(gates, product, kept, before, output, hidden):
    n = hidden.shape[0]
    _sigmoid_row(gates[: 2 * n], product[: 2 * n], kept[: 2 * n])
    reset, update, new, part = kept[:n], kept[n : 2 * n], kept[2 * n : 3 * n], kept[3 * n :]
    for j in range(n):
        part[j] = product[2 * n + j]
        before[j] = hidden[j]
    for j in range(n):
        new[j] = _math.tanh(gates[2 * n + j] + reset[j] * part[j])
    for j in range(n):
        output[j] = new[j] + update[j] * (hidden[j] - new[j])
    for j in range(n):
        hidden[j] = output[j]


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
def _note(kept, before, output, hidden):
    """The new hidden state, in `kept`, takes the place of the old one."""
    for j in range(hidden.shape[0]):
        before[j] = hidden[j]
    for j in range(hidden.shape[0]):
        output[j] = kept[j]
        hidden[j] = kept[j]


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


@jit_parallel
def _lstm(gates, product, kept, before, cells, output, hidden, cell):
    rows, step = hidden.shape[0], row_chunk(gates.shape[1])
    for c in numba.prange((rows + step - 1) // step):
        for r in range(c * step, min(rows, (c + 1) * step)):
            _lstm_row(gates[r], product[r], kept[r], before[r], cells[r], output[r], hidden[r], cell[r])


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
            _gru_row(gates[r], product[r], kept[r], before[r], output[r], hidden[r])


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
            _tanh_row(gates[r], product[r], kept[r])
            _note(kept[r], before[r], output[r], hidden[r])


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
            _relu_row(gates[r], product[r], kept[r])
            _note(kept[r], before[r], output[r], hidden[r])


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
    return b.product(a) if isinstance(b, PackedColumns) else blas.matmul(a, b)


_SIDE = Side(
    empty, _zeros, lambda array: array.copy(order="C"), _product, lambda mode, *arrays: _STEPS[mode][0](*arrays),
    lambda mode, *arrays: _STEPS[mode][1](*arrays),
)  # fmt: skip


def _operand(matrix: Array, batch_sizes: Sequence[int]) -> Array | PackedColumns:
    """What the steps multiply by: packed once if that is worth it; a copy by rows for OpenBLAS, which else turns it each time.

    One row, and a few with a large matrix (`_few_rows`), are multiplied with it as it lies: 0.4 to 0.9 of the time. So is the
    input of a single step, which would turn it once anyway.
    """
    rows, many = batch_sizes[0], len(batch_sizes) >= _LEAST_STEPS
    if many and suits(matrix, rows):
        return PackedColumns(matrix)
    few = rows < LEAST_ROWS if many else rows <= blas.FEW_ROWS
    as_it_lies = rows == 1 or len(batch_sizes) == 1 or (few and rows * matrix.size >= blas.FEW_ROWS_FROM)
    return matrix if as_it_lies else contiguous(matrix)


def _delivered(results: Sequence[Array | None], out: Sequence[Array | None]) -> tuple[Array | None, ...]:
    return tuple([None if array is None else deliver(target, array) for array, target in zip(results, out, strict=True)])


@upcast_half(results=(0, 0, 0, None, None, None))
def recurrence(
    gates: Array, weight: Array, bias: Array | None, hidden: Array, cell: Array | None, *, mode: str,
    batch_sizes: Sequence[int], reverse: bool, out: Sequence[Array | None] | None = None,
) -> tuple[Array | None, ...]:  # fmt: skip
    """Run a recurrent network: `gates` (N, G * H) are what the inputs contribute, with the biases, at the rows of each time.

    `mode` is 'LSTM', 'GRU', 'RNN_TANH' or 'RNN_RELU', with G = 4, 3, 1 and 1 gates, in the order of PyTorch; `weight` (G * H, H)
    and `bias` (G * H,), which may be None, belong to the hidden state. `hidden` and, of an LSTM, `cell` (B, H) are the state at
    first. `batch_sizes` are those of each time, never growing, N in all; with `reverse` the last time comes first.

    Returns the hidden states (N, H), the last `hidden` and `cell` (None but for an LSTM), and for the gradient the values of the
    gates, and the hidden state and the cell before each step.
    """
    columns = _operand(contiguous(weight).T, batch_sizes)
    results = forward(_SIDE, contiguous(gates), columns, bias, hidden, cell, mode, batch_sizes, reverse)
    return _delivered(results, outputs(out, 6))


@upcast_half(results=(None, None, None, None))
def recurrence_grad(
    g: Array | None, g_hidden: Array | None, g_cell: Array | None, weight: Array, kept: Array, before: Array,
    cells: Array | None, *, mode: str, batch_sizes: Sequence[int], reverse: bool, out: Sequence[Array | None] | None = None,
) -> tuple[Array | None, ...]:  # fmt: skip
    """The gradients of `recurrence` for those of its first three results, None for those without one.

    Returns those of the gates, of the product of weight and hidden state (None where it is the same), of `hidden` and of `cell`.
    """
    g = None if g is None else contiguous(g)
    columns = _operand(contiguous(weight), batch_sizes)
    results = backward(_SIDE, g, g_hidden, g_cell, columns, kept, before, cells, mode, batch_sizes, reverse)
    return _delivered(results, outputs(out, 4))
