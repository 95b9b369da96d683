"""Products other than `@`: `inner`, `tensordot`, `kron`, `cross`, `multi_dot`, powers and Vandermonde matrices."""
from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from ... import _dtypes
from ...autograd.calls import single_op
from ...autograd.errors import type_name
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._independence import with_zero_gradients
from .._methods import register
from .._operands import canonical_dim, canonical_dims, promote, require_tensor
from .._out import accepts_out
from ..creation.creation import eye, ones
from ..elementwise.arithmetic import conjugate
from ..manipulation.broadcasting import broadcast_shapes
from ..manipulation.joining import cat
from ..manipulation.reordering import flip
from ..reduction.cumulative import cumprod
from .matmul import check_batches, linear, matmul, mm
from .matrices import require_equal_sides, require_inexact
from .solve import inv

METHODS = ("inner", "kron", "cross", "trace", "matrix_power")


@accepts_out
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sums of products over the last dimension of both; a 0-d tensor multiplies. Raises RuntimeError if lengths differ.

    >>> lucid.inner(lucid.tensor([[1, 2], [3, 4]]), lucid.tensor([1, 10]))
    Tensor([21, 43], requires_grad=False)
    """
    a, b = require_tensor("inner", input)._array.shape, require_tensor("inner", other)._array.shape
    if not a or not b:
        return input * other
    if a[-1] != b[-1]:
        raise RuntimeError("inner() the last dimension must match on both input tensors but got shapes "
                           f"{list(a)} and {list(b)}")
    if len(b) == 2 and input._array.dtype == other._array.dtype and input._array.dtype.kind in "fc":
        return linear(input, other)
    return tensordot(input, other, ([-1], [-1]))


@accepts_out
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sums of products over dimensions of `a` and of `b`: the last and first `dims` ones, or a pair of lists of them.

    The other dimensions of `a` come first, then those of `b`. Raises RuntimeError if lengths do not fit; of two different
    lengths one may be 1.

    >>> lucid.tensordot(lucid.ones(2, 3, 4), lucid.ones(3, 4, 5), dims=2).shape
    lucid.Size([2, 5])
    """
    x, y = require_tensor("tensordot", a)._array, require_tensor("tensordot", b)._array
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.ndim else dims.item()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(x.ndim, y.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = (list(range(x.ndim - dims, x.ndim)), list(range(dims)))
    first, second = dims
    if isinstance(first, int) or isinstance(second, int):
        raise TypeError("tensordot(): argument 'dims_self' (position 3) must be tuple of ints, not int")
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    if x.dtype != y.dtype:
        raise RuntimeError("both inputs should have same dtype")
    over_a = canonical_dims(tuple(first), x.ndim) if first else ()
    over_b = canonical_dims(tuple(second), y.ndim) if second else ()
    for i, j in zip(over_a, over_b, strict=True):
        n, m = a._array.shape[i], b._array.shape[j]
        if n == m:
            continue
        if 1 not in (n, m):
            raise RuntimeError(f"contracted dimensions need to match, but first has size {n} in dim {i} and second has size {m} "
                               f"in dim {j}")
        a, b = (a.sum(i, keepdim=True, dtype=a.dtype), b) if m == 1 else (a, b.sum(j, keepdim=True, dtype=b.dtype))
    free_a = [axis for axis in range(x.ndim) if axis not in over_a]
    free_b = [axis for axis in range(y.ndim) if axis not in over_b]
    count = math.prod(a._array.shape[axis] for axis in over_a)
    lengths_a, lengths_b = [[t._array.shape[axis] for axis in free] for t, free in ((a, free_a), (b, free_b))]
    rows = a.permute(*free_a, *over_a).reshape(math.prod(lengths_a), count)
    columns = b.permute(*over_b, *free_b).reshape(count, math.prod(lengths_b))
    return mm(rows, columns).reshape(*lengths_a, *lengths_b)


def _kron_rule(needs: Sequence[bool], a: Tensor, b: Tensor) -> Vjp:
    shapes = a._array.shape, b._array.shape
    rank = max(map(len, shapes))
    n, m = ((1,) * (rank - len(shape)) + shape for shape in shapes)
    sizes = math.prod(n), math.prod(m)
    first, second = (conjugate(t).reshape(-1) if need else None for t, need in zip((a, b), reversed(needs), strict=True))

    def vjp(g: Tensor, y: Any) -> tuple[Tensor | None, Tensor | None]:
        apart = g.reshape([length for pair in zip(n, m, strict=True) for length in pair])
        outer = apart.permute([*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)]).reshape(sizes)
        return (None if second is None else matmul(outer, second).reshape(shapes[0]),
                None if first is None else matmul(first, outer).reshape(shapes[1]))

    return vjp


_kron = single_op("kron", _kron_rule)


