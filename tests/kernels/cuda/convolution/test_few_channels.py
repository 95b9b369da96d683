"""The input gradient of images with a few channels against float64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.kernels.cuda.convolution import test_conv2d

# (batch, channels, height, width), out channels, kernel, padding; the stride is 2
CASES = {
    "7x7": ((2, 3, 17, 13), 19, 7, (3, 3)),
    "7x7, one channel": ((1, 1, 16, 10), 8, 7, (3, 1)),
    "3x3": ((2, 3, 18, 11), 9, 3, (1, 1)),
    "3x3, no padding": ((1, 3, 9, 12), 8, 3, (0, 0)),
    "3x3, one channel": ((3, 1, 7, 7), 16, 3, (1, 1)),
    "3x3, wide padding": ((1, 1, 4, 5), 8, 3, (2, 4)),
}
TOLERANCE = {"float32": 2e-5, "float16": 2e-3, "bfloat16": 1.6e-2}


@pytest.mark.parametrize("dtype", ["float32", "float16", ml_dtypes.bfloat16], ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("enough", [1, None])
def test_values(cp, monkeypatch, schedule, case, dtype, enough):
    """With `enough` for one thread the most squares for each."""
    from lucid_kernels.cuda.convolution import conv2d, few_channels
    from lucid_kernels.cuda.runtime import launch

    if enough is not None:
        monkeypatch.setattr(few_channels, "_ENOUGH_THREADS", enough)
    shape, outs, kernel, padding = CASES[case]
    keywords = {"stride": (2, 2), "padding": padding, "dilation": (1, 1), "groups": 1}
    rng = np.random.default_rng(5)
    weight = rng.standard_normal((outs, shape[1], kernel, kernel)).astype(dtype)
    size = [(n + 2 * p - kernel) // 2 + 1 for n, p in zip(shape[2:], padding, strict=True)]
    g = rng.standard_normal((shape[0], outs, *size)).astype(dtype)
    wanted = np.zeros((*shape[:2], *(n + 2 * p for n, p in zip(shape[2:], padding, strict=True))))
    for i, j, rows, columns in test_conv2d.taps(shape, (kernel, kernel), size, (2, 2), (1, 1)):
        wanted[..., rows, columns] += np.einsum("nohw,oc->nchw", g.astype(np.float64), weight[..., i, j].astype(np.float64))
    wanted = wanted[..., padding[0] : padding[0] + shape[2], padding[1] : padding[1] + shape[3]]
    out = cp.asarray(np.full(shape, np.nan, dtype))
    assert conv2d.conv2d_grad_input(cp.asarray(g), cp.asarray(weight), input_shape=shape, out=out, **keywords) is out
    test_conv2d.close(out, wanted, TOLERANCE[np.dtype(dtype).name])
    assert {"few_channels"} <= {file for file, _ in launch.loaded()}
