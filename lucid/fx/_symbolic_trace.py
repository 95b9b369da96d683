"""`Tracer` and `symbolic_trace`: a function, or the `forward` of a module, runs once with proxies, which record a graph."""
from __future__ import annotations

import contextvars
import inspect
import math
import typing
import warnings
from collections import OrderedDict
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .._pytree import tree_leaves
from ..nn import Module, Parameter
from ..tensor import Tensor
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument
from .patching import Patches, wrap
from .proxy import Scope, TracerBase, assert_is_none, first_proxy

__all__ = ["PH", "ProxyableClassMeta", "Tracer", "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace", "wrap"]

_tracing: contextvars.ContextVar[bool] = contextvars.ContextVar("lucid_fx_tracing", default=False)


class _Placeholder:
    """The class of `PH`."""

    def __repr__(self) -> str:
        return "PH"


#: Among `concrete_args`: this argument is no concrete one.
PH = _Placeholder()


def is_fx_tracing() -> bool:
    """Whether a function is traced at present.

    >>> lucid.fx._symbolic_trace.is_fx_tracing()
    False
    """
    return _tracing.get()


def is_fx_symbolic_tracing() -> bool:
    """The same as `is_fx_tracing`.

    >>> lucid.fx._symbolic_trace.is_fx_symbolic_tracing()
    False
    """
    return _tracing.get()


