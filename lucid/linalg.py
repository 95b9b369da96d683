"""Linear algebra, under the names of `torch.linalg` (https://docs.pytorch.org/docs/2.13/linalg.html)."""
from .backends.linear_algebra import LinAlgError
from .ops.linear_algebra import matmul
from .ops.linear_algebra_exponential import matrix_exp
from .ops.linear_algebra_factors import householder_product, qr, solve, svd, svdvals
from .ops.linear_algebra_norms import matrix_norm, norm, vector_norm

__all__ = ["LinAlgError", "householder_product", "matmul", "matrix_exp", "matrix_norm", "norm", "qr", "solve", "svd", "svdvals",
           "vector_norm"]
