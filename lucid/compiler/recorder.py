"""Recorder: what a call of a function runs, kernel by kernel, told by the dispatcher while the function runs eagerly.

Arrays become symbols: ``("arg", n)`` the n-th tensor among the arguments, ``("state", n)`` a tensor that the function sees
(`watch`), ``("arg_grad", n)`` and ``("grad", n)`` the gradients that they had before the call, ``("slot", n)`` the n-th array
that was computed. An array that is none of these came from where no recorder looks; then the call is not compiled. Where
something cannot be replayed `refuse` says so, and the function runs on as it is: a recording changes nothing.
"""
from __future__ import annotations

import contextlib
import sys
import types
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import _recording, backends
from .._pytree import tree_flatten, tree_unflatten
from ..nn.modules.module import Module
from ..tensor import Leaf, Tensor, wrap
from .watch import PLAIN, Environment

_HERE = str(Path(__file__).parent.parent)
_KERNELS = str(Path(backends.cpu.__file__).parent)
Symbol = tuple[str, int]

# Kernels whose results have lengths that depend on elements.
_DEPENDING = frozenset(("nonzero", "bincount"))
_INDEXING = frozenset(("getitem", "index_put"))


class _NoticedOutput:
    """What is written to Python's standard output goes there, and the recorder of the context that writes hears of it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> Any:
        recorder = _recording.current()
        if recorder is not None:
            recorder.refuse("it prints")
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def notice_printing() -> contextlib.AbstractContextManager[Any]:
    """A context in which printing is refused in a recording."""
    return contextlib.redirect_stdout(_NoticedOutput(sys.stdout))


class GraphBreak(RuntimeError):
    """With ``fullgraph=True``: the function does something that cannot be replayed."""


class Use:
    """The place of an array among the attributes of a kernel call."""

    __slots__ = ("symbol",)

    def __init__(self, symbol: Symbol) -> None:
        self.symbol = symbol

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Use) and other.symbol == self.symbol

    __hash__ = None  # type: ignore[assignment]


class Known(Use):
    """The place of a tensor, which a step gets as it is, among the arguments and what the function sees."""

    __slots__ = ()


class Recorder:
    """One recording: its `events` in order, or the `reason` why there is none."""

    def __init__(self, environment: Environment, arguments: Sequence[Tensor], fullgraph: bool) -> None:
        self.environment = environment
        self.arguments = list(arguments)
        self.fullgraph = fullgraph
        self.reason: str | None = None
        self.events: list[tuple[Any, ...]] = []
        self.direct: dict[int, Any] = {}  # what kernels do, by the number of their event
        self.slots: list[tuple[int, tuple[int, ...], Any]] = []  # bytes, shape and dtype of each
        self.owners: list[int | None] = []  # whose memory each has: its own, another one's, or that of a tensor
        self.state: list[Tensor] = []
        self.arrays: list[Any] = []  # those of `state` before the call
        self._state_index: dict[int, int] = {}
        self._symbols: dict[int, tuple[Any, Symbol]] = {}  # by the identity of an array: a weak reference to it
        self._paused = False
        self._draws: list[tuple[int, int]] = []  # (seed, offset)
        self._blocks: list[tuple[Any, int]] = []  # the generator of each and how many it took; None for one that was repeated
        self._heads: dict[int, tuple[Any, int, int, int]] = {}  # generators, their seeds, where they began, how far they got
        self._watched = [*environment.tensors.values()]
        self._argument_index = {id(t): n for n, t in reversed([*enumerate(self.arguments)])}
        self._known = {id(t): t for t in [*self._watched, *self.arguments]}
        self._before = {id(t): (t._array, t._grad, None if t._grad is None else t._grad._array, _role(t))
                        for t in self._known.values()}
        for t in self._watched:
            self._place(t._array, t, "state")
            if t._grad is not None:
                self._place(t._grad._array, t, "grad")
        for number, t in enumerate(self.arguments):
            if id(t._array) in self._found and self._found[id(t._array)][0] is t._array:
                self.refuse("an argument is also a tensor that the function sees otherwise")
            self._set(t._array, ("arg", number))
            if t._grad is not None:
                self._place(t._grad._array, t, "grad")
        self._written = {id(t): (t._grad, t._array) for t in self._known.values()}
        self._versions = self._counts()

    # ---- arrays --------------------------------------------------------------------------------------------------
    @property
    def _found(self) -> dict[int, tuple[Any, Tensor, str]]:
        return self.__dict__.setdefault("_places", {})

    def _place(self, array: Any, tensor: Tensor, role: str) -> None:
        there = self._found.get(id(array))
        if there is not None and there[1] is not tensor:
            # Two tensors over one array: either stands for both as long as neither gets other memory, which is watched.
            return
        self._found[id(array)] = (array, tensor, role)

    def _set(self, array: Any, symbol: Symbol) -> None:
        self._symbols[id(array)] = (weakref.ref(array), symbol)

    def symbol(self, array: Any) -> Symbol | None:
        """The symbol of `array`; None if nobody knows it."""
        known = self._symbols.get(id(array))
        if known is not None and known[0]() is array:
            return known[1]
        there = self._found.get(id(array))
        if there is None or there[0] is not array:
            return None
        target, number = self._target(there[1])
        symbol = (target if there[2] == "state" else "grad" if target == "state" else "arg_grad", number)
        self._set(array, symbol)
        return symbol

    def _target(self, tensor: Tensor) -> Symbol:
        """``("arg", n)`` or ``("state", n)`` for a tensor that is there before the call."""
        number = self._argument_index.get(id(tensor))
        return ("state", self._number(tensor)) if number is None else ("arg", number)

    def _number(self, tensor: Tensor) -> int:
        number = self._state_index.get(id(tensor))
        if number is None:
            number = self._state_index[id(tensor)] = len(self.state)
            self.state.append(tensor)
            self.arrays.append(self._before[id(tensor)][0])
        return number

    def _slot(self, array: Any) -> Symbol:
        symbol = ("slot", len(self.slots))
        memory = owner(array)
        known = None if memory is array else self.symbol(memory)
        # A view of memory that nobody knows, as a kernel may return, counts as an array.
        self.owners.append(symbol[1] if known is None else known[1] if known[0] == "slot" else None)
        self.slots.append((array.nbytes, array.shape, array.dtype))
        self._set(array, symbol)
        return symbol

    def _operand(self, value: Any) -> Any:
        """An operand or attribute, with a `Use` for each array in it."""
        kind = value.__class__
        if kind in backends.TABLES:
            symbol = self.symbol(value)
            if symbol is None:
                self.refuse("it uses a tensor that was made outside of lucid's operations, or that is in no variable which can "
                            "be watched")
                symbol = ("unknown", 0)
            return Use(symbol)
        if kind is tuple or kind is list:
            return kind([self._operand(item) for item in value])
        if isinstance(value, tuple) and hasattr(kind, "_make"):
            return kind._make([self._operand(item) for item in value])
        if kind is dict:
            return {key: self._operand(item) for key, item in value.items()}
        return value

    # ---- what happens --------------------------------------------------------------------------------------------
    @property
    def deaf(self) -> bool:
        """Whether what happens now is not recorded."""
        return self._paused or self.reason is not None

    def refuse(self, why: str) -> None:
        """Give the recording up; with `fullgraph` raise GraphBreak."""
        if self.reason is None and not self._paused:
            self.reason = f"{user_line()}: {why}"
            if self.fullgraph:
                raise GraphBreak(f"lucid.compile(fullgraph=True): {self.reason}")

    def kernel(self, name: str, arrays: Sequence[Any], attributes: dict[str, Any], result: Any) -> None:
        """Called by the dispatcher after each kernel."""
        if self.deaf:
            return
        results = result if result.__class__ in (tuple, list) else (result,)
        kinds = {a.__class__ for a in (*arrays, *results) if a.__class__ in backends.TABLES}
        if any(kind is not np.ndarray and not hasattr(kind, "__cuda_array_interface__") for kind in kinds):
            return  # shapes of 'meta' and formulas: nothing is computed
        if name in _DEPENDING or (name in _INDEXING and _has_mask((arrays, attributes))):
            self.refuse(f"the shape of the result of '{name}' depends on elements")
            return
        if not kinds and result is not None:
            self.refuse(f"'{name}' returns no array")
            return
        if len(kinds) > 1:
            self.refuse(f"'{name}' moves elements between devices")
            return
        direct = getattr(backends.kernel_of(next(iter(kinds)), name), "direct", None) if kinds else None
        if direct is not None and "out" not in attributes:  # what the kernel finds out about these layouts is known to a plan
            self.direct[len(self.events)] = direct(*arrays, **attributes)
        operands = [self._operand(a) for a in arrays]
        named = {key: self._operand(value) for key, value in attributes.items()}
        draw = None
        if "offset" in named and "seed" in named:
            pair = (named["seed"], named["offset"])
            draw = next((n for n in range(len(self._draws) - 1, -1, -1) if self._draws[n] == pair), None)
            if draw is None:
                self.refuse(f"'{name}' draws random numbers that come from no generator of lucid")
                return
            named["seed"], named["offset"] = ("seed", draw), ("offset", draw)
        outputs: list[Symbol | None] = []
        for array in results:
            if array is None:
                outputs.append(None)
            elif array.__class__ not in backends.TABLES:
                self.refuse(f"'{name}' returns something else than arrays")
                return
            else:
                # An operand again, or new memory, for which a GPU kernel may take an array object that nobody holds any more.
                mine = any(array is a for a in arrays) or any(array is a for a in attributes.values())
                outputs.append((self.symbol(array) if mine else None) or self._slot(array))
        kind = next(iter(kinds), np.ndarray)
        many = result.__class__ in (tuple, list)
        self.events.append(("kernel", name, kind, operands, named, draw, outputs, many, result is not None and any(
            getattr(a, "ndim", 1) == 0 for a in results), [None if a is None else (a.shape, a.dtype) for a in results]))

    def took(self, generator: Any, blocks: int, seed: int, offset: int) -> None:
        """A generator has given away `blocks` of its counter."""
        if self.deaf:
            return
        _, known, start, head = self._heads.get(id(generator), (generator, seed, offset, offset))
        if offset >= head and seed == known:
            self._heads[id(generator)] = generator, seed, start, offset + blocks
            self.events.append(("draw", generator, blocks))
            self._blocks.append((generator, blocks))
        else:  # put back to a state of this call
            for number, ((its, begin), (other, length)) in enumerate(zip(self._draws, self._blocks, strict=True)):
                if other is generator and its == seed and begin <= offset and offset + blocks <= begin + length:
                    self.events.append(("redraw", number, offset - begin))
                    self._blocks.append((None, blocks))
                    break
            else:
                self.refuse("it draws other random numbers from a state of a generator that was put back")
                return
        self._draws.append((seed, offset))

    def looked(self, generator: Any, seed: int, offset: int) -> None:
        """The state of a generator was asked for."""
        if not self.deaf:
            self._heads.setdefault(id(generator), (generator, seed, offset, offset))

    def put_back(self, generator: Any, seed: int, offset: int) -> None:
        """A generator was given a state."""
        if not self.deaf:
            _, known, start, head = self._heads.get(id(generator), (generator, None, 0, -1))
            if seed != known or not start <= offset <= head:
                self.refuse("it gives a generator a state from outside")

    def read(self, array: Any) -> None:
        """Python is about to see the elements of `array`."""
        self.refuse("Python reads the elements of a tensor")

    def constant(self, array: Any) -> None:
        """An array was made of Python's numbers."""
        if not self.deaf and _is_array(array) and self.symbol(array) is None:
            value = array.copy()
            symbol = self._slot(array)
            self.events.append(("constant", value, symbol))

    def host(self, function: Any, args: Any, keywords: Any) -> Any:
        """Run `function`, which replays call as it is."""
        if self.deaf:
            return function(*args, **keywords)
        self._flush()
        leaves, spec = tree_flatten((args, keywords))
        given: list[Any] = []
        for leaf in leaves:
            if isinstance(leaf, Tensor) and id(leaf) not in self._known:
                symbol = self.symbol(leaf._array)
                if symbol is None:
                    self.refuse("a step gets a tensor that no recorder knows")
                else:
                    given.append(Use(symbol))
            elif isinstance(leaf, Tensor):
                given.append(Known(self._target(leaf)))
            elif callable(leaf) and not isinstance(leaf, Module):
                self.refuse("a step gets a function")
            else:
                given.append(leaf)
        self._versions_now()
        self._paused = True
        try:
            result = function(*args, **keywords)
        finally:
            self._paused = False
        if self.reason is not None:
            return result
        for key, (grad, array) in self._written.items():
            tensor = self._known[key]
            if tensor._grad is not grad or tensor._array is not array:
                self.refuse(f"{getattr(function, '__qualname__', function)} gives a tensor other memory, or another gradient")
                return result
        self._versions = self._counts()
        output = None
        if isinstance(result, Tensor) and id(result) not in self._known:
            if result._node is not None:
                self.refuse("the result of a step requires grad")
                return result
            output = self._slot(result._array)
        elif result is not None and not isinstance(result, Tensor):
            self.refuse("a step returns a number of Python")
            return result
        self.events.append(("host", function, given, spec, output))
        return result

    # ---- what Python has changed ---------------------------------------------------------------------------------
    def _flush(self) -> None:
        """Record what has become of gradients, and of the memory of tensors, so far."""
        for key, (grad, array) in self._written.items():
            tensor = self._known[key]
            if tensor._grad is not grad:
                new = tensor._grad
                if new is None:
                    self.events.append(("grad", self._target(tensor), None))
                elif new._node is not None:
                    self.refuse("a gradient requires grad itself")
                elif id(new) in self._known or new._view is not None:
                    self.refuse("a gradient is a tensor that has another name too, or a view")
                else:
                    symbol = self.symbol(new._array)
                    if symbol is None or symbol[0] != "slot":
                        self.refuse("a gradient shares its memory with something else")
                    self.events.append(("grad", self._target(tensor), symbol))
            if tensor._array is not array:
                symbol = self.symbol(tensor._array)
                if symbol is None or symbol[0] != "slot" or _role(tensor) == "result" or tensor._view is not None:
                    self.refuse("it gives a tensor the memory of another one")
                self.events.append(("memory", self._target(tensor), symbol))
            self._written[key] = (tensor._grad, tensor._array)

    def _counts(self) -> dict[int, tuple[Any, int]]:
        return {key: (t._array, t._version) for key, t in self._known.items()}

    def _versions_now(self) -> None:
        """Record how often the tensors that are there have been written."""
        for key, (array, version) in self._versions.items():
            tensor = self._known[key]
            if tensor._array is array and tensor._version > version:
                self.events.append(("written", self._target(tensor), tensor._version - version))
        self._versions = self._counts()

    def finish(self, result: Any) -> None:
        """Record what the function returns, and what it has written to variables."""
        if self.deaf:
            return
        self._flush()
        self._versions_now()
        self._roles()
        for generator, seed, _, head in self._heads.values():
            if generator.position[0] != seed or generator.position[1] < head:
                self.refuse("it puts a generator back to an earlier state")
                return
        written: dict[int, int] = {}  # where a tensor has been put, by its identity
        put: list[Any] = []
        for get, container, key, old, new in self.environment.changed():
            if isinstance(old, Tensor) and new.__class__ is Tensor and isinstance(container, _WRITABLE) and new._node is None:
                symbol = self.symbol(new._array)
                if symbol is not None and symbol[0] == "slot" and new._view is None and old.__class__ is Tensor and (
                        id(new) not in self._known and id(new) not in written):
                    written[id(new)] = self._number(old)
                    put.append(new._array)
                    self.events.append(("variable", (get, container, key), self._number(old), symbol))
                    continue
            what = f"{key!r}" if isinstance(key, (str, int)) else type(container).__name__
            self.refuse(f"it changes {what}, which is there after the call")
            return
        self._returned(result, written, put)

    def _roles(self) -> None:
        """Record which tensors require grad now that did not before, or the other way round."""
        for key, (_, _, _, role) in self._before.items():
            tensor = self._known[key]
            now = _role(tensor)
            if now == role:
                continue
            if "result" in (now, role) or _hooked(tensor):
                self.refuse("a tensor that is there after the call has got a gradient that leads into it")
                return
            self.events.append(("requires", self._target(tensor), now == "leaf"))

    def release(self) -> None:
        """Let go of what only the recording needed."""
        for held in (self._before, self._written, self._known, self._symbols, self._found, self._versions, self.arguments,
                     self._watched, self._heads):
            held.clear()

    def _returned(self, result: Any, written: dict[int, int], put: list[Any]) -> None:
        leaves, spec = tree_flatten(result)
        outputs: list[Any] = []
        gradients = {id(t._grad): t for t in self._known.values() if t._grad is not None}
        others = {id(owner(t._array)) for t in self._known.values()}
        others |= {id(owner(t._grad._array)) for t in gradients.values() if t._grad is not None}
        memories = [id(owner(array)) for array in put]
        if len({*memories}) < len(memories) or not others.isdisjoint(memories):
            self.refuse("it gives a variable a tensor whose memory another one has too")
            return
        others.update(memories)
        before: dict[int, int] = {}
        for place, leaf in enumerate(leaves):
            if not isinstance(leaf, Tensor):
                if not isinstance(leaf, (*PLAIN, Module)):
                    self.refuse(f"it returns an object of the class {type(leaf).__name__}")
                    return
                outputs.append(("value", leaf))
                continue
            if id(leaf) in self._known:
                outputs.append(self._target(self._known[id(leaf)]))
                continue
            if id(leaf) in before:
                outputs.append(("again", before[id(leaf)]))
                continue
            if id(leaf) in gradients:
                outputs.append(("gradient", self._target(gradients[id(leaf)])))
                continue
            if id(leaf) in written:
                outputs.append(("put", written[id(leaf)]))
                continue
            before[id(leaf)] = place
            symbol = self.symbol(leaf._array)
            if symbol is None or leaf.__class__ is not Tensor:
                self.refuse("it returns a tensor that was made outside of lucid's operations")
                return
            memory = id(owner(leaf._array))
            if memory in others:
                self.refuse("it returns a tensor whose memory another one has too")
                return
            others.add(memory)
            if leaf._node is not None and is_alive(leaf._node):
                self.refuse("it returns a tensor whose gradient has still to be computed; compile the whole step, with "
                            "backward(), or call the function under no_grad()")
                return
            outputs.append(("tensor", symbol, leaf._node))
        self.events.append(("return", outputs, spec))


