"""Losses of margins between classes on a GPU: as on the CPU, strides and `out`, bounds."""
from __future__ import annotations

import types

import numpy as np
import pytest
from lucid_kernels.cpu.losses import margin_loss as on_cpu


@pytest.fixture
def kernels(cp):
    from lucid_kernels.cuda.losses import margin_loss
    from lucid_kernels.cuda.runtime import launch

    yield margin_loss
    launch.forget_pending()


def arguments(classes, dtype=np.float64):
    """Scores with a NaN, labels, weights, and rows of labels with equal ones, with none and with all."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, classes)).astype(dtype)
    x[0, 1] = np.nan
    labels = rng.integers(-1, classes, (6, classes))
    labels[1], labels[2, 0] = rng.permutation(classes), -1
    labels[3] = rng.integers(0, classes, classes)
    labels[4, :3], labels[4, 3] = (2, 5, 2), -1
    return x, rng.integers(0, classes, 6), rng.random(classes).astype(dtype), labels


def calls(kernels: types.ModuleType, x, target, weight, labels, **options):
    """Each loss in each way."""
    for p in (1, 2):
        for given in (None, weight):
            yield lambda p=p, given=given: kernels.multi_margin_loss(x, target, given, p=p, margin=0.7, **options)
    yield lambda: kernels.multilabel_margin_loss(x, labels, **options)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-6), (np.float64, 1e-13)])
def test_values(cp, schedule, kernels, dtype, tolerance, reduction):
    for classes in (7, 600):
        given = arguments(classes, dtype)
        there = tuple(map(cp.asarray, given))
        options = {"reduction": reduction, "with_grad": True}
        for ours, theirs in zip(calls(kernels, *there, **options), calls(on_cpu, *given, **options), strict=True):
            for computed, expected in zip(ours(), theirs(), strict=True):
                assert computed.dtype == dtype
                np.testing.assert_allclose(computed.get(), expected, rtol=tolerance, atol=tolerance)
        for alone in calls(kernels, *there, reduction=reduction, with_grad=False):
            assert alone()[1] is None


def test_strides_out_one_row_and_no_row(cp, schedule, kernels):
    x, target, weight, labels = map(cp.asarray, arguments(7))
    for kernel, arrays, options in ((kernels.multi_margin_loss, (target, weight), {"p": 2, "margin": 1.0}),
                                    (kernels.multilabel_margin_loss, (labels,), {})):
        options = {"reduction": "none", "with_grad": True, **options}
        expected = kernel(x, *arrays, **options)
        out = cp.empty(12)[::2], cp.empty((7, 6)).T
        found = kernel(cp.asarray(x.get().T.copy()).T, *arrays, out=out, **options)
        for computed, given, wanted in zip(found, out, expected, strict=True):
            assert computed is given
            np.testing.assert_array_equal(computed.get(), wanted.get())
        loss, grad = kernel(x[1], arrays[0][1], *arrays[1:], **options)
        assert loss.shape == () and loss.get() == expected[0].get()[1]
        np.testing.assert_array_equal(grad.get(), expected[1].get()[1])
        for reduction, wanted in (("mean", np.nan), ("sum", 0.0)):
            loss, grad = kernel(x[:0], arrays[0][:0], *arrays[1:], **{**options, "reduction": reduction})
            np.testing.assert_array_equal(loss.get(), wanted)
            assert grad.shape == (0, 7)


@pytest.mark.parametrize("wrong", [-2, 7])
def test_a_label_that_is_no_class(cp, schedule, kernels, wrong):
    from lucid_kernels.cuda.runtime import launch

    x, target, _, labels = arguments(7)
    target[2], labels[2, 5] = wrong, wrong
    loss, grad = kernels.multi_margin_loss(cp.asarray(x), cp.asarray(target), None, p=1, margin=1.0, reduction="none", with_grad=True)
    assert loss.get()[2] == 0 and not grad.get()[2].any()
    with pytest.raises(IndexError, match=f"target {wrong} is not one of 7 classes"):
        launch.raise_pending()
    kernels.multilabel_margin_loss(cp.asarray(x), cp.asarray(labels), reduction="none", with_grad=True)
    with pytest.raises(IndexError, match=f"target {wrong} is neither -1 nor one of 7 classes"):
        launch.raise_pending()
