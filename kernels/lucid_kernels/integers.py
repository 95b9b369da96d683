"""Divisions of lengths, for both sides."""
from __future__ import annotations

__all__ = ["ceil_div", "round_up"]


def ceil_div(a: int, b: int) -> int:
    """`a / b`, rounded up."""
    return -(-a // b)


def round_up(length: int, multiple: int) -> int:
    """The first multiple of `multiple` that is not below `length`."""
    return -(-length // multiple) * multiple
