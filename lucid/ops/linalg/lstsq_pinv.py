"""Ranks, condition numbers, pseudoinverses and least squares: what singular values tell, for stacks of matrices."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from ... import _dtypes, _recording
from ...autograd.calls import operation
from ...autograd.errors import type_name
from ...autograd.op import Vjp
from ...backends.common.linalg import LinAlgError
from ...tensor import Tensor
from .._methods import register
from .._operands import is_any_true, numbers, require_tensor
from .._out import accepts_out
from ..creation.creation import as_tensor, eye
from ..elementwise.arithmetic import maximum
from ..elementwise.where import where
from ..manipulation.broadcasting import broadcast_shapes
from .eig import eigvalsh
from .matmul import check_batches
from .matrices import adjoint, real_dtype, require_lapack_dtype, require_square, resolution
from .matrix_norms import MATRIX_ORDERS, matrix_norm
from .qr_svd import svdvals
from .solve import inv_ex

METHODS = ("pinverse",)
DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


class LeastSquares(NamedTuple):
    """What `linalg.lstsq` returns."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


# ---- tolerances ----------------------------------------------------------------------------------------------------------
def _default_tolerance(input: Tensor) -> float:
    return resolution(input.dtype) * max(input._array.shape[-2:])


def _tolerances(name: str, input: Tensor, atol: Any, rtol: Any) -> tuple[Tensor, Tensor]:
    """`atol` and `rtol` as tensors that broadcast with the batch: `rtol` is the default where no `atol` is above 0."""
    dtype = real_dtype(input.dtype)
    if not isinstance(atol, Tensor) and not isinstance(rtol, Tensor):
        least = atol or 0.0
        share = rtol if rtol is not None else 0.0 if least > 0 else _default_tolerance(input)
        plain = input.detach()
        return plain.new_full((), least, dtype=dtype), plain.new_full((), share, dtype=dtype)
    given = []
    for label, value in (("atol", atol), ("rtol", rtol)):
        if isinstance(value, Tensor) and value.is_complex():
            raise RuntimeError(f"{name}: {label} tensor of complex type is not supported. Got {type_name(value.dtype)}")
        given.append(None if value is None else as_tensor(value, device=input.device).detach().to(dtype))
    absolute, relative = given
    if absolute is None:
        absolute = input.detach().new_zeros((), dtype=dtype)
    if relative is None:
        default = input.detach().new_full((), _default_tolerance(input), dtype=dtype)
        relative = where(absolute > 0, absolute * 0, default)
    return absolute, relative


