"""Recurrent networks in NumPy, in float64, sequence by sequence, and cases for the kernels of both sides."""
from __future__ import annotations

import numpy as np

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
# (mode, features, batch_sizes, reverse, bias): one row and many, sequences that end, a row of one vector and more, few steps (which
# the CPU computes one by one) and many.
CASES = [
    ("LSTM", 5, (3, 3, 3), False, False), ("LSTM", 33, (4, 2, 2, 1), True, False), ("LSTM", 1, (1,), False, True),
    ("LSTM", 70, (150, 97), False, False),
    ("GRU", 5, (3, 3), True, True), ("GRU", 33, (4, 2, 1), False, True), ("GRU", 70, (150, 97), False, False),
    ("RNN_TANH", 5, (3, 2), False, False), ("RNN_TANH", 70, (4, 4, 4), True, True),
    ("RNN_RELU", 5, (3, 3), False, True), ("RNN_RELU", 33, (4, 1), True, False),
    ("LSTM", 33, (9, 8, 7, 6, 5, 4, 3, 2, 1), False, True), ("GRU", 33, (5, 5, 3, 2, 1), True, True),
    ("GRU", 20, (1, 1, 1, 1), False, False), ("RNN_TANH", 17, (7, 5, 1, 1), False, True), ("RNN_RELU", 33, (3, 2, 2, 1), True, False),
]  # fmt: skip


def data(mode, features, batch_sizes, reverse, with_bias, dtype=np.float64):
    """((gates, weight, bias, hidden, cell), the attributes)."""
    rng = np.random.default_rng(0)
    width = GATES[mode] * features
    shapes = [(sum(batch_sizes), width), (width, features), (width,), *[(batch_sizes[0], features)] * 2]
    arrays = [rng.normal(size=shape).astype(dtype) for shape in shapes]
    arrays[1] /= np.sqrt(features).astype(dtype)
    if not with_bias:
        arrays[2] = None
    if mode != "LSTM":
        arrays[4] = None
    return arrays, {"mode": mode, "batch_sizes": batch_sizes, "reverse": reverse}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(mode, x, product, hidden, cell):
    """The next (hidden, cell) of one sequence."""
    if mode == "LSTM":
        into, forget, new, out = np.split(x + product, 4)
        cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(new)
        return sigmoid(out) * np.tanh(cell), cell
    if mode == "GRU":
        (r, z, n), (hr, hz, hn) = np.split(x, 3), np.split(product, 3)
        update, new = sigmoid(z + hz), np.tanh(n + sigmoid(r + hr) * hn)
        return (1 - update) * new + update * hidden, None
    return (np.tanh(x + product) if mode == "RNN_TANH" else np.maximum(x + product, 0)), None


def run(gates, weight, bias, hidden, cell, *, mode, batch_sizes, reverse):
    """(output, hidden, cell) in float64."""
    gates, weight, hidden = (np.array(array, np.float64) for array in (gates, weight, hidden))
    cell = None if cell is None else np.array(cell, np.float64)
    output = np.zeros((len(gates), hidden.shape[1]))
    starts = np.cumsum([0, *batch_sizes])
    for number in range(batch_sizes[0]):
        rows = [start + number for start, size in zip(starts, batch_sizes, strict=False) if number < size]
        h, c = hidden[number], None if cell is None else cell[number]
        for row in rows[::-1] if reverse else rows:
            h, c = step(mode, gates[row], weight @ h + (0 if bias is None else bias), h, c)
            output[row] = h
        hidden[number] = h
        if cell is not None:
            cell[number] = c
    return output, hidden, cell


def weight_gradients(d_gates, d_product, before):
    """Those of weight and bias from what the kernel returns."""
    d_product = d_gates if d_product is None else d_product
    return d_product.T @ before, d_product.sum(0)


def slope(arrays, directions, upstream, attributes, epsilon=1e-6):
    """The derivative of the sum of results times `upstream` along `directions`, by differences."""
    def value(sign):
        moved = [None if a is None else a + sign * epsilon * d for a, d in zip(arrays, directions, strict=True)]
        return sum((y * g).sum() for y, g in zip(run(*moved, **attributes), upstream, strict=True) if y is not None)

    return (value(1) - value(-1)) / (2 * epsilon)
