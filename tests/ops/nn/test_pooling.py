"""Pooling: values, derivatives, indices, NaN, unbatched inputs, errors, PyTorch."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, leaf, raises_like_torch, same_as_torch, uniform

MAX = [{"kernel_size": 2}, {"kernel_size": (3, 2), "stride": (2, 1), "padding": 1, "ceil_mode": True},
       {"kernel_size": 2, "dilation": 2, "stride": 1}, {"kernel_size": 3, "stride": 2, "padding": (1, 0)}]
MEAN = [{"kernel_size": 2}, {"kernel_size": (3, 2), "stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False},
        {"kernel_size": 2, "stride": 1, "padding": 1, "divisor_override": 3}, {"kernel_size": 3, "stride": 2, "ceil_mode": True}]
SIZES = [1, 3, (3, None), (None, 2), (7, 4)]


def distinct(*shape):
    """Numbers far enough apart for finite differences not to change their order."""
    return np.random.default_rng(0).permutation(int(np.prod(shape))).reshape(shape) / 7.0


@pytest.mark.parametrize("options", MAX, ids=str)
def test_max_derivatives(options, device):
    check_derivatives(lambda x: F.max_pool2d(x, **options), device, distinct(2, 2, 5, 4))


@pytest.mark.parametrize("options", MEAN, ids=str)
def test_mean_derivatives(options, device):
    check_derivatives(lambda x: F.avg_pool2d(x, **options), device, uniform(2, 2, 5, 4))


@pytest.mark.parametrize("size", SIZES)
def test_adaptive_derivatives(size, device):
    check_derivatives(lambda x: F.adaptive_avg_pool2d(x, size), device, uniform(1, 2, 5, 4))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_gradient_of_a_mean_lies_as_the_input_does_on_a_gpu(size, device):
    if device == "cpu":
        pytest.skip("gradients are row-major on a CPU")
    weight, found = lucid.tensor(uniform(2, 4, size, size), device=device), []
    for layout in (lucid.contiguous_format, lucid.channels_last):
        x = lucid.tensor(uniform(2, 4, 5, 4), device=device).to(memory_format=layout).requires_grad_()
        y = x * 1
        y.register_hook(found.append)
        (F.adaptive_avg_pool2d(y, size) * weight).sum().backward()
        assert found[-1].is_contiguous(memory_format=layout)
    np.testing.assert_array_equal(found[0].tolist(), found[1].tolist())


@pytest.mark.parametrize("options", MAX, ids=str)
def test_max_matches_torch(options, device):
    same_as_torch(lambda t, F, x: F.max_pool2d(x, **options), uniform(2, 3, 7, 6), device=device)
    same_as_torch(lambda t, F, x: F.max_pool2d(x, **options, return_indices=True)[1], uniform(2, 3, 7, 6), device=device)


@pytest.mark.parametrize("options", MEAN, ids=str)
def test_mean_matches_torch(options, device):
    same_as_torch(lambda t, F, x: F.avg_pool2d(x, **options), uniform(2, 3, 7, 6), device=device)


@pytest.mark.parametrize("size", SIZES)
def test_adaptive_matches_torch(size, device):
    same_as_torch(lambda t, F, x: F.adaptive_avg_pool2d(x, size), uniform(2, 3, 7, 6), device=device)


def test_values_unbatched_and_non_contiguous(device):
    x = lucid.tensor(np.arange(16.0).reshape(1, 4, 4), device=device)
    assert F.max_pool2d(x, 2).tolist() == [[[5.0, 7.0], [13.0, 15.0]]]
    assert F.avg_pool2d(x.transpose(1, 2), 2).tolist() == [[[2.5, 10.5], [4.5, 12.5]]]
    assert F.adaptive_avg_pool2d(x, 1).tolist() == [[[7.5]]]
    _, indices = F.max_pool2d(x, 2, return_indices=True)
    assert indices.tolist() == [[[5, 7], [13, 15]]] and indices.dtype == lucid.int64


def test_ties_and_nan(device):
    x = leaf(np.array([[[[1.0, 1.0, np.nan, 2.0]]]]), device)
    values, indices = F.max_pool2d(x, (1, 2), return_indices=True)
    assert indices.tolist() == [[[[0, 2]]]]
    assert values[..., 0].item() == 1 and np.isnan(values[..., 1].item())
    values.sum().backward()
    assert x.grad.tolist() == [[[[1.0, 0.0, 1.0, 0.0]]]]


def test_windows_wholly_in_the_padding_have_no_gradient(device):
    """PyTorch writes it outside of the tensor; its values are those here."""
    same_as_torch(lambda t, F, x: t.stack([y.double() for y in F.max_pool2d(
        x.detach(), (2, 1), 1, (1, 0), (4, 1), return_indices=True)]) + 0 * x.sum(), uniform(1, 2, 3, 2), device=device)
    x = leaf(np.arange(12.0).reshape(1, 2, 3, 2), device)
    F.max_pool2d(x, (2, 1), 1, (1, 0), (4, 1)).clamp(min=0).sum().backward()
    assert x.grad.tolist() == lucid.zeros(1, 2, 3, 2).tolist()
    _, indices = F.max_pool3d(lucid.ones(1, 1, 3, 3, 3, device=device), 2, 1, 1, 4, return_indices=True)
    assert indices.tolist() == [[[[[39]]]]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64"])
def test_other_dtypes(dtype, device):
    x = lucid.arange(16, device=device).reshape(1, 1, 4, 4).to(getattr(lucid, dtype))
    y = F.max_pool2d(x, 2)
    assert y.dtype == x.dtype and y.tolist() == [[[[5, 7], [13, 15]]]]
    assert F.avg_pool2d(x, 2).dtype == x.dtype


def test_empty_batch(device):
    x = lucid.ones(0, 3, 4, 4, device=device)
    for y in (F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 2), F.adaptive_max_pool2d(x, 2)):
        assert y.shape == (0, 3, 2, 2)


@pytest.mark.torch
@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.max_pool2d(t.ones(4, 4), 2), "non-empty 3D or 4D"),
    (lambda t, F: F.max_pool2d(t.ones(1, 3, 4, 4), 2, 0), "stride should not be zero"),
    (lambda t, F: F.max_pool2d(t.ones(1, 3, 4, 4), 2, padding=2), "pad should be at most half of effective kernel size"),
    (lambda t, F: F.max_pool2d(t.ones(1, 3, 9, 9), 2, 1, 2, 4), "smaller than or equal to half of kernel size"),
    (lambda t, F: F.max_pool2d(t.ones(1, 3, 4, 4), 5), "Output size is too small"),
    (lambda t, F: F.max_pool2d(t.ones(1, 3, 4, 4), (2, 2, 2)), "kernel_size must either be a single int"),
    (lambda t, F: F.max_pool2d(t.ones(1, 3, 4, 4), 2, dilation=0), "dilation should be greater than zero"),
    (lambda t, F: F.max_pool2d(t.ones(1, 0, 4, 4), 2), "with optional 0 dim batch size for input"),
    (lambda t, F: F.avg_pool2d(t.ones(1, 3, 4, 4), 2, divisor_override=0), "divisor must be not zero"),
    (lambda t, F: F.avg_pool2d(t.ones(1, 3, 4, 4), 5), "Output size is too small"),
    (lambda t, F: F.adaptive_avg_pool2d(t.ones(1, 3, 4, 4), (1, 2, 3)), "output_size must be 2"),
    (lambda t, F: F.adaptive_avg_pool2d(t.ones(1, 3, 4, 4), -1), "must be greater than or equal to 0"),
    (lambda t, F: F.adaptive_avg_pool2d(t.ones(4, 4), 2), "Expected 3D or 4D tensor"),
    (lambda t, F: F.adaptive_max_pool2d(t.ones(4, 4), 2), "Expected 3D or 4D tensor"),
    (lambda t, F: F.adaptive_max_pool2d(t.ones(1, 3, 0, 4), 2), "non-zero size for non-batch dimensions"),
    (lambda t, F: F.adaptive_max_pool2d(t.ones(1, 3, 4, 4, dtype=t.int64), 2), "not implemented for 'Long'"),
    (lambda t, F: F.adaptive_avg_pool2d(t.ones(1, 3, 0, 4), 2), "non-zero size for non-batch dimensions"),
])
def test_errors(call, match):
    raises_like_torch(call, match)
