"""`Node`: one operation of a graph, its arguments and its users."""
from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

from . import naming
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any
OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
#: Functions that draw random numbers: without them those after them would be others.
_RANDOM = frozenset("""
alpha_dropout bernoulli binomial dropout feature_alpha_dropout feature_dropout multinomial native_dropout normal poisson rand
rand_like randint randint_like randn randn_like randperm rrelu""".split())
_side_effects: set[Any] = set()


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let `Graph.eliminate_dead_code` keep calls of a function whose result nobody uses, as a decorator.

    >>> def log(x):
    ...     print(x.shape)
    >>> lucid.fx.has_side_effect(log) is log
    True
    """
    _side_effects.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """`a` with ``fn(x)`` in the place of everything in it that is no tuple, list, dict or slice.

    >>> lucid.fx.node.map_aggregate([1, (2, {"a": 3})], lambda x: x + 1)
    [2, (3, {'a': 4})]
    """
    if isinstance(a, tuple):
        mapped = [map_aggregate(each, fn) for each in a]
        return type(a)(*mapped) if hasattr(a, "_fields") else tuple(mapped)
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(*(map_aggregate(each, fn) for each in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """`a` with ``fn(node)`` in the place of each node in it.

    >>> graph = lucid.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> lucid.fx.node.map_arg([x, (x, 2)], lambda node: node.name)
    ['x', ('x', 2)]
    """
    return map_aggregate(a, lambda each: fn(each) if isinstance(each, Node) else each)


class Node:
    """One operation of a `Graph`. `Graph.create_node` and its kin make them.

    What `op` says is done with `target`, `args` and `kwargs`:

    - `placeholder`: an argument of the function; `target` is its name, `args` holds its default, or nothing;
    - `get_attr`: a parameter, a buffer or a module, by its dotted name;
    - `call_function`: a function is called; `target` is the function;
    - `call_module`: a module is called, by its dotted name;
    - `call_method`: a method of ``args[0]`` is called, by its name;
    - `output`: what the function returns, ``args[0]``.

    `name` is unique in the graph, `users` has the nodes that use this one, `type` an annotation or None, `meta` what programs
    keep.

    >>> traced = lucid.fx.symbolic_trace(lambda x: lucid.relu(x) + 1)
    >>> [(node.op, node.name, node.args) for node in traced.graph.nodes]
    [('placeholder', 'x', ()), ('call_function', 'relu', (x,)), ('call_function', 'add', (relu, 1)), ('output', 'output', (add,))]
    """

    def __init__(self, graph: Any, name: str, op: str, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Argument],
                 return_type: Any = None) -> None:
        if op not in OPS:
            raise AssertionError(f"op {op!r} is not in {OPS}")
        if op == "call_function" and not callable(target):
            raise ValueError(f"Node {name!r}: target {target!r} has type {type(target).__name__} but a Callable is expected")
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(f"Node {name!r}: target {target!r} has type {type(target).__name__} but a str is expected")
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self._set_arguments(args, kwargs)

    # ---- arguments -----------------------------------------------------------------------------------------------
    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments. They are changed by assigning a new tuple."""
        return self._args

    @args.setter
    def args(self, a: tuple[Argument, ...]) -> None:
        self._set_arguments(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by keyword. They are changed by assigning a new dictionary."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Argument]) -> None:
        self._set_arguments(self._args, k)

    def _set_arguments(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> None:
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise TypeError(f"Node {self.name!r}: args must be a tuple and kwargs a dict, not {type(args).__name__} and "
                            f"{type(kwargs).__name__}")
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}
        self._args = tuple(map_arg(each, self._used) for each in args)
        self._kwargs: dict[str, Argument] = map_arg(kwargs, self._used)

    def _used(self, node: Node) -> Node:
        self._input_nodes[node] = None
        node.users[self] = None
        return node

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace one positional argument.

        >>> graph = lucid.fx.Graph()
        >>> node = graph.call_function(lucid.add, (graph.placeholder("x"), 1))
        >>> node.update_arg(1, 2)
        >>> node.args
        (x, 2)
        """
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Replace one argument by keyword, or add one.

        >>> graph = lucid.fx.Graph()
        >>> node = graph.call_method("sum", (graph.placeholder("x"),))
        >>> node.update_kwarg("dim", 0)
        >>> node.kwargs
        {'dim': 0}
        """
        self.kwargs = {**self._kwargs, key: arg}

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put a positional argument before the one with the number `idx`.

        >>> graph = lucid.fx.Graph()
        >>> node = graph.call_function(lucid.sub, (graph.placeholder("x"),))
        >>> node.insert_arg(0, 1)
        >>> node.args
        (1, x)
        """
        if not 0 <= idx <= len(self._args):
            raise AssertionError(f"insert_args index must be between 0 and {len(self._args)}")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use `new_input` wherever `old_input` is among the arguments.

        >>> graph = lucid.fx.Graph()
        >>> x, y = graph.placeholder("x"), graph.placeholder("y")
        >>> node = graph.call_function(lucid.add, (x, x))
        >>> node.replace_input_with(x, y)
        >>> node.args
        (y, y)
        """
        def replaced(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set_arguments(map_arg(self._args, replaced), map_arg(self._kwargs, replaced))

    def replace_all_uses_with(self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True, *,
                              propagate_meta: bool = False) -> list[Node]:
        """Let all nodes that use this one, and for which ``delete_user_cb(node)`` is true, use `replace_with`. Returns them.

        With `propagate_meta` the other node gets `meta`, which it must not have yet.

        >>> graph = lucid.fx.Graph()
        >>> x, y = graph.placeholder("x"), graph.placeholder("y")
        >>> node = graph.call_function(lucid.relu, (x,))
        >>> x.replace_all_uses_with(y), node.args
        ([relu], (y,))
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("propagate_meta: the node that replaces has meta already")
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # ---- place ---------------------------------------------------------------------------------------------------
    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move `x`, a node of the same graph, before this one.

        >>> graph = lucid.fx.Graph()
        >>> x, y = graph.placeholder("x"), graph.placeholder("y")
        >>> x.prepend(y)
        >>> list(graph.nodes)
        [y, x]
        """
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._remove()
        before = self._prev
        before._next = self._prev = x
        x._prev, x._next = before, self

    def append(self, x: Node) -> None:
        """Move `x`, a node of the same graph, after this one.

        >>> graph = lucid.fx.Graph()
        >>> x, y = graph.placeholder("x"), graph.placeholder("y")
        >>> y.append(x)
        >>> list(graph.nodes)
        [y, x]
        """
        self._next.prepend(x)

    def _remove(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def _position(self) -> int:
        return next(number for number, node in enumerate(self.graph.nodes) if node is self)

    def __lt__(self, other: Node) -> bool:
        return self._position() < other._position()

    def __gt__(self, other: Node) -> bool:
        return self._position() > other._position()

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    # ---- what it says --------------------------------------------------------------------------------------------
    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it counts beside its result: arguments, what is returned, assertions, functions marked with `has_side_effect`,
        modules with a true attribute `_is_impure`, and, with `impure_random`, functions that draw random numbers. Methods that
        write into their tensor do not count, as in PyTorch.

        >>> graph = lucid.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> x.is_impure(), graph.call_function(lucid.relu, (x,)).is_impure()
        (True, False)
        """
        if self.op == "call_function":
            _, _, name = (naming.public_path(self.target) or "").partition(".")  # in lucid itself, not in nn.functional
            return self.target in _side_effects or name in ("_assert", "_assert_async") or (impure_random and name in _RANDOM)
        if self.op == "call_module":
            module = self.graph.owning_module
            return module is not None and bool(getattr(module.get_submodule(str(self.target)), "_is_impure", False))
        return self.op in ("placeholder", "output")

    @property
    def stack_trace(self) -> str | None:
        """Where the node was recorded, if a program keeps that in ``meta['stack_trace']``."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def format_node(self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None, *,
                    include_tensor_metadata: bool = False) -> str | None:
        """A line that describes the node; None for an argument or a result that is added to one of the lists instead.

        >>> graph = lucid.fx.Graph()
        >>> graph.call_function(lucid.relu, (graph.placeholder("x"),)).format_node()
        '%relu : [num_users=0] = call_function[target=lucid.relu](args = (%x,), kwargs = {})'
        """
        annotation = f"{naming.shown_type(self.type)} " if self.type is not None else ""
        used = f"[num_users={len(self.users)}]"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(f"{self.target}{' : ' + annotation.strip() if annotation else ''}")
                return None
            default = f"(default={shown_argument(self._args[0], plain=True)})" if self._args else ""
            return f"%{self.name} : {annotation}{used} = {self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} : {annotation}{used} = {self.op}[target={naming.shown(self.target)}]"
        if self.op == "output":
            if self.type is not None and maybe_return_typename is not None:
                maybe_return_typename.append(f" -> {naming.shown_type(self.type)}")
            return f"return {shown_argument(self._args[0], plain=True)}"
        return (f"%{self.name} : {annotation}{used} = {self.op}[target={naming.shown(self.target)}]"
                f"(args = {shown_argument(self._args)}, kwargs = {shown_argument(self._kwargs)})")

    def __repr__(self) -> str:
        return self.name


def shown_argument(argument: Argument, plain: bool = False) -> str:
    """An argument as `str(graph)` prints it: nodes as ``%name`` and strings without quotes, or with `plain` as code says them."""
    if isinstance(argument, Node):
        return argument.name if plain else f"%{argument.name}"
    if isinstance(argument, str):
        return repr(argument) if plain else argument
    if isinstance(argument, tuple | list):
        parts = [shown_argument(each, plain) for each in argument]
        if isinstance(argument, list):
            return f"[{', '.join(parts)}]"
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    if isinstance(argument, dict):
        items = [f"{repr(key) if plain else key}: {shown_argument(value, plain)}" for key, value in argument.items()]
        return f"{{{', '.join(items)}}}"
    if isinstance(argument, slice):
        return f"slice({', '.join(shown_argument(each, plain=True) for each in (argument.start, argument.stop, argument.step))})"
    if naming.is_dtype(argument):
        return naming.of_dtype(argument)
    if isinstance(argument, type | FunctionType | BuiltinFunctionType):
        return naming.shown(argument)
    return str(argument) if not plain else repr(argument)
