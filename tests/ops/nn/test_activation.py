"""Activation functions: values, derivatives up to the third, special values, dtypes, errors, PyTorch."""
from __future__ import annotations

import math

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid.autograd import gradgradcheck
from tests.ops.table.derivatives import check_derivatives, close, leaf, raises_like_torch, same_as_torch, uniform


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


ERF = np.vectorize(math.erf)
CASES = {
    "relu": (F.relu, lambda x: np.maximum(x, 0)),
    "gelu": (F.gelu, lambda x: x * 0.5 * (1 + ERF(x / math.sqrt(2)))),
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"),
                  lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))),
    "sigmoid": (F.sigmoid, sigmoid),
    "tanh": (F.tanh, np.tanh),
    "silu": (F.silu, lambda x: x * sigmoid(x)),
    "softmax": (lambda x: F.softmax(x, -1), softmax),
    "softmax 0": (lambda x: F.softmax(x, 0), lambda x: softmax(x, 0)),
    "softmin": (lambda x: F.softmin(x, 1), lambda x: softmax(-x, 1)),
    "log_softmax": (lambda x: F.log_softmax(x, 1), lambda x: np.log(softmax(x, 1))),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.1), lambda x: np.where(x > 0, x, 0.1 * x)),
    "elu": (lambda x: F.elu(x, 1.5), lambda x: np.where(x > 0, x, 1.5 * np.expm1(x))),
    "softplus": (lambda x: F.softplus(x, 2, 3), lambda x: np.where(2 * x > 3, x, np.log1p(np.exp(2 * x)) / 2)),
    "hardtanh": (lambda x: F.hardtanh(x, -0.5, 1.5), lambda x: np.clip(x, -0.5, 1.5)),
    "relu6": (lambda x: F.relu6(x * 4), lambda x: np.clip(x * 4, 0, 6)),
    "logsigmoid": (F.logsigmoid, lambda x: np.log(sigmoid(x))),
}
each = pytest.mark.parametrize("name", CASES)


@each
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_values(name, dtype, device):
    function, reference = CASES[name]
    x = lucid.tensor(uniform(3, 4), device=device).to(getattr(lucid, dtype))
    y = function(x)
    assert y.dtype == x.dtype and y.device == device
    close(y, reference(x.cpu().double().numpy()), {"float64": 1e-12, "float32": 1e-6, "float16": 4e-3, "bfloat16": 3e-2}[dtype])


@each
def test_derivatives(name, device):
    check_derivatives(CASES[name][0], device, uniform(3, 4))


@pytest.mark.parametrize("name", ["gelu", "gelu tanh", "sigmoid", "tanh", "silu", "softmax", "log_softmax", "logsigmoid"])
def test_third_derivatives(name):
    def slope(x):
        return lucid.autograd.grad((CASES[name][0](x) ** 2).sum(), x, create_graph=True)[0]

    assert gradgradcheck(slope, leaf(uniform(2, 2)))


@each
def test_layouts_and_empty_tensors(name, device):
    function, reference = CASES[name]
    array = uniform(4, 3)
    close(function(lucid.tensor(array, device=device).t()), reference(array.T), 1e-10)
    assert tuple(function(lucid.tensor(np.zeros((0, 3)), device=device)).shape) == (0, 3)


@pytest.mark.parametrize("name", [name for name in CASES if "soft" not in name and name != "relu6"])
def test_special_values_and_their_gradients_are_those_of_torch(name):
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, 100.0, -100.0, -0.5, 1.5])
    label, _, approximate = name.partition(" ")
    more = {"gelu": {"approximate": approximate or "none"}, "leaky_relu": {"negative_slope": 0.1},
            "hardtanh": {"min_val": -0.5, "max_val": 1.5}}.get(label, {})
    # The limits of gelu and silu at infinity are NaN in PyTorch.
    if label in ("gelu", "silu"):
        values = values[np.isfinite(values)]
    # PyTorch's loops over vectors and over single elements differ at NaN; which one takes which element depends on the processor.
    for value in values:
        try:
            same_as_torch(lambda library, functional, x: getattr(functional, label)(x, **more), np.array([value]))
        except AssertionError:
            same_as_torch(lambda library, functional, x: getattr(functional, label)(x, **more), np.full(64, value))


def test_softmax_of_special_rows_is_that_of_torch():
    rows = np.array([[1.0, np.inf], [-np.inf, -np.inf], [np.nan, 1.0], [-np.inf, 0.0], [1e4, -1e4]])
    same_as_torch(lambda library, functional, x: functional.softmax(x, 1), rows)
    same_as_torch(lambda library, functional, x: functional.log_softmax(x, 1), rows)


