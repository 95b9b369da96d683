"""What a function can see beside its arguments: variables of closures and modules, attributes, containers.

`Environment` walks from a function through all of these, and keeps a guard for each: where it lies, and its content. A plan holds
while every guard has the same content; one that has another after a call was written by it. Contents are compared by identity,
and numbers, strings and the like by value.
"""
from __future__ import annotations

import array
import dis
import functools
import gc
import sys
import threading
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from operator import is_
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
Guard = tuple[Callable[[Any, Any], Any], Any, Any, Any]
MOST = 50_000  # guards; a function that sees more is not compiled
_MISSING = object()
_OWN = __name__.partition(".")[0]
_FOREIGN = frozenset(sys.stdlib_module_names) | {_OWN, "lucid_kernels", "numpy", "cupy", "numba", "torch"}
# By these names code reads what schedulers and optimizers change.
_STEPPING = frozenset(("param_groups", "get_last_lr", "get_lr", "defaults", "last_epoch", "_last_lr", "_step_count", "best",
                       "num_bad_epochs"))
_OPAQUE = frozenset(("numpy", "cupy", "numba", "torch", "builtins", "threading", "_thread", "contextvars"))
_WEAK = (weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet)
_CONTAINERS = frozenset((dict, OrderedDict, set))
_IMPORT = dis.opmap["IMPORT_NAME"]
_IMPORTING = ("modules", "import_module", "__import__")  # sys.modules, importlib.import_module
_LARGE = 1024
_HERE = str(Path(__file__).parent.parent)
_DICT: dict[Any, Any] = {}
_VIEWS = (type(_DICT.keys()), type(_DICT.values()), type(_DICT.items()))  # those of other mappings are objects of Python
_ATOMS = frozenset((*PLAIN, types.CodeType, object))  # which lead nowhere; the last one is of what is missing


class Unwatchable(Exception):
    """A function sees something whose changes cannot be noticed."""


class Snapshot(dict[Any, Any]):
    """What a dict held."""


def is_foreign(module: Any) -> bool:
    """Whether code of the module of this name is taken to keep no state of its own: Python's, NumPy's and lucid's."""
    return not isinstance(module, str) or _is_foreign(module)


@functools.lru_cache(4096)
def _is_foreign(module: str) -> bool:
    return module.partition(".")[0] in _FOREIGN and module != "__main__"


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
    if a.__class__ is Snapshot:
        return len(a) == len(b) and all(key in b and same(content, b[key]) for key, content in a.items())
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


def _entries(container: Any, before: Snapshot) -> Snapshot:
    """What a dict holds: `before` itself, if these very objects are still all."""
    if len(container) != len(before):
        return Snapshot(container)
    get = container.get
    for key, content in before.items():
        if get(key, before) is not content:  # where there is none it is `before`, which is no content
            return Snapshot(container)
    return before


def _attributes(state: dict[str, Any], before: Snapshot) -> Snapshot:
    """What the dict of a module holds."""
    return _entries(state, before)


