"""Recurrent networks on a GPU: one kernel for the elementwise part of each step; `recurrence` has the loop."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from lucid_kernels.cuda.matmul import products
from lucid_kernels.cuda.runtime import launch
from lucid_kernels.recurrence import Side, backward, forward, in_shape, rows_of


def _launch(name: str, arrays: Sequence[Any], state: Any, option: Any) -> None:
    """Run a kernel for each element of `state` (rows, features)."""
    if state.size:
        kernel = launch.kernel("recurrent", f"{name}<{launch.ctype(state.dtype)}>")
        kernel(*launch.grid_1d(state.size), (*arrays, np.int64(state.size), option))


def _step(
    mode: str, gates: Any, product: Any, kept: Any, before: Any, cells: Any, output: Any, hidden: Any, cell: Any
) -> None:
    product = launch.contiguous(product)
    if mode == "LSTM":
        _launch("lstm", (gates, product, kept, before, cells, output, hidden, cell), hidden, np.int64(hidden.shape[1]))
    elif mode == "GRU":
        _launch("gru", (gates, product, kept, before, output, hidden), hidden, np.int64(hidden.shape[1]))
    else:
        _launch("rnn", (gates, product, kept, before, output, hidden), hidden, np.int32(mode == "RNN_RELU"))


def _step_grad(
    mode: str, g: Any, kept: Any, before: Any, cells: Any, d_gates: Any, d_product: Any, d_hidden: Any, d_cell: Any
) -> None:
    if mode == "LSTM":
        _launch("lstm_grad", (g, kept, cells, d_gates, d_hidden, d_cell), g, np.int64(g.shape[1]))
    elif mode == "GRU":
        _launch("gru_grad", (g, kept, before, d_gates, d_product, d_hidden), g, np.int64(g.shape[1]))
    else:
        _launch("rnn_grad", (g, kept, d_gates, d_hidden), g, np.int32(mode == "RNN_RELU"))


_SIDE = Side(cupy.empty, cupy.zeros, lambda array: array.copy(order="C"), products.matmul, _step, _step_grad)


@launch.upcast_half(statistics=(3, 4, 5))
def recurrence(
    gates: Any, weight: Any, bias: Any, hidden: Any, cell: Any, *, mode: str, batch_sizes: Sequence[int], reverse: bool,
    out: tuple[Any, ...] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """(output, hidden, cell, kept, before, cells) of a recurrent network; see the CPU kernel."""
    rows, state, memory = map(rows_of, (launch.contiguous(gates), hidden, cell))
    results = forward(_SIDE, rows, weight.T, bias, state, memory, mode, batch_sizes, reverse)
    return _delivered(in_shape(results, gates, hidden), out)


@launch.upcast_half(statistics=(0, 1, 2, 3))
def recurrence_grad(
    g: Any, g_hidden: Any, g_cell: Any, weight: Any, kept: Any, before: Any, cells: Any, *, mode: str,
    batch_sizes: Sequence[int], reverse: bool, out: tuple[Any, ...] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """(d_gates, d_product, d_hidden, d_cell) of `recurrence`; see the CPU kernel."""
    g, g_hidden, g_cell = map(rows_of, (launch.contiguous(g), g_hidden, g_cell))
    results = backward(_SIDE, g, g_hidden, g_cell, weight, kept, before, cells, mode, batch_sizes, reverse)
    return _delivered(results, out)


def _delivered(results: tuple[Any, ...], out: tuple[Any, ...] | None) -> tuple[Any, ...]:
    targets = out or (None,) * len(results)
    return tuple(
        None if array is None else launch.deliver(array, target) for array, target in zip(results, targets, strict=True)
    )
