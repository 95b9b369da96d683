"""Rules of Fourier transforms."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..array import MetaArray, blank
from ..probe import Probe
from .new_rules import Sizes, new_rules

RULES, rule = new_rules()


@rule
def fft_r2c(x: MetaArray, *, axes: Sizes, **scale: Any) -> MetaArray:
    axis = axes[-1]
    half: MetaArray = Probe("fft_r2c", (x,))((x,), {"axes": axes, **scale}, axis, x.shape[axis] // 2 + 1)
    return half


@rule
def fft_c2r(x: MetaArray, *, axes: Sizes, length: int, **scale: Any) -> MetaArray:
    whole: MetaArray = Probe("fft_c2r", (x,))((x,), {"axes": axes, "length": min(length, 2), **scale}, axes[-1], length)
    return whole


@rule
def fft_windows(x: MetaArray, window: MetaArray, *, step: int, norm: str) -> MetaArray:
    size, (batch, length) = window.shape[0], x.shape
    return blank((batch, (length - size) // step + 1, size // 2 + 1), np.result_type(x.dtype, np.complex64))
