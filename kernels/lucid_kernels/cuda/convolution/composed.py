"""What tensor cores (`tensor_cores`) compute at once of the operations that are else composed of others: 3-d convolution and its
gradients, and convolution with ReLU.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lucid_kernels.cuda.convolution import tensor_cores
from lucid_kernels.cuda.reduction.reduce import channel_sums

Kernel = Callable[..., Any]


def table(plain: dict[str, Kernel]) -> dict[str, Kernel]:
    """`plain`, whose kernels serve the rest."""
    grad_weight = _first(tensor_cores.convolve_grad_weight, plain["conv3d_grad_weight"])

    @functools.wraps(plain["conv3d_grad_parameters"])
    def grad_parameters(g: Any, x: Any, *, out: Any = None, **attributes: Any) -> tuple[Any, Any]:
        dweight, dbias = (None, None) if out is None else out
        dweight = grad_weight(g, x, out=dweight, **attributes)
        return dweight, channel_sums(g, out=dbias)

    with_relu = functools.partial(tensor_cores.convolve, relu=True)
    return plain | {
        "conv2d_relu": _first(with_relu, plain["conv2d_relu"]),
        "conv3d_relu": _first(with_relu, plain["conv3d_relu"]),
        "conv3d": _first(tensor_cores.convolve, plain["conv3d"]),
        "conv3d_grad_input": _first(tensor_cores.convolve_grad_input, plain["conv3d_grad_input"]),
        "conv3d_grad_weight": grad_weight,
        "conv3d_grad_parameters": grad_parameters,
    }


def _first(kernel: Kernel, plain: Kernel) -> Kernel:
    """`kernel`, and `plain` where that does not serve."""

    @functools.wraps(plain)
    def either(*arrays: Any, **attributes: Any) -> Any:
        result = kernel(*arrays, **attributes)
        return plain(*arrays, **attributes) if result is None else result

    return either
