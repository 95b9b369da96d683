"""The base classes of pipes, and how a class becomes a function of all of them."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Self

from ..dataset import Dataset, IterableDataset

Function = Callable[..., Any]


class DataChunk(list[Any]):
    """A batch of a pipe: a list.

    >>> lucid.data.DataChunk([1, 2]).as_str("  ")
    '  [1, 2]'
    """

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.items = self[:]

    def as_str(self, indent: str = "") -> str:
        """The elements in brackets."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self) -> Iterator[Any]:
        """The elements."""
        return iter(self.items)


class Shuffling:
    """What pipes in random order have in common."""

    _enabled = True
    _seed: int | None = None

    def set_shuffle(self, shuffle: bool = True) -> Self:
        """Switch it on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Self:
        """The seed of the next iterator."""
        self._seed = seed
        return self


class Batching:
    """What pipes of batches have in common."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: type = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = datapipe, batch_size, drop_last, wrapper_class

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class Joining:
    """What pipes of several others have in common."""

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = datapipes


class _Pipe:
    """What pipes of both kinds have: functions by name, which make the next pipe of a chain."""

    functions: ClassVar[dict[str, Function]]

    def __getattr__(self, attribute_name: str) -> Any:
        if attribute_name in type(self).functions:
            return functools.partial(type(self).functions[attribute_name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute_name}'")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.functions})

    def __repr__(self) -> str:
        return type(self).__name__

    @classmethod
    def register_function(cls, function_name: str, function: Function) -> None:
        """Let ``pipe.function_name(...)`` call ``function(pipe, ...)``."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: type, enable_df_api_tracing: bool = False
                                      ) -> None:
        """Let ``pipe.function_name(...)`` make ``cls_to_register(pipe, ...)``. Raises RuntimeError for a name that is taken."""
        if function_name in cls.functions:
            raise RuntimeError(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register


class _Checked:
    """The iterator of a pipe, until another one of that pipe is made."""

    def __init__(self, pipe: Any, iterator: Iterator[Any], number: int) -> None:
        self._pipe, self._iterator, self._number = pipe, iterator, number

    def __iter__(self) -> _Checked:
        return self

    def __next__(self) -> Any:
        if self._pipe._current_iterator != self._number:
            raise RuntimeError("This iterator has been invalidated because another iterator has been created from the same "
                               f"IterDataPipe: {self._pipe!r}\nThis may be caused multiple references to the same IterDataPipe. "
                               "We recommend using `.fork()` if that is necessary.")
        return next(self._iterator)


class IterDataPipe(_Pipe, IterableDataset[Any]):
    """A stream of samples in a chain: a subclass defines `__iter__`, and perhaps `reset`, which is called before. One iterator
    of a pipe is valid at a time.

    >>> class Squares(lucid.data.IterDataPipe):
    ...     def __iter__(self):
    ...         return iter([0, 1, 4])
    >>> list(Squares().batch(2))
    [[0, 1], [4]]
    """

    functions: ClassVar[dict[str, Function]] = {}
    _current_iterator = 0

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        begin = vars(cls).get("__iter__")
        if begin is None or getattr(begin, "is_checked", False):
            return

        @functools.wraps(begin)
        def checked(self: IterDataPipe) -> Any:
            self._current_iterator += 1
            self.reset()
            return _Checked(self, iter(begin(self)), self._current_iterator)

        checked.is_checked = True  # type: ignore[attr-defined]
        cls.__iter__ = checked  # type: ignore[assignment, method-assign]

    def reset(self) -> None:
        """Called when an iterator is made."""


class DFIterDataPipe(IterDataPipe):
    """A pipe of data frames, by PyTorch's name; there are no functions for these.

    >>> issubclass(lucid.data.DFIterDataPipe, lucid.data.IterDataPipe)
    True
    """


class MapDataPipe(_Pipe, Dataset[Any]):
    """Samples by index in a chain: a subclass defines `__getitem__` and `__len__`.

    >>> class Squares(lucid.data.MapDataPipe):
    ...     def __getitem__(self, index):
    ...         return index * index
    ...     def __len__(self):
    ...         return 3
    >>> list(Squares().map(lambda x: x + 1))
    [1, 2, 5]
    """

    functions: ClassVar[dict[str, Function]] = {}

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self)):
            yield self[index]


class functional_datapipe:
    """A decorator of a class of pipes: all pipes of its kind get a function of that name, which makes one.

    >>> @lucid.data.functional_datapipe("doubled_for_docs")
    ... class Doubler(lucid.data.IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         for x in self.source:
    ...             yield 2 * x
    >>> from lucid.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2]).doubled_for_docs())
    [2, 4]
    >>> _ = lucid.data.IterDataPipe.functions.pop("doubled_for_docs")
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: Any) -> Any:
        if not isinstance(cls, type) or not issubclass(cls, IterDataPipe | MapDataPipe):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe and MapDataPipe")
        base: Any = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        base.register_datapipe_as_function(self.name, cls)
        return cls


_deterministic = False


class guaranteed_datapipes_determinism:
    """The context in which pipes that are marked by `non_deterministic` refuse to be made: TypeError.

    >>> with lucid.data.guaranteed_datapipes_determinism():
    ...     pass
    """

    def __init__(self) -> None:
        global _deterministic
        self._before, _deterministic = _deterministic, True

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        global _deterministic
        _deterministic = self._before


def non_deterministic(arg: Any) -> Any:
    """A decorator of a class of pipes whose order differs from run to run; or of a class, given a function of its arguments that
    says whether it does.

    >>> @lucid.data.non_deterministic
    ... class Any(lucid.data.IterDataPipe):
    ...     pass
    >>> with lucid.data.guaranteed_datapipes_determinism():
    ...     Any()
    Traceback (most recent call last):
    TypeError: Any is non-deterministic, but you set 'guaranteed_datapipes_determinism'.
    """
    if isinstance(arg, type):
        if not issubclass(arg, IterDataPipe):
            raise TypeError(f"Only `IterDataPipe` can be decorated with `non_deterministic`, but {arg.__name__} is found")
        return _refusing(arg, lambda *args, **kwargs: True)
    if not callable(arg):
        raise TypeError(f"{arg} can not be decorated by non_deterministic")
    return lambda cls: _refusing(cls, arg)


def _refusing(cls: Any, differs: Function) -> Any:
    begin = cls.__init__

    @functools.wraps(begin)
    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        if _deterministic and differs(*args, **kwargs):
            raise TypeError(f"{cls.__name__} is non-deterministic, but you set 'guaranteed_datapipes_determinism'.")
        begin(self, *args, **kwargs)

    cls.__init__ = made
    return cls


def argument_validation(f: Function) -> Function:
    """The function itself: annotations of pipes are for checkers of types.

    >>> lucid.data.argument_validation(len) is len
    True
    """
    return f


def runtime_validation(f: Function) -> Function:
    """The function itself: annotations of pipes are for checkers of types.

    >>> lucid.data.runtime_validation(len) is len
    True
    """
    return f


class runtime_validation_disabled:
    """A context in which nothing is different.

    >>> with lucid.data.runtime_validation_disabled():
    ...     pass
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass
