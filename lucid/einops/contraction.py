"""Sums of products over axes with names of any length."""
from __future__ import annotations

import string
from typing import Any

from ..ops.linalg.einsum import einsum as contract
from ..tensor import Tensor
from .patterns import ELLIPSIS, Composition, EinopsError, is_anonymous, parse

__all__ = ["einsum", "letters"]


def einsum(*tensors_and_pattern: Any) -> Tensor:
    """Sums of products: ``einsum(x, y, 'b i j, b j k -> b i k')``, with the pattern last, as in einops, or first.

    Axes have names of any length, separated by spaces. Where each tensor has a single word that is not the name of its only
    dimension, each letter is an axis, as in `lucid.einsum`: 'ij,jk->ik'. Raises ValueError without a tensor, a pattern, or
    ``->`` in it, NotImplementedError for parentheses and numbers, EinopsError for an axis that no tensor has.

    >>> x, y = lucid.ones(5, 2, 3), lucid.ones(5, 3, 4)
    >>> lucid.einops.einsum(x, y, "batch i j, batch j k -> batch i k").shape
    lucid.Size([5, 2, 4])
    """
    given = list(tensors_and_pattern)
    if len(given) < 2:
        raise ValueError("`einops.einsum` takes at minimum two arguments: the tensors (at least one), followed by the pattern.")
    if isinstance(given[0], str):
        pattern, tensors = given[0], given[1:]
    elif isinstance(given[-1], str):
        pattern, tensors = given[-1], given[:-1]
    else:
        raise ValueError("The last argument passed to `einops.einsum` must be a string, representing the einsum pattern.")
    if "->" not in pattern:
        raise ValueError(f"Einsum pattern must contain '->': {pattern}")
    parts = [part.replace("...", " ... ").split() for part in pattern.split("->")[0].split(",")]
    if len(parts) != len(tensors):
        raise EinopsError(f"pattern {pattern} is for {len(parts)} tensors, not {len(tensors)}")
    one_word = all(len(names) < 2 for names in parts)
    named = not one_word or all("..." in names or len(names) == t.ndim for names, t in zip(parts, tensors, strict=True))
    return contract(letters(pattern) if named else pattern, *tensors)


def letters(pattern: str) -> str:
    """`pattern` for `lucid.einsum`, with a letter for each axis."""
    lefts, right = pattern.split("->")
    found: dict[str, str] = {}
    operands = [_written(side, found, pattern) for side in lefts.split(",")]
    known = len(found)
    result = _written(right, found, pattern)
    if len(found) > known:
        raise EinopsError(f"Unknown axis {list(found)[known]} on right side of einsum {pattern}.")
    return f"{','.join(operands)}->{result}"


def _written(side: str, found: dict[str, str], pattern: str) -> str:
    """One side with its axes as letters; those of new ones are added to `found`."""
    tokens = side.replace("...", f" {ELLIPSIS} ").replace("(", " ( ").replace(")", " ) ").split()
    once = [token for place, token in enumerate(tokens) if token in "()" or token not in tokens[:place]]  # repeated: a diagonal
    for group in parse(" ".join(once), underscore=True):
        if not group:
            raise NotImplementedError(f"Singleton () axes are not yet supported in einsum: {pattern}")
        if isinstance(group, Composition) and len(group) > 1:
            raise NotImplementedError(f"Shape rearrangement is not yet supported in einsum: {pattern}")
        if is_anonymous(group[0]):
            raise NotImplementedError(f"Anonymous axes are not yet supported in einsum: {pattern}")
        if group[0] != ELLIPSIS and group[0] not in found:
            if len(found) == len(string.ascii_letters):
                raise RuntimeError(f"Too many axes in einsum: {pattern}")
            found[group[0]] = string.ascii_letters[len(found)]
    return "".join("..." if token == ELLIPSIS else found[token] for token in tokens if token not in "()")
