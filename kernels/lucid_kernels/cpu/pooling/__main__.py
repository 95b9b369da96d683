"""`python -m lucid_kernels.cpu.pooling explain 8x64x28x28 2`: what pools, and why not the others."""
from __future__ import annotations

from typing import Any

from lucid_kernels.arguments import parser_of, sizes
from lucid_kernels.windows import window_counts

from .implementations import AVERAGE, AVERAGE_GRAD, MAX, Pair, Problem


def _pair(text: str) -> Pair:
    given = sizes(text)
    return given * 2 if len(given) == 1 else given  # type: ignore[return-value]


def main() -> None:
    parser = parser_of("cpu.pooling")
    parser.add_argument("input", type=sizes, help="NxCxHxW")
    parser.add_argument("kernel", type=_pair, help="KHxKW, or one number for both")
    parser.add_argument("--stride", type=_pair, help="that of windows side by side, unless given")
    parser.add_argument("--padding", type=_pair, default=(0, 0))
    parser.add_argument("--dilation", type=_pair, default=(1, 1))
    options = parser.parse_args()

    stride = options.stride or options.kernel
    pooled: Any = window_counts(options.input[2:], options.kernel, stride, options.padding, options.dilation)
    problem = Problem(options.input[2:], pooled, options.kernel, stride, options.padding, options.dilation)
    for title, some in (("maxima", MAX), ("averages", AVERAGE), ("gradient of averages", AVERAGE_GRAD)):
        print(title)
        for line in some.explain(problem):
            print(line)


if __name__ == "__main__":
    main()
