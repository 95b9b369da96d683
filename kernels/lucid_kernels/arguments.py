"""Arguments of the commands `python -m lucid_kernels.<package> explain`."""
from __future__ import annotations

import argparse
from typing import NamedTuple

Sizes = tuple[int, ...]


def sizes(text: str) -> Sizes:
    """The numbers in "8x64x56x56"."""
    return tuple(map(int, text.split("x")))


def parser_of(package: str) -> argparse.ArgumentParser:
    """The parser for a package."""
    parser = argparse.ArgumentParser(prog=f"python -m lucid_kernels.{package}")
    parser.add_argument("command", choices=["explain"])
    return parser


class Convolution(NamedTuple):
    """What a convolution is given; its padding keeps the size of plain taps unless that is given too."""

    shape: Sizes
    weight_shape: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    groups: int


def convolution_parser(package: str) -> argparse.ArgumentParser:
    """The parser for a package of convolutions, with the arguments that `convolution` reads."""
    parser = parser_of(package)
    parser.add_argument("input", type=sizes, help="NxCxHxW, or NxCxDxHxW of volumes")
    parser.add_argument("kernel", type=sizes, help="KHxKW, or KDxKHxKW")
    parser.add_argument("--out-channels", type=int, help="as many as there are input channels, unless given")
    for name in ("stride", "dilation"):
        parser.add_argument(f"--{name}", type=sizes, default=(1,), help="one number, or one for each dimension")
    parser.add_argument("--padding", type=sizes, help="that which keeps the size of plain taps, unless given")
    parser.add_argument("--groups", type=int, default=1)
    return parser


def convolution(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Convolution:
    """The convolution that `options` of `parser` describe."""
    shape, kernel, groups = options.input, options.kernel, options.groups
    if len(shape) != len(kernel) + 2 or len(kernel) not in (2, 3):
        parser.error("give NxCxHxW and KHxKW, or NxCxDxHxW and KDxKHxKW")
    padding = options.padding or tuple((size - 1) // 2 for size in kernel)
    stride, padding, dilation = (size * len(kernel) if len(size) == 1 else size
                                 for size in (options.stride, padding, options.dilation))
    return Convolution(shape, (options.out_channels or shape[1], shape[1] // groups, *kernel), stride, padding, dilation, groups)
