"""Streams of files."""
from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from .pipes import IterDataPipe, functional_datapipe


class _OfLength(IterDataPipe):
    """A stream whose length is what its maker has said; -1 if that is unknown."""

    length: int

    def __len__(self) -> int:
        if self.length == -1:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length


@functional_datapipe("list_files")
class FileListerIterDataPipe(_OfLength):
    """The paths of the files in folders whose names fit a pattern of `masks`, in order; with `recursive` in those below too."""

    def __init__(self, root: Any = ".", masks: str | list[str] = "", *, recursive: bool = False, abspath: bool = False,
                 non_deterministic: bool = False, length: int = -1) -> None:
        self.datapipe: Any = [root] if isinstance(root, str) else root
        self.masks, self.recursive, self.abspath, self.length = masks, recursive, abspath, length

    def _fits(self, name: str) -> bool:
        masks: Sequence[str] = [self.masks] if isinstance(self.masks, str) else self.masks
        return not self.masks or any(fnmatch.fnmatch(name, mask) for mask in masks)

    def __iter__(self) -> Iterator[str]:
        for root in self.datapipe:
            for folder, inside, names in os.walk(root):
                inside.sort()
                place = os.path.abspath(folder) if self.abspath else folder
                yield from (os.path.join(place, name) for name in sorted(names) if self._fits(name))
                if not self.recursive:
                    break


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(_OfLength):
    """Pairs of a path and its file, open in `mode`."""

    def __init__(self, datapipe: Iterable[str], mode: str = "r", encoding: str | None = None, length: int = -1) -> None:
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.datapipe, self.encoding, self.length = datapipe, encoding, length
        self.mode = mode if "r" in mode else f"r{mode}"

    def __iter__(self) -> Iterator[tuple[str, IO[Any]]]:
        for path in self.datapipe:
            yield path, open(path, self.mode, encoding=self.encoding)  # noqa: SIM115 - who takes it closes it


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe):
    """Pairs of a path and what its file holds, as a whole or in pieces of `chunk`; files are closed."""

    def __init__(self, datapipe: IterDataPipe, chunk: int | None = None) -> None:
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for path, file in self.datapipe:
            with file:
                while True:
                    piece = file.read(self.chunk)
                    if not piece:
                        break
                    yield path, piece
