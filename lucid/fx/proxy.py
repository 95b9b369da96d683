"""`Proxy`: the symbol that stands for a value while a function is traced. Each operation on one becomes a node."""
from __future__ import annotations

import dataclasses
import dis
import enum
import inspect
import operator
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .._layout import Layout
from ..backends import Device
from ..backends.memory_format import MemoryFormat
from ..overrides import is_tensor_method_or_property
from ..tensor import Size, Tensor
from . import naming
from .graph import Graph
from .node import Argument, Node, Target, map_aggregate
from .operators import magic_methods, reflectable_magic_methods
from .watching import watch

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "Scope", "TraceError", "TracerBase", "assert_fn"]

_PLAIN = (str, int, float, bool, complex, bytes, Tensor, Device, MemoryFormat, Layout, enum.Enum, type(None),
          type(Ellipsis), type, np.generic)
_NOT_ITERABLE = ("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
                 "**kwargs function argument: a graph has no loops, so its length must be known when the function is traced")


class TraceError(ValueError):
    """A function cannot be traced: what it does next depends on a value that is not known yet.

    >>> try:
    ...     lucid.fx.symbolic_trace(lambda x: x if x else -x)
    ... except lucid.fx.proxy.TraceError as error:
    ...     print(error)
    symbolically traced variables cannot be used as inputs to control flow
    """


class Scope(NamedTuple):
    """The module whose `forward` is traced: its path, and its class."""

    module_path: str
    module_type: Any


def assert_fn(x: Any, message: str | None = None) -> None:
    """An assertion that was traced.

    >>> lucid.fx.proxy.assert_fn(True)
    """
    if not x:
        raise AssertionError(message) if message is not None else AssertionError


def assert_is_none(value: Any, message: str) -> None:
    """An assertion that an argument is None, as it was when the function was traced.

    >>> lucid.fx.proxy.assert_is_none(None, "it is something")
    """
    if value is not None:
        raise AssertionError(message)


