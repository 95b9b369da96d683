"""Gradients of gradients: what a rule saves for those only, and gradients by rules of simpler operations."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _clock as clock
from ..autograd.engine import grad
from ..autograd.errors import describe_one
from ..autograd.grad_mode import enable_grad, is_grad_enabled
from ..tensor import Tensor, write_count


class ForSecondOrder:
    """A tensor that `vjp` needs only where its gradients are recorded themselves: a write to it spoils no first ones, so the
    engine must not refuse it.
    """

    __slots__ = ("saved", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.saved = clock.tick()

    def __call__(self) -> Tensor:
        """The tensor. Raises RuntimeError if it has been written since it was saved."""
        box = self.tensor._version_box
        if box is not None and box.stamp > self.saved:
            raise RuntimeError("one of the variables needed for gradient computation has been modified by an inplace operation: "
                               f"{describe_one(self.tensor)}, which create_graph=True needs, is at version "
                               f"{write_count(self.tensor)}. Write out of place, or clone() it before the op.")
        return self.tensor


def by_recording(function: Callable[..., Any], inputs: Sequence[Tensor | None], needs: Sequence[bool], upstream: Any
                 ) -> list[Tensor | None]:
    """The gradients of the `inputs` that have `needs`, by the rules of the operations that `function` is made of: they
    differentiate again.
    """
    recorded = is_grad_enabled()
    with enable_grad():
        # A tensor that is given twice has two gradients: each argument is a tensor of its own.
        own = [_own(tensor, need) for tensor, need in zip(inputs, needs, strict=True)]
        wanted = [tensor for tensor, need in zip(own, needs, strict=True) if need and tensor is not None]
        results = function(*own)
        if not isinstance(results, Tensor):
            results, upstream = zip(*[(result, g) for result, g in zip(results, upstream) if g is not None],  # noqa: B905
                                    strict=True)
        found = iter(grad(results, wanted, upstream, create_graph=recorded, allow_unused=True))
    return [next(found) if need else None for need in needs]


def _own(tensor: Tensor | None, need: bool) -> Tensor | None:
    """A tensor for one argument, which requires grad if that needs its gradient, also where nobody else asks for it."""
    if tensor is None:
        return None
    if not need or tensor._node is not None:
        view: Tensor = tensor.view_as(tensor)
        return view
    return tensor.detach().requires_grad_()
