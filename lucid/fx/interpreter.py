"""Running a graph node by node."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..nn import Module
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate, map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a module node by node. A derived class overrides `run_node`, or the methods by the names of `Node.op`, to
    do something else for nodes.

    module: where the targets are found; graph: another graph than that of `module`. With `garbage_collect_values` a value is
    forgotten after its last use.

    >>> class Counting(lucid.fx.Interpreter):
    ...     def run_node(self, n):
    ...         print(n)
    ...         return super().run_node(n)
    >>> Counting(lucid.fx.symbolic_trace(lambda x: lucid.relu(x) + 1)).run(lucid.zeros(1))
    x
    relu
    add
    output
    Tensor([1.0], requires_grad=False)
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Any = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            seen: set[Node] = set()
            for node in reversed(self.graph.nodes):
                for used in node.all_input_nodes:
                    if used not in seen:
                        seen.add(used)
                        self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """What the graph gives for arguments. `initial_env` has values of nodes that are not run."""
        self.env = dict(initial_env or {})
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    first = f"{error.args[0]}\n\n" if error.args and isinstance(error.args[0], str) else ""
                    error.args = (f"{first}While executing {node.format_node()}", *error.args[1 if first else 0:])
                raise
            for used in self.user_to_last_uses.get(node, ()):
                self.env.pop(used, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """`run` with the arguments of a list, which is emptied."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """The value of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument, or its default."""
        if str(target).startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What stands at a dotted name of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What a function gives."""
        if isinstance(target, str):
            raise AssertionError("call_function: the target is a str")
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What a method of ``args[0]`` gives."""
        return getattr(args[0], str(target))(*args[1:], **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What a submodule gives."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What the graph returns."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """What stands at a dotted name of the module. Raises RuntimeError if there is nothing."""
        if target in self.submodules:
            return self.submodules[target]
        found: Any = self.module
        for number, name in enumerate(target.split("."), 1):
            if not hasattr(found, name):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(target.split('.')[:number])}")
            found = getattr(found, name)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node, with values in the place of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Argument:
        """`args` with values in the place of nodes."""
        def load(used: Node) -> Any:
            if used not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {used}! Run Graph.lint() to diagnose such issues")
            return self.env[used]

        return map_arg(args, load)


class _TransformerTracer(Tracer):
    """Records what a `Transformer` makes; each module is a leaf."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


class Transformer(Interpreter):
    """Makes another module of a graph: an `Interpreter` whose values are proxies.

    >>> class Smooth(lucid.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(lucid.tanh if target is lucid.relu else target, args, kwargs)
    >>> print(Smooth(lucid.fx.symbolic_trace(lambda x: lucid.relu(x) + 1)).transform().code.strip())
    def forward(self, x):
        tanh = lucid.tanh(x);  x = None
        add = tanh + 1;  tanh = None
        return add
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph(tracer_cls=getattr(self.graph, "_tracer_cls", None))
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = _TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """The argument of the new graph."""
        default = args[0] if args else ...
        return Proxy(self.new_graph.placeholder(str(target), default_value=default), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """What stands at a dotted name, in the new graph."""
        return self.tracer.create_proxy("get_attr", str(target), args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a submodule, in the new graph."""
        return self.tracer.call_module(self.fetch_attr(str(target)), self.submodules[str(target)].forward, args, kwargs)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function, in the new graph."""
        if isinstance(target, str):
            raise AssertionError("call_function: the target is a str")
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            def node_of(value: Any) -> Any:
                return value.node if isinstance(value, Proxy) else value

            type_expr = next((node.type for node in self.graph.nodes if node.op == "output"), None)
            self.new_graph.output(map_aggregate(result, node_of), type_expr)
        return GraphModule(self.module, self.new_graph)
