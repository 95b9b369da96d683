"""`python -m lucid_kernels.cpu.matmul explain 64x512 512x512`: what computes a product, and why not the others."""
from __future__ import annotations

import numpy as np

from lucid_kernels.arguments import parser_of, sizes

from ..runtime.threads import THREADS
from .matmul import MATMUL
from .problem import problem_of


def main() -> None:
    parser = parser_of("cpu.matmul")
    parser.add_argument("left", type=sizes, help="MxK, or BxMxK of stacks")
    parser.add_argument("right", type=sizes, help="KxN, or BxKxN")
    parser.add_argument("--turned-left", action="store_true", help="the columns of the left matrix are contiguous")
    parser.add_argument("--turned-right", action="store_true", help="those of the right one, as the weight of a linear layer")
    parser.add_argument("--bias", action="store_true")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=THREADS.value)
    parser.add_argument("--vector-bytes", type=int, choices=[32, 64], help="of AVX2 or AVX-512; this processor's unless given")
    options = parser.parse_args()

    def operand(shape: tuple[int, ...], turned: bool) -> np.ndarray:
        array = np.empty((*shape[:-2], shape[-1], shape[-2]) if turned else shape, options.dtype)
        return array.swapaxes(-1, -2) if turned else array

    a, b = operand(options.left, options.turned_left), operand(options.right, options.turned_right)
    problem = problem_of(a, b, b if options.bias else None)
    for line in MATMUL.explain(problem._replace(threads=options.threads, vector_bytes=options.vector_bytes)):
        print(line)


if __name__ == "__main__":
    main()
