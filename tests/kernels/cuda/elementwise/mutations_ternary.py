"""Planted bugs for elements by a mask: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.elementwise import test_ternary


def check() -> None:
    import cupy as cp
    from lucid_kernels.cuda.elementwise import ternary

    for dtype in (np.uint8, np.float32, np.float64):
        test_ternary.check(ternary, cp, dtype)
    test_ternary.check_views(ternary, cp)


MUTATIONS = [
    Mutation("ternary.cu", name, pattern, replacement, check) for name, pattern, replacement in (
        ("the other one", r"chosen\[v\] \? left\[v\] : right\[v\]", "chosen[v] ? right[v] : left[v]"),
        ("the number for the other one", r"numbers != 1", "numbers != 2"),
        ("a number that is read", r"numbers != 2\) read", "true) read"),
        ("strides of the other one", r"layout, 3, b", "layout, 2, b"),
        ("place of the mask", r"condition, at\[1\]", "condition, at[2]"),
        ("strides of the mask", r"layout, 1, condition", "layout, 2, condition"),
        ("elements left out", r"< V; \+\+v\) left\[v\] = chosen", "< V - 1; ++v) left[v] = chosen"),
    )
]
