"""Plan: a recorded call as a function of kernels in a row, and whether it may be called.

Where gradients of what a call returns are computed outside of it, a second function does what backward did in that call: it is
the rule of one node in the graph.
"""
from __future__ import annotations

import functools
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import _clock as clock
from .. import _notebook, backends
from .._pytree import tree_unflatten
from ..autograd.grad_mode import GRAD, INFERENCE
from ..autograd.grad_mode import mode as grad_mode
from ..autograd.node import CallNode, Saved, Slot, check_inference
from ..backends.families import compiler_is_loaded
from ..tensor import Tensor, mark_inference, version_box, wrap
from ..tensor.nodes import Leaf
from .backward_graphs import BackwardGraphs
from .comparison import layout
from .function import GeneratedFunction
from .graphs import Graphs
from .guards import GONE, Guard, as_source, same, single
from .lifetimes import Lifetimes
from .recompute import Call, context, is_repeatable
from .recorder import Recorder
from .symbols import Symbol

CHAINED_AFTER = 100  # calls, until kernels are chained where Numba is not loaded: its import takes as long as thousands of calls
FUSED_AFTER = 500  # calls: each kernel takes half a second to compile
#: Calls until what is looked at before each one is compiled, which takes as long as looking forty times, and kernels are chained.
_SETTLED_AFTER = 8


