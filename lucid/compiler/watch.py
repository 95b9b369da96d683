"""What a function can see beside its arguments: variables of closures and modules, attributes, containers.

`Environment` walks from a function through all of these, and remembers each place with its content. A plan holds while every
place has the same content; a place that has another one after a call was written by it. Places are compared by identity, and
numbers, strings and the like by value.
"""
from __future__ import annotations

import array
import functools
import gc
import operator
import sys
import threading
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from .. import _dtypes
from .._random import Generator
from ..amp import GradScaler
from ..backends import Device
from ..nn.modules.module import Module
from ..optim.lr_scheduler import LRScheduler
from ..optim.optimizer import Optimizer
from ..tensor import Tensor
from ..tensor.nodes import Leaf

PLAIN = (type(None), bool, int, float, complex, str, bytes, slice, range, type(Ellipsis), Device, *_dtypes.CLASSES)
MOST = 50_000  # places; a function that sees more is not compiled
_MISSING = object()
_OWN = __name__.partition(".")[0]
_FOREIGN = frozenset(sys.stdlib_module_names) | {_OWN, "lucid_kernels", "numpy", "cupy", "numba", "torch"}
# By these names code reads what schedulers and optimizers change.
_STEPPING = frozenset(("param_groups", "get_last_lr", "get_lr", "defaults", "last_epoch", "_last_lr", "_step_count", "best",
                       "num_bad_epochs"))
_OPAQUE = frozenset(("numpy", "cupy", "numba", "torch", "builtins", "weakref", "_weakref", "threading", "_thread", "contextvars"))
_LARGE = 1024
_HERE = str(Path(__file__).parent.parent)
_REGISTRIES = ("_parameters", "_buffers", "_modules")
_DICT: dict[Any, Any] = {}
_VIEWS = (type(_DICT.keys()), type(_DICT.values()), type(_DICT.items()))  # those of other mappings are objects of Python
_ATOMS = frozenset((*PLAIN, types.CodeType, object))  # which lead nowhere; the last one is of what is missing


class Unwatchable(Exception):
    """A function sees something whose changes cannot be noticed."""


def is_foreign(module: Any) -> bool:
    """Whether code of the module of this name is taken to keep no state of its own: Python's, NumPy's and lucid's."""
    return not isinstance(module, str) or (module.partition(".")[0] in _FOREIGN and module != "__main__")


def _is_opaque(kind: type) -> bool:
    """Whether what objects of a class keep is left alone. Where `lucid.torch` serves `torch`, lucid's classes bear its name."""
    package = kind.__module__.partition(".")[0]
    return package in _OPAQUE and not (package == "torch" and type(sys.modules.get("torch")).__module__.startswith(_OWN))


def _module_of(function: types.FunctionType) -> str:
    """Where a function belongs that was compiled from a string, with variables that belong to no module."""
    return _OWN if function.__code__.co_filename.startswith(_HERE) else "__main__"


def same(a: Any, b: Any) -> bool:
    """Whether two contents are the same: one object, or equal plain values of one class; NaN is equal to itself."""
    if a is b:
        return True
    if a.__class__ is not b.__class__:
        return False
    if a.__class__ is tuple:
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (types.MethodType, types.BuiltinMethodType)):
        return bool(a == b)
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)  # also the signs of zeros
    return isinstance(a, PLAIN) and bool(a == b)


def _entry(container: Any, key: Any) -> Any:
    return container.get(key, _MISSING)


def _item(container: Any, key: int) -> Any:
    return container[key] if key < len(container) else _MISSING


