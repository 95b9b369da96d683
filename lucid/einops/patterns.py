"""What a pattern says: parsing, and the lengths of its axes."""
from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence

Groups = list[list[str]]  # the axes of each dimension; "#3.l0" is an axis of length 3 without a name, on the left
ELLIPSIS = "…"


class EinopsError(RuntimeError):
    """A pattern that is wrong, or that does not fit the shape.

    >>> try:
    ...     lucid.einops.rearrange(lucid.zeros(2, 3), "a -> a")
    ... except lucid.einops.EinopsError:
    ...     print("the pattern does not fit")
    the pattern does not fit
    """


class Composition(list[str]):
    """The axes in parentheses."""


def parse(side: str, mark: str = "l", underscore: bool = False) -> Groups:
    """The dimensions of one side of a pattern; `underscore` allows ``_``, an axis without a name, any number of times.

    Raises EinopsError for bad names, parentheses and repetitions.
    """
    if "." in side.replace("...", "", 1) or side.count("...") > 1:
        raise EinopsError("Expression may contain dots only inside ellipsis (...); only one ellipsis is allowed")
    groups: Groups = []
    inside: Composition | None = None
    seen: set[str] = set()
    for token in side.replace("...", f" {ELLIPSIS} ").replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            if inside is not None:
                raise EinopsError("Axis composition is one-level (brackets inside brackets not allowed)")
            inside = Composition()
        elif token == ")":
            if inside is None:
                raise EinopsError("Brackets are not balanced")
            groups.append(inside)
            inside = None
        else:
            axes = [token] if underscore and token == "_" else _axis(token, f"{mark}{len(seen)}")
            if axes and axes[0] in seen and token != "_":
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
    if token == ELLIPSIS:
        return [token]
    if token.isdecimal():
        if int(token) == 0:
            raise EinopsError("Anonymous axis should have positive length, not 0")
        return [] if token == "1" else [f"#{token}.{number}"]
    if not token.isidentifier() or token.startswith("_") or token.endswith("_"):
        raise EinopsError(f"Invalid axis identifier: {token}: it must be a Python identifier that neither starts nor ends with "
                          "an underscore")
    return [token]


@functools.lru_cache(256)
def sides(pattern: str) -> tuple[Groups, Groups]:
    """Both sides of a pattern. Raises EinopsError."""
    parts = pattern.split("->")
    if len(parts) != 2:
        raise EinopsError(f"a pattern has one '->', unlike '{pattern}'")
    return parse(parts[0], "l"), parse(parts[1], "r")


def names(groups: Groups) -> list[str]:
    """The axes of all dimensions in a row."""
    return [axis for group in groups for axis in group]


def without_ellipsis(groups: Groups, count: int) -> Groups:
    """`groups` with `count` axes in the place of the ellipsis: dimensions of their own, unless it stands in parentheses."""
    axes = [f"{ELLIPSIS}{i}" for i in range(count)]
    result: Groups = []
    for group in groups:
        if group == [ELLIPSIS] and not isinstance(group, Composition):
            result += [[axis] for axis in axes]
        else:
            result.append([name for axis in group for name in (axes if axis == ELLIPSIS else [axis])])
    return result


def split_axes(groups: Groups, lengths: dict[str, int], sizes: Sequence[int]) -> None:
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


def is_anonymous(axis: str) -> bool:
    """Whether an axis is a number, not a name."""
    return axis[0] == "#"


def require_used(lengths: Iterable[str], known: Iterable[str], pattern: str) -> None:
    """Raise EinopsError if a length is given for an axis that a pattern does not have."""
    unused = sorted(set(lengths) - set(known))
    if unused:
        raise EinopsError(f"Axis {unused[0]} is not used in transform '{pattern}'")
