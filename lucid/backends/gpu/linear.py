"""Linear layers on a GPU: bias, activation, and the gradient of a bias in the epilogue of a product where cuBLASLt has them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lucid_kernels.cuda.matmul import epilogues, products

from ..common import linear as common
from . import linalg

Array = Any
Kernel = Callable[..., Any]


def table(matmul: Kernel) -> dict[str, Kernel]:
    """The operations; those of `common.linear` serve the rest."""
    plain = common.table(matmul, linalg.sum_of_rows, products.rows, linalg.add_bias)

    def linear(x: Array, weight: Array, bias: Array | None) -> Array:
        result = None if bias is None else epilogues.linear(x, weight, bias)
        return plain["linear"](x, weight, bias) if result is None else result

    def linear_grad(g: Array, x: Array | None, weight: Array | None, *, with_bias: bool
                    ) -> tuple[Array | None, Array | None, Array | None]:
        if with_bias and x is not None:
            to_parameters = epilogues.weight_gradient(products.rows(g), products.rows(x))
            if to_parameters is not None:
                return plain["linear_grad"](g, None, weight, with_bias=False)[0], *to_parameters
        gradients: tuple[Array | None, Array | None, Array | None] = plain["linear_grad"](g, x, weight, with_bias=with_bias)
        return gradients

    return {"linear": linear, "linear_grad": linear_grad}


def activated(entries: dict[str, Kernel]) -> dict[str, Kernel]:
    """`linear` with an activation, and with one between two layers; the other `entries`, by the time of a call, do the rest."""
    plain = common.activated(entries)

    def linear_relu(x: Array, weight: Array, bias: Array) -> Array:
        found = epilogues.activated(x, weight, bias, "relu", False)
        return plain["linear_relu"](x, weight, bias) if found is None else found[0]

    def linear_gelu(x: Array, weight: Array, bias: Array, *, keep: bool) -> tuple[Array, Array | None]:
        found = epilogues.activated(x, weight, bias, "gelu", keep)
        return plain["linear_gelu"](x, weight, bias, keep=keep) if found is None else found

    def perceptron_relu(x: Array, weight: Array, bias: Array, weight2: Array, bias2: Array, *, keep: bool
                        ) -> tuple[Array, Array | None, Array | None]:
        found = epilogues.activated(x, weight, bias, "relu", keep)
        if found is None:
            rest: tuple[Array, Array | None, Array | None] = plain["perceptron_relu"](x, weight, bias, weight2, bias2, keep=keep)
            return rest
        hidden, bits = found
        return entries["linear"](hidden, weight2, bias2), hidden if keep else None, bits

    def perceptron_grad(g: Array, x: Array, hidden: Array, kept: Array | None, weight: Array, weight2: Array, *, activation: str,
                        needs: tuple[bool, ...]) -> tuple[Array | None, ...]:
        needs_x, needs_weight, needs_bias, needs_weight2, needs_bias2 = needs
        found = None
        if kept is not None and any(needs[:3]):
            argument = hidden if activation == "relu" else kept
            found = epilogues.activation_gradient(products.rows(g), weight2, kept, argument, activation)
        if found is None:
            return plain["perceptron_grad"](g, x, hidden, kept, weight, weight2, activation=activation, needs=needs)
        passed, to_bias = found
        to_x = products.matmul(passed, weight).reshape(x.shape) if needs_x else None
        to_weight = products.matmul(passed.T, products.rows(x)) if needs_weight else None
        _, *second = entries["linear_grad"](g, hidden if needs_weight2 else None, None, with_bias=needs_bias2)
        return to_x, to_weight, to_bias if needs_bias else None, *second

    return {"linear_relu": linear_relu, "linear_gelu": linear_gelu, "perceptron_relu": perceptron_relu,
            "perceptron_gelu": plain["perceptron_gelu"], "perceptron_grad": perceptron_grad}
