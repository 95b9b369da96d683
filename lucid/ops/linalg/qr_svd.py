"""QR and singular value decompositions, for stacks of matrices: the dimensions before the last two are a batch."""
from __future__ import annotations

from typing import Any, NamedTuple

from ...autograd.calls import operation
from ...autograd.errors import type_name
from ...autograd.grad_mode import is_composed
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import is_differentiated, require_tensor
from .._out import accepts_out
from ..creation.creation import eye
from ..manipulation.diagonals import tril, triu
from ..manipulation.joining import cat
from .matrices import adjoint, all_gradients, require_lapack_dtype, require_matrix
from .solve import solve_columns

METHODS = ("geqrf",)


class QR(NamedTuple):
    """What `linalg.qr` returns."""

    Q: Tensor
    R: Tensor


class GEQRF(NamedTuple):
    """What `geqrf` returns."""

    a: Tensor
    tau: Tensor


class SVD(NamedTuple):
    """What `linalg.svd` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


# ---- QR ----------------------------------------------------------------------------------------------------------------
def _geqrf_rule(needs: Any, x: Tensor) -> Vjp:
    def vjp(g: Any, y: Any) -> Any:
        raise NotImplementedError("the derivative for 'geqrf' is not implemented.")

    return vjp


def _qr_rule(needs: Any, a: Tensor, *, mode: str) -> Vjp:
    """The gradient of Q and R with Q^H Q = 1 and R upper triangular (Walter and Lehmann, "On evaluating higher-order
    derivatives of the QR decomposition of tall matrices", 2010; Liao et al., "Differentiable programming tensor networks",
    2019). Columns of A beyond a square are Q times those of R, and are differentiated as that product.
    """
    rows, columns = a._array.shape[-2:]

    def vjp(g: Any, y: Any) -> tuple[Tensor]:
        if mode == "r":
            raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                               "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr.")
        if mode == "complete" and rows > columns:
            raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
        (q, r), (to_q, to_r) = y, all_gradients(g, 2)
        if rows >= columns and not is_composed():
            return (_qr_grad(q, r, to_q, to_r),)
        to_q, to_r = (like * 0 if part is None else part for part, like in ((to_q, q), (to_r, r)))
        to_beyond = to_r.narrow(-1, rows, columns - rows) if columns > rows else None
        if to_beyond is not None:
            to_q = to_q + q @ r.narrow(-1, rows, columns - rows) @ adjoint(to_beyond)
            r, to_r = r.narrow(-1, 0, rows), to_r.narrow(-1, 0, rows)
        mixed = r @ adjoint(to_r) - adjoint(to_q) @ q
        below, diagonal = tril(mixed, -1), tril(triu(mixed))
        symmetric = below + adjoint(below) + (diagonal + adjoint(diagonal)) / 2
        gradient = adjoint(solve_columns(r, adjoint(to_q + q @ symmetric)))
        return (gradient if to_beyond is None else cat([gradient, q @ to_beyond], -1),)

    return vjp


_geqrf = operation("geqrf", _geqrf_rule)
_qr = operation("qr", _qr_rule, saved_outputs=(0, 1))
_qr_grad = operation("qr_grad")


@accepts_out
def geqrf(input: Tensor) -> GEQRF:
    """LAPACK's compact QR factorization of matrices (..., m, n): R on and above the diagonal of `a`, the vectors of the
    Householder reflectors below it, and their factors `tau` (..., min(m, n)): what `linalg.householder_product` takes.

    Not differentiable. Raises RuntimeError for less than two dimensions, NotImplementedError for integers and half precision.

    >>> a, tau = lucid.geqrf(lucid.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> a.triu().abs()  # R of the QR decomposition, up to signs
    Tensor([[5.0, 2.2],
            [0.0, 0.4]], requires_grad=False)
    """
    if require_tensor("geqrf", input).ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    require_lapack_dtype("geqrf_cpu", input)
    return GEQRF(*_geqrf(input))


@accepts_out
def qr(A: Tensor, mode: str = "reduced") -> QR:
    """``A = Q R`` for matrices (..., m, n), with orthonormal columns in Q and R upper triangular, as the pair (Q, R).

    With k = min(m, n), Q is (..., m, k) and R (..., k, n); with `mode` 'complete' (..., m, m) and (..., m, n). Mode 'r'
    leaves Q empty. Differentiable where the first k columns of A are independent, but not in mode 'r', nor in mode
    'complete' with m > n: `backward` raises RuntimeError. So does this for another mode and a wrong rank or dtype.

    >>> a = lucid.tensor([[3.0, 1.0], [4.0, 2.0]])
    >>> q, r = lucid.linalg.qr(a)
    >>> lucid.allclose(q @ r, a), lucid.allclose(q.T @ q, lucid.eye(2), atol=1e-6)
    (True, True)
    """
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    require_matrix("linalg.qr", A)
    require_lapack_dtype("geqrf_cpu", A)
    return QR(*_qr(A, mode=mode))


@accepts_out
def torch_qr(input: Tensor, some: bool = True) -> QR:
    """`linalg.qr` as it was: mode 'reduced' if `some`, else 'complete'.

    >>> q, r = lucid.qr(lucid.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> r.abs()
    Tensor([[5.0, 2.2],
            [0.0, 0.4]], requires_grad=False)
    """
    return qr(input, "reduced" if some else "complete")


# ---- Householder reflectors ----------------------------------------------------------------------------------------------
@accepts_out
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first n columns of the product of the reflectors 1 - tau_i v_i v_i^H, in which v_i is 0 above row i, 1 in it, and
    column i of `input` (..., m, n) below; `tau` is (..., k) with k <= n <= m.

    It is 1 - V (1 + tau S)^-1 tau V^H, S being the strict upper triangle of V^H V: one triangular system instead of a loop
    over reflectors (Joffrin, Low, Quintana-Orti and van de Geijn, "Accumulating Householder transformations, revisited",
    2006), and so differentiable. Raises RuntimeError for other shapes and dtypes.

    >>> q = lucid.linalg.householder_product(*lucid.geqrf(lucid.tensor([[3.0], [4.0]])))
    >>> q.abs()
    Tensor([[0.6],
            [0.8]], requires_grad=False)
    """
    name = "torch.linalg.householder_product"
    _check_reflectors(name, input, tau)
    (rows, columns), count = input._array.shape[-2:], tau._array.shape[-1]
    one: dict[str, Any] = {"dtype": input.dtype, "device": input.device}
    vectors = tril(input.narrow(-1, 0, count), -1) + eye(rows, count, **one)
    factor = tau.unsqueeze(-1)
    system = eye(count, **one) + factor * triu(adjoint(vectors) @ vectors, 1)
    return eye(rows, columns, **one) - vectors @ solve_columns(system, factor * adjoint(vectors.narrow(-2, 0, columns)))


def _check_reflectors(name: str, input: Tensor, tau: Tensor) -> None:
    shape, factors = require_tensor(name, input)._array.shape, require_tensor(name, tau)._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if shape[-2] < shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if len(factors) != len(shape) - 1:
        raise RuntimeError(f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to "
                           f"{len(factors)} and input.ndim is equal to {len(shape)}")
    if shape[-1] < factors[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if factors[:-1] != shape[:-2]:
        raise RuntimeError(f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
                           f"{list(factors[:-1])}")
    if tau._array.dtype != input._array.dtype:
        raise RuntimeError(f"{name}: tau dtype {type_name(tau.dtype)} does not match input dtype {type_name(input.dtype)}")
    require_lapack_dtype("orgqr_cpu", input)


# ---- singular values -----------------------------------------------------------------------------------------------------
def _svd_rule(needs: Any, a: Tensor, *, full_matrices: bool) -> Vjp:
    """The gradient of a singular value decomposition (Townsend, "Differentiating the singular value decomposition", 2016; for
    complex matrices Wan and Zhang, "Automatic differentiation for complex valued SVD", 2019).
    """
    rows, columns = a._array.shape[-2:]
    count, dtype, split = min(rows, columns), a.dtype, a.is_complex()

    def vjp(g: Any, y: Any) -> tuple[Tensor]:
        u, s, vh = y[0].narrow(-1, 0, count), y[1], y[2].narrow(-2, 0, count)
        to_u, to_s, to_vh = all_gradients(g, 3)
        if to_u is None and to_vh is None:
            return ((u * to_s.unsqueeze(-2)) @ vh,)
        to_u = None if to_u is None else to_u.narrow(-1, 0, count)
        to_vh = None if to_vh is None else to_vh.narrow(-2, 0, count)
        one = eye(count, dtype=s.dtype, device=s.device)
        inner = (s * 0 if to_s is None else to_s).unsqueeze(-1) * one
        squares = s * s
        gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1) + one
        across = down = 0
        if to_u is not None:
            turn = adjoint(u) @ to_u
            turn = turn - adjoint(turn)
            inner = inner + turn * (1 - one) / gaps * s.unsqueeze(-2)
            if split and to_vh is not None:
                inner = inner + turn * one / (2 * s.unsqueeze(-1))
            if rows > count:
                down = ((to_u - u @ (adjoint(u) @ to_u)) / s.unsqueeze(-2)) @ vh
        if to_vh is not None:
            turn = vh @ adjoint(to_vh)
            turn = turn - adjoint(turn)
            inner = inner + s.unsqueeze(-1) * (turn * (1 - one) / gaps)
            if columns > count:
                across = u @ ((to_vh - (to_vh @ adjoint(vh)) @ vh) / s.unsqueeze(-1))
        return (u @ inner.to(dtype) @ vh + down + across,)

    return vjp


_svd = operation("svd", _svd_rule, saved_outputs=(0, 1, 2))
_svdvals = operation("svdvals")


def _require_svd(A: Tensor, driver: str | None) -> None:
    if driver is not None and not A.is_cuda:
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")
    require_matrix("linalg.svd", A)
    require_lapack_dtype("linalg_svd_cpu", A)


@accepts_out
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> SVD:
    """``A = U diag(S) Vh`` for matrices (..., m, n): U and Vh unitary, S real, falling, (..., min(m, n)).

    U is (..., m, m) and Vh (..., n, n), or without `full_matrices` (..., m, k) and (..., k, n), k = min(m, n). Differentiable
    where the singular values differ, in what does not depend on the signs (phases) of the vectors. Raises RuntimeError for a
    wrong rank or dtype, and LinAlgError, a RuntimeError, for NaN and inf. A `driver` is for GPUs only, where CuPy chooses.

    >>> u, s, vh = lucid.linalg.svd(lucid.tensor([[3.0, 0.0], [0.0, 4.0]]))
    >>> s
    Tensor([4.0, 3.0], requires_grad=False)
    """
    _require_svd(A, driver)
    return SVD(*_svd(A, full_matrices=full_matrices))


@accepts_out
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values of matrices (..., m, n), falling: real, (..., min(m, n)). Raises what `svd` raises.

    >>> lucid.linalg.svdvals(lucid.tensor([[3.0, 0.0], [0.0, 4.0]]))
    Tensor([4.0, 3.0], requires_grad=False)
    """
    _require_svd(A, driver)
    if is_differentiated(A):  # the gradient needs the vectors, which take half of the time
        return SVD(*_svd(A, full_matrices=False)).S
    return _svdvals(A)


class OldSVD(NamedTuple):
    """What `svd` of `lucid` and of tensors returns."""

    U: Tensor
    S: Tensor
    V: Tensor


@accepts_out
def torch_svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> OldSVD:
    """`linalg.svd` as it was: reduced if `some`, with V in the place of its adjoint; without `compute_uv` U and V are zeros.

    >>> u, s, v = lucid.svd(lucid.tensor([[3.0, 0.0], [0.0, 4.0]]))
    >>> s
    Tensor([4.0, 3.0], requires_grad=False)
    """
    U, S, Vh = svd(input, full_matrices=not some)
    if not compute_uv:
        rows, columns = input._array.shape[-2:]
        lead = input._array.shape[:-2]
        return OldSVD(input.new_zeros((*lead, rows, rows)), S, input.new_zeros((*lead, columns, columns)))
    return OldSVD(U, S, adjoint(Vh))


@accepts_out
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """`linalg.householder_product`.

    >>> a = lucid.tensor([[3.0, 1.0], [4.0, 2.0]])
    >>> q = lucid.orgqr(*lucid.geqrf(a))
    >>> lucid.allclose(q.T @ q, lucid.eye(2), atol=1e-6)
    True
    """
    return householder_product(input, input2)


@accepts_out
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """``Q @ input3`` for the orthogonal (m, m) matrix Q of Householder's vectors below the diagonal of `input` (..., m, k), with
    their factors `input2` (..., k), as `geqrf` returns them; ``input3 @ Q`` unless `left`, and Q's adjoint with `transpose`.

    >>> a, tau = lucid.geqrf(lucid.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> lucid.ormqr(a, tau, lucid.eye(2), transpose=True) @ lucid.tensor([[3.0], [4.0]])
    Tensor([[-5.0],
            [ 0.0]], requires_grad=False)
    """
    tau, other = input2, input3
    rows, count = input.shape[-2], tau.shape[-1]
    side = other.shape[-2 if left else -1]
    if side != rows:
        raise RuntimeError(f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2]: {side} and {rows}")
    if count > input.shape[-1]:
        raise RuntimeError("torch.ormqr: tau.shape[-1] must be less than or equal to input.shape[-1]")
    factors = tau.conj() if transpose else tau
    reflectors = input.tril(-1)
    for number in range(count) if left == transpose else reversed(range(count)):
        vector = reflectors[..., number].clone()
        vector[..., number] = 1
        column, factor = vector.unsqueeze(-1), factors[..., number, None, None]
        if left:
            other = other - factor * column @ (column.mH @ other)
        else:
            other = other - factor * (other @ column) @ column.mH
    return other


SPECIAL_METHODS = {"svd": torch_svd.without_out, "qr": torch_qr.without_out, "orgqr": orgqr.without_out,
                   "ormqr": ormqr.without_out}


register(__name__)
