"""Saving and loading: tensors, and containers of them, in safetensors or npz files. Nothing in a file is ever executed.

`safetensors`, `npz`: the file formats.
`pytorch`: PyTorch's own files.
`shards`: state dicts in several files with an index, and the folders of published models.
`progress`: a bar while large files are read.
`reading`: checks that the readers share.
`structure`: containers and plain values as JSON.
`ties`: tied tensors, which share memory.
`output_file`: atomic writes: a file appears as a whole or not at all.
`locations`: `map_location`.
`safe_globals`: classes that files may name, by PyTorch's names.

A file holds arrays by name, and beside them, as JSON, the structure that they belong to: see `structure`. In a flat state
dict the names are its keys, so every reader of these formats finds the tensors. Files without our structure load as a
dictionary of tensors.
"""
from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

import numpy as np

from .._writers import written_elsewhere
from ..backends import Device
from ..tensor import Tensor, as_array, version_box, wrap
from . import ties as _ties
from .locations import MapLocation, mover
from .output_file import written_at
from .safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .structure import Damaged, damage_noticed, pack, unpack

Path = str | os.PathLike[str]


class LoadError(RuntimeError):
    """A file that `load` cannot read: not one of our formats, truncated or damaged."""


def save(obj: Any, f: Path | IO[bytes], *, format: str | None = None, max_shard_size: int | str | None = None) -> None:
    """Save tensors, NumPy arrays and scalars, and what Python programs keep beside them, such as state dicts and checkpoints:

    dictionaries (also OrderedDict, Counter, defaultdict), lists, tuples, sets, ranges, slices, `argparse.Namespace`, paths,
    scalars, strings, bytes, bools, None, dtypes, devices and sizes. A subclass of dict or tuple becomes its base, a defaultdict
    whose function is not one of Python's own types a dict. Everything else is refused with TypeError, as members of an
    enumeration, named tuples and modules: to load it would run code.

    `f` is a path or a binary file. The format is 'safetensors', or 'npz', or for .pt, .pth and .bin 'pytorch', where the path
    ends so or `format` says it. PyTorch's own files, which ``torch.load`` reads, hold tensors, parameters, numbers, texts and
    plain containers; tensors that overlap in memory share a storage. A path is written atomically: to a temporary file beside
    it, which then takes its place, so there is never half a file. What cannot be replaced is written into: devices, pipes, a
    file that is a mount of its own or lies in a folder that is read-only. Tensors on a GPU are copied to the host and non-
    contiguous ones made contiguous. Those that share memory are written each on its own, for readers that know nothing of it,
    and share memory again when `load` has read them. A tensor on the device 'meta' is saved as its shape and dtype. All
    elements are read before the file appears at `f`, so a later step changes nothing in it.

    With `max_shard_size`, bytes as a number or as ``"5GB"``, `f` is a folder for a state dict: it gets `model.safetensors`, or
    where that would be larger `model-00001-of-00002.safetensors` and so on, and `model.safetensors.index.json` with the file of
    each key (``format="pytorch"``: `pytorch_model.bin`), the names of Hugging Face. What an earlier save left there is removed::

        lucid.save(model.state_dict(), "folder", max_shard_size="5GB")
        model.load_state_dict(lucid.load("folder"))

    Raises, with nothing written, TypeError for objects of other types, and ValueError for what could not be read again: an object
    that contains itself, names of more tensors than the header of safetensors has room for (npz has); RuntimeError, with `f`
    as it was, if a tensor is written by another thread meanwhile: for that, save a snapshot that was taken between two steps,
    ``state_dict(copy=True)``. Writes that no version counts, through `numpy()` and `data`, are not noticed.

    >>> import io
    >>> file = io.BytesIO()
    >>> lucid.save(nn.Linear(1, 2).state_dict(), file)
    >>> _ = file.seek(0)
    >>> list(lucid.load(file))
    ['weight', 'bias']
    """
    if max_shard_size is not None:
        from . import shards
        if not isinstance(f, (str, os.PathLike)):
            raise TypeError(f"with max_shard_size f must be the path of a folder, not {type(f).__name__}")
        with _unchanged({key: value for key, value in obj.items() if isinstance(value, Tensor)} if isinstance(obj, dict) else {}):
            shards.save(obj, f, max_shard_size, format, _write_part)
    elif isinstance(f, (str, os.PathLike)):
        path = pathlib.Path(f)
        chosen = format or _FORMATS.get(path.suffix, "safetensors")
        if chosen == "pytorch":
            _save_pytorch(obj, path)
            return
        write = _backend(chosen).write
        structure, tensors = _packed(obj)
        with written_at(path) as file, _unchanged(tensors):
            write(file, structure, tensors)
    elif hasattr(f, "write"):
        if format == "pytorch":
            _save_pytorch(obj, f)
            return
        write = _backend(format or "safetensors").write
        structure, tensors = _packed(obj)
        with _unchanged(tensors):
            write(f, structure, tensors)
    else:
        raise TypeError(f"expected a path or a binary file to write to, not {type(f).__name__}")


