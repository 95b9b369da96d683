"""The Python code of a graph."""
from __future__ import annotations

import builtins
import enum
import importlib
import math
import types
import typing
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

from ..backends import Device
from . import naming
from .node import Argument, Node
from .operators import inplace_methods, magic_methods

__all__ = ["CodeGen", "PythonCode"]


class PythonCode(NamedTuple):
    """The code of a graph, and what names in it stand for.

    >>> graph = lucid.fx.Graph()
    >>> _ = graph.output(graph.placeholder("x"))
    >>> code = graph.python_code("self")
    >>> code.src.split(), sorted(code.globals)
    (['def', 'forward(self,', 'x):', 'return', 'x'], ['NoneType', 'device', 'inf', 'lucid', 'nan'])
    """

    src: str
    globals: dict[str, Any]


class CodeGen:
    """Writes a graph as the function `forward`. A derived class changes its parts, as `gen_fn_def`, `generate_output`,
    `process_inputs` and `process_outputs`; `Graph.set_codegen` sets one.

    >>> lucid.fx.CodeGen().gen_fn_def(["x"], " -> int")
    'def forward(self, x) -> int:'
    """

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line with `def`, for the parameters `free_vars`.

        >>> lucid.fx.CodeGen().gen_fn_def(["x", "y = 2"], "")
        'def forward(self, x, y = 2):'
        """
        parameters = free_vars if free_vars and free_vars[0] == "self" else ["self", *free_vars]
        return f"def forward({', '.join(parameters)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Argument) -> str:
        """The line with `return`.

        >>> lucid.fx.CodeGen().generate_output("x")
        'return x'
        """
        return f"return {output_args}"

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of the placeholders, for those of the function: the same.

        >>> lucid.fx.CodeGen().process_inputs(1, 2)
        (1, 2)
        """
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the function returns, for what the graph gives: the same.

        >>> lucid.fx.CodeGen().process_outputs(3)
        3
        """
        return outputs

    def _generate(self, graph: Any, root: str) -> PythonCode:
        return _Writer(self, graph, root).code()


class _Writer:
    """One text: its names, and when each value is used last."""

    def __init__(self, codegen: CodeGen, graph: Any, root: str) -> None:
        self._codegen, self._graph, self._root = codegen, graph, root
        self._namespace = naming.Namespace()
        self._names: dict[Node, str] = {}
        self.globals: dict[str, Any] = {"inf": math.inf, "nan": math.nan, "NoneType": type(None), "device": Device,
                                        naming.package(): importlib.import_module(naming.package())}
        self._parameters: list[str] = []
        self._returned = ""
        self._wrapped: dict[str, None] = {}

    def code(self) -> PythonCode:
        last_uses = self._last_uses()
        lines = []
        for node in self._graph.nodes:
            line = self._line(node)
            if line is not None:
                lines.append(line + self._freed(node, last_uses))
        if not lines:
            lines.append("pass")
        wrap = f"{naming.package()}.fx._symbolic_trace.wrap"
        prologue = "\n".join(f'{wrap}("{name}")' for name in self._wrapped)
        parameters = sorted(self._parameters, key=lambda parameter: parameter.startswith("*"))
        definition = self._codegen.gen_fn_def(parameters, self._returned)
        body = "".join(f"    {line}\n" for line in "\n".join(lines).split("\n"))
        return PythonCode(f"\n{prologue}\n\n{definition}\n{body}    ", self.globals)

    def _last_uses(self) -> dict[Node, list[Node]]:
        """The nodes whose values nobody needs after a node: those that it is the last to use, and itself if nobody uses it."""
        found: dict[Node, list[Node]] = {}
        seen: set[Node] = set()
        for node in reversed(self._graph.nodes):
            for used in reversed(node.all_input_nodes):
                if used not in seen:
                    seen.add(used)
                    found.setdefault(node, []).insert(0, used)
            if not node.users:
                found.setdefault(node, []).append(node)
        return found

    def _freed(self, node: Node, last_uses: dict[Node, list[Node]]) -> str:
        if node.op in ("placeholder", "output") or node not in last_uses:
            return ""
        return f";  {' = '.join([*(self._name(each) for each in last_uses[node]), 'None'])}"

    def _name(self, node: Node) -> str:
        if node not in self._names:
            self._names[node] = self._namespace.create_name(node.name, node)
        return self._names[node]

    def _global(self, hint: str, value: Any) -> str:
        """A name for a value."""
        path = naming.public_path(value)
        if path is not None:
            return path
        name = getattr(value, "__name__", "")
        if getattr(value, "__module__", None) == "builtins" and vars(builtins).get(name) is value:
            return str(name)
        for name, known in self.globals.items():
            if known is value:
                return name
        name = self._namespace.create_name(hint, None)
        self.globals[name] = value
        return name

    def _type(self, kind: Any) -> str:
        """An annotation as code."""
        if isinstance(kind, str):
            return repr(kind)
        if kind is type(None):
            return "NoneType"
        arguments = typing.get_args(kind)
        if isinstance(kind, types.UnionType):
            return "|".join(map(self._type, arguments))
        if arguments:
            origin = typing.get_origin(kind)
            named = getattr(typing, getattr(kind, "_name", None) or "", origin)
            generic = origin if isinstance(kind, types.GenericAlias) else typing.Union if named is typing.Optional else named
            name = self._type(generic) if isinstance(generic, type) else self._global(naming.of_generic(generic), generic)
            return f"{name}[{','.join('...' if each is ... else self._type(each) for each in arguments)}]"
        return self._global(naming.shown_type(kind), kind)

    def _argument(self, value: Argument) -> str:
        """An argument as code."""
        if isinstance(value, Node):
            return self._name(value)
        if isinstance(value, tuple):
            if hasattr(value, "_fields"):
                return f"{self._global(naming.qualified_name(type(value)), type(value))}({', '.join(map(self._argument, value))})"
            if type(value) is not tuple:
                return f"{self._global(naming.qualified_name(type(value)), type(value))}({self._argument(tuple(value))})"
            return f"({', '.join(map(self._argument, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join(map(self._argument, value))}]"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{self._argument(key)}: {self._argument(each)}' for key, each in value.items())}}}"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self._argument, (value.start, value.stop, value.step)))})"
        if naming.is_dtype(value):
            return naming.of_dtype(value)
        if isinstance(value, type | FunctionType | BuiltinFunctionType):
            return self._global(naming.qualified_name(value), value)
        if isinstance(value, enum.Enum) and not repr(value).startswith(f"{naming.package()}."):
            return f"{self._global(type(value).__name__, type(value))}.{value.name}"
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | range) or value is Ellipsis:
            return repr(value)
        if isinstance(value, Device | enum.Enum):
            return repr(value)
        return self._global(naming.of_node(type(value)), value)

    def _arguments(self, node: Node, first: int = 0) -> str:
        return ", ".join([*(self._argument(each) for each in node.args[first:]),
                          *(f"{name} = {self._argument(each)}" for name, each in node.kwargs.items())])

    def _attribute(self, owner: str, path: str) -> str:
        """What stands at a dotted path."""
        for name in path.split("."):
            owner = f"{owner}.{name}" if name.isidentifier() else f'getattr({owner}, "{name}")'
        return owner

    def _line(self, node: Node) -> str | None:
        annotation = f" : {self._type(node.type)}" if node.type is not None else ""
        if node.op == "placeholder":
            target = str(node.target)
            default = f" = {self._argument(node.args[0])}" if node.args else ""
            parameter = f"{target}{annotation}{default}"
            self._parameters.append(parameter)
            plain = target.replace("*", "")
            return f"{self._name(node)} = {plain}" if plain != self._name(node) else None
        if node.op == "output":
            if node.type is not None:
                self._returned = f" -> {self._type(node.type)}"
            return self._codegen.generate_output(self._argument(node.args[0]))
        if node.op == "call_function" and getattr(node.target, "__module__", None) == "_operator":
            name = node.target.__name__  # type: ignore[union-attr]
            if name in magic_methods and not node.kwargs:
                return f"{self._name(node)}{annotation} = {magic_methods[name].format(*map(self._argument, node.args))}"
            if name in inplace_methods and not node.kwargs:
                written = inplace_methods[name].format(*map(self._argument, node.args))
                return f"{written};  {self._name(node)}{annotation} = {self._argument(node.args[0])}"
        return f"{self._name(node)}{annotation} = {self._call(node)}"

    def _call(self, node: Node) -> str:
        target = node.target
        if node.op == "call_method":
            owner = self._argument(node.args[0])
            if not isinstance(node.args[0], Node):
                owner = f"({owner})"
            return f"{owner}.{target}({self._arguments(node, 1)})"
        if node.op == "call_module":
            return f"{self._attribute(self._root, str(target))}({self._arguments(node)})"
        if node.op == "get_attr":
            return self._attribute(self._root, str(target))
        if node.op != "call_function":
            raise NotImplementedError(f"node: {node.op} {target}")
        if target is getattr and len(node.args) == 2 and not node.kwargs and isinstance(node.args[1], str) \
                and node.args[1].isidentifier():
            return f"{self._argument(node.args[0])}.{node.args[1]}"
        name = self._global(naming.qualified_name(target), target)
        if node.meta.get("is_wrapped", False):
            self._wrapped[name] = None
        return f"{name}({self._arguments(node)})"
