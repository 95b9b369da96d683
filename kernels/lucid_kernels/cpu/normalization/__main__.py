"""`python -m lucid_kernels.cpu.normalization explain 8x64x28x28`: what normalises a batch, and why not the others."""
from __future__ import annotations

from lucid_kernels.arguments import parser_of, sizes

from .implementations import FORWARD, GRADIENT, Problem


def main() -> None:
    parser = parser_of("cpu.normalization")
    parser.add_argument("input", type=sizes, help="NxC, or NxCxHxW and the like")
    options = parser.parse_args()
    if len(options.input) < 2 or 0 in options.input:
        parser.error("the input has samples and channels, none of length 0")

    problem = Problem.of(options.input)
    for title, some in (("forward", FORWARD), ("gradient", GRADIENT)):
        print(title)
        for line in some.explain(problem):
            print(line)


if __name__ == "__main__":
    main()
