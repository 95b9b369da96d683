"""Convolution with dilated 3x3 taps as one with plain taps, of more and smaller images, by Winograd's algorithm.

The pixels with the same remainders by the dilations, a *phase*, meet each other only: each phase is an image of its own. To deal
them out and to gather the results takes a twentieth of the time, up to a fifth for a dilation of 12.
"""
from __future__ import annotations

import functools

import numba
import numpy as np

from ...arrays.layout import Array
from ...arrays.window import Window
from ...runtime import tuning
from ...runtime.allocator import empty
from ...runtime.implementations import unmet
from ...runtime.jit import jit, jit_parallel
from ..dilation_bands import valid_share
from ..direct import grad_weight as direct_grad_weight
from ..problem import Problem
from . import forward as winograd_forward
from . import grad_weight as winograd_grad_weight


def _plain(window: Window) -> Window:
    """The window of a phase."""
    down, across = window.dh, window.dw
    return Window(window.kh, window.kw, window.sh, window.sw, window.ph // down, window.pw // across, 1, 1,
                  -(-window.out_height // down), -(-window.out_width // across))


def why_not(problem: Problem) -> str | None:
    window, phases = problem.window, problem.window.dh * problem.window.dw
    plain = _plain(window)
    direct = window.kh * window.kw * problem.positions * valid_share(window, problem.height)
    few = phases * winograd_forward.products(plain) <= tuning.WINOGRAD_DILATED_MOST_PRODUCTS * direct
    channels = tuning.WINOGRAD_DILATED_LEAST_CHANNELS
    return unmet(
        (phases > 1, "not dilated"),
        (min(problem.channels, problem.outputs) >= channels, f"fewer than {channels} channels"),
        (window.ph % window.dh == window.pw % window.dw == 0, "the padding is no multiple of the dilation"),
        (few, "phases so small that tiles are partly empty"),
    ) or winograd_forward.why_not(problem._replace(window=plain, images=problem.images * phases))


@functools.lru_cache(maxsize=64)
def _offsets(height: int, width: int, down: int, across: int) -> tuple[Array, Array, Array]:
    """Which pixel of a plane each of its phases (DH * DW, h * w) has where, -1 for none, and the phase and the offset of a pixel.

    A list takes a fifth to a half of the time of loops over rows, which are short.
    """
    rows, columns = -(-height // down), -(-width // across)
    i, j = np.indices((height, width)).reshape(2, -1)
    phase, place = i % down * across + j % across, i // down * columns + j // across
    pixels = np.full((down * across, rows * columns), -1)
    pixels[phase, place] = np.arange(height * width)
    return pixels, phase, place


@jit
def _take(plane, pixels, phase):
    for i in range(phase.shape[0]):
        phase[i] = plane[pixels[i]] if pixels[i] >= 0 else 0


@jit
def _put(phases, first, offsets, plane):
    for i in range(plane.shape[0]):
        plane[i] = phases[first + offsets[i]]


@jit_parallel
def _take_parallel(planes, pixels, phases, each):
    """phases (DH * DW, N * C, h * w) of planes (N * C, H * W)."""
    for task in numba.prange((planes.shape[0] + each - 1) // each):
        for p in range(task * each, min(planes.shape[0], (task + 1) * each)):
            for phase in range(phases.shape[0]):
                _take(planes[p], pixels[phase], phases[phase, p])


@jit_parallel
def _put_parallel(phases, size, offsets, planes, each):
    """planes (N * C, H * W) of flat phases (DH * DW, N * C, size)."""
    for task in numba.prange((planes.shape[0] + each - 1) // each):
        for p in range(task * each, min(planes.shape[0], (task + 1) * each)):
            _put(phases, p * size, offsets, planes[p])


def _empty_phases(images: Array, window: Window) -> Array:
    """Room for the phases (DH * DW * N, C, h, w) of images (N, C, H, W)."""
    (samples, channels, height, width), down, across = images.shape, window.dh, window.dw
    return empty((down * across * samples, channels, -(-height // down), -(-width // across)), images.dtype)


def _phases(images: Array, window: Window) -> Array:
    """The phases of images, as images."""
    phases, planes = _empty_phases(images, window), images.reshape(images.shape[0] * images.shape[1], -1)
    pixels, _, _ = _offsets(*images.shape[2:], window.dh, window.dw)
    _take_parallel(planes, pixels, phases.reshape(len(pixels), len(planes), -1), max(1, tuning.PARALLEL_FROM // planes.shape[1]))
    return phases


def _gather(phases: Array, window: Window, images: Array) -> None:
    """Fill images from their phases."""
    planes, size = images.reshape(images.shape[0] * images.shape[1], -1), phases.shape[2] * phases.shape[3]
    _, phase, place = _offsets(*images.shape[2:], window.dh, window.dw)
    offsets = phase * (len(planes) * size) + place
    _put_parallel(phases.reshape(-1), size, offsets, planes, max(1, tuning.PARALLEL_FROM // planes.shape[1]))


def convolve(x: Array, weight: Array, bias: Array, window: Window, y: Array, groups: int = 1) -> None:
    """Fill y (N, O, OH, OW) from x (N, C, H, W), weight (O, C, 3, 3) and bias (O,), all contiguous float32."""
    results = _empty_phases(y, window)
    winograd_forward.convolve(_phases(x, window), weight, bias, _plain(window), results)
    _gather(results, window, y)


def grad_input(g: Array, weight: Array, window: Window, dx: Array, groups: int = 1) -> None:
    """Fill dx (N, C, H, W) from g (N, O, OH, OW) and weight (O, C, 3, 3), all contiguous float32."""
    results = _empty_phases(dx, window)
    winograd_forward.grad_input(_phases(g, window), weight, _plain(window), results)
    _gather(results, window, dx)


def grad_weight(g: Array, x: Array, window: Window, dweight: Array, dbias: Array | None = None, groups: int = 1) -> None:
    """Fill dweight (O, C, 3, 3) and dbias (O,) from g (N, O, OH, OW) and x (N, C, H, W), all contiguous float32.

    Where some of dweight is not finite both are computed directly: phases have zeros where others have gradients, and these
    times infinity are NaN.
    """
    if not winograd_grad_weight.fill_if_finite(_phases(g, window), _phases(x, window), _plain(window), dweight, dbias):
        direct_grad_weight.grad_weight(g, x, window, dweight, dbias=dbias)
