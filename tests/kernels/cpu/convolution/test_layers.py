"""Which implementation computes the layers of well-known networks, and what `explain` says about a layer."""
from __future__ import annotations

import subprocess
import sys

from tests.kernels.cpu.convolution import layers


def test_layers_are_computed_by_what_the_file_says() -> None:
    """`python -m tests.kernels.cpu.convolution.layers` accepts a change."""
    assert layers.PATH.read_text() == layers.HEADER + "".join(line + "\n" for line in layers.lines(list(layers.read()), layers.served))


def test_explain_names_what_computes_a_layer_and_why_not_the_others() -> None:
    command = [sys.executable, "-m", "lucid_kernels.cpu.convolution", "explain"]
    text = subprocess.run([*command, "8x64x56x56", "3x3"], capture_output=True, text=True, check=True).stdout
    forward, gradients = text.split("input gradient\n")
    assert "  winograd: chosen\n" in forward and "  gemm: taps that do not cover the image\n" in forward
    assert "  direct: would do, but comes later\n" in forward
    assert gradients.count("winograd: chosen") == 2
    volumes = subprocess.run([*command, "2x8x9x9x9", "3x3x3", "--out-channels", "32", "--stride", "2"], capture_output=True, text=True,
                             check=True).stdout
    assert "  direct: chosen\n" in volumes and "strided or dilated along the depth" in volumes
