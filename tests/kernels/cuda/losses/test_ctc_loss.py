"""Connectionist temporal classification on a GPU: as on the CPU, strides and `out`, bounds."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.losses.ctc_loss import ctc_loss as on_cpu


@pytest.fixture
def ctc_loss(cp):
    from lucid_kernels.cuda.losses.ctc_loss import ctc_loss
    from lucid_kernels.cuda.runtime import launch

    yield ctc_loss
    launch.forget_pending()


def arguments(dtype=np.float64):
    """Sequences and targets of several lengths; of the last two none fits. Class 2 of the first never is."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(24, 6, 40))
    x = (z - np.log(np.exp(z).sum(2, keepdims=True))).astype(dtype)
    x[3, 0, 2] = -np.inf
    labels = rng.integers(1, 4, (6, 9))
    return x, labels, np.array([24, 20, 3, 0, 5, 0]), np.array([9, 4, 0, 0, 9, 1])


@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-6), (np.float64, 1e-12)])
def test_values(cp, schedule, ctc_loss, dtype, tolerance, zero_infinity):
    given = arguments(dtype)
    for blank in (0, 39):
        attributes = {"blank": blank, "zero_infinity": zero_infinity}
        found = ctc_loss(*map(cp.asarray, given), with_grad=True, **attributes)
        for computed, expected in zip(found, on_cpu(*given, with_grad=True, **attributes), strict=True):
            assert computed.dtype == dtype
            np.testing.assert_allclose(computed.get(), expected, rtol=tolerance, atol=tolerance)
        alone, nothing = ctc_loss(*map(cp.asarray, given), with_grad=False, **attributes)
        np.testing.assert_array_equal(alone.get(), found[0].get())
        assert nothing is None


def test_strides_out_and_empty(cp, schedule, ctc_loss):
    x, labels, inputs, lengths = map(cp.asarray, arguments())
    attributes = {"blank": 0, "zero_infinity": False, "with_grad": True}
    expected = ctc_loss(x, labels, inputs, lengths, **attributes)
    out = cp.empty(12)[::2], cp.empty((40, 6, 24)).T
    found = ctc_loss(cp.asarray(x.get().T.copy()).T, labels, inputs, lengths, out=out, **attributes)
    for computed, given, wanted in zip(found, out, expected, strict=True):
        assert computed is given
        np.testing.assert_array_equal(computed.get(), wanted.get())
    assert ctc_loss(x[:, :0], labels[:0], inputs[:0], lengths[:0], **attributes)[1].shape == (24, 0, 40)


@pytest.mark.parametrize("wrong", [-1, 40])
def test_a_label_that_is_no_class(cp, schedule, ctc_loss, wrong):
    from lucid_kernels.cuda.runtime import launch

    x, labels, inputs, lengths = arguments()
    labels[1, 3], labels[1, 4] = wrong, 99  # the second does not count
    ctc_loss(*map(cp.asarray, (x, labels, inputs, lengths)), blank=0, zero_infinity=False, with_grad=True)
    with pytest.raises(IndexError, match=f"target {wrong} is not one of 40 classes"):
        launch.raise_pending()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_rounded_once(cp, ctc_loss, dtype):
    x, *others = arguments(dtype)
    attributes = {"blank": 0, "zero_infinity": False, "with_grad": True}
    wide = on_cpu(x.astype(np.float64), *others, **attributes)
    eps = float(ml_dtypes.finfo(dtype).eps)
    for computed, expected in zip(ctc_loss(*map(cp.asarray, (x, *others)), **attributes), wide, strict=True):
        assert computed.dtype == dtype
        np.testing.assert_allclose(computed.get().astype(np.float64), expected, rtol=eps, atol=2e-7)
