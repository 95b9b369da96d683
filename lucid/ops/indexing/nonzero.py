"""Where elements are not zero: `nonzero`, `argwhere`."""
from __future__ import annotations

from typing import Any, Literal, overload

from ... import _dtypes
from ...autograd.calls import operation
from ...tensor import Tensor, wrap
from .._methods import register
from .._operands import require_tensor
from .._out import accepts_out
from ..manipulation.joining import stack

METHODS = ("nonzero", "nonzero_static", "argwhere")


_nonzero = operation("nonzero")


@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False) -> Tensor: ...


@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...


@accepts_out
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The int64 indices of the elements that are not zero: a tensor (n, dimensions), or a tuple with one 1-d tensor for
    each dimension, which can index `input`. Waits for a GPU.

    >>> lucid.nonzero(lucid.tensor([[0, 1], [2, 0]]))
    Tensor([[0, 1],
            [1, 0]], requires_grad=False)
    >>> lucid.nonzero(lucid.tensor([[0, 1], [2, 0]]), as_tuple=True)
    (Tensor([0, 1], requires_grad=False), Tensor([1, 0], requires_grad=False))
    """
    x = require_tensor("nonzero", input)
    if x._array.ndim == 0:
        found = _nonzero(x.reshape(1))
        return found if as_tuple else wrap(found[0]._array.reshape(-1, 1)[:, :0])
    found = _nonzero(x)
    if as_tuple:
        return found
    return found[0].reshape(-1, 1) if len(found) == 1 else stack(found, 1)


@accepts_out
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` rows of ``nonzero(input)``, filled up with rows of `fill_value`: a shape that no element decides.

    Raises RuntimeError for a negative `size`.

    >>> lucid.nonzero_static(lucid.tensor([0, 1, 1]), size=3, fill_value=-1)
    Tensor([[ 1],
            [ 2],
            [-1]], requires_grad=False)
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    result = require_tensor("nonzero_static", input).new_full((size, input.ndim), fill_value, dtype=_dtypes.int64)
    if not input.is_meta:
        found = nonzero(input)
        count = min(size, found.shape[0])
        result[:count] = found[:count]
    return result


def argwhere(input: Tensor) -> Tensor:
    """The int64 indices of the elements that are not zero, a row for each. Waits for a GPU.

    >>> lucid.argwhere(lucid.tensor([[0, 1], [2, 0]]))
    Tensor([[0, 1],
            [1, 0]], requires_grad=False)
    """
    return nonzero(input)


register(__name__)
