"""Buffers in lists and dictionaries."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

from ...tensor import Tensor
from ..parameter import Buffer, Parameter
from .container import _pairs, place_in
from .module import Module


class _BufferContainer(Module):
    """What BufferList and BufferDict share: entries are the buffers of this module, and `persistent` is the default.

    A tensor becomes a Buffer that is saved if the container is `persistent`; a `Buffer` keeps its own `persistent` and all its
    other options. None reserves an entry, which a state dict may fill. A tensor that is assigned to an entry becomes the new
    content of the same buffer; a new `Buffer` takes its place.
    """

    def __init__(self, persistent: bool) -> None:
        super().__init__()
        self.persistent = persistent

    def _set(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter) or not isinstance(value, (Tensor, type(None))):
            raise TypeError(f"{self._get_name()} takes tensors, buffers and None, but got {type(value).__name__} for {name!r}")
        if name in self._buffers:
            setattr(self, name, value)
        else:
            persistent = value.persistent if isinstance(value, Buffer) and value._declared else self.persistent
            self.register_buffer(name, value, persistent)

    def __len__(self) -> int:
        return len(self._buffers)

    def extra_repr(self) -> str:
        """`persistent=False`, where that is the default for entries."""
        return "" if self.persistent else "persistent=False"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{self._get_name()} should not be called.")


class BufferList(_BufferContainer):
    """A list of buffers: ``BufferList([mean, nn.Buffer(cache, persistent=False)])``. lucid's own; see the base class.

    Entries are registered, moved, saved and loaded as "0", "1", …. `persistent` says whether plain tensors are saved.
    Raises TypeError for anything but tensors, buffers and None (parameters belong into a ParameterList), IndexError outside
    the list.

    >>> module = nn.Module()
    >>> module.masks = nn.BufferList([lucid.ones(2), lucid.zeros(2)])
    >>> list(module.state_dict())
    ['masks.0', 'masks.1']
    """

    def __init__(self, buffers: Iterable[Any] | None = None, persistent: bool = True) -> None:
        super().__init__(persistent)
        if buffers is not None:
            self.extend(buffers)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._of(self._entries()[index])
        return self._buffers[str(place_in(self, index))]

    def __setitem__(self, index: int, value: Tensor | None) -> None:
        self._set(str(place_in(self, index)), value)

    def __delitem__(self, index: int | slice) -> None:
        entries = self._entries()
        del entries[index if isinstance(index, slice) else place_in(self, index)]
        self._replace(entries)

    def __iter__(self) -> Iterator[Tensor | None]:
        return iter(list(self._buffers.values()))

    def __add__(self, other: Iterable[Any]) -> BufferList:
        return self._of(self._entries()).extend(other)

    def __iadd__(self, other: Iterable[Any]) -> Self:
        return self.extend(other)

    def append(self, value: Tensor | None) -> Self:
        """Add an entry at the end."""
        self._set(str(len(self)), value)
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add entries at the end, those of a BufferList as persistent as they are there. Raises TypeError for something that
        is not iterable, and for a single tensor.
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"BufferList.extend should be called with an iterable, but got {type(values).__name__}")
        if isinstance(values, BufferList):
            self._replace(self._entries() + values._entries())
        else:
            for value in list(values):
                self.append(value)
        return self

    def insert(self, index: int, value: Tensor | None) -> None:
        """Put an entry before the one at `index`, or at an end of the list."""
        self.append(value)
        entries = self._entries()
        entries.insert(index, entries.pop())
        self._replace(entries)

    def pop(self, index: int = -1) -> Tensor | None:
        """Remove and return the entry at `index`."""
        value: Tensor | None = self[index]
        del self[index]
        return value

    def clear(self) -> None:
        """Remove all entries."""
        self._replace([])

    def _entries(self) -> list[tuple[Tensor | None, bool]]:
        """Pairs (buffer, whether it is persistent)."""
        return [(buffer, name not in self._non_persistent_buffers_set) for name, buffer in self._buffers.items()]

    def _of(self, entries: list[tuple[Tensor | None, bool]]) -> BufferList:
        other = type(self)(persistent=self.persistent)
        other._replace(entries)
        return other

    def _replace(self, entries: list[tuple[Tensor | None, bool]]) -> None:
        # The registries stay the same objects, refilled.
        self._buffers.clear()
        self._non_persistent_buffers_set.clear()
        for number, (buffer, persistent) in enumerate(entries):
            self.register_buffer(str(number), buffer, persistent)


class BufferDict(_BufferContainer):
    """A dictionary of buffers: ``BufferDict({"mean": mean, "cache": nn.Buffer(cache, persistent=False)})``. lucid's own; see
    the base class.

    `buffers` is a mapping or pairs (key, value), whose order is kept. Entries are registered, moved, saved and loaded by
    their keys. `persistent` says whether plain tensors are saved.
    Raises TypeError for a key that is not a string and for anything but tensors, buffers and None (parameters belong into a
    ParameterDict), KeyError for a key that is empty, has a dot or is an attribute of modules.

    >>> module = nn.Module()
    >>> module.statistics = nn.BufferDict({"mean": lucid.zeros(2), "std": lucid.ones(2)})
    >>> list(module.state_dict())
    ['statistics.mean', 'statistics.std']
    """

    def __init__(self, buffers: Any = None, persistent: bool = True) -> None:
        super().__init__(persistent)
        if buffers is not None:
            self.update(buffers)

    def __getitem__(self, key: str) -> Tensor | None:
        return self._buffers[key]

    def __setitem__(self, key: str, value: Tensor | None) -> None:
        self._set(key, value)

    def __delitem__(self, key: str) -> None:
        del self._buffers[key]
        self._non_persistent_buffers_set.discard(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._buffers)

    def __contains__(self, key: object) -> bool:
        return key in self._buffers

    def keys(self) -> Any:
        """The keys."""
        return self._buffers.keys()

    def values(self) -> Any:
        """The buffers."""
        return self._buffers.values()

    def items(self) -> Any:
        """Pairs (key, buffer)."""
        return self._buffers.items()

    def get(self, key: str, default: Any = None) -> Any:
        """The entry `key`, or `default`."""
        return self._buffers.get(key, default)

    def setdefault(self, key: str, default: Tensor | None = None) -> Tensor | None:
        """The entry `key`, set to `default` if it is not there."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str, *default: Any) -> Any:
        """Remove and return the entry `key`. Raises KeyError if it is not there and no default is given."""
        if key not in self and default:
            return default[0]
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Tensor | None]:
        """Remove and return the last pair (key, buffer). Raises KeyError if there is none."""
        if not self._buffers:
            raise KeyError("popitem(): the BufferDict is empty")
        key = next(reversed(self._buffers))
        return key, self.pop(key)

    def clear(self) -> None:
        """Remove all entries."""
        self._buffers.clear()
        self._non_persistent_buffers_set.clear()

    def update(self, buffers: Any) -> None:
        """Add or assign entries from a mapping or from pairs (key, value), those of a BufferDict as persistent as there."""
        if isinstance(buffers, BufferDict):
            for key, value in buffers.items():
                self.register_buffer(key, value, key not in buffers._non_persistent_buffers_set)
        else:
            for key, value in _pairs("BufferDict", buffers):
                self[key] = value

    def copy(self) -> BufferDict:
        """Another dictionary with the same buffers."""
        other = type(self)(persistent=self.persistent)
        other.update(self)
        return other

    def __or__(self, other: Any) -> BufferDict:
        result = self.copy()
        result.update(other)
        return result

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self
