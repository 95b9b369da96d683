"""The version of PyTorch that lucid stands for: packages compare `torch.__version__` and ask `importlib.metadata`."""
from __future__ import annotations

import importlib.metadata
import os
import re
from typing import Any

RELEASE = "2.13.0"
VERSION = f"{RELEASE}+lucid"


def _numbers(version: object) -> tuple[int, ...]:
    """The release in a version, a text, a sequence or a `packaging.version.Version`, without zeros at the end."""
    parts = version if isinstance(version, tuple | list) else re.findall(r"\d+", re.split(r"[^\d.]", str(version))[0])
    numbers = [int(part) for part in parts]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


class TorchVersion(str):
    """`torch.__version__`: a text that is compared by its numbers."""

    __slots__ = ()

    def __lt__(self, other: Any) -> bool:
        return _numbers(self) < _numbers(other)

    def __le__(self, other: Any) -> bool:
        return _numbers(self) <= _numbers(other)

    def __gt__(self, other: Any) -> bool:
        return _numbers(self) > _numbers(other)

    def __ge__(self, other: Any) -> bool:
        return _numbers(self) >= _numbers(other)

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or (isinstance(other, str | tuple | list) and "+" not in other
                                                   and _numbers(self) == _numbers(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)


class Distribution(importlib.metadata.Distribution):
    """What `importlib.metadata` says about `torch`."""

    def read_text(self, filename: str) -> str | None:
        """The metadata; there are no other files."""
        return f"Metadata-Version: 2.1\nName: torch\nVersion: {VERSION}\n" if filename == "METADATA" else None

    def locate_file(self, path: str | os.PathLike[str]) -> Any:
        """There are no files."""
        return path