def load(f: Path | IO[bytes], map_location: MapLocation = None, *, weights_only: bool | None = None, mmap: bool | None = None,
         max_ratio: float | None = 100, progress: bool | None = None) -> Any:
    """Load what `save` wrote, or any safetensors or npz file: then the result is a dictionary of tensors by name. PyTorch's files
    (.pt, .pth, .bin; zip and legacy) give the object that was saved in them, of tensors, parameters, sizes, dtypes, devices and
    plain containers; whatever else is in one is refused by its name. A folder, or an index such as
    `model.safetensors.index.json`, gives the tensors of all of its files in the order of the index, read file by file; an error
    says which keys and files are not as the index says.

    Tensors are plain tensors on the CPU, or where `map_location` says, but those saved on the device 'meta' stay there:
    a device for all; a dictionary from the device that a tensor was saved from to another one (those that are not in it go to
    where they were saved from); or a function of the tensor on the CPU (tensors that share memory: that memory, as bytes) and
    the name of that device, which returns it moved, or None for where it was saved from.

    Dictionaries keep their order, a state dict its `_metadata`. The format is recognised by the content. Nothing in a file is
    ever executed: `weights_only` changes nothing. ``mmap=True`` reads the elements from the file when they are used; it needs a
    path, and safetensors or PyTorch's zip format. Compressed npz files may become at most `max_ratio` times as large in
    memory, beyond 256 MiB; None lifts that. A bar of tqdm shows how far it is: `progress` says whether, by default from 1 GiB
    on a terminal. Raises `LoadError`, a RuntimeError, that says what is wrong, for a file that is truncated, damaged or of
    another format.

    >>> import io
    >>> file = io.BytesIO()
    >>> lucid.save({"weight": lucid.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> lucid.load(file)
    {'weight': Tensor([1.0, 1.0], requires_grad=False)}
    """
    move = mover(map_location)
    if isinstance(f, (str, os.PathLike)):
        return _load_path(f, move, bool(mmap), max_ratio, progress)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    if not hasattr(f, "read"):
        raise TypeError(f"expected a path or a binary file to read from, not {type(f).__name__}")
    return _read(_from_its_start(f), f"file {getattr(f, 'name', type(f).__name__)!s}", move, False, max_ratio)


def _load_path(path: Path, move: Callable[[Tensor, Device], Tensor], mapped: bool, max_ratio: float | None,
               progress: bool | None) -> Any:
    from . import shards
    from .progress import bar, opened
    try:
        index = shards.index_of(path)
        files = [path] if index is None else shards.files(index)
        shown = None if mapped else bar(sum(os.stat(file).st_size for file in files), progress)
        with contextlib.nullcontext() if shown is None else shown:
            def read(path: Path) -> Any:
                with opened(path, shown) as file:
                    return _read(file if file.seekable() else io.BytesIO(file.read()), f"'{os.fspath(path)}'", move, mapped,
                                 max_ratio)

            return read(path) if index is None else shards.load(index, read)
    except Damaged as error:
        raise LoadError(f"cannot load '{os.fspath(path)}': {error}") from error


def _write_part(part: dict[str, Tensor], format: str) -> Callable[[IO[bytes]], None]:
    """A function that writes `part` to an open file."""
    if format == "pytorch":
        from . import pytorch
        return lambda file: pytorch.write(file, part)
    structure, tensors = _packed(part)
    return lambda file: _backend(format).write(file, structure, tensors)


_FORMATS = {".npz": "npz", **dict.fromkeys((".pt", ".pth", ".bin"), "pytorch")}


def _save_pytorch(obj: Any, f: pathlib.Path | IO[bytes]) -> None:
    from . import pytorch
    opened = written_at(f) if isinstance(f, pathlib.Path) else contextlib.nullcontext(f)
    with _unchanged(pytorch.tensors_in(obj)), opened as file:
        pytorch.write(file, obj)


