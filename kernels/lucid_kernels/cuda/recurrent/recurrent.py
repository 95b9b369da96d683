"""Recurrent networks on a GPU: a product and one kernel for the rest of each step, both ways. With a small state and sequences of
one length one kernel is all of a step: `recurrent_small.cu`.

The kernels find the rows of a step in the arrays of all times, and products write where the next kernel reads: nothing is copied.
A plan repeats all steps, where the sequences of a batch are of one length; of others, which are seldom the same again, there is
one for each number of rows, which repeats a step. Halves are computed in float32.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lucid_kernels.cuda.matmul import products
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch, plans, recording, rows
from lucid_kernels.recurrence import GATES, KEPT, in_shape, rows_of, times

#: Elements of a state whose products leave most of a device idle: blocks of `recurrent_small.cu` read all of it, each a few
#: features.
_SMALL = 1 << 13


def _launch(name: str, state: Any, size: int, offset: int, arrays: Sequence[Any], *options: Any) -> None:
    """Run a kernel for each element of the first `size` rows of `state`, whose place among those of all times is `offset`."""
    features = state.shape[1]
    kernel = launch.kernel("recurrent", f"{name}<{launch.ctype(state.dtype)}>")
    sizes = np.int64(size * features), np.int64(features), recording.moving("offset", np.int64(offset))
    kernel(*launch.grid_1d(size * features), (*arrays, *sizes, *options))


def _steps(state: Any, batch_sizes: Sequence[int], reverse: bool) -> Iterator[tuple[int, int]]:
    """The first element of each time, and how many rows there are."""
    features = state.shape[1]
    for part, size in times(batch_sizes, reverse):
        if size * features:
            yield part.start * features, size


def _computed(*arrays: Any) -> list[Any]:
    """The arrays as the kernels read them: in row-major order, halves in float32."""
    return [None if x is None else copies.copied(x, rows.accumulator(x.dtype)) if launch.is_half(x) else copies.contiguous(x)
            for x in arrays]


def _copy(x: Any) -> Any:
    return None if x is None else copies.copied(x, rows.accumulator(x.dtype))


def _optional(array: Any, stand_in: Any) -> tuple[Any, np.int32]:
    return (stand_in, np.int32(0)) if array is None else (array, np.int32(1))


def _heads(rows: int, *arrays: Any) -> list[Any]:
    """The first rows of arrays, in which steps find their own: of one shape, so that one plan serves batches of any lengths."""
    return [None if array is None else array[:rows] for array in arrays]


def _forward(each: Any, kept: Any, before: Any, cells: Any, output: Any, product: Any, weight: Any, bias: Any, state: Any,
             memory: Any, *, mode: str, size: int, offset: int) -> Any:
    """A step of so many rows: it writes its rows of `output`, which it returns, and of what is kept, and the new state."""
    products.multiply_into(product[:size], state[:size], weight.T)
    arrays = each, product, *_optional(bias, weight), kept, before
    if mode == "LSTM":
        _launch("lstm", state, size, offset, (*arrays, cells, output, state, memory))
    elif mode == "GRU":
        _launch("gru", state, size, offset, (*arrays, output, state))
    else:
        _launch("rnn", state, size, offset, (*arrays, output, state), np.int32(mode == "RNN_RELU"))
    return output


def _backward(g: Any, kept: Any, cells: Any, before: Any, d_gates: Any, d_product: Any, step: Any, d_hidden: Any, d_cell: Any,
              weight: Any, *, mode: str, size: int, offset: int) -> Any:
    """The gradient of a step, likewise."""
    arrays = *_optional(g, before), kept
    if mode == "LSTM":
        _launch("lstm_grad", d_hidden, size, offset, (*arrays, cells, d_gates, step, d_hidden, d_cell))
    elif mode == "GRU":
        _launch("gru_grad", d_hidden, size, offset, (*arrays, before, d_gates, d_product, step, d_hidden))
    else:
        _launch("rnn_grad", d_hidden, size, offset, (*arrays, d_gates, step, d_hidden), np.int32(mode == "RNN_RELU"))
    products.multiply_into(d_hidden[:size], step[:size], weight, add=mode == "GRU")
    return d_hidden


def _kernel_of(mode: str) -> str:
    return mode.partition("_")[0].lower()


def _is_small(state: Any, batch_sizes: Sequence[int]) -> bool:
    return batch_sizes[0] == batch_sizes[-1] and 0 < state.size <= _SMALL  # sizes never increase


def _launch_small(name: str, state: Any, features: int, order: Iterator[tuple[int, int]], *arrays: Any) -> int:
    """Run a kernel of `recurrent_small.cu`, whose blocks have so many features, at these times; where the last begins."""
    rows_, n = state.shape
    kernel, before, offset = launch.kernel("recurrent_small", f"{name}<{launch.ctype(state.dtype)}>"), -1, -1
    grid = launch.ceil_div(n, features), launch.ceil_div(rows_, 32)
    for offset, _ in order:
        kernel(grid, (launch.BLOCK,), (*arrays, *map(np.int64, (rows_, n, offset, before))))
        before = offset
    return offset


_step, _step_grad = plans.planned(_forward, moves=("offset",)), plans.planned(_backward, moves=("offset",))


def recurrence(
    gates: Any, weight: Any, bias: Any, hidden: Any, cell: Any, *, mode: str, batch_sizes: Sequence[int], reverse: bool,
    out: tuple[Any, ...] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """(output, hidden, cell, kept, before, cells) of a recurrent network; see the CPU kernel."""
    kind = gates.dtype
    given, (each, weight, bias) = (gates, hidden), _computed(gates, weight, bias)
    each, state, memory = rows_of(each), _copy(rows_of(hidden)), _copy(rows_of(cell))
    count, features, dtype = len(each), state.shape[1], each.dtype
    output, before = launch.empty((count, features), dtype), launch.empty((count, features), dtype)
    cells = None if memory is None else launch.empty((count, features), dtype)
    kept = launch.empty((count, KEPT[mode] * features), dtype)
    if _is_small(state, batch_sizes):
        initial, state = state, launch.empty(state.shape, dtype)
        order = _steps(state, batch_sizes, reverse)
        last = (cells, memory) if mode == "LSTM" else () if mode == "GRU" else (np.int32(mode == "RNN_RELU"),)
        _launch_small(f"{_kernel_of(mode)}_small", state, 2, order, each, initial, weight, *_optional(bias, weight), kept,
                      before, output, state, *last)
    else:
        product = launch.empty((len(state), each.shape[1]), dtype)
        arrays = _heads(len(state), each, kept, before, cells, output)
        for offset, size in _steps(state, batch_sizes, reverse):
            _step(*arrays, product, weight, bias, state, memory, mode=mode, size=size, offset=offset)
    found = [output, state, memory]
    if kind != dtype and out is None:
        found = [x if x is None else copies.copied(x, kind) for x in found]
    return _delivered(in_shape((*found, kept, before, cells), *given), out)


def recurrence_grad(
    g: Any, g_hidden: Any, g_cell: Any, weight: Any, kept: Any, before: Any, cells: Any, *, mode: str,
    batch_sizes: Sequence[int], reverse: bool, out: tuple[Any, ...] | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """(d_gates, d_product, d_hidden, d_cell) of `recurrence`; see the CPU kernel."""
    g, weight = _computed(g, weight)
    g = rows_of(g)
    (count, features), dtype = before.shape, before.dtype
    shape = batch_sizes[0], features
    d_hidden = _zeros(shape, dtype) if g_hidden is None else _copy(rows_of(g_hidden))
    d_cell = None
    if cells is not None:
        d_cell = _zeros(shape, dtype) if g_cell is None else _copy(rows_of(g_cell))
    width = GATES[mode] * features
    d_gates = launch.empty((count, width), dtype)
    d_product = launch.empty(d_gates.shape, dtype) if mode == "GRU" else None
    if _is_small(d_hidden, batch_sizes):
        order = _steps(d_hidden, batch_sizes, not reverse)
        last = (cells, d_cell) if mode == "LSTM" else (before, d_product) if mode == "GRU" else (np.int32(mode == "RNN_RELU"),)
        first = _launch_small(f"{_kernel_of(mode)}_small_grad", d_hidden, 4, order, *_optional(g, before), kept, weight,
                              d_hidden, d_gates, *last) // features
        factor = d_gates if d_product is None else d_product
        products.multiply_into(d_hidden, factor[first : first + shape[0]], weight, add=mode == "GRU")
        return _delivered((d_gates, d_product, d_hidden, d_cell), out)
    step = launch.empty((shape[0], width), dtype)
    arrays = _heads(shape[0], g, kept, cells, before, d_gates, d_product)
    for offset, size in _steps(d_hidden, batch_sizes, not reverse):
        _step_grad(*arrays, step, d_hidden, d_cell, weight, mode=mode, size=size, offset=offset)
    return _delivered((d_gates, d_product, d_hidden, d_cell), out)


def _zeros(shape: tuple[int, int], dtype: Any) -> Any:
    return copies.fill(launch.empty(shape, dtype), 0)


def _delivered(results: tuple[Any, ...], out: tuple[Any, ...] | None) -> tuple[Any, ...]:
    targets = out or (None,) * len(results)
    return tuple(
        None if array is None else launch.deliver(array, target) for array, target in zip(results, targets, strict=True)
    )
