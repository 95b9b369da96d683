"""Linear algebra, under the names of `torch.linalg` (https://docs.pytorch.org/docs/2.13/linalg.html).

>>> a, b = lucid.tensor([[2.0, 0.0], [0.0, 4.0]]), lucid.tensor([2.0, 2.0])
>>> lucid.linalg.solve(a, b), lucid.linalg.det(a)
(Tensor([1.0, 0.5], requires_grad=False), Tensor(8.0, requires_grad=False))
"""
from ._namespace.builtins import publish
from .backends.common.linalg import LinAlgError
from .ops.linalg.det import linalg_det as det
from .ops.linalg.det import linalg_slogdet as slogdet
from .ops.linalg.eig import eig, eigh, eigvals, eigvalsh
from .ops.linalg.ldl import ldl_factor, ldl_factor_ex, ldl_solve
from .ops.linalg.lstsq_pinv import cond, lstsq, matrix_rank, pinv
from .ops.linalg.lu import linalg_lu_solve as lu_solve
from .ops.linalg.lu import lu, lu_factor, lu_factor_ex
from .ops.linalg.matmul import matmul
from .ops.linalg.matrix_exp import matrix_exp
from .ops.linalg.matrix_norms import matrix_norm, norm
from .ops.linalg.products import linalg_cross as cross
from .ops.linalg.products import linalg_vander as vander
from .ops.linalg.products import matrix_power, multi_dot, vecdot
from .ops.linalg.qr_svd import householder_product, qr, svd, svdvals
from .ops.linalg.solve import inv, inv_ex, solve, solve_ex, tensorinv, tensorsolve
from .ops.linalg.triangular import cholesky_ex, solve_triangular
from .ops.linalg.triangular import linalg_cholesky as cholesky
from .ops.linalg.vector_norms import vector_norm
from .ops.manipulation.diagonals import diagonal as _diagonal
from .tensor import Tensor

__all__ = ["LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
           "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
           "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot",
           "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv",
           "tensorsolve", "vander", "vecdot", "vector_norm"]


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """`lucid.diagonal`, by default of the last two dimensions.

    >>> lucid.linalg.diagonal(lucid.tensor([[1, 2], [3, 4]]))
    Tensor([1, 4], requires_grad=False)
    """
    return _diagonal(A, offset, dim1, dim2)

publish(globals(), __all__)
