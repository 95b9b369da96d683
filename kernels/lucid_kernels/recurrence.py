"""The loop over time of recurrent networks: a product and one elementwise kernel for each step. The GPU has one of its own, whose
kernels take the arrays of all times.

The sequences of a batch are laid out time after time: at time t the next ``batch_sizes[t]`` rows belong to the first sequences,
and no sequence joins later. The running state keeps a row for each of them, which stays as it is when its sequence has ended
or, from the end, has not begun.
"""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

#: Gates of a mode; the rows of its weights are as many times the hidden features.
GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
#: What is kept for the gradient of each element: the gates, and for a GRU the part of the hidden state in its last one.
KEPT = {**GATES, "GRU": 4}


class Side(NamedTuple):
    """What a backend computes a step with.

    ``step(mode, gates, product, kept, before, cells, output, hidden, cell)`` updates the state, and notes it before and after.
    ``step_grad(mode, g, kept, before, cells, d_gates, d_product, d_hidden, d_cell)`` takes `d_hidden` and `d_cell` for the state
    after the step, and leaves in `d_cell` that for the state before; in `d_hidden` what does not come through the product.
    """

    empty: Callable[[tuple[int, ...], Any], Any]
    zeros: Callable[[tuple[int, ...], Any], Any]
    copy: Callable[[Any], Any]
    matmul: Callable[..., Any]
    step: Callable[..., None]
    step_grad: Callable[..., None]


def rows_of(array: Any) -> Any:
    """`array` (..., features) as a matrix; None stays None."""
    if array is None or array.ndim == 2:
        return array
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])


def in_shape(results: tuple[Any, ...], gates: Any, hidden: Any) -> tuple[Any, ...]:
    """What `forward` returns, of the shapes that `gates` and `hidden` were given in."""
    if gates.ndim == hidden.ndim == 2:
        return results
    output, last, cell, *kept = results
    output = output.reshape(*gates.shape[:-1], hidden.shape[-1])
    return output, last.reshape(hidden.shape), None if cell is None else cell.reshape(hidden.shape), *kept


def times(batch_sizes: Sequence[int], reverse: bool) -> Iterator[tuple[slice, int]]:
    """The rows of each time, and how many there are."""
    ends = list(itertools.accumulate(batch_sizes))
    parts = [(slice(end - size, end), size) for end, size in zip(ends, batch_sizes, strict=True)]
    return reversed(parts) if reverse else iter(parts)


def forward(
    side: Side, gates: Any, columns: Any, bias: Any, hidden: Any, cell: Any, mode: str, batch_sizes: Sequence[int], reverse: bool
) -> tuple[Any, ...]:
    """(output, hidden, cell, kept, before, cells), as `recurrence` returns them; `columns` is the transposed weight."""
    (rows, _), (_, features), dtype = gates.shape, hidden.shape, gates.dtype
    hidden, cell = side.copy(hidden), None if cell is None else side.copy(cell)
    output, before = side.empty((rows, features), dtype), side.empty((rows, features), dtype)
    cells = None if cell is None else side.empty((rows, features), dtype)
    kept = side.empty((rows, KEPT[mode] * features), dtype)
    for part, size in times(batch_sizes, reverse):
        state, memory = (hidden, cell) if size == len(hidden) else (hidden[:size], None if cell is None else cell[:size])
        product = side.matmul(state, columns)
        if bias is not None:
            product += bias
        side.step(mode, gates[part], product, kept[part], before[part], None if cells is None else cells[part], output[part],
                  state, memory)  # fmt: skip
    return output, hidden, cell, kept, before, cells


def backward(
    side: Side, g: Any, g_hidden: Any, g_cell: Any, weight: Any, kept: Any, before: Any, cells: Any, mode: str,
    batch_sizes: Sequence[int], reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """(d_gates, d_product, d_hidden, d_cell), as `recurrence_grad` returns them."""
    (rows, features), dtype = before.shape, before.dtype
    g = side.zeros((rows, features), dtype) if g is None else g
    state = (batch_sizes[0], features)
    d_hidden = side.zeros(state, dtype) if g_hidden is None else side.copy(g_hidden)
    d_cell = None
    if cells is not None:
        d_cell = side.zeros(state, dtype) if g_cell is None else side.copy(g_cell)
    d_gates = side.empty((rows, GATES[mode] * features), dtype)
    d_product = side.empty(d_gates.shape, dtype) if mode == "GRU" else None
    for part, size in times(batch_sizes, not reverse):
        side.step_grad(mode, g[part], kept[part], before[part], None if cells is None else cells[part], d_gates[part],
                       None if d_product is None else d_product[part], d_hidden[:size],
                       None if d_cell is None else d_cell[:size])  # fmt: skip
        if d_product is None:
            d_hidden[:size] = side.matmul(d_gates[part], weight)
        else:
            d_hidden[:size] += side.matmul(d_product[part], weight)
    return d_gates, d_product, d_hidden, d_cell
