"""Formulas as data: what the dispatcher hands to `fused`, and how the arrays of a call lie beside each other.

A formula is a graph of `Node`s, each the value of one operation with one dtype. `Program` numbers the nodes in an order in
which they can be computed; equal nodes become one. The backends write their source text from that. No array is touched here.
"""
from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

Shape = tuple[int, ...]
_HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
_FLOAT32, _BOOL = np.dtype(np.float32), np.dtype(np.bool_)
_Operator = Callable[["Node", Any], "Node"]


def computed_as(dtype: Any) -> Any:
    """The dtype that a kernel computes `dtype` in: half-precision elements are only stored."""
    return _FLOAT32 if dtype in _HALVES else dtype


def _operators(operation: str, dtype: Any = None) -> tuple[_Operator, _Operator]:
    """The methods for an operator with a node on its left, and on its right; the result has the node's dtype, or `dtype`."""
    def left(node: Node, other: Node | float) -> Node:
        return Node(operation, dtype or node.dtype, (node, as_node(other, node)))

    def right(node: Node, other: float) -> Node:
        return Node(operation, dtype or node.dtype, (as_node(other, node), node))

    return left, right


class Node:
    """The value of one operation. `value` is the number of an 'input', or the Python number of a 'constant'. The operations
    'as_float16' and 'as_bfloat16' round to what those dtypes hold.
    """

    __slots__ = ("depends", "dtype", "operands", "operation", "value")

    def __init__(self, operation: str, dtype: Any, operands: tuple[Node, ...] = (), value: Any = None) -> None:
        self.operation = operation
        self.dtype = dtype
        self.operands = operands
        self.value = value
        #: The inputs that the value is computed from: its shape is theirs, broadcast together.
        self.depends: frozenset[int] = frozenset((value,)) if operation == "input" else frozenset().union(
            *[operand.depends for operand in operands])

    def __neg__(self) -> Node:
        return Node("neg", self.dtype, (self,))

    def __abs__(self) -> Node:
        return Node("abs", self.dtype, (self,))

    def sigmoid(self) -> Node:
        """A method, so that tensors can take the formula of `silu`."""
        return Node("sigmoid", self.dtype, (self,))

    __add__, __radd__, __sub__, __rsub__ = *_operators("add"), *_operators("sub")
    __mul__, __rmul__, __truediv__, __rtruediv__ = *_operators("mul"), *_operators("div")
    __lt__, __le__, __gt__, __ge__ = (_operators(name, _BOOL)[0] for name in ("lt", "le", "gt", "ge"))


def constant(value: Any, dtype: Any) -> Node:
    """A number."""
    return Node("constant", dtype, value=(bool if dtype.kind == "b" else int if dtype.kind in "iu" else float)(value))


def as_node(value: Node | float, like: Node) -> Node:
    """`value` itself, or a number in the dtype of `like`."""
    return value if isinstance(value, Node) else constant(value, like.dtype)


def function(name: str, documentation: str) -> Callable[[Node], Node]:
    """The operation `name` of one operand."""
    def operation(x: Node) -> Node:
        return Node(name, x.dtype, (x,))

    operation.__name__, operation.__doc__ = name, documentation
    return operation


def where(condition: Node, a: Node | float, b: Node | float) -> Node:
    """`a` where `condition`, else `b`; one may be a number."""
    like = a if isinstance(a, Node) else b
    if not isinstance(like, Node):
        raise TypeError("a choice between two numbers has no dtype")
    return Node("where", like.dtype, (condition, as_node(a, like), as_node(b, like)))


