"""Plan: a recorded call as one Python function of kernels in a row, without tensors, graph or gradient rules.

Every kernel makes its result as it does when it runs eagerly, in new memory, and an array is let go after its last use: results
are the caller's own, and no more memory is in use than eagerly.
"""
from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from types import CellType
from typing import Any

import numpy as np

from .. import backends
from .._pytree import TreeSpec, tree_unflatten
from ..autograd.grad_mode import INFERENCE
from ..autograd.grad_mode import mode as grad_mode
from ..nn.parameter import Buffer
from ..tensor import Tensor, mark_inference, record_update, wrap
from .graphs import LETTERS, Graphs, Line, read
from .lifetimes import Lifetimes
from .recorder import Known, Recorder, Symbol, Use, make_arguments
from .watch import GONE, as_test, is_empty, same

Layout = tuple[Any, ...]


def layout(array: Any) -> Layout:
    """What kernels are chosen by: shape, dtype, strides, and the device."""
    return array.shape, array.dtype, array.strides, None if array.__class__ is np.ndarray else array.device.id


def differences(first: Recorder, second: Recorder) -> str | None:
    """What differs between two recordings of one function; None if a plan of one serves for the other."""
    for number, (a, b) in enumerate(itertools.zip_longest(first.events, second.events)):
        if a is None or b is None:
            return f"one call ran {len(first.events)} steps, another one {len(second.events)}"
        if not _equal(a, b, first, second):
            return f"step {number} differs between two calls: {_difference(a, b, first, second)}"
    return None


def _difference(a: Any, b: Any, first: Recorder, second: Recorder) -> str:
    names = [f"'{event[1]}'" if event[0] == "kernel" else event[0] for event in (a, b)]
    if names[0] != names[1]:
        return f"{names[0]} was {names[1]}"
    if a[0] != "kernel":
        return f"{names[0]} has other values"
    if not _equal(a[3], b[3], first, second):
        return f"{names[0]} has other operands, {_shown(a[3])} and {_shown(b[3])}"
    for key in a[4]:
        if key not in b[4] or not _equal(a[4][key], b[4][key], first, second):
            return f"{names[0]} has another '{key}', {_shown(a[4][key])} and {_shown(b[4].get(key))}"
    return f"{names[0]} has other results, {_shown(a[6:])} and {_shown(b[6:])}"


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_shown, value))})"
    return " ".join(map(str, value.symbol)) if isinstance(value, Use) else repr(value)[:60]


