"""Operations of three operands: values and exception classes as in PyTorch. The op table has their gradients."""
from __future__ import annotations

import numpy as np
import pytest

import lucid

X, END = [1.0, 2.0, -3.0], [3.0, 10.0, 5.0]


def pair(dtype, device):
    return lucid.tensor(X, dtype=dtype, device=device), lucid.tensor(END, dtype=dtype, device=device)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("weight", [0, True, 0.1, 0.5, 0.9, 1, 1.5, -2.0])
def test_lerp_is_that_of_pytorch(name, weight, device):
    torch = pytest.importorskip("torch")
    dtype = getattr(torch, name)
    expected = torch.lerp(torch.tensor(X, dtype=dtype), torch.tensor(END, dtype=dtype), weight)
    x, end = pair(getattr(lucid, name), device)
    for result in (lucid.lerp(x, end, weight), x.clone().lerp_(end, weight)):
        assert result.dtype == x.dtype and result.device == device
        np.testing.assert_allclose(np.array(result.tolist()), np.array(expected.tolist()), rtol=1e-6)


def test_weight_one_gives_the_end_exactly(device):
    x, end = lucid.tensor([1e20, 3.0], device=device), lucid.tensor([0.1, 0.7], device=device)
    assert lucid.lerp(x, end, 1.0).tolist() == end.tolist()


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
@pytest.mark.parametrize("size", [3, 1 << 16])
def test_tensors_of_one_shape(name, size, device):
    """Large ones by a kernel, in place of each argument too."""
    random = np.random.default_rng(0)
    arrays = [random.uniform(0.5, 2, size).astype(np.float32) for _ in range(3)]
    x, a, b = [array.astype(np.float64) for array in arrays]
    expected = x + 0.3 * (a * b if name == "addcmul" else a / b)
    tensors = [lucid.tensor(array, device=device) for array in arrays]
    np.testing.assert_allclose(getattr(lucid, name)(*tensors, value=0.3).cpu().numpy(), expected, rtol=3e-7)
    for place in range(3):
        given = [t.clone() for t in tensors]
        getattr(lucid, name)(*given, value=0.3, out=given[place])
        np.testing.assert_allclose(given[place].cpu().numpy(), expected, rtol=3e-7)
    np.testing.assert_allclose(getattr(tensors[0], f"{name}_")(*tensors[1:], value=0.3).cpu().numpy(), expected, rtol=3e-7)


def test_nan_and_inf(device):
    x = lucid.tensor([np.inf, 1.0, np.nan, 1.0], device=device)
    end = lucid.tensor([np.inf, np.inf, 1.0, -np.inf], device=device)
    np.testing.assert_array_equal(lucid.lerp(x, end, 0.3).cpu().numpy(), [np.nan, np.inf, np.nan, -np.inf])


@pytest.mark.parametrize("name", ["float16", "float32", "complex64"])
def test_large_tensors(name, device):
    dtype = getattr(lucid, name)
    x, end = (lucid.randn(3, 25_000, device=device).to(dtype) for _ in range(2))
    expected = (x.cpu() + 0.75 * (end.cpu() - x.cpu())).tolist()
    for result in (lucid.lerp(x, end, 0.75), x.clone().lerp_(end, 0.75), lucid.lerp(x.T, end.T, 0.75).T,
                   x.clone().T.lerp_(end.T, 0.75).T):
        np.testing.assert_allclose(np.array(result.tolist()), np.array(expected), rtol=2e-3 if name == "float16" else 1e-5,
                                   atol=1e-2 if name == "float16" else 1e-6)


def test_large_tensors_that_overlap():
    """With gaps between the elements nobody can tell at once whether they do: the result is right all the same."""
    x = lucid.randn(2, 100_000)
    expected = (0.5 * (x[:, 1:] + x[:, :-1])).numpy()
    x[:, 1:].lerp_(x[:, :-1], 0.5)
    np.testing.assert_allclose(x[:, 1:].numpy(), expected, atol=1e-6)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x[0, 1:].lerp_(x[0, :-1], 0.5)


