"""`python -m lucid_kernels.cuda.convolution explain 8x64x56x56 3x3`: what computes a layer on a GPU, and by which rule."""
from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np

from lucid_kernels import tf32
from lucid_kernels.arguments import convolution, convolution_parser
from lucid_kernels.cuda.convolution.problem import SHARED_MEMORY, Problem, fits, geometry_of, problems
from lucid_kernels.cuda.runtime import tuning

_SHOWN = 4  # the fastest by the model


def explanation(problem: Problem, capability: str) -> Iterator[str]:
    """The configurations of a product: what is chosen, and what the model says of the fastest."""
    chosen = problem.choose(capability, SHARED_MEMORY, capability == "90")
    measured = problem.key in tuning.table(capability)
    rule = f"measured on sm_{capability}" if measured else "by the model"
    if problem.exact:
        mark = f": chosen, {rule}" if chosen is None else ""
        yield f"  conv2d.cu, about {problem.simt:,.0f} cycles{mark}"
    fastest = sorted(problem.choices(SHARED_MEMORY, capability == "90"))[:_SHOWN]
    for cycles, tile, slices in fastest:
        mark = f": chosen, {rule}" if chosen == (tile, slices) else ""
        yield f"  {problem.kernel}, {tile}> in {slices} slices, about {cycles:,.0f} cycles{mark}"
    if chosen is not None and chosen not in [(tile, slices) for _, tile, slices in fastest]:
        yield f"  {problem.kernel}, {chosen[0]}> in {chosen[1]} slices: chosen, {rule}"


def main() -> None:
    """The command."""
    parser = convolution_parser("cuda.convolution")
    parser.add_argument("--dtype", choices=["float32", "float16", "bfloat16"], default="float32")
    parser.add_argument("--exact", action="store_true", help="float32 without TF32")
    parser.add_argument("--capability", default="90")
    options = parser.parse_args()

    geometry = geometry_of(*convolution(parser, options))
    dtype = np.dtype({"bfloat16": ml_dtypes.bfloat16}.get(options.dtype, options.dtype))
    tf32.convolutions = not options.exact
    if not fits(dtype, geometry):
        print("depthwise.cu or conv2d.cu: groups of few channels, or too large for the kernels for tensor cores")
        return
    for problem in problems(dtype, geometry):
        print(problem.sort)
        for line in explanation(problem, options.capability):
            print(line)


if __name__ == "__main__":
    main()
