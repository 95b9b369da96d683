"""Cases of convolution, ReLU and max pooling in one call, and what the three give one after the other, in float64."""
from __future__ import annotations

import numpy as np
from lucid_kernels.cpu.convolution.conv2d import conv2d, conv2d_grad_input, conv2d_grad_parameters
from lucid_kernels.cpu.pooling.pool2d import max_pool2d, max_pool2d_grad


def options(stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1):
    """The attributes of a convolution."""
    return {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


# Images, weight and attributes. The first ones are pooled an image at a time on a CPU.
CASES = {
    "28x28": ((9, 1, 28, 28), (32, 1, 3, 3), options()),
    "three channels": ((3, 3, 19, 22), (20, 3, 3, 3), options()),
    "odd results": ((5, 2, 15, 13), (11, 2, 3, 3), options(padding=(0, 0))),
    "strided": ((4, 3, 31, 34), (16, 3, 5, 4), options(stride=(2, 3), padding=(2, 1))),
    "dilated": ((6, 2, 20, 21), (17, 2, 3, 2), options(padding=(2, 0), dilation=(2, 3))),
    "one by one": ((4, 5, 16, 16), (24, 5, 1, 1), options(padding=(0, 0))),
    "small": ((2, 1, 4, 5), (3, 1, 3, 3), options()),
    "many taps": ((2, 17, 9, 8), (18, 17, 3, 3), options()),
    "tiles": ((5, 16, 10, 8), (33, 16, 3, 3), options()),
    "tiles beyond odd results": ((40, 32, 5, 7), (18, 32, 3, 3), options(padding=(2, 1))),
    "groups": ((3, 4, 10, 12), (6, 2, 3, 3), options(groups=2)),
}


def data(case, dtype, seed=0):
    """x, weight, bias and a gradient of the maxima; some windows without a positive result."""
    rng = np.random.default_rng(seed)
    shape, weight_shape, attributes = CASES[case]
    x, weight = rng.standard_normal(shape).astype(dtype), rng.standard_normal(weight_shape).astype(dtype)
    bias = (rng.standard_normal(weight_shape[0]) - 2).astype(dtype)
    _, _, height, width = conv2d(x, weight, bias, **attributes).shape
    return x, weight, bias, rng.standard_normal((shape[0], weight_shape[0], height // 2, width // 2)).astype(dtype)


def one_by_one(x, weight, bias, g, attributes):
    """(y, winners) and the gradients of x, weight and bias."""
    x, weight, g = (array.astype(np.float64) for array in (x, weight, g))
    results = conv2d(x, weight, None if bias is None else bias.astype(np.float64), **attributes)
    windows = {"kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0), "dilation": (1, 1), "ceil_mode": False}
    y, indices = max_pool2d(results, **windows, relu=True)
    full = max_pool2d_grad(g, indices, input_shape=results.shape, relu=True)
    row, column = indices // results.shape[3], indices % results.shape[3]
    winners = np.where(y <= 0, 4, row % 2 * 2 + column % 2)
    dx = conv2d_grad_input(full, weight.astype(np.float64), input_shape=x.shape, **attributes)
    return (y, winners), (dx, *conv2d_grad_parameters(full, x, weight_shape=weight.shape, **attributes))
