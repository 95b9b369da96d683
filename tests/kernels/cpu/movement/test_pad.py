"""Rows padded by a kernel: the same as NumPy's padding."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lucid.backends.cpu import pad
from lucid.backends.cpu.backend import TABLE

MODES = {"constant": {"mode": "constant", "constant_values": 3}, "reflect": {"mode": "reflect"}, "replicate": {"mode": "edge"},
         "circular": {"mode": "wrap"}}  # fmt: skip
CASES = [((4, 8, 40, 41), ((2, 3), (1, 2))), ((4, 8, 40, 41), ((0, 1), (5, 0))), ((2, 3, 12, 20, 30), ((5, 6), (3, 4), (1, 2))),
         ((16, 70, 100), ((3, 4),)), ((300, 200), ((0, 0), (0, 9)))]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_like_numpy(mode: str, case: Any) -> None:
    shape, pads = case
    for dtype in (np.float32, np.int64, np.uint8, np.float16):
        x = np.random.default_rng(0).integers(0, 200, shape).astype(dtype)
        wanted: Any = np.pad(x, ((0, 0),) * (len(shape) - len(pads)) + pads, **MODES[mode])
        fill = np.asarray(3, dtype) if mode == "constant" else None
        y = np.empty_like(wanted)
        assert pad.pad_rows(x, y, 0 if fill is None else fill, pads, mode)
        np.testing.assert_array_equal(y, wanted)
        np.testing.assert_array_equal(TABLE["pad"](x, fill, pads=pads, mode=mode), wanted)
        np.testing.assert_array_equal(TABLE["pad"](np.asfortranarray(x), fill, pads=pads, mode=mode), wanted)
