"""Products of vectors and matrices. Gradients of weights are C-contiguous; no transposed matrix is copied."""
from __future__ import annotations

from typing import Any

from ..._namespace.foreign import defer, defers
from ...autograd.calls import operation, single_op
from ...autograd.errors import type_name
from ...autograd.grad_mode import is_composed
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import operator, reduce_to, reflected, require_tensor
from .._out import accepts_out
from ..elementwise.arithmetic import conjugate

METHODS = ("matmul", "mm", "bmm", "mv", "dot", "outer", "ger", "vdot")


def _matmul_rule(needs: Any, a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Vjp:
    needs_a, needs_b = needs
    a_shape, b_shape = a._array.shape, b._array.shape
    rows, columns = (a_shape, b_shape) if len(a_shape) > 1 < len(b_shape) else _as_matrices(a_shape, b_shape)
    a, b = a if needs_b else None, b if needs_a else None  # type: ignore[assignment]

    def vjp(g: Tensor, y: Any, needs: Any = needs) -> tuple[Any, Any]:
        needs_a, needs_b = needs
        to_a = to_b = None
        if rows is not a_shape or columns is not b_shape:
            batch = g._array.ndim - (rows is a_shape) - (columns is b_shape)
            g = g.reshape(*g._array.shape[:batch], rows[-2], columns[-1])
        if needs_a:
            other = conjugate(b if columns is b_shape else b.reshape(columns))
            to_a = (_matmul(other, g, transpose_a=transpose_b, transpose_b=True) if transpose_a else
                    _matmul(g, other, transpose_b=not transpose_b))
            to_a = reduce_to(to_a, rows)
            to_a = to_a if rows is a_shape else to_a.reshape(a_shape)
        if needs_b:
            other, upstream = conjugate(a if rows is a_shape else a.reshape(rows)), g
            if len(columns) == 2 and len(rows) > 2 and not transpose_a:
                # One product over all rows instead of a sum of products.
                other, upstream = _rows(other), _rows(g)
            to_b = (_matmul(upstream, other, transpose_a=True, transpose_b=transpose_a) if transpose_b else
                    _matmul(other, upstream, transpose_a=not transpose_a))
            to_b = reduce_to(to_b, columns)
            to_b = to_b if columns is b_shape else to_b.reshape(b_shape)
        return to_a, to_b

    return vjp


def _as_matrices(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of the factors of a product, that of a vector as a row on the left and a column on the right."""
    return a if len(a) > 1 else (1, *a), b if len(b) > 1 else (*b, 1)


def _dot_rule(needs: Any, a: Tensor, b: Tensor) -> Vjp:
    needs_a, needs_b = needs
    a, b = a if needs_b else None, b if needs_a else None  # type: ignore[assignment]
    return lambda g, y: (g * conjugate(b) if needs_a else None, g * conjugate(a) if needs_b else None)


def linear_rule(needs: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Vjp:
    needs_x, needs_weight, _ = needs
    x, weight = x if needs_weight else None, weight if needs_x else None  # type: ignore[assignment]

    def vjp(g: Tensor, y: Any, needs: Any = needs) -> tuple[Any, Any, Any]:
        needs_x, needs_weight, needs_bias = needs
        if not is_composed():
            gradients: tuple[Any, Any, Any] = _linear_grad(g, x if needs_weight else None, weight if needs_x else None,
                                                           with_bias=needs_bias)
            return gradients
        rows = g if g._array.ndim == 2 else _rows(g)
        return (_matmul(g, conjugate(weight)) if needs_x else None,
                _matmul(rows, conjugate(_rows(x)), transpose_a=True) if needs_weight else None,
                rows.sum(0) if needs_bias else None)

    return vjp


_matmul = single_op("matmul", _matmul_rule)
_dot = single_op("dot", _dot_rule)
_linear = single_op("linear", linear_rule)
_linear_grad = operation("linear_grad", operands=3, attributes=("with_bias",))


def _rows(t: Tensor) -> Tensor:
    """All matrices of a stack under each other."""
    shape = t._array.shape
    if len(shape) == 2:
        return t
    count = 1
    for n in shape[:-1]:
        count *= n
    return t.reshape(count, shape[-1])


def _check(name: str, a: Tensor, b: Tensor) -> None:
    """Raise RuntimeError for operands that PyTorch refuses: of two dtypes, on two devices, or bool."""
    if a.__class__ is not Tensor or b.__class__ is not Tensor:
        require_tensor(name, a)
        require_tensor(name, b)
    x, y = a._array, b._array
    if x.dtype is not y.dtype and x.dtype != y.dtype:
        raise RuntimeError("expected m1 and m2 to have the same dtype, but got: "
                           f"{_c_name(x.dtype)} != {_c_name(y.dtype)}")
    if x.dtype.kind == "b":
        raise NotImplementedError(f'"{name}" not implemented for \'Bool\'')


def _c_name(dtype: Any) -> str:
    name = type_name(dtype)
    return {"Half": "c10::Half", "BFloat16": "c10::BFloat16", "Char": "signed char", "Byte": "unsigned char", "Long": "long int",
            "ComplexFloat": "c10::complex<float>", "ComplexDouble": "c10::complex<double>"}.get(name, name.lower())


def _refuse_sizes(rows: int, inner: int, other: int, columns: int) -> None:
    if inner != other:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {other}x{columns})")


@accepts_out
@defers
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The product of vectors, matrices or stacks of matrices, which are broadcast; of two vectors, their dot product.

    Both have the same dtype; integers work, bools do not. Raises RuntimeError if the sizes do not fit.

    >>> lucid.matmul(lucid.tensor([[1.0, 2.0], [3.0, 4.0]]), lucid.tensor([1.0, 10.0]))
    Tensor([21.0, 43.0], requires_grad=False)
    >>> (lucid.ones(5, 2, 3) @ lucid.ones(3, 4)).shape
    lucid.Size([5, 2, 4])
    """
    try:
        _check("matmul", input, other)
    except TypeError:
        return defer("matmul", input, other)
    a, b = input._array.shape, other._array.shape
    if len(a) == 2 and len(b) == 2:
        if a[1] != b[0]:
            _refuse_sizes(*a, *b)
        return _matmul(input, other)
    if not a or not b:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D")
    if len(a) == 1 and len(b) == 1:
        return dot(input, other)
    if len(b) == 1 and len(a) == 2 and a[1] != b[0]:
        raise RuntimeError(f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})")
    a, b = _as_matrices(a, b)
    if len(b) == 2:
        rows = 1
        for n in a[:-1]:
            rows *= n
        _refuse_sizes(rows, a[-1], *b)
    elif a[-1] != b[-2]:
        if len(a) == 2:
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[-2]}x{b[-1]})")
        count = 1
        for n in b[:-2]:
            count *= n
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {a[-1]}] but "
                           f"got: [{count}, {b[-2]}].")
    elif a[:-2] != b[:-2]:
        from ..manipulation.broadcasting import broadcast_shapes

        check_batches(a[:-2], b[:-2])
        broadcast_shapes(a[:-2], b[:-2])
    return _matmul(input, other)