def _items(container: Any, before: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a list holds, likewise."""
    return before if len(container) == len(before) and all(map(is_, container, before)) else tuple(container)


def _any(containers: tuple[Any, ...], key: Any) -> bool:
    """Whether one of them holds something."""
    return any(containers)


WHOLE = frozenset((_entries, _attributes, _items))  # what gives all that a container holds


def single(guard: Guard) -> list[Guard]:
    """The guards that make up one of a whole container."""
    get, container, _, content = guard
    if get is _entries or get is _attributes:
        return [(_length, container, None, len(content)), *[(_entry, container, key, its) for key, its in content.items()]]
    if get is _items:
        return [(_length, container, None, len(content)), *[(_item, container, key, its) for key, its in enumerate(content)]]
    if get is _any:
        return [(_length, each, None, 0) for each in container]
    return [guard]


#: What a test raises where there is nothing any more.
GONE = (KeyError, IndexError, ValueError, AttributeError)


def as_source(guard: Guard, name: Callable[[Any], str]) -> str:
    """Source that is true if a guard has the very same content, and false or one of `GONE` otherwise; `name` gives a name to an
    object.
    """
    get, container, key, content = guard
    if get is _any:
        return f"not any({name(container)})"
    if get in WHOLE:
        # The dicts of a module's hooks are looked into by `_any`, while there are none.
        return " and ".join([as_source(each, name) for each in single(guard)
                             if get is not _attributes or each[3].__class__ is not OrderedDict or each[3]])
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
    if get is absent:
        return f"{name(container.keys())}.isdisjoint({name(key)})"
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
    return len(now) == len(params) and all(map(is_, now, params))


def absent(variables: dict[str, Any], names: frozenset[str]) -> bool:
    """Whether there are no variables of these names."""
    return variables.keys().isdisjoint(names)  # looks at each name, not at each variable


def _is_alive(reference: Any, key: Any) -> bool:
    return reference() is not None


def _hooks(tensor: Tensor) -> list[Any]:
    """What waits for the gradient of a leaf."""
    node = tensor._node
    if node.__class__ is not Leaf or not (node.hooks or node.post_accumulate_hooks):
        return []
    return [*(node.hooks or {}).values(), *(node.post_accumulate_hooks or {}).values()]


def _length(container: Any, key: Any) -> Any:
    return len(container)


def _members(container: Any, key: Any) -> Any:
    return tuple(container) if len(container) < 100 else len(container)


class Environment:
    """The guards that `roots` lead to: ``(get, container, key, content)`` each, and the tensors in them."""

    def __init__(self, roots: tuple[Any, ...]) -> None:
        self.guards: list[Guard] = []
        self.tensors: dict[int, Tensor] = {}
        self._seen: dict[int, Any] = {}
        self._attributes: list[tuple[Tensor, dict[str, Any], list[Any]]] = []  # and hooks of tensors
        self._waiting: list[Any] = list(roots)
        self._empty: list[Any] = []  # containers, mostly of hooks
        self._weak: list[Any] = []  # references
        self._size = 0  # elements of containers
        self._modules: set[int] = set()  # that are being looked at
        seen, waiting = self._seen, self._waiting
        while waiting:
            value = waiting.pop()
            if value.__class__ in _ATOMS or id(value) in seen:
                continue
            seen[id(value)] = value
            _visit_of(value.__class__)(self, value)
            if len(self.guards) + self._size > MOST:
                raise Unwatchable(f"the function sees more than {MOST} variables, attributes and elements of containers")
        if self._empty:
            self.guards.append((_any, tuple(self._empty), None, False))
        if any(id(target) not in seen for target in (reference() for reference in self._weak) if target is not None):
            raise Unwatchable("the function sees what only a weak reference leads to, which may go")
        del self._waiting, self._empty, self._weak

    def changed(self) -> Iterator[tuple[Callable[[Any, Any], Any], Any, Any, Any, Any]]:
        """The guards whose content is another one now, with that."""
        for guard in self.guards:
            get, container, key, content = guard
            now = get(container, key)
            if now is not content and not same(now, content):
                for get, container, key, content in single(guard):
                    now = get(container, key)
                    if now is not content and not same(now, content):
                        yield get, container, key, content, now
        for tensor, before, _ in self._attributes:
            attributes = tensor.__dict__
            if len(attributes) > len(before):
                for key in attributes.keys() - before.keys():
                    yield _entry, attributes, key, _MISSING, attributes[key]

    def is_up_to_date(self) -> bool:
        """Whether another walk would find the same."""
        return next(self.changed(), None) is None and all(_hooks(tensor) == hooks for tensor, _, hooks in self._attributes)

    # ---- the walk ------------------------------------------------------------------------------------------------
    def _guard(self, get: Callable[[Any, Any], Any], container: Any, key: Any) -> None:
        content = get(container, key)
        self.guards.append((get, container, key, content))
        if content.__class__ not in _ATOMS:
            self._waiting.append(content)

    def _hold(self, get: Callable[[Any, Any], Any], container: Any, content: Any, values: Collection[Any]) -> None:
        """A whole container, with the values in it."""
        self.guards.append((get, container, content, content))
        self._size += len(values)
        self._waiting += [value for value in values if value.__class__ not in _ATOMS]

    def _nothing(self, value: Any) -> None:
        """It is not looked into."""

    def _tuple(self, values: tuple[Any, ...]) -> None:
        self._waiting += values

    def _tensor(self, tensor: Tensor) -> None:
        self.tensors[id(tensor)] = tensor
        attributes, hooks = tensor.__dict__, _hooks(tensor)
        self._attributes.append((tensor, dict(attributes), hooks))
        if attributes:
            self._waiting.append(attributes)
        self._waiting += hooks

    def _optimizer(self, optimizer: Optimizer) -> None:  # its steps are called by replays as they are
        params = _stepped(optimizer, None)
        self.guards.append((_stepped, optimizer, None, params))
        for name in ("step", "zero_grad"):  # an object's own, in the place of its class's
            self._guard(_entry, vars(optimizer), name)
        self._waiting += params

    def _scheduler(self, scheduler: LRScheduler) -> None:
        self._waiting.append(scheduler.optimizer)

    def _dict(self, container: Any) -> None:
        if not container and container.__class__ in _CONTAINERS:
            self._empty.append(container)
            return
        self.guards.append((_members, container, None, _members(container, None)))
        self._hold(_entries, container, Snapshot(container), container.values())

    def _view(self, view: Any) -> None:
        self._waiting += gc.get_referents(view)  # the dict: `view.mapping` is another object each time

    def _list(self, container: Any) -> None:
        self._hold(_items, container, tuple(container), container)

    def _set(self, container: Any) -> None:
        self.guards.append((_members, container, None, _members(container, None)))

    def _method(self, method: types.MethodType) -> None:
        self._waiting += (method.__func__, method.__self__)

    def _partial(self, partial: functools.partial[Any]) -> None:
        self._waiting += (partial.func, partial.args, partial.keywords)

    def _module(self, module: Module) -> None:
        state = module.__dict__
        before = Snapshot(state)
        self.guards.append((_attributes, state, before, before))
        for content in state.values():
            if content.__class__ in _CONTAINERS and not content:
                self._empty.append(content)  # mostly: there are no hooks
            elif content.__class__ not in _ATOMS:
                self._waiting.append(content)
        self._waiting.append(type(module))

    def _class(self, kind: type) -> None:
        for base in kind.__mro__:
            if not is_foreign(base.__module__):
                for name, content in list(vars(base).items()):
                    if name.startswith("__") and not isinstance(content, types.FunctionType):
                        continue
                    self._guard(_class_entry, base, name)
                    if isinstance(content, property):
                        self._waiting += filter(None, (content.fget, content.fset))
                    elif isinstance(content, (staticmethod, classmethod)):
                        self._waiting.append(content.__func__)
        if type(kind) is not type:
            self._waiting.append(type(kind))

    def _array(self, array: Any) -> None:
        if (array.size if isinstance(array, np.ndarray) else len(array)) > _LARGE:
            raise Unwatchable("the function sees a large array that is no tensor, whose elements may change")
        self.guards.append((_bytes, array, None, _bytes(array, None)))

    def _buffer(self, buffer: bytearray | memoryview) -> None:
        if memoryview(buffer).nbytes > _LARGE:
            raise Unwatchable(f"the function sees a large {type(buffer).__name__}, whose elements may change")
        self.guards.append((_copied, buffer, None, _copied(buffer, None)))

    def _context_variable(self, variable: ContextVar[Any]) -> None:
        self._guard(_value, variable, None)

    def _local(self, local: threading.local) -> None:
        self._guard(_attribute, local, "__dict__")  # another one in each thread

    def _reference(self, reference: weakref.ref[Any]) -> None:
        self.guards.append((_is_alive, reference, None, _is_alive(reference, None)))
        self._weak.append(reference)

    def _weak_container(self, container: Any) -> None:
        self._waiting.append(container.data)  # of values, or references to them
        self._weak += [key for key in container.data if isinstance(key, weakref.ref)]

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
                    self._guard(_attribute, value, name)

    def _function(self, function: types.FunctionType) -> None:
        original = getattr(function, "__wrapped__", None)
        if original is not None:
            self._waiting.append(original)
            if function.__code__.co_filename.startswith(_HERE):  # a wrapper of lucid's, such as of `fuse`, and what it has kept
                return
        names, variables = _names(function.__code__), function.__globals__
        found = names | _strings(function.__code__)
        is_pythons = is_foreign(variables.get("__name__"))  # of a decorator of Python's, which may have a cache
        for cell in function.__closure__ or ():
            if is_pythons and isinstance(_cell(cell, None), _WEAK):
                continue
            self._guard(_cell, cell, None)
            self._read_module(_cell(cell, None), found)
        if is_foreign(function.__module__ if "__name__" in variables else _module_of(function)):
            return
        if function.__dict__ and not is_pythons:
            self._waiting.append(function.__dict__)
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self._guard(_attribute, function, name)
        self._variables(variables, found)
        if "globals" in names and any(map(_computes_names, _codes(function.__code__))):
            raise Unwatchable("the function computes the names of variables, for globals()")
        if any(map(_imports, _codes(function.__code__))) or not names.isdisjoint(_IMPORTING):
            for name in found & sys.modules.keys():
                self._read_module(sys.modules[name], found)
            self.guards.append((absent, sys.modules, frozenset(found - sys.modules.keys()), True))
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
            self._variables(vars(module), names)
            if not names.isdisjoint(("vars", "__dict__")):
                self._waiting.append(vars(module))
            self._modules.discard(id(module))

    def _variables(self, variables: dict[str, Any], names: set[str]) -> None:
        """Look at what code that reads these names may read of variables of a module."""
        here = names & variables.keys()
        for name in here:
            self._guard(_entry, variables, name)
            self._read_module(variables[name], names)
        self.guards.append((absent, variables, frozenset(names - here), True))

    def _options(self, stepper: Any) -> None:
        optimizer = stepper
        if isinstance(stepper, LRScheduler):
            optimizer = stepper.optimizer
            for name, content in list(vars(stepper).items()):
                if isinstance(content, (*PLAIN, list)):
                    self._guard(_entry, vars(stepper), name)
        if isinstance(optimizer, Optimizer):
            for group in optimizer.param_groups:
                for name in group:
                    if name != "params":
                        self._guard(_entry, group, name)


_VISITS = (
    ((*PLAIN, GradScaler, types.ModuleType), Environment._nothing),  # scalers' steps are called as they are, too
    (Tensor, Environment._tensor), (Module, Environment._module), (Optimizer, Environment._optimizer),
    (LRScheduler, Environment._scheduler), ((dict, types.MappingProxyType), Environment._dict), (_VIEWS, Environment._view),
    (tuple, Environment._tuple), ((list, deque), Environment._list), ((set, frozenset), Environment._set),
    (types.FunctionType, Environment._function), (types.MethodType, Environment._method),
    (functools.partial, Environment._partial), (type, Environment._class), ((np.ndarray, array.array), Environment._array),
    ((bytearray, memoryview), Environment._buffer), (ContextVar, Environment._context_variable),
    (threading.local, Environment._local), (weakref.ref, Environment._reference),
    (_WEAK, Environment._weak_container), (object, Environment._instance))


@functools.lru_cache(1024)
def _visit_of(kind: type) -> Callable[[Environment, Any], None]:
    """What is done with values of this class."""
    return next(visit for classes, visit in _VISITS if issubclass(kind, classes))


def _class_entry(kind: type, name: str) -> Any:
    return vars(kind).get(name, _MISSING)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code, and that of those defined inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _imports(code: types.CodeType) -> bool:
    """Whether code may have an import statement."""
    return _IMPORT in code.co_code[::2]


def _computes_names(code: types.CodeType) -> bool:
    """Whether code asks ``globals()`` for something else than a variable whose name stands there."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "PRECALL", "PUSH_NULL")]
    return any(step.argval == "globals" and [next.opname for next in steps[number + 1:number + 4]] != [
        "CALL", "LOAD_CONST", "BINARY_SUBSCR"] for number, step in enumerate(steps))


def _names(code: types.CodeType) -> set[str]:
    """The names that a function reads."""
    return {name for each in _codes(code) for name in each.co_names}


def _strings(code: types.CodeType) -> set[str]:
    """The strings in a function, which may be names, too: ``globals()["x"]``, ``getattr(module, "x")``."""
    found: set[str] = set()
    for each in _codes(code):
        for constant in each.co_consts:
            found.update(part for part in (constant if isinstance(constant, (tuple, frozenset)) else (constant,))
                         if isinstance(part, str))
    return found
