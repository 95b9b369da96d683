"""Scaled dot-product attention, forward and backward, with and without a causal mask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.cases.softmax import softmax
from bench.library import Library, target

BOUND = 0.5
SHAPES = ((8, 8, 256, 64), (8, 8, 1024, 64))


def cases(side: Side) -> Iterator[Case]:
    """Batch, heads, positions, width of a head."""
    for shape in SHAPES[:1] if side.quick else SHAPES:
        for causal in (False, True):
            yield _case(side, shape, causal)


def _case(side: Side, shape: tuple[int, ...], causal: bool) -> Case:
    arrays = [normal(*shape, seed=seed) for seed in range(4)]
    batch, heads, positions, width = shape

    def both(library: Library) -> Callable[[], Any]:
        leaves = [library.tensor(values, grad=True) for values in arrays[:3]]
        g, attention = library.tensor(arrays[3]), library.F.scaled_dot_product_attention

        def call() -> Any:
            for leaf in leaves:
                leaf.grad = None
            result = attention(*leaves, is_causal=causal)
            result.backward(g)
            return result

        return call

    def exact() -> np.ndarray:
        q, k, v = (values[0, 0].astype(np.float64) for values in arrays[:3])
        scores = q @ k.T / np.sqrt(width)
        if causal:
            scores[np.triu_indices(positions, 1)] = -np.inf
        return softmax(scores) @ v

    # Two products forward and four backward; where it does not pay to keep the probabilities, the scores once more. A causal
    # mask leaves half of each.
    product = 2 * batch * heads * positions * positions * width
    products = 6 if positions <= 4 * width and not causal else 7
    return target(side, f"attention {'x'.join(map(str, shape))}{' causal' if causal else ''} forward + backward", BOUND, both,
                  needs=("nn.functional.scaled_dot_product_attention",), flops=products * product // (2 if causal else 1),
                  arithmetic="3xtf32", bytes=8 * arrays[0].nbytes, exact=exact, part=np.s_[0, 0])
