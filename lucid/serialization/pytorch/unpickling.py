"""A reader of Python's pickles that calls nothing but what it knows.

A pickle is a program for a stack machine, which may name any function and call it. Here a name is looked up in a table of
`Known` objects, and everything else is refused by name. Nothing is imported, no attribute is set on anything that lives outside
the result, and the depth of the result is limited.

Source: the documentation of Python's `pickletools`, which also takes the program apart.
"""
from __future__ import annotations

import pickletools
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from typing import IO, Any

from ..structure import Damaged


class Known:
    """What a name in a pickle stands for: called, or taken as the value that it is."""

    __slots__ = ("call", "name", "value")

    def __init__(self, name: str, call: Callable[..., Any] | None = None, value: Any = None) -> None:
        self.name, self.call, self.value = name, call, value


class _Mark:
    __slots__ = ()


_MARK = _Mark()
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
#: The opcodes that push their argument.
_LITERALS = frozenset("""INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING BINBYTES
    SHORT_BINBYTES BINBYTES8 UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8""".split())
_EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_DICT": dict, "EMPTY_SET": set}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


#: What reads pickles in a context in the place of `machine_read`: for programs that say which files they trust.
reader: ContextVar[Callable[..., Any]] = ContextVar("lucid_pickle_reader")


def unpickle(file: IO[bytes], known: Callable[[str, str], Known], persistent: Callable[[Any], Any]) -> Any:
    """The object of the pickle that `file` is at, and no more of `file` is read.

    ``known(module, name)`` gives what a name stands for, and ``persistent(id)`` the object that an id does. Raises Damaged for
    what is no pickle and for what is refused.
    """
    read: Callable[..., Any] = reader.get(machine_read)
    return read(file, known, persistent)


def machine_read(file: IO[bytes], known: Callable[[str, str], Known], persistent: Callable[[Any], Any],
                 classes: frozenset[type] = frozenset()) -> Any:
    """What `unpickle` says; objects of `classes` may be made and given a state."""
    machine = _Machine(known, persistent, classes)
    try:
        for opcode, argument, _ in pickletools.genops(file):
            if opcode.name == "STOP":
                return machine.result()
            machine.run(opcode.name, argument)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError, OverflowError,
            StopIteration) as error:
        raise Damaged(f"its pickle is damaged: {type(error).__name__}: {error}") from None
    raise Damaged("its pickle has no end")


class _Machine:
    def __init__(self, known: Callable[[str, str], Known], persistent: Callable[[Any], Any], classes: frozenset[type]) -> None:
        self.known, self.persistent, self.classes = known, persistent, classes
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def result(self) -> Any:
        (value,) = self.stack
        return plain(value)

    def run(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in _LITERALS:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            count = _TUPLES[name]
            stack[-count:] = [tuple(plain(item) for item in stack[-count:])]
        else:
            step = getattr(self, f"_{name.lower()}", None)
            if step is None:
                raise Damaged(f"its pickle uses {name}, which no file of tensors needs")
            step(argument)

    # ---- the stack --------------------------------------------------------------------------------------------------
    def _proto(self, version: int) -> None:
        if version > 5:
            raise Damaged(f"its pickle has the unknown protocol {version}")

    def _frame(self, size: int) -> None:
        pass

    def _mark(self, _: None) -> None:
        self.stack.append(_MARK)

    def _marked(self) -> list[Any]:
        """What is above the last mark, which goes too."""
        place = next(number for number in range(len(self.stack) - 1, -1, -1) if self.stack[number] is _MARK)
        items = [plain(item) for item in self.stack[place + 1:]]
        del self.stack[place:]
        return items

    def _pop(self, _: None) -> None:
        self.stack.pop()

    def _pop_mark(self, _: None) -> None:
        self._marked()

    def _dup(self, _: None) -> None:
        self.stack.append(self.stack[-1])

    def _binput(self, number: int) -> None:
        self.memo[number] = self.stack[-1]

    _put = _long_binput = _binput

    def _memoize(self, _: None) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def _binget(self, number: int) -> None:
        self.stack.append(self.memo[number])

    _get = _long_binget = _binget

    # ---- containers -------------------------------------------------------------------------------------------------
    def _tuple(self, _: None) -> None:
        self.stack.append(tuple(self._marked()))

    def _list(self, _: None) -> None:
        self.stack.append(self._marked())

    def _dict(self, _: None) -> None:
        items = self._marked()
        self.stack.append(dict(zip(items[::2], items[1::2], strict=True)))

    def _frozenset(self, _: None) -> None:
        self.stack.append(frozenset(self._marked()))

    def _bytearray8(self, data: bytes) -> None:
        self.stack.append(bytearray(data))

    def _append(self, _: None) -> None:
        item = plain(self.stack.pop())
        _require(self.stack[-1], list).append(item)

    def _appends(self, _: None) -> None:
        items = self._marked()
        _require(self.stack[-1], list).extend(items)

    def _setitem(self, _: None) -> None:
        value, key = plain(self.stack.pop()), plain(self.stack.pop())
        _require(self.stack[-1], dict)[key] = value

    def _setitems(self, _: None) -> None:
        items = self._marked()
        _require(self.stack[-1], dict).update(zip(items[::2], items[1::2], strict=True))

    def _additems(self, _: None) -> None:
        items = self._marked()
        _require(self.stack[-1], set).update(items)

    # ---- names ------------------------------------------------------------------------------------------------------
    def _global(self, names: str) -> None:
        module, name = names.split(" ", 1)
        self.stack.append(self.known(module, name))

    def _stack_global(self, _: None) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise Damaged("its pickle names something by what is no text")
        self.stack.append(self.known(module, name))

    def _reduce(self, _: None) -> None:
        arguments = _require(plain(self.stack.pop()), tuple)
        function = self.stack.pop()
        if not isinstance(function, Known) or function.call is None:
            named = function.name if isinstance(function, Known) else type(function).__name__
            raise Damaged(f"its pickle calls {named}, which is no function that a file of tensors needs")
        self.stack.append(function.call(*arguments))

    def _newobj(self, _: None) -> None:
        function = self.stack[-2]
        if isinstance(function, Known) and function.value in self.classes:
            arguments = _require(plain(self.stack.pop()), tuple)
            self.stack[-1] = function.value.__new__(function.value, *arguments)
        else:
            self._reduce(_)

    def _build(self, _: None) -> None:
        """The state of an object: an OrderedDict has one, the `_metadata` of a state dict, and what `classes` allow."""
        state, target = plain(self.stack.pop()), self.stack[-1]
        if type(target) in self.classes:
            give_state(target, state)
        elif type(target) is OrderedDict and isinstance(state, dict) and state.keys() <= {"_metadata"}:
            vars(target).update(state)
        elif state:
            raise Damaged(f"its pickle gives a {type(target).__name__} a state, which could be anything")

    def _binpersid(self, _: None) -> None:
        self.stack.append(self.persistent(plain(self.stack.pop())))


def give_state(target: Any, state: Any) -> None:
    """What a pickle does with the state of an object."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    vars(target).update(attributes or {})
    for name, value in (slots or {}).items():
        setattr(target, name, value)


def plain(value: Any) -> Any:
    """`value`, or what it stands for if it is a known name. Raises Damaged for a function."""
    if not isinstance(value, Known):
        return value
    if value.value is None:
        raise Damaged(f"it holds the function or class {value.name} itself")
    return value.value


def _require(value: Any, kind: type) -> Any:
    if isinstance(value, kind) or (kind is dict and isinstance(value, Counter)):
        return value
    raise Damaged(f"its pickle takes a {type(value).__name__} for a {kind.__name__}")
