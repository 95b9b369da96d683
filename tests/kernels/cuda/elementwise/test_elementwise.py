"""CUDA activations and arithmetic against float64 NumPy."""
from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

SHAPES = [(), (0,), (1,), (31,), (33,), (257,), (10, 100)]
HALVES = [np.float16, ml_dtypes.bfloat16]
TOLERANCE = {np.float32: {"rtol": 3e-6, "atol": 1e-6}, np.float64: {"rtol": 1e-12, "atol": 1e-14}}

erfc = np.vectorize(math.erfc, otypes=[np.float64])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x, approximate):
    if approximate == "tanh":  # 0.5 x (1 + tanh(u)) is x sigmoid(2u), which keeps its digits in the lower tail
        return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return 0.5 * x * erfc(-x / math.sqrt(2))


def gelu_grad(g, x, approximate):
    if approximate == "tanh":
        s = sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
        return g * (s + x * s * (1 - s) * 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x))
    return g * (0.5 * erfc(-x / math.sqrt(2)) + x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi))


# name: (reference, attributes)
UNARY = {
    "relu": (lambda x: np.maximum(x, 0), {}),
    "gelu": (gelu, {"approximate": "none"}),
    "gelu tanh": (gelu, {"approximate": "tanh"}),
    "sigmoid": (sigmoid, {}),
    "tanh": (np.tanh, {}),
    "silu": (lambda x: x * sigmoid(x), {}),
}
BINARY = {
    "relu_grad": (lambda g, y: np.where(y > 0, g, 0), {}),
    "gelu_grad": (gelu_grad, {"approximate": "none"}),
    "gelu_grad tanh": (gelu_grad, {"approximate": "tanh"}),
    "sigmoid_grad": (lambda g, y: g * y * (1 - y), {}),
    "tanh_grad": (lambda g, y: g * (1 - y * y), {}),
    "silu_grad": (lambda g, x: g * sigmoid(x) * (1 + x * (1 - sigmoid(x))), {}),
}
ARITHMETIC = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
CASES = {name: (reference, attributes, 1) for name, (reference, attributes) in UNARY.items()} | {
    name: (reference, attributes, 2) for name, (reference, attributes) in BINARY.items()
}


@pytest.fixture
def elementwise(cp):
    from lucid_kernels.cuda.elementwise import elementwise

    return elementwise


def data(shape, dtype, count, seed=0):
    values = np.random.default_rng(seed).standard_normal((count, *shape)) * 3
    return [np.asarray(v).astype(dtype) for v in values]


def wide(arrays):
    return [np.asarray(array, np.float64) for array in arrays]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_values(elementwise, cp, schedule, name, dtype):
    reference, attributes, count = CASES[name]
    for shape in SHAPES:
        inputs = data(shape, dtype, count)
        result = getattr(elementwise, name.split()[0])(*map(cp.asarray, inputs), **attributes)
        assert result.dtype == dtype and result.shape == shape
        np.testing.assert_allclose(result.get(), reference(*wide(inputs), **attributes), **TOLERANCE[dtype])


@pytest.mark.parametrize("name", CASES)
def test_strides_and_out(elementwise, cp, name):
    _, attributes, count = CASES[name]
    function = getattr(elementwise, name.split()[0])
    inputs = data((7, 11), np.float32, count)
    expected = function(*map(cp.asarray, inputs), **attributes).get()
    turned = [cp.asarray(np.ascontiguousarray(v.T)).T for v in inputs]
    np.testing.assert_array_equal(function(*turned, **attributes).get(), expected)
    out = cp.zeros((7, 11), np.float32)
    assert function(*turned, **attributes, out=out) is out
    np.testing.assert_array_equal(out.get(), expected)
    strided = cp.zeros((11, 7), np.float32).T
    assert function(*turned, **attributes, out=strided) is strided
    np.testing.assert_array_equal(strided.get(), expected)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", [*CASES, *ARITHMETIC])
def test_halves_are_rounded_once(elementwise, cp, name, dtype):
    _, attributes, count = CASES.get(name, (None, {}, 2))
    function = getattr(elementwise, name.split()[0])
    inputs = data((257,), dtype, count)
    result = function(*map(cp.asarray, inputs), **attributes)
    assert result.dtype == dtype
    expected = function(*(cp.asarray(v.astype(np.float32)) for v in inputs), **attributes).get().astype(dtype)
    np.testing.assert_array_equal(result.get().astype(np.float32), expected.astype(np.float32))
    out = cp.zeros((257,), dtype)
    assert function(*map(cp.asarray, inputs), **attributes, out=out) is out
    np.testing.assert_array_equal(out.get().astype(np.float32), expected.astype(np.float32))


