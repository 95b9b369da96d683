"""Scaled dot-product attention in bfloat16, forward and backward, in the sizes of `targets.attention` and of a GPT-2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bench.case import Case, Side, normal
from bench.library import Library, target
from bench.targets import attention

SHAPES = (*attention.SHAPES, (4, 12, 1024, 64))


def cases(side: Side) -> Iterator[Case]:
    """Batch, heads, positions, width of a head."""
    for shape in SHAPES[:1] if side.quick else SHAPES:
        for causal in (False, True):
            yield _case(side, shape, causal)


def _case(side: Side, shape: tuple[int, ...], causal: bool) -> Case:
    small = (1, 2, 16, 16) if side.quick else shape

    def both(library: Library) -> Callable[[], Any]:
        *leaves, g = (library.tensor(normal(*small, seed=seed)).to(library.lib.bfloat16) for seed in range(4))
        for leaf in leaves:
            leaf.requires_grad_()

        def call() -> Any:
            for leaf in leaves:
                leaf.grad = None
            result = library.F.scaled_dot_product_attention(*leaves, is_causal=causal)
            result.backward(g)
            return result

        return call

    batch, heads, positions, width = shape
    product = 2 * batch * heads * positions * positions * width
    return target(side, f"bfloat16 attention {'x'.join(map(str, shape))}{' causal' if causal else ''} forward + backward", None,
                  both, needs=("nn.functional.scaled_dot_product_attention",), arithmetic="bfloat16",
                  flops=7 * product // (2 if causal else 1), bytes=8 * 2 * batch * heads * positions * width)
