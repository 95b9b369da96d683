"""Recorder: what a call of a function runs, kernel by kernel, told by the dispatcher while the function runs eagerly.

Where something cannot be replayed `refuse` says so, and the function runs on as it is: a recording changes nothing.
"""
from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _recording, backends
from .._pytree import tree_flatten, tree_unflatten
from ..autograd.engine import between
from ..autograd.freeing import saves
from ..autograd.grad_mode import GRAD
from ..autograd.grad_mode import mode as grad_mode
from ..autograd.node import Slot
from ..autograd.views import arrays_of_conjugates
from ..backends import TABLES
from ..backends.cpu import chains
from ..backends.sizes import LARGE
from ..backends.stored_array import StoredArray
from ..nn.modules.module import Module
from ..tensor import Tensor, wrap, write_count
from ..tensor.nodes import Leaf
from .arrays import Arrays, is_array, owner, role
from .breaks import frame_that_reads, user_frame
from .guards import PLAIN, Environment, absent, same
from .recompute import is_repeatable
from .returned import Expression, ReturnLine, Unknown, replaced, value_of
from .symbols import Known, Symbol, Use, is_pure

# Kernels whose results have lengths that depend on elements.
_DEPENDING = frozenset(("nonzero", "bincount"))
_INDEXING = frozenset(("getitem", "index_put"))
_UNPLANNED = _DEPENDING | _INDEXING  # or some of them


