"""The exponential of matrices, made of products: gradients of every order come by themselves."""
from __future__ import annotations

import math

from ...tensor import Tensor
from .._methods import register
from .._operands import numbers
from .._out import accepts_out
from ..creation.creation import eye
from ..elementwise.unary import ceil, exp2, isfinite, log2
from ..elementwise.where import where
from .matrices import require_square

METHODS = ("matrix_exp",)

# In a 1-norm up to this, the Taylor polynomials of degree 9 (float32) and 16 (float64) are exact to half a unit in the last
# place: the remainder norm**(m + 1) / (m + 1)! / (1 - norm / (m + 2)) is below 2**-24 * exp(-norm) and 2**-53 * exp(-norm).
RADIUS = 0.78


@accepts_out
def matrix_exp(input: Tensor) -> Tensor:
    """The matrix exponential 1 + A + A^2 / 2 + ... of square matrices (..., n, n), floating-point or complex.

    Scaling and squaring: each matrix is halved until its norm is small, and the exponential squared as often (Moler and Van
    Loan, "Nineteen dubious ways to compute the exponential of a matrix", 1978 and 2003). In between a Taylor polynomial is
    evaluated with few products (Paterson and Stockmeyer, 1973; Bader, Blanes and Casas, "Computing the matrix exponential
    with an optimized Taylor polynomial approximation", 2019, say why it is preferred to a Pade approximant: no system to
    solve). Half precision is computed in float32. Raises RuntimeError for other dtypes and shapes.

    >>> lucid.matrix_exp(lucid.tensor([[0.0, 1.0], [0.0, 0.0]]))
    Tensor([[1.0, 1.0],
            [0.0, 1.0]], requires_grad=False)
    """
    require_square("linalg.matrix_exp", input)
    if input.numel() == 0:
        return input.clone()
    if input.itemsize < 4:
        return matrix_exp(input.float()).to(input.dtype)
    norm = input.detach().abs().sum(-2).amax(-1)
    halvings = where(isfinite(norm) & (norm > RADIUS), ceil(log2(norm / RADIUS)), 0.0)
    result = _taylor(input * exp2(-halvings).unsqueeze(-1).unsqueeze(-1).to(input.dtype))
    counts = [0.0] if input.is_meta else numbers(halvings)  # the shape does not depend on them
    for step in range(int(max(counts))):
        squared = result @ result
        # A matrix of the batch that was halved less often is ready.
        result = squared if step < min(counts) else where((halvings > step).unsqueeze(-1).unsqueeze(-1), squared, result)
    return result


def _taylor(x: Tensor) -> Tensor:
    """The Taylor polynomial of degree 9 or 16 of matrices of small norm: 4 or 6 products."""
    width = 3 if x.itemsize // (2 if x.is_complex() else 1) == 4 else 4
    powers = [x]
    while len(powers) < width:
        powers.append(powers[-1] @ x)
    one = eye(x._array.shape[-1], dtype=x.dtype, device=x.device)
    result = powers[-1] / math.factorial(width * width)
    for block in reversed(range(width)):
        if block < width - 1:
            result = result @ powers[-1]
        first = width * block
        for degree, power in enumerate([one, *powers[:-1]], first):
            result = result + power / math.factorial(degree)
    return result


register(__name__)