def _from_its_start(f: IO[bytes]) -> IO[bytes]:
    """The rest of a file as one that can seek and read into memory: itself if that is so and all of it is left."""
    simple = hasattr(f, "readinto") and hasattr(f, "seekable") and f.seekable() and f.tell() == 0
    return f if simple else io.BytesIO(f.read())


def _packed(obj: Any) -> tuple[str, dict[str, Tensor]]:
    """The structure of `obj` as JSON, and its tensors by name."""
    document, tensors = pack(obj)
    ties = _ties.find(tensors)
    return json.dumps(document | ({"ties": ties} if ties else {}), separators=(",", ":")), tensors


def _backend(format: str) -> Any:
    """The module that reads and writes a format, imported by those who use it."""
    if format not in ("safetensors", "npz"):
        raise ValueError(f"format must be 'safetensors', 'npz' or 'pytorch', not {format!r}")
    return importlib.import_module(f".{format}", __package__)


def _read(file: IO[bytes], name: str, move: Callable[[Tensor, Device], Tensor], mapped: bool, max_ratio: float | None) -> Any:
    """The content of a file that is at its beginning and can seek."""
    try:
        start = file.read(16)
        file.seek(0)
        if start[:4] == b"PK\x03\x04" or start[:1] == b"\x80":
            from . import pytorch
            if pytorch.is_legacy(start):
                if mapped:
                    raise ValueError("mmap=True needs safetensors or PyTorch's zip format, and this is the format before it")
                return pytorch.read_legacy(file, move)
            if start[8:9] != b"{" and pytorch.is_archive(file):
                return pytorch.read_archive(file, move, mapped, max_ratio)
        structure, arrays = _read_arrays(file, mapped, max_ratio)
        with damage_noticed():
            document = {} if structure is None else json.loads(structure)
            kept = set(document.get("arrays", ()))  # NumPy's, which go to no device, and may have dtypes of their own
            devices = {key: Device(device) for key, device in document.get("devices", {}).items()}
            memories = _ties.lay_out(document.get("ties", []), arrays, max_ratio)
        tensors: dict[str, Tensor] = {}
        for memory in memories:
            saved = next((devices[key] for key in memory[1] if key in devices), Device("cpu"))
            tensors |= _ties.tensors_in(move(wrap(memory[0]), saved), memory)
        for key, array in arrays.items():
            if key in kept:
                tensors.setdefault(key, wrap(array))
            elif key not in tensors:
                try:
                    tensor = wrap(as_array(array))
                except TypeError as error:
                    raise Damaged(f"tensor '{key}': {error}") from None
                tensors[key] = move(tensor, devices.get(key, Device("cpu")))
        return tensors if structure is None else unpack(document, tensors)
    except Damaged as error:
        raise LoadError(f"cannot load {name}: {error}") from error


def _read_arrays(file: IO[bytes], mapped: bool, max_ratio: float | None) -> tuple[str | None, dict[str, np.ndarray]]:
    """The structure, if there is one, and the arrays in a file of either format."""
    start = file.read(9)
    file.seek(0)
    if not start:
        raise Damaged("it is empty")
    # A safetensors file begins with the length of its JSON header, which may look like the first bytes of any other format.
    safetensors = start[8:] == b"{"
    if start[:1] == b"\x80" and not safetensors:
        raise Damaged("it is a Python pickle, which could run any code. Save it as safetensors with the program that wrote it.")
    if start[:4] != b"PK\x03\x04" or safetensors:
        arrays: tuple[str | None, dict[str, np.ndarray]] = _backend("safetensors").read(file, mapped)
    elif mapped:
        raise ValueError("mmap=True needs a safetensors file, and this is an npz file")
    else:
        arrays = _backend("npz").read(file, max_ratio)
    return arrays


@contextlib.contextmanager
def _unchanged(tensors: dict[str, Tensor]) -> Iterator[None]:
    """Raise RuntimeError if one of `tensors` is written by another thread in this context, or is given other memory: the file
    would mix two states.
    """
    boxes = {name: version_box(tensor) for name, tensor in tensors.items()}
    counts = {name: box.count for name, box in boxes.items()}

    def refuse(changed: Iterable[str]) -> None:
        for name in changed:
            raise RuntimeError(f"'{name}' was written by another thread while it was being saved. Save a snapshot that was taken "
                               "between two steps: state_dict(copy=True).")

    busy = written_elsewhere()
    refuse(name for name, box in boxes.items() if box in busy)
    yield
    busy = written_elsewhere()  # before the counts: what ends in between has been counted
    refuse(name for name, box in boxes.items()
           if box in busy or box.count != counts[name] or tensors[name]._version_box is not box)
