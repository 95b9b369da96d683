"""Modules whose `forward` is the code of a graph."""
from __future__ import annotations

import copy
import itertools
import linecache
from typing import Any

from ..nn import Module, Parameter
from ..tensor import Tensor
from . import naming
from .graph import Graph, PythonCode

__all__ = ["Graph", "GraphModule", "PythonCode"]

_numbers = itertools.count()
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_HOOKS = """
_state_dict_hooks _state_dict_pre_hooks _load_state_dict_pre_hooks _load_state_dict_post_hooks _forward_hooks _forward_pre_hooks
_forward_hooks_with_kwargs _forward_hooks_always_called _forward_pre_hooks_with_kwargs _backward_hooks
_backward_pre_hooks""".split()


def _compiled(code: PythonCode) -> Any:
    """The function `forward` of a text; errors in it show its lines."""
    name = f"<lucid.fx {next(_numbers)}>"
    linecache.cache[name] = (len(code.src), None, code.src.splitlines(keepends=True), name)
    space = dict(code.globals)
    exec(compile(code.src, name, "exec"), space)
    return space["forward"]


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Put what stands at a dotted name of one module at the same name of another."""
    *path, name = target.split(".")
    for each in path:
        following = getattr(to_module, each, None)
        if following is getattr(from_module, each):
            return  # a module that has been put there as a whole
        if following is None:
            following = Module()
            to_module.add_module(each, following)
        from_module, to_module = getattr(from_module, each), following
    value = getattr(from_module, name)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        to_module.register_buffer(name, value)
    else:
        setattr(to_module, name, value)


def _assign_attr(value: Any, to_module: Module, target: str) -> None:
    """Put a value at a dotted name of a module."""
    *path, name = target.split(".")
    for each in path:
        if not hasattr(to_module, each):
            to_module.add_module(each, Module())
        to_module = getattr(to_module, each)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        to_module.register_buffer(name, value)
    else:
        setattr(to_module, name, value)


class _CodeOnlyModule(Module):
    """A module with the attributes of another."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


