"""`python -m lucid_kernels.cuda.convolution explain 8x64x56x56 3x3`: what computes a layer on a GPU, and by which rule."""
from __future__ import annotations

import argparse
from collections.abc import Iterator

import ml_dtypes
import numpy as np

from lucid_kernels import tf32
from lucid_kernels.cuda.convolution.problem import SHARED_MEMORY, Problem, fits, geometry_of, problems
from lucid_kernels.cuda.runtime import tuning

_SHOWN = 4  # the fastest by the model


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("x")))


def explanation(problem: Problem, capability: str) -> Iterator[str]:
    """The configurations of a product: what is chosen, and what the model says of the fastest."""
    chosen = problem.choose(capability, SHARED_MEMORY)
    measured = problem.key in tuning.table(capability)
    rule = f"measured on sm_{capability}" if measured else "by the model"
    if problem.exact:
        mark = f": chosen, {rule}" if chosen is None else ""
        yield f"  conv2d.cu, about {problem.simt:,.0f} cycles{mark}"
    fastest = sorted(problem.choices(SHARED_MEMORY))[:_SHOWN]
    for cycles, tile, slices in fastest:
        mark = f": chosen, {rule}" if chosen == (tile, slices) else ""
        yield f"  {problem.kernel}, {tile}> in {slices} slices, about {cycles:,.0f} cycles{mark}"
    if chosen is not None and chosen not in [(tile, slices) for _, tile, slices in fastest]:
        yield f"  {problem.kernel}, {chosen[0]}> in {chosen[1]} slices: chosen, {rule}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m lucid_kernels.cuda.convolution")
    parser.add_argument("command", choices=["explain"])
    parser.add_argument("input", type=_sizes, help="NxCxHxW, or NxCxDxHxW of volumes")
    parser.add_argument("kernel", type=_sizes, help="KHxKW, or KDxKHxKW")
    parser.add_argument("--out-channels", type=int, help="as many as there are input channels, unless given")
    for name in ("stride", "dilation"):
        parser.add_argument(f"--{name}", type=_sizes, default=(1,), help="one number, or one for each dimension")
    parser.add_argument("--padding", type=_sizes, help="that which keeps the size of plain taps, unless given")
    parser.add_argument("--groups", type=int, default=1)
    parser.add_argument("--dtype", choices=["float32", "float16", "bfloat16"], default="float32")
    parser.add_argument("--exact", action="store_true", help="float32 without TF32")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--capability", default="90")
    options = parser.parse_args()

    shape, kernel, groups = options.input, options.kernel, options.groups
    if len(shape) != len(kernel) + 2 or len(kernel) not in (2, 3):
        parser.error("give NxCxHxW and KHxKW, or NxCxDxHxW and KDxKHxKW")
    padding = options.padding or tuple((size - 1) // 2 for size in kernel)
    stride, padding, dilation = (size * len(kernel) if len(size) == 1 else size
                                 for size in (options.stride, padding, options.dilation))
    weight_shape = (options.out_channels or shape[1], shape[1] // groups, *kernel)
    geometry = geometry_of(shape, weight_shape, stride, padding, dilation, groups)
    dtype = np.dtype({"bfloat16": ml_dtypes.bfloat16}.get(options.dtype, options.dtype))
    tf32.convolutions = not options.exact
    if not fits(dtype, geometry):
        print("conv2d.cu: groups of few channels, or too large for the kernels for tensor cores")
        return
    for problem in problems(dtype, geometry, options.channels_last):
        print(problem.sort)
        for line in explanation(problem, options.capability):
            print(line)


if __name__ == "__main__":
    main()
