"""Coordinates and combinations: `meshgrid`, `cartesian_prod`, `combinations`, indices of triangles, and `logspace`."""
from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

from ... import _dtypes
from ..._namespace.callers import stacklevel
from ...tensor import Tensor
from .._operands import require_tensor
from .._out import fills_out
from ..creation.creation import ends_and_dtype, linspace, tensor
from ..elementwise.arithmetic import pow
from .diagonals import triu_indices
from .joining import stack
from .shape import ravel


@fills_out
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """`steps` powers of `base`, the exponents those of `linspace` from `start` to `end`.

    >>> lucid.logspace(0, 3, steps=4)
    Tensor([   1.0,   10.0,  100.0, 1000.0], requires_grad=False)
    """
    start, end, chosen = ends_and_dtype("logspace", start, end, dtype)
    # The powers are computed in float64 and rounded once.
    wide = _dtypes.complex128 if chosen.kind == "c" else _dtypes.float64
    exponents = linspace(start, end, steps, dtype=wide, device=device)
    result = pow(base, exponents).to(chosen)
    return result.requires_grad_() if requires_grad else result


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of a grid: each vector (or number) as a view with a dimension for every vector.

    With `indexing` 'ij', dimension i belongs to vector i; with 'xy' the first two are exchanged. Without it 'ij' is meant, with
    a UserWarning.

    >>> x, y = lucid.meshgrid(lucid.tensor([1, 2]), lucid.tensor([7, 8, 9]), indexing="ij")
    >>> x
    Tensor([[1, 1, 1],
            [2, 2, 2]], requires_grad=False)
    >>> y
    Tensor([[7, 8, 9],
            [7, 8, 9]], requires_grad=False)
    """
    given = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else list(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in given:
        if require_tensor("meshgrid", t).ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(t.shape)}")
        if t.dtype != given[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if t.device != given[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing is None:
        warnings.warn("meshgrid: pass the indexing argument, which will be required; without it 'ij' is meant.",
                      stacklevel=stacklevel())
    elif indexing not in ("ij", "xy"):
        raise RuntimeError(f"torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {indexing}")
    swapped = indexing == "xy" and len(given) >= 2
    if swapped:
        given[0], given[1] = given[1], given[0]
    shape = [t.numel() for t in given]
    grids = [t.reshape([n if d == own else 1 for d, n in enumerate(shape)]).expand(shape) for own, t in enumerate(given)]
    if swapped:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All tuples of one element of each vector, a row for each; a single vector as it is.

    >>> lucid.cartesian_prod(lucid.tensor([1, 2]), lucid.tensor([7, 8]))
    Tensor([[1, 7],
            [1, 8],
            [2, 7],
            [2, 8]], requires_grad=False)
    """
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    for t in given:
        if require_tensor("cartesian_prod", t).ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(given) == 1:
        return given[0]
    return stack([ravel(grid) for grid in meshgrid(*given, indexing="ij")], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to take `r` elements of a vector in their order, a row for each; `with_replacement`, any of them repeatedly.

    >>> lucid.combinations(lucid.tensor([1, 2, 3]))
    Tensor([[1, 2],
            [1, 3],
            [2, 3]], requires_grad=False)
    """
    if require_tensor("combinations", input).ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    if r == 2:
        chosen = triu_indices(input.numel(), input.numel(), 0 if with_replacement else 1, device=input.device)
        return input[chosen.T.reshape(-1)].reshape(-1, 2)
    length = input.numel()
    if input.is_meta:
        rows = math.comb(length + r - 1 if with_replacement and length else length, r)
        chosen = input.new_empty((rows, r), dtype=_dtypes.int64)
    else:
        choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
        chosen = tensor(list(choose(range(length), r)), dtype=_dtypes.int64, device=input.device)
    return input[chosen.reshape(-1)].reshape(-1 if chosen.numel() else 0, r)