def trace(formula: Callable[..., Node], dtype: Any) -> tuple[Program, tuple[str, ...], tuple[str, ...]]:
    """The program of a formula of `dtype`, and the names of its arguments and of its scalars, which are inputs behind those."""
    kinds = {name: parameter.kind for name, parameter in inspect.signature(formula).parameters.items()}
    scalars = tuple([name for name, kind in kinds.items() if kind is inspect.Parameter.KEYWORD_ONLY])
    arguments = tuple([name for name in kinds if name not in scalars])
    nodes = {name: Node("input", dtype, value=place) for place, name in enumerate((*arguments, *scalars))}
    result = formula(*[nodes[name] for name in arguments], **{name: nodes[name] for name in scalars})
    return Program([result]), arguments, scalars


def operands_first(nodes: Sequence[Node]) -> Iterator[Node]:
    """`nodes` and all that they are made of, each once and after its operands; a long formula is too deep for recursion."""
    done: set[int] = set()
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting[-1]
        missing = [operand for operand in node.operands if id(operand) not in done]
        if missing:
            waiting += reversed(missing)
            continue
        waiting.pop()
        if id(node) not in done:
            done.add(id(node))
            yield node


class Step(NamedTuple):
    """One operation of a program: its operands are names of inputs (x0), constants (k0) and earlier steps (v0)."""

    name: str
    operation: str
    operands: tuple[str, ...]
    dtypes: tuple[Any, ...]  # of the operands, as computed
    dtype: Any  # of the result, as computed


class Program:
    """The steps that compute some nodes. Two programs are equal only if they are the same object.

    - `inputs`: the indices of the arguments that are read, named x0, x1, ... in this order; `input_dtypes` as computed
    - `constants`: the values of k0, k1, ...; `constant_dtypes` as computed
    - `outputs`: the names of the results; `dtypes`: theirs, as stored; `output_dtypes`: as computed; `depends`: for each the
      arguments that its shape is of
    - `half_inputs`: the positions of the inputs in half precision, with their dtypes
    - `by_steps`: whether a backend may compute small arrays step by step, without a kernel
    - `of_scalars`: whether no argument has dimensions, as far as is known
    """

    def __init__(self, nodes: Sequence[Node], by_steps: bool = False, of_scalars: bool = False) -> None:
        self.nodes = tuple(nodes)
        self.by_steps = by_steps
        self.of_scalars = of_scalars
        self.half_inputs: dict[int, Any] = {}
        self.steps: list[Step] = []
        self.constants: list[Any] = []
        self.constant_dtypes: list[Any] = []
        self.inputs = tuple(sorted(frozenset().union(*[node.depends for node in nodes])))
        self.input_dtypes: list[Any] = [None] * len(self.inputs)
        self._number(self.nodes)
        self.outputs = tuple(self._names[id(node)] for node in self.nodes)
        self.dtypes = tuple(node.dtype for node in self.nodes)
        self.output_dtypes = tuple(map(computed_as, self.dtypes))
        self.rounds = self.output_dtypes != self.dtypes  # whether results are stored in another dtype than computed
        self.depends = tuple(tuple(sorted(node.depends)) for node in self.nodes)
        self.kernels: dict[Any, Any] = {}  # what a backend has compiled of this program
        self._parts: dict[tuple[int, ...], Program] = {}

    def _number(self, nodes: Sequence[Node]) -> None:
        names: dict[int, str] = {}
        known: dict[Any, str] = {}  # equal nodes are computed once
        for node in operands_first(nodes):
            operands = tuple(names[id(operand)] for operand in node.operands)
            key = (node.operation, computed_as(node.dtype), operands, repr(node.value))
            if key not in known:
                known[key] = self._name(node, operands)
            names[id(node)] = known[key]
        self._names = names

    def _name(self, node: Node, operands: tuple[str, ...]) -> str:
        dtype = computed_as(node.dtype)
        if node.operation == "input":
            place = self.inputs.index(node.value)
            self.input_dtypes[place] = dtype
            if dtype != node.dtype:
                self.half_inputs[place] = node.dtype
            return f"x{place}"
        if node.operation == "constant":
            self.constants.append(node.value)
            self.constant_dtypes.append(dtype)
            return f"k{len(self.constants) - 1}"
        name = f"v{len(self.steps)}"
        dtypes = tuple(computed_as(operand.dtype) for operand in node.operands)
        self.steps.append(Step(name, node.operation, operands, dtypes, dtype))
        return name

    def part(self, positions: tuple[int, ...]) -> Program:
        """The program of some of the outputs."""
        if len(positions) == len(self.nodes):
            return self
        if positions not in self._parts:
            self._parts[positions] = Program([self.nodes[place] for place in positions])
        return self._parts[positions]

    def result_shapes(self, shapes: Sequence[Shape]) -> list[Shape]:
        """The shapes of the results for arguments of these `shapes`. Raises ValueError if they do not broadcast."""
        return [np.broadcast_shapes(*[shapes[index] for index in indices]) for indices in self.depends]


