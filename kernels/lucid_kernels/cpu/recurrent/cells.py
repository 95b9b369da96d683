"""The elementwise part of a step of a recurrent network: some units of one row, walked gate by gate.

So each loop is a vector loop over few arrays, and what it wrote last is in the L1 cache. Every function here takes the same
pointers to the first one of n units: of `gates` and of what is `kept`, whose gates are as many elements apart as there are
`features`, of the `product` of the hidden state and the weight, whose gates are `width` apart, of the hidden state and the cell
`before` the step, of the output, and of where the hidden state and the cell after it go. Slices would take 0.2 us a call.
"""
from __future__ import annotations

from typing import Any

from numba import carray as _carray  # type: ignore[attr-defined]

from ..math import basic as math_basic
from ..runtime.jit import jit_exact, jit_inline
from ..simd.pointer import moved, pointer

carray: Any = _carray


@jit_inline
def element(array, offset):
    """The pointer to an element of a contiguous array."""
    return pointer(array, array.ctypes.data + offset * array.itemsize)


@jit_inline
def _sigmoid(a, b, y, n):
    a, b, y = carray(a, (n,)), carray(b, (n,)), carray(y, (n,))
    for j in range(n):
        y[j] = math_basic.sigmoid(a[j] + b[j])


@jit_inline
def _tanh(a, b, y, n):
    a, b, y = carray(a, (n,)), carray(b, (n,)), carray(y, (n,))
    for j in range(n):
        y[j] = math_basic.tanh(a[j] + b[j])


@jit_inline
def _copy(a, y, n):
    a, y = carray(a, (n,)), carray(y, (n,))
    for j in range(n):
        y[j] = a[j]


@jit_exact
def lstm_units(gates, product, kept, before, cells, output, hidden, cell, features, width, n):
    """The gates are input, forget, cell, output."""
    _sigmoid(gates, product, kept, n)
    _sigmoid(moved(gates, features), moved(product, width), moved(kept, features), n)
    _tanh(moved(gates, 2 * features), moved(product, 2 * width), moved(kept, 2 * features), n)
    _sigmoid(moved(gates, 3 * features), moved(product, 3 * width), moved(kept, 3 * features), n)
    into, forget = carray(kept, (n,)), carray(moved(kept, features), (n,))
    new, out = carray(moved(kept, 2 * features), (n,)), carray(moved(kept, 3 * features), (n,))
    old, now, result = carray(cells, (n,)), carray(cell, (n,)), carray(output, (n,))
    for j in range(n):
        now[j] = forget[j] * old[j] + into[j] * new[j]
    for j in range(n):
        result[j] = out[j] * math_basic.tanh(now[j])
    _copy(output, hidden, n)


@jit_exact
def gru_units(gates, product, kept, before, cells, output, hidden, cell, features, width, n):
    """The gates are reset, update, new; the product of the last one is kept as well."""
    _sigmoid(gates, product, kept, n)
    _sigmoid(moved(gates, features), moved(product, width), moved(kept, features), n)
    _copy(moved(product, 2 * width), moved(kept, 3 * features), n)
    reset, update = carray(kept, (n,)), carray(moved(kept, features), (n,))
    new, part = carray(moved(kept, 2 * features), (n,)), carray(moved(kept, 3 * features), (n,))
    given, old, result = carray(moved(gates, 2 * features), (n,)), carray(before, (n,)), carray(output, (n,))
    for j in range(n):
        new[j] = math_basic.tanh(given[j] + reset[j] * part[j])
    for j in range(n):
        result[j] = new[j] + update[j] * (old[j] - new[j])
    _copy(output, hidden, n)


@jit_exact
def rnn_tanh_units(gates, product, kept, before, cells, output, hidden, cell, features, width, n):
    """Without gates."""
    _tanh(gates, product, kept, n)
    _copy(kept, output, n)
    _copy(kept, hidden, n)


@jit_exact
def rnn_relu_units(gates, product, kept, before, cells, output, hidden, cell, features, width, n):
    """The same with ``max(..., 0)``."""
    given, own, result = carray(gates, (n,)), carray(product, (n,)), carray(kept, (n,))
    for j in range(n):
        s = given[j] + own[j]
        result[j] = own.dtype.type(0) if s <= 0 else s  # a NaN stays
    _copy(kept, output, n)
    _copy(kept, hidden, n)