def test_second_derivative_of_logsigmoid_at_zero():
    x = leaf(np.zeros(1))
    (first,) = lucid.autograd.grad(F.logsigmoid(x).sum(), x, create_graph=True)
    (second,) = lucid.autograd.grad(first.sum(), x)
    assert first.item() == 0.5 and second.item() == -0.25


def test_inplace(device):
    for name in ("relu", "silu", "leaky_relu", "elu", "hardtanh", "relu6"):
        base = leaf(uniform(5), device)
        x = base * 1
        y = getattr(F, name)(x, inplace=True)
        assert y is x
        y.sum().backward()
        other = leaf(uniform(5), device)
        getattr(F, name)(other).sum().backward()
        np.testing.assert_allclose(base.grad.cpu().numpy(), other.grad.cpu().numpy(), err_msg=name)
        with pytest.raises(RuntimeError, match="leaf Variable"):
            getattr(F, name)(base, inplace=True)


def test_methods():
    x = lucid.tensor([-1.0, 2.0])
    assert x.relu().tolist() == [0.0, 2.0] and x.tanh().shape == (2,)
    assert x.softmax(0).sum().item() == pytest.approx(1) and x.log_softmax(-1).exp().sum().item() == pytest.approx(1)
    x.sigmoid_()
    assert x.tolist() == pytest.approx([0.26894142, 0.8807971])


def test_dtypes():
    numbers = lucid.tensor([-1, 2])
    assert F.relu(numbers).tolist() == [0, 2] and F.relu(numbers).dtype == lucid.int64
    assert F.relu6(numbers * 5).tolist() == [0, 6]
    assert F.sigmoid(numbers).dtype == lucid.float32 and F.tanh(numbers > 0).dtype == lucid.float32
    assert F.softmax(numbers, 0, dtype=lucid.float64).dtype == lucid.float64
    assert F.softmax(lucid.tensor(3.0), 0).item() == 1


def test_complex():
    z = uniform(4) + 1j * uniform(4, seed=1)
    close(lucid.tanh(lucid.tensor(z)).abs(), np.abs(np.tanh(z)))
    check_derivatives(lucid.tanh, "cpu", z)
    check_derivatives(lucid.sigmoid, "cpu", z)
    assert lucid.tanh(lucid.tensor([1000 + 1j, -1000 + 1j])).tolist() == pytest.approx([1, -1], abs=1e-6)


def test_implicit_dimension_warns():
    x = lucid.tensor(uniform(2, 3))
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        assert (F.softmax(x) == F.softmax(x, 1)).all()
    with pytest.warns(UserWarning, match="Implicit dimension choice for log_softmax"):
        F.log_softmax(x)


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.relu(t.ones(2) > 0), "Boolean inputs not supported for relu"),
    (lambda t, F: F.gelu(t.ones(2), approximate="wrong"), "approximate argument must be either none or tanh"),
    (lambda t, F: F.gelu(t.ones(2).long()), "not implemented for 'Long'"),
    (lambda t, F: F.softmax(t.ones(2).long(), 0), "not implemented for 'Long'"),
    (lambda t, F: F.softmax(t.ones(2, 2), 2), "Dimension out of range"),
    (lambda t, F: F.hardtanh(t.ones(2), 1.0, 0.0), "min_val cannot be greater than max_val"),
    (lambda t, F: F.hardtanh(t.ones(2).to(t.uint8)), "unsigned type with negative limits"),
    (lambda t, F: F.relu("text"), "must be Tensor, not str"),
    (lambda t, F: t.ones(2).softmax(), "dim"),
])
def test_errors(call, match):
    raises_like_torch(call, match)


def test_the_gradient_of_softplus_at_nan_and_infinity(device):
    x = leaf([np.nan, np.inf, -np.inf, 30.0], device)
    F.softplus(x).sum().backward()
    np.testing.assert_array_equal(x.grad.cpu().numpy(), [np.nan, 1, 0, 1])


def test_matches_torch():
    x = uniform(3, 4)
    for name in ("relu", "sigmoid", "tanh", "silu", "elu", "softplus", "logsigmoid", "leaky_relu", "relu6"):
        same_as_torch(lambda library, functional, x, name=name: getattr(functional, name)(x * 3), x)
    for approximate in ("none", "tanh"):
        same_as_torch(lambda library, functional, x, a=approximate: functional.gelu(x, approximate=a), x)


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float64, lucid.bfloat16], ids=str)
@pytest.mark.parametrize("size", [3, 5000])
def test_relu_keeps_the_sign_of_zero(device, dtype, size):
    """As PyTorch, also in a fused function."""
    x = lucid.full((size,), -0.0, dtype=dtype, device=device)
    for function in (F.relu, lucid.fuse(F.relu)):
        assert bool(lucid.signbit(function(x)).all())