class Layout(NamedTuple):
    """How the arguments of a loop over `outer` rows of `inner` elements are read.

    `kinds` has a letter for each: F one element for each of the result, R one row for all rows, C one element for each row,
    S one element. `expanded` is None, or the shape that an argument is copied out to before.
    """

    outer: int
    inner: int
    kinds: str
    expanded: tuple[Shape | None, ...]


class Part(NamedTuple):
    """Outputs of one shape, which one loop computes."""

    program: Program
    positions: tuple[int, ...]
    shape: Shape
    layout: Layout
    operands: tuple[tuple[int, Any, str, Shape | None], ...]  # number, dtype, kind and expanded shape of each argument


@functools.lru_cache(maxsize=1024)
def plan(program: Program, shapes: tuple[Shape, ...], shortest_row: int) -> tuple[Part, ...]:
    """One part for each shape among the results. Rows shorter than `shortest_row` are not worth a loop of their own.

    Raises ValueError for shapes that do not broadcast.
    """
    positions: dict[Shape, list[int]] = {}
    for place, shape in enumerate(program.result_shapes(shapes)):
        positions.setdefault(shape, []).append(place)
    parts = []
    for shape, some in positions.items():
        part = program.part(tuple(some))
        found = layout([shapes[i] for i in part.inputs], shape, shortest_row)
        operands = tuple(zip(part.inputs, part.input_dtypes, found.kinds, found.expanded, strict=True))
        parts.append(Part(part, tuple(some), shape, found, operands))
    return tuple(parts)


def layout(shapes: Sequence[Shape], shape: Shape, shortest_row: int) -> Layout:
    """The layout of contiguous arguments of `shapes` in a loop over a result of `shape`."""
    padded = [(1,) * (len(shape) - len(own)) + own for own in shapes]
    if all(own == shape for own in padded):
        return Layout(1, math.prod(shape), "F" * len(shapes), (None,) * len(shapes))
    groups: list[tuple[tuple[bool, ...], int]] = []  # dimensions side by side that the same arguments have: which, the first
    for dim, length in enumerate(shape):
        present = tuple(own[dim] == length for own in padded)
        if length != 1 and not (groups and groups[-1][0] == present):
            groups.append((present, dim))
    along_row, first = groups[-1]
    outer, inner = math.prod(shape[:first]), math.prod(shape[first:])
    if outer > 1 and inner < shortest_row:
        single = [math.prod(own) == 1 for own in padded]
        expanded = [None if one or own == shape else shape for one, own in zip(single, padded, strict=True)]
        return Layout(1, outer * inner, "".join("S" if one else "F" for one in single), tuple(expanded))
    kinds, copies = "", list[Shape | None]()
    for number, in_row in enumerate(along_row):
        across = {present[number] for present, _ in groups[:-1]}
        each = True in across or outer == 1
        kinds += ("F" if each else "R") if in_row else "C" if True in across else "S"
        partly = len(across) == 2  # neither the same for all rows nor another for each
        copies.append((shape if in_row else shape[:first] + (1,) * (len(shape) - first)) if partly else None)
    return Layout(outer, inner, kinds, tuple(copies))