def test_a_complex_weight(device):
    x, end = pair(lucid.complex64, device)
    np.testing.assert_allclose(np.array(lucid.lerp(x, end, 0.3 + 0.9j).tolist()),
                               np.array(X) + (0.3 + 0.9j) * (np.array(END) - np.array(X)), rtol=1e-6)


def test_a_weight_of_no_dimensions_goes_with_any_dtype_and_device(device):
    x, end = pair(lucid.float32, device)
    for weight in (lucid.tensor(0.25, dtype=lucid.float64), lucid.tensor(0.25, device=device), np.float64(0.25)):
        result = lucid.lerp(x, end, weight)
        assert result.dtype == lucid.float32
        assert result.tolist() == [1.5, 4.0, -1.0]


def test_gradient_of_a_weight_of_another_dtype(device):
    x, end = pair(lucid.float32, device)
    weight = lucid.tensor(0.25, dtype=lucid.float64, requires_grad=True)
    lucid.lerp(x, end, weight).sum().backward()
    assert weight.grad.dtype == lucid.float64 and weight.grad.item() == 18.0


def test_gradients_of_complex_numbers_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    gradients = []
    for library in (torch, lucid):
        x, end, weight = (library.tensor(values, requires_grad=True) for values in
                          ([1 + 1j, 2 - 1j], [3 + 2j, 10 + 0j], [0.2 + 1j, 0.7 + 0j]))
        library.lerp(x, end, weight).sum().abs().backward()
        gradients.append([t.grad.tolist() for t in (x, end, weight)])
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-5)


def test_written_in_place_it_makes_no_copy_and_is_recorded(device):
    start = lucid.tensor(X, device=device, requires_grad=True)
    end = lucid.tensor(END, device=device, requires_grad=True)
    x = start * 1
    address = x.data_ptr()
    assert x.lerp_(end, 0.25) is x
    assert x.data_ptr() == address and x._version == 1
    x.sum().backward()
    assert start.grad.tolist() == [0.75] * 3 and end.grad.tolist() == [0.25] * 3


def test_in_place_with_a_weight_that_is_trained(device):
    x, end = pair(lucid.float64, device)
    weight = lucid.tensor([0.25, 0.5, 0.75], dtype=lucid.float64, device=device, requires_grad=True)
    y = x * 1
    y.lerp_(end, weight)
    y.sum().backward()
    assert weight.grad.tolist() == [2.0, 8.0, 8.0]


@pytest.mark.parametrize(("arguments", "error"), [
    (lambda x, end: (x, 3.0, 0.5), TypeError),
    (lambda x, end: (x, end), TypeError),
    (lambda x, end: (x, end, "half"), TypeError),
    (lambda x, end: (x, end.double(), 0.5), RuntimeError),
    (lambda x, end: (x, end, lucid.tensor([0.5], dtype=lucid.float64)), RuntimeError),
    (lambda x, end: (x, end, 0.5j), RuntimeError),
    (lambda x, end: (x.long(), end.long(), 0.5), NotImplementedError),
    (lambda x, end: (x, end[:2], 0.5), RuntimeError),
])
@pytest.mark.parametrize("function", [lucid.lerp, lucid.Tensor.lerp_], ids=["lerp", "lerp_"])
def test_errors_change_nothing(arguments, error, function):
    x, end = pair(lucid.float32, "cpu")
    with pytest.raises(error):
        function(*arguments(x, end))
    assert x.tolist() == X


def test_in_place_errors(device):
    x, end = pair(lucid.float32, device)
    with pytest.raises(RuntimeError, match="broadcast shape"):
        x.lerp_(lucid.ones(3, 1, device=device), 0.5)
    with pytest.raises(RuntimeError, match="broadcast shape"):
        x.lerp_(end, lucid.ones(3, 1, device=device))
    with pytest.raises(RuntimeError, match="leaf"):
        x.requires_grad_().lerp_(end, 0.5)
    with pytest.raises(RuntimeError, match="single memory location"):
        lucid.ones(1, device=device).expand(3).lerp_(end, 0.5)
    assert x.tolist() == X
