"""`torch.save` and `torch.load`: files are PyTorch's, whatever their names end in."""
from __future__ import annotations

import os
from typing import Any

import lucid


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2,
         _use_new_zipfile_serialization: bool = True) -> None:
    """Write `obj` so that `torch.load` reads it: `lucid.save` in PyTorch's format. Raises TypeError for what is no tensor,
    number, text or container, as modules.
    """
    lucid.save(obj, f, format="pytorch")


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """Read a file of PyTorch's or lucid's: `lucid.load`. Nothing in it is executed, whatever `weights_only` is."""
    if not isinstance(f, str | os.PathLike) and hasattr(f, "seekable") and not f.seekable():
        raise ValueError("torch.load: the file must support seek and tell")
    return lucid.load(f, map_location, weights_only=weights_only, mmap=mmap)
