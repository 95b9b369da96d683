"""Padding: `pad` of nn.functional, and the constant padding that convolution needs."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensor import Tensor
from ._operands import require_tensor
from .indexing import put_op

__all__ = ()  # a function of nn.functional only


def constant_pad(input: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """`input` with `pad` = (last dimension before, after, dimension before it before, after, …) elements of `value` around.

    Negative numbers cut off. Raises RuntimeError if more is cut off than there is.
    """
    shape = list(input._array.shape)
    source: list[slice] = [slice(None)] * len(shape)
    target: list[slice] = [slice(None)] * len(shape)
    for number in range(len(pad) // 2):
        dim, before, after = len(shape) - 1 - number, pad[2 * number], pad[2 * number + 1]
        length = shape[dim] + before + after
        if length < 0 or shape[dim] + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError(f"narrow(): length must be non-negative: the padding ({before}, {after}) cuts off more than "
                               f"the {shape[dim]} elements of dimension {dim}")
        source[dim] = slice(max(-before, 0), shape[dim] - max(-after, 0))
        target[dim] = slice(max(before, 0), length - max(after, 0))
        shape[dim] = length
    if not shape:
        return input.clone()
    kept = input[tuple(source)] if any(n < 0 for n in pad) else input
    return put_op(input.new_full(shape, value), kept, index=tuple(target))


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """`input` made larger at the ends of its last dimensions, given from the last to the front: (before, after, …).

    `mode` is 'constant' (with `value`, any number of dimensions), 'reflect' (without repeating the edge), 'replicate' (the
    edge) or 'circular'; the latter three pad the last 1, 2 or 3 of 2 to 5 dimensions. Negative numbers cut off.

    Raises RuntimeError for a padding that does not fit the shape and NotImplementedError for another mode or number of
    dimensions.
    """
    require_tensor("pad", input)
    pad = tuple(int(n) for n in pad)
    ndim, shape = input._array.ndim, input._array.shape
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * ndim:
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension but got padding "
                           f"length {len(pad)} and input of dimension {ndim}")
    if mode == "constant":
        return constant_pad(input, pad, 0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if ndim - len(pad) // 2 not in (1, 2) or len(pad) not in (2, 4, 6):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {ndim}D input tensor.\nSupported combinations for non-constant "
            "padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: padding size = 4 (pads "
            "last 2 dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)")
    result = input
    for number in range(len(pad) // 2):
        dim, before, after = ndim - 1 - number, pad[2 * number], pad[2 * number + 1]
        if before or after:
            places = _places(mode, shape, dim, before, after)
            result = result.index_select(dim, input.new_tensor(places, dtype="int64"))
    return result if result is not input else input.clone()


def _places(mode: str, shape: tuple[int, ...], dim: int, before: int, after: int) -> list[int]:
    """The index in the unpadded dimension of each element of the padded one."""
    n = shape[dim]
    if n + before + after < 0:
        raise RuntimeError(f"the padding ({before}, {after}) cuts off more than the {n} elements of dimension {dim}")
    wanted = range(-before, n + after)
    if mode == "replicate":
        if n == 0 and wanted:
            raise RuntimeError(f"replicate padding needs elements to repeat, but dimension {dim} of {list(shape)} is empty")
        return [min(max(i, 0), n - 1) for i in wanted]
    if mode == "reflect":
        if before >= n or after >= n:
            raise RuntimeError("Padding size should be less than the corresponding input dimension, but got: padding "
                               f"({before}, {after}) at dimension {dim} of input {list(shape)}")
        return [abs(i) if i < n else 2 * (n - 1) - i for i in wanted]
    if before > n or after > n:
        raise RuntimeError("Padding value causes wrapping around more than once.")
    # What is cut off takes no part in the wrapping.
    kept, start = n + min(before, 0) + min(after, 0), max(-before, 0)
    return [start + i % kept for i in range(-max(before, 0), kept + max(after, 0))]
