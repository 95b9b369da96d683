"""Real and imaginary parts: views through which the complex tensor is written, with its gradient."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
from tests.ops.table.derivatives import check_derivatives

DATA = [[1 + 2j, 3 - 1j], [0.5 + 0.25j, -2 + 1j], [2 - 3j, 1j]]
WEIGHTS = [[2 - 1j, 1j], [1 + 1j, 3 + 0j], [-1 + 2j, 0.5 - 1j]]


def test_parts_share_memory(device):
    x = lucid.tensor(DATA, device=device)
    assert x.real._base is x and x.imag._base is x
    assert x.imag.stride() == (4, 2) and x.imag.storage_offset() == 1
    x.real[0] = 9.0
    x.imag.mul_(2)
    assert x[0].tolist() == [9 + 4j, 9 - 2j]
    x.t()[1:].imag.zero_()
    assert x[:, 1].tolist() == [9, -2, 0]


def test_assignment(device):
    x = lucid.tensor(DATA, device=device)
    x.real = lucid.ones(2, device=device)
    x.imag = 3
    assert x.tolist() == [[1 + 3j] * 2] * 3
    y = lucid.zeros(2, device=device)
    y.real = y + 1
    assert y.tolist() == [1, 1] and y.real is y
    with pytest.raises(RuntimeError, match="imag is not implemented"):
        y.imag = y
    with pytest.raises(RuntimeError):
        x.real = lucid.ones(3, device=device)
    leaf = lucid.tensor(DATA, device=device, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        leaf.imag = 1


def test_a_saved_tensor_that_is_written_through_a_part_is_noticed(device):
    x = lucid.tensor(DATA, device=device, requires_grad=True)
    y = x * 1
    z = y * y
    y.real.zero_()
    with pytest.raises(RuntimeError, match="inplace|in place|in-place"):
        z.abs().sum().backward()


def test_the_device_meta_has_views_too():
    part = lucid.zeros(2, 3, dtype=lucid.complex64, device="meta").imag
    assert part.stride() == (6, 2) and part.dtype == lucid.float32


def scale_the_real_part(lib: Any, b: Any, x: Any) -> Any:
    b.real.mul_(3.0)
    return b


def assign_the_imaginary_part(lib: Any, b: Any, x: Any) -> Any:
    b.imag = x.real * x.imag
    return b


def write_part_of_a_view(lib: Any, b: Any, x: Any) -> Any:
    b.t().imag[0].add_(x.real[:, 1])
    return b


def write_under_a_view(lib: Any, b: Any, x: Any) -> Any:
    part = b.real
    b.mul_(1j)
    return b * part


def write_through_view_as_real(lib: Any, b: Any, x: Any) -> Any:
    lib.view_as_real(b)[..., 1].mul_(x.real)
    lib.view_as_real(b)[..., 0].copy_(b.imag.clone())
    return b


@pytest.mark.parametrize("program", [scale_the_real_part, assign_the_imaginary_part, write_part_of_a_view, write_under_a_view,
                                     write_through_view_as_real])
def test_gradients_through_writes_are_those_of_pytorch(program, device):
    torch = pytest.importorskip("torch")
    found = []
    for lib, where in ((lucid, device), (torch, "cpu")):
        x = lib.tensor(DATA, dtype=lib.complex128, device=where, requires_grad=True)
        y = program(lib, x * (2 - 1j), x)
        y = (y * y * lib.tensor(WEIGHTS, dtype=lib.complex128, device=where)).real.sum() + y.abs().sum()
        (gradient,) = lib.autograd.grad(y, x, create_graph=True)
        (second,) = lib.autograd.grad(gradient.abs().sum(), x)
        found.append([y.item(), gradient.detach().cpu().numpy(), second.cpu().numpy()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_derivatives(device):
    """Also of parts that are broadcast, and of negative sizes."""
    data, angles = np.array(DATA), np.linspace(-4, 4, 6).reshape(3, 2)
    check_derivatives(lambda x: lucid.sgn(x), device, data)
    check_derivatives(lambda a, b: lucid.complex(a, b), device, data.real[:, :1], data.imag)
    check_derivatives(lambda a, b: lucid.polar(a, b), device, data.real, angles)
    check_derivatives(lambda x: lucid.view_as_complex(lucid.view_as_real(x.t())), device, data)


def test_derivatives_of_the_size(device):
    check_derivatives(lambda x: x.abs(), device, np.array(DATA))
    check_derivatives(lambda x: x.t().abs(), device, np.array(DATA))
    check_derivatives(lambda x: x.abs(), device, np.array(3 - 4j))


def special(dtype: str, device: str) -> np.ndarray:
    """All pairs of parts that are 0, tiny, huge, infinite or NaN. CuPy's kernels take float32 numbers below 1.2e-38 for 0."""
    tiny, huge = (1e-42, 3e38) if dtype == "c8" else (1e-320, 1.5e308)
    if device == "gpu" and dtype == "c8" and not lucid.gpu.is_simulated():
        tiny = 1e-37
    parts = np.array([0.0, 1.0, -2.5, tiny, huge, np.inf, np.nan])
    array = np.empty((7, 7), np.complex128)
    array.real, array.imag = parts[:, None], parts
    return array.astype(dtype)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_directions_of_special_numbers(dtype, device):
    torch = pytest.importorskip("torch")
    found, wanted = (lib.sgn(x).cpu().numpy() for lib, x in ((lucid, lucid.tensor(special(dtype, device), device=device)),
                                                             (torch, torch.tensor(special(dtype, device)))))
    np.testing.assert_allclose(found, wanted, rtol=2e-3 if dtype == "c8" else 1e-3)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_the_gradient_of_the_size_is_that_of_pytorch(dtype, device):
    """Also at 0, where it is 0, of tiny and huge numbers, infinities and NaN, and for a gradient that is one number."""
    torch = pytest.importorskip("torch")
    array = special(dtype, device)
    ours, theirs = lucid.tensor(array, device=device, requires_grad=True), torch.tensor(array, requires_grad=True)
    for x in (ours, theirs):
        (x.abs() * 1.5).sum().backward()
    wanted, found = theirs.grad.resolve_conj().numpy(), ours.grad.cpu().numpy()
    np.testing.assert_array_equal(np.isnan(found.real) | np.isnan(found.imag), np.isnan(wanted.real) | np.isnan(wanted.imag))
    np.testing.assert_allclose(np.nan_to_num(found), np.nan_to_num(wanted), rtol=2e-3 if dtype == "c8" else 1e-3)


@pytest.mark.parametrize("number", [2, -1.5, 2 - 3j, 1e300])
@pytest.mark.parametrize("dtype", ["c8", "c16", "f4", "i8"])
def test_arithmetic_with_numbers(dtype, number, device):
    """Numbers join complex tensors as they are, and make complex ones of others if they are complex."""
    torch = pytest.importorskip("torch")
    array = np.arange(1, 4).astype(dtype)
    for function in (lambda x: x * number, lambda x: number - x, lambda x: number / x, lambda x: x == number):
        ours, theirs = function(lucid.tensor(array, device=device)), function(torch.tensor(array))
        assert ours.dtype == theirs.numpy().dtype
        np.testing.assert_allclose(ours.cpu().numpy(), theirs.resolve_conj().numpy(), rtol=1e-6)
