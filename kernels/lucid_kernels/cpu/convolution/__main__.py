"""`python -m lucid_kernels.cpu.convolution explain 8x64x56x56 3x3`: what computes a layer, and why not the others."""
from __future__ import annotations

import argparse

from ..simd.cpu_features import VECTOR_BYTES
from .conv2d import problem_of
from .implementations import FORWARD, GRAD_INPUT, GRAD_WEIGHT, VOLUME_FORWARD, VOLUME_GRAD_INPUT, VOLUME_GRAD_WEIGHT
from .volume import volume_problem


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("x")))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m lucid_kernels.cpu.convolution")
    parser.add_argument("command", choices=["explain"])
    parser.add_argument("input", type=_sizes, help="NxCxHxW, or NxCxDxHxW of volumes")
    parser.add_argument("kernel", type=_sizes, help="KHxKW, or KDxKHxKW")
    parser.add_argument("--out-channels", type=int, help="as many as there are input channels, unless given")
    for name in ("stride", "dilation"):
        parser.add_argument(f"--{name}", type=_sizes, default=(1,), help="one number, or one for each dimension")
    parser.add_argument("--padding", type=_sizes, help="that which keeps the size of plain taps, unless given")
    parser.add_argument("--groups", type=int, default=1)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--vector-bytes", type=int, choices=[32, 64], default=VECTOR_BYTES, help="of AVX2 or AVX-512")
    options = parser.parse_args()

    shape, kernel, groups = options.input, options.kernel, options.groups
    if len(shape) != len(kernel) + 2 or len(kernel) not in (2, 3):
        parser.error("give NxCxHxW and KHxKW, or NxCxDxHxW and KDxKHxKW")
    padding = options.padding or tuple((size - 1) // 2 for size in kernel)
    stride, padding, dilation = (size * len(kernel) if len(size) == 1 else size
                                 for size in (options.stride, padding, options.dilation))
    weight_shape = (options.out_channels or shape[1], shape[1] // groups, *kernel)
    itemsize = 4 if options.dtype == "float32" else 8
    if len(kernel) == 2:
        problem, _ = problem_of(shape, weight_shape, stride, padding, dilation, groups, itemsize)
        lists = (FORWARD, GRAD_INPUT, GRAD_WEIGHT)
    else:
        problem = volume_problem(shape, weight_shape, stride, padding, dilation, groups, itemsize)
        lists = (VOLUME_FORWARD, VOLUME_GRAD_INPUT, VOLUME_GRAD_WEIGHT)
    for title, implementations in zip(("forward", "input gradient", "weight gradient"), lists):
        print(title)
        for line in implementations.explain(problem._replace(vector_bytes=options.vector_bytes)):
            print(line)


if __name__ == "__main__":
    main()