def check_digits_of_gelu(elementwise, cp):
    """In the lower tail too, where the result is almost nothing; beyond, numbers below the smallest normal one are 0 on a GPU."""
    x = np.append(np.linspace(-12.5, 9, 2001), [-300, -20, 20, 1e30]).astype(np.float32)
    found = elementwise.gelu(cp.asarray(x), approximate="none").get()
    np.testing.assert_allclose(found, gelu(x.astype(np.float64), "none"), rtol=6e-7, atol=1e-38)
    assert not np.isnan(elementwise.gelu_grad(cp.asarray(np.ones_like(x)), cp.asarray(x), approximate="none").get()).any()


def test_gelu_keeps_its_digits(elementwise, cp):
    check_digits_of_gelu(elementwise, cp)


def test_nan_and_infinity(elementwise, cp):
    x = cp.asarray(np.array([np.nan, np.inf, -np.inf], np.float32))
    one = cp.asarray(np.ones(3, np.float32))
    for name, expected in {
        "relu": [np.nan, np.inf, 0], "sigmoid": [np.nan, 1, 0], "tanh": [np.nan, 1, -1], "silu": [np.nan, np.inf, np.nan],
        "gelu": [np.nan, np.inf, np.nan],
    }.items():  # fmt: skip
        attributes = {"approximate": "none"} if name == "gelu" else {}
        np.testing.assert_array_equal(getattr(elementwise, name)(x, **attributes).get(), np.float32(expected), name)
    np.testing.assert_array_equal(elementwise.relu_grad(one, x).get(), [1, 1, 0])


