"""Products of two matrices whose last step does what would be kernels of their own: add a bias, apply ReLU or GELU, the gradients
of these, and the sums that are gradients of a bias.

cuBLASLt computes them where it has them (`blas_lt`). Each function returns None where it does not, or where `CHOSEN` leaves it
out: then the caller computes the steps one by one.

What the library's epilogues do with NaN, and how exactly activations are computed, is not documented. So each of its kernels is
tried before it is used: with NaN, and against ours with the true numbers. It is not used where it differs.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import cupy
import numpy as np

from lucid_kernels.cuda.elementwise import elementwise, strides
from lucid_kernels.cuda.matmul import blas_lt, products
from lucid_kernels.cuda.matmul.blas_lt import Matrix, Problem
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.reduction.reduce import channel_sums
from lucid_kernels.cuda.runtime import launch, recording

# As in cublasLt.h.
_BIAS, _RELU, _GELU, _AUX, _SUMS_OF_B, _GRADIENTS = 4, 2, 32, 128, 512, {"relu": 8 | 16 | 128, "gelu": 64 | 16 | 128}
#: What rows of the auxiliary matrix begin at multiples of: bits that say where ReLU passes, elements that GELU is applied to.
_AUX_UNITS = {"relu": 128, "gelu": 8}
#: The characters of the dtypes for which an epilogue is chosen. The library has none for float64.
CHOSEN = {"linear": "feE", "relu": "feE", "gelu": "feE", "weight_gradient": "feE", "relu_gradient": "feE",
          "gelu_gradient": "feE"}
#: How far an epilogue of the library may be from ours, as a share of what it is applied to: roundings, not approximations.
_APART = {"f": 4e-6, "e": 2e-3, "E": 1.6e-2}
_MOST_TRIED = 1 << 12
#: Of a kernel on a device, for a type, that of its sums and an epilogue: whether it is right.
tried: dict[tuple[int, int, int, int, bytes], bool] = {}
_SCALES = {64: 2, 68: 0, 70: 1, 77: 0}  # of a type of sums, that of the scalars


class Write(Protocol):
    """Writes a product, also `spoiled`, with NaN for the left matrix, or with another bias; False where the library lacks it."""

    def __call__(self, spoiled: bool = ..., bias: Any = ...) -> bool: ...


Trial = Callable[[Write, Any], bool]


def linear(x: Any, weight: Any, bias: Any) -> Any:
    """``x @ weight.T + bias`` for x (..., in), weight (out, in) and bias (out,), or None."""
    if x.ndim < 2 or not _suits("linear", x, weight, bias):
        return None
    rows, bias = products.rows(x), copies.contiguous(bias)
    result = launch.empty((rows.shape[0], weight.shape[0]), x.dtype)

    def trial(write: Write, product: Any) -> bool:
        return is_right_forward(write, product, result, bias, None, None)

    if not _multiply(rows, weight.T, result, _BIAS, bias, None, trial):
        return None
    return result.reshape(*x.shape[:-1], weight.shape[0])


def activated(x: Any, weight: Any, bias: Any, activation: str, keep: bool) -> tuple[Any, Any] | None:
    """`linear` with 'relu' or 'gelu', its approximation by tanh, applied; and with `keep` what `activation_gradient` needs, else
    None: for GELU what it is applied to, for ReLU bits in an order that the library alone knows.
    """
    if x.ndim < 2 or not _suits(activation, x, weight, bias):
        return None
    rows, bias = products.rows(x), copies.contiguous(bias)
    (count, _), columns = rows.shape, weight.shape[0]
    result, aux, unit = launch.empty((count, columns), x.dtype), None, _AUX_UNITS[activation]
    if keep and activation == "relu":
        aux = launch.empty((count, -(-columns // unit) * unit // 8), np.dtype(np.uint8))
    elif keep:
        if columns % unit:
            return None
        aux = launch.empty((count, columns), x.dtype)
    epilogue = _BIAS | (_RELU if activation == "relu" else _GELU) | (0 if aux is None else _AUX)

    def trial(write: Write, product: Any) -> bool:
        return is_right_forward(write, product, result, bias, aux, activation)

    if not _multiply(rows, weight.T, result, epilogue, bias, aux, trial):
        return None
    shape = *x.shape[:-1], columns
    return result.reshape(shape), aux if aux is None or activation == "relu" else aux.reshape(shape)


def activation_gradient(g: Any, weight: Any, kept: Any, argument: Any, activation: str) -> tuple[Any, Any] | None:
    """The gradient of what an activation was applied to, from that of the next layer's result, g (rows, out), by its weight (out,
    columns), and the sums of its columns, the gradient of the bias; or None.

    `kept` is that of `activated`, `argument` what our gradient of the activation takes: the result of ReLU, or what GELU was
    applied to.
    """
    if not _suits(f"{activation}_gradient", g, weight):
        return None
    result, to_bias = launch.empty((g.shape[0], weight.shape[1]), g.dtype), launch.empty(weight.shape[1:], g.dtype)

    def trial(write: Write, product: Any) -> bool:
        return is_right_backward(write, product, result, to_bias, products.rows(argument), activation == "relu")

    kept = kept if activation == "relu" else products.rows(kept)
    return (result, to_bias) if _multiply(g, weight, result, _GRADIENTS[activation], to_bias, kept, trial) else None


def weight_gradient(g: Any, x: Any) -> Any:
    """The gradients of weight and bias of `linear`, ``g.T @ x`` and ``g.sum(0)``, for g (rows, out) and x (rows, in), or None."""
    if not _suits("weight_gradient", g, x):
        return None
    to_weight = launch.empty((g.shape[1], x.shape[1]), g.dtype)
    to_bias = launch.empty(g.shape[1:], g.dtype)

    def trial(write: Write, product: Any) -> bool:
        return is_right_sums(write, product, to_weight, to_bias, g)

    # The left matrix is the library's right one.
    if not _multiply(g.T, x, to_weight, _SUMS_OF_B, to_bias, None, trial):
        return None
    return to_weight, to_bias


def _suits(name: str, *arrays: Any) -> bool:
    """Whether an epilogue is chosen for arrays of one dtype. Those with rows of one element, which the library has computed
    wrongly on some chips, are left out.
    """
    char = arrays[0].dtype.char
    return char in CHOSEN[name] and all(
        array.dtype.char == char and (array.ndim < 2 or array.size > array.shape[-1] > 1) for array in arrays)


def _multiply(a: Any, b: Any, result: Any, epilogue: int, bias: Any, aux: Any, trial: Trial) -> bool:
    """Whether ``a @ b`` has been written to `result`, (rows, columns), and an epilogue done with the vector `bias` and the
    matrix `aux`; `trial` must say first whether such products are right.
    """
    kind = products.kind_of(a.dtype)
    assert kind is not None
    number, compute, one, zero = kind
    (rows, inner), columns = a.shape, b.shape[1]
    (left, a), (right, b) = _matrix(a), _matrix(b)
    aux_leading = 0 if aux is None else aux.shape[1] * (8 if aux.dtype.char == "B" else 1)
    # As in `products`: the library sees all three transposed.
    problem = Problem(columns, rows, inner, right, left, number, compute, _SCALES[compute], epilogue, aux_leading,
                      _alignment(bias))

    def write(spoiled: bool = False, bias: Any = bias) -> bool:
        left = _nan(a) if spoiled else a
        pointers = ((blas_lt.BIAS, bias.data.ptr), *(() if aux is None else ((blas_lt.AUX, aux.data.ptr),)))
        return blas_lt.multiply(problem, one, zero, b.data.ptr, left.data.ptr, result.data.ptr, pointers)

    algorithm = blas_lt.algorithm(problem)
    if algorithm is None:
        return False
    # Another problem for the same kernel is as right.
    key = cupy.cuda.runtime.getDevice(), number, compute, epilogue, algorithm
    if key not in tried:
        if cupy.cuda.get_current_stream().is_capturing():  # where the host cannot look at results
            return False
        recording.record_next()
        if len(tried) >= _MOST_TRIED:
            tried.clear()
        tried[key] = trial(write, products.matmul(a, b))
    return tried[key] and write()


def is_right_forward(write: Write, product: Any, result: Any, bias: Any, aux: Any, activation: str | None) -> bool:
    """Whether a bias and an activation pass NaN on, and are what our kernels make of the `product`."""
    if not write(bias=_nan(bias)):
        return False
    good = bool(_is_nan(result).all())
    if aux is not None and activation == "relu":  # our gradient of NaN passes; bits behind the columns are anything
        zeros = int((cupy.unpackbits(aux) == 0).sum())
        good = good and zeros <= 8 * aux.size - result.size
    elif aux is not None:
        good = good and bool(_is_nan(aux).all())
    write()
    before = after = elementwise.add(product, bias)
    if activation is not None:
        after = elementwise.relu(before) if activation == "relu" else elementwise.gelu(before, approximate="tanh")
    good = good and _are_close(result, after, before)
    return good and (activation != "gelu" or aux is None or _are_close(aux, before, before))


def is_right_backward(write: Write, product: Any, result: Any, to_bias: Any, argument: Any, relu: bool) -> bool:
    """Whether the gradient of an activation is what our kernels make of the `product`, also of NaN."""
    gradient: Any = elementwise.relu_grad if relu else lambda g, x: elementwise.gelu_grad(g, x, approximate="tanh")
    good = True
    for spoiled, upstream in ((True, _nan(product)), (False, product)):
        if not write(spoiled):
            return False
        expected = gradient(upstream, argument)
        good = good and _are_close(result, expected, upstream)
        good = good and _are_close(to_bias, channel_sums(expected), upstream, len(product))
    return good


def is_right_sums(write: Write, product: Any, result: Any, to_bias: Any, g: Any) -> bool:
    """Whether products of ``g.T`` come with the sums of g, also of NaN."""
    good = True
    for spoiled, given, expected in ((True, _nan(g), _nan(product)), (False, g, product)):
        if not write(spoiled):
            return False
        good = good and _are_close(result, expected, expected)
        good = good and _are_close(to_bias, channel_sums(given), given, len(given))
    return good


def _nan(x: Any) -> Any:
    """NaN in memory laid out as `x`."""
    length = strides.extent(x.shape, x.strides, x.itemsize)[1]
    flat = cupy.full(length, np.nan, np.float32).astype(x.dtype)
    return cupy.ndarray(x.shape, x.dtype, flat.data, x.strides)


def _is_nan(x: Any) -> Any:
    return cupy.isnan(x.astype(np.float32))


def _are_close(found: Any, wanted: Any, source: Any, terms: int = 1) -> bool:
    """Whether both are equal but for roundings of what they were made of, each of so many `terms`."""
    x, y, size = (each.astype(np.float32) for each in (found, wanted, source))
    size = cupy.abs(size)
    allowed = _APART[found.dtype.char] * terms * float(cupy.where(cupy.isfinite(size), size, 0).max())
    return bool(((cupy.abs(x - y) <= allowed) | (x == y) | (cupy.isnan(x) & cupy.isnan(y))).all())


def _matrix(x: Any) -> tuple[Matrix, Any]:
    """A matrix as the library reads it, and it or a copy."""
    x, transposed, leading, _ = products.operand(x, ())
    return Matrix(transposed, leading, _alignment(x)), x


def _alignment(x: Any) -> int:
    address: int = x.data.ptr | blas_lt.ALIGNMENT
    return address & -address
