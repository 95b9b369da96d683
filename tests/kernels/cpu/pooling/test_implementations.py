"""Which implementation pools."""
from __future__ import annotations

import subprocess
import sys
from typing import Any

from lucid_kernels.cpu.pooling.implementations import AVERAGE, AVERAGE_GRAD, MAX, Problem


def test_the_choice_of_maxima() -> None:
    def chosen(plane: Any, pooled: Any, kernel: int, stride: int, padding: int = 0, dilation: int = 1) -> str:
        pairs = ((size, size) for size in (kernel, stride, padding, dilation))
        return MAX.choose(Problem(plane, pooled, *pairs)).name

    assert chosen((8, 8), (4, 4), 2, 2) == "max_2x2"
    assert chosen((7, 7), (4, 4), 2, 2) == "max_rows"  # the last windows are partly outside
    assert chosen((8, 8), (4, 4), 3, 2, 1) == "max_rows"
    assert chosen((9, 9), (3, 3), 3, 3) == chosen((200, 200), (40, 40), 5, 5) == "max_ranges"
    assert chosen((9, 9), (7, 7), 2, 1, 0, 2) == chosen((9, 9), (10, 10), 3, 1, 2) == "max_planes"
    flat = Problem((1, 90), (1, 30), (1, 3), (1, 3), (0, 0), (1, 1))
    assert MAX.choose(flat).name == "max_flat_rows"
    assert MAX.choose(flat._replace(stride=(1, 5), pooled=(1, 18))).name == "max_ranges"


def test_the_choice_of_averages() -> None:
    halves = Problem((8, 9), (4, 4), (2, 2), (2, 2))
    assert AVERAGE.choose(halves).name == "average_2x2" and AVERAGE_GRAD.choose(halves).name == "average_bands"
    assert AVERAGE_GRAD.choose(halves._replace(plane=(8, 8))).name == "average_2x2"
    assert AVERAGE.choose(halves._replace(divisor_override=3)).name == "average_bands"
    whole = Problem((7, 7), (1, 1))
    assert AVERAGE.choose(whole).name == AVERAGE_GRAD.choose(whole).name == "average_rows"
    assert AVERAGE.choose(whole._replace(pooled=(2, 2))).name == "average_bands"


def test_explain_names_what_pools() -> None:
    command = [sys.executable, "-m", "lucid_kernels.cpu.pooling", "explain", "8x64x28x28", "2"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "maxima\n  max_2x2: chosen\n" in text and text.count("average_2x2: chosen") == 2