@accepts_out
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: each element of `input` in turn times all of `other`. Missing dimensions are 1, in front.

    >>> lucid.kron(lucid.tensor([1, 10]), lucid.tensor([1, 2, 3]))
    Tensor([ 1,  2,  3, 10, 20, 30], requires_grad=False)
    """
    return _kron(*promote("kron", require_tensor("kron", input), require_tensor("kron", other)))


def _cross_rule(needs: Sequence[bool], a: Tensor, b: Tensor, *, axis: int) -> Vjp:
    def vjp(g: Tensor, y: Any) -> tuple[Tensor | None, Tensor | None]:
        return (_cross(conjugate(b), g, axis=axis) if needs[0] else None,
                _cross(g, conjugate(a), axis=axis) if needs[1] else None)

    return vjp


_cross = single_op("cross", _cross_rule)


@accepts_out
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors of three elements along `dim`; both are broadcast. Raises RuntimeError for other lengths.

    >>> lucid.linalg.cross(lucid.tensor([1.0, 0.0, 0.0]), lucid.tensor([0.0, 1.0, 0.0]))
    Tensor([0.0, 0.0, 1.0], requires_grad=False)
    """
    name = "linalg.cross"
    x, y = require_tensor(name, input)._array, require_tensor(name, other)._array
    if x.ndim != y.ndim:
        raise RuntimeError(f"{name}: inputs must have the same number of dimensions.")
    axis = canonical_dim(dim, x.ndim)
    if x.shape[axis:axis + 1] != (3,) or y.shape[axis:axis + 1] != (3,):
        raise RuntimeError(f"{name}: inputs dimension {dim} must have length 3. Got {input.size(axis)} and {other.size(axis)}")
    if x.dtype != y.dtype:
        raise RuntimeError(f"expected scalar type {type_name(x.dtype)} but found {type_name(y.dtype)}")
    if x.dtype.kind == "b":
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    check_batches(x.shape, y.shape)
    if x.shape != y.shape:
        shape = broadcast_shapes(x.shape, y.shape)
        input, other = input.expand(shape), other.expand(shape)
    return _cross(input, other, axis=axis)


