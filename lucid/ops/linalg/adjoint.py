"""The conjugate transpose: `adjoint`, `x.mH`, `x.H`."""
from __future__ import annotations

import warnings

from ..._namespace.callers import stacklevel
from ...tensor import Tensor
from .._methods import register
from .._operands import require_tensor

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
        warnings.warn("adjoint() is deprecated on 0-D tensors. Consider using x.conj().", stacklevel=stacklevel())
        return input.conj()
    return input.mH


def _conjugate_transposes(matrix: Tensor) -> Tensor:
    """The conjugate transpose of each matrix (the property `mH`), a view.

    >>> lucid.zeros(5, 2, 3, dtype=lucid.complex64).mH.shape
    lucid.Size([5, 3, 2])
    """
    return matrix.mT.conj()


def _conjugate_transpose(matrix: Tensor) -> Tensor:
    """The conjugate transpose of one matrix (the property `H`), a view; a number is its own.

    >>> lucid.tensor([[1 + 1j, 2], [3, 4]]).H
    Tensor([[1.0-1.0j, 3.0-0.0j],
            [2.0-0.0j, 4.0-0.0j]], requires_grad=False)
    """
    if matrix.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {matrix.ndim}-D tensor.")
    return matrix.mH if matrix.ndim else matrix.conj()


SPECIAL_METHODS = {"mH": property(_conjugate_transposes), "H": property(_conjugate_transpose)}
register(__name__)
