"""`torch.save` and `torch.load`: files are PyTorch's, whatever their names end in."""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

import lucid
from lucid.utils._pytree import tree_leaves, tree_map

from .. import dtypes


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2,
         _use_new_zipfile_serialization: bool = True) -> None:
    """Write `obj` so that `torch.load` reads it: `lucid.save` in PyTorch's format. Raises TypeError for what is no tensor,
    number, text or container, as modules.
    """
    lucid.save(_with(obj, dtypes.dtype, lambda found: found.dtype), f, format="pytorch")


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """Read a file of PyTorch's or lucid's: `lucid.load`. Nothing in it is executed, whatever `weights_only` is."""
    if not isinstance(f, str | os.PathLike) and hasattr(f, "seekable") and not f.seekable():
        raise ValueError("torch.load: the file must support seek and tell")
    return _with(lucid.load(f, map_location, weights_only=weights_only, mmap=mmap), np.dtype, dtypes.of)


def _with(obj: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """`obj` with what is of a kind in it changed; `obj` itself where nothing is."""
    if not any(isinstance(leaf, kind) for leaf in tree_leaves(obj)):
        return obj
    return tree_map(lambda leaf: change(leaf) if isinstance(leaf, kind) else leaf, obj)