_WRITABLE = (dict, list, types.CellType)


def _role(tensor: Tensor) -> str:
    """Whether a tensor is a leaf that requires grad, the result of operations that are differentiated, or a constant."""
    node = tensor._node
    return "constant" if node is None else "leaf" if node.__class__ is Leaf else "result"


def _hooked(tensor: Tensor) -> bool:
    node = tensor._node
    return node is not None and bool(node.hooks or node.post_accumulate_hooks)


def owner(array: Any) -> Any:
    """The array that has the memory of `array`."""
    while array.base is not None and _is_array(array.base):
        array = array.base
    return array


def _is_array(value: Any) -> bool:
    return value.__class__ in backends.TABLES


def is_alive(node: Any) -> bool:
    """Whether the graph below `node` has saved something: a backward would need the elements of this very call."""
    from ..autograd.freeing import saves

    seen, stack = set(), [node]
    while stack:
        node = stack.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        vjp = node.vjp
        if vjp is not None:
            kept = node.kept
            if kept is None:
                if vjp.__closure__ is not None and saves(vjp.__closure__):
                    return True
            elif kept is not False:
                return True
        stack += node.parents
    return False


def _has_mask(value: Any) -> bool:
    if _is_array(value):
        return bool(value.dtype.kind == "b")
    if isinstance(value, dict):
        return any(map(_has_mask, value.values()))
    return isinstance(value, (tuple, list)) and any(map(_has_mask, value))


def user_line() -> str:
    """The line outside of lucid that is running, as ``file:line``."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back  # type: ignore[assignment]
    return "lucid" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def make_arguments(given: Sequence[Any], spec: Any) -> Any:
    """(args, keywords) of a step, with tensors around arrays."""
    return tree_unflatten([wrap(leaf) if leaf.__class__ in backends.TABLES else leaf for leaf in given], spec)