def check_batches(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """Raise RuntimeError, in PyTorch's words, for batch dimensions that cannot be broadcast."""
    rank = max(len(a), len(b))
    for dim, (n, m) in enumerate(zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)):
        if n != m and 1 not in (n, m):
            raise RuntimeError(f"The size of tensor a ({n}) must match the size of tensor b ({m}) at non-singleton "
                               f"dimension {dim}")


@accepts_out
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices. Raises RuntimeError for other ranks and sizes that do not fit.

    >>> lucid.mm(lucid.tensor([[1.0, 2.0]]), lucid.tensor([[3.0], [4.0]]))
    Tensor([[11.0]], requires_grad=False)
    """
    if input._array.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2._array.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    return matmul(input, mat2)


@accepts_out
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two stacks of matrices (b, n, k) and (b, k, m), pair by pair.

    >>> lucid.bmm(lucid.ones(2, 1, 3), lucid.ones(2, 3, 2))
    Tensor([[[3.0, 3.0]],
    <BLANKLINE>
            [[3.0, 3.0]]], requires_grad=False)
    """
    a, b = input._array.shape, mat2._array.shape
    for number, shape in ((1, a), (2, b)):
        if len(shape) != 3:
            raise RuntimeError(f"batch{number} must be a 3D tensor")
    if (a[0], a[2]) != b[:2]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: "
                           f"[{b[0]}, {b[1]}].")
    return matmul(input, mat2)


