"""What the package einops needs to know of lucid; `lucid._namespace.einops_package` tells it."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.creation.creation import arange, from_numpy
from ..ops.linalg.einsum import einsum
from ..ops.manipulation.joining import cat, stack
from ..tensor import Tensor
from . import layers
from .shapes import asnumpy
from .transforms import combination


def derived(abstract: Any) -> type:
    """The class of lucid, derived from einops' class of backends."""
    class LucidBackend(abstract):  # type: ignore[misc]
        framework_name = "lucid"

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, Tensor)

        def from_numpy(self, x: np.ndarray) -> Any:
            tensor = from_numpy(x)
            return tensor.requires_grad_() if self.is_float_type(tensor) else tensor

        def to_numpy(self, x: Any) -> np.ndarray:
            return asnumpy(x)

        def arange(self, start: int, stop: int) -> Any:
            return arange(start, stop)

        def reduce(self, x: Any, operation: str, axes: Any) -> Any:
            return combination(operation)(x, tuple(sorted(axes)))

        def transpose(self, x: Any, axes: Any) -> Any:
            return x.permute(axes)

        def stack_on_zeroth_dimension(self, tensors: Any) -> Any:
            return stack(tensors)

        def add_axis(self, x: Any, new_position: int) -> Any:
            return x.unsqueeze(new_position)

        def add_axes(self, x: Any, n_axes: int, pos2len: dict[int, int]) -> Any:
            lengths = [-1] * n_axes
            for position, length in pos2len.items():
                x, lengths[position] = x.unsqueeze(position), length
            return x.expand(lengths)

        def tile(self, x: Any, repeats: Any) -> Any:
            return x.repeat(repeats)

        def concat(self, tensors: Any, axis: int) -> Any:
            return cat(tensors, axis)

        def is_float_type(self, x: Any) -> bool:
            return bool(x.is_floating_point())

        def layers(self) -> Any:
            return layers

        def einsum(self, pattern: str, *x: Any) -> Any:
            return einsum(pattern, *x)

    return LucidBackend
