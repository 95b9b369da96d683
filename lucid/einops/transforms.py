"""Axes transposed, split, composed, reduced and repeated."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..ops._operands import require_tensor
from ..ops.manipulation.joining import stack
from ..ops.reduction import max_min, reduction
from ..tensor import Tensor
from .patterns import (
    ELLIPSIS,
    Composition,
    EinopsError,
    Groups,
    is_anonymous,
    names,
    require_used,
    sides,
    split_axes,
    without_ellipsis,
)

_REDUCTIONS: dict[str, Callable[..., Tensor]] = {
    "sum": reduction.sum, "mean": reduction.mean, "max": max_min.amax, "min": max_min.amin, "any": reduction.any,
    "all": reduction.all}


def _apply(tensor: Any, pattern: str, left: Groups, right: Groups, lengths: dict[str, int],
           combine: Callable[[Tensor, tuple[int, ...]], Tensor] | None = None) -> Tensor:
    """`tensor` read as `left` and written as `right`; `combine` takes away the axes that only `left` has."""
    if isinstance(tensor, (list, tuple)) and not tensor:
        raise TypeError("Einops can't be applied to an empty list")
    x = require_tensor("einops", stack(tensor) if isinstance(tensor, (list, tuple)) else tensor)
    require_used(lengths, names(left) + names(right), pattern)
    count = x.ndim - len(left) + 1 if ELLIPSIS in names(left) else 0
    if count < 0 or (ELLIPSIS not in names(left) and x.ndim != len(left)):
        least = f"at least {len(left) - 1}" if ELLIPSIS in names(left) else str(len(left))
        raise EinopsError(f"Wrong shape for pattern '{pattern}': expected {least} dims. Received {x.ndim}-dim tensor.")
    left, right = without_ellipsis(left, count), without_ellipsis(right, count)
    sizes = {axis: int(axis[1:].split(".")[0]) for axis in names(left) + names(right) if axis[0] == "#"} | lengths
    split_axes(left, sizes, x.shape)
    missing = [axis for axis in names(right) if axis not in sizes]
    if missing:
        raise EinopsError(f"Specify sizes for new axes in repeat: {missing}")
    axes = names(left)
    x = x.reshape([sizes[axis] for axis in axes])
    kept = names(right)
    if combine is not None:
        gone = tuple(i for i, axis in enumerate(axes) if axis not in kept)
        x = combine(x, gone) if gone else x
        axes = [axis for axis in axes if axis in kept]
    new = [axis for axis in kept if axis not in axes]
    if new:
        x = x.reshape([1] * len(new) + [sizes[axis] for axis in axes]).expand([sizes[axis] for axis in new + axes])
        axes = new + axes
    x = x.permute([axes.index(axis) for axis in kept])
    return x.reshape([math.prod(sizes[axis] for axis in group) for group in right])


def _checked(pattern: str) -> tuple[Groups, Groups]:
    left, right = sides(pattern)
    if ELLIPSIS in names(right) and ELLIPSIS not in names(left):
        raise EinopsError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if any(ELLIPSIS in group and isinstance(group, Composition) for group in left):
        raise EinopsError(f"Ellipsis inside parenthesis in the left side is not allowed: {pattern}")
    return left, right


def sides_of_rearrange(pattern: str) -> tuple[Groups, Groups]:
    """Both sides of a pattern with the same axes. Raises EinopsError for another."""
    left, right = _checked(pattern)
    one_sided = set(names(left)) ^ set(names(right))
    if any(is_anonymous(axis) for axis in one_sided):
        raise EinopsError(f"Non-unitary anonymous axes are not supported in rearrange (exception is length 1): {pattern}")
    if one_sided:
        raise EinopsError(f"Identifiers only on one side of expression (should be on both): {one_sided}")
    return left, right


def sides_of_reduce(pattern: str, reduction: Any) -> tuple[Groups, Groups]:
    """Both sides of a pattern whose right side has no new axes. Raises EinopsError for another, and for an unknown reduction."""
    left, right = _checked(pattern)
    unknown = set(names(right)) - set(names(left))
    if unknown:
        raise EinopsError(f"Unexpected identifiers on the right side of reduce {reduction}: {unknown}")
    combination(reduction)
    return left, right


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Tensor:
    """`tensor` with its axes transposed, split and composed: ``rearrange(x, 'b c h w -> b (h w) c')``.

    A list of tensors is stacked first. `axes_lengths` are the lengths of axes that the shape leaves open. A view where the
    memory allows it. Raises EinopsError.

    >>> x = lucid.arange(4).view(2, 2)
    >>> lucid.einops.rearrange(x, "h w -> w h")
    Tensor([[0, 2],
            [1, 3]], requires_grad=False)
    >>> lucid.einops.rearrange(lucid.zeros(8, 3, 32, 32), "b c (h p) (w q) -> b (h w) (p q c)", p=8, q=8).shape
    lucid.Size([8, 16, 192])
    """
    return _apply(tensor, pattern, *sides_of_rearrange(pattern), axes_lengths)


def reduce(tensor: Any, pattern: str, reduction: Any, **axes_lengths: int) -> Tensor:
    """`tensor` without the axes that only the left side of `pattern` has: ``reduce(x, 'b c h w -> b c', 'mean')``.

    `reduction` is 'sum', 'mean', 'max', 'min', 'prod', 'any', 'all' or a function of a tensor and a tuple of dimensions. A list
    of tensors is stacked first. Raises EinopsError.

    >>> lucid.einops.reduce(lucid.tensor([[1.0, 3.0], [5.0, 7.0]]), "h w -> h", "mean")
    Tensor([2.0, 6.0], requires_grad=False)
    """
    return _apply(tensor, pattern, *sides_of_reduce(pattern, reduction), axes_lengths, combination(reduction))


def combination(name: Any) -> Callable[[Tensor, tuple[int, ...]], Tensor]:
    """The function of a tensor and dimensions that a reduction, itself one or the name of one, stands for. Raises EinopsError."""
    if callable(name):
        function: Callable[[Tensor, tuple[int, ...]], Tensor] = name
        return function
    if name == "prod":
        return _products
    if name not in _REDUCTIONS:
        raise EinopsError(f"Unknown reduction {name}. Expect one of {[*_REDUCTIONS, 'prod']}.")
    return lambda x, dims: _REDUCTIONS[name](x, dims)


def _products(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    for dim in reversed(dims):
        x = reduction.prod(x, dim)
    return x


def repeat(tensor: Any, pattern: str, **axes_lengths: int) -> Tensor:
    """`tensor` repeated along axes that only the right side of `pattern` has: ``repeat(x, 'h w -> h (w n)', n=2)``.

    A list of tensors is stacked first. Raises EinopsError.

    >>> lucid.einops.repeat(lucid.tensor([1, 2]), "w -> h (w n)", h=2, n=2)
    Tensor([[1, 1, 2, 2],
            [1, 1, 2, 2]], requires_grad=False)
    """
    left, right = _checked(pattern)
    unknown = set(names(left)) - set(names(right))
    if unknown:
        raise EinopsError(f"Unexpected identifiers on the left side of repeat: {unknown}")
    return _apply(tensor, pattern, left, right, axes_lengths)