def _equal(a: Any, b: Any, first: Recorder, second: Recorder) -> bool:
    if a is b:
        return True
    if a.__class__ is not b.__class__:
        return False
    if a.__class__ in backends.TABLES:
        a, b = backends.to_host(a), backends.to_host(b)
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, Use):
        return _equal(a.symbol, b.symbol, first, second)
    if isinstance(a, (tuple, list)):
        if a.__class__ is tuple and len(a) == 2 and a[0] in ("state", "grad") and a[1].__class__ is int:
            return len(b) == 2 and a[0] == b[0] and _equal_state(a[1], b[1], first, second)
        return len(a) == len(b) and all(_equal(x, y, first, second) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return list(a) == list(b) and all(_equal(a[key], b[key], first, second) for key in a)
    if hasattr(a, "vjp") or hasattr(a, "next_functions"):  # nodes of results
        return True
    return same(a, b) or (isinstance(a, TreeSpec) and a == b) or (
        a.__class__.__eq__ is not object.__eq__ and not isinstance(a, Tensor) and bool(a == b))


def _equal_state(a: int, b: int, first: Recorder, second: Recorder) -> bool:
    mine, its = variables(first).get(a), variables(second).get(b)
    return mine == its if mine is not None else first.state[a] is second.state[b]


def variables(recorder: Recorder) -> dict[int, tuple[int, Any]]:
    """The tensors that the function replaces by others in a variable: its place by the number of the tensor."""
    return {event[2]: (id(event[1][1]), event[1][2]) for event in recorder.events if event[0] == "variable"}


class Plan:
    """One recorded call: `run(arrays)` repeats it. `holds()` says whether it may be."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        events = recorder.events
        replaced = {event[2]: event[1] for event in events if event[0] == "variable"}
        moving = {event[1][1] for event in events if event[0] == "memory" and event[1][0] == "state"} | set(replaced)
        self._replaced = sorted(replaced.items())
        variable_places = {(id(container), key) for _, container, key in replaced.values()}
        self._places = [place for place in recorder.environment.places
                        if (id(place[1]), place[2]) not in variable_places]
        self._fixed = [(t, a) for n, (t, a) in enumerate(zip(recorder.state, recorder.arrays, strict=True)) if n not in moving]
        self._moving = [(n, recorder.state[n], layout(recorder.arrays[n])) for n in sorted(moving)]
        tensors = [*recorder.environment.tensors.values()]
        gone = {id(recorder.state[n]) for n in replaced}
        self._traits = [(t, t._node, _hooks(t)) for t in tensors if id(t) not in gone]
        before = recorder._before
        tensors = [t for t in tensors if id(t) not in gone]
        self._present = [(t, layout(before[id(t)][2])) for t in tensors if before[id(t)][1] is not None]
        self._absent = [t for t in tensors if before[id(t)][1] is None and t._node is not None]
        self._own = frozenset(id(array) for _, array in self._fixed)
        self._unchanged = self._test()
        self._state = list(recorder.state)
        lines, names = self._written()
        self.lifetimes = Lifetimes(lines, recorder)
        self._source = self._joined(lines)
        exec(compile(self._source, "<lucid.compile>", "exec"), names)
        self._run: Callable[..., list[Any]] = names["run"]
        self.spec = events[-1][2]
        self._known_ids = frozenset(recorder.environment.tensors)
        self.graphs = Graphs.of(lines, names, recorder, moving)
        recorder.release()

    # ---- whether it may be used ----------------------------------------------------------------------------------
    def holds(self, arguments: Sequence[Tensor]) -> bool:
        """Whether all that the function sees, but for its arguments, is as it was when it was recorded."""
        if not self._unchanged() and not self._equal():
            return False
        own = {*self._own}
        for tensor, place in self._present:
            grad = tensor._grad
            if grad is None or grad._node is not None or layout(grad._array) != place:
                return False
            own.add(id(grad._array))
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

        empty = tuple([place[1] for place in self._places if is_empty(place)])
        tests = [f"not any({name(empty)})"] if empty else []  # one look at all: a module has a dozen
        tests += [as_test(place, name) for place in self._places if not is_empty(place)]
        tests += [f"{name(t)}._array is {name(a)}" for t, a in self._fixed]
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

    def _equal(self) -> bool:
        """What `_unchanged` says, with plain values compared by what they are."""
        for get, container, key, content in self._places:
            now = get(container, key)
            if now is not content and not same(now, content):
                return False
        for tensor, array in self._fixed:
            if tensor._array is not array:
                return False
        for tensor, node, hooks in self._traits:
            if tensor._node is not node or (node is not None and _hooks(tensor) != hooks):
                return False
        return all(t._grad is None for t in self._absent)

    # ---- running it ----------------------------------------------------------------------------------------------
    def run(self, arguments: Sequence[Tensor]) -> Any:
        """What the function returns for these arguments."""
        graphs = self.graphs
        if graphs is not None and graphs.serve(arguments, self._state):
            leaves = graphs.run(arguments, self._state)
        else:
            leaves = self._run(arguments, self._state)
        if grad_mode.get() & INFERENCE:
            for leaf in leaves:
                if leaf.__class__ is Tensor and id(leaf) not in self._known_ids and not any(leaf is t for t in arguments):
                    mark_inference(leaf)
        return tree_unflatten(leaves, self.spec)

    def _written(self) -> tuple[list[Line], dict[str, Any]]:
        """The lines of the function, and the objects that they name."""
        names: dict[str, Any] = {"wrap": wrap, "as_array": backends.as_array, "renew": _renew, "note": _note, "same": _same,
                                 "step": make_arguments}
        lines: list[Line] = []

        def name(value: Any) -> str:
            if value.__class__ in (int, bool, type(None), str) or (value.__class__ is float and value == value
                                                                   and abs(value) != float("inf")):
                return repr(value)
            key = f"c{len(names)}"
            names[key] = value
            return key

        used: list[Symbol] = []

        def variable(symbol: Symbol) -> str:
            used.append(symbol)
            return f"{LETTERS[symbol[0]]}{symbol[1]}"

        def tensor(target: Symbol) -> str:
            return f"{'given' if target[0] == 'arg' else 'state'}[{target[1]}]"

        def expression(value: Any) -> str:
            if isinstance(value, Use):
                return variable(value.symbol)
            if value.__class__ is tuple and len(value) == 2 and value[0] in ("seed", "offset"):
                return f"{value[0]}{value[1]}"
            if _plain(value):
                return name(value)
            if value.__class__ is list:
                return f"[{', '.join(map(expression, value))}]"
            if value.__class__ is tuple:
                return f"({''.join(expression(item) + ', ' for item in value)})"
            if isinstance(value, tuple):
                return f"{name(value.__class__)}({', '.join(map(expression, value))})"
            return f"{{{', '.join(f'{name(key)}: {expression(item)}' for key, item in value.items())}}}"

        def add(text: str) -> None:
            lines.append(Line(kind, text, list(used), event))
            used.clear()

        draws = 0
        for number, event in enumerate(self.recorder.events):
            kind = event[0]
            if kind == "kernel":
                _, kernel_name, kernel_kind, operands, attributes, _, outputs, many, scalar, _ = event
                kernel = self.recorder.direct.get(number) or backends.kernel_of(kernel_kind, kernel_name)
                parts = [*map(expression, operands), *(f"{key}={expression(value)}" for key, value in attributes.items())]
                call = f"{name(kernel)}({', '.join(parts)})"
                reads = set(used)
                targets = ["_" if o is None or o[0] != "slot" or o in reads else variable(o) for o in outputs]
                if not many and outputs[0] is not None and targets[0] == "_":
                    add(f"same({call}, {variable(outputs[0])})")
                elif all(target == "_" for target in targets):
                    add(call)
                elif many:
                    add(f"{''.join(target + ', ' for target in targets)} = {call}")
                    for target in targets:
                        if target != "_" and scalar:
                            add(f"{target} = as_array({target})")
                            lines[-1].symbols = [("slot", int(target[1:]))]
                else:
                    add(f"{targets[0]} = as_array({call})" if scalar else f"{targets[0]} = {call}")
            elif kind == "draw":
                add(f"seed{draws}, offset{draws} = {name(event[1])}.take({event[2]})")
                draws += 1
            elif kind == "redraw":
                add(f"seed{draws}, offset{draws} = seed{event[1]}, offset{event[1]} + {event[2]}")
                draws += 1
            elif kind == "constant":
                add(f"{variable(event[2])} = {name(event[1])}.copy()")
            elif kind == "host":
                _, function, given, spec, output = event
                leaves = ", ".join(tensor(leaf.symbol) if isinstance(leaf, Known) else variable(leaf.symbol)
                                   if isinstance(leaf, Use) else name(leaf) for leaf in given)
                call = f"{name(function)}(*_args, **_keywords)"
                add(f"_args, _keywords = step([{leaves}], {name(spec)})")
                add(call if output is None or output[0] != "slot" else f"{variable(output)} = {call}._array")
            elif kind == "grad":
                value = "None" if event[2] is None else f"wrap({variable(event[2])})"
                add(f"{tensor(event[1])}._grad = {value}")
            elif kind == "memory":
                add(f"renew({tensor(event[1])}, {variable(event[2])})")
            elif kind == "written":
                add(f"note({tensor(event[1])}, {event[2]})")
            elif kind == "requires":
                add(f"{tensor(event[1])}.requires_grad_({event[2]})")
            elif kind == "variable":
                _, (_, container, key), replaced, symbol = event
                place = f"{name(container)}.cell_contents" if isinstance(container, CellType) else (
                    f"{name(container)}[{name(key)}]")
                add(f"n{replaced} = {place} = wrap({variable(symbol)})")
            else:
                results = []
                for output in event[1]:
                    if output[0] == "tensor":
                        results.append(f"wrap({variable(output[1])}, {name(output[2])})")
                    elif output[0] == "gradient":
                        results.append(f"{tensor(output[1])}._grad")
                    elif output[0] == "put":
                        results.append(f"n{output[1]}")
                    else:
                        results.append(name(output[1]) if output[0] == "value" else tensor(output) if output[0] != "again"
                                       else f"results[{output[1]}]")
                twice = [place for place, output in enumerate(event[1]) if output[0] == "again"]
                text = ", ".join("None" if place in twice else result for place, result in enumerate(results))
                add(f"results = [{text}]")
                for again in twice:
                    add(f"results[{again}] = {results[again]}")
                add("return results")
        return lines, names

    def _joined(self, lines: list[Line]) -> str:
        """The lines, with the arrays read before them and let go after their last use."""
        symbols = {symbol for line in lines for symbol in line.symbols}
        text = ["def run(given, state):", *[f" {line}" for line in read(symbols)]]
        for number, line in enumerate(lines):
            text.append(f" {line.text}")
            gone = self.lifetimes.ends.get(number)
            if gone and not line.text.startswith("return"):
                text.append(f" del {', '.join(f'v{slot}' for slot in gone)}")
        return "\n".join(text)

    # ---- what it is ----------------------------------------------------------------------------------------------
    @property
    def memory(self) -> int:
        """The most bytes that arrays of the plan take at one time, beside arguments, parameters and buffers."""
        return self.lifetimes.peak

    def plot(self, axes: Any = None) -> Any:
        """Draw the memory in use from kernel to kernel, with matplotlib; returns its axes."""
        return self.lifetimes.plot(axes)

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
        lines += [f"{count:6d}  {kernel}  {sizes[kernel]:,} bytes" for kernel, count in counts.most_common()]
        return "\n".join(lines)


def _hooks(tensor: Tensor) -> tuple[int, ...]:
    """How many hooks wait for the gradient of a leaf."""
    node = tensor._node
    return () if node is None else (len(node.hooks or ()), len(getattr(node, "post_accumulate_hooks", None) or ()))


def _same(result: Any, expected: Any) -> None:
    """A kernel that returned one of its operands when it was recorded does so again."""
    if result is not expected:
        raise RuntimeError("lucid.compile: a kernel returned new memory where it was recorded to return that of an operand")


def _plain(value: Any) -> bool:
    """Whether there is no array and no draw in a value."""
    if isinstance(value, Use):
        return False
    if isinstance(value, (tuple, list)):
        return all(map(_plain, value))
    return not isinstance(value, dict) or all(map(_plain, value.values()))


def _renew(tensor: Tensor, array: Any) -> None:
    """Put `array` behind `tensor`, as an assignment to a buffer does."""
    if isinstance(tensor, Buffer):
        tensor.assign(wrap(array))
    else:
        tensor._swap_array(array)


def _note(tensor: Tensor, times: int) -> None:
    """Record that the memory of `tensor` was written."""
    for _ in range(times):
        record_update(tensor)
