"""Shapes and the order of elements."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lucid

from .. import Tensor
from ._operands import axes_of, promoted

__all__ = ["broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis", "permute_dims", "repeat", "reshape",
           "roll", "squeeze", "stack", "tile", "unstack"]


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Views of the arrays in the shape that they broadcast to; they are not to be written to.

    >>> from lucid import array_api as xp
    >>> [x.shape for x in xp.broadcast_arrays(xp.ones((2, 1)), xp.ones(3))]
    [lucid.Size([2, 3]), lucid.Size([2, 3])]
    """
    return list(lucid.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """A view of `x` in a shape that it broadcasts to; it is not to be written to.

    >>> from lucid import array_api as xp
    >>> xp.broadcast_to(xp.asarray([1, 2]), (2, 2))
    Tensor([[1, 2],
            [1, 2]], requires_grad=False)
    """
    return lucid.broadcast_to(x, shape)


def _of_one_dtype(arrays: Sequence[Tensor]) -> list[Tensor]:
    dtype = promoted(*[array.dtype for array in arrays])
    return [array.to(dtype) for array in arrays]


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """The arrays joined along `axis`; flattened first for None.

    >>> from lucid import array_api as xp
    >>> xp.concat([xp.asarray([[1]]), xp.asarray([[2]])], axis=1)
    Tensor([[1, 2]], requires_grad=False)
    """
    given = _of_one_dtype(arrays)
    return lucid.concat([array.reshape(-1) for array in given]) if axis is None else lucid.concat(given, axis)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """The arrays joined along a new axis.

    >>> from lucid import array_api as xp
    >>> xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])], axis=1)
    Tensor([[1, 3],
            [2, 4]], requires_grad=False)
    """
    return lucid.stack(_of_one_dtype(arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Views of `x` at each place along `axis`.

    >>> from lucid import array_api as xp
    >>> xp.unstack(xp.asarray([[1, 2], [3, 4]]))
    (Tensor([1, 2], requires_grad=False), Tensor([3, 4], requires_grad=False))
    """
    return lucid.unbind(x, axis)


def expand_dims(x: Tensor, /, axis: int) -> Tensor:
    """A view with a new axis of length 1 at `axis`.

    >>> from lucid import array_api as xp
    >>> xp.expand_dims(xp.asarray([1, 2]), axis=0)
    Tensor([[1, 2]], requires_grad=False)
    """
    return lucid.unsqueeze(x, axis)


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """A view without the axes given. Raises ValueError if one is not of length 1.

    >>> from lucid import array_api as xp
    >>> xp.squeeze(xp.zeros((1, 2)), axis=0).shape
    lucid.Size([2])
    """
    axes = axes_of(axis, x.ndim)
    for one in axes:
        if x.shape[one] != 1:
            raise ValueError(f"squeeze: axis {one} has length {x.shape[one]}, not 1")
    return lucid.squeeze(x, axes) if axes else x[...]


def flip(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """The elements in reverse order along `axis`, or along all axes.

    >>> from lucid import array_api as xp
    >>> xp.flip(xp.asarray([1, 2, 3]))
    Tensor([3, 2, 1], requires_grad=False)
    """
    return lucid.flip(x, axes_of(axis, x.ndim))


def roll(x: Tensor, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """The elements shifted along `axis`, around the end; along the flattened array without it.

    >>> from lucid import array_api as xp
    >>> xp.roll(xp.asarray([1, 2, 3]), 1)
    Tensor([3, 1, 2], requires_grad=False)
    """
    axes = (axis,) * len(shift) if isinstance(axis, int) and isinstance(shift, tuple) else axis
    shifts = (shift,) * len(axes) if isinstance(axes, tuple) and isinstance(shift, int) else shift
    return lucid.roll(x, shifts, axes)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """A view with the axes in another order.

    >>> from lucid import array_api as xp
    >>> xp.permute_dims(xp.zeros((2, 3, 4)), (2, 0, 1)).shape
    lucid.Size([4, 2, 3])
    """
    return lucid.permute(x, axes)


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """A view with the axes `source` at the places `destination`.

    >>> from lucid import array_api as xp
    >>> xp.moveaxis(xp.zeros((2, 3, 4)), 0, -1).shape
    lucid.Size([3, 4, 2])
    """
    return lucid.moveaxis(x, source, destination)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """`x` in another shape: a copy if `copy`, else a view if possible. Raises ValueError if `copy` is False and it is not.

    >>> from lucid import array_api as xp
    >>> xp.reshape(xp.arange(4), (2, 2))
    Tensor([[0, 1],
            [2, 3]], requires_grad=False)
    """
    if copy is False:
        try:
            return x.view(shape)
        except RuntimeError as error:
            raise ValueError(f"reshape: copy=False cannot be kept: {error}") from error
    return (x.clone() if copy else x).reshape(shape)


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element along `axis`, or of the flattened array, as often as `repeats` says.

    >>> from lucid import array_api as xp
    >>> xp.repeat(xp.asarray([1, 2]), 2)
    Tensor([1, 1, 2, 2], requires_grad=False)
    """
    if isinstance(repeats, Tensor):
        repeats = repeats.to(lucid.int64) if repeats.ndim else int(repeats)
    return lucid.repeat_interleave(x, repeats, axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """`x` beside itself, so many times along each axis.

    >>> from lucid import array_api as xp
    >>> xp.tile(xp.asarray([1, 2]), (2, 2))
    Tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]], requires_grad=False)
    """
    return lucid.tile(x, repetitions)
