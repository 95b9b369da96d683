"""Interpolation, for NumPy and CuPy: `table(xp, kernels, resample_planes)`.

Along each dimension a result is a weighted sum of neighbours: a matrix with a few non-zeros side by side in each row. So is its
gradient, with the transposed matrix, in which nothing has to be scattered.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..half_precision import HALVES, wide

Array = Any
Kernel = Callable[..., Any]
Sizes = tuple[int, ...]
# Keys' parameter ("Cubic convolution interpolation for digital image processing", 1981), and the one of antialiasing.
_CUBIC, _SMOOTH_CUBIC = -0.75, -0.5


_OF_BYTES = " of bytes"


class Band(NamedTuple):
    """A matrix whose row i has weights[i, :counts[i]] from column starts[i] on, and else zeros."""

    starts: np.ndarray
    counts: np.ndarray
    weights: np.ndarray


def _cubic(distance: np.ndarray, a: float = _CUBIC) -> np.ndarray:
    """The weight of a neighbour at a distance of 0 to 2, with Keys' parameter `a`."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return np.where(distance <= 1, near, far)


def _taps(length: int, wanted: int, step: float, mode: str, align_corners: bool, dtype: np.dtype
          ) -> tuple[np.ndarray, np.ndarray]:
    """The elements (wanted, taps) that each result is made of, and their weights."""
    positions = np.arange(wanted, dtype=np.float32 if mode.startswith("nearest") else dtype)
    if mode.startswith("nearest"):  # in float32, in which PyTorch rounds the indices down
        indices = np.floor((positions + (0.5 if mode == "nearest-exact" else 0.0)) * step).astype(np.int64)
        return np.clip(indices, 0, length - 1)[:, None], np.ones((wanted, 1), dtype)
    position = positions * step if align_corners else (positions + 0.5) * step - 0.5
    if mode == "cubic":
        floor = np.floor(position)
        share = position - floor
        offsets, weights = np.arange(-1, 3), [_cubic(d) for d in (share + 1, share, 1 - share, 2 - share)]
    else:
        position = np.maximum(position, 0)
        floor = np.minimum(np.floor(position), length - 1)
        share = position - floor
        offsets, weights = np.arange(2), [1 - share, share]
    indices = np.clip(floor.astype(np.int64)[:, None] + offsets, 0, length - 1)
    return indices, np.stack(weights, 1).astype(dtype)


def _smooth_band(length: int, wanted: int, step: float, mode: str, dtype: np.dtype) -> Band:
    """The band of antialiasing: where results are further apart than elements, the filter is stretched to that distance.

    As in PyTorch, `align_corners` only changes the step.
    """
    radius, stretch = 2 if mode == "smooth cubic" else 1, max(step, 1.0)
    centre = (np.arange(wanted, dtype=dtype) + 0.5) * step
    starts = np.maximum((centre - radius * stretch + 0.5).astype(np.int64), 0)
    counts = np.minimum((centre + radius * stretch + 0.5).astype(np.int64), length) - starts
    taps = np.arange(counts.max())
    distance = np.abs(starts[:, None] + taps - centre[:, None] + 0.5) / stretch
    weights = 1 - distance if radius == 1 else _cubic(distance, _SMOOTH_CUBIC)
    weights = np.where((distance < radius) & (taps < counts[:, None]), weights, 0)
    return Band(starts, counts, (weights / weights.sum(1, keepdims=True)).astype(dtype))


def _in_fixed_point(weights: np.ndarray) -> np.ndarray:
    """The weights of bytes, with as many binary places as let the largest one fit into 16 bits, and at most 22: as in PyTorch,
    so that the same pixels come out.
    """
    places = next((n for n in range(22) if int(0.5 + weights.max() * 2 ** (n + 1)) >= 1 << 15), 22)
    return np.trunc(weights * 2.0 ** places + np.copysign(0.5, weights)) / 2.0 ** places


@functools.lru_cache(maxsize=128)
def _band(length: int, wanted: int, step: float, mode: str, align_corners: bool, dtype: np.dtype) -> Band | None:
    """What takes `length` elements to `wanted` along one dimension; None is the identity."""
    if mode.endswith(_OF_BYTES):
        band = _band(length, wanted, step, mode.removesuffix(_OF_BYTES), align_corners, dtype)
        return None if band is None else band._replace(weights=_in_fixed_point(band.weights))
    if wanted == length and step == 1 and mode != "cubic":  # whose weights of 0 make NaN of inf beside it, as in PyTorch
        return None
    if mode.startswith("smooth"):
        return _smooth_band(length, wanted, step, mode, dtype)
    indices, shares = _taps(length, wanted, step, mode, align_corners, dtype)
    starts, counts = indices[:, 0], indices[:, -1] - indices[:, 0] + 1
    weights = np.zeros((wanted, int(counts.max())), dtype)
    np.add.at(weights, (np.arange(wanted)[:, None], indices - starts[:, None]), shares)  # the edge may stand for several
    return Band(starts.copy(), counts, weights)


