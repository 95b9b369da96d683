"""`torch.multiprocessing`: what it has of Python's `multiprocessing`."""
from __future__ import annotations

import multiprocessing
from typing import Any

import lucid

__all__ = [name for name in multiprocessing.__all__ if not name.startswith("_")]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(lucid.multiprocessing, name)
    raise AttributeError(name)
