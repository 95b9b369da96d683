"""The list of classes and functions that PyTorch's `load` may make objects of. lucid makes tensors, numbers, texts and plain
containers, and nothing else, whatever stands in the list: it is kept for programs that fill and read it.

>>> with lucid.serialization.safe_globals([set]):
...     print(lucid.serialization.get_safe_globals())
[<class 'set'>]
"""
from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"]

_known: list[Any] = []


def add_safe_globals(safe_globals: Sequence[Any]) -> None:
    """Add classes and functions to the list. `load` refuses their objects all the same.

    >>> lucid.serialization.add_safe_globals([set])
    >>> lucid.serialization.get_safe_globals()
    [<class 'set'>]
    >>> lucid.serialization.clear_safe_globals()
    """
    _known.extend(each for each in safe_globals if each not in _known)


def clear_safe_globals() -> None:
    """Empty the list.

    >>> lucid.serialization.clear_safe_globals()
    """
    _known.clear()


def get_safe_globals() -> list[Any]:
    """The list.

    >>> lucid.serialization.get_safe_globals()
    []
    """
    return list(_known)


class safe_globals(contextlib.AbstractContextManager[None]):
    """The context in which classes and functions are in the list.

    >>> with lucid.serialization.safe_globals([set]):
    ...     print(lucid.serialization.get_safe_globals())
    [<class 'set'>]
    """

    def __init__(self, safe_globals: Sequence[Any]) -> None:
        self._added = list(safe_globals)
        self._before: list[list[Any]] = []

    def __enter__(self) -> None:
        self._before.append(get_safe_globals())
        add_safe_globals(self._added)

    def __exit__(self, *error: object) -> None:
        _known[:] = self._before.pop()
