"""`Graph`: the nodes of a traced program, in an order in which they can run, and the methods that change it."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from . import naming
from .codegen import CodeGen, PythonCode
from .node import Argument, Node, Target, map_aggregate, map_arg
from .operators import inplace_methods, magic_methods, reflectable_magic_methods

__all__ = ["Argument", "CodeGen", "Graph", "Node", "PythonCode", "Target", "inplace_methods", "magic_methods",
           "map_arg", "reflectable_magic_methods"]


class _Nodes:
    """The nodes of a graph, forward or `reversed`."""

    def __init__(self, graph: Graph, backward: bool = False) -> None:
        self._graph, self._backward = graph, backward

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        node = root._prev if self._backward else root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev if self._backward else node._next

    def __reversed__(self) -> _Nodes:
        return _Nodes(self._graph, not self._backward)


class Graph:
    """Operations in order. `symbolic_trace` records one; nodes are added at its end, or where `inserting_before` says.

    >>> graph = lucid.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_function(lucid.relu, (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=lucid.relu](args = (%x,), kwargs = {})
        return relu
    >>> lucid.fx.GraphModule({}, graph)(lucid.tensor([-1.0, 2.0]))
    Tensor([0.0, 2.0], requires_grad=False)
    """

    def __init__(self, owning_module: Any = None, tracer_cls: type | None = None,
                 tracer_extras: dict[str, Any] | None = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._namespace = naming.Namespace()
        self._owning_module = owning_module
        self._owners = 0
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()

    @property
    def owning_module(self) -> Any:
        """The module that the graph belongs to, unless several have it."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        if mod:
            self._owning_module = mod if not self._owners else None
            self._owners += 1

    @property
    def nodes(self) -> _Nodes:
        """The nodes in their order. They may be changed, added and erased while one goes through them."""
        return _Nodes(self)

    def output_node(self) -> Node:
        """The node that says what is returned.

        >>> lucid.fx.symbolic_trace(lambda x: x + 1).graph.output_node().args
        (add,)
        """
        node = self._root._prev
        if node.op != "output":
            raise AssertionError("the last node of the graph is no output")
        return node

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, with `target` if that is given, in the order of the graph.

        >>> lucid.fx.symbolic_trace(lambda x: lucid.relu(x) + 1).graph.find_nodes(op="call_function", target=lucid.relu)
        [relu]
        """
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    # ---- new nodes -----------------------------------------------------------------------------------------------
    def create_node(self, op: str, target: Target, args: tuple[Argument, ...] | None = None,
                    kwargs: dict[str, Argument] | None = None, name: str | None = None, type_expr: Any = None) -> Node:
        """Add a node, called like `name`.

        >>> graph = lucid.fx.Graph()
        >>> graph.create_node("call_method", "neg", (graph.placeholder("x"),), name="y")
        y
        """
        node = Node(self, self._namespace.create_name(name or naming.of_node(target), None), op, target,
                    () if args is None else args, {} if kwargs is None else kwargs, type_expr)
        self._namespace.associate(node.name, node)
        self._insert(node)
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Add an argument of the function, with a default if that is given.

        >>> lucid.fx.Graph().placeholder("x", default_value=2).args
        (2,)
        """
        return self.create_node("placeholder", name, () if default_value is ... else (default_value,), {}, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add what stands in the module under a dotted name.

        >>> lucid.fx.Graph().get_attr("layer.weight")
        layer_weight
        """
        return self.create_node("get_attr", qualified_name, (), {}, type_expr=type_expr)

    def call_module(self, module_name: str, args: tuple[Argument, ...] | None = None, kwargs: dict[str, Argument] | None = None,
                    type_expr: Any = None) -> Node:
        """Add a call of a submodule, by its dotted name.

        >>> graph = lucid.fx.Graph()
        >>> graph.call_module("layer.0", (graph.placeholder("x"),))
        layer_0
        """
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: tuple[Argument, ...] | None = None, kwargs: dict[str, Argument] | None = None,
                    type_expr: Any = None) -> Node:
        """Add a call of a method of ``args[0]``.

        >>> graph = lucid.fx.Graph()
        >>> graph.call_method("sum", (graph.placeholder("x"), 0))
        sum_1
        """
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function: Callable[..., Any], args: tuple[Argument, ...] | None = None,
                      kwargs: dict[str, Argument] | None = None, type_expr: Any = None, name: str | None = None) -> Node:
        """Add a call of a function.

        >>> graph = lucid.fx.Graph()
        >>> graph.call_function(lucid.relu, (graph.placeholder("x"),))
        relu
        """
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Add what is returned.

        >>> graph = lucid.fx.Graph()
        >>> graph.output(graph.placeholder("x"))
        output
        """
        return self.create_node("output", "output", (result,), {}, type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """Add a copy of a node of another graph; ``arg_transform(x)`` is the node here for the node x there.

        >>> graph, other = lucid.fx.Graph(), lucid.fx.Graph()
        >>> x = other.placeholder("x")
        >>> graph.node_copy(x).graph is graph
        True
        """
        copied = self.create_node(node.op, node.target, map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform),
                                  node.name, node.type)
        copied.meta = dict(node.meta)
        return copied

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Add copies of the nodes of another graph. Returns what that returns, in the nodes here; with `return_output_node` also
        its output node. `val_map` says which nodes are copied already, and is filled.

        >>> graph, other = lucid.fx.Graph(), lucid.fx.symbolic_trace(lambda x: x + 1).graph
        >>> graph.graph_copy(other, {})
        add
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda each: val_map[each])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda each: val_map[each])
        return None

    # ---- changes -------------------------------------------------------------------------------------------------
    def erase_node(self, to_erase: Node) -> None:
        """Take a node out that nobody uses. Raises RuntimeError if others use it.

        >>> graph = lucid.fx.Graph()
        >>> graph.erase_node(graph.placeholder("x"))
        >>> len(graph.nodes)
        0
        """
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                               f"{to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._remove()
        to_erase._erased = True  # it keeps its neighbours, so that who goes through the nodes finds the next one
        to_erase.args, to_erase.kwargs = (), {}

    def inserting_before(self, n: Node | None = None) -> contextlib.AbstractContextManager[None]:
        """A context in which new nodes stand before `n`; without one at the beginning of the graph.

        >>> graph = lucid.fx.Graph()
        >>> y = graph.placeholder("y")
        >>> with graph.inserting_before(y):
        ...     x = graph.placeholder("x")
        >>> list(graph.nodes)
        [x, y]
        """
        return self.inserting_after(self._root) if n is None else self._inserting(n, n.prepend)

    def inserting_after(self, n: Node | None = None) -> contextlib.AbstractContextManager[None]:
        """A context in which new nodes stand after `n`; without one at the end of the graph.

        >>> graph = lucid.fx.Graph()
        >>> x, z = graph.placeholder("x"), graph.placeholder("z")
        >>> with graph.inserting_after(x):
        ...     y = graph.placeholder("y")
        >>> list(graph.nodes)
        [x, y, z]
        """
        if n is None:
            return self.inserting_before(self._root)
        last = n

        def insert(node: Node) -> None:
            nonlocal last
            last.append(node)
            last = node

        return self._inserting(n, insert)

    @contextlib.contextmanager
    def _inserting(self, place: Node, insert: Callable[[Node], None]) -> Iterator[None]:
        if place.graph is not self:
            raise AssertionError("Node to insert at is not in graph.")
        before, self._insert = self._insert, insert
        try:
            yield
        finally:
            self._insert = before

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase nodes that nobody uses, but those for which `is_impure_node`, or `Node.is_impure`, is true. Returns whether there
        were any. A method such as `add_` whose result nobody uses is erased too, as in PyTorch.

        >>> traced = lucid.fx.symbolic_trace(lambda x: [lucid.relu(x), x + 1][1])
        >>> traced.graph.eliminate_dead_code(), list(traced.graph.nodes)
        (True, [x, add, output])
        """
        self.lint()
        count = len(self.nodes)
        for node in reversed(self.nodes):
            if not node.users and not (is_impure_node(node) if is_impure_node is not None else node.is_impure()):
                self.erase_node(node)
        return len(self.nodes) < count

    def lint(self) -> None:
        """Raise RuntimeError where the graph is not right: a node used before it is there, or of another graph; a name that is
        there twice; a target that the module does not have.

        >>> lucid.fx.symbolic_trace(lambda x: x + 1).graph.lint()
        """
        names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was used as an "
                                       "argument!")
                if used not in seen:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check "
                                       "that Nodes in the graph are topologically ordered")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self._owning_module is not None and node.op in ("get_attr", "call_module"):
                self._check_target(node)

    def _check_target(self, node: Node) -> None:
        from ..nn import Module

        found: Any = self._owning_module
        for name in str(node.target).split("."):
            if not hasattr(found, name):
                raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {name} of "
                                   f"{type(found).__name__}")
            found = getattr(found, name)
        if node.op == "call_module" and not isinstance(found, Module):
            raise RuntimeError(f"Node {node} target {node.target} does not reference an nn.Module")

    # ---- what it says --------------------------------------------------------------------------------------------
    def set_codegen(self, codegen: CodeGen) -> None:
        """Let `codegen` write the code.

        >>> class Named(lucid.fx.CodeGen):
        ...     def gen_fn_def(self, free_vars, maybe_return_annotation):
        ...         return "# x\\n" + super().gen_fn_def(free_vars, maybe_return_annotation)
        >>> graph = lucid.fx.Graph()
        >>> graph.set_codegen(Named())
        >>> graph.python_code("self").src.split()[:2]
        ['#', 'x']
        """
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of the placeholders, for those of the function.

        >>> lucid.fx.Graph().process_inputs(1)
        (1,)
        """
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What the function returns, for what the graph gives.

        >>> lucid.fx.Graph().process_outputs(1)
        1
        """
        return self._codegen.process_outputs(out)

    def python_code(self, root_module: str) -> PythonCode:
        """The graph as Python code, in which `root_module` is the name of the module.

        >>> print(lucid.fx.symbolic_trace(lambda x: x + 1).graph.python_code("self").src.strip())
        def forward(self, x):
            add = x + 1;  x = None
            return add
        """
        return self._codegen._generate(self, root_module)

    def print_tabular(self) -> None:
        """Print the nodes as a table.

        >>> lucid.fx.symbolic_trace(lambda x: x + 1).graph.print_tabular()
        opcode         name    target                   args    kwargs
        -------------  ------  -----------------------  ------  --------
        placeholder    x       x                        ()      {}
        call_function  add     <built-in function add>  (x, 1)  {}
        output         output  output                   (add,)  {}
        """
        rows = [("opcode", "name", "target", "args", "kwargs"),
                *((node.op, node.name, naming.public_path(node.target) or str(node.target), str(node.args), str(node.kwargs))
                  for node in self.nodes)]
        widths = [max(len(rows[0][column]) + 2, *(len(row[column]) for row in rows)) for column in range(5)]
        rows.insert(1, tuple("-" * width for width in widths))  # type: ignore[arg-type]
        print("\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows))

    def __str__(self) -> str:
        lines = [node.format_node() for node in self.nodes]
        return "\n    ".join(["graph():", *(line for line in lines if line)])

    # ---- copies --------------------------------------------------------------------------------------------------
    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        copied = Graph(tracer_cls=self._tracer_cls)
        if memo is not None:
            memo[id(self)] = copied
        nodes: dict[Node, Node] = {}
        for node in self.nodes:
            nodes[node] = copied.node_copy(node, lambda each: nodes[each])
            if memo is not None:
                memo[id(node)] = nodes[node]
        copied._codegen = self._codegen
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        numbers = {node: number for number, node in enumerate(self.nodes)}

        def reference(node: Node) -> _Reference:
            return _Reference(numbers[node])

        rows = [(node.op, node.target, map_arg(node.args, reference), map_arg(node.kwargs, reference), node.name, node.type,
                 bool(node.meta.get("is_wrapped"))) for node in self.nodes]
        return _from_rows, (type(self), rows, self._codegen, self._tracer_cls if _found_by_name(self._tracer_cls) else None)


class _Reference:
    """A node in a pickle, by its number."""

    def __init__(self, number: int) -> None:
        self.number = number


def _from_rows(cls: type[Graph], rows: list[Any], codegen: CodeGen, tracer_cls: type | None) -> Graph:
    graph = cls(tracer_cls=tracer_cls)
    nodes: list[Node] = []

    def referred(argument: Argument) -> Argument:
        return nodes[argument.number] if isinstance(argument, _Reference) else argument

    for op, target, args, kwargs, name, kind, wrapped in rows:
        node = graph.create_node(op, target, map_aggregate(args, referred), map_aggregate(kwargs, referred), name, kind)
        if wrapped:
            node.meta["is_wrapped"] = True
        nodes.append(node)
    graph._codegen = codegen
    return graph


def _found_by_name(cls: type | None) -> bool:
    return cls is not None and "<locals>" not in cls.__qualname__
