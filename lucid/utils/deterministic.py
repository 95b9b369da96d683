"""What deterministic algorithms include, by the name of torch.utils.deterministic: `fill_uninitialized_memory`.

>>> lucid.utils.deterministic.fill_uninitialized_memory
True
"""
from __future__ import annotations

import sys
import types

from .. import _determinism


class _Settings(types.ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether `empty` and its kin give NaN, or the largest integer, while `use_deterministic_algorithms` is on."""
        return _determinism.fill_uninitialized

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"expected a bool, but got {type(mode).__name__}")
        _determinism.fill_uninitialized = mode


sys.modules[__name__].__class__ = _Settings
