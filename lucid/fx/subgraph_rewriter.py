"""Patterns in a graph, replaced by others."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..nn import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attr
from .node import Argument, Node, map_arg

__all__ = ["Match", "ReplacedPatterns", "replace_pattern"]


class Match(NamedTuple):
    """Where a pattern was found: its last node there, and the node for each node of the pattern."""

    anchor: Node
    nodes_map: dict[Node, Node]


class ReplacedPatterns(NamedTuple):
    """What was replaced: as `Match`, with the nodes that came in its place."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def _graph_of(pattern: Any) -> tuple[Graph, Module | None]:
    if isinstance(pattern, Graph):
        return pattern, None
    if not isinstance(pattern, GraphModule):
        pattern = symbolic_trace(pattern)
    return pattern.graph, pattern


class _Matcher:
    """Looks for one pattern."""

    def __init__(self, pattern: Graph) -> None:
        self.inputs = [node for node in pattern.nodes if node.op == "placeholder"]
        result = pattern.output_node().args[0]
        self.results = [result] if isinstance(result, Node) else list(pattern.output_node().all_input_nodes)
        if len(self.results) != 1:
            raise NotImplementedError(f"replace_pattern: a pattern returns one value here, this one {len(self.results)}")

    def match(self, anchor: Node) -> dict[Node, Node] | None:
        """The nodes for those of the pattern, if that ends at `anchor`."""
        found: dict[Node, Node] = {}
        if self.results[0].op == "placeholder" or not self._equal(self.results[0], anchor, found):
            return None
        inside = {node for pattern, node in found.items() if pattern.op != "placeholder"}
        for node in inside - {anchor}:  # what others need must stay
            if not inside.issuperset(node.users):
                return None
        return found

    def _equal(self, pattern: Any, value: Any, found: dict[Node, Node]) -> bool:
        if isinstance(pattern, Node):
            if pattern in found:
                return bool(found[pattern] is value if isinstance(value, Node) else found[pattern] == value)
            if pattern.op == "placeholder":
                found[pattern] = value
                return True
            if not isinstance(value, Node) or pattern.op != value.op or pattern.target != value.target:
                return False
            found[pattern] = value
            return self._equal(pattern.args, value.args, found) and self._equal(pattern.kwargs, value.kwargs, found)
        if isinstance(pattern, tuple | list):
            return (isinstance(value, tuple | list) and len(pattern) == len(value)
                    and all(self._equal(one, other, found) for one, other in zip(pattern, value, strict=True)))
        if isinstance(pattern, dict):
            return isinstance(value, dict) and pattern.keys() == value.keys() and all(
                self._equal(pattern[key], value[key], found) for key in pattern)
        if isinstance(pattern, slice):
            return isinstance(value, slice) and self._equal((pattern.start, pattern.stop, pattern.step),
                                                            (value.start, value.stop, value.step), found)
        return type(pattern) is type(value) and bool(pattern == value)


def replace_pattern(gm: GraphModule, pattern: Callable[..., Any] | GraphModule,
                    replacement: Callable[..., Any] | GraphModule) -> list[Match]:
    """Replace each place of a graph that computes `pattern` by what computes `replacement`, and recompile.

    Both are functions, or graph modules, with the same parameters, of which the pattern gives one value. The same operations in
    the same order, with the same arguments, are the same. Values inside of a place that others use too keep it from being
    replaced. Places do not overlap: the first one counts.

    >>> traced = lucid.fx.symbolic_trace(lambda x, y: lucid.relu(x + y))
    >>> matches = lucid.fx.replace_pattern(traced, lambda a, b: a + b, lambda a, b: a * b)
    >>> len(matches), traced(2 * lucid.ones(1), 3 * lucid.ones(1))
    (1, Tensor([6.0], requires_grad=False))
    """
    wanted, _ = _graph_of(pattern)
    given, module = _graph_of(replacement)
    matcher = _Matcher(wanted)
    inputs = [node for node in given.nodes if node.op == "placeholder"]
    if len(inputs) != len(matcher.inputs):
        raise AssertionError(f"replace_pattern: the pattern has {len(matcher.inputs)} parameters, the replacement {len(inputs)}")
    matches: list[Match] = []
    taken: set[Node] = set()
    for anchor in list(gm.graph.nodes):
        found = matcher.match(anchor)
        if found is None:
            continue
        inside = {node for each, node in found.items() if each.op != "placeholder"}
        if not inside & taken:
            taken |= inside
            matches.append(Match(anchor, found))
    replaced: dict[Node, Any] = {}
    for match in matches:
        _replace(gm, match, matcher, given, inputs, module, replaced)
    gm.recompile()
    return matches


def _replace(gm: GraphModule, match: Match, matcher: _Matcher, given: Graph, inputs: list[Node], module: Module | None,
             replaced: dict[Node, Any]) -> None:
    values: dict[Node, Argument] = {
        own: replaced.get(match.nodes_map[other], match.nodes_map[other]) if isinstance(match.nodes_map.get(other), Node)
        else match.nodes_map.get(other) for own, other in zip(inputs, matcher.inputs, strict=True)}
    with gm.graph.inserting_before(match.anchor):
        for node in given.nodes:
            if node.op == "output":
                result = map_arg(node.args[0], lambda each: values[each])
            elif node.op != "placeholder":
                if node.op in ("call_module", "get_attr") and module is not None and not _has(gm, str(node.target)):
                    _copy_attr(module, gm, str(node.target))
                values[node] = gm.graph.node_copy(node, lambda each: values[each])
    if not isinstance(result, Node):
        raise NotImplementedError("replace_pattern: a replacement returns one value that it computes, or one of its parameters")
    match.anchor.replace_all_uses_with(result)
    replaced[match.anchor] = result
    inside = [node for pattern_node, node in match.nodes_map.items() if pattern_node.op != "placeholder"]
    for node in sorted(inside, reverse=True):
        gm.graph.erase_node(node)


def _has(module: Any, target: str) -> bool:
    for name in target.split("."):
        if not hasattr(module, name):
            return False
        module = getattr(module, name)
    return True
