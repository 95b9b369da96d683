"""What direct convolutions compute one after the other: bands of the result that meet the same rows of taps.

Images of one row are computed as images of one column, if there are more taps than steps from one to the next. The taps lie one
below the other then, and share copies, one for a stride of 1, two for 2, which may be cut into bands: 80 taps with a stride of 4
take 0.4 of the time, 9 with 3 0.6, 3 taps 0.85 to 1.05.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...arrays.layout import Array
from ...arrays.window import Window, turned_window
from ...runtime.implementations import unmet
from ..dilation_bands import Band, bands_of
from ..im2row import grad_input_by_remainders
from ..image_batch import Images, planes_of
from ..problem import Problem

# Input, its images, taps, window and result.
Part = tuple[Array, Images, Array, Window, Array]


def parts(x: Array, weight: Array, window: Window, y: Array) -> Iterator[Part]:
    """Those of y (N, O, OH, OW) from x (N, C, H, W) and weight (O, C / G, KH, KW)."""
    x, weight, window, y = _as_column(x, weight, window, y)
    images = planes_of(x.shape, y.shape)
    for band in bands_of(window, x.shape[2]):
        yield x, _to_band(images, band, window), weight[:, :, band.first : band.last], band.window(window), y


def gradient_parts(g: Array, weight: Array, window: Window, dx: Array) -> Iterator[Part]:
    """Those of dx (N, C, H, W) from g (N, O, OH, OW) for strides of 1; the windows are turned, the taps are not."""
    g, weight, window, dx = _as_column(g, weight, window, dx)
    return gradient_bands(g, planes_of(g.shape, dx.shape), weight, window, dx)


def gradient_bands(g: Array, images: Images, weight: Array, window: Window, dx: Array) -> Iterator[Part]:
    """`gradient_parts` for any `images` of g, which become those of dx. The weight of a group is that of all its channels for the
    first slice of the taps, then for the next: (KD * O, C / G, KH, KW).
    """
    turned, taps = turned_window(window, dx.shape), window.kh
    for band in bands_of(turned, images.height):
        yield g, _to_band(images, band, turned), weight[:, :, taps - band.last : taps - band.first], band.window(turned), dx


def _to_band(images: Images, band: Band, window: Window) -> Images:
    """The images whose results are those of a band."""
    return images if band.top == 0 else images._replace(targets=images.targets + band.top * window.out_width)


def _as_column(x: Array, weight: Array, window: Window, y: Array) -> tuple[Array, Array, Window, Array]:
    kh, kw, sh, sw, ph, pw, dh, dw, height, width = window
    if not (x.shape[2] == kh == height == 1 and ph == 0 and kw > sw):
        return x, weight, window, y
    turned = Window(kw, kh, sw, sh, pw, ph, dw, dh, width, height)
    return x.swapaxes(2, 3), weight.swapaxes(2, 3), turned, y.swapaxes(2, 3)


def gradient_why_not(problem: Problem) -> str | None:
    """Why the input gradient is no single convolution, all of whose elements meet the same taps."""
    window = problem.window
    return unmet(((window.sh, window.sw) == (1, 1) or (window.kh, window.kw) == (1, 1), "strided"))


def by_input(weight: Array, groups: int) -> Array:
    """The weight (O, C / G, ...) of G groups by input channels: (C, O / G, ...)."""
    by_group = weight.reshape(groups, -1, *weight.shape[1:]).swapaxes(1, 2)
    return by_group.reshape(groups * weight.shape[1], -1, *weight.shape[2:])


def grad_input_of_one_tap(convolve: Callable[..., None], g: Array, weight: Array, window: Window, dx: Array, groups: int) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW) and weight (O, C / G, 1, 1), with any strides."""
    none = np.zeros(dx.shape[1], g.dtype)
    grad_input_by_remainders(by_input(weight, groups), window, dx,
                             lambda taps, single, part: convolve(g, taps, none, single, part, groups))  # fmt: skip
