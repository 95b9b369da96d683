"""Products, and the algebra of matrices, whose kernels take stacks."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lifted import Level, call
from .basis import aligned, at, inner, lift, new_rules, permuted, reshaped, spread

RULES, rule = new_rules()


@rule("matmul")
def matmul(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    a, b = arrays
    flags = {"transpose_a": False, "transpose_b": False, **attributes}
    if not at(level, a) and a.ndim == 2 and b.ndim == 1:  # the vectors of the batch are a matrix: one product
        return lift(level, call(name, (b.value, a), {"transpose_b": not flags["transpose_a"]}))
    if at(level, a) and not at(level, b) and a.ndim == 1 and b.ndim <= 2:
        return lift(level, call(name, (a.value, b), {"transpose_b": flags["transpose_b"]} if b.ndim == 2 else {}))
    ndim = max(a.ndim, b.ndim, 2)
    left = _matrix(level, a, ndim, row=True)
    right = _matrix(level, b, ndim, row=False)
    result = call(name, (left, right), attributes)
    shape = result.shape
    if b.ndim == 1:
        shape = shape[:-1]
    if a.ndim == 1:
        shape = (*shape[:-2], shape[-1]) if b.ndim > 1 else shape[:-1]
    return lift(level, reshaped(result, shape))


def _matrix(level: Level, array: Any, ndim: int, row: bool) -> Any:
    """A factor with its batch dimension, a vector as a matrix."""
    if array.ndim > 1:
        return aligned(level, array, ndim)
    value = inner(level, array)
    lead = (level.size, *(1,) * (ndim - 2)) if at(level, array) else ()
    return reshaped(value, (*lead, 1, array.shape[0]) if row else (*lead, array.shape[0], 1))


@rule("csr_matmul")
def sparse_times_dense(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    *parts, dense = arrays
    if any(at(level, part) for part in parts):
        return NotImplemented
    # The matrices of the batch beside each other: one product.
    rows, columns = dense.shape
    beside = reshaped(permuted(dense.value, 1, 0, 2), (rows, level.size * columns))
    result = call(name, (*parts, beside), attributes)
    result = reshaped(result, (result.shape[0], level.size, columns))
    return lift(level, permuted(result, 1, 0, 2))


@rule("linear")
def linear(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    x, weight, bias = arrays
    if not at(level, weight) and not at(level, bias):
        return lift(level, call(name, (x.value, weight, bias), {}))
    if at(level, weight):
        vector = x.ndim == 1
        if vector:  # a row
            value = reshaped(inner(level, x), (*((level.size,) if at(level, x) else ()), 1, x.shape[0]))
        else:
            value = aligned(level, x, x.ndim)
        matrices = weight.value
        if x.ndim > 2:
            matrices = reshaped(matrices, (level.size, *(1,) * (x.ndim - 2), *weight.shape))
        result = call("matmul", (value, matrices), {"transpose_b": True})
        if vector:
            result = reshaped(result, (level.size, weight.shape[0]))
    else:
        result = call(name, (inner(level, x), weight, None), {})
        if not at(level, x):
            result = spread(level, result)
    if bias is not None:
        value = inner(level, bias)
        if at(level, bias):
            value = reshaped(value, (level.size, *(1,) * (x.ndim - 1), *bias.shape))
        result = call("add", (result, value), {})
    return lift(level, result)


@rule("linear_relu")
def linear_relu(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    return call("relu", (linear(level, "linear", arrays, {}),), {})


@rule("linear_gelu")
def linear_gelu(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    before = linear(level, "linear", arrays, {})
    return call("gelu", (before,), {"approximate": "tanh"}), before if attributes["keep"] else None


@rule("perceptron_relu perceptron_gelu")
def perceptron(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    gelu, keep = name.endswith("gelu"), attributes["keep"]
    before = call("linear", arrays[:3], {})
    hidden = call("gelu", (before,), {"approximate": "tanh"}) if gelu else call("relu", (before,), {})
    return call("linear", (hidden, *arrays[3:]), {}), hidden if keep else None, before if gelu and keep else None


@rule("cholesky_ex inv_ex det slogdet svd svdvals qr geqrf eig eigh eigvals eigvalsh lu_factor cofactors lu_permutation",
      "solve_ex solve_triangular lstsq pinv euclidean_distances",
      "cholesky_grad inv_grad det_grad slogdet_grad eigh_grad qr_grad solve_grad")
def of_stacks(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    return lift(level, call(name, [None if array is None else spread(level, array) for array in arrays], attributes))


@rule("nearly_singular")
def nearly_singular(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """One answer for all, as for a stack."""
    return call(name, (arrays[0].value,), attributes)


@rule("kron")
def kron(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    a, b = arrays
    ndim = max(a.ndim, b.ndim)
    x, y = (reshaped(spread(level, array), (level.size, *(1,) * (ndim - array.ndim), *array.shape)) for array in (a, b))
    pairs = [length for pair in zip(x.shape[1:], (1,) * ndim, strict=True) for length in pair]
    others = [length for pair in zip((1,) * ndim, y.shape[1:], strict=True) for length in pair]
    product = call("mul", (reshaped(x, (level.size, *pairs)), reshaped(y, (level.size, *others))), {})
    return lift(level, reshaped(product, (level.size, *[n * m for n, m in zip(x.shape[1:], y.shape[1:], strict=True)])))
