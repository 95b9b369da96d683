"""What convolutions compute, and what numbers are like."""
from __future__ import annotations

from typing import Any

import numpy as np
from lucid_kernels.cpu.convolution.conv2d import conv2d, conv2d_grad_input, conv2d_grad_parameters


def compute(x: Any, weight: Any, bias: Any, g: Any, attributes: Any) -> tuple[np.ndarray, ...]:
    """The result and the gradients of input, weight and bias."""
    return (conv2d(x, weight, bias, **attributes), conv2d_grad_input(g, weight, input_shape=x.shape, **attributes),
            *conv2d_grad_parameters(g, x, weight_shape=weight.shape, **attributes))


def kinds(array: np.ndarray) -> np.ndarray:
    """0 for a finite number, 1 and -1 for an infinite one, 2 for NaN."""
    return np.where(np.isnan(array), 2, np.where(np.isinf(array), np.sign(array), 0))
