"""Saving and loading: tensors, and containers of them, in safetensors or npz files. Nothing in a file is ever executed.

A file holds arrays by name, and beside them, as JSON, the structure that they belong to: see `lucid._structure`. In a flat
state dict the names are its keys, so every reader of these formats finds the tensors. Files without our structure load as a
dictionary of tensors.
"""
from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import pathlib
from collections.abc import Iterator
from typing import IO, Any

from . import _ties
from ._structure import Damaged, damage_noticed, pack, unpack
from .backends import Device
from .tensor import Tensor, as_array, wrap

Path = str | os.PathLike[str]


class LoadError(RuntimeError):
    """A file that `load` cannot read: not one of our formats, truncated or damaged."""


def save(obj: Any, f: Path | IO[bytes], *, format: str | None = None) -> None:
    """Save tensors, or dictionaries, lists and tuples of tensors, numbers, strings, bools and None, such as state dicts.

    `f` is a path or a binary file. The format is 'safetensors', or 'npz' where the path ends so or `format` says it. A path
    is written atomically: to a temporary file beside it, which then takes its place, so there is never half a file. Tensors
    on a GPU are copied to the host and non-contiguous ones made contiguous. Those that share memory are written each on its own,
    for readers that know nothing of it, and share memory again when `load` has read them. A tensor on the device 'meta' is
    saved as its shape and dtype. All elements are read before the file appears at `f`, so a later step changes nothing in it.
    Raises TypeError, with nothing written, for objects of other types, and RuntimeError, with `f` as it was, if another thread
    writes to a tensor meanwhile: for that, save a snapshot that was taken between two steps, ``state_dict(copy=True)``.
    """
    if isinstance(f, (str, os.PathLike)):
        path = pathlib.Path(f)
        write = _backend(format or ("npz" if path.suffix == ".npz" else "safetensors")).write
        structure, tensors = _packed(obj)
        with _replacing(path) as file, _unchanged(tensors):
            write(file, structure, tensors)
    elif hasattr(f, "write"):
        write = _backend(format or "safetensors").write
        structure, tensors = _packed(obj)
        with _unchanged(tensors):
            write(f, structure, tensors)
    else:
        raise TypeError(f"expected a path or a binary file to write to, not {type(f).__name__}")


def load(f: Path | IO[bytes], map_location: str | Device | None = None) -> Any:
    """Load what `save` wrote, or any safetensors or npz file: then the result is a dictionary of tensors by name.

    Tensors are plain tensors on the CPU, or on the device `map_location`, but those saved on the device 'meta' stay there;
    dictionaries keep their order, a state dict its `_metadata`. The format is recognised by the content. Raises `LoadError`, a
    RuntimeError, that says what is wrong, for a file that is truncated, damaged or of another format.
    """
    device = Device("cpu" if map_location is None else map_location)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _read(file, f"'{os.fspath(f)}'", device)
    if not hasattr(f, "read"):
        raise TypeError(f"expected a path or a binary file to read from, not {type(f).__name__}")
    return _read(io.BytesIO(f.read()), f"file {getattr(f, 'name', type(f).__name__)!s}", device)


def _packed(obj: Any) -> tuple[str, dict[str, Tensor]]:
    """The structure of `obj` as JSON, and its tensors by name."""
    document, tensors = pack(obj)
    ties = _ties.find(tensors)
    return json.dumps(document | ({"ties": ties} if ties else {}), separators=(",", ":")), tensors


def _backend(format: str) -> Any:
    """The module that reads and writes a format, imported by those who use it."""
    if format not in ("safetensors", "npz"):
        raise ValueError(f"format must be 'safetensors' or 'npz', not {format!r}")
    return importlib.import_module(f"._{format}", __package__)


def _read(file: IO[bytes], name: str, device: Device) -> Any:
    start = file.read(9)
    file.seek(0)
    if not start:
        raise LoadError(f"cannot load {name}: it is empty")
    # A safetensors file begins with the length of its JSON header, which may look like the first bytes of any other format.
    safetensors = start[8:] == b"{"
    if start[:1] == b"\x80" and not safetensors:
        raise LoadError(f"cannot load {name}: it is a Python pickle, which could run any code. Save it as safetensors with "
                        "the program that wrote it.")
    read = _backend("npz" if start[:4] == b"PK\x03\x04" and not safetensors else "safetensors").read
    try:
        structure, arrays = read(file)
        with damage_noticed():
            document = {} if structure is None else json.loads(structure)
            tensors = _ties.restore(document.get("ties", []), arrays, device)
        for key, array in arrays.items():
            if key not in tensors:
                try:
                    tensors[key] = wrap(as_array(array, None, device))
                except TypeError as error:
                    raise Damaged(f"tensor '{key}': {error}") from None
        return tensors if structure is None else unpack(document, tensors)
    except Damaged as error:
        raise LoadError(f"cannot load {name}: {error}") from error


@contextlib.contextmanager
def _unchanged(tensors: dict[str, Tensor]) -> Iterator[None]:
    """Raise RuntimeError if one of `tensors` is written in this context: the file would mix two states."""
    versions = {name: tensor._version for name, tensor in tensors.items()}
    yield
    changed = [name for name, tensor in tensors.items() if tensor._version != versions[name]]
    if changed:
        raise RuntimeError(f"'{changed[0]}' was written by another thread while it was being saved. Save a snapshot that was "
                           "taken between two steps: state_dict(copy=True).")


@contextlib.contextmanager
def _replacing(path: pathlib.Path) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `path` at the end, complete and on disk, or else vanishes."""
    import tempfile  # 5 ms of the time of `import lucid` otherwise

    target = path.resolve()  # a symbolic link stays one
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_directory(target.parent)


def _mode(target: pathlib.Path) -> int:
    """The permissions of the file that is replaced, or those of any new file; a temporary file would be private."""
    with contextlib.suppress(OSError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_directory(directory: pathlib.Path) -> None:
    """Make a rename last through a power cut, where directories can be opened (not on Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
