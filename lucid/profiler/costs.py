"""Additions, multiplications and bytes of an operation, from its arrays."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..backends.elementwise import ROWS


def arrays_in(value: Any) -> list[Any]:
    """The arrays in an argument or a result."""
    if isinstance(value, (tuple, list)):
        return [array for item in value for array in arrays_in(item)]
    return [value] if hasattr(value, "dtype") and hasattr(value, "strides") else []


def moved_bytes(arrays: Sequence[Any], attributes: dict[str, Any], result: Any) -> int:
    """The bytes of all arrays, once: what an operation reads and writes at least, if it looks at all of them."""
    found = {id(a): a for a in arrays_in([*arrays, *attributes.values(), result])}
    return int(sum(a.nbytes for a in found.values()))


def new_bytes(arrays: Sequence[Any], attributes: dict[str, Any], result: Any) -> int:
    """The bytes of results that are in no memory of the arguments."""
    given = {id(_owner(a)) for a in arrays_in([*arrays, *attributes.values()])}
    return int(sum(a.nbytes for a in arrays_in(result) if id(_owner(a)) not in given))


def _owner(array: Any) -> Any:
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


_PRODUCTS = frozenset(
    "matmul dot linear linear_relu linear_gelu linear_grad perceptron_relu perceptron_gelu".split())


def is_product(name: str) -> bool:
    """Whether `flops` counts the operation `name` by a formula of its own."""
    return name in _PRODUCTS or name.startswith(("conv2d", "conv3d", "attention"))


def flops(name: str, arrays: Sequence[Any], attributes: dict[str, Any], result: Any) -> int:
    """Additions and multiplications of products of matrices, convolutions, attention and elementwise operations; 0 of others.

    As in PyTorch an elementwise operation counts as one for each element.
    """
    shapes = [tuple(a.shape) for a in arrays if hasattr(a, "shape")]
    results = arrays_in(result)
    if name in ROWS or not is_product(name):
        return math.prod(results[0].shape) if name in ROWS and results else 0
    if name in ("matmul", "dot") and len(shapes) > 1 and results:
        return 2 * math.prod(results[0].shape) * shapes[0][-1]
    if name in ("linear", "linear_relu", "linear_gelu") and len(shapes) > 1:
        return 2 * math.prod(shapes[0]) * shapes[1][0]
    if name in ("perceptron_relu", "perceptron_gelu") and len(shapes) > 3:
        return 2 * math.prod(shapes[0]) * shapes[1][0] + 2 * math.prod(shapes[0][:-1]) * math.prod(shapes[3])
    if name == "linear_grad" and len(shapes) > 1:  # g, x and weight: a product for each gradient of a matrix
        return 2 * sum(1 for a in results if a.ndim > 1) * math.prod(shapes[0]) * shapes[1][-1]
    if name == "attention" and len(shapes) > 2:  # the scores, and their product with the values
        return _attention(shapes[0], shapes[1], shapes[2], 1, 1)
    if name == "attention_grad" and len(shapes) > 3:  # g, q, k and v: the scores again, and two gradients of each product
        return _attention(shapes[1], shapes[2], shapes[3], 3, 2)
    if name.startswith(("conv2d", "conv3d")) and len(shapes) > 1:
        return _convolution(name, shapes, results)
    return 0


def _attention(query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...], by_keys: int, by_values: int) -> int:
    """So many products of queries with keys, and of scores with values."""
    scores = math.prod(query[:-1]) * key[-2]
    return 2 * scores * (by_keys * query[-1] + by_values * value[-1])


def _convolution(name: str, shapes: list[tuple[int, ...]], results: list[Any]) -> int:
    """Each weight is multiplied once for each place of the output, forward and in each gradient."""
    if not results:
        return 0
    if name.endswith("_grad"):  # g, x and weight: those of the input and of the weight
        return 4 * math.prod(shapes[2]) * shapes[0][0] * math.prod(shapes[0][2:])
    if "grad_weight" in name or "grad_parameters" in name:  # g and x make the weight's gradient
        weight, output = tuple(results[0].shape), shapes[0]
    elif "grad_input" in name:
        weight, output = shapes[1], shapes[0]
    else:
        weight, output = shapes[1], tuple(results[0].shape)
    return 2 * math.prod(weight) * output[0] * math.prod(output[2:])
