"""What a rule saves for gradients of gradients only: a write to it spoils no first ones, so the engine must not refuse it."""
from __future__ import annotations

from .. import _clock as clock
from ..autograd.errors import describe_one
from ..tensor import Tensor


class ForSecondOrder:
    """A tensor that `vjp` needs only where its gradients are recorded themselves."""

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
                               f"{self.tensor._version}. Write out of place, or clone() it before the op.")
        return self.tensor