def _cell(cell: Any, key: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty so far
        return _MISSING


def _attribute(owner: Any, name: str) -> Any:
    return getattr(owner, name, _MISSING)


def is_empty(place: tuple[Any, ...]) -> bool:
    """Whether a place is a container with nothing in it."""
    return place[0] in (_length, _members) and not place[3]


#: What a test raises where there is nothing any more.
GONE = (KeyError, IndexError, ValueError, AttributeError)


def as_test(place: tuple[Any, ...], name: Callable[[Any], str]) -> str:
    """Source that is true if a place has the very same content, and false or one of `GONE` otherwise; `name` gives a name to an
    object.
    """
    get, container, key, content = place
    if content is not _MISSING:
        if get in (_entry, _item):
            return f"{name(container)}[{name(key)}] is {name(content)}"
        if get is _cell:
            return f"{name(container)}.cell_contents is {name(content)}"
        if get is _attribute:
            return f"{name(container)}.{key} is {name(content)}"
        if get is _class_entry:
            return f"{name(vars(container))}[{name(key)}] is {name(content)}"
    if get is _length:
        return f"len({name(container)}) == {content}"
    if get is _members:
        seen = f"tuple({name(container)})" if content.__class__ is tuple else f"len({name(container)})"
        return f"{seen} == {name(content)}"
    if get is _stepped:
        return f"{name(_steps)}({name(container)}, {name(content)})"
    if get is _bytes:
        return f"{name(container)}.tobytes() == {name(content)}"
    if get is _copied:
        return f"bytes({name(container)}) == {name(content)}"
    return f"{name(get)}({name(container)}, {name(key)}) is {name(content)}"


def _bytes(array: Any, key: Any) -> Any:
    return array.tobytes()


def _copied(buffer: Any, key: Any) -> Any:
    return bytes(buffer)


def _value(variable: ContextVar[Any], key: Any) -> Any:
    return variable.get(_MISSING)


def _stepped(optimizer: Optimizer, key: Any) -> Any:
    """The parameters of an optimizer."""
    return tuple([param for group in optimizer.param_groups for param in group["params"]])


def _steps(optimizer: Optimizer, params: tuple[Any, ...]) -> bool:
    """Whether these are the parameters of an optimizer."""
    groups = optimizer.param_groups
    now = groups[0]["params"] if len(groups) == 1 else _stepped(optimizer, None)
    return len(now) == len(params) and all(map(operator.is_, now, params))


def _length(container: Any, key: Any) -> Any:
    return len(container)


def _members(container: Any, key: Any) -> Any:
    return tuple(container) if len(container) < 100 else len(container)


def _nothing(value: Any) -> None:
    """It is not looked into."""


class Environment:
    """The places that `roots` lead to: ``(get, container, key, content)`` each, and the tensors in them."""

    def __init__(self, roots: tuple[Any, ...]) -> None:
        self.places: list[tuple[Callable[[Any, Any], Any], Any, Any, Any]] = []
        self.tensors: dict[int, Tensor] = {}
        self._seen: dict[int, Any] = {}
        self._attributes: list[tuple[dict[str, Any], dict[str, Any]]] = []  # of tensors
        self._waiting: list[Any] = list(roots)
        self._modules: set[int] = set()  # that are being looked at
        self._visits: dict[type, Callable[[Any], None]] = {}
        seen, waiting, visits = self._seen, self._waiting, self._visits
        while waiting:
            value = waiting.pop()
            if value.__class__ in _ATOMS or id(value) in seen:
                continue
            seen[id(value)] = value
            (visits.get(value.__class__) or self._visit_of(value))(value)
            if len(self.places) > MOST:
                raise Unwatchable(f"the function sees more than {MOST} variables, attributes and elements of containers")
        del self._waiting, self._visits

    def changed(self) -> Iterator[tuple[Callable[[Any, Any], Any], Any, Any, Any, Any]]:
        """The places whose content is another one now, with that."""
        for get, container, key, content in self.places:
            now = get(container, key)
            if now is not content and not same(now, content):
                yield get, container, key, content, now
        for attributes, before in self._attributes:
            for key in attributes.keys() - before.keys():
                yield _entry, attributes, key, _MISSING, attributes[key]

    # ---- the walk ------------------------------------------------------------------------------------------------
    def _place(self, get: Callable[[Any, Any], Any], container: Any, key: Any) -> None:
        content = get(container, key)
        self.places.append((get, container, key, content))
        if content.__class__ not in _ATOMS:
            self._waiting.append(content)

    def _visit_of(self, value: Any) -> Callable[[Any], None]:
        """What is done with values of this class."""
        found = next((visit for classes, visit in (
            (PLAIN, _nothing), (Tensor, self._tensor), (Module, self._module), (Optimizer, self._optimizer),
            (LRScheduler, self._scheduler),
            (GradScaler, _nothing),  # its steps are called as they are too, and its scale is asked for
            ((dict, types.MappingProxyType), self._dict), (_VIEWS, self._view), (tuple, self._waiting.extend),
            ((list, deque), self._list), ((set, frozenset), self._set),
            (types.FunctionType, self._function), (types.MethodType, self._method), (functools.partial, self._partial),
            (type, self._class), ((np.ndarray, array.array), self._array), ((bytearray, memoryview), self._buffer),
            (ContextVar, self._context_variable), (threading.local, self._local), (types.ModuleType, _nothing))
            if isinstance(value, classes)), self._instance)
        self._visits[value.__class__] = found
        return found

    def _tensor(self, tensor: Tensor) -> None:
        self.tensors[id(tensor)] = tensor
        attributes = tensor.__dict__
        self._attributes.append((attributes, dict(attributes)))
        if attributes:
            self._waiting.append(attributes)
        node = tensor._node
        if node.__class__ is Leaf and (node.hooks or node.post_accumulate_hooks):
            self._waiting += [*(node.hooks or {}).values(), *(node.post_accumulate_hooks or {}).values()]

    def _optimizer(self, optimizer: Optimizer) -> None:  # its steps are called by replays as they are
        params = _stepped(optimizer, None)
        self.places.append((_stepped, optimizer, None, params))
        for name in ("step", "zero_grad"):  # an object's own, in the place of its class's
            self._place(_entry, vars(optimizer), name)
        self._waiting += params

    def _scheduler(self, scheduler: LRScheduler) -> None:
        self._waiting.append(scheduler.optimizer)

    def _dict(self, container: Any) -> None:
        self.places.append((_members, container, None, _members(container, None)))
        for key, content in [*container.items()]:
            self.places.append((_entry, container, key, content))
            if content.__class__ not in _ATOMS:
                self._waiting.append(content)

    def _view(self, view: Any) -> None:
        self._waiting += gc.get_referents(view)  # the dict: `view.mapping` is another object each time

    def _list(self, container: Any) -> None:
        self.places.append((_length, container, None, len(container)))
        for number in range(len(container)):
            self._place(_item, container, number)

    def _set(self, container: Any) -> None:
        self.places.append((_members, container, None, _members(container, None)))

    def _method(self, method: types.MethodType) -> None:
        self._waiting += (method.__func__, method.__self__)

    def _partial(self, partial: functools.partial[Any]) -> None:
        self._waiting += (partial.func, partial.args, partial.keywords)

    def _module(self, module: Module) -> None:
        state, places = module.__dict__, self.places
        places.append((_length, state, None, len(state)))
        for name, content in [*state.items()]:
            if content.__class__ in _ATOMS:
                places.append((_entry, state, name, content))
            elif name in _REGISTRIES or not (content.__class__ is OrderedDict and not content):
                places.append((_entry, state, name, content))
                self._waiting.append(content)
            else:  # hooks, of which there are none
                places.append((_length, content, None, 0))
        self._waiting.append(type(module))

    def _class(self, kind: type) -> None:
        for base in kind.__mro__:
            if not is_foreign(base.__module__):
                for name, content in list(vars(base).items()):
                    if name.startswith("__") and not isinstance(content, types.FunctionType):
                        continue
                    self._place(_class_entry, base, name)
                    if isinstance(content, property):
                        self._waiting += filter(None, (content.fget, content.fset))
                    elif isinstance(content, (staticmethod, classmethod)):
                        self._waiting.append(content.__func__)
        if type(kind) is not type:
            self._waiting.append(type(kind))

    def _array(self, array: Any) -> None:
        if (array.size if isinstance(array, np.ndarray) else len(array)) > _LARGE:
            raise Unwatchable("the function sees a large array that is no tensor, whose elements may change")
        self.places.append((_bytes, array, None, _bytes(array, None)))

    def _buffer(self, buffer: bytearray | memoryview) -> None:
        if memoryview(buffer).nbytes > _LARGE:
            raise Unwatchable(f"the function sees a large {type(buffer).__name__}, whose elements may change")
        self.places.append((_copied, buffer, None, _copied(buffer, None)))

    def _context_variable(self, variable: ContextVar[Any]) -> None:
        self._place(_value, variable, None)

    def _local(self, local: threading.local) -> None:
        self._waiting.append(vars(local))  # of this thread

    def _instance(self, value: Any) -> None:
        if isinstance(value, Iterator):
            raise Unwatchable(f"the function sees an iterator, a {type(value).__name__}, which gives something else each time")
        if _is_opaque(type(value)) or isinstance(value, Generator):
            return
        state = getattr(value, "__dict__", None)
        if not isinstance(state, dict):
            state = {}
        if "_compiled_function" in state or hasattr(type(value), "_compiled_function"):
            self._waiting.append(value._compiled_function)
            return
        self._waiting.append(type(value))
        self._waiting.append(state)
        for base in type(value).__mro__:
            slots = vars(base).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name not in ("__dict__", "__weakref__"):
                    self._place(_attribute, value, name)

    def _function(self, function: types.FunctionType) -> None:
        original = getattr(function, "__wrapped__", None)
        if original is not None:
            self._waiting.append(original)
            if function.__code__.co_filename.startswith(_HERE):  # a wrapper of lucid's, such as of `fuse`, and what it has kept
                return
        names = _names(function.__code__)
        for cell in function.__closure__ or ():
            self._place(_cell, cell, None)
            self._read_module(_cell(cell, None), names)
        if is_foreign(function.__module__ if "__name__" in function.__globals__ else _module_of(function)):
            return
        if function.__dict__:
            self._waiting.append(function.__dict__)
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self._place(_attribute, function, name)
        variables = function.__globals__
        for name in names & variables.keys():
            self._place(_entry, variables, name)
            self._read_module(variables[name], names)
        if names & _STEPPING:  # what schedulers change is read by the function itself
            for stepper in [v for v in [*self._seen.values(), *self._waiting] if isinstance(v, (Optimizer, LRScheduler))]:
                self._options(stepper)
            for cell in function.__closure__ or ():
                self._options(_cell(cell, None))
            for name in names & variables.keys():
                self._options(variables[name])

    def _read_module(self, module: Any, names: set[str]) -> None:
        """Look at what code that reads these names may read of a module, and of modules in it."""
        if isinstance(module, types.ModuleType) and not is_foreign(module.__name__) and id(module) not in self._modules:
            self._modules.add(id(module))
            for name in names & vars(module).keys():
                self._place(_entry, vars(module), name)
                self._read_module(vars(module)[name], names)
            self._modules.discard(id(module))

    def _options(self, stepper: Any) -> None:
        optimizer = stepper
        if isinstance(stepper, LRScheduler):
            optimizer = stepper.optimizer
            for name, content in list(vars(stepper).items()):
                if isinstance(content, (*PLAIN, list)):
                    self._place(_entry, vars(stepper), name)
        if isinstance(optimizer, Optimizer):
            for group in optimizer.param_groups:
                for name in group:
                    if name != "params":
                        self._place(_entry, group, name)


def _class_entry(kind: type, name: str) -> Any:
    return vars(kind).get(name, _MISSING)


def _names(code: types.CodeType) -> set[str]:
    """The names that a function and those defined inside it read."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found
