"""State dicts in several files beside an index, and the folders that they lie in, under the names that Hugging Face gives them.

A folder holds `model.safetensors`, or `model-00001-of-00003.safetensors` and so on with `model.safetensors.index.json`, which
names the file of each key; with PyTorch's format `pytorch_model.bin` and `pytorch_model.bin.index.json`.
"""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from ..tensor import Tensor
from . import ties as _ties
from .output_file import written_at
from .structure import Damaged

_NAMES = {"safetensors": ("model", ".safetensors"), "pytorch": ("pytorch_model", ".bin")}  # the first that is there is read
_INDEX = ".index.json"
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", re.IGNORECASE)


Index = dict[str, pathlib.Path] | pathlib.Path  # the file of each key, or the only one


def index_of(path: str | os.PathLike[str]) -> Index | None:
    """What a folder or an index says; None for any other path. Raises Damaged, with the names of files and keys."""
    source = pathlib.Path(path)
    if source.is_dir():
        found = [source / (stem + end) for stem, suffix in _NAMES.values() for end in (suffix, suffix + _INDEX)]
        there = next((file for file in found if file.is_file()), None)
        if there is None:
            raise Damaged("the folder holds none of " + ", ".join(file.name for file in found))
        if not there.name.endswith(_INDEX):
            return there
        source = there
    elif not source.name.endswith(_INDEX):
        return None
    try:
        weight_map = json.loads(source.read_text(encoding="utf-8"))["weight_map"]
        for key, name in weight_map.items():
            if not isinstance(name, str) or name != os.path.basename(name) or name in ("", ".", ".."):
                raise Damaged(f"its index {source.name} says that '{key}' is in {name!r}, which is no file beside it")
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise Damaged(f"its index {source.name} is damaged ({type(error).__name__}: {error})") from error
    index = {key: source.parent / name for key, name in weight_map.items()}
    for file in files(index):
        if not file.is_file():
            raise Damaged(f"the file {file.name} with {_listed(_keys(index, file))} is missing")
    return index


def files(index: Index) -> list[pathlib.Path]:
    """The files of an index, each once."""
    return list(dict.fromkeys(index.values())) if isinstance(index, dict) else [index]


def load(index: Index, read: Callable[[pathlib.Path], Any]) -> Any:
    """What the files hold together, in the order of the index. Raises Damaged where one holds other keys than the index says."""
    if not isinstance(index, dict):
        return read(index)
    found: dict[str, Any] = {}
    metadata = None
    for file in files(index):
        part, keys = read(file), _keys(index, file)
        if not isinstance(part, dict):
            raise Damaged(f"the file {file.name} holds a {type(part).__name__}, not tensors by name")
        missing, unexpected = [key for key in keys if key not in part], [key for key in part if index.get(key) != file]
        if missing:
            raise Damaged(f"the file {file.name} lacks {_listed(missing)}, which the index says it holds")
        if unexpected:
            raise Damaged(f"the file {file.name} holds {_listed(unexpected)}, of which the index does not say so")
        found |= part
        metadata = getattr(part, "_metadata", metadata)
    state: OrderedDict[str, Any] = OrderedDict((key, found[key]) for key in index)
    if metadata is not None:
        state._metadata = metadata  # type: ignore[attr-defined]
    return state


def _keys(index: dict[str, pathlib.Path], file: pathlib.Path) -> list[str]:
    return [key for key, place in index.items() if place == file]


def save(state: Any, folder: str | os.PathLike[str], max_shard_size: int | str, format: str | None,
         write: Callable[[Any, str], Callable[[Any], None]]) -> None:
    """Write a state dict into `folder`, in files of at most `max_shard_size` bytes, or of one tensor.

    ``write(part, format)`` returns a function that writes a part to an open file. All files are complete before the first of them
    takes its place, and the index is the last, so a folder in which that was interrupted does not load as a mixture. What an
    earlier save left is removed.
    """
    stem, suffix = _named(format or "safetensors")
    limit = _bytes(max_shard_size)
    if not isinstance(state, dict) or not all(isinstance(k, str) and isinstance(v, Tensor) for k, v in state.items()):
        raise TypeError("max_shard_size needs tensors by name, such as state_dict() returns")
    target = pathlib.Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    parts = _parts(state, limit)
    names = [f"{stem}{suffix}"] if len(parts) == 1 else [f"{stem}-{n:05}-of-{len(parts):05}{suffix}"
                                                         for n in range(1, len(parts) + 1)]
    index = target / f"{stem}{suffix}{_INDEX}"
    writers = [write(part, format or "safetensors") for part in parts]
    with contextlib.ExitStack() as files:
        if len(parts) > 1:
            where = {key: name for part, name in zip(parts, names, strict=True) for key in part}
            document = {"metadata": {"total_size": sum(t.nbytes for t in state.values())},
                        "weight_map": {key: where[key] for key in state}}
            files.enter_context(written_at(index)).write(json.dumps(document, indent=2).encode() + b"\n")
        for name, writer in zip(names, writers, strict=True):
            writer(files.enter_context(written_at(target / name)))
        for old in _earlier(target):  # an index that is there while files change would join old ones and new ones
            if old.name not in names or old.name.endswith(_INDEX):
                old.unlink()


def _named(format: str) -> tuple[str, str]:
    if format not in _NAMES:
        raise ValueError(f"with max_shard_size format must be 'safetensors' or 'pytorch', not {format!r}")
    return _NAMES[format]


def _bytes(size: int | str) -> int:
    """A number of bytes, as ``5_000_000_000``, ``"5GB"`` or ``"512MiB"``."""
    if isinstance(size, str):
        match = _SIZE.fullmatch(size)
        if match is None:
            raise ValueError(f"max_shard_size must be a number of bytes, or one with a unit as '5GB' or '512MiB', not {size!r}")
        size = int(float(match[1]) * _UNITS[match[2].upper()])
    if size <= 0:
        raise ValueError("max_shard_size must be positive")
    return size


def _parts(state: dict[str, Tensor], limit: int) -> list[dict[str, Tensor]]:
    """`state` in parts of at most `limit` bytes, in its order. Tensors over the same memory stay together."""
    together: dict[str, list[str]] = {key: [key] for key in state}
    for tie in _ties.find({key: tensor for key, tensor in state.items() if not tensor.is_meta}):
        group = [key for key in state if key in tie["parts"]]
        together.update(dict.fromkeys(group, group))
    parts: list[OrderedDict[str, Tensor]] = [OrderedDict()]
    size, done = 0, set()
    for key in state:
        if key in done:
            continue
        group = together[key]
        done.update(group)
        nbytes = sum(state[name].nbytes for name in group)
        if parts[-1] and size + nbytes > limit:
            parts.append(OrderedDict())
            size = 0
        parts[-1].update((name, state[name]) for name in group)
        size += nbytes
    if len(parts) == 1:
        parts[0] = OrderedDict(state)  # in its own order
    metadata = getattr(state, "_metadata", None)
    if metadata is not None:
        parts[0]._metadata = metadata  # type: ignore[attr-defined]
    return list(parts)


def _earlier(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """The files of a state dict in `folder`."""
    for stem, suffix in _NAMES.values():
        pattern = re.compile(re.escape(stem) + r"(-\d{5}-of-\d{5})?" + re.escape(suffix) + f"({re.escape(_INDEX)})?")
        yield from [file for file in folder.iterdir() if pattern.fullmatch(file.name) and file.is_file()]


def _listed(keys: list[str]) -> str:
    return ", ".join(f"'{key}'" for key in keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
