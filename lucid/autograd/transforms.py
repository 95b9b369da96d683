"""The two transforms on flat lists of tensors: batches and tangents. Imported with the first of them."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..levels import batching as batching  # what computes on batched arrays
from ..levels.lifted import Level, inside
from ..tensor import Tensor
from . import forward_rules as forward_rules  # and on dual ones
from . import lifting
from .engine import grad
from .grad_mode import COMPOSED, LEVELS
from .grad_mode import mode as grad_mode
from .node import GradientEdge


@contextlib.contextmanager
def entered(level: Level) -> Iterator[None]:
    """Be inside of `level`."""
    token = grad_mode.set(grad_mode.get() & ~COMPOSED | LEVELS)
    try:
        with inside(level):
            yield
    finally:
        grad_mode.reset(token)


def mapped(function: Callable[..., Sequence[Tensor | None]], tensors: Sequence[Tensor], size: int) -> list[Tensor | None]:
    """`function` of the slices of `tensors` along their first dimensions, of length `size`, its results stacked."""
    level = Level(size)
    with entered(level):
        results = function(*[lifting.into_batch(tensor, 0, level) for tensor in tensors])
        return [None if result is None else lifting.out_of_batch(result, 0, level) for result in results]


def pushed(function: Callable[..., Sequence[Tensor]], primals: Sequence[Tensor], tangents: Sequence[Tensor]
           ) -> list[tuple[Tensor, Tensor | None]]:
    """The results of `function`, each with its tangent for those of `primals`; None for one that does not depend on them."""
    level = Level()
    with entered(level):
        results = function(*[lifting.with_tangent(x, t, level) for x, t in zip(primals, tangents, strict=True)])
        return [(lifting.value_of(result, level), lifting.tangent_of(result, level)) for result in results]


def batched_gradients(outputs: Any, inputs: Any, grad_outputs: Any, retain_graph: bool | None, create_graph: bool,
                      allow_unused: bool | None, materialize_grads: bool) -> tuple[Tensor | None, ...]:
    """`grad` for a batch of upstream gradients, along their first dimensions."""
    roots = [outputs] if isinstance(outputs, (Tensor, GradientEdge)) else list(outputs)
    given = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs or ())
    if len(given) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(given)} gradients")
    if any(g is None for g in given):
        raise RuntimeError("grad with is_grads_batched=True needs a tensor for each output, not None")
    sizes = {g.shape[0] if g.ndim else None for g in given}
    if len(sizes) != 1 or None in sizes:
        raise RuntimeError("If is_grads_batched=True, we interpret the first dimension of each grad_output as the batch "
                           f"dimension. Their lengths must be the same, but the shapes are {[list(g.shape) for g in given]}")
    for number, (root, g) in enumerate(zip(roots, given, strict=True)):
        if not isinstance(root, GradientEdge) and g.shape[1:] != root.shape:
            raise RuntimeError("If is_grads_batched=True, we interpret the first dimension of each grad_output as the batch "
                               "dimension. The sizes of the remaining dimensions are expected to match the shape of "
                               f"corresponding output, but a mismatch was detected: grad_output[{number}] has a shape of "
                               f"{g.shape} and output[{number}] has a shape of {root.shape}.")

    def back(*upstream: Tensor) -> tuple[Tensor | None, ...]:
        return grad(roots, inputs, upstream, retain_graph, create_graph, allow_unused=allow_unused,
                    materialize_grads=materialize_grads)

    return tuple(mapped(back, given, given[0].shape[0]))
