"""Products of vectors and matrices against NumPy, their gradients by finite differences, and PyTorch's errors."""
from __future__ import annotations

import re

import numpy as np
import pytest

import lucid
from lucid.autograd.gradcheck import gradcheck, gradgradcheck
from lucid.ops.linalg.matmul import linear
from tests.ops.arrays import host

RANDOM = np.random.default_rng(0)
SHAPES = [((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)),
          ((5, 2, 3), (1, 3, 4)), ((2, 3), (5, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((2, 1, 2, 3), (3, 3, 4))]


def random(shape: tuple[int, ...], device: str, requires_grad: bool = False, transposed: bool = False) -> lucid.Tensor:
    """Random float64; `transposed` in memory that is not contiguous."""
    if transposed and len(shape) > 1:
        array = RANDOM.standard_normal((*shape[:-2], shape[-1], shape[-2]))
        return lucid.tensor(array, device=device, requires_grad=requires_grad).mT
    return lucid.tensor(RANDOM.standard_normal(shape), device=device, requires_grad=requires_grad)


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("transposed", [False, True])
def test_matmul(shapes: tuple[tuple[int, ...], ...], transposed: bool, device: str) -> None:
    a, b = (random(shape, device, True, transposed) for shape in shapes)
    np.testing.assert_allclose(host(a @ b), host(a) @ host(b), rtol=1e-12, atol=1e-12)
    a, b = (t.detach().requires_grad_() for t in (a, b))
    assert gradcheck(lucid.matmul, (a, b))
    assert gradgradcheck(lucid.matmul, (a, b), fast_mode=True)


@pytest.mark.parametrize("shapes", [((2, 0), (0, 3)), ((0, 3), (3, 2)), ((5, 0, 3), (3, 2)), ((0, 2, 3), (0, 3, 4)),
                                    ((0,), (0,))])
def test_empty(shapes: tuple[tuple[int, ...], ...], device: str) -> None:
    a, b = (random(shape, device, True) for shape in shapes)
    result = a @ b
    assert result.shape == (np.zeros(shapes[0]) @ np.zeros(shapes[1])).shape and not host(result).any()
    result.sum().backward()
    assert a.grad.shape == a.shape and b.grad.shape == b.shape and not host(b.grad).any()


def test_matrix_and_vector_functions(device: str) -> None:
    a, b, v = random((2, 3), device), random((3, 2), device), random((3,), device)
    np.testing.assert_allclose(host(lucid.mm(a, b)), host(a) @ host(b))
    np.testing.assert_allclose(host(lucid.mv(a, v)), host(a) @ host(v))
    np.testing.assert_allclose(host(lucid.dot(v, v)), host(v) @ host(v))
    np.testing.assert_allclose(host(lucid.outer(v, v)), np.outer(host(v), host(v)))
    np.testing.assert_allclose(host(lucid.bmm(a[None], b[None])), (host(a) @ host(b))[None])
    np.testing.assert_allclose(host(lucid.addmm(v[:2], a, b, beta=2, alpha=3)), 2 * host(v)[:2] + 3 * host(a) @ host(b))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("lead", [(4,), (2, 3), (0,), ()])
def test_linear(lead: tuple[int, ...], bias: bool, device: str) -> None:
    x, weight = random((*lead, 3), device, True), random((5, 3), device, True)
    offset = random((5,), device, True) if bias else None
    expected = host(x) @ host(weight).T + (host(offset) if offset is not None else 0)
    np.testing.assert_allclose(host(linear(x, weight, offset)), expected, rtol=1e-12, atol=1e-12)
    if lead != (0,):
        inputs = (x, weight) if offset is None else (x, weight, offset)
        assert gradcheck(linear, inputs) and gradgradcheck(linear, inputs)


def test_gradient_of_a_weight_is_contiguous(device: str) -> None:
    x, weight = random((4, 3), device), random((5, 3), device, True)
    linear(x, weight).sum().backward()
    (x @ weight.T).sum().backward()
    assert weight.grad.is_contiguous()
    other = random((3, 5), device, True)
    (x @ other).sum().backward()
    assert other.grad.is_contiguous()


def test_dtypes(device: str) -> None:
    for dtype in ("int64", "int32"):
        a = lucid.ones(2, 3, dtype=dtype, device=device)
        assert (a @ a.T).dtype == a.dtype and (a @ a.T).tolist() == [[3, 3], [3, 3]]
    for dtype in ("float16", "bfloat16"):
        a = lucid.ones(2, 4096, dtype=dtype, device=device)
        assert (a @ a.T).dtype == a.dtype and (a @ a.T)[0, 0].item() == 4096
        assert linear(a, a, a[:, 0]).dtype == a.dtype
    z = lucid.tensor(RANDOM.standard_normal((2, 2)) + 1j, device=device, requires_grad=True)
    assert gradcheck(lambda t: t @ t, (z,))


def test_errors(device: str) -> None:
    def ones(*shape: int, dtype: str = "float32") -> lucid.Tensor:
        return lucid.ones(*shape, dtype=dtype, device=device)

    cases = [
        (lambda: ones(2, 3) @ ones(4, 5), r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)"),
        (lambda: ones(2, 2, 3) @ ones(4, 5), r"\(4x3 and 4x5\)"),
        (lambda: ones(2, 3) @ ones(3, 4, dtype="float64"),
         "expected m1 and m2 to have the same dtype, but got: float != double"),
        (lambda: ones(2, 2, 3) @ ones(2, 4, 5), r"\[2, 3\] but got: \[2, 4\]"),
        (lambda: ones(2, 2, 3) @ ones(3, 3, 5), "must match the size of tensor b"),
        (lambda: ones(3) @ ones(4), "inconsistent tensor size"),
        (lambda: ones(2, 3) @ ones(4), r"size mismatch, got input \(2\), mat \(2x3\), vec \(4\)"),
        (lambda: ones() @ ones(2), "at least 1D"),
        (lambda: lucid.mm(ones(2, 3), ones(3)), "mat2 must be a matrix"),
        (lambda: lucid.bmm(ones(2, 3), ones(3)), "batch1 must be a 3D tensor"),
        (lambda: ones(2, 3, dtype="bool") @ ones(3, 2, dtype="bool"), "not implemented for 'Bool'"),
        (lambda: linear(ones(2, 3), ones(4, 2)), "cannot be multiplied"),
        (lambda: linear(ones(2, 3), ones(4, 3), ones(3)), "expanded size"),
    ]
    for call, message in cases:
        with pytest.raises(RuntimeError, match=message):
            call()


@pytest.mark.torch
@pytest.mark.parametrize("shapes", [*SHAPES, ((2, 3), (4, 3)), ((3,), (4,)), ((5, 2, 3), (4, 3, 4)), ((), (2, 2))])
def test_as_torch(shapes: tuple[tuple[int, ...], ...], device: str) -> None:
    torch = pytest.importorskip("torch")
    arrays = [RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes]
    ours, theirs = [lucid.tensor(a, device=device) for a in arrays], [torch.tensor(a) for a in arrays]
    try:
        expected = torch.matmul(*theirs)
    except RuntimeError as error:
        message = str(error)
        with pytest.raises(RuntimeError, match=f"^{re.escape(message)}$"):
            lucid.matmul(*ours)
        return
    np.testing.assert_allclose(host(lucid.matmul(*ours)), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_linear_names_the_dtypes_that_differ(device):
    x, weight = lucid.ones(2, 3, device=device), lucid.ones(4, 3, dtype=lucid.float64, device=device)
    for input in (x, x[0], x[None]):
        with pytest.raises(RuntimeError, match="mat1 and mat2 must have the same dtype, but got Float and Double"):
            linear(input, weight, weight[:, 0])
        with pytest.raises(RuntimeError, match="expected m1 and m2 to have the same dtype, but got: float != double"):
            linear(input, weight)
        with pytest.raises(RuntimeError, match="expected m1 and m2 to have the same dtype, but got: long int != double"):
            linear(input.long(), weight)
        with pytest.raises(RuntimeError, match="self and mat2 must have the same dtype, but got Double and Float"):
            linear(input, weight.float(), weight[:, 0])
