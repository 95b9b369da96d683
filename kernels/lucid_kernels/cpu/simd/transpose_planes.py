"""Planes of channels transposed, so that the channels are the lanes."""
from __future__ import annotations

from ..runtime.jit import jit
from .strided import copy_elements, copy_tiles

# Elements behind the last whole tile that are transposed one by one, not as a tile that overlaps it: 0.8 of the time for planes
# of 7x7. Squares of odd numbers are multiples of 8 and one more.
_FEW_ELEMENTS = 2


@jit
def transpose(kind, source, pitch, size, lanes, target):
    """Rows of `size` elements, `pitch` bytes apart from an address on, one for each lane, to vectors."""
    step, rest = kind.itemsize, size % lanes
    one_by_one = rest if size < lanes or rest <= _FEW_ELEMENTS else 0
    for column in range(0, size - one_by_one, lanes):
        column = min(column, size - lanes)  # the last tile may overlap the one before
        copy_tiles(kind, source + column * step, pitch, target + column * lanes * step, lanes * step, 1, 0, False)
    if one_by_one > 0:
        column = size - one_by_one
        copy_elements(kind, source + column * step, pitch, target + column * lanes * step, lanes * step, lanes, one_by_one)


@jit
def transpose_back(kind, source, size, lanes, target, pitch):
    """Vectors to rows of `size` elements, one for each lane, which begin `pitch` bytes apart from an address on."""
    step, rest = kind.itemsize, size % lanes
    one_by_one = rest if size < lanes or rest <= _FEW_ELEMENTS else 0
    copy_tiles(kind, source, lanes * step, target, pitch, size // lanes, 0, False)
    if rest > one_by_one:  # a tile that overlaps the one before
        column = size - lanes
        copy_tiles(kind, source + column * lanes * step, lanes * step, target + column * step, pitch, 1, 0, False)
    if one_by_one > 0:
        column = size - one_by_one
        copy_elements(kind, source + column * lanes * step, lanes * step, target + column * step, pitch, one_by_one, lanes)