@functools.lru_cache(maxsize=128)
def _transposed(length: int, *arguments: Any) -> Band | None:
    """The transpose of `_band`: the results that an element takes part in lie side by side too."""
    band = _band(length, *arguments)
    if band is None:
        return None
    positions, last = np.arange(length), band.starts + band.counts - 1
    starts = np.searchsorted(last, positions)
    counts = np.maximum(np.searchsorted(band.starts, positions, side="right") - starts, 0)
    weights = np.zeros((length, max(1, int(counts.max()))), band.weights.dtype)
    for k in range(weights.shape[1]):
        some = positions[counts > k]
        results = starts[some] + k
        weights[some, k] = band.weights[results, some - band.starts[results]]
    return Band(np.where(counts > 0, starts, 0), counts, weights)


def planes_by_taps(xp: Any) -> Kernel:
    """``resample_planes(x, rows, columns)`` on `xp`: the planes rows @ x[p] @ columns.T of x (P, H, W); None is the identity."""

    def along(x: Array, band: Band | None, axis: int) -> Array:
        if band is None:
            return x
        column, total = (-1,) + (1,) * (2 - axis), 0
        for k in range(band.weights.shape[1]):
            there = band.counts > k
            part = x.take(xp.asarray(np.where(there, band.starts + k, 0)), axis=axis)
            part = part * xp.asarray(band.weights[:, k]).reshape(column)
            # An inf elsewhere would make NaN of a weight of zero.
            total = total + (part if there.all() else xp.where(xp.asarray(there).reshape(column), part, part.dtype.type(0)))
        return total

    def resample_planes(x: Array, rows: Band | None, columns: Band | None) -> Array:
        y = along(along(x, rows, 1), columns, 2)
        return y.copy() if y is x else y

    return resample_planes


def _doubles(lengths: Sizes, wanted: Sizes, steps: tuple[float, ...], mode: str) -> bool:
    """Whether each pixel of images becomes four."""
    return mode.startswith("nearest") and steps == (0.5, 0.5) and wanted == (2 * lengths[0], 2 * lengths[1])


#: The attributes of sums of 2x2 pixels, whose gradient doubles images: a third of the time of bands.
_SUMS = {"kernel_size": (2, 2), "stride": (2, 2), "padding": (0, 0), "ceil_mode": False, "count_include_pad": True,
         "divisor_override": 1}


def table(xp: Any, kernels: dict[str, Kernel], resample_planes: Kernel) -> dict[str, Kernel]:
    """`resample` and its gradient on `xp` (numpy or cupy), with the other `kernels` and one like `planes_by_taps(xp)`."""

    def apply(x: Array, lengths: Sizes, bands: list[Band | None]) -> Array:
        """x (N, C, *) weighed by a band for each of its 1 to 3 last dimensions."""
        planes = xp.ascontiguousarray(wide(x))
        images, (height, width) = x.shape[0] * x.shape[1], (1, *x.shape[2:])[-2:]

        def slices(array: Array, count: int) -> Array:
            area = array.size // (images * count)
            return resample_planes(array.reshape(images, count, area), bands[0], None)

        rows = None if len(bands) == 1 else bands[-2]
        if len(bands) == 3 and lengths[0] > x.shape[2]:  # fewer slices are cheaper to resize
            planes = slices(planes, x.shape[2])
        planes = resample_planes(planes.reshape(-1, height, width), rows, bands[-1])
        if len(bands) == 3 and lengths[0] <= x.shape[2]:
            planes = slices(planes, x.shape[2])
        planes = planes.reshape(*x.shape[:2], *lengths)
        return planes.astype(x.dtype) if x.dtype in HALVES else planes

    def resample(x: Array, *, lengths: Sizes, steps: tuple[float, ...], mode: str, align_corners: bool) -> Array:
        """x (N, C, *) with the last dimensions resized to `lengths`; `steps` are those from one result to the next in x."""
        if _doubles(x.shape[2:], lengths, steps, mode):
            return kernels["avg_pool2d_grad"](x, input_shape=(*x.shape[:2], *lengths), **_SUMS)
        dtype = wide(x[:0]).dtype
        return apply(x, lengths, [_band(*sizes, mode, align_corners, dtype) for sizes in zip(x.shape[2:], lengths, steps)])

    def resample_grad(g: Array, *, lengths: Sizes, steps: tuple[float, ...], mode: str, align_corners: bool) -> Array:
        """Gradient (N, C, *lengths) of `resample` for its input."""
        if _doubles(lengths, g.shape[2:], steps, mode):
            return kernels["avg_pool2d"](g, **_SUMS)
        dtype = wide(g[:0]).dtype
        return apply(g, lengths, [_transposed(*sizes, mode, align_corners, dtype) for sizes in zip(lengths, g.shape[2:], steps)])

    return {"resample": resample, "resample_grad": resample_grad}
