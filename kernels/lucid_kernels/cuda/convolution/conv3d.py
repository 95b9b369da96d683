"""3-d convolution and its gradients on tensor cores (`tensor_cores`), in the place of those that are made of the 2-d kernels."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lucid_kernels.cuda.convolution import tensor_cores

Kernel = Callable[..., Any]


def table(plain: dict[str, Kernel]) -> dict[str, Kernel]:
    """`plain`, whose `conv3d`, `conv3d_grad_input`, `conv3d_grad_weight` and `conv3d_grad_parameters` serve the rest."""
    grad_weight = _first(tensor_cores.convolve_grad_weight, plain["conv3d_grad_weight"])

    @functools.wraps(plain["conv3d_grad_parameters"])
    def grad_parameters(g: Any, x: Any, *, out: Any = None, **attributes: Any) -> tuple[Any, Any]:
        dweight, dbias = (None, None) if out is None else out
        dweight = grad_weight(g, x, out=dweight, **attributes)
        return dweight, tensor_cores.grad_bias(g, dbias)

    return plain | {
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
