"""Patterns for shapes, in the language of einops (Rogozhnikov, ICLR 2022, https://einops.rocks).

A pattern such as ``'b (h p) w -> b h (p w)'`` names the axes before and after. Parentheses compose axes, the leftmost the
slowest; ``...`` stands for any number of axes; ``1`` and ``()`` are axes of length 1; other integers are axes without a name.
"""
from __future__ import annotations

import math
import string
from collections.abc import Callable, Sequence
from typing import Any

from .ops.linalg.einsum import einsum as contract
from .ops.manipulation.joining import stack
from .ops.reduction import max_min, reduction
from .tensor import Tensor

__all__ = ["EinopsError", "einsum", "rearrange", "reduce", "repeat"]

Groups = list[list[str]]  # the axes of each dimension; "#3.l0" is an axis of length 3 without a name, on the left
_ELLIPSIS = "…"
_REDUCTIONS: dict[str, Callable[..., Tensor]] = {
    "sum": reduction.sum, "mean": reduction.mean, "max": max_min.amax, "min": max_min.amin, "any": reduction.any,
    "all": reduction.all}


class EinopsError(RuntimeError):
    """A pattern that is wrong, or that does not fit the shape."""


class _Composition(list[str]):
    """The axes in parentheses."""


def _parse(side: str, mark: str) -> Groups:
    """The dimensions of one side of a pattern. Raises EinopsError for bad names, parentheses and repetitions."""
    if "." in side.replace("...", "", 1) or side.count("...") > 1:
        raise EinopsError("Expression may contain dots only inside ellipsis (...); only one ellipsis is allowed")
    groups: Groups = []
    inside: _Composition | None = None
    seen: set[str] = set()
    for token in side.replace("...", f" {_ELLIPSIS} ").replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            if inside is not None:
                raise EinopsError("Axis composition is one-level (brackets inside brackets not allowed)")
            inside = _Composition()
        elif token == ")":
            if inside is None:
                raise EinopsError("Brackets are not balanced")
            groups.append(inside)
            inside = None
        else:
            axes = _axis(token, f"{mark}{len(seen)}")
            if axes and axes[0] in seen:
                raise EinopsError(f'Indexing expression contains duplicate dimension "{token}"')
            seen.update(axes)
            if inside is None:
                groups.append(axes)
            else:
                inside += axes
    if inside is not None:
        raise EinopsError(f'Imbalanced parentheses in expression: "{side}"')
    return groups


def _axis(token: str, number: str) -> list[str]:
    if token == _ELLIPSIS:
        return [token]
    if token.isdecimal():
        if int(token) == 0:
            raise EinopsError("Anonymous axis should have positive length, not 0")
        return [] if token == "1" else [f"#{token}.{number}"]
    if not token.isidentifier() or token.startswith("_") or token.endswith("_"):
        raise EinopsError(f"Invalid axis identifier: {token}: it must be a Python identifier that neither starts nor ends with "
                          "an underscore")
    return [token]


def _sides(pattern: str) -> tuple[Groups, Groups]:
    parts = pattern.split("->")
    if len(parts) != 2:
        raise EinopsError(f"a pattern has one '->', unlike '{pattern}'")
    return _parse(parts[0], "l"), _parse(parts[1], "r")


def _names(groups: Groups) -> list[str]:
    return [axis for group in groups for axis in group]


def _without_ellipsis(groups: Groups, count: int) -> Groups:
    """`groups` with `count` axes in the place of the ellipsis: dimensions of their own, unless it stands in parentheses."""
    axes = [f"{_ELLIPSIS}{i}" for i in range(count)]
    result: Groups = []
    for group in groups:
        if group == [_ELLIPSIS] and not isinstance(group, _Composition):
            result += [[axis] for axis in axes]
        else:
            result.append([name for axis in group for name in (axes if axis == _ELLIPSIS else [axis])])
    return result


def _split_axes(groups: Groups, lengths: dict[str, int], sizes: Sequence[int]) -> None:
    """Complete `lengths` by what `sizes`, the shape, says. Raises EinopsError where the two do not agree."""
    for group, size in zip(groups, sizes, strict=True):
        unknown = [axis for axis in group if axis not in lengths]
        known = math.prod(lengths[axis] for axis in group if axis in lengths)
        if len(unknown) > 1:
            raise EinopsError(f"Could not infer sizes for {set(unknown)}")
        if unknown:
            if known == 0 or size % known:
                raise EinopsError(f"Shape mismatch, can't divide axis of length {size} in chunks of {known}")
            lengths[unknown[0]] = size // known
        elif known != size:
            raise EinopsError(f"Shape mismatch, {size} != {known}")