@accepts_out
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """`linalg.cross`; without `dim` along the first dimension of length 3, and RuntimeError if there is none.

    >>> lucid.cross(lucid.tensor([1.0, 0.0, 0.0]), lucid.tensor([0.0, 1.0, 0.0]), dim=0)
    Tensor([0.0, 0.0, 1.0], requires_grad=False)
    """
    if dim is None:
        shape = require_tensor("cross", input)._array.shape
        if input.ndim != require_tensor("cross", other).ndim:
            raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
        dim = next((axis for axis, n in enumerate(shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(input, other, dim=dim)


@accepts_out
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix; of integers as int64. Raises RuntimeError for another number of dimensions.

    >>> lucid.trace(lucid.tensor([[1, 2], [3, 4]]))
    Tensor(5, requires_grad=False)
    """
    if require_tensor("trace", input).ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input._array.dtype.kind == "b":
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    return input.diagonal().sum()


@accepts_out
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sums along `dim` of ``conj(x) * y``, broadcast. Raises RuntimeError for integers and for two dtypes.

    >>> lucid.linalg.vecdot(lucid.tensor([[1.0, 2.0], [3.0, 4.0]]), lucid.tensor([1.0, 10.0]))
    Tensor([21.0, 43.0], requires_grad=False)
    """
    name = "linalg.vecdot"
    require_inexact(name, x)
    if require_tensor(name, y)._array.dtype != x._array.dtype:
        raise RuntimeError(f"{name}: Expected x and y to have the same dtype, but found x of type {type_name(x.dtype)} and y of "
                           f"type {type_name(y.dtype)} instead")
    a, b = x._array.shape, y._array.shape
    if canonical_dim(dim, max(len(a), len(b))) == max(len(a), len(b)) - 1 and a and b and (a[-1] == b[-1]):
        check_batches(a[:-1], b[:-1])
        return matmul(conjugate(x).unsqueeze(-2), y.unsqueeze(-1)).squeeze(-1).squeeze(-1)
    check_batches(a, b)
    return (conjugate(x) * y).sum(dim)


# ---- chains --------------------------------------------------------------------------------------------------------------
def _chain(matrices: Sequence[Tensor]) -> Tensor:
    """The product of matrices in the order of the fewest multiplications (Cormen et al., "Introduction to algorithms", 2022,
    section 14.2).
    """
    sizes = [matrices[0]._array.shape[0], *[matrix._array.shape[1] for matrix in matrices]]
    count = len(matrices)
    cost = [[0] * count for _ in range(count)]
    cut = [[0] * count for _ in range(count)]
    for width in range(1, count):
        for first in range(count - width):
            last = first + width
            cost[first][last], cut[first][last] = min(
                (cost[first][at] + cost[at + 1][last] + sizes[first] * sizes[at + 1] * sizes[last + 1], at)
                for at in range(first, last))

    def product(first: int, last: int) -> Tensor:
        if first == last:
            return matrices[first]
        at = cut[first][last]
        return mm(product(first, at), product(at + 1, last))

    return product(0, count - 1)


@accepts_out
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of at least two matrices, multiplied in the cheapest order; the first and the last may be vectors.

    Raises RuntimeError for other ranks, and for sizes and dtypes that do not fit.

    >>> lucid.linalg.multi_dot([lucid.ones(1, 2), lucid.ones(2, 3), lucid.ones(3, 1)])
    Tensor([[6.0]], requires_grad=False)
    """
    name, count = "multi_dot()", len(tensors)
    if count < 2:
        raise RuntimeError(f"{name}: expected at least 2 tensors but got {count}")
    for which, tensor, label in ((0, tensors[0], "first"), (count - 1, tensors[-1], "last")):
        if require_tensor("multi_dot", tensor).ndim not in (1, 2):
            raise RuntimeError(f"{name}: the {label} tensor must be 1D or 2D but got {tensors[which].ndim}D")
    for number, tensor in enumerate(tensors):
        if 0 < number < count - 1 and tensor.ndim != 2:
            raise RuntimeError(f"{name}: tensor {number} must be 2D but got {tensor.ndim}D")
        if tensor.dtype != tensors[0].dtype:
            kinds = [{"Float": "float", "Double": "double"}.get(type_name(t.dtype), type_name(t.dtype)) for t in
                     (tensors[0], tensor)]
            raise RuntimeError(f"{name}: all tensors must have be the same dtype but tensor 0 is {kinds[0]} and tensor {number} "
                               f"{kinds[1]}")
    row, column = tensors[0].ndim == 1, tensors[-1].ndim == 1
    matrices = list(tensors)
    matrices[0] = matrices[0].unsqueeze(0) if row else matrices[0]
    matrices[-1] = matrices[-1].unsqueeze(1) if column else matrices[-1]
    for number, (a, b) in enumerate(zip(matrices[:-1], matrices[1:], strict=True)):
        if a._array.shape[1] != b._array.shape[0]:
            raise RuntimeError(f"{name}: tensors {number} and {number + 1} with shapes {list(tensors[number].shape)} and "
                               f"{list(tensors[number + 1].shape)} cannot be multiplied")
    result = _chain(matrices)
    if row:
        result = result.squeeze(0)
    return result.squeeze(-1) if column else result


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of matrices, multiplied in the cheapest order: `linalg.multi_dot` of old.

    >>> lucid.chain_matmul(lucid.ones(1, 2), lucid.ones(2, 3), lucid.ones(3, 1))
    Tensor([[6.0]], requires_grad=False)
    """
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    given: Sequence[Tensor] = matrices[0] if isinstance(matrices[0], (list, tuple)) else matrices
    for matrix in given:
        if require_tensor("chain_matmul", matrix).ndim != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.ndim}, expected 2 instead.")
    return given[0] if len(given) == 1 and out is None else multi_dot(given, out=out)


@accepts_out
def matrix_power(input: Tensor, n: int) -> Tensor:
    """The product of `n` times each square matrix, by repeated squaring; negative powers are those of the inverse.

    Raises TypeError for an `n` that is no integer, RuntimeError for a wrong shape, LinAlgError for singular matrices and n < 0.

    >>> lucid.linalg.matrix_power(lucid.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    Tensor([[1.0, 3.0],
            [0.0, 1.0]], requires_grad=False)
    """
    name = "linalg.matrix_power"
    require_equal_sides(name, input)
    if not isinstance(n, int) or isinstance(n, builtins.bool):
        raise TypeError(f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    if n < 0:
        return matrix_power(inv(input), -n)
    if n == 0:
        unit = eye(input._array.shape[-1], dtype=input.dtype, device=input.device)
        return with_zero_gradients(unit.expand(input._array.shape).clone(), input)
    result, square = None, input
    while True:
        if n % 2:
            result = square if result is None else matmul(result, square)
        n //= 2
        if not n:
            break
        square = matmul(square, square)
    assert result is not None
    return result.clone() if result is input else result


# ---- Vandermonde ---------------------------------------------------------------------------------------------------------
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element, along a new last dimension; N is the last length of `x` if it is None.

    Integers give int64. Raises RuntimeError for bools and for N < 2.

    >>> lucid.linalg.vander(lucid.tensor([1, 2, 3]))
    Tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]], requires_grad=False)
    """
    if require_tensor("linalg.vander", x)._array.dtype.kind == "b":
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got Bool")
    x = x if x.ndim else x.reshape(1)
    count = x._array.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _powers(x, count)


def _powers(x: Tensor, count: int) -> Tensor:
    base = x.unsqueeze(-1).expand(*x._array.shape, count - 1)
    powers = cumprod(base, -1)
    return cat([ones((*x._array.shape, 1), dtype=powers.dtype, device=x.device), powers], -1)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers N - 1 to 0, or with `increasing` 0 to N - 1, of each element of a vector, as columns.

    Raises RuntimeError for more dimensions and a negative N.

    >>> lucid.vander(lucid.tensor([1, 2, 3]))
    Tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]], requires_grad=False)
    """
    if require_tensor("vander", x).ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x._array.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    if count == 0:
        dtype = x.dtype if _dtypes.is_differentiable(x.dtype) else _dtypes.int64
        return x.new_empty((x._array.shape[0], 0), dtype=dtype)
    powers = _powers(x, count)
    return powers if increasing else flip(powers, 1)


register(__name__)
