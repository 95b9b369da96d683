"""Padding: `pad` of nn.functional, and the constant padding that convolution needs."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...autograd.calls import single_op
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._operands import require_tensor

__all__ = ()  # a function of nn.functional only


def _pad_rule(needs: Any, x: Tensor, fill: Tensor | None, **around: Any) -> Vjp:
    return lambda g, y: (_pad_grad(g, **around), None)


def _pad_grad_rule(needs: Any, g: Tensor, **around: Any) -> Vjp:
    return lambda h, y: (_pad(h, None, **around),)


_pad = single_op("pad", _pad_rule)
_pad_grad = single_op("pad_grad", _pad_grad_rule)


def constant_pad(input: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """`input` with `pad` = (last dimension before, after, dimension before it before, after, …) elements of `value` around.

    Negative lengths cut off. Raises RuntimeError if more is cut off than there is.
    """
    shape = input._array.shape
    for number in range(len(pad) // 2):
        dim, before, after = len(shape) - 1 - number, pad[2 * number], pad[2 * number + 1]
        if shape[dim] + min(before, 0) + min(after, 0) < 0 or shape[dim] + before + after < 0:
            raise RuntimeError(f"narrow(): length must be non-negative: the padding ({before}, {after}) cuts off more than "
                               f"the {shape[dim]} elements of dimension {dim}")
    return _around(_cut(input, pad), pad, "constant", input.new_full((), value) if value else None)


def _cut(x: Tensor, pad: Sequence[int]) -> Tensor:
    """`x` without what negative lengths in `pad` cut off."""
    if all(n >= 0 for n in pad):
        return x
    ends = [(max(-pad[2 * i], 0), max(-pad[2 * i + 1], 0)) for i in reversed(range(len(pad) // 2))]
    lengths = x._array.shape[x._array.ndim - len(ends):]
    return x[(..., *(slice(before, n - after) for n, (before, after) in zip(lengths, ends, strict=True)))]


def _around(x: Tensor, pad: Sequence[int], mode: str, fill: Tensor | None = None) -> Tensor:
    """`x` with what positive lengths in `pad` put around it."""
    pads = tuple((max(pad[2 * i], 0), max(pad[2 * i + 1], 0)) for i in reversed(range(len(pad) // 2)))
    return _pad(x, fill, pads=pads, mode=mode)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """`input` made larger at the ends of its last dimensions, given from the last to the front: (before, after, …).

    `mode` is 'constant' (with `value`, any number of dimensions), 'reflect' (without repeating the edge), 'replicate' (the
    edge) or 'circular'; the latter three pad the last 1, 2 or 3 of 2 to 5 dimensions. Negative lengths cut off.

    Raises RuntimeError for a padding that does not fit the shape and NotImplementedError for another mode or number of
    dimensions.

    >>> F.pad(lucid.tensor([[1.0, 2.0]]), (1, 2))
    Tensor([[0.0, 1.0, 2.0, 0.0, 0.0]], requires_grad=False)
    >>> F.pad(lucid.tensor([[1.0, 2.0, 3.0]]), (2, 0), mode="reflect")
    Tensor([[3.0, 2.0, 1.0, 2.0, 3.0]], requires_grad=False)
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
    if mode != "circular":
        _check_elements(mode, shape[ndim - len(pad) // 2 - 1:], pad)
    for number in range(len(pad) // 2):
        _check(mode, shape, ndim - 1 - number, pad[2 * number], pad[2 * number + 1])
    # What is cut off takes no part in the wrapping, but elements that are reflected may be cut off themselves.
    return _around(_cut(input, pad), pad, mode) if mode == "circular" else _cut(_around(input, pad, mode), pad)


def _check_elements(mode: str, shape: tuple[int, ...], pad: Sequence[int]) -> None:
    """Raise RuntimeError if there is nothing to repeat, or nothing is left. `shape` is that of an element of the batch."""
    if 0 in shape:
        raise RuntimeError(f"{mode} padding needs elements to repeat: only the batch may have the length 0, but an element of it "
                           f"has the shape {list(shape)}")
    left = [n + sum(pad[2 * i:2 * i + 2]) for i, n in enumerate(reversed(shape[1:]))]
    if min(left) < 0 or max(left) < 1:
        raise RuntimeError(f"the padding {tuple(pad)} leaves none of the elements of {list(shape)}")


def _check(mode: str, shape: tuple[int, ...], dim: int, before: int, after: int) -> None:
    """Raise RuntimeError for a padding that does not fit a dimension."""
    n = shape[dim]
    if mode == "reflect" and (before >= n or after >= n):
        raise RuntimeError("Padding size should be less than the corresponding input dimension, but got: padding "
                           f"({before}, {after}) at dimension {dim} of input {list(shape)}")
    if mode == "circular" and n + before + after < 0:
        raise RuntimeError(f"the padding ({before}, {after}) cuts off more than the {n} elements of dimension {dim}")
    if mode == "circular" and max(before, after) > n + min(before, 0) + min(after, 0):
        raise RuntimeError("Padding value causes wrapping around more than once.")