class GraphModule(Module):
    """A module that runs a graph. `code` is its Python code; after changes of `graph` `recompile()` updates it, and an
    assignment to `graph` does so.

    root: the module, or a dictionary, in which the targets of the graph stand: those are shared with it, nothing else.

    >>> traced = lucid.fx.symbolic_trace(lambda x: lucid.relu(x))
    >>> node = next(node for node in traced.graph.nodes if node.target is lucid.relu)
    >>> node.target = lucid.neg
    >>> traced.recompile().src == traced.code
    True
    >>> traced(lucid.ones(2))
    Tensor([-1.0, -1.0], requires_grad=False)
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        """An object of a class of its own, for its `forward`."""
        own: Any = _own_class(cls)

        class GraphModuleImpl(own):  # type: ignore[misc]
            """One module's class."""

            _is_of_one = True

        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        targets = [str(node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = root.training
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(f"Node {node} referenced target {node.target} but that target was not provided in "
                                       "``root``!")
            for target in sorted(targets, key=lambda target: target.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        self._tracer_cls = graph._tracer_cls if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__ else None
        self.meta: dict[str, Any] = {}

    @property
    def graph(self) -> Graph:
        """The graph. After changes of it call `recompile`."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expecting a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The Python code of `forward`."""
        return self._code

    def recompile(self) -> PythonCode:
        """Write the code of the graph, and let `forward` be it.

        >>> print(lucid.fx.symbolic_trace(lambda x: x + 1).recompile().src.strip())
        def forward(self, x):
            add = x + 1;  x = None
            return add
        """
        code = self._graph.python_code("self")
        self._code = code.src
        type(self).forward = _compiled(code)  # type: ignore[method-assign]
        return code

    # ---- submodules ----------------------------------------------------------------------------------------------
    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a dotted name. Returns False if something on the way there is no module.

        >>> traced = lucid.fx.symbolic_trace(lambda x: x + 1)
        >>> traced.add_submodule("layer.act", nn.ReLU()), traced.layer.act
        (True, ReLU())
        """
        *path, name = target.split(".")
        place: Module = self
        for each in path:
            following = getattr(place, each, None)
            if following is None:
                following = Module()
                setattr(place, each, following)
            if not isinstance(following, Module):
                return False
            place = following
        place.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module at a dotted name out. Returns False if there is none.

        >>> traced = lucid.fx.symbolic_trace(nn.Sequential(nn.ReLU()))
        >>> traced.delete_submodule("0"), traced.delete_submodule("0")
        (True, False)
        """
        *path, name = target.split(".")
        place: Any = self
        for each in path:
            place = getattr(place, each, None)
            if not isinstance(place, Module):
                return False
        if not isinstance(getattr(place, name, None), Module):
            return False
        delattr(place, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take the modules out that the graph does not use.

        >>> traced = lucid.fx.symbolic_trace(nn.Sequential(nn.ReLU()))
        >>> traced.add_submodule("other", nn.ReLU())
        True
        >>> traced.delete_all_unused_submodules()
        >>> [name for name, _ in traced.named_children()]
        ['0']
        """
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
                if node.op == "call_module":
                    called = self.get_submodule(str(node.target))
                    used.update(f"{node.target}.{name}" for name, _ in called.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- copies and files ----------------------------------------------------------------------------------------
    def __reduce__(self) -> Any:
        state = {name: value for name, value in self.__dict__.items() if name not in ("_graph", "_code")}
        return _rebuilt, (_own_class(type(self)), type(self).__name__, state, self._graph)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    def _deepcopy_init(self) -> Any:
        """What makes a copy; a derived class with another signature has its own."""
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        body = _CodeOnlyModule(copy.deepcopy({name: value for name, value in self.__dict__.items() if name != "_graph"}, memo))
        self._deepcopy_init()(copied, body, copy.deepcopy(self._graph, memo), type(self).__name__)
        copied.__dict__.update({name: body.__dict__[name] for name in _HOOKS if name in body.__dict__})
        copied.meta = copy.deepcopy(getattr(self, "meta", {}), memo)
        for name, value in copied.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(copied, name, value)
        return copied

    def __copy__(self) -> GraphModule:
        copied = GraphModule(self, self.graph, type(self).__name__)
        copied.meta = getattr(self, "meta", {})
        return copied

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Refused: PyTorch writes pickles of the submodules. `lucid.save` keeps the state, and `code` is the program."""
        raise NotImplementedError("GraphModule.to_folder: keep `code`, and the state_dict by lucid.save")

    def print_readable(self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
                       colored: bool = False) -> str:
        """The code as a class, also of the graph modules in it; printed too.

        >>> text = lucid.fx.symbolic_trace(lambda x: x + 1).print_readable()
        class <lambda>(lucid.nn.Module):
            def forward(self, x):
                add = x + 1;  x = None
                return add
        """
        body = self._code.strip("\n ").replace("\n", "\n    ")
        text = f"class {type(self).__name__}({naming.package()}.nn.Module):\n    {body}"
        for child in self.children():
            if isinstance(child, GraphModule):
                text += "\n\n    " + child.print_readable(print_output=False).replace("\n", "\n    ")
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        return "\n".join([super().__repr__(), self._code,
                          "# To see more debug info, please use `graph_module.print_readable()`"])


def _own_class(cls: type) -> type:
    """The class that a program has named, of that of one module."""
    return next(each for each in cls.__mro__ if not vars(each).get("_is_of_one", False))


def _rebuilt(cls: type[GraphModule], name: str, state: dict[str, Any], graph: Graph) -> GraphModule:
    made = cls.__new__(cls)
    made.__dict__ = state
    type(made).__name__ = name
    made.graph = graph
    return made