class TracerBase:
    """What proxies ask to record something. `Tracer` traces functions and modules.

    A derived class sets `graph`, and may override what is done with values in control flow: `to_bool`, `iter` and `keys`. With
    `trace_asserts` assertions about proxies are recorded.
    """

    graph: Graph
    trace_asserts = False
    proxy_buffer_attributes = False
    root_module_name = ""
    scope = Scope("", None)

    def create_node(self, kind: str, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Argument],
                    name: str | None = None, type_expr: Any = None) -> Node:
        """Add a node to the graph; `args` and `kwargs` hold nodes."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        node.meta.update(self._meta())
        return node

    def _meta(self) -> dict[str, Any]:
        """What the nodes that are recorded now have as their `meta`."""
        return {}

    def proxy(self, node: Node) -> Proxy:
        """What stands for the value of a node."""
        return Proxy(node, self)

    def create_proxy(self, kind: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None,
                     type_expr: Any = None, proxy_factory_fn: Callable[[Node], Proxy] | None = None) -> Proxy:
        """Add a node for `args` and `kwargs` with proxies; gives what stands for its value."""
        arguments, keywords = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, arguments, keywords, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """A value as an argument of a node: proxies as their nodes. Raises NotImplementedError for objects of other classes than
        code can say; a class may have ``__fx_create_arg__(self, tracer)``.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(type(a), "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, Size):
            return type(a)(self.create_arg(tuple(a)))
        if isinstance(a, tuple):
            parts = [self.create_arg(each) for each in a]
            return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
        if isinstance(a, list):
            return [self.create_arg(each) for each in a]
        if isinstance(a, dict):
            return self._create_dict(a)
        if isinstance(a, slice):
            return slice(*(self.create_arg(each) for each in (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*(self.create_arg(each) for each in (a.start, a.stop, a.step)))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {field.name: self.create_arg(getattr(a, field.name)) for field in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        if isinstance(a, _PLAIN) or naming.is_dtype(a) or inspect.isroutine(a) or naming.public_path(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _create_dict(self, values: dict[Any, Any]) -> dict[Any, Argument]:
        found = {}
        for key, value in values.items():
            if first_proxy(key) is not None:
                raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}")
            found[key] = self.create_arg(value)
        return found

    def to_bool(self, obj: Proxy) -> bool:
        """The truth of a proxy: raises `TraceError`."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """The items of a proxy in a loop: raises `TraceError`."""
        raise TraceError(_NOT_ITERABLE)

    def keys(self, obj: Proxy) -> Any:
        """What ``obj.keys()`` is, which ``**obj`` calls."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Records what is done with proxies at the place where a graph inserts nodes.

    >>> graph = lucid.fx.Graph()
    >>> x = lucid.fx.Proxy(graph.placeholder("x"), lucid.fx.proxy.GraphAppendingTracer(graph))
    >>> _ = lucid.relu(x) + 1
    >>> list(graph.nodes)
    [x, relu, add]
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """Stands for the value of a node: operators, attributes, methods and lucid's functions with it are recorded as new nodes.

    `Proxy(node)` lets one write nodes into a graph as Python code. Its truth, its length and its items, but for
    ``a, b = proxy``, are not known: they raise.

    >>> graph = lucid.fx.Graph()
    >>> x = lucid.fx.Proxy(graph.placeholder("x"))
    >>> lucid.relu(x).sum(0) * 2
    Proxy(mul)
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node
        self._watch = watch()

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        if k in ("node", "tracer", "_watch"):  # of one that is being copied
            raise AttributeError(k)
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        instruction = _instruction(frame)
        if instruction is not None and instruction.opname == "UNPACK_SEQUENCE":
            return iter([self[number] for number in range(instruction.argval)])  # type: ignore[index]
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            asserted, message = _assertion(sys._getframe(1))
            if asserted:
                self.tracer.create_proxy("call_function", assert_fn, (self, message), {})
                return True
        return self.tracer.to_bool(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __len__(self) -> NoReturn:
        raise RuntimeError(f"'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please "
                           f"call {naming.package()}.fx.wrap('len') at module scope")

    def __contains__(self, item: Any) -> bool:
        raise TraceError(_NOT_ITERABLE)

    def keys(self) -> Any:
        """What the tracer makes of ``**proxy``."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, orig_method: Callable[..., Any], types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        keywords = kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def look(value: Any) -> Any:
            if isinstance(value, Proxy):
                tracers[value.tracer] = None
            return value

        map_aggregate((args, keywords), look)
        graphs = {id(tracer.graph) for tracer in tracers}
        if len(graphs) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}")
        tracer = next(iter(tracers))
        if is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", _method_name(orig_method), args, keywords)
        return tracer.create_proxy("call_function", orig_method, args, keywords)


class Attribute(Proxy):
    """An attribute of the value of a proxy, or, when it is called, a method: only then one knows which node it is."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None
        self._watch = root._watch

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node of the attribute, made when it is first asked for."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _method_name(method: Callable[..., Any]) -> str:
    """The name under which Tensor has a method."""
    own = vars(Tensor)
    return method.__name__ if own.get(method.__name__) is method else next(name for name, each in own.items() if each is method)


def _recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(*args: Any, **kwargs: Any) -> Any:
        return args[0].tracer.create_proxy("call_function", function, args, kwargs)

    return method


def _recorded_on_the_right(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Proxy, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    return method


for _name in magic_methods:
    if hasattr(operator, _name):
        setattr(Proxy, f"__{_name.strip('_')}__", _recorded(getattr(operator, _name)))
        if _name in reflectable_magic_methods and _name != "getitem":
            setattr(Proxy, f"__r{_name.strip('_')}__", _recorded_on_the_right(getattr(operator, _name)))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


def first_proxy(*arguments: Any) -> Proxy | None:
    """The first proxy among arguments, also in containers."""
    found: list[Proxy] = []

    def look(value: Any) -> Any:
        if isinstance(value, Proxy):
            found.append(value)
        return value

    map_aggregate(arguments, look)
    return found[0] if found else None


def _instruction(frame: FrameType) -> dis.Instruction | None:
    """What a frame is executing."""
    return next((each for each in dis.get_instructions(frame.f_code) if each.offset == frame.f_lasti), None)


def _assertion(frame: FrameType) -> tuple[bool, str | None]:
    """Whether a frame asks for the truth of something in an assertion, and the message of that."""
    passed = ("CACHE", "POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_TRUE", "TO_BOOL", "NOT_TAKEN")
    following = [each for each in dis.get_instructions(frame.f_code) if each.offset > frame.f_lasti and each.opname not in passed]
    if not following or following[0].opname not in ("LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT"):
        return False, None
    message = following[1].argval if following[1].opname == "LOAD_CONST" else None
    return True, message if isinstance(message, str) else None
