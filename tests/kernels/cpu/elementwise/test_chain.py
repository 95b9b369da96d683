"""NumPy's loops in a row: the bits of NumPy's calls, for products, sums of rows and elementwise operations."""
from __future__ import annotations

import itertools

import numpy as np
import pytest
from lucid_kernels.cpu.elementwise import chain, elementwise

BOTH = (True, True)
SHAPES = [(1, 1, 1), (1, 7, 1), (3, 1, 2), (1, 64, 128), (8, 32, 32), (31, 9, 5), (2, 130, 3)]


def numbers(*shape, dtype):
    values = np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)
    values.ravel()[::5] = -0.0
    values.ravel()[3::11] = np.inf
    values.ravel()[7::13] = np.nan
    return values


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def test_numpys_loops_are_found():
    assert chain.available()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_linear_layers_and_their_gradients(shape, dtype):
    (m, k, n), kind = shape, np.dtype(dtype)
    x, w, b, g = [numbers(*s, dtype=dtype) for s in ((m, k), (n, k), (n,), (m, n))]
    steps = [*chain.product(kind, (m, k, n), (0, 1, 4), (False, True)), *chain.plus_row(kind, m, n, 4, 2),
             *chain.activation("relu", kind, m * n, (4, 5)), *chain.activation("relu_grad", kind, m * n, (3, 5, 9)),
             *chain.product(kind, (m, n, k), (9, 1, 6), (False, False)), *chain.product(kind, (n, m, k), (9, 0, 7), (True, False)),
             *chain.sum_of_rows(kind, m, n, 3, 8)]
    whole = chain.Chain(steps, 4, [((m, n), dtype), ((m, n), dtype), ((m, k), dtype), ((n, k), dtype), ((n,), dtype)],
                        [64], chain.workspace(64 + m * n * kind.itemsize))
    y = np.matmul(x, w.T)
    y += b
    a = np.where(y < 0, 0, y).astype(dtype)
    h = np.where(a <= 0, 0, g).astype(dtype)
    wanted = [y, a, np.matmul(h, w), np.matmul(h.T, x), np.add.reduce(g, 0) if n > 1 else None]
    for found in (whole(x, w, b, g), whole(x, w, b, g)):
        for result, expected in zip(found, wanted, strict=True):
            if expected is not None:  # of one column NumPy adds pairs
                np.testing.assert_array_equal(result.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize(("name", "dtype"), [*itertools.product(["add", "multiply", "divide", "maximum", "sqrt", "exp"], "fd")])
def test_elementwise_operations(name, dtype):
    ufunc, kind = getattr(np, name), np.dtype(dtype)
    for size in (1, 5, 67, 1000):
        operands = [numbers(size, dtype=dtype), numbers(size + 1, dtype=dtype)[1:].copy()][: ufunc.nin]
        steps = chain.elementwise(ufunc, kind, (1, size), (*range(ufunc.nin), ufunc.nin), (BOTH,) * (ufunc.nin + 1))
        (found,) = chain.Chain(steps, ufunc.nin, [((size,), dtype)])(*operands)
        np.testing.assert_array_equal(found.view(np.uint8), ufunc(*operands).view(np.uint8))
    if ufunc.nin == 2:
        x, number = numbers(33, dtype=dtype), np.asarray(2.5, dtype)
        steps = chain.elementwise(ufunc, kind, (1, 33), (0, 1, 2), (BOTH, (False, False), BOTH))
        (found,) = chain.Chain(steps, 2, [((33,), dtype)])(x, number)
        np.testing.assert_array_equal(found.view(np.uint8), ufunc(x, number).view(np.uint8))


def test_rows_and_columns_for_all():
    kind = np.dtype(np.float32)
    x, row, column = numbers(5, 7, dtype="f"), numbers(7, dtype="f"), numbers(5, 1, dtype="f")
    for other, moves in ((row, (False, True)), (column, (True, False))):
        for operands, order in (((x, other), (BOTH, moves, BOTH)), ((other, x), (moves, BOTH, BOTH))):
            steps = chain.elementwise(np.subtract, kind, (5, 7), (0, 1, 2), order)
            (found,) = chain.Chain(steps, 2, [((5, 7), kind)])(*operands)
            np.testing.assert_array_equal(found.view(np.uint8), (operands[0] - operands[1]).view(np.uint8))


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_activations_are_the_kernels(dtype):
    kind = np.dtype(dtype)
    for name in ("tanh", "sigmoid", "tanh_grad", "sigmoid_grad", "gelu_tanh"):
        kernel = getattr(elementwise, name.removesuffix("_tanh"))
        options = {"approximate": "tanh"} if name == "gelu_tanh" else {}
        for size in (1, 3, 16, 67, 500):
            operands = [numbers(size, dtype=dtype), numbers(size + 1, dtype=dtype)[1:].copy()][: 2 if "grad" in name else 1]
            count = len(operands)
            steps = chain.activation(name, kind, size, tuple(range(count + 1)))
            (found,) = chain.Chain(steps, count, [((size,), dtype)])(*operands)
            np.testing.assert_array_equal(found.view(np.uint8), kernel(*operands, **options).view(np.uint8))
    assert chain.is_serial("tanh", kind, 100)
    assert not chain.is_serial("tanh", kind, 1 << 24)


def test_arrays_with_gaps_and_of_odd_addresses_are_left_to_others():
    kind = np.dtype(np.float32)
    whole = chain.Chain(chain.elementwise(np.add, kind, (1, 4), (0, 1, 2), (BOTH,) * 3), 2, [((4,), kind)])
    x = np.ones(4, kind)
    odd = np.frombuffer(bytes(17), np.uint8)[1:].view(kind)
    assert whole(x, np.ones(8, kind)[::2]) is None
    assert whole(odd, x) is None
    assert whole(x, x) is not None


def test_no_loops_of_other_dtypes():
    with pytest.raises(LookupError):
        chain.elementwise(np.add, np.dtype(np.float16).newbyteorder(">"), (1, 4), (0, 1, 2), (BOTH,) * 3)
    with pytest.raises(LookupError):
        chain.elementwise(np.isfinite, np.dtype(np.float32), (1, 4), (0, 1), (BOTH, BOTH))  # whose results are truth values
