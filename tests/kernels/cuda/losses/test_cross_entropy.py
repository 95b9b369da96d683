"""CUDA cross entropy against float64 NumPy."""
from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

# rows of all lengths, strided slices, no batch dimension
SHAPES = [(5, 1), (4, 31), (3, 33), (3, 257), (2, 1000), (3, 7, 11), (2, 3, 4, 5), (6,)]
TOLERANCE = {np.float32: {"rtol": 2e-5, "atol": 2e-6}, np.float64: {"rtol": 1e-12, "atol": 1e-14}}
IGNORED = -100


@pytest.fixture
def kernel(cp):
    from lucid_kernels.cuda.losses import cross_entropy

    return cross_entropy.cross_entropy


def reference(x, target, weight, reduction, label_smoothing, ignore_index=IGNORED):
    """(loss, grad) in float64, with the classes moved to the end."""
    x = np.asarray(x, np.float64)
    channel = 1 if x.ndim > 1 else 0
    x = np.moveaxis(x, channel, -1)
    classes = x.shape[-1]
    weight = np.ones(classes) if weight is None else np.asarray(weight, np.float64)
    used = target != ignore_index
    label = np.where(used, target, 0)
    shifted = x - x.max(-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    label_weight = weight[label] * used
    one_hot = (np.arange(classes) == label[..., None]) * label_weight[..., None]
    wanted = (1 - label_smoothing) * one_hot + label_smoothing / classes * weight * used[..., None]
    loss = -(wanted * log_p).sum(-1)
    grad = np.exp(log_p) * wanted.sum(-1, keepdims=True) - wanted
    if reduction == "mean":
        loss, grad = loss.sum() / label_weight.sum(), grad / label_weight.sum()
    elif reduction == "sum":
        loss = loss.sum()
    return loss, np.moveaxis(grad, -1, channel)


def data(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    classes = shape[min(1, len(shape) - 1)]
    target = np.asarray(rng.integers(0, classes, shape[:1] + shape[2:] if len(shape) > 1 else ()))
    if target.ndim:
        target.flat[1] = IGNORED
    return (rng.standard_normal(shape) * 3).astype(dtype), target, (rng.random(classes) + 0.1).astype(dtype)


def run(kernel, cp, x, target, weight, **attributes):
    arrays = (cp.asarray(x), cp.asarray(target), None if weight is None else cp.asarray(weight))
    defaults = {"reduction": "mean", "ignore_index": IGNORED, "label_smoothing": 0.0, "with_grad": True}
    return kernel(*arrays, **(defaults | attributes))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_values_and_gradients(kernel, cp, schedule, reduction, dtype):
    for shape, weighted, smoothing in itertools.product(SHAPES, [False, True], [0.0, 0.2]):
        x, target, weight = data(shape, dtype)
        weight = weight if weighted else None
        loss, grad = run(kernel, cp, x, target, weight, reduction=reduction, label_smoothing=smoothing)
        expected_loss, expected_grad = reference(x, target, weight, reduction, smoothing)
        assert loss.dtype == grad.dtype == dtype and loss.shape == np.shape(expected_loss)
        np.testing.assert_allclose(loss.get(), expected_loss, **TOLERANCE[dtype])
        np.testing.assert_allclose(grad.get(), expected_grad, **TOLERANCE[dtype])


@pytest.mark.parametrize("labels", [777, 1024, 1025, 9001])
def test_many_labels_are_summed_in_chunks(kernel, cp, schedule, labels):
    x, target, weight = data((labels, 2), np.float32)
    loss, grad = run(kernel, cp, x, target, weight)
    expected_loss, expected_grad = reference(x, target, weight, "mean", 0.0)
    np.testing.assert_allclose(loss.get(), expected_loss, rtol=1e-6)
    np.testing.assert_allclose(grad.get(), expected_grad, rtol=1e-5, atol=1e-9)


def test_without_gradient(kernel, cp):
    x, target, _ = data((4, 31), np.float32)
    loss, grad = run(kernel, cp, x, target, None, with_grad=False)
    assert grad is None
    np.testing.assert_allclose(loss.get(), reference(x, target, None, "mean", 0.0)[0], rtol=1e-6)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_strides_and_out(kernel, cp, reduction):
    x, target, weight = data((4, 5, 6), np.float32)
    plain = run(kernel, cp, x, target, weight, reduction=reduction)
    turned = cp.asarray(np.ascontiguousarray(x.T)).T, cp.asarray(np.ascontiguousarray(target.T)).T, cp.asarray(weight.repeat(2))[::2]
    strided = kernel(*turned, reduction=reduction, ignore_index=IGNORED, label_smoothing=0.0, with_grad=True)
    for out in (tuple(cp.zeros(v.shape, np.float32) for v in plain), tuple(cp.zeros(v.shape[::-1], np.float32).T for v in plain)):
        given = run(kernel, cp, x, target, weight, reduction=reduction, out=out)
        for a, b, c, d in zip(plain, strided, given, out, strict=True):
            assert c is d
            np.testing.assert_array_equal(a.get(), b.get())
            np.testing.assert_array_equal(a.get(), c.get())


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("reduction", ["none", "mean"])
@pytest.mark.parametrize("shape", [(4, 31), (4, 32), (3, 7, 11)], ids=["rows", "packs", "columns"])
def test_halves_are_rounded_once(kernel, cp, dtype, reduction, shape):
    x, target, weight = data(shape, dtype)
    loss, grad = run(kernel, cp, x, target, weight, reduction=reduction)
    assert loss.dtype == grad.dtype == dtype
    wide = run(kernel, cp, x.astype(np.float32), target, weight.astype(np.float32), reduction=reduction)
    for a, b in zip((loss, grad), wide, strict=True):
        np.testing.assert_array_equal(a.get().astype(np.float32), b.get().astype(dtype).astype(np.float32))


@pytest.mark.parametrize("shape", [(5, 33), (5, 7, 3)])
def test_nan_and_infinity(kernel, cp, shape):
    torch = pytest.importorskip("torch")
    x, target, _ = data(shape, np.float32)
    target[:] = np.arange(5).reshape(5, *(1 for _ in shape[2:]))
    x[0, 3], x[2, 5], x[3, 6], x[4, 4] = np.nan, np.inf, -np.inf, -np.inf
    tensor = torch.tensor(x, requires_grad=True)
    expected = torch.nn.functional.cross_entropy(tensor, torch.tensor(target), reduction="none")
    expected.sum().backward()
    loss, grad = run(kernel, cp, x, target, None, reduction="none")
    np.testing.assert_allclose(loss.get(), expected.detach().numpy(), rtol=1e-5)
    np.testing.assert_allclose(grad.get(), tensor.grad.numpy(), rtol=1e-4, atol=1e-6)


def test_nothing_to_average(kernel, cp):
    x, target, _ = data((4, 31), np.float32)
    loss, grad = run(kernel, cp, x, np.full_like(target, IGNORED), None)
    assert np.isnan(loss.get()) and not grad.get().any()
    empty = np.zeros((0, 3), np.float32), np.zeros((0,), np.int64), None
    assert np.isnan(run(kernel, cp, *empty)[0].get())
    assert run(kernel, cp, *empty, reduction="sum")[0].get() == 0
    assert run(kernel, cp, *empty, reduction="none")[0].shape == (0,)


@pytest.mark.parametrize("label", [7, -1, 2**40])
@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3)])
def test_label_out_of_range(kernel, cp, schedule, shape, label):
    from lucid_kernels.cuda.runtime import launch

    x, target, weight = data(shape, np.float32)
    bad = target.copy()
    bad.flat[2] = label
    loss, grad = run(kernel, cp, x, bad, weight)  # no error yet: the host does not wait
    with pytest.raises(IndexError, match=rf"cross_entropy: target {label} is out of bounds for 7 classes"):
        launch.raise_pending()
    launch.raise_pending()  # once
    as_ignored = target.copy()
    as_ignored.flat[2] = IGNORED
    for a, b in zip((loss, grad), run(kernel, cp, x, as_ignored, weight), strict=True):
        np.testing.assert_array_equal(a.get(), b.get())


def test_parity_with_the_cpu(kernel, cp):
    cpu = pytest.importorskip("lucid_kernels.cpu.losses.cross_entropy")
    for shape, reduction, smoothing in itertools.product(SHAPES, ["none", "mean", "sum"], [0.0, 0.2]):
        x, target, weight = data(shape, np.float32)
        attributes = {"reduction": reduction, "ignore_index": IGNORED, "label_smoothing": smoothing, "with_grad": True}
        expected = cpu.cross_entropy(x, target, weight, **attributes)
        for a, b in zip(run(kernel, cp, x, target, weight, **attributes), expected, strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(a.get(), b, rtol=2e-5, atol=2e-6)
