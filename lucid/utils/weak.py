"""Tensors as keys that a dictionary does not keep alive, by the names of torch.utils.weak: keys are compared by identity, as
tensors are compared element by element.

>>> notes = lucid.utils.weak.WeakTensorKeyDictionary()
>>> x = lucid.ones(2)
>>> notes[x] = "ones"
>>> notes[x], lucid.ones(2) in notes
('ones', False)
"""
from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref[Any]):
    """A weak reference that equals another one of the same object, and no other.

    >>> x = lucid.ones(2)
    >>> lucid.utils.weak.WeakIdRef(x) == lucid.utils.weak.WeakIdRef(x)
    True
    """

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine = self()
        if mine is not None and isinstance(other, WeakIdRef):
            return mine is other()
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary by the identity of its keys, which are forgotten with them.

    >>> found = lucid.utils.weak.WeakIdKeyDictionary()
    >>> x = lucid.ones(2)
    >>> found[x] = 3
    >>> del x
    >>> len(found)
    0
    """

    def __init__(self, dict: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None = None, ref_type: type = WeakIdRef) -> None:
        self.ref_type = ref_type
        self.data: Any = {}
        own = weakref.ref(self)

        def forget(reference: Any) -> None:
            mine = own()
            if mine is not None:
                mine.data.pop(reference, None)

        self._forget = forget
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # what has no weak references
            return False

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(key): value for key, value in self.items()} == {id(key): value for key, value in other.items()}

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: Any) -> WeakIdKeyDictionary:
        result = self.copy()
        result.update(other)
        return result

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def copy(self) -> WeakIdKeyDictionary:
        """Another dictionary with the same keys and values."""
        return type(self)(self, self.ref_type)

    def keyrefs(self) -> list[Any]:
        """The weak references."""
        return list(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: ``TensorWeakRef(x)()`` is x, or None when it is gone.

    >>> x = lucid.ones(2)
    >>> reference = lucid.utils.weak.TensorWeakRef(x)
    >>> reference() is x
    True
    >>> del x
    >>> print(reference())
    None
    """

    __slots__ = ("ref",)

    def __init__(self, tensor: Any) -> None:
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Any:
        return self.ref()
