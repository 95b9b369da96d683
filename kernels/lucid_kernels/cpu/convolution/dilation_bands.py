"""Bands of output rows that meet the same rows of taps: where the dilation is large, many rows of taps meet only padding.

3x3 taps with a dilation of 18 or 12, as in heads for segmentation, meet 33x33 pixels with 0.64 or 0.78 of their products.
"""
from __future__ import annotations

import functools
from typing import NamedTuple

from ..arrays.window import Window
from ..runtime import tuning


class Band(NamedTuple):
    """Output rows top..bottom and the rows first..last of the taps."""

    top: int
    bottom: int
    first: int
    last: int

    def window(self, window: Window) -> Window:
        """The convolution of these rows."""
        padding = window.ph - self.first * window.dh - self.top * window.sh
        return window._replace(kh=self.last - self.first, ph=padding, out_height=self.bottom - self.top)


def _spans(window: Window, height: int) -> list[tuple[int, int]]:
    """For each row of taps the output rows in which it meets pixels of images of `height` rows."""
    offsets = [tap * window.dh - window.ph for tap in range(window.kh)]
    lasts = [max(0, min(window.out_height, (height - 1 - offset) // window.sh + 1)) for offset in offsets]
    return [(min(last, max(0, -(offset // window.sh))), last) for offset, last in zip(offsets, lasts)]


def _split(window: Window, height: int) -> list[Band]:
    """Bands that meet all of their rows of taps; nothing where that saves too little."""
    spans = _spans(window, height)
    edges = sorted({0, window.out_height, *(edge for span in spans for edge in span)})
    bands = []
    for top, bottom in zip(edges, edges[1:]):
        met = [tap for tap, (first, last) in enumerate(spans) if first <= top and bottom <= last]
        positions = (bottom - top) * window.out_width
        if not met or positions < tuning.DILATION_BANDS_LEAST_POSITIONS:  # rows that meet nothing are the bias
            return []
        bands.append(Band(top, bottom, met[0], met[-1] + 1))
    products = sum((band.bottom - band.top) * (band.last - band.first) for band in bands)
    return bands if products <= tuning.DILATION_BANDS_MOST_PRODUCTS * window.kh * window.out_height else []


@functools.lru_cache(maxsize=256)
def valid_share(window: Window, height: int) -> float:
    """The share of the products of all rows that is left; 1 without bands."""
    products = sum(bottom - top for top, bottom in _spans(window, height))
    return products / (window.kh * window.out_height) if _split(window, height) else 1


@functools.lru_cache(maxsize=256)
def bands_of(window: Window, height: int) -> tuple[Band, ...]:
    """The bands; a single one with all rows where they would save too little."""
    return tuple(_split(window, height)) or (Band(0, window.out_height, 0, window.kh),)


@functools.lru_cache(maxsize=256)
def valid_rows(window: Window, height: int) -> tuple[Band, ...]:
    """Each row of taps with the output rows in which it meets pixels; nothing without bands."""
    spans = _spans(window, height) if _split(window, height) else []
    return tuple(Band(top, bottom, tap, tap + 1) for tap, (top, bottom) in enumerate(spans))