class Recorder(Arrays):
    """One recording: its `events` in order, or the `reason` why there is none. Of one in detail a plan can be made; another one,
    which is only compared, takes half as long.
    """

    def __init__(self, environment: Environment, arguments: Sequence[Tensor], fullgraph: bool,
                 code: types.CodeType | None = None, in_detail: bool = True) -> None:
        super().__init__(environment, arguments, fullgraph, in_detail)
        self.events: list[tuple[Any, ...]] = []
        self.direct: dict[int, Any] = {}  # what kernels do, by the number of their event
        self._frames: dict[int, tuple[types.CodeType, int]] = {}  # the lines of the program that have called them
        self.recipes: dict[int, Any] = {}  # as loops of NumPy's, where they are such
        self.dense: dict[int, tuple[Any, ...]] = {}  # the dtypes of their operands, where all arrays are contiguous
        self.end = 0  # where what the function returns stands among the events; behind it are those of a backward outside
        self.is_open = False  # whether gradients of results are computed outside
        self.leaves: list[Tensor] = []  # those results
        self.wanted: list[tuple[Symbol, Tensor]] = []  # what their gradients lead to
        self.given: list[Any] = []  # shape, dtype and device of the gradients of results, None where there is none
        self.is_whole = self.is_settled = False  # whether those events are there, and have become part of a plan
        self.context: Any = None  # the modes of the call
        self.differentiates = False  # whether the function calls backward
        self._is_kept = False  # whether a backward outside has left the graph as it is
        self.cuts: dict[int, Tensor] = {}  # arguments that were computed outside, by their nodes
        self.dropped: dict[int, list[Symbol]] = {}  # tensors whose gradients are let go before the event of this number
        self._kinds = {np.ndarray}  # the classes of arrays that kernels have had
        self._code = code  # of the function
        self._line: ReturnLine | None = None  # that returns numbers
        self._read_from = 0  # the first event after one of them has been read
        self._draws: list[tuple[int, int]] = []  # (seed, offset)
        self._blocks: list[tuple[Any, int]] = []  # the generator of each and how many it took; None for one that was repeated
        self._heads: dict[int, tuple[Any, int, int, int]] = {}  # generators, their seeds, where they began, how far they got
        self._had_gradients = {id(t): t._grad is not None for t in self._watched}
        self._written = {id(t): (t._grad, t._array) for t in self._known.values()}
        self._versions = self._counts()
        self._graded = [t for t in self._known.values() if t._grad is not None]

    def _look_at_gradients(self) -> None:
        """Note which gradients have been let go since the last kernel."""
        graded = self._graded
        self.dropped.setdefault(len(self.events), []).extend([self._target(t) for t in graded if t._grad is None])
        self._graded = [t for t in graded if t._grad is not None]

    # ---- what happens --------------------------------------------------------------------------------------------
    @property
    def is_paused(self) -> bool:
        """Whether what happens now is not recorded."""
        return self._paused or self.reason is not None

    def line(self, number: int) -> str | None:
        """The line of the program that has called the kernel of this number, as ``file:line``; None if it was not noted."""
        found = self._frames.get(number)
        if found is None:
            return None
        code, instruction = found
        return f"{code.co_filename}:{[*code.co_positions()][instruction // 2][0]}"

    def kernel(self, name: str, arrays: Sequence[Any], attributes: dict[str, Any], result: Any) -> None:
        """Called by the dispatcher after each kernel."""
        if self._paused or self.reason is not None:
            return
        graded = self._graded
        if graded and (graded[0]._grad is None or graded[-1]._grad is None):  # mostly all at once, so two of the tensors tell
            self._look_at_gradients()
        many = result.__class__ is tuple or result.__class__ is list
        results = result if many else (result,)
        kind = result.__class__
        if kind not in self._kinds or name in _UNPLANNED:
            kind = self._kind(name, arrays, attributes, results)
            if kind is None:
                return
            self._kinds.add(kind)
        if self.in_detail:
            self._look_at(name, kind, arrays, attributes, results)
        known = self._symbols
        operands: list[Any] = []
        for a in arrays:
            its = a.__class__
            if its is kind:
                found = known.get(id(a))
                operands.append(found[1] if found is not None and found[0]() is a else self._operand(a))
            elif its is int or (its is float and not self._numbers):
                operands.append(a)
            elif its in TABLES:
                self._kind(name, arrays, attributes, results)
                return
            else:
                operands.append(self._operand(a))
        named = {key: self._operand(value) for key, value in attributes.items()} if attributes else {}
        draw = None
        if "offset" in named and "seed" in named:
            pair = (named["seed"], named["offset"])
            draw = next((n for n in range(len(self._draws) - 1, -1, -1) if self._draws[n] == pair), None)
            if draw is None:
                self.refuse(f"'{name}' draws random numbers that come from no generator of lucid")
                return
            named["seed"], named["offset"] = ("seed", draw), ("offset", draw)
        outputs: list[Symbol | None] = []
        scalar = False
        for array in results:
            if array is None:
                outputs.append(None)
                continue
            if array.__class__ not in TABLES:
                self.refuse(f"'{name}' returns something else than arrays")
                return
            # An operand again, or new memory, for which a GPU kernel may take an array object that nobody holds any more.
            mine = None
            for a in (*arrays, *attributes.values()) if attributes else arrays:
                if a is array:
                    mine = self.symbol(array)
                    break
            shape = array.shape
            outputs.append(mine or self._slot(array, shape))
            scalar = scalar or not shape
        self.events.append(("kernel", name, kind, operands, named, draw, outputs, many, scalar))

    def _kind(self, name: str, arrays: Sequence[Any], attributes: dict[str, Any], results: Sequence[Any]) -> Any:
        """The class of the arrays of a kernel; None if it is not recorded."""
        kinds = {a.__class__ for a in (*arrays, *results) if a.__class__ in TABLES}
        if StoredArray in kinds:
            self.refuse(f"'{name}' makes elements of a dtype for storage")
        elif any(kind is not np.ndarray and not hasattr(kind, "__cuda_array_interface__") for kind in kinds):
            pass  # shapes of 'meta' and formulas: nothing is computed
        elif name in _DEPENDING or (name in _INDEXING and _has_mask((arrays, attributes)) and not (
                name == "index_put" and getattr(arrays[1], "size", 1) == 1)):  # one number is written wherever the mask says
            self.refuse(f"the shape of the result of '{name}' depends on elements")
        elif not kinds and any(result is not None for result in results):
            self.refuse(f"'{name}' returns no array")
        elif len(kinds) > 1:
            self.refuse(f"'{name}' moves elements between devices")
        else:
            return next(iter(kinds), np.ndarray)
        return None

    def _look_at(self, name: str, kind: Any, arrays: Sequence[Any], attributes: dict[str, Any], results: Sequence[Any]) -> None:
        """Note the line that calls a kernel, and what a plan can make of it for such layouts."""
        number = len(self.events)
        frame = user_frame(inside=4)  # this, `kernel`, what the dispatcher calls, and what has called the dispatcher
        if frame is not None:
            self._frames[number] = frame.f_code, frame.f_lasti
        if "out" in attributes:
            return
        choose = getattr(backends.kernel_of(kind, name), "direct", None)
        direct = None if choose is None else choose(*arrays, **attributes)
        if direct is not None:  # what the kernel finds out about these layouts is known to a plan
            self.direct[number] = direct
        is_host = kind is np.ndarray
        if is_host:
            recipe = chains.recipe(name, direct, arrays, attributes, results)
            if recipe is not None:
                self.recipes[number] = recipe
        if not is_host or getattr(results[0], "size", 0) >= LARGE:  # which may be fused
            held: list[Any] = [a for a in (*arrays, *results) if a.__class__ in TABLES]
            if all(a.flags.c_contiguous for a in held):
                self.dense[number] = tuple([getattr(a, "dtype", None) for a in arrays])

    def took(self, generator: Any, blocks: int, seed: int, offset: int) -> None:
        """A generator has given away `blocks` of its counter."""
        if self.is_paused:
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
        if not self.is_paused:
            self._heads.setdefault(id(generator), (generator, seed, offset, offset))

    def put_back(self, generator: Any, seed: int, offset: int) -> None:
        """A generator was given a state."""
        if not self.is_paused:
            _, known, start, head = self._heads.get(id(generator), (generator, None, 0, -1))
            if seed != known or not start <= offset <= head:
                self.refuse("it gives a generator a state from outside")

    def read(self, array: Any) -> None:
        """Python is about to see the elements of `array`."""
        if self.is_paused:
            return
        reader = None if self._code is None else frame_that_reads(self._code)
        try:
            if reader is not None and self._line is None:
                self._line, self._read_from = ReturnLine(reader[0]), len(self.events)
            if reader is not None and self._line is not None and self._line.take(*reader, array):
                return
        except Unknown:
            pass
        self.refuse("Python reads the elements of a tensor")

    def constant(self, array: Any) -> None:
        """An array was made of Python's numbers."""
        if not self.is_paused and is_array(array) and self.symbol(array) is None:
            value = array.copy()
            symbol = self._slot(array, array.shape)
            self.events.append(("constant", value, symbol))

    def host(self, function: Any, args: Any, keywords: Any, is_number: bool = False) -> Any:
        """Run `function`, which replays call as it is. With `is_number` it returns one for kernels."""
        if not self.is_paused and self.end and self.is_open:
            self.refuse("backward outside takes a step that is called as it is")
        if self.is_paused:
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
                    given.append(Use((symbol,)))
            elif isinstance(leaf, Tensor):
                given.append(Known((self._target(leaf),)))
            elif callable(leaf) and not isinstance(leaf, Module):
                self.refuse(f"{_name_of(function)} gets a function, which it may call any number of times: compile that function "
                            "instead")
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
                self.refuse(f"{_name_of(function)} gives a tensor other memory, or another gradient")
                return result
        self._versions = self._counts()
        output = None
        if isinstance(result, Tensor) and id(result) not in self._known:
            if result._node is not None:
                self.refuse("the result of a step requires grad")
                return result
            output = self._slot(result._array, result._array.shape)
        elif is_number:
            output = ("number", len(self._numbers))
            self._numbers[id(result)] = (result, output)
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
                elif new._array.__class__ not in TABLES or hasattr(new._array, "is_sparse"):
                    self.refuse("a gradient is sparse")
                elif id(new) in self._known or new._view is not None:
                    self.refuse("a gradient is a tensor that has another name too, or a view")
                else:
                    symbol = self.symbol(new._array)
                    if symbol is None or symbol[0] != "slot":
                        self.refuse("a gradient shares its memory with something else")
                    self.events.append(("grad", self._target(tensor), symbol))
            if tensor._array is not array:
                symbol = self.symbol(tensor._array)
                if symbol is None or symbol[0] != "slot" or role(tensor) == "result" or tensor._view is not None:
                    self.refuse("it gives a tensor the memory of another one")
                self.events.append(("memory", self._target(tensor), symbol))
            self._written[key] = (tensor._grad, tensor._array)

    def _counts(self) -> dict[int, tuple[Any, int]]:
        return {key: (t._array, write_count(t)) for key, t in self._known.items()}

    def _versions_now(self) -> None:
        """Record how often the tensors that are there have been written."""
        for key, (array, version) in self._versions.items():
            tensor = self._known[key]
            if tensor._array is array and write_count(tensor) > version:
                self.events.append(("written", self._target(tensor), write_count(tensor) - version))
        self._versions = self._counts()

    def finish(self, result: Any) -> None:
        """Record what the function returns, and what it has written to variables."""
        if self.is_paused:
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
            if get is absent:  # a variable that was not there before
                continue
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
        for key, (_, _, _, before) in self._before.items():
            tensor = self._known[key]
            now = role(tensor)
            if now == before:
                continue
            if "result" in (now, before) or _hooked(tensor):
                self.refuse("a tensor that is there after the call has got a gradient that leads into it")
                return
            self.events.append(("requires", self._target(tensor), now == "leaf"))

    def had_gradient(self, tensor: Tensor) -> bool | None:
        """Whether a tensor that the function sees had a gradient before the call; None of another one."""
        return self._had_gradients.get(id(tensor))

    def release(self) -> None:
        """Let go of what only the recording needed."""
        for held in (self._before, self._written, self._known, self._symbols, self._places, self._versions, self.arguments,
                     self._watched, self._heads, self._graded, self.leaves, self.wanted, self.cuts):
            held.clear()

    def _returned(self, result: Any, written: dict[int, int], put: list[Any]) -> None:
        leaves, spec = tree_flatten(result)
        outputs: list[Any] = []
        symbols: dict[Any, Any] = {}
        if self._line is not None:
            found = self._with_numbers(self._line, result, leaves)
            if found is None:
                self.refuse("Python reads the elements of a tensor")
                return
            leaves, symbols = found
        gradients = {id(t._grad): t for t in self._known.values() if t._grad is not None}
        others = {id(owner(t._array)) for t in self._known.values()}
        others |= {id(owner(t._grad._array)) for t in gradients.values() if t._grad is not None}
        memories = [id(owner(array)) for array in put]
        if len({*memories}) < len(memories) or not others.isdisjoint(memories):
            self.refuse("it gives a variable a tensor whose memory another one has too")
            return
        others.update(memories)
        before: dict[int, int] = {}
        new = {id(leaf): leaf for leaf in leaves if isinstance(leaf, Tensor) and id(leaf) not in self._known}
        differentiable = [leaf for leaf in new.values() if leaf._node is not None]
        is_open = bool(differentiable) and (bool(self.cuts) or any(self._needs_the_call(leaf._node) for leaf in differentiable))
        self.is_open = is_open
        if is_open and not self._lead_to(differentiable):
            return
        if self.cuts and not is_open:
            self.refuse("an argument has a gradient that leads out of the function")
            return
        for place, leaf in enumerate(leaves):
            if isinstance(leaf, Expression):
                outputs.append(("number", replaced(leaf.tree, symbols)))
                continue
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
            memory = {id(owner(array)) for array in (leaf._array, *arrays_of_conjugates(leaf))}
            if not others.isdisjoint(memory):
                self.refuse("it returns a tensor whose memory another one has too")
                return
            others |= memory
            if is_open and leaf._node is not None:
                outputs.append(("alive", symbol, len(self.leaves)))
                self.leaves.append(leaf)
            else:
                outputs.append(("tensor", symbol, leaf._node))
        self._end(outputs, spec)

    def _with_numbers(self, line: ReturnLine, result: Any, leaves: Sequence[Any]) -> tuple[list[Any], dict[Any, Any]] | None:
        """The leaves of what is returned, with expressions in the place of numbers, and the symbols of these; None if they are
        something else than the source says, or arrays are written after they have been read.
        """
        try:
            others, _ = tree_flatten(line.with_values(result))
        except Unknown:
            return None
        symbols = {place: self.symbol(array) for place, array in line.read.items()}
        tensors = {place: wrap(array) for place, array in line.read.items()}
        if None in symbols.values() or len(others) != len(leaves) or not all(
                is_pure(event) or event[0] in _AROUND for event in self.events[self._read_from:]):
            return None
        self._paused = True
        try:
            for other, leaf in zip(others, leaves, strict=True):
                if isinstance(other, Expression):
                    value = value_of(other.tree, tensors)
                    if value.__class__ is not leaf.__class__ or not same(value, leaf):
                        return None
        finally:
            self._paused = False
        return others, symbols

    def _end(self, outputs: list[Any], spec: Any) -> None:
        self.end = len(self.events)
        self.events.append(("return", outputs, spec))
        self._graded = []

    def _needs_the_call(self, node: Any) -> bool:
        """Whether a backward from `node` needs something of this very call: what its graph has saved, an argument, or a tensor
        that the call has made. Of a function that computes gradients itself others are let be.
        """
        watched = set(map(id, self._watched)) if self.differentiates else ()
        seen, stack = set(), [node]
        while stack:
            node = stack.pop()
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            if node.__class__ is Leaf:
                if id(node.tensor()) not in watched:
                    return True
            elif node.__class__ is Slot:
                stack += node.parents
            elif node.vjp is not None:  # else it has been freed, and raises
                kept = node.kept
                if saves(node.vjp.__closure__ or ()) if kept is None else kept is not False:
                    return True
                stack += node.parents
        return False

    def _lead_to(self, leaves: Sequence[Tensor]) -> bool:
        """Find what the gradients of results lead to: parameters and arguments. False, with a reason, if not to these alone."""
        if self.differentiates:
            self.refuse("it computes some gradients, and returns a tensor whose gradient has still to be computed")
            return False
        others = {id(t._node) for t in self._known.values() if t._node is not None and t._node.__class__ is not Leaf}
        found: dict[int, Tensor] = {}
        seen: set[int] = set()
        stack = [leaf._node for leaf in leaves]
        while stack:
            node = stack.pop()
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            if id(node) in self.cuts:
                found[id(self.cuts[id(node)])] = self.cuts[id(node)]
                continue
            if node.hooks or hasattr(node, "node_hooks"):
                self.refuse("it returns a tensor on the way of whose gradient are hooks")
                return False
            if node.__class__ is Leaf:
                tensor = node.tensor()
                if tensor is None or id(tensor) not in self._known:
                    self.refuse("it returns a tensor whose gradient leads to one that no variable and no argument holds")
                    return False
                found[id(tensor)] = tensor
            elif id(node) in others:
                self.refuse("it returns a tensor whose gradient leads into a graph that was there before the call")
                return False
            else:
                stack += node.parents
        self.wanted = sorted(((self._target(tensor), tensor) for tensor in found.values()), key=lambda pair: pair[0])
        return True

    def differentiate(self, leaves: Sequence[Tensor], targets: dict[Any, Tensor], up: Sequence[Any], keep: bool) -> list[Any]:
        """The gradients of `targets`, by their nodes, from those of `leaves`; a backward that is the first one is recorded."""
        again = bool(grad_mode.get() & GRAD)
        keep = self._is_kept = self._is_kept or keep or again  # gradients of gradients lead into the graph inside, too
        if self.is_whole and any(a is not None and b is None for a, b in zip(up, self.given, strict=True)) and not is_repeatable(
                self.events[:self.end + 1]):
            self.refuse("a second backward gives gradients to results that had none in the first")
        if self.reason is None and not self.is_whole:
            # Each its own array: not one that is known inside, or has been, or is that of two results.
            first = {id(each._array): number for number, each in reversed([*enumerate(up)]) if each is not None}
            up = [each if each is None or (self.symbol(each._array) is None and first[id(each._array)] == number)
                  else wrap(backends.run("copy", (each._array,))) for number, each in enumerate(up)]
        present = [(leaf, gradient) for leaf, gradient in zip(leaves, up, strict=True) if gradient is not None]
        outputs, gradients = zip(*present, strict=True)
        call = functools.partial(between, outputs, gradients, targets, again, keep)
        if self.reason is not None or self.is_whole:
            found = call()
        else:
            self.given = [None if each is None else (each._array.shape, each._array.dtype, each.device) for each in up]
            token = _recording.recorder.set(self)
            _recording.count(1)
            try:
                if again:
                    self.refuse("its gradients are differentiated again")
                for number, gradient in enumerate(up):
                    if gradient is not None:
                        self._set(gradient._array, ("up", number))
                with backends.observe(self.kernel):
                    found = call()
                results = [found.get(node) for node in targets]
                symbols = [None if each is None else self.symbol(each._array) for each in results]
                if [each is None for each in results] != [symbol is None for symbol in symbols]:
                    self.refuse("a gradient was made outside of lucid's operations")
                self.events.append(("returned", symbols))
                self.is_whole = True
            finally:
                _recording.count(-1)
                _recording.recorder.reset(token)
        return [found.get(node) for node in targets]


_AROUND = frozenset(("variable", "written", "requires"))  # what changes the tensors around arrays, and no elements
_WRITABLE = (dict, list, types.CellType)


def _name_of(function: Any) -> str:
    return str(getattr(function, "__qualname__", function))


def _hooked(tensor: Tensor) -> bool:
    node = tensor._node
    return node is not None and bool(node.hooks or node.post_accumulate_hooks)


def _has_mask(value: Any) -> bool:
    if is_array(value):
        return bool(value.dtype.kind == "b")
    if isinstance(value, dict):
        return any(map(_has_mask, value.values()))
    return isinstance(value, (tuple, list)) and any(map(_has_mask, value))


def make_arguments(given: Sequence[Any], spec: Any) -> Any:
    """(args, keywords) of a step, with tensors around arrays."""
    return tree_unflatten([wrap(leaf) if leaf.__class__ in backends.TABLES else leaf for leaf in given], spec)
