"""Copies with the elements in another order along dimensions: `flip`, `roll`, `rot90`."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.calls import single_op
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, canonical_dims, integers, require_tensor
from .shape import ravel, reshape

METHODS = ("flip", "fliplr", "flipud", "roll", "rot90")


def _roll_rule(needs: Any, x: Tensor, *, shift: tuple[int, ...], axis: tuple[int, ...]) -> Vjp:
    back = tuple(-s for s in shift)
    return lambda g, y: (_roll(g, shift=back, axis=axis),)


_flip: Any = single_op("flip", lambda needs, x, *, axis: lambda g, y: (_flip(g, axis=axis),))
_roll = single_op("roll", _roll_rule)


def flip(input: Tensor, *args: Any, dims: Any = ()) -> Tensor:
    """A copy with the order reversed along dimensions: ``flip(x, 0, 1)``, ``flip(x, (0, 1))`` or ``flip(x, dims=(0, 1))``.

    >>> lucid.flip(lucid.tensor([[1, 2], [3, 4]]), dims=(0, 1))
    Tensor([[4, 3],
            [2, 1]], requires_grad=False)
    """
    axes = integers(args or (dims,))
    return _flip(input, axis=canonical_dims(axes, input.ndim) if axes else ())


def fliplr(input: Tensor) -> Tensor:
    """`flip` along dimension 1.

    >>> lucid.fliplr(lucid.tensor([[1, 2], [3, 4]]))
    Tensor([[2, 1],
            [4, 3]], requires_grad=False)
    """
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    """`flip` along dimension 0.

    >>> lucid.flipud(lucid.tensor([[1, 2], [3, 4]]))
    Tensor([[3, 4],
            [1, 2]], requires_grad=False)
    """
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """A copy with the elements moved along `dims`, those that fall off the end coming in at the front.

    >>> lucid.roll(lucid.tensor([1, 2, 3, 4]), 1)
    Tensor([4, 1, 2, 3], requires_grad=False)
    >>> lucid.roll(lucid.tensor([[1, 2], [3, 4]]), 1, dims=0)
    Tensor([[3, 4],
            [1, 2]], requires_grad=False)
    """
    shift = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    if dims is None or (isinstance(dims, (tuple, list)) and not dims):
        if len(shift) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shift)}, dims:0")
        if input._array.ndim == 1:
            return _roll(input, shift=shift, axis=(0,))
        return reshape(_roll(ravel(input), shift=shift, axis=(0,)), input._array.shape)
    axes = tuple(canonical_dim(d, input.ndim) for d in ((dims,) if isinstance(dims, int) else dims))
    if len(axes) != len(shift):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shift)}, dims:{len(axes)}")
    return _roll(input, shift=shift, axis=axes)


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy turned `k` times by 90 degrees from the first of `dims` towards the second.

    For an odd `k` it is not contiguous, as in PyTorch: the transpose of a copy.

    >>> lucid.rot90(lucid.tensor([[1, 2], [3, 4]]))
    Tensor([[2, 4],
            [1, 3]], requires_grad=False)
    """
    ndim = require_tensor("rot90", input).ndim
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    a, b = (canonical_dim(d, ndim) for d in dims)
    turn = k % 4
    if turn == 0:
        return input.clone()
    if turn == 2:
        return input.flip(a, b)
    return input.flip(b if turn == 1 else a).transpose(a, b)


def _reversed(self: Tensor) -> Tensor:
    """``reversed(x)``: a copy with the first dimension turned around; a number itself."""
    return self.flip(0) if self.ndim else self


SPECIAL_METHODS = {"__reversed__": _reversed}


register(__name__)
