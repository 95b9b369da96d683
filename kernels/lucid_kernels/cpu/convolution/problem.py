"""What the choice of an implementation of convolution depends on."""
from __future__ import annotations

from typing import NamedTuple

from ..arrays.window import Window, turned_window
from ..runtime import tuning
from ..simd.cpu_features import VECTOR_BYTES


class Problem(NamedTuple):
    """A convolution of images (N, C, H, W) with a weight (O, C / G, KH, KW), or its gradients, none of the arrays empty.

    Of volumes, `images` are all slices of the results, each a sum over `slices` of the taps; a sample has `depth` slices and
    `out_depth` of results. `depth_steps` are the stride and the dilation along the depth.
    """

    images: int
    channels: int
    height: int
    width: int
    outputs: int
    groups: int
    window: Window
    itemsize: int = 4
    vector_bytes: int = VECTOR_BYTES
    slices: int = 1
    depth: int = 1
    out_depth: int = 1
    depth_steps: tuple[int, int] = (1, 1)

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return self.vector_bytes // self.itemsize

    @property
    def positions(self) -> int:
        """Those of an image of the result."""
        return self.window.out_height * self.window.out_width

    @property
    def outputs_of_group(self) -> int:
        return self.outputs // self.groups

    @property
    def is_depthwise(self) -> bool:
        """One input channel a group."""
        return self.groups > 1 and self.channels == self.groups

    @property
    def is_pointwise(self) -> bool:
        """A single tap, which meets pixels only, of all channels."""
        return self.groups == self.window.kh == self.window.kw == 1 and (self.window.ph, self.window.pw) == (0, 0)

    @property
    def is_large(self) -> bool:
        """Whether what small convolutions do not pay back is worth it: of 20 us and more."""
        work = self.images * self.channels * self.slices * self.window.kh * self.window.kw * self.outputs_of_group
        return work * self.positions >= tuning.CONVOLUTION_LEAST_PRODUCTS

    def turned(self) -> Problem:
        """The convolution, of the upstream gradient, that the input gradient is where strides are 1."""
        window = turned_window(self.window, (self.height, self.width))
        return self._replace(channels=self.outputs, height=self.window.out_height, width=self.window.out_width,
                             outputs=self.channels, window=window)


def image_problem(shape: tuple[int, ...], outputs: int, groups: int, window: Window, itemsize: int = 4) -> Problem:
    """That of images of a shape (N, C, H, W)."""
    images, channels, height, width = shape
    return Problem(images, channels, height, width, outputs, groups, window, itemsize)
