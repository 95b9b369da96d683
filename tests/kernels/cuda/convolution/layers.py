"""What computes the convolutions of well-known networks on a GPU that nobody has measured: `layers.txt`.

`python -m tests.kernels.cuda.convolution.layers` writes the file anew, for some layers of `tests/kernels/cpu/convolution/layers.txt`.
"""
from __future__ import annotations

import pathlib
from collections.abc import Iterator

import ml_dtypes
import numpy as np
from lucid_kernels.cuda.convolution import configurations
from lucid_kernels.cuda.convolution.configurations import Tile
from lucid_kernels.cuda.convolution.problem import SHARED_MEMORY, fits, geometry_of, problems

from lucid.backends import cudnn
from tests.kernels.cpu.convolution import layers

PATH = pathlib.Path(__file__).with_name("layers.txt")
HEADER = """\
# Which tile and how many slices compute the convolutions of well-known networks on chips of compute capability 9.0:
# network: image, weight, stride, padding, dilation | images of a batch | float32 as TF32 | exact float32 | bfloat16
# of each: forward, input gradient, weight gradient. simt: conv2d.cu. Written by layers.py; a change of choice shows as a diff.
"""
#: dtype, whether TF32 is allowed.
KINDS = ((np.dtype(np.float32), True), (np.dtype(np.float32), False), (np.dtype(ml_dtypes.bfloat16), True))


def shown(tile: Tile) -> str:
    return f"{tile.rows}x{tile.columns}" + " wgmma" * (tile in configurations.WARPGROUP_TILES)


def chosen(layer: layers.Layer, images: int) -> str:
    geometry = geometry_of((images, *layer.image), layer.weight, layer.stride, layer.padding, layer.dilation, layer.groups)
    columns = []
    for dtype, allowed in KINDS:
        if not fits(dtype, geometry):
            columns.append("simt")
            continue
        with cudnn.flags(allow_tf32=allowed):
            found = [problem.choose("none", SHARED_MEMORY, True) for problem in problems(dtype, geometry)]
        columns.append(", ".join("simt" if each is None else f"{shown(each[0])}/{each[1]}" for each in found))
    return " | ".join(columns)


def lines() -> Iterator[str]:
    for layer in list(layers.read())[::4]:
        for images in layers.BATCHES:
            yield f"{layer} | {images} | {chosen(layer, images)}"


if __name__ == "__main__":
    PATH.write_text(HEADER + "".join(line + "\n" for line in lines()))
