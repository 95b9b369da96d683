"""Orthogonal and unitary weights."""
from __future__ import annotations

from ...autograd.grad_mode import no_grad
from ...ops.creation.creation import eye
from ...ops.elementwise.comparison import allclose
from ...ops.elementwise.where import where
from ...ops.linalg.matrices import adjoint
from ...ops.linalg.matrix_exp import matrix_exp
from ...ops.linalg.qr_svd import geqrf, householder_product
from ...ops.linalg.solve import solve
from ...ops.manipulation.diagonals import tril
from ...ops.manipulation.joining import cat
from ...ops.random.random import randn
from ...tensor import Tensor
from ..modules.module import Module
from .parametrize import register_parametrization

_MAPS = ("matrix_exp", "cayley", "householder")


def _identity_like(matrix: Tensor, size: int | None = None) -> Tensor:
    """Ones on the diagonal of a matrix as large as `matrix`, or of `size` rows and columns."""
    rows, columns = matrix.shape[-2:] if size is None else (size, size)
    return eye(rows, columns, dtype=matrix.dtype, device=matrix.device)


def _is_orthogonal(q: Tensor) -> bool:
    """Whether the columns of `q` are orthonormal, up to rounding."""
    single = q.itemsize // (2 if q.is_complex() else 1) == 4
    tolerance = 10.0 * q.shape[-2] * 2.0 ** (-23 if single else -52)
    return bool(allclose(adjoint(q) @ q, _identity_like(q, q.shape[-1]).expand(*q.shape[:-2], -1, -1), atol=tolerance))


def _orthogonalized(matrix: Tensor) -> Tensor:
    """Q of ``matrix = Q R`` with a diagonal of R that is real and not negative; `matrix` is tall."""
    packed, tau = geqrf(matrix)
    # The diagonal is that of R, which is real for complex matrices too.
    return householder_product(packed, tau) * packed.diagonal(0, -2, -1).sgn().unsqueeze(-2)


def _tall(matrix: Tensor) -> tuple[Tensor, bool]:
    """`matrix` with at least as many rows as columns, and whether it has been transposed for that."""
    wide = matrix.shape[-2] < matrix.shape[-1]
    return (matrix.mT if wide else matrix), wide


class _Orthogonal(Module):
    """An orthogonal matrix from any matrix of its shape, of which the lower triangle matters.

    With `use_trivialization` it is a product B f(X), and assigning a matrix changes B, the buffer `base` (Lezcano-Casado,
    "Trivializations for gradient-based optimization on manifolds", 2019).
    """

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        # The factors tau of complex reflectors do not follow from their vectors alone.
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        X, transposed = _tall(X)
        Q = self._reflected(X) if self.orthogonal_map == "householder" else self._rotated(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if transposed else Q

    def _rotated(self, X: Tensor) -> Tensor:
        """The exponential or the Cayley transform of a skew matrix; its first columns for a matrix that is not square."""
        rows, columns = X.shape[-2:]
        lower = tril(X)
        if rows != columns:
            lower = cat([lower, X.new_zeros(*X.shape[:-2], rows, rows - columns)], -1)
        skew = lower - adjoint(lower)
        if self.orthogonal_map == "matrix_exp":
            Q = matrix_exp(skew)
        else:
            one = _identity_like(skew)
            Q = solve(one - skew / 2, one + skew / 2)
        return Q.narrow(-1, 0, columns) if rows != columns else Q

    @staticmethod
    def _reflected(X: Tensor) -> Tensor:
        """The product of the Householder reflectors whose vectors are in X, columns multiplied by the signs on its diagonal."""
        vectors = tril(X, -1)
        tau = 2.0 / (1.0 + (vectors * vectors).sum(-2))
        signs = X.detach().diagonal(0, -2, -1).int().to(X.dtype)  # 1 and -1, which are not trained
        return householder_product(vectors, tau) * signs.unsqueeze(-2)

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        tall, transposed = _tall(Q)
        if hasattr(self, "base"):
            self.base = self._completed(tall)
            # Zeros but for the diagonal, whose signs the reflectors use: each map gives the identity for it.
            return (-_identity_like(Q)).expand(*Q.shape).clone()
        if self.orthogonal_map != "householder":
            raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley parametrizations "
                                      "when use_trivialization=False.")
        packed, tau = geqrf(tall)
        # R has 1 and -1 on its diagonal if Q is orthogonal. A reflector left out (tau 0) is used here with tau 2.
        signs = packed.diagonal(0, -2, -1).sign()
        signs = where(tau == 0, -signs, signs)
        packed = where(_identity_like(packed) == 1, signs.unsqueeze(-2), packed)
        return packed.mT if transposed else packed

    @staticmethod
    def _completed(Q: Tensor) -> Tensor:
        """A square orthogonal matrix that begins with the columns of the tall matrix Q, made orthonormal if they are not."""
        rows, columns = Q.shape[-2:]
        if rows == columns:
            return Q.clone() if _is_orthogonal(Q) else _orthogonalized(Q)
        more = randn(*Q.shape[:-2], rows, rows - columns, dtype=Q.dtype, device=Q.device)
        return _orthogonalized(cat([Q, more], -1))


def orthogonal(module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
               use_trivialization: bool = True) -> Module:
    """Keep the tensor `name` of `module` (..., m, n) orthogonal: orthonormal columns, or rows if m < n; unitary if it is
    complex; returns `module`.

    `orthogonal_map` 'matrix_exp' is the exponential of a skew matrix, 'cayley' its Cayley transform (1 - A/2)^-1 (1 + A/2),
    'householder' a product of reflectors, for real matrices. By default the first for square and complex matrices, else the
    last. Without `use_trivialization` only 'householder' can be assigned to; with it a square matrix is kept besides.

    The value afterwards is the tensor itself if it is orthogonal, else Q of its QR factorization; without
    `use_trivialization` the map of the tensor. Raises ValueError for a name without a tensor, less than two dimensions,
    another map, and 'householder' with a complex tensor.

    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
    >>> lucid.allclose(layer.weight @ layer.weight.T, lucid.eye(3), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, parametrization, unsafe=True)
