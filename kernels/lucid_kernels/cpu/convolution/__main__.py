"""`python -m lucid_kernels.cpu.convolution explain 8x64x56x56 3x3`: what computes a layer, and why not the others."""
from __future__ import annotations

from lucid_kernels.arguments import convolution, convolution_parser

from ..simd.cpu_features import VECTOR_BYTES
from .conv2d import problem_of
from .implementations import FORWARD, GRAD_INPUT, GRAD_WEIGHT, VOLUME_FORWARD, VOLUME_GRAD_INPUT, VOLUME_GRAD_WEIGHT
from .volume import volume_problem


def main() -> None:
    parser = convolution_parser("cpu.convolution")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--vector-bytes", type=int, choices=[32, 64], default=VECTOR_BYTES, help="of AVX2 or AVX-512")
    options = parser.parse_args()

    layer = convolution(parser, options)
    itemsize = 4 if options.dtype == "float32" else 8
    if len(layer.shape) == 4:
        problem, _ = problem_of(*layer, itemsize)  # type: ignore[arg-type]
        lists = (FORWARD, GRAD_INPUT, GRAD_WEIGHT)
    else:
        problem = volume_problem(*layer, itemsize)
        lists = (VOLUME_FORWARD, VOLUME_GRAD_INPUT, VOLUME_GRAD_WEIGHT)
    for title, implementations in zip(("forward", "input gradient", "weight gradient"), lists):
        print(title)
        for line in implementations.explain(problem._replace(vector_bytes=options.vector_bytes)):
            print(line)


if __name__ == "__main__":
    main()
