"""What the package einops needs to know of lucid: its functions then take tensors of lucid as those of other libraries.

einops finds libraries as classes derived from one of its own. Ours is made when einops is there: at once if it was imported
before, else as soon as its module of backends is, so that `import lucid` does not import it.
"""
from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import numpy as np

from ..ops.creation.creation import arange, from_numpy
from ..ops.linalg.einsum import einsum
from ..ops.manipulation.joining import cat, stack
from ..tensor import Tensor
from . import layers
from .shapes import asnumpy
from .transforms import combination

_MODULE = "einops._backends"


class _Watch:
    """A finder of modules that waits for einops."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module of backends as it is found otherwise, with `_register` after it; nothing else."""
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def executed(module: ModuleType) -> None:
                execute(module)
                _register(module)

            spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def introduce() -> None:
    """Make einops, imported already or later, know lucid."""
    module = sys.modules.get(_MODULE)
    if module is None:
        sys.meta_path.insert(0, _Watch())
    else:
        _register(module)


def _register(module: ModuleType) -> None:
    if hasattr(module, "AbstractBackend"):
        module.LucidBackend = _backend(module.AbstractBackend)  # type: ignore[attr-defined]  # else it would be forgotten


def _backend(abstract: Any) -> type:
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