class ProxyableClassMeta(type):
    """A metaclass of classes whose objects, when they are made of proxies while a function is traced, are recorded as calls of
    their class.

    >>> class Pair(metaclass=lucid.fx.ProxyableClassMeta):
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    ...     def sum(self):
    ...         return self.a + self.b
    >>> lucid.fx.symbolic_trace(lambda x: Pair(x, 1).sum())(2)
    3
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        found = first_proxy(args, kwargs) if is_fx_tracing() else None
        if found is None:
            return super().__call__(*args, **kwargs)
        return found.tracer.create_proxy("call_function", cls, args, kwargs)


class Tracer(TracerBase):
    """Traces functions and modules: what `symbolic_trace` uses. A derived class decides which modules are leaves, whose calls
    stand in the graph as a whole, or overrides `call_module`, `create_arg`, `create_proxy` and others.

    autowrap_modules: calls of the functions of these modules are recorded as a whole; autowrap_functions: calls of these.
    `param_shapes_constant` has no effect: shapes of parameters are known.

    >>> class Leaves(lucid.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return True
    >>> model = nn.Sequential(nn.Sequential(nn.ReLU()), nn.ReLU())
    >>> list(Leaves().trace(model).nodes), list(lucid.fx.Tracer().trace(model).nodes)
    ([input_1, _0, _1, output], [input_1, _0_0, _1, output])
    """

    def __init__(self, autowrap_modules: tuple[ModuleType, ...] = (math,),
                 autowrap_functions: tuple[Callable[..., Any], ...] = (), param_shapes_constant: bool = False) -> None:
        self._autowrap_modules = tuple(autowrap_modules)
        self._autowrap_functions = {id(function) for function in autowrap_functions} | {
            id(value) for module in autowrap_modules for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)}
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.module_stack: OrderedDict[str, Any] = OrderedDict()
        self.traced_func_name = "forward"
        self.root: Any = Module()
        self.tensor_attrs: dict[int, str] = {}

    # ---- what a derived class may change ---------------------------------------------------------------------------
    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether the call of a module stands in the graph as a whole: so do lucid's own layers but `Sequential`."""
        from ..nn import Sequential

        return type(m).__module__.startswith(("lucid.nn", "torch.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The dotted name of a module in the one that is traced. Raises NameError if it is not in it."""
        if self.submodule_paths is not None:
            found = self.submodule_paths.get(mod)
        else:
            found = next((name for name, each in self.root.named_modules() if each is mod), None)
        if found is None:
            raise NameError("module is not installed as a submodule")
        return found

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call of a module gives: of a leaf a proxy, else what ``forward(*args, **kwargs)`` gives."""
        path = self.path_of_module(m)
        before = self.scope
        self.scope = Scope(path, type(m))
        key = path if path not in self.module_stack else f"{path}@{len(self.module_stack)}"
        self.module_stack[key] = (path, type(m))
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.scope = before
            del self.module_stack[key]

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What an attribute of a module is that Python does not find itself: a parameter as a proxy, and a buffer with
        `proxy_buffer_attributes`.
        """
        if isinstance(attr_val, Parameter):
            named = self.root.named_parameters()
        elif self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            named = self.root.named_buffers()
        else:
            return attr_val
        name = next((name for name, each in named if each is attr_val), None)
        if name is None:
            return attr_val
        if name not in parameter_proxy_cache:
            parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {})
        return parameter_proxy_cache[name]

    def create_arg(self, a: Any) -> Argument:
        """A value as an argument of a node: tensors and modules as `get_attr`. A tensor that the root does not have becomes its
        attribute `_tensor_constant0`, with the next number.
        """
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if parameter is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if isinstance(a, Tensor):
            return self.create_node("get_attr", self._path_of_tensor(a), (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(each) for each in a), {})
        return super().create_arg(a)

    def _path_of_tensor(self, tensor: Tensor) -> str:
        for name, buffer in self.root.named_buffers():
            if buffer is tensor:
                return str(name)
        path = self.tensor_attrs.get(id(tensor))
        if path is None:
            number = 0
            while hasattr(self.root, f"_tensor_constant{number}"):
                number += 1
            path = self.tensor_attrs[id(tensor)] = f"_tensor_constant{number}"
            setattr(self.root, path, tensor)
        return path

    def _meta(self) -> dict[str, Any]:
        return {"nn_module_stack": self.module_stack.copy()} if self.module_stack else {}

    # ---- tracing -------------------------------------------------------------------------------------------------
    def create_args_for_root(self, root_fn: Callable[..., Any], is_module: bool,
                             concrete_args: Any = None) -> tuple[Any, list[Any]]:
        """The function to call, and what to call it with: proxies, and concrete arguments with assertions for them."""
        analysed: Any = inspect.unwrap(root_fn)
        code: CodeType = analysed.__code__
        names = list(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount])
        if is_module and not code.co_argcount:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        args: list[Any] = [self.root] if is_module else []
        parameters = inspect.signature(analysed).parameters
        if isinstance(concrete_args, tuple):
            given = names[len(args):]
            if len(given) != len(concrete_args):
                raise RuntimeError(f"Tracing expected {len(given)} arguments but got {len(concrete_args)} concrete arguments")
            concrete_args = dict(zip(given, concrete_args, strict=True))
        concrete = {name: value for name in names if name in (concrete_args or {})
                    and (value := concrete_args[name]) is not PH}
        kinds = _annotations(analysed)
        for name in names[len(args):]:
            default = () if parameters[name].default is inspect.Parameter.empty else (parameters[name].default,)
            kind = kinds.get(name)
            if name in concrete:
                args.append(self._concrete(name, list(concrete).index(name) + 1, concrete[name], default))
            else:
                args.append(self.create_proxy("placeholder", name, default, {}, type_expr=kind))
        starred = [flag for flag in (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS) if code.co_flags & flag]
        for flag, name in zip(starred, code.co_varnames[len(names):], strict=False):
            args.append(self.create_proxy("placeholder", ("*" if flag == inspect.CO_VARARGS else "**") + name, (), {}))
        if starred or code.co_kwonlyargcount:
            root_fn = _with_plain_arguments(analysed, len(args))
        return root_fn, args

    def _concrete(self, name: str, number: int, value: Any, default: tuple[Any, ...]) -> Any:
        """A concrete argument, with an assertion that later ones equal it."""
        if any(leaf is PH for leaf in tree_leaves(value)):
            raise NotImplementedError(f"concrete_args: {name!r} has PH within a container; it may stand for a whole argument")
        proxy: Any = self.create_proxy("placeholder", f"{name}_{number}", default, {})
        message = f"{name} has been specialized to have value {value} but got another value"
        if isinstance(value, bool | int | float) and not isinstance(value, Tensor):
            import lucid

            lucid._assert(proxy == value, message)
        elif value is None:
            self.create_proxy("call_function", assert_is_none, (proxy, message), {})
        else:
            warnings.warn(f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to "
                          "the user to make sure that inputs match those that the function was specialized with.", stacklevel=2)
        return value

    def trace(self, root: Module | Callable[..., Any], concrete_args: Any = None) -> Graph:
        """The graph of a module or a function. `concrete_args` has arguments that are not traced, by their names.

        >>> print(lucid.fx.Tracer().trace(lambda x: x + 1))
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %add : [num_users=1] = call_function[target=operator.add](args = (%x, 1), kwargs = {})
            return add
        """
        token = _tracing.set(True)
        try:
            if isinstance(root, Module):
                self.root = root
                if not hasattr(type(root), self.traced_func_name):
                    raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
                function: Any = getattr(type(root), self.traced_func_name)
                self.root_module_name = type(root).__name__
                self.submodule_paths = {module: name for name, module in root.named_modules()}
            else:
                self.root, function = Module(), root
            return self._traced(root, function, concrete_args)
        finally:
            self.submodule_paths = None
            _tracing.reset(token)

    def _traced(self, root: Any, function: Any, concrete_args: Any) -> Graph:
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {id(value): name for name, value in _tensors_of(self.root)}
        if not isinstance(function, FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(function)}")
        function, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        cache: dict[str, Any] = {}
        with Patches() as patches:
            self._patch(patches, cache)
            patches.record_wrapped()
            patches.record_named(function.__globals__, self._autowrap_functions)
            for module in self._autowrap_modules:
                patches.record_named(vars(module), self._autowrap_functions)
            self.create_node("output", "output", (self.create_arg(function(*args)),), {},
                             type_expr=_annotations(function).get("return"))
        return self.graph

    def _patch(self, patches: Patches, cache: dict[str, Any]) -> None:
        attribute, call = Module.__getattr__, Module.__call__

        def traced_attribute(module: Module, name: str) -> Any:
            return self.getattr(name, attribute(module, name), cache)

        def traced_tensors(module: Module, *names: str) -> list[Any]:
            return [getattr(module, name) for name in names]

        def traced_call(module: Module, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return call(module, *args, **kwargs)

            patches.record_named(getattr(type(module).forward, "__globals__", {}), self._autowrap_functions)
            return self.call_module(module, forward, args, kwargs)

        patches.set_attribute(Module, "__getattr__", traced_attribute)
        patches.set_attribute(Module, "_tensors", traced_tensors)
        patches.set_attribute(Module, "__call__", traced_call)


def _tensors_of(module: Module, prefix: str = "") -> list[tuple[str, Tensor]]:
    """The tensors that are plain attributes of a module and of those in it, by their dotted names."""
    found = [(prefix + name, value) for name, value in vars(module).items() if isinstance(value, Tensor)]
    for name, child in module.named_children():
        found += _tensors_of(child, f"{prefix}{name}.")
    return found


def _annotations(function: Any) -> dict[str, Any]:
    """The annotations of a function; those of lucid's own layers as types, where they say one."""
    if not (function.__module__ or "").startswith("lucid."):
        return dict(function.__annotations__)
    try:
        return {name: kind for name, kind in typing.get_type_hints(function).items() if kind is not Any}
    except NameError:
        return {}


def _with_plain_arguments(function: Any, count: int) -> FunctionType:
    """A function that takes what stands for its ``*args`` and ``**kwargs``, and its keywords, as plain arguments."""
    code = function.__code__
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    made = FunctionType(code.replace(co_argcount=count, co_kwonlyargcount=0, co_posonlyargcount=0, co_flags=flags),
                        function.__globals__, function.__name__, None, function.__closure__)
    made.__annotations__, made.__module__ = function.__annotations__, function.__module__
    return made


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: Any = None) -> GraphModule:
    """A module whose Python code is what a function, or the `forward` of a module, did with symbols in the place of tensors.

    The function runs once. What it does with its arguments is recorded; loops and branches that depend on other things are
    followed. `concrete_args` has, by their names, arguments that are not symbols: the module asserts that it gets the same.
    Raises `TraceError` where control flow depends on an argument.

    >>> traced = lucid.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    >>> print(traced.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        _1 = getattr(self, "1")(_0);  _0 = None
        return _1
    >>> traced(lucid.ones(1, 2)).shape
    lucid.Size([1, 3])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", "GraphModule")
    return GraphModule(tracer.root, graph, name)
