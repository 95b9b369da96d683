"""`torch.save` and `torch.load`: files are PyTorch's, whatever their names end in."""
from __future__ import annotations

import os
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

import lucid.serialization
from lucid.nn.modules.module.state_dict import StateDictionary
from lucid.utils._pytree import tree_leaves, tree_map

from .. import dtypes


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2,
         _use_new_zipfile_serialization: bool = True) -> None:
    """Write `obj` so that `torch.load` reads it: tensors, numbers, texts and plain containers so that it does in any case, and
    everything else, such as modules and NumPy arrays, by Python's pickle, for ``weights_only=False``.
    """
    _require_pickle("save", pickle_module)
    if _is_plain(obj, set()):
        lucid.save(_with(obj, dtypes.dtype, lambda found: found.dtype), f, format="pytorch")
        return
    from . import pickles

    with pickles.anything():
        lucid.save(obj, f, format="pytorch")


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """Read a file of PyTorch's or lucid's: `lucid.load`, with tensors on the devices that they were saved from. Nothing in it is
    executed, but with ``weights_only=False``, and what `torch.serialization.add_safe_globals` names.
    """
    from . import pickles

    _require_pickle("load", pickle_module)
    map_location = {} if map_location is None else map_location
    if not isinstance(f, str | os.PathLike) and hasattr(f, "seekable") and not f.seekable():
        raise ValueError("torch.load: the file must support seek and tell")
    with pickles.trusting(weights_only):
        try:
            return _with(lucid.load(f, map_location, mmap=mmap), np.dtype, dtypes.of)
        except lucid.serialization.LoadError as error:
            if "its pickle names" in str(error):
                error.add_note("torch.load(..., weights_only=False) reads it, and runs what it says: only for files that you "
                               "trust; or name the classes with torch.serialization.add_safe_globals")
            raise


_LEAVES = (type(None), bool, int, float, str, bytes, bytearray, complex, lucid.Tensor, lucid.nn.Parameter, lucid.nn.Buffer,
           dtypes.dtype, lucid.device, lucid.Size)
_CONTAINERS = (dict, OrderedDict, StateDictionary, Counter, list, tuple, set)


def _is_plain(obj: Any, around: set[int]) -> bool:
    """Whether `obj` is of classes that are read in any case; derived classes, and what contains itself, are not."""
    if type(obj) in _LEAVES:
        return not hasattr(obj, "_array") or not obj.__dict__
    if type(obj) not in _CONTAINERS or id(obj) in around:
        return False
    inside = [*obj, *obj.values()] if isinstance(obj, dict) else obj
    return all(_is_plain(each, {*around, id(obj)}) for each in inside)


def _require_pickle(name: str, module: Any) -> None:
    if getattr(module, "__name__", "pickle") != "pickle":
        raise NotImplementedError(f"torch.{name}: lucid takes Python's pickle, not {module.__name__}")


def _with(obj: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """`obj` with what is of a kind in it changed; `obj` itself where nothing is."""
    if not any(isinstance(leaf, kind) for leaf in tree_leaves(obj)):
        return obj
    return tree_map(lambda leaf: change(leaf) if isinstance(leaf, kind) else leaf, obj)
