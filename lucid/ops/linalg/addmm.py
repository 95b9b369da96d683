"""A tensor plus a product of vectors, matrices or stacks of them: ``beta * input + alpha * product``."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...autograd.errors import type_name
from ...tensor import Tensor
from .._independence import with_zero_gradients
from .._methods import register
from .._operands import common_dtype, require_tensor
from .._out import accepts_out
from .matmul import bmm, mm, mv, outer

METHODS = ("addmm", "addmv", "addbmm", "baddbmm", "addr")
INPLACE_METHODS = METHODS


def _sum(input: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """``beta * input + alpha * product`` in the shape of `product`; for `beta` 0 `input` counts for nothing, not even NaN."""
    given, shape = input._array.shape, product._array.shape
    if given != shape and given != shape[-1:]:  # what the sum below would not broadcast to that shape
        input = input.expand(shape)
    if not _dtypes.is_differentiable(product._array.dtype):
        beta, alpha = int(beta), int(alpha)
    elif product._array.dtype.kind != "c" and (isinstance(beta, complex) or isinstance(alpha, complex)):
        raise RuntimeError("value cannot be converted to type double without overflow")
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return with_zero_gradients(product, input)
    return (input if beta == 1 else input * beta) + product


def _require_dtype(input: Tensor, factor: Tensor) -> None:
    if input._array.dtype != factor._array.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {type_name(input.dtype)} and "
                           f"{type_name(factor.dtype)}")


@accepts_out
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``; `input` is broadcast. Raises RuntimeError if sizes or dtypes do not fit.

    >>> lucid.addmm(lucid.tensor([10.0, 20.0]), lucid.ones(2, 3), lucid.ones(3, 2), beta=1, alpha=2)
    Tensor([[16.0, 26.0],
            [16.0, 26.0]], requires_grad=False)
    """
    product = mm(mat1, mat2)
    _require_dtype(require_tensor("addmm", input), mat2)
    return _sum(input, product, beta, alpha)


@accepts_out
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``; `input` is broadcast. Raises RuntimeError if sizes or dtypes do not fit.

    >>> lucid.addmv(lucid.tensor([10.0, 20.0]), lucid.ones(2, 3), lucid.ones(3))
    Tensor([13.0, 23.0], requires_grad=False)
    """
    x, a, b = (require_tensor("addmv", t)._array for t in (input, mat, vec))
    if a.ndim != 2 or b.ndim != 1 or x.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {x.ndim}, {a.ndim}, {b.ndim}")
    if a.shape[1] != b.shape[0] or (x.size != 1 and x.shape[0] != a.shape[0]):
        raise RuntimeError(f"size mismatch, got input ({x.size}), mat ({a.shape[0]}x{a.shape[1]}), vec ({b.shape[0]})")
    if not x.dtype == a.dtype == b.dtype:
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {type_name(x.dtype)}, {type_name(a.dtype)}, "
                           f"and {type_name(b.dtype)}")
    return _sum(input, mv(mat, vec), beta, alpha)


@accepts_out
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * sum(batch1[i] @ batch2[i])`` of stacks (b, n, k) and (b, k, m); `input` is broadcast.

    Raises RuntimeError if sizes or dtypes do not fit.

    >>> lucid.addbmm(lucid.ones(1), lucid.ones(3, 2, 4), lucid.ones(3, 4, 2))
    Tensor([[13.0, 13.0],
            [13.0, 13.0]], requires_grad=False)
    """
    for number, batch in ((1, batch1), (2, batch2)):
        if require_tensor("addbmm", batch).ndim != 3:
            raise RuntimeError(f"batch{number} must be a 3D tensor")
    a, b = batch1._array.shape, batch2._array.shape
    if a[0] != b[0]:
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {a[0]} and {b[0]}")
    if a[2] != b[1]:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({a[1]}x{a[2]} and {b[1]}x{b[2]})")
    _require_dtype(require_tensor("addbmm", input), batch1)
    _require_dtype(input, batch2)
    # One product over all stacks at once.
    product = mm(batch1.transpose(0, 1).reshape(a[1], a[0] * a[2]), batch2.reshape(b[0] * b[1], b[2]))
    return _sum(input, product, beta, alpha)


@accepts_out
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)`` of stacks (b, n, k) and (b, k, m); `input` is broadcast.

    Raises RuntimeError if sizes or dtypes do not fit.

    >>> lucid.baddbmm(lucid.ones(1, 1, 1), lucid.ones(2, 1, 3), lucid.ones(2, 3, 2))
    Tensor([[[4.0, 4.0]],
    <BLANKLINE>
            [[4.0, 4.0]]], requires_grad=False)
    """
    dtypes = [require_tensor("baddbmm", t)._array.dtype for t in (input, batch1, batch2)]
    if len(set(dtypes)) > 1:
        shown = [type_name(dtype).lower() for dtype in dtypes]
        raise RuntimeError(f"Input dtypes must be the same, got: input {shown[0]}, batch1: {shown[1]}, batch2: {shown[2]}")
    return _sum(input, bmm(batch1, batch2), beta, alpha)


@accepts_out(castable=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``; `input` is broadcast and dtypes are promoted. For bools, plus is "or" and
    times is "and". Raises RuntimeError for other shapes, and for factors of another kind than the dtypes.

    >>> lucid.addr(lucid.zeros(2, 3), lucid.tensor([1.0, 2.0]), lucid.tensor([1.0, 10.0, 100.0]))
    Tensor([[  1.0,  10.0, 100.0],
            [  2.0,  20.0, 200.0]], requires_grad=False)
    """
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if require_tensor("addr", vector).ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D")
    dtype = common_dtype([require_tensor("addr", input), vec1, vec2])
    if not _dtypes.is_differentiable(dtype):
        for name, factor in (("beta", beta), ("alpha", alpha)):
            if not isinstance(factor, int):
                raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    product = outer(vec1, vec2).to(dtype)
    input = input.to(dtype)
    if dtype.kind == "b":
        input = input.expand(product._array.shape)
        product = product if alpha else product & False
        return input | product if beta else product
    return _sum(input, product, beta, alpha)


register(__name__)
