"""Reductions: values against NumPy in float64, gradients by finite differences, dtypes and errors as PyTorch has them.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import lucid
from lucid.autograd.gradcheck import gradcheck, gradgradcheck
from tests.ops.arrays import host

RANDOM = np.random.default_rng(0)
DATA = RANDOM.standard_normal((3, 4, 5))


def strided(array: np.ndarray, device: str, dtype: str = "float64") -> lucid.Tensor:
    """A tensor of these values whose memory is not contiguous."""
    return lucid.tensor(np.ascontiguousarray(array.T), dtype=dtype, device=device).permute(*reversed(range(array.ndim)))


REFERENCE = {
    "sum": lambda a, axis, keep: a.sum(axis=axis, keepdims=keep),
    "mean": lambda a, axis, keep: a.mean(axis=axis, keepdims=keep),
    "amax": lambda a, axis, keep: a.max(axis=axis, keepdims=keep),
    "amin": lambda a, axis, keep: a.min(axis=axis, keepdims=keep),
    "var": lambda a, axis, keep: a.var(axis=axis, keepdims=keep, ddof=1),
    "std": lambda a, axis, keep: a.std(axis=axis, keepdims=keep, ddof=1),
    "any": lambda a, axis, keep: (a > 0).any(axis=axis, keepdims=keep),
    "all": lambda a, axis, keep: (a > 0).all(axis=axis, keepdims=keep),
    "logsumexp": lambda a, axis, keep: np.log(np.exp(a).sum(axis=axis, keepdims=keep)),
}


@pytest.mark.parametrize("name", REFERENCE)
@pytest.mark.parametrize("dim", [0, -1, (0, 2), (-1, 0), (0, 1, 2)])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values(name: str, dim: Any, keepdim: bool, dtype: str, device: str) -> None:
    x = strided(DATA, device, dtype)
    x = x > 0 if name in ("any", "all") else x
    result = getattr(x, name)(dim, keepdim=keepdim)
    expected = REFERENCE[name](DATA, dim, keepdim)
    assert result.dtype == x.dtype and result.device == x.device
    np.testing.assert_allclose(host(result), expected, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-6)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "amin", "var", "std", "max", "min", "norm"])
def test_all_dimensions_by_default(name: str, device: str) -> None:
    expected = {"prod": DATA.prod(), "max": DATA.max(), "min": DATA.min(), "norm": np.sqrt((DATA**2).sum())}
    result = getattr(lucid.tensor(DATA, device=device), name)()
    assert result.shape == ()
    reference = expected[name] if name in expected else REFERENCE[name](DATA, None, False)
    np.testing.assert_allclose(host(result), reference, rtol=1e-12)


def test_array_api_names(device: str) -> None:
    x = lucid.tensor(DATA, device=device)
    assert lucid.sum(x, axis=1, keepdims=True).shape == (3, 1, 5)
    assert x.max(axis=0).indices.shape == (4, 5)


GRADIENTS = {
    "sum": lambda x: x.sum((0, 2)),
    "mean": lambda x: x.mean(1, keepdim=True),
    "prod": lambda x: x.prod(1),
    "prod of all": lambda x: x.prod(),
    "amax": lambda x: x.amax((0, 2)),
    "amin": lambda x: x.amin(-1),
    "max of all": lambda x: x.max(),
    "min of all": lambda x: x.min(),
    "max": lambda x: x.max(1).values,
    "min": lambda x: x.min(2, keepdim=True).values,
    "var": lambda x: x.var((0, 1)),
    "var of all": lambda x: x.var(correction=0),
    "std": lambda x: x.std(1),
    "std_mean": lambda x: lucid.std_mean(x, 1)[0] * lucid.std_mean(x, 1)[1],
    "var_mean of one pair": lambda x: lucid.mul(*lucid.var_mean(x, 1)),
    "cumsum": lambda x: x.cumsum(1),
    "logsumexp": lambda x: x.logsumexp((0, 1)),
    "norm": lambda x: x.norm(),
    "norm of order 1": lambda x: x.norm(1, 1),
    "norm of order 3": lambda x: x.norm(3, (0, 1)),
    "norm of order inf": lambda x: x.norm(math.inf, 0),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str, device: str) -> None:
    x = strided(DATA[:2, :3, :2], device).clone().requires_grad_()
    assert gradcheck(GRADIENTS[name], (x,))
    assert gradgradcheck(GRADIENTS[name], (x,))


@pytest.mark.parametrize("zeros", [1, 2])
def test_gradient_of_prod_with_zeros(zeros: int, device: str) -> None:
    x = lucid.tensor(DATA[0].copy(), device=device)
    x[0, :zeros] = 0
    x.requires_grad_()
    assert gradcheck(lambda t: t.prod(1), (x,)) and gradcheck(lambda t: t.prod(), (x,))
    assert gradgradcheck(lambda t: t.prod(1), (x,))


def test_gradient_of_prod_with_a_zero_and_infinities(device: str) -> None:
    x = lucid.tensor([[np.inf, 2.0, 3.0], [2.0, 3.0, np.nan], [1.0, 0.0, 5.0]], device=device, requires_grad=True)
    x.prod(1).sum().backward()
    np.testing.assert_array_equal(host(x.grad), [[6, np.inf, np.inf], [np.nan, np.nan, 6], [0, 5, 0]])


@pytest.mark.parametrize("dtype", [lucid.float16, lucid.bfloat16])
def test_nanmean_of_more_elements_than_a_half_counts(dtype: np.dtype, device: str) -> None:
    x = lucid.ones(2, 70_000, device=device)
    x[0, 0] = np.nan
    assert x.to(dtype).nanmean().tolist() == 1 and x.nanmean(dtype=dtype).dtype == dtype
    y = x.to(dtype).requires_grad_()
    means = y.nanmean(1)
    assert means.dtype == dtype and means.tolist() == [1, 1]
    means.sum().backward()
    assert y.grad.dtype == dtype and y.grad[0, 0].item() == 0 and y.grad[1, 0].item() > 1e-5


def test_ties(device: str) -> None:
    x = lucid.tensor([[1.0, 2.0, 2.0], [3.0, 3.0, 3.0]], device=device, requires_grad=True)
    x.amax(1).sum().backward()
    np.testing.assert_allclose(host(x.grad), [[0, 0.5, 0.5], [1 / 3] * 3], rtol=1e-6)
    x.grad = None
    x.max(1).values.sum().backward()
    assert x.grad.tolist() == [[0, 1, 0], [1, 0, 0]]
    x.grad = None
    x.max().backward()
    np.testing.assert_allclose(host(x.grad), [[0] * 3, [1 / 3] * 3], rtol=1e-6)


def test_std_of_equal_elements_has_no_gradient(device: str) -> None:
    x = lucid.ones(4, device=device, requires_grad=True)
    x.std().backward()
    assert x.grad.tolist() == [0.0] * 4
    y = lucid.zeros(4, device=device, requires_grad=True)
    y.norm().backward()
    assert y.grad.tolist() == [0.0] * 4


def test_nan(device: str) -> None:
    x = lucid.tensor([[1.0, math.nan, 3.0], [4.0, 5.0, 6.0]], device=device)
    assert math.isnan(x.max().item()) and math.isnan(x.amin().item())
    assert x.argmax().item() == 1 and x.min(1).indices.tolist() == [1, 0]
    assert x.any().item() and x.count_nonzero().item() == 6


def test_empty(device: str) -> None:
    x = lucid.zeros(0, 3, device=device)
    assert x.sum().item() == 0 and x.prod().item() == 1 and math.isnan(x.mean().item())
    assert x.sum(0).tolist() == [0, 0, 0] and x.logsumexp(0).tolist() == [-math.inf] * 3
    assert x.all().item() and not x.any().item()
    assert x.max(1).values.shape == (0,) and x.argmax(1).shape == (0,)
    assert x.cumsum(0).shape == (0, 3)
    assert math.isnan(lucid.ones(1, device=device).var().item())


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin"])
def test_extremum_of_nothing(name: str, device: str) -> None:
    x = lucid.zeros(0, 3, device=device)
    with pytest.raises(RuntimeError, match="Expected reduction dim to be specified"):
        getattr(x, name)()
    with pytest.raises(IndexError, match="Expected reduction dim 0 to have non-zero size"):
        getattr(x, name)(0)
    with pytest.raises(IndexError):
        x.argmax()


def test_zero_dimensions(device: str) -> None:
    x = lucid.tensor(2.5, device=device, requires_grad=True)
    assert x.max(0).indices.item() == 0 and x.argmax(-1).item() == 0 and x.cumsum(0).item() == 2.5
    (x.sum(0) * x.mean() * x.prod() * x.amax(0) * x.logsumexp(0)).backward()
    assert x.grad.item() == pytest.approx(5 * 2.5**4)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.sum(1)


def test_dtypes(device: str) -> None:
    ones = lucid.ones(2, 3, dtype=lucid.int32, device=device)
    assert ones.sum().dtype == ones.prod().dtype == ones.cumsum(0).dtype == lucid.int64
    assert (ones > 0).sum().item() == 6
    assert ones.sum(dtype=lucid.float32).dtype == lucid.float32
    assert ones.any().dtype == lucid.bool and ones.to(lucid.uint8).all().dtype == lucid.uint8
    assert ones.amax().dtype == lucid.int32 and ones.argmax().dtype == lucid.int64
    assert ones.logsumexp(0).dtype == lucid.float32
    with pytest.raises(RuntimeError, match="could not infer output dtype"):
        ones.mean()
    with pytest.raises(RuntimeError, match="only support floating point"):
        ones.var()
    assert ones.mean(dtype=lucid.float64).item() == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_summed_in_float32(dtype: str, device: str) -> None:
    x = lucid.ones(4096, dtype=dtype, device=device)
    assert x.sum().item() == 4096 and x.sum().dtype == x.dtype
    assert x.mean().item() == 1 and x.cumsum(0)[-1].item() == 4096 and x.norm().item() == 64
    assert x.var().item() == 0 and x.argmax().item() == 0 and x.max().item() == 1


def test_complex(device: str) -> None:
    z = DATA[0] + 1j * DATA[1]
    x = lucid.tensor(z, device=device)
    np.testing.assert_allclose(host(x.sum(0)), z.sum(0))
    np.testing.assert_allclose(host(x.var()), z.var(ddof=1))
    assert x.norm().dtype == lucid.float64
    with pytest.raises(RuntimeError, match="complex"):
        x.max()


def test_named_tuple_and_second_tensor(device: str) -> None:
    x, y = lucid.tensor([1.0, 5.0], device=device), lucid.tensor([3.0, 2.0], device=device)
    values, indices = x.max(0)
    assert values.item() == 5 and indices.item() == 1 and indices.dtype == lucid.int64
    assert lucid.max(x, y).tolist() == [3, 5] and x.min(y).tolist() == [1, 2]


def test_bad_dimensions(device: str) -> None:
    x = lucid.zeros(2, 3, device=device)
    for call in (lambda: x.sum(2), lambda: x.mean((0, -3)), lambda: x.argmax(5), lambda: x.cumsum(2)):
        with pytest.raises(IndexError, match="Dimension out of range"):
            call()
    with pytest.raises(RuntimeError, match="appears multiple times"):
        x.sum((0, -2))
    for order, dim in (("nuc", 1), ("nuc", (0, 1, 2)), ("other", None)):
        with pytest.raises(RuntimeError):
            lucid.zeros(2, 3, 2, device=device).norm(order, dim)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "var", "std", "logsumexp", "any", "argmin", "cumsum",
                                  "max",
                                  "count_nonzero"])
@pytest.mark.parametrize("kind", ["float32", "int64", "bool", "uint8", "nan", "-inf", "zeros"])
def test_as_torch(name: str, kind: str, device: str) -> None:
    torch = pytest.importorskip("torch")
    array = {"nan": np.array([[1, np.nan, 3], [4, 5, 6]], np.float32), "-inf": np.full((2, 3), -np.inf, np.float32),
             "zeros": np.array([[0, 2, 3], [0, 0, 1]], np.float32)}.get(kind)
    if array is None:
        array = (DATA[0] * 3).astype(kind)
    try:
        expected = getattr(torch.tensor(array), name)(1)
    except Exception as error:
        with pytest.raises(type(error)):
            getattr(lucid.tensor(array, device=device), name)(1)
        return
    found = getattr(lucid.tensor(array, device=device), name)(1)
    if name == "max":
        assert found.indices.tolist() == expected.indices.tolist()
        found, expected = found.values, expected.values
    assert str(expected.dtype) == f"torch.{found.dtype.name}"
    np.testing.assert_allclose(host(found), expected.numpy(), rtol=1e-5)


@pytest.mark.parametrize("shape", [(30_000, 2), (1001, 33), (19, 7, 80), (40, 3)])
@pytest.mark.parametrize("name", ["sum", "mean", "nansum", "var", "logsumexp"])
def test_small_sums_along_the_first_dimensions_are_exact(name: str, shape: tuple[int, ...]) -> None:
    """NumPy adds rows one after the other: the largest error of 30,000 was 55 times PyTorch's, of the variance 190 times."""
    x, dims = np.random.default_rng(0).random(shape, np.float32), tuple(range(len(shape) - 1))
    found, exact = (getattr(lucid, name)(lucid.tensor(array), dims).numpy() for array in (x, x.astype(np.float64)))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, exact, rtol=2e-6 if name == "logsumexp" else 2e-7)


def test_extrema_of_large_arrays_share_their_gradient() -> None:
    """As those of small ones, whose operations are not one formula."""
    x = (lucid.rand(200, 100) * 20).round()
    x[3, 50] = lucid.nan
    small, large = (x.clone().requires_grad_() for _ in range(2))
    lucid.stack([row.amax() * (number + 1) for number, row in enumerate(small)]).sum().backward()
    (large.amax(1) * lucid.arange(1, 201)).sum().backward()
    assert large.grad[3].isnan().all() and not large.grad[4:].isnan().any()
    np.testing.assert_allclose(large.grad.numpy(), small.grad.numpy(), rtol=1e-6)
