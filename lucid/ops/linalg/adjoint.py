"""The conjugate transpose: `adjoint`, `x.mH`, `x.H`."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable

from ..._namespace.callers import stacklevel
from ...autograd.overwrite import mark_conjugate
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
        warnings.warn("adjoint() is deprecated on 0-D tensors. Consider using x.conj().", stacklevel=stacklevel())
        return input.conj()
    return mark(_matrices.adjoint)(input)


def mark(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """`function`, which gives a conjugate, with the mark that it is one."""
    @functools.wraps(function)
    def marked(input: Tensor) -> Tensor:
        result = function(input)
        return mark_conjugate(result, input) if input.is_complex() else result

    return marked


SPECIAL_METHODS = {"mH": property(mark(_matrices.adjoint)), "H": property(mark(_matrices.matrix_adjoint))}
register(__name__)
