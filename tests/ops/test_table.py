"""Every row of the op table: values, gradients, second gradients, layouts, empty and 0-d arrays, NaN and inf."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from lucid.autograd import gradcheck, gradgradcheck
from tests.ops.row import Row
from tests.ops.table import BINARY, ROWS, UNARY

SMOOTH = [row for row in ROWS if row.smooth]


def tensors(arrays, dtype, device, requires_grad=False):
    return [lucid.tensor(a, dtype=dtype, device=device, requires_grad=requires_grad) for a in arrays]


def assert_matches(result, expected, rtol):
    expected = np.asarray(expected)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.cpu().numpy(), expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float64], ids=lambda d: d.name)
@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_values(row: Row, dtype, device):
    arrays = [a.astype(dtype) for a in row.inputs(np.random.default_rng(0))]
    result = row.function(*tensors(arrays, dtype, device))
    expected = row.reference(*[a.astype(np.float64) for a in arrays])
    assert result.device == device
    assert result.dtype == (dtype if np.asarray(expected).dtype.kind == "f" else lucid.bool)
    assert_matches(result, expected, 3e-6 if dtype == lucid.float32 else 1e-12)


@pytest.mark.parametrize("row", SMOOTH, ids=lambda r: r.name)
def test_gradient_and_second_gradient(row: Row, device):
    inputs = tensors(row.inputs(np.random.default_rng(1)), lucid.float64, device, requires_grad=True)
    assert gradcheck(row.function, inputs)
    assert gradgradcheck(row.function, inputs)


@pytest.mark.parametrize("row", [r for r in ROWS if r.inputs(np.random.default_rng(0))[0].ndim >= 2], ids=lambda r: r.name)
def test_non_contiguous_inputs_are_not_changed(row: Row, device):
    arrays = row.inputs(np.random.default_rng(2))
    given = [lucid.tensor(a.T.copy(order="C"), device=device).T for a in arrays]
    result = row.function(*given)
    assert_matches(result, row.reference(*arrays), 1e-12)
    for tensor, array in zip(given, arrays, strict=True):
        assert np.array_equal(tensor.cpu().numpy(), array)


@pytest.mark.parametrize("row", [r for r in UNARY + BINARY if r.special], ids=lambda r: r.name)
def test_nan_and_inf(row: Row, device):
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5])
    count = len(row.inputs(np.random.default_rng(0)))
    arrays = [values] if count == 1 else [np.repeat(values, len(values)), np.tile(values, len(values))]
    with np.errstate(all="ignore"):
        expected = row.reference(*arrays)
    result = row.function(*tensors(arrays, lucid.float64, device)).cpu().numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-12)


@pytest.mark.parametrize("row", UNARY, ids=lambda r: r.name)
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1, 1, 1)], ids=str)
def test_empty_and_0d(row: Row, shape, device):
    array = np.full(shape, 0.75)
    result = row.function(*tensors([array], lucid.float64, device))
    assert isinstance(result, lucid.Tensor)
    assert_matches(result, row.reference(array), 1e-12)


@pytest.mark.parametrize("row", [r for r in UNARY + BINARY if r.special], ids=lambda r: r.name)
def test_gradients_match_pytorch(row: Row):
    """NaN, inf and ties included: where finite differences have nothing to say."""
    torch = pytest.importorskip("torch")
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5], np.float64)
    count = len(row.inputs(np.random.default_rng(0)))
    arrays = [values] if count == 1 else [np.repeat(values, len(values)), np.tile(values, len(values))]
    ours = tensors(arrays, lucid.float64, "cpu", requires_grad=row.smooth)
    theirs = [torch.tensor(a, requires_grad=row.smooth) for a in arrays]
    result, expected = row.function(*ours), row.run(torch, *theirs)
    np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-15)
    if row.smooth:
        result.sum().backward()
        expected.sum().backward()
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-12, atol=1e-15)
