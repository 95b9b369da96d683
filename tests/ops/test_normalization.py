"""Batch and layer normalisation: values, derivatives, running statistics, dtypes, errors, PyTorch."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.derivatives import check_derivatives, close, leaf, raises_like_torch, same_as_torch, uniform


def normalized(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 2, 4), (2, 3, 2, 1, 2)])
def test_batch_norm_values_and_running_statistics(shape, device):
    x, axes = uniform(*shape), (0, *range(2, len(shape)))
    column = (3,) + (1,) * (len(shape) - 2)
    weight, bias, mean, var = (uniform(3, low=0.5, seed=i) for i in range(1, 5))
    tensors = [lucid.tensor(a, device=device) for a in (x, mean, var, weight, bias)]
    y = F.batch_norm(*tensors, training=True, momentum=0.3)
    close(y, normalized(x, axes) * weight.reshape(column) + bias.reshape(column), 1e-8)
    close(tensors[1], 0.7 * mean + 0.3 * x.mean(axes), 1e-10)
    close(tensors[2], 0.7 * var + 0.3 * x.var(axes, ddof=1), 1e-10)
    y = F.batch_norm(*tensors, training=False)
    mean, var = (t.cpu().numpy().reshape(column) for t in tensors[1:3])
    close(y, (x - mean) / np.sqrt(var + 1e-5) * weight.reshape(column) + bias.reshape(column), 1e-8)


def test_batch_norm_derivatives(device):
    x, weight, bias = uniform(3, 2, 2), uniform(2, seed=1), uniform(2, seed=2)
    check_derivatives(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), device, x, weight, bias)
    check_derivatives(lambda x: F.batch_norm(x, None, None, training=True), device, x)
    check_derivatives(lambda x, b: F.batch_norm(x, None, None, None, b, training=True), device, x, bias)
    mean, var = lucid.tensor(uniform(2), device=device), lucid.tensor(uniform(2, low=0.5), device=device)
    check_derivatives(lambda x, w, b: F.batch_norm(x, mean, var, w, b), device, x, weight, bias)
    check_derivatives(lambda x: F.batch_norm(x, mean, var), device, x)


def test_layer_norm(device):
    x, weight, bias = uniform(2, 3, 4), uniform(3, 4, seed=1), uniform(3, 4, seed=2)
    tensors = [lucid.tensor(a, device=device) for a in (x, weight, bias)]
    close(F.layer_norm(tensors[0], (3, 4), *tensors[1:]), normalized(x, (1, 2)) * weight + bias, 1e-8)
    close(F.layer_norm(tensors[0].transpose(0, 2), (2,)), normalized(x.transpose(2, 1, 0), 2), 1e-8)
    check_derivatives(lambda x, w, b: F.layer_norm(x, (3, 4), w, b), device, x, weight, bias)
    check_derivatives(lambda x: F.layer_norm(x, (4,)), device, x)
    check_derivatives(lambda x, w, b: F.layer_norm(x, (3, 4), w, b), device, x[0], weight, bias)


def test_both_gradients_of_a_step_are_the_same():
    """The fused gradient of an ordinary backward, and the one in operations of create_graph."""
    for function, size in ((lambda x, w: F.batch_norm(x, None, None, w, training=True), 3),
                           (lambda x, w: F.layer_norm(x, (5,), w), 5)):
        x, w = leaf(uniform(4, 3, 5)), leaf(uniform(size))
        upstream = lucid.tensor(uniform(4, 3, 5, seed=2))
        fused = lucid.autograd.grad(function(x, w), (x, w), upstream)
        composed = lucid.autograd.grad(function(x, w), (x, w), upstream, create_graph=True)
        for a, b in zip(fused, composed, strict=True):
            close(a, b.detach().numpy(), 1e-10)


def test_running_statistics_are_written_in_place_and_versioned(device):
    mean, var = lucid.zeros(3, device=device), lucid.ones(3, device=device)
    x = leaf(uniform(4, 3), device, "float32")
    pointer, version = mean.data_ptr(), mean._version
    y = F.batch_norm(x, mean, var, training=False)
    F.batch_norm(x, mean, var, training=True)
    assert mean.data_ptr() == pointer and mean._version == version + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_with_float32_parameters(dtype, device):
    x = lucid.tensor(uniform(4, 3), device=device).to(getattr(lucid, dtype)).requires_grad_()
    weight, bias = leaf(uniform(3), device, "float32"), leaf(uniform(3, seed=1), device, "float32")
    mean, var = lucid.zeros(3, device=device), lucid.ones(3, device=device)
    for y in (F.batch_norm(x, mean, var, weight, bias, training=True), F.layer_norm(x, (3,), weight, bias)):
        x.grad = weight.grad = None
        assert y.dtype == x.dtype
        (y.float() ** 2).sum().backward()
        assert x.grad.dtype == x.dtype and weight.grad.dtype == lucid.float32
    close(mean, 0.1 * x.detach().cpu().double().numpy().mean(0), 1e-3)


def test_empty_batches(device):
    mean, var = lucid.zeros(3, device=device), lucid.ones(3, device=device)
    x = leaf(np.zeros((0, 3)), device, "float32")
    for training in (True, False):
        y = F.batch_norm(x, mean, var, training=training)
        y.sum().backward()
        assert y.shape == (0, 3) and x.grad.shape == (0, 3)
    assert mean.tolist() == [0, 0, 0]
    assert F.layer_norm(lucid.ones(0, 4, device=device), (4,)).shape == (0, 4)


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.batch_norm(t.ones(1, 3), None, None, training=True), "Expected more than 1 value per channel when training"),
    (lambda t, F: F.batch_norm(t.ones(2, 3), t.ones(3), None, training=True), "must either both be None"),
    (lambda t, F: F.batch_norm(t.ones(2, 3), None, None), "must be defined in evaluation mode"),
    (lambda t, F: F.batch_norm(t.ones(2, 3), t.ones(4), t.ones(4)), "running_mean should contain 3 elements not 4"),
    (lambda t, F: F.batch_norm(t.ones(2, 3), t.ones(3), t.ones(3), t.ones(4)), "weight should contain 3 elements not 4"),
    (lambda t, F: F.batch_norm(t.ones(2, 3), t.ones(3), t.ones(3), t.ones(3).double()), "mixed dtype"),
    (lambda t, F: F.batch_norm(t.ones(2, 3).long(), t.ones(3), t.ones(3)), "not implemented for 'Long'"),
    (lambda t, F: F.batch_norm(t.ones(2, 3), t.ones(3), t.ones(3), training=True, eps=0.0), "eps must be positive"),
    (lambda t, F: F.batch_norm(t.ones(3), t.ones(3), t.ones(3)), None),
    (lambda t, F: F.layer_norm(t.ones(2, 3), (2,)), r"expected input with shape \[\*, 2\], but got input of size\[2, 3\]"),
    (lambda t, F: F.layer_norm(t.ones(2, 3), ()), "to be at least 1-dimensional"),
    (lambda t, F: F.layer_norm(t.ones(2, 3), 3), "must be tuple of ints, not int"),
    (lambda t, F: F.layer_norm(t.ones(2, 3), (3,), t.ones(2)), "Expected weight to be of same shape"),
])
def test_errors(call, match):
    raises_like_torch(call, match)


def test_matches_torch():
    x, weight, bias = uniform(4, 3, 5), uniform(3, seed=1), uniform(3, seed=2)
    same_as_torch(lambda t, F, x, w, b: F.batch_norm(x, None, None, w, b, training=True), x, weight, bias)
    same_as_torch(lambda t, F, x, w, b: F.batch_norm(x, t.zeros(3).double(), t.ones(3).double(), w, b), x, weight, bias)
    same_as_torch(lambda t, F, x, w: F.layer_norm(x, (5,), w), x, uniform(5))