@accepts_out
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector. (n, m) and (m,) to (n,). Raises RuntimeError for other shapes.

    >>> lucid.mv(lucid.tensor([[1.0, 2.0], [3.0, 4.0]]), lucid.tensor([1.0, 10.0]))
    Tensor([21.0, 43.0], requires_grad=False)
    """
    if input._array.ndim != 2 or vec._array.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}")
    return matmul(input, vec)


@accepts_out
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements. Raises RuntimeError for other dimensions and different lengths.

    >>> lucid.dot(lucid.tensor([1.0, 2.0]), lucid.tensor([3.0, 4.0]))
    Tensor(11.0, requires_grad=False)
    """
    a, b = require_tensor("dot", input)._array.shape, require_tensor("dot", tensor)._array.shape
    if len(a) != 1 or len(b) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors")
    if a != b:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the same "
                           f"number of elements, but got {a[0]} and {b[0]} elements respectively")
    if input._array.dtype != tensor._array.dtype:
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {type_name(input.dtype)} and "
                           f"{type_name(tensor.dtype)}")
    _check("dot", input, tensor)
    return _dot(input, tensor)


@accepts_out
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """`dot` with the complex conjugate of `input`.

    >>> lucid.vdot(lucid.tensor([1j, 2]), lucid.tensor([1j, 1]))
    Tensor(3.0+0.0j, requires_grad=False)
    """
    return dot(conjugate(input), other)


@accepts_out(castable=True)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of all pairs of elements of two vectors, as a matrix.

    >>> lucid.ger(lucid.tensor([1, 2]), lucid.tensor([3, 4]))
    Tensor([[3, 4],
            [6, 8]], requires_grad=False)
    """
    for name, t in (("self", input), ("vec2", vec2)):
        if t._array.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {t.ndim}-D")
    return input.reshape(-1, 1) * vec2


ger = outer


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias`` for `input` (..., in), `weight` (out, in) or (in,), and `bias` (out,) or None.

    All have one dtype. Raises RuntimeError if dtypes or sizes do not fit.

    >>> F.linear(lucid.tensor([[1.0, 2.0]]), lucid.tensor([[1.0, 1.0], [0.0, 10.0]]), lucid.tensor([0.5, 0.0]))
    Tensor([[ 3.5, 20.0]], requires_grad=False)
    """
    if input.__class__ is not Tensor:
        require_tensor("linear", input)
    if weight.__class__ is not Tensor:
        require_tensor("linear", weight)
    x, w = input._array, weight._array
    if w.ndim != 2 or x.ndim == 0 or x.dtype != w.dtype or x.shape[-1] != w.shape[1] or (
            bias is not None and (bias._array.shape != w.shape[:1] or bias._array.dtype != x.dtype)):
        return _unusual_linear(input, weight, bias)
    return _linear(input, weight, bias)


def _unusual_linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`linear` of a vector as weight, and the errors of arguments that do not fit."""
    if bias is not None:
        for one, other, names in ((input, weight, "mat1 and mat2"), (bias, input, "self and mat2")):
            if one._array.dtype != other._array.dtype:
                raise RuntimeError(f"{names} must have the same dtype, but got {type_name(one.dtype)} and "
                                   f"{type_name(other.dtype)}")
    result = matmul(input, weight if weight.ndim < 2 else weight.t())
    if bias is None:
        return result
    return result + bias.expand(result.shape)


SPECIAL_METHODS = {"__matmul__": operator(matmul.without_out), "__rmatmul__": reflected(matmul.without_out)}


register(__name__)