BROADCASTS = [
    ((5,), (5,)), ((4, 1), (1, 9)), ((3, 1, 5), (4, 1)), ((), (6, 7)), ((8, 1, 6, 1), (7, 1, 5)), ((1,), (1,)), ((0, 3), (1, 3)),
    ((2, 1, 2, 1, 2, 1, 2), (1, 3, 1, 3, 1, 3, 1)), ((2, 1, 2, 1, 2, 1, 2, 1), (1, 3, 1, 3, 1, 3, 1, 3)), ((300, 4), (4,)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_broadcasting(elementwise, cp, schedule, name, dtype):
    for shape_a, shape_b in BROADCASTS:
        (a,), (b,) = data(shape_a, dtype, 1), data(shape_b, dtype, 1, seed=1)
        result = getattr(elementwise, name)(cp.asarray(a), cp.asarray(b))
        expected = ARITHMETIC[name](a, b)
        assert result.shape == expected.shape and result.dtype == dtype
        np.testing.assert_allclose(result.get(), expected, rtol=np.finfo(dtype).eps)


@pytest.mark.parametrize("name", ARITHMETIC)
def test_broadcasting_of_views(elementwise, cp, name):
    (a, b) = data((6, 5, 4), np.float32, 2)
    for view in (
        lambda v: v.transpose(2, 0, 1), lambda v: v[::2, 1:, ::-1], lambda v: v[:, :1].transpose(2, 1, 0), lambda v: v[3],
    ):  # fmt: skip
        function, expected = getattr(elementwise, name), ARITHMETIC[name](view(a), view(b)[..., :1])
        result = function(view(cp.asarray(a)), view(cp.asarray(b))[..., :1])
        np.testing.assert_allclose(result.get(), expected, rtol=1e-6)
        out = cp.zeros(expected.shape[::-1], np.float32).T
        assert function(view(cp.asarray(a)), view(cp.asarray(b))[..., :1], out=out) is out
        np.testing.assert_allclose(out.get(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ARITHMETIC)
def test_misaligned_rows(elementwise, cp, name):
    """Rows that begin anywhere and end within a vector, beside rows that do not."""
    memory = np.arange(1, 1 + 9 * 16, dtype=np.float32).reshape(9, 16)
    for first in (0, 1, 2, 4):
        for length in (3, 4, 8, 11):
            a, b = memory[:, first:first + length], memory[0, :length]
            found = getattr(elementwise, name)(cp.asarray(memory)[:, first:first + length], cp.asarray(memory)[0, :length])
            np.testing.assert_allclose(found.get(), ARITHMETIC[name](a, b), rtol=1e-6)
            out = cp.full(memory.shape, np.nan, np.float32)
            getattr(elementwise, name)(cp.asarray(a.copy()), cp.asarray(b), out=out[:, first:first + length])
            expected = np.full(memory.shape, np.nan, np.float32)
            expected[:, first:first + length] = ARITHMETIC[name](a, b)
            np.testing.assert_allclose(out.get(), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_halves_against_float64(elementwise, cp, schedule, name, dtype):
    """Of both operands as they are, in strides, broadcast and with a number, which is not rounded."""
    kind, eps = np.dtype(dtype), float(ml_dtypes.finfo(dtype).eps)
    a, b = data((6, 21), dtype, 1)[0], data((21,), dtype, 1, seed=1)[0]
    for x, y in ((a, b), (a.T, a[:, :1].T), (a[:, ::2], b[::2]), (a, 1.001), (3, b)):
        found = getattr(elementwise, name)(*[v if np.isscalar(v) else view_of(cp, v) for v in (x, y)])
        expected = ARITHMETIC[name](np.asarray(x, np.float64), np.asarray(y, np.float64))
        assert found.dtype == kind
        np.testing.assert_allclose(found.get().astype(np.float64), expected, rtol=eps / 2 * 1.001, atol=1e-7)


def view_of(cp, array):
    """An array on the device in the same strides."""
    order = sorted(range(array.ndim), key=lambda d: -abs(array.strides[d]))
    memory = cp.asarray(np.ascontiguousarray(array.transpose(order)))
    return memory.transpose(np.argsort(order).tolist())


def test_the_layout_of_the_arguments_is_kept(elementwise, cp):
    x = cp.asarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4)).transpose(0, 2, 1)
    assert elementwise.relu(x).strides == x.strides
    assert elementwise.add(x, x[:1, :1, :1]).strides == x.strides
    assert elementwise.add(x, cp.ascontiguousarray(x)).flags.c_contiguous


DIVISIONS = {"floor_divide": np.floor_divide, "remainder": np.remainder}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", DIVISIONS)
def test_division_with_rest(elementwise, cp, schedule, name, dtype):
    """NaN, infinities, zeros with their signs, and quotients that division rounds up to a whole number; broadcast."""
    numbers = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 2.5, -3, 0.1, -0.7, 1e30, -1e-3], dtype)
    function = getattr(elementwise, name)
    with np.errstate(all="ignore"):
        for a, b in ((numbers[:, None], numbers), (*np.broadcast_arrays(numbers, numbers[:, None]),),
                     (data((257,), dtype, 1)[0] * 9, numbers[9:10]), (numbers, dtype(0.3)), (dtype(7), numbers)):
            found, expected = function(*map(cp.asarray, (a, b))), DIVISIONS[name](a, b)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found.get(), expected)
            np.testing.assert_array_equal(np.signbit(found.get()[expected == 0]), np.signbit(expected[expected == 0]))
        for number in (0.3, -2, 0):
            np.testing.assert_array_equal(function(cp.asarray(numbers), number).get(), DIVISIONS[name](numbers, dtype(number)))
            np.testing.assert_array_equal(function(number, cp.asarray(numbers)).get(), DIVISIONS[name](dtype(number), numbers))


def test_other_dtypes_go_to_cupy(elementwise, cp):
    a = cp.asarray(np.arange(6).reshape(2, 3))
    assert elementwise.add(a, a[:1]).dtype == np.int64
    np.testing.assert_array_equal(elementwise.mul(a, a[:1]).get(), [[0, 1, 4], [0, 4, 10]])


@pytest.mark.parametrize("name", DIVISIONS)
def test_division_with_rest_of_integers_and_halves(elementwise, cp, name):
    a, b = np.array([7, -7, 6, 0]), np.array([2, 2, -4, 5])
    np.testing.assert_array_equal(getattr(elementwise, name)(cp.asarray(a), cp.asarray(b)).get(), DIVISIONS[name](a, b))
    for dtype in HALVES:
        found = getattr(elementwise, name)(cp.asarray(a.astype(dtype)), cp.asarray(b.astype(dtype)))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.get().astype(np.int64), DIVISIONS[name](a, b))


@pytest.mark.parametrize("name", [*CASES, *ARITHMETIC])
def test_parity_with_the_cpu(elementwise, cp, name):
    cpu = pytest.importorskip("lucid_kernels.cpu.elementwise.elementwise")
    _, attributes, count = CASES.get(name, (None, {}, 2))
    name = name.split()[0]
    inputs = data((33, 31), np.float32, count)
    np.testing.assert_allclose(
        getattr(elementwise, name)(*map(cp.asarray, inputs), **attributes).get(),
        getattr(cpu, name)(*inputs, **attributes), rtol=5e-6, atol=1e-6,
    )  # fmt: skip