class Plan:
    """One recorded call: `run(arrays)` repeats it. `holds()` says whether it may be.

    >>> @lucid.compile
    ... def double(x):
    ...     return x * 2
    >>> for _ in range(3):
    ...     y = double(lucid.ones(2))
    >>> isinstance(double.plans[0], lucid.compiler.Plan)
    True
    """

    def __init__(self, recorder: Recorder, only_forward: bool = False) -> None:
        """Of one `only_forward` gradients are recomputed, if there are any after all; it `is_stale` then."""
        self.recorder = recorder
        self._only_forward, self.is_stale = only_forward, False
        events = recorder.events
        replaced = {event[2]: event[1] for event in events if event[0] == "variable"}
        moving = {event[1][1] for event in events if event[0] == "memory" and event[1][0] == "state"} | set(replaced)
        self._replaced = sorted(replaced.items())
        containers = {id(container): container for _, container, _ in replaced.values()}
        self._guards: list[Guard] = []
        for guard in recorder.environment.guards:
            self._guards += [each for each in single(guard) if not _is_among(each, replaced.values())] if (
                id(guard[1]) in containers) else [guard]
        self._fixed = [(t, a) for n, (t, a) in enumerate(zip(recorder.state, recorder.arrays, strict=True)) if n not in moving]
        self._moving = [(n, recorder.state[n], layout(recorder.arrays[n])) for n in sorted(moving)]
        tensors = [*recorder.environment.tensors.values()]
        gone = {id(recorder.state[n]) for n in replaced}
        self._traits = [(t, t._node, _hooks(t)) for t in tensors if id(t) not in gone]
        #: Whether results have nodes of the recording, which lead to the leaves that there were.
        self._keeps_nodes = any(output[0] == "tensor" and output[2] is not None for output in events[recorder.end][1])
        before = recorder._before
        tensors = [t for t in tensors if id(t) not in gone]
        used = {*map(id, recorder.state)}
        #: Tensors that no kernel gets, of which the shape may have been asked for.
        self._beside = [(t, _outline(before[id(t)][0])) for t in tensors if id(t) not in used]
        self._present = [(t, layout(before[id(t)][2])) for t in tensors if before[id(t)][1] is not None]
        self._absent = [t for t in tensors if before[id(t)][1] is None and t._node is not None]
        self._own = frozenset(id(array) for _, array in self._fixed)
        self._unchanged, self._gradients = self._equal, self._gradients_now
        self._until_tested = _SETTLED_AFTER
        self._state = list(recorder.state)
        self._make(recorder)
        self.spec = events[recorder.end][2]
        self._known_ids = frozenset(recorder.environment.tensors)
        self._captured = moving
        recorder.release()
        on_cpu = not any(event[0] == "kernel" and event[2] is not np.ndarray for event in events)
        self._until_chained = 0 if not on_cpu else min(CHAINED_AFTER, _SETTLED_AFTER) if compiler_is_loaded() else CHAINED_AFTER
        self._until_fused = FUSED_AFTER

    def _make(self, recorder: Recorder) -> None:
        """Make the functions."""
        events, end = recorder.events, recorder.end + 1
        self._is_repeatable = recorder.is_open and is_repeatable(events[:end])
        self._generators = list({id(event[1]): event[1] for event in events[:end] if event[0] == "draw"}.values())
        self._is_open = recorder.is_open
        backward = []
        if recorder.is_open and not self._only_forward:
            draws = sum(event[0] in ("draw", "redraw") for event in events[:end])
            backward = [GeneratedFunction(recorder, events[end:], resumes=draws)]
        self.functions = [GeneratedFunction(recorder, events[:end], backward if recorder.is_open else None), *backward]
        self._forward, self._backward = self.functions[0], self.functions[-1]
        self._wanted = [symbol for symbol, _ in recorder.wanted]
        #: The place, and the number among those with gradients, of results.
        self._alive = [(place, output[2]) for place, output in enumerate(events[recorder.end][1]) if output[0] == "alive"]
        self._given = [None] * len(self._alive) if self._only_forward else recorder.given
        self._lock = threading.Lock()

    @functools.cached_property
    def _reads(self) -> tuple[list[Symbol], list[int]]:
        """The tensors that backward reads, and the places of results whose memory it reads."""
        saved = [symbol for function in self.functions[1:] for symbol in function.needs()[0]]
        owners = self.recorder.owners
        read = {owners[number] for kind, number in saved if kind == "slot"}
        return ([symbol for symbol in saved if symbol[0] in ("arg", "state")],
                [place for place, output in enumerate(self.recorder.events[self.recorder.end][1])
                 if output[0] == "alive" and owners[output[1][1]] in read])

    # ---- whether it may be used ----------------------------------------------------------------------------------
    def holds(self, arguments: Sequence[Tensor]) -> bool:
        """Whether all that the function sees, but for its arguments, is as it was when it was recorded."""
        if self._until_tested:
            self._until_tested -= 1
            if not self._until_tested:
                self._unchanged, self._gradients = self._test(), self._gradients_test()
        if not self._unchanged() and not self._equal():
            return False
        gradients = self._gradients()
        if gradients is None:
            return False
        if not self._replaced and not self._moving:
            for tensor in arguments:
                array = id(tensor._array)
                if array in self._own or id(tensor) in self._known_ids or array in map(id, gradients):
                    return False
            return True
        own = {*self._own, *map(id, gradients)}
        for number, (get, container, key) in self._replaced:
            now = get(container, key)
            if now.__class__ is not Tensor or now._node is not None or now._view is not None:
                return False
            self._state[number] = now
        for number, _, place in self._moving:
            array = self._state[number]._array
            if layout(array) != place or id(array) in own:
                return False
            own.add(id(array))
        return not any(id(t._array) in own or id(t) in self._known_ids for t in arguments)

    def _test(self) -> Callable[[], bool]:
        """A function that is true if all contents and arrays are the very same objects: the usual case, in little time."""
        names: dict[str, Any] = {}

        def name(value: Any) -> str:
            key = f"c{len(names)}"
            names[key] = value
            return key

        tests = [as_source(guard, name) for guard in self._guards]
        tests += [f"{name(t)}._array is {name(a)}" for t, a in self._fixed]
        tests += [f"{name(_outline)}({name(t)}._array) == {name(outline)}" for t, outline in self._beside]
        for tensor, node, hooks in self._traits:
            tests.append(f"{name(tensor)}._node is {name(node)}")
            if node is not None:
                counted = name(node)
                tests.append(f"not ({counted}.hooks or {counted}.post_accumulate_hooks)" if hooks == (0, 0)
                             else f"{name(_hooks)}({name(tensor)}) == {name(hooks)}")
        tests += [f"{name(t)}._grad is None" for t in self._absent]
        source = f"def test():\n try: return {' and '.join(tests) or 'True'}\n except {name(GONE)}: return False"
        exec(compile(source, "<lucid.compile>", "exec"), names)
        found: Callable[[], bool] = names["test"]
        return found

    def _gradients_test(self) -> Callable[[], tuple[Any, ...] | None]:
        """A function that returns the arrays of the gradients that there were; None if one is missing, or has another layout."""
        names: dict[str, Any] = {"ndarray": np.ndarray}
        if any(place[3] is not None for _, place in self._present):
            names |= {"gpu": backends.gpu_module().ndarray, "reference": weakref.ref}
        lines = []
        for number, (tensor, place) in enumerate(self._present):
            shape, dtype, strides, device = place
            names |= {f"t{number}": tensor, f"p{number}": place, f"s{number}": shape, f"d{number}": dtype, f"b{number}": strides}
            lines += [f" g = t{number}._grad", " if g is None or g._node is not None: return None", f" a{number} = a = g._array"]
            if device is None:
                lines.append(f" if a.__class__ is not ndarray or a.shape != s{number} or a.strides != b{number} or "
                             f"a.dtype != d{number}: return None")
            else:
                names[f"r{number}"] = [_nothing]  # a weak reference to the array that was there last
                lines += [f" if r{number}[0]() is not a:",
                          f"  if (a.shape != s{number} or a.strides != b{number} or a.dtype != d{number} or "
                          f"a.__class__ is not gpu or a.device.id != {device!r}): return None",
                          f"  r{number}[0] = reference(a)"]
        found_arrays = "".join(f"a{number}, " for number in range(len(self._present)))
        source = "\n".join(["def test():", *lines, f" return ({found_arrays})"])
        exec(compile(source, "<lucid.compile>", "exec"), names)
        found: Callable[[], tuple[Any, ...] | None] = names["test"]
        return found

    def _gradients_now(self) -> tuple[Any, ...] | None:
        """What the function of `_gradients_test` returns."""
        found = []
        for tensor, place in self._present:
            gradient = tensor._grad
            if gradient is None or gradient._node is not None or layout(gradient._array) != place:
                return None
            found.append(gradient._array)
        return tuple(found)

    def _equal(self) -> bool:
        """What the function of `_test` says, with plain values compared by what they are."""
        for get, container, key, content in self._guards:
            now = get(container, key)
            if now is not content and not same(now, content):
                return False
        for tensor, array in self._fixed:
            if tensor._array is not array:
                return False
        for tensor, outline in self._beside:
            if _outline(tensor._array) != outline:
                return False
        for tensor, node, hooks in self._traits:
            now = tensor._node
            if now is not node and (self._keeps_nodes or not (now.__class__ is node.__class__ is Leaf)):  # not frozen meanwhile
                return False
            if node is not None and _hooks(tensor) != hooks:
                return False
        return all(t._grad is None for t in self._absent)

    # ---- running it ----------------------------------------------------------------------------------------------
    def run(self, arguments: Sequence[Tensor], function: Any = None, args: Any = (), keywords: Any = None) -> Any:
        """What the function returns for these arguments, `args` and `keywords`."""
        graphs = self.graphs
        call = Call(function, args, keywords, arguments, self._state, self._generators) if self._is_repeatable else None
        if self._until_fused:
            self._until_fused -= 1
            if not self._until_fused and self._fuse():
                graphs = None  # in a capture no kernel may be compiled
        if graphs is not None and graphs.serve(arguments, self._state):
            leaves = graphs.run(arguments, self._state)
        else:
            if self._until_chained:
                self._until_chained -= 1
                if not self._until_chained:
                    for function in self.functions:
                        function.chain()
            leaves = self._forward.run(arguments, self._state)
        if self._is_open:
            leaves, saved = leaves
            self._connect(leaves, saved, arguments, call)
        if grad_mode.get() & INFERENCE:
            for leaf in leaves:
                if leaf.__class__ is Tensor and id(leaf) not in self._known_ids and not any(leaf is t for t in arguments):
                    mark_inference(leaf)
        return tree_unflatten(leaves, self.spec)

    def fuse_at_next_call(self) -> None:
        """Let elementwise operations become one kernel each at the next call, and not after some hundred."""
        self._until_fused = min(self._until_fused, 1)

    def _fuse(self) -> bool:
        """Put one kernel in the place of elementwise operations, where that can be; whether it was done."""
        changed = [function.fuse() for function in self.functions]
        if any(changed):
            self.__dict__.pop("graphs", None)
            self.__dict__.pop("backward_graphs", None)
        return any(changed)

    @functools.cached_property
    def graphs(self) -> Graphs | None:
        """The graphs of its function, on a GPU."""
        found: Graphs | None = Graphs.of(self._forward.lines, self._forward.names, self.recorder, self._captured)
        return found

    @functools.cached_property
    def backward_graphs(self) -> BackwardGraphs | None:
        """Those of its backward."""
        backward = self._backward
        if self.graphs is None or len(self.functions) == 1:
            return None
        found: BackwardGraphs | None = BackwardGraphs.of(backward.lines, self.graphs, backward.names, self.recorder,
                                                         self._captured, *backward.draws())
        return found

    # ---- gradients that are computed outside ---------------------------------------------------------------------
    def _connect(self, leaves: list[Any], saved: list[Any], arguments: Sequence[Tensor], call: Call | None) -> None:
        """Give results the node of the graph whose rule is the second function."""
        def tensor(symbol: Any) -> Tensor:
            return (arguments if symbol[0] == "arg" else self._state)[symbol[1]]

        watched, read = self._reads
        held = [tensor(symbol) for symbol in watched]  # whose versions the engine looks at
        for place in read:
            held.append(wrap(leaves[place]._array))
            held[-1]._version_box = version_box(leaves[place])
        if call is not None:
            call.returned([(place, leaves[place]._array) for place, _ in self._alive], [*map(tensor, self._wanted)])
        rule = self._rule(tuple(held), call)
        if clock.any_inference:
            check_inference(rule, "compiled")
        node = CallNode("compiled", [tensor(symbol)._node for symbol in self._wanted], rule, Saved(saved))
        for place, number in self._alive:
            leaves[place]._node = node if len(self._alive) == 1 else Slot(node, number)

    def _rule(self, held: tuple[Tensor, ...], call: Call | None) -> Callable[[Any, Saved], list[Any]]:
        def vjp(g: Any, saved: Saved) -> list[Any]:
            return self._differentiated(g, saved, held, call)

        return vjp

    def _differentiated(self, g: Any, saved: Saved, held: tuple[Tensor, ...], call: Call | None) -> list[Any]:
        """The gradients of arguments and parameters from those of the results."""
        again = bool(grad_mode.get() & GRAD)
        up = upstream(g, len(self._given))
        is_other = again or [each is None for each in up] != [each is None for each in self._given]
        self.is_stale = self._only_forward
        if is_other and call is not None and context()[1:4] == self.recorder.context[1:4]:
            recomputed = call.gradients(up, again)
            if recomputed is not None:
                if not saved.is_kept:
                    saved.values.clear()
                return recomputed
        if again:
            raise RuntimeError("lucid.compile: the gradient of a compiled function cannot be differentiated again (create_graph)"
                               ": it was not when the function was recorded. Compile a function that computes both")
        for number, (gradient, given) in enumerate(zip(up, self._given, strict=True)):
            if gradient is None and given is not None:
                shape, dtype, device = given
                up[number] = wrap(backends.create("full", device, {"shape": shape, "fill_value": 0, "dtype": dtype}))
            elif gradient is not None and given is None:
                raise RuntimeError("lucid.compile: a result of a compiled function gets a gradient that it did not get when the "
                                   "function was recorded; lucid.compiler.reset() lets it be recorded again")
        with self._lock:  # chains have memory of their own, and another thread may compute other gradients
            graphs = self.backward_graphs
            if graphs is not None and graphs.serve(saved.values, up):
                found: list[Any] = graphs.run(saved.values, saved.is_kept, up)
            else:
                found = self._backward.run(saved.values, saved.is_kept, up)
        return found

    # ---- what it is ----------------------------------------------------------------------------------------------
    @property
    def memory(self) -> int:
        """The most bytes that arrays of the plan take at one time, beside arguments, parameters and buffers."""
        return max(function.memory for function in self.functions)

    @property
    def lifetimes(self) -> Lifetimes:
        """How long its arrays live: of a function whose gradients are computed outside, forward."""
        return self._forward.lifetimes

    def plot(self, axes: Any = None) -> Any:
        """Draw the memory in use from kernel to kernel, with matplotlib; returns its axes."""
        return self.lifetimes.plot(axes)

    def _repr_html_(self) -> str:
        return _notebook.plan(self.summary())

    def summary(self) -> str:
        """The kernels of the plan, how often each runs, and the bytes of their results; the most memory; on a GPU the graphs."""
        counts: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for event in self.recorder.events:
            if event[0] == "kernel":
                counts[event[1]] += 1
                sizes[event[1]] += sum(self.recorder.slots[o[1]][0] for o in event[6]
                                       if o is not None and o[0] == "slot" and self.recorder.owners[o[1]] == o[1])
        steps = sum(event[0] == "host" for event in self.recorder.events)
        lines = [f"{sum(counts.values())} kernels, {steps} steps called as they are, at most {self.memory:,} bytes at one time"]
        if self.graphs is not None:
            lines.append(self.graphs.described())
        if self.backward_graphs is not None:
            lines.append(f"backward: {self.backward_graphs.described()}")
        if len(self.functions) > 1:
            lines.append(f"{sum(event[0] == 'kernel' for event in self._backward.events)} of them in backward, outside")
        for function in self.functions:
            lines += [f"one kernel for {len(group)} of them: {' '.join(event[1] for event in group)}" for group in function.fused]
            lines += [f"one call for {len(names)} of them: {' '.join(names)}" for names in function.groups]
        lines += [f"{count:6d}  {kernel}  {sizes[kernel]:,} bytes" for kernel, count in counts.most_common()]
        return "\n".join(lines)


def _is_among(guard: Guard, others: Iterable[tuple[Any, ...]]) -> bool:
    """Whether `guard` is one of others, whose contents may be others."""
    return any(guard[1] is container and guard[0] is get and guard[2] == key for get, container, key in others)


def _nothing() -> None:
    """In the place of a weak reference, as if to what is gone."""


def _outline(array: Any) -> tuple[Any, ...]:
    """What can be asked of a tensor with this array, whatever it is made of, but for its elements."""
    return array.__class__, array.shape, array.dtype, getattr(array, "strides", None)


def _hooks(tensor: Tensor) -> tuple[int, ...]:
    """How many hooks wait for the gradient of a leaf."""
    node = tensor._node
    return () if node is None else (len(node.hooks or ()), len(getattr(node, "post_accumulate_hooks", None) or ()))


def upstream(g: Any, count: int) -> list[Any]:
    """The gradients of so many results, None where there is none, contiguous: what a rule gets depends on what comes after."""
    found = list(g) if g.__class__ is list else [g]
    found += [None] * (count - len(found))
    return [each if each is None or each._array.flags.c_contiguous else wrap(backends.run("copy", (each._array,)))
            for each in found]
