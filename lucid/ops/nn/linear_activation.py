"""A linear layer and its activation as one operation, which a product on a GPU does in its last step; and with the next layer,
whose gradient does that of the activation.
"""
from __future__ import annotations

from typing import Any

from ...autograd.calls import operation, single_op
from ...autograd.grad_mode import GRAD, is_composed, mode
from ...autograd.op import Op, Vjp
from ...backends import device_of
from ...tensor import Tensor
from ..linalg.matmul import linear_rule
from .activation import gelu_grad, relu_grad

__all__ = ()  # for modules


def _relu_rule(needs: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Vjp:
    before = linear_rule(needs, x, weight, bias)

    def vjp(g: Tensor, y: Any, needs: Any = needs) -> Any:
        return before(relu_grad(g, y), None, needs)  # type: ignore[call-arg]

    return vjp


def _gelu_rule(needs: Any, x: Tensor, weight: Tensor, bias: Tensor, *, keep: bool) -> Vjp:
    before = linear_rule(needs, x, weight, bias)

    def vjp(g: Any, kept: Any, needs: Any = needs) -> Any:
        to_result, to_argument = (*g, None)[:2]  # without one for the argument the list ends before
        if to_result is not None:
            passed = gelu_grad(to_result, kept[0], approximate="tanh")
            to_argument = passed if to_argument is None else passed + to_argument
        return before(to_argument, None, needs)  # type: ignore[call-arg]

    return vjp


def _perceptron(activation: str) -> Op:
    def rule(needs: Any, x: Tensor, weight: Tensor, bias: Tensor, weight2: Tensor, bias2: Tensor, *, keep: bool) -> Vjp:
        before = linear_rule(needs[:3], x, weight, bias)

        def vjp(g: Any, kept: Any, needs: Any = needs) -> Any:
            to_result, to_hidden, to_argument = (*g, None, None)[:3]
            hidden, argument = kept
            if to_hidden is to_argument is None and not is_composed():
                return _perceptron_grad(to_result, x, hidden, argument, weight, weight2, activation=activation,
                                        needs=tuple(needs))
            second: Any = (None, None)
            if to_result is not None:
                after = linear_rule((True, *needs[3:]), hidden, weight2, bias2)
                passed, *second = after(to_result, None)
                to_hidden = passed if to_hidden is None else to_hidden + passed
            if to_hidden is not None:
                passed = (relu_grad(to_hidden, hidden) if activation == "relu" else
                          gelu_grad(to_hidden, argument, approximate="tanh"))
                to_argument = passed if to_argument is None else to_argument + passed
            return *before(to_argument, None, needs[:3]), *second  # type: ignore[call-arg]

        return vjp

    # The argument of GELU is a number like the others, what is kept of ReLU's are bits.
    outputs = (0, 1) if activation == "relu" else (0, 1, 2)
    return operation(f"perceptron_{activation}", rule, saved_outputs=(1, 2), outputs=outputs)


_linear_relu = single_op("linear_relu", _relu_rule, saved_outputs=True)
_linear_gelu = operation("linear_gelu", _gelu_rule, saved_outputs=(1,), outputs=(0, 1))

_perceptrons = {activation: _perceptron(activation) for activation in ("relu", "gelu")}
_perceptron_grad = operation("perceptron_grad")


def fit(width: int, weight: Tensor, bias: Tensor, like: Tensor) -> bool:
    """Whether a linear layer of these parameters takes rows of so many elements, of the dtype and on the device of `like`."""
    w, b, x = weight._array, bias._array, like._array
    kernel = w.shape
    return (w.dtype == b.dtype == x.dtype and len(kernel) == 2 and kernel[1] == width and b.shape == kernel[:1]
            and device_of(w) is device_of(b) is device_of(x))


def linear_activation(input: Tensor, weight: Tensor, bias: Tensor, activation: str) -> Tensor:
    """'relu' or 'gelu', its approximation by tanh, of `linear` with a bias: of tensors of one real dtype whose sizes fit."""
    if activation == "relu":
        rectified: Tensor = _linear_relu(input, weight, bias)
        return rectified
    result: Tensor = _linear_gelu(input, weight, bias, keep=_is_recorded(input, weight, bias))[0]
    return result


def perceptron(input: Tensor, weight: Tensor, bias: Tensor, weight2: Tensor, bias2: Tensor, activation: str) -> Tensor:
    """`linear` with the second parameters of `linear_activation` with the first."""
    keep = _is_recorded(input, weight, bias, weight2, bias2)
    result: Tensor = _perceptrons[activation](input, weight, bias, weight2, bias2, keep=keep)[0]
    return result


def _is_recorded(*tensors: Tensor) -> bool:
    return bool(mode.get() & GRAD) and any(tensor._node is not None for tensor in tensors)