def _apply(tensor: Any, pattern: str, left: Groups, right: Groups, lengths: dict[str, int],
           combine: Callable[[Tensor, tuple[int, ...]], Tensor] | None = None) -> Tensor:
    """`tensor` read as `left` and written as `right`; `combine` takes away the axes that only `left` has."""
    x: Tensor = stack(tensor) if isinstance(tensor, (list, tuple)) else tensor
    unused = [name for name in lengths if name not in _names(left) + _names(right)]
    if unused:
        raise EinopsError(f"Axis {unused[0]} is not used in transform '{pattern}'")
    if _ELLIPSIS in _names(right) and _ELLIPSIS not in _names(left):
        raise EinopsError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if any(_ELLIPSIS in group and isinstance(group, _Composition) for group in left):
        raise EinopsError(f"Ellipsis inside parenthesis in the left side is not allowed: {pattern}")
    count = x.ndim - len(left) + 1 if _ELLIPSIS in _names(left) else 0
    if count < 0 or (_ELLIPSIS not in _names(left) and x.ndim != len(left)):
        least = f"at least {len(left) - 1}" if _ELLIPSIS in _names(left) else str(len(left))
        raise EinopsError(f"Wrong shape for pattern '{pattern}': expected {least} dims. Received {x.ndim}-dim tensor.")
    left, right = _without_ellipsis(left, count), _without_ellipsis(right, count)
    sizes = {axis: int(axis[1:].split(".")[0]) for axis in _names(left) + _names(right) if axis[0] == "#"} | lengths
    _split_axes(left, sizes, x.shape)
    missing = [axis for axis in _names(right) if axis not in sizes]
    if missing:
        raise EinopsError(f"Specify sizes for new axes in repeat: {missing}")
    axes = _names(left)
    x = x.reshape([sizes[axis] for axis in axes])
    kept = _names(right)
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


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Tensor:
    """`tensor` with its axes transposed, split and composed: ``rearrange(x, 'b c h w -> b (h w) c')``.

    A list of tensors is stacked first. `axes_lengths` are the lengths of axes that the shape leaves open. A view where the
    memory allows it. Raises EinopsError.
    """
    left, right = _sides(pattern)
    one_sided = set(_names(left)) ^ set(_names(right))
    if any(axis[0] == "#" for axis in one_sided):
        raise EinopsError(f"Non-unitary anonymous axes are not supported in rearrange (exception is length 1): {pattern}")
    if one_sided:
        raise EinopsError(f"Identifiers only on one side of expression (should be on both): {one_sided}")
    return _apply(tensor, pattern, left, right, axes_lengths)


def reduce(tensor: Any, pattern: str, reduction: Any, **axes_lengths: int) -> Tensor:
    """`tensor` without the axes that only the left side of `pattern` has: ``reduce(x, 'b c h w -> b c', 'mean')``.

    `reduction` is 'sum', 'mean', 'max', 'min', 'prod', 'any', 'all' or a function of a tensor and a tuple of dimensions. A list
    of tensors is stacked first. Raises EinopsError.
    """
    left, right = _sides(pattern)
    unknown = set(_names(right)) - set(_names(left))
    if unknown:
        raise EinopsError(f"Unexpected identifiers on the right side of reduce {reduction}: {unknown}")
    return _apply(tensor, pattern, left, right, axes_lengths, _combination(reduction))


def _combination(name: Any) -> Callable[[Tensor, tuple[int, ...]], Tensor]:
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
    """
    left, right = _sides(pattern)
    unknown = set(_names(left)) - set(_names(right))
    if unknown:
        raise EinopsError(f"Unexpected identifiers on the left side of repeat: {unknown}")
    return _apply(tensor, pattern, left, right, axes_lengths)


def einsum(*tensors_and_pattern: Any) -> Tensor:
    """Sums of products: ``einsum('b i j, b j k -> b i k', x, y)``, with the pattern first or, as in einops, last.

    Axes have names of any length, separated by spaces. Where the tensors have another number of dimensions than names, each
    letter is an axis, as in `lucid.einsum`: 'ij,jk->ik'. Raises EinopsError.
    """
    given = list(tensors_and_pattern)
    if given and isinstance(given[0], str):
        pattern, tensors = given[0], given[1:]
    elif given and isinstance(given[-1], str):
        pattern, tensors = given[-1], given[:-1]
    else:
        raise TypeError("einsum() needs a pattern as its first or its last argument")
    if "->" not in pattern:
        raise EinopsError(f"Einsum pattern must contain right-hand side: {pattern}")
    left, right = pattern.split("->")
    parts = [part.replace("...", " ... ").split() for part in left.split(",")]
    if len(parts) != len(tensors):
        raise EinopsError(f"pattern {pattern} is for {len(parts)} tensors, not {len(tensors)}")
    named = all("..." in names or len(names) == t.ndim for names, t in zip(parts, tensors, strict=True))
    if named:
        letters: dict[str, str] = {}
        sides = [_letters(names, letters, pattern) for names in [*parts, right.replace("...", " ... ").split()]]
        pattern = f"{','.join(sides[:-1])}->{sides[-1]}"
    return contract(pattern, *tensors)


def _letters(names: Sequence[str], letters: dict[str, str], pattern: str) -> str:
    """Axes as single letters; new ones are added to `letters`."""
    for name in names:
        if name != "..." and not name.isidentifier():
            raise EinopsError(f"einsum takes names of axes only, not '{name}': {pattern}")
        if name != "..." and name not in letters:
            letters[name] = string.ascii_letters[len(letters)]
    return "".join(letters.get(name, name) for name in names)