# ---- rank and condition --------------------------------------------------------------------------------------------------
@accepts_out
def matrix_rank(input: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The number, int64 (...), of singular values above max(atol, rtol * the largest) of matrices (..., m, n).

    `atol` is 0 and `rtol` max(m, n) times the resolution of the dtype, or 0 if an `atol` is given; tensors broadcast with the
    batch. `tol` is an `atol` of old. With `hermitian` the eigenvalues of Hermitian matrices are counted. Raises RuntimeError for
    a wrong shape or dtype.

    >>> lucid.linalg.matrix_rank(lucid.tensor([[1.0, 2.0], [2.0, 4.0]]))
    Tensor(1, requires_grad=False)
    """
    name = "torch.linalg.matrix_rank"
    if tol is not None:
        if atol is not None or rtol is not None:
            raise TypeError("linalg_matrix_rank() takes either tol, or atol and rtol")
        atol, rtol = tol, 0.0
    if require_tensor(name, input).ndim < 2:
        raise RuntimeError(f"{name}: The input tensor input must have at least 2 dimensions.")
    if input._array.dtype.kind not in "fcV":
        raise NotImplementedError("This function doesn't handle types other than float and double")
    input = input.detach()
    if hermitian:
        require_square("linalg.eigh", input)
    absolute, relative = _tolerances(name, input, atol, rtol)
    if input.numel() == 0:
        return input.new_zeros(input._array.shape[:-2], dtype=_dtypes.int64)
    sizes = eigvalsh(input).abs() if hermitian else svdvals(input)
    cutoff = maximum(absolute, relative * sizes.amax(-1))
    return (sizes > cutoff.unsqueeze(-1)).sum(-1)


@accepts_out
def cond(input: Tensor, p: Any = None) -> Tensor:
    """The condition number of matrices: the ratio of the largest and the smallest singular value (`p` None or 2; -2 the inverse
    ratio), or norm(A) * norm(A^-1) of square matrices for another norm `p` of `matrix_norm`: inf of singular ones.

    With 'nuc' that comes from singular values, and is NaN of zeros. Raises RuntimeError for another `p` and a wrong shape or
    dtype.

    >>> lucid.linalg.cond(lucid.tensor([[10.0, 0.0], [0.0, 2.0]]))
    Tensor(5.0, requires_grad=False)
    """
    if p not in (None, "fro", "nuc", *MATRIX_ORDERS):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p in (None, 2, -2):
        values = svdvals(input)
        if values._array.shape[-1] == 0:
            return values.sum(-1)
        first, last = values.select(-1, 0), values.select(-1, -1)
        return last / first if p == -2 else first / last
    require_square(f"linalg.cond(ord={p})", input)
    if input._array.shape[-1] == 0:
        return input.abs().sum((-2, -1))
    if p == "nuc":
        values = svdvals(input)
        return values.sum(-1) * (1 / values).sum(-1)
    inverse, info = inv_ex(input)
    product = matrix_norm(input, p) * matrix_norm(where((info != 0).unsqueeze(-1).unsqueeze(-1), 0.0, inverse), p)
    return where(info != 0, math.inf, product)


# ---- pseudoinverse -------------------------------------------------------------------------------------------------------
def _pinv_gradient(g: Tensor, a: Tensor, inverse: Tensor) -> Tensor:
    """Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables
    separate", 1973: right where the rank stays the same.
    """
    rows, columns = a._array.shape[-2:]
    turned, upstream = adjoint(inverse), adjoint(g)
    kind: dict[str, Any] = {"dtype": a.dtype, "device": a.device}
    return ((turned @ inverse @ upstream) @ (eye(columns, **kind) - inverse @ a)
            + (eye(rows, **kind) - a @ inverse) @ (upstream @ inverse @ turned) - turned @ g @ turned)


_pinv = operation("pinv", lambda needs, a, atol, rtol, *, hermitian: lambda g, y: (_pinv_gradient(g, a, y), None, None),
           saved_outputs=True)


@accepts_out
def pinv(input: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The Moore-Penrose pseudoinverses (..., n, m) of matrices (..., m, n).

    Singular values up to max(atol, rtol * the largest) count as 0, with the defaults of `matrix_rank`; `rcond` is an `rtol` of
    old. With `hermitian` the eigenvalues of Hermitian matrices take their place. Differentiable where the rank stays the same.
    Raises RuntimeError for a wrong shape or dtype.

    >>> lucid.linalg.pinv(lucid.tensor([[2.0, 0.0], [0.0, 0.0]]))
    Tensor([[0.5, 0.0],
            [0.0, 0.0]], requires_grad=False)
    """
    if require_tensor("linalg.pinv", input).ndim < 2 or not _dtypes.is_differentiable(input._array.dtype):
        raise RuntimeError(f"linalg.pinv({type_name(input.dtype)}{{{list(input.shape)}}}): expected a tensor with 2 or more "
                           "dimensions of float, double, cfloat or cdouble types")
    if rcond is not None:
        if atol is not None or rtol is not None:
            raise TypeError("linalg_pinv() takes either rcond, or atol and rtol")
        atol, rtol = 0.0, rcond
    if hermitian:
        require_square("linalg.eigh", input)
    require_lapack_dtype("linalg_svd_cpu", input)
    absolute, relative = _tolerances("torch.linalg.pinv", input, atol, rtol)
    batch = input._array.shape[:-2]
    if batch:
        absolute, relative = absolute.expand(batch), relative.expand(batch)
    return _pinv(input, absolute, relative, hermitian=bool(hermitian))


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """`linalg.pinv`, with another default of `rcond`.

    >>> lucid.linalg.pinv(lucid.tensor([[2.0, 0.0], [0.0, 0.0]]))
    Tensor([[0.5, 0.0],
            [0.0, 0.0]], requires_grad=False)
    """
    return pinv(input, rcond)


# ---- least squares -------------------------------------------------------------------------------------------------------
def _lstsq_rule(needs: Any, a: Tensor, b: Tensor, *, rcond: float, driver: str) -> Vjp:
    """X is the pseudoinverse of A times B."""
    needs_a, needs_b = needs
    batch = a._array.shape[:-2]
    limit = a.detach().new_full(batch, rcond, dtype=real_dtype(a.dtype))

    def vjp(g: Tensor, y: Any) -> tuple[Any, Any]:
        inverse = _pinv(a, limit * 0, limit, hermitian=False)
        return (_pinv_gradient(g @ adjoint(b), a, inverse) if needs_a else None,
                adjoint(inverse) @ g if needs_b else None)

    return vjp


_lstsq = operation("lstsq", _lstsq_rule, outputs=(0,))


@_recording.not_recorded  # a replay looks too
def _require_full_rank(name: str, rank: Tensor, most: int) -> None:
    """Raise LinAlgError unless all ranks are `most`."""
    if is_any_true(rank != most):
        number = next(number for number in numbers(rank) if number < most)
        raise LinAlgError(f"{name}: The least squares solution could not be computed because the input matrix does not have full "
                          f"rank (error code: {number + 1}).")


@accepts_out
def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None) -> LeastSquares:
    """The X of smallest norm (..., n, k) that makes the norm of ``A X - b`` smallest, for A = `input` (..., m, n) and `b`
    (..., m, k), or (..., m) with one dimension less than `input`.

    By singular values, of which those up to `rcond` (the dtype's resolution times max(m, n)) of the largest count as 0; on a CPU
    with the `driver` 'gelsy', the default there, by a QR factorization whose leading triangle has a condition below 1 / `rcond`
    (but for few or complex elements). `driver` says what else is returned, as LAPACK's routine of that name does: `residuals`,
    the squared norms (..., k), where m > n and all ranks are n (not 'gelsy'); `rank` (not 'gels', the only one on a GPU),
    `singular_values` ('gelsd' and 'gelss'); else they are empty. Raises RuntimeError for arguments that do not fit, and
    LinAlgError, a RuntimeError, for 'gels' where a rank is not full.

    >>> a, b = lucid.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), lucid.tensor([[1.0], [3.0], [5.0]])
    >>> lucid.linalg.lstsq(a, b).solution  # the line 1 + 2 x
    Tensor([[1.0],
            [2.0]], requires_grad=False)
    """
    name = "torch.linalg.lstsq"
    if require_tensor(name, input).ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if require_tensor(name, b).ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if input._array.dtype != b._array.dtype:
        raise RuntimeError(f"{name}: Expected input and other to have the same dtype, but got input's dtype "
                           f"{type_name(input.dtype)} and other's dtype {type_name(b.dtype)}")
    if not 0 <= input.ndim - b.ndim <= 1:
        raise RuntimeError(f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1")
    vector = input.ndim - 1 == b.ndim and input._array.shape[:-1] == b._array.shape
    if vector:
        b = b.unsqueeze(-1)
    (rows, columns), lead = input._array.shape[-2:], input._array.shape[:-2]
    if b.ndim < 2 or b._array.shape[-2] != rows:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size(-2)")
    on_gpu = input.is_cuda
    if driver is not None and driver not in (("gels",) if on_gpu else DRIVERS):
        raise RuntimeError(f"{name}: parameter `driver` should be one of ({'gels' if on_gpu else ', '.join(DRIVERS)})")
    driver = driver or ("gels" if on_gpu else "gelsy")
    if not _dtypes.is_differentiable(input._array.dtype):
        raise RuntimeError("This function doesn't handle types other than float and double")
    require_lapack_dtype("linalg_lstsq_cpu", input)
    limit, given = _default_tolerance(input) if rcond is None else rcond, input
    if lead != b._array.shape[:-2]:
        check_batches(lead, b._array.shape[:-2])
        batch = broadcast_shapes(lead, b._array.shape[:-2])
        given, b = input.expand(*batch, rows, columns), b.expand(*batch, *b._array.shape[-2:])
    solution, rank, values = _lstsq(given, b, rcond=limit, driver=driver)
    if given is not input:
        own = tuple(slice(n) for n in lead)
        rank, values = rank[own], values[own]  # of the matrices as they were given
    if driver == "gels":
        _require_full_rank(name, rank, min(rows, columns))
    residuals = input.new_empty(0, dtype=values.dtype)
    if rows > columns and driver != "gelsy" and (driver == "gels" or not is_any_true(rank != columns)):
        error = (input @ solution - b).abs()
        residuals = (error * error).sum(-2)
    return LeastSquares(solution.squeeze(-1) if vector else solution, residuals,
                        rank.new_empty(0) if driver == "gels" else rank,
                        values if driver in ("gelsd", "gelss") else values.new_empty(0))


register(__name__)
