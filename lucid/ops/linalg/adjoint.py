"""The conjugate transpose: `adjoint`, `x.mH`, `x.H`."""
from __future__ import annotations

import warnings

from ..._namespace.callers import outside
from ...tensor import Tensor
from .._methods import register
from .._operands import require_tensor
from . import matrices as _matrices

METHODS = ("adjoint",)


def adjoint(input: Tensor) -> Tensor:
    """The conjugate transposes of matrices; of a number its conjugate, which is deprecated. Raises RuntimeError for a vector.

    >>> lucid.adjoint(lucid.tensor([[1 + 1j, 2], [3, 4 - 1j]]))
    Tensor([[1.0-1.0j, 3.0-0.0j],
            [2.0-0.0j, 4.0+1.0j]], requires_grad=False)
    """
    if require_tensor("adjoint", input).ndim == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    if input.ndim == 0:
        warnings.warn("adjoint() is deprecated on 0-D tensors. Consider using x.conj().", stacklevel=outside())
        return input.conj()
    return _matrices.adjoint(input)


SPECIAL_METHODS = {"mH": property(_matrices.adjoint), "H": property(_matrices.matrix_adjoint)}
register(__name__)
