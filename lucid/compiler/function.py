"""GeneratedFunction: recorded events as one Python function of kernels in a row, without tensors, graph or gradient rules.

Every kernel makes its result as it does when it runs eagerly, in new memory, and an array is let go after its last use: results
are the caller's own, and no more memory is in use than eagerly.
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from types import CellType
from typing import Any

from lucid_kernels import numpy_warnings

from .. import _clock as clock
from .. import backends
from ..autograd.views import follow
from ..nn.parameter import Buffer
from ..tensor import Tensor, record_update, wrap
from .chains import with_chains
from .fusion import fused
from .graphs import LETTERS, Line, read, read_upstream
from .lifetimes import Lifetimes
from .recorder import Recorder, make_arguments
from .returned import written
from .symbols import Known, Symbol, Use

_MOST_FIXED = 500  # steps, until operations are not fused


class GeneratedFunction:
    """The function `run` of some of the `events` of a recording. What it saves for `others` is its second result; one that
    `resumes` after so many draws gets that, and gradients from outside. It is written when it is called, or asked for.
    """

    def __init__(self, recorder: Recorder, events: Sequence[Any], others: Sequence[GeneratedFunction] | None = None,
                 resumes: int | None = None) -> None:
        self.recorder = recorder
        self.events = events
        self._others, self._resumes = others, resumes
        self._needed: tuple[list[Symbol], list[str]] | None = None
        self.groups: list[list[str]] = []  # kernels that are chained
        self.fused: list[list[Any]] = []  # operations that are one kernel
        self._chained = 0  # bytes that are in use at most, where kernels are chained
        self._run: Callable[..., Any] | None = None

    @functools.cached_property
    def _text(self) -> tuple[list[Line], dict[str, Any]]:
        return self._generated(self.events)

    @property
    def lines(self) -> list[Line]:
        """What it does."""
        return self._text[0]

    @property
    def names(self) -> dict[str, Any]:
        """The objects that these name."""
        return self._text[1]

    @functools.cached_property
    def lifetimes(self) -> Lifetimes:
        """How long its arrays live, where kernels are called one by one."""
        return Lifetimes(self.lines, self.recorder)

    @functools.cached_property
    def _linked(self) -> tuple[list[Line], Lifetimes]:
        return self.lines, self.lifetimes

    @property
    def memory(self) -> int:
        """The most bytes that arrays take at one time, beside arguments, parameters and buffers."""
        return self._chained or self.lifetimes.peak

    @property
    def run(self) -> Callable[..., Any]:
        """What the events did, as a function."""
        if self.groups and numpy_warnings.are_noticed():
            return self._apart()
        return self._run or self._compiled()

    @property
    def source(self) -> str:
        """The source of that function."""
        return self._joined(*self._linked)

    def draws(self) -> tuple[list[int], int]:
        """Which draws of those before it takes again, and how many there were."""
        return [int(name[4:]) for name in self.needs()[1] if name.startswith("seed")], self._resumes or 0

    def needs(self) -> tuple[list[Symbol], list[str]]:
        """The arrays and the names of draws that it takes from where others were before."""
        if self._needed is None:
            self._text = self._generated(self.events)  # which finds them
        assert self._needed is not None
        return self._needed

    def _find_needs(self, lines: Sequence[Line]) -> tuple[list[Symbol], list[str]]:
        made = {output for event in self.events if event[0] == "kernel" for output in event[6]}
        made |= {event[2] for event in self.events if event[0] == "constant"}
        symbols = dict.fromkeys(symbol for line in lines for symbol in line.symbols)
        draws = {event[5] for event in self.events if event[0] == "kernel"} | {e[1] for e in self.events if e[0] == "redraw"}
        before = sorted(number for number in draws if number is not None and number < (self._resumes or 0))
        return ([symbol for symbol in symbols if symbol not in made and symbol[0] != "up"],
                [f"{name}{number}" for number in before for name in ("seed", "offset")])

    def _generated(self, events: Sequence[Any]) -> tuple[list[Line], dict[str, Any]]:
        """The lines of the function that repeats `events`, and the objects that they name."""
        direct = {id(self.recorder.events[number]): kernel for number, kernel in self.recorder.direct.items()}
        names: dict[str, Any] = {"__name__": __name__, "wrap": wrap, "as_array": backends.as_array, "renew": _renew,
                                 "note": _note, "same": _same, "step": make_arguments}
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
            kind = value.__class__
            if kind is Use:
                return variable(value[0])
            if kind is int or kind is bool or value is None:
                return repr(value)
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

        dropped = {id(self.recorder.events[number]): targets for number, targets in self.recorder.dropped.items()
                   if number < len(self.recorder.events)}
        draws = self._resumes or 0
        for event in events:
            for gone in dropped.get(id(event), ()):
                lines.append(Line("grad", f"{tensor(gone)}._grad = None", [], ("grad", gone, None)))
            kind = event[0]
            if kind == "kernel":
                _, kernel_name, kernel_kind, operands, attributes, _, outputs, many, scalar = event
                kernel = direct.get(id(event)) or backends.kernel_of(kernel_kind, kernel_name)
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
                add(f"{variable(output)} = {call}" if output is not None and output[0] == "number" else
                    call if output is None or output[0] != "slot" else f"{variable(output)} = {call}._array")
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
            elif kind == "returned":
                add(f"return [{', '.join('None' if each is None else f'wrap({variable(each)})' for each in event[1])}]")
            else:
                results = []
                for output in event[1]:
                    if output[0] == "alive":
                        results.append(f"wrap({variable(output[1])})")
                    elif output[0] == "tensor":
                        results.append(f"wrap({variable(output[1])}, {name(output[2])})")
                    elif output[0] == "number":
                        results.append(written(output[1], lambda symbol: f"wrap({variable(symbol)})", name))
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
                if self._others is not None:
                    needs = [other.needs() for other in self._others]
                    text = ", ".join(each for symbols, others in needs for each in (*map(variable, symbols), *others))
                    lines.append(Line("lent", f"saved = [{text}]", list(used), event))
                    used.clear()
                add("return results" if self._others is None else "return results, saved")
        if self._resumes is not None:
            lines.insert(0, self._taken(lines))
        return lines, names

    def _taken(self, lines: list[Line]) -> Line:
        """The line that takes what has been saved; unless it is to be kept nobody else holds it then."""
        self._needed = self._needed or self._find_needs(lines)
        symbols, others = self._needed
        names = [f"{LETTERS[kind]}{number}" for kind, number in symbols] + others
        text = f"[{', '.join(names)}] = saved" if names else "pass"
        return Line("saved", f"{text}\n if not keep: saved.clear()", symbols, ("saved",))

    def chain(self) -> None:
        """Put chains in the place of small kernels in a row."""
        found = with_chains(self.lines, self.names, self.recorder, max(self.lifetimes.peak, self.recorder.peak))
        if found is not None:
            lines, lifetimes, between = found
            self._apart = self._unchained(self._linked)
            self.groups = [line.event[1] for line in lines if line.kind == "chain"]
            self._chained = lifetimes.peak + between
            self._link(lines, lifetimes)

    def fuse(self) -> bool:
        """Put one kernel in the place of elementwise operations, if no more memory is in use then; whether it was done."""
        fixed: set[int] = set()
        while True:
            found = fused(self.recorder, self.events, self.lines, fixed)
            if found is None or len(fixed) > _MOST_FIXED:
                return False
            events, groups = found
            lines, names = self._generated(events)
            lifetimes = Lifetimes(lines, self.recorder)
            if lifetimes.peak <= self.lifetimes.peak:
                break
            # What has come to be together with other arrays there, or before, is computed where it was.
            most = lines[lifetimes.bytes.index(lifetimes.peak)].event
            here = {id(event) for event in groups.get(id(most), (most,))}
            if here <= fixed:
                return False
            fixed |= here
        self._text, self.fused, self.lifetimes = (lines, names), [*groups.values()], lifetimes
        self._link(lines, lifetimes)
        if self.groups:
            self.groups, self._chained = [], 0
            self.chain()
        return True

    def _link(self, lines: list[Line], lifetimes: Lifetimes) -> None:
        """Take these lines for the function, which is compiled when it is called: its kernels may be chained before."""
        self._linked, self._run = (lines, lifetimes), None

    def _compiled(self) -> Callable[..., Any]:
        """The function of its lines."""
        self._run = self._function(*self._linked)
        return self._run

    def _function(self, lines: list[Line], lifetimes: Lifetimes) -> Callable[..., Any]:
        exec(compile(self._joined(lines, lifetimes), "<lucid.compile>", "exec"), self.names)
        found: Callable[..., Any] = self.names["run"]
        return found

    def _unchained(self, linked: tuple[list[Line], Lifetimes]) -> Callable[[], Callable[..., Any]]:
        """What gives the function with kernels one by one, which is rarely called."""
        return functools.cache(lambda: self._function(*linked))

    def _joined(self, lines: list[Line], lifetimes: Lifetimes) -> str:
        """The lines, with the arrays read before them and let go after their last use."""
        symbols = {symbol for line in lines for symbol in line.symbols}
        if self._resumes is None:
            text = ["def run(given, state):", *[f" {line}" for line in read(symbols)]]
        else:
            text = ["def run(saved, keep, up):", *[f" {line}" for line in read_upstream(symbols)]]
        for are_gradients, group in itertools.groupby(enumerate(lines), lambda pair: pair[1].kind == "grad"):
            numbers, here = zip(*group, strict=True)
            if are_gradients:  # one assignment takes less time to compile than many
                targets, values = zip(*[line.text.split(" = ") for line in here], strict=True)
                text.append(f" {', '.join(targets)} = {', '.join(values)}")
                text += _let_go([slot for number in numbers for slot in lifetimes.ends.get(number, ())])
                continue
            for number, line in zip(numbers, here, strict=True):
                text.append(f" {line.text}")
                if not line.text.startswith("return"):
                    text += _let_go(lifetimes.ends.get(number, ()))
        return "\n".join(text)


def _let_go(slots: Sequence[int]) -> list[str]:
    return [f" del {', '.join(f'v{slot}' for slot in slots)}"] if slots else []


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
    if clock.any_guarded:
        follow(tensor)
