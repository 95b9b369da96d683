"""Elementwise kernels against formulas in float64, and against PyTorch where it is installed."""

import math
import re
from typing import Any

import ml_dtypes
import numba
import numpy as np
import pytest
from lucid_kernels.cpu.arrays import layout as arrays_layout
from lucid_kernels.cpu.elementwise import elementwise
from lucid_kernels.cpu.runtime.allocator import SMALLEST
from lucid_kernels.cpu.runtime.jit import EXACT
from lucid_kernels.cpu.runtime.tuning import PARALLEL_FROM
from lucid_kernels.cpu.simd import nontemporal
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES

RNG = np.random.default_rng(0)
TOLERANCE = {"float32": 2e-6, "float64": 1e-14, "float16": 2e-3, "bfloat16": 1.6e-2}
DTYPES = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


def cdf(x):
    return 0.5 * np.vectorize(math.erfc, otypes=[float])(-x / math.sqrt(2))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu_tanh(x):
    return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def gelu_tanh_slope(x):
    s = sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return s + x * s * (1 - s) * 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)


UNARY = {
    "relu": (elementwise.relu, lambda x: np.maximum(x, 0), {}),
    "gelu": (elementwise.gelu, lambda x: x * cdf(x), {"approximate": "none"}),
    "gelu_tanh": (elementwise.gelu, gelu_tanh, {"approximate": "tanh"}),
    "sigmoid": (elementwise.sigmoid, sigmoid, {}),
    "tanh": (elementwise.tanh, np.tanh, {}),
    "silu": (elementwise.silu, lambda x: x * sigmoid(x), {}),
    "exp": (elementwise.exp, np.exp, {}),
}
BINARY = {
    "relu_grad": (elementwise.relu_grad, lambda g, y: np.where(y <= 0, 0, g), {}),
    "gelu_grad": (
        elementwise.gelu_grad,
        lambda g, x: g * (cdf(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
        {"approximate": "none"},
    ),
    "gelu_tanh_grad": (elementwise.gelu_grad, lambda g, x: g * gelu_tanh_slope(x), {"approximate": "tanh"}),
    "sigmoid_grad": (elementwise.sigmoid_grad, lambda g, y: g * y * (1 - y), {}),
    "tanh_grad": (elementwise.tanh_grad, lambda g, y: g * (1 - y * y), {}),
    "silu_grad": (elementwise.silu_grad, lambda g, x: g * sigmoid(x) * (1 + x * (1 - sigmoid(x))), {}),
    "add": (elementwise.add, np.add, {}),
    "sub": (elementwise.sub, np.subtract, {}),
    "mul": (elementwise.mul, np.multiply, {}),
    "div": (elementwise.div, np.divide, {}),
}
ALL = UNARY | BINARY


def arguments(name, shape, dtype):
    count = 1 if name in UNARY else 2
    return [(3 * RNG.standard_normal(shape)).astype(dtype) for _ in range(count)]


def check(name, arrays, y):
    _, oracle, _ = ALL[name]
    dtype = arrays[0].dtype
    tolerance = TOLERANCE[dtype.name]
    assert y.dtype == dtype and y.shape == arrays[0].shape and y.flags.c_contiguous
    expected = oracle(*(a.astype(np.float64) for a in arrays))
    np.testing.assert_allclose(y.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ALL)
def test_values(name, dtype):
    kernel, _, attributes = ALL[name]
    for shape in ((), (0,), (1,), (7, 13), (3, 0, 2)):
        arrays = arguments(name, shape, dtype)
        copies = [a.copy() for a in arrays]
        check(name, arrays, kernel(*arrays, **attributes))
        for array, copy in zip(arrays, copies, strict=True):
            np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("name", ["relu", "gelu_grad", "add"])
def test_parallel_is_the_same_as_serial(name):
    kernel, _, attributes = ALL[name]
    arrays = arguments(name, (PARALLEL_FROM + 777,), np.float32)
    y = kernel(*arrays, **attributes)
    check(name, arrays, y)
    parts = [kernel(*(a[i : i + 16384] for a in arrays), **attributes) for i in range(0, y.size, 16384)]
    np.testing.assert_array_equal(y, np.concatenate(parts))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["relu", "gelu_grad", "exp"])
def test_streamed_is_the_same(name, dtype, monkeypatch):
    kernel, _, attributes = ALL[name]
    arrays = arguments(name, (SMALLEST // 4 + 777,), dtype)
    expected = kernel(*arrays, **attributes)
    monkeypatch.setattr(nontemporal, "_streamed_from", lambda: 0)
    assert nontemporal.streams(0, expected) or not nontemporal._X86 or expected.ctypes.data % VECTOR_BYTES  # without a pool
    np.testing.assert_array_equal(kernel(*arrays, **attributes), expected)
    assert kernel(*arrays, **attributes, out=arrays[0]) is arrays[0]
    np.testing.assert_array_equal(arrays[0], expected)


@pytest.mark.parametrize("name", ["tanh", "silu_grad", "mul"])
def test_strides_and_out(name):
    kernel, _, attributes = ALL[name]
    arrays = [a.T[::2] for a in arguments(name, (5, 8), np.float32)]
    expected = kernel(*arrays, **attributes)
    check(name, arrays, expected)
    for out in (np.empty((4, 5), np.float32), np.empty((5, 4), np.float32).T, np.empty((4, 10), np.float32)[:, ::2]):
        assert kernel(*arrays, **attributes, out=out) is out
        np.testing.assert_array_equal(out, expected)
    half = [a.astype(np.float16) for a in arrays]
    out = np.empty((4, 5), np.float16)
    assert kernel(*half, **attributes, out=out) is out
    np.testing.assert_array_equal(out, kernel(*half, **attributes))


def test_broadcasting_integers_and_no_warnings(recwarn):
    a, b = np.arange(6).reshape(2, 3), np.arange(3)
    np.testing.assert_array_equal(elementwise.add(a, b), a + b)
    assert elementwise.sub(a, b).dtype == np.int64
    assert elementwise.mul(np.float32([[2], [3]]), np.float32([4, 5])).tolist() == [[8, 10], [12, 15]]
    y = elementwise.div(np.float32([[1], [0], [-1]]), np.float32([0]))
    np.testing.assert_array_equal(y, [[np.inf], [np.nan], [-np.inf]])
    np.testing.assert_array_equal(elementwise.div(np.float32([1, 0]), np.float32([0, 0])), [np.inf, np.nan])
    assert not recwarn.list


def test_tails():
    x = np.linspace(-12, -4, 1001, dtype=np.float32)
    np.testing.assert_allclose(
        elementwise.gelu(x, approximate="tanh")[-400:], gelu_tanh(x.astype(np.float64))[-400:], rtol=1e-5
    )
    assert elementwise.tanh(np.float32([20, -20, np.inf, -np.inf])).tolist() == [1, -1, 1, -1]
    assert np.signbit(elementwise.tanh(np.float32([-0.0, 0.0, -1e-40]))).tolist() == [True, False, True]
    assert elementwise.sigmoid(np.float32([-np.inf, -1e4, 1e4, np.inf])).tolist() == [0, 0, 1, 1]
    x = np.float32([-86, -88, -88.6])  # subnormal numbers
    np.testing.assert_allclose(elementwise.sigmoid(x), 1 / (1 + np.exp(-x.astype(np.float64))), rtol=1e-5, atol=1.5e-45)
    x = np.linspace(-86, 20, 100_001, dtype=np.float32)
    exact = 1 / (1 + np.exp(-x.astype(np.float64)))
    assert np.max(np.abs(elementwise.sigmoid(x) - exact) / np.spacing(exact.astype(np.float32))) <= 2.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_not_finite_as_in_torch(dtype):
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    x = np.array([np.nan, np.inf, -np.inf, 0.0, 1e10, -1e10] * 6, dtype)
    leaf = torch.tensor(x, requires_grad=True)
    for name, function in {
        "relu": torch.relu,
        "gelu": functional.gelu,
        "gelu_tanh": lambda v: functional.gelu(v, approximate="tanh"),
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "silu": functional.silu,
    }.items():
        y = function(leaf)
        (gradient,) = torch.autograd.grad(y.sum(), leaf)
        y = y.detach().numpy()
        if name == "gelu":
            y = np.where(x == np.inf, np.inf, y)  # torch's vectorised float32 loop gives NaN there, its scalar loop inf
        forward, _, attributes = ALL[name]
        backward = ALL[f"{name}_grad"][0]
        np.testing.assert_array_equal(forward(x, **attributes), y, err_msg=name)
        saved = x if name.startswith(("gelu", "silu")) else y
        np.testing.assert_array_equal(backward(np.ones_like(x), saved, **attributes), gradient.numpy(), err_msg=name)


def test_gelu_of_float32_is_as_exact_as_pytorchs():
    """PyTorch's is up to 1.1e-6 off, relative to the result where that exceeds 1, and its derivative 2.8e-7."""
    x = np.linspace(-8, 8, 1_000_001, dtype=np.float32)
    wide = x.astype(np.float64)
    exact = wide * cdf(wide)
    assert np.max(np.abs(elementwise.gelu(x, approximate="none") - exact) / np.maximum(1, exact)) < 1e-6
    slope = cdf(wide) + wide * np.exp(-wide * wide / 2) / math.sqrt(2 * math.pi)
    assert np.max(np.abs(elementwise.gelu_grad(np.ones_like(x), x, approximate="none") - slope)) < 2.8e-7
    far = np.float32([-5.8, -100, -1e30, 5.8, 100, 1e30])
    assert elementwise.gelu(far, approximate="none").tolist() == [0, 0, 0, *far[3:]]


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "sigmoid", "tanh", "silu", "relu", "gelu_grad", "silu_grad", "relu_grad"])
def test_loops_are_vector_instructions(name):
    loop = elementwise._silu_of_float32 if name == "silu" else elementwise.LOOPS[name]
    x = np.linspace(-3, 3, 64, dtype=np.float32)
    arrays = (x, x, np.empty_like(x))[-3 if name.endswith("grad") else -2 :]
    compiled = numba.njit(fastmath=EXACT, error_model="numpy")(loop.serial.py_func)  # a kernel from the cache shows no assembly
    compiled(*arrays)
    assembly = compiled.inspect_asm(compiled.signatures[0])
    if "vmovups" not in assembly:
        pytest.skip("written for x86 with AVX")
    assert re.search(r"vmovups\s+%[yz]mm", assembly) and not re.search(r"\b(exp|tanh|erfc?)f?\b", assembly)


@pytest.mark.parametrize(("kernel", "exact", "limit"), [(elementwise.exp, np.exp, 1.05), (elementwise.tanh, np.tanh, 1.0)])
def test_float32_is_right_to_one_unit_in_the_last_place(kernel, exact, limit):
    """PyTorch's functions are up to 0.6 units off; ours may be twice that."""
    x = np.concatenate([np.linspace(-span, span, 200_001) for span in (1e-3, 0.7, 1.0, 2.0, 10.0, 85.0)]).astype(np.float32)
    wanted = exact(x.astype(np.float64))
    assert np.max(np.abs(kernel(x) - wanted) / np.spacing(np.abs(wanted).astype(np.float32))) <= limit


def test_large_exp_at_the_limits():
    x = np.zeros(1 << 16, np.float32)
    x[:7] = np.nan, np.inf, -np.inf, 88.8, -104.0, -90.0, 88.7
    y = elementwise.exp(x)
    assert np.isnan(y[0]) and y[1] == y[3] == np.inf and y[2] == y[4] == 0 and (y[7:] == 1).all()
    np.testing.assert_allclose(y[5:7], np.exp(x[5:7].astype(np.float64)), rtol=1e-5)


def test_tanh_of_float64():
    """Within 1.25 units in the last place, on both sides of where the formula changes."""
    x = np.concatenate([np.linspace(-1.5, 1.5, 60_001), np.linspace(-25, 25, 5001), 10.0 ** -np.arange(0, 300, 7)])
    x = x[x != 0]
    assert np.abs(elementwise.tanh(x) / np.tanh(x.astype(np.longdouble)) - 1).max() <= 1.25 * np.finfo(np.float64).eps
    special = np.array([0.0, -0.0, 1e-310, np.inf, -np.inf, 1e308, np.nan])
    np.testing.assert_array_equal(elementwise.tanh(special), [0, 0, 1e-310, 1, -1, 1, np.nan])
    assert np.signbit(elementwise.tanh(special)[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("name", ["relu_grad", "silu_grad", "mul"])
def test_an_expanded_number_is_read_as_one(name: str, dtype: Any) -> None:
    x = np.random.default_rng(0).standard_normal((300, 400)).astype(dtype)
    number = np.broadcast_to(np.asarray(1.5, dtype), x.shape)
    function = getattr(elementwise, name)
    np.testing.assert_array_equal(function(number, x), function(number.copy(), x))
    np.testing.assert_array_equal(function(number, x, out=np.empty_like(x)), function(number.copy(), x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("number", [1.5, 3, -0.0, 1e300, math.inf, math.nan])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_a_number_and_a_large_array(name: str, number: float, dtype: Any) -> None:
    """The number may come first or last. One that is too large for float32 is infinite."""
    x = np.random.default_rng(0).standard_normal((3, 50_000)).astype(dtype)
    x[0, :4] = 0, -0.0, np.nan, np.inf
    kernel, expected, _ = ALL[name]
    with np.errstate(all="ignore"):
        rounded = dtype(number)
        for found, wanted in ((kernel(x, number), expected(x, rounded)), (kernel(number, x), expected(rounded, x))):
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, wanted)


def test_transposed_arrays() -> None:
    x = np.random.default_rng(0).standard_normal((300, 400), dtype=np.float32)
    np.testing.assert_array_equal(elementwise.tanh(x.T), elementwise.tanh(x).T)
    np.testing.assert_array_equal(elementwise.add(x.T, x.T[::-1]), x.T + x.T[::-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["relu", "tanh", "silu_grad", "sub"])
def test_parts_are_read_where_they_lie(name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows with gaps, of several dimensions, lengths and pitches, on one thread and on all; other parts are copied."""
    kernel, _, attributes = ALL[name]
    x = (3 * RNG.standard_normal((4, 130, 2, 200))).astype(dtype)
    x[0, 0, 0, :4] = np.nan, np.inf, -np.inf, -0.0
    alike = np.ascontiguousarray(x[:, :, 1, :100])
    in_rows = [(x[..., 50:], x[..., :-50]), (x[:, :, 0, 7:107], alike), (x[:, :, 1], x[:, :, 0]),
               (np.broadcast_to(x[0, 0, 0], x.shape), x)]  # fmt: skip
    copied = [(x[:2, :100, 1], x[2:, 30:, 0]), (x[..., ::2], x[..., 1::2]), (x[::-1, :, 0], x[:, :, 1]), (x[..., :60], x[..., 60:120]), (x.T, x.T)]
    with np.errstate(all="ignore"):
        for number, pair in enumerate([*in_rows, *copied]):
            arrays = pair[: 1 if name in UNARY else 2]
            expected = kernel(*[array.copy() for array in arrays], **attributes)
            with monkeypatch.context() as patch:
                if number < 3 and name != "relu":
                    patch.setattr(elementwise, "contiguous", None)
                np.testing.assert_array_equal(kernel(*arrays, **attributes), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["sub", "div"])
def test_in_the_place_of_the_first(name: str, dtype: Any) -> None:
    """Also where that is the second too, or overlaps with it."""
    kernel, expected, _ = ALL[name]
    x = RNG.standard_normal((2, 50_001)).astype(dtype)
    for first, second in ((x[0], x[1]), (x[0], x[0]), (x[0, 1:], x[0, :-1]), (x[0, :-1], x[0, 1:]), (x[0, :20_000], x[0, ::2][:20_000])):
        memory = x.copy()
        wanted = expected(first, second)
        assert kernel(first, second, out=first) is first
        np.testing.assert_array_equal(first, wanted)
        x[:] = memory


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["add", "div"])
def test_a_number_and_a_part(name: str, dtype: Any) -> None:
    x = (3 * RNG.standard_normal((300, 600))).astype(dtype)
    kernel, expected, _ = ALL[name]
    for part in (x[:, 100:], x[:, ::2], x[::-1, 40:], np.broadcast_to(x[0], x.shape)):
        np.testing.assert_array_equal(kernel(part, 1.5), expected(part, dtype(1.5)))
        np.testing.assert_array_equal(kernel(1.5, part), expected(dtype(1.5), part))


def test_what_lies_in_rows():
    x = np.zeros((4, 3, 80), np.float32)
    assert all(arrays_layout.has_dense_rows(part) for part in (x, x[0], x[..., 8:], x[:, :1], x[:2, 1:2, 8:72]))
    assert not any(arrays_layout.has_dense_rows(part) for part in (x[..., ::2], x[..., :63], x[:, 1:, 1:], x[::-1, :, 1:], x.T))
