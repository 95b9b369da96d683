"""CUDA graphs of a plan: the kernels between two steps that are called as they are, captured and launched as one. Of these steps
those of lucid's own optimizers are kernels too (`optim/_captured.py`).

What a plan reads is copied to where its graphs read it, or is there already: parameters, buffers and gradients stay where they
are while the plan holds. What it returns, and what it puts behind tensors, is copied to memory of its own; only gradients are
handed out as they lie. While somebody keeps one of an earlier call, the kernels run one by one and make new memory.

Where gradients are computed outside, forward and backward have graphs of their own, with memory of their own. What forward leaves
for backward lies where its graphs write it: as long as a backward may read that, the kernels of other calls run one by one.
"""
from __future__ import annotations

import math
import re
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from .. import backends
from ..optim._captured import CapturedStep
from ..tensor import Tensor, wrap
from .recorder import Recorder
from .symbols import Symbol, Use

_SOURCES = {"arg": "given[{}]._array", "state": "state[{}]._array", "up": "up[{}]._array",
            "arg_grad": "given[{}]._grad._array", "grad": "state[{}]._grad._array"}
LETTERS = {"arg": "a", "state": "s", "grad": "g", "arg_grad": "h", "slot": "v", "up": "u", "number": "q"}
#: Kernels that take the seed of a captured draw from the device.
_DRAWING = frozenset(("random_uniform", "random_normal", "random_exponential", "random_integers", "dropout"))
_CAPTURED = frozenset(("kernel", "constant", "redraw", "step"))
_COPIED = frozenset(("memory", "variable", "return"))
_HOLDING = 3  # references to a gradient of which nobody else knows: its tensor's, a variable's and an argument's
_LOSSES = frozenset(("cross_entropy",))  # kernels that compute a gradient together with the loss
_MOST = 4  # captures of one plan, whose gradients lie elsewhere each time


class Line:
    """A line of a plan, with the arrays in it and the event that it repeats."""

    __slots__ = ("event", "kind", "symbols", "text")

    def __init__(self, kind: str, text: str, symbols: list[Symbol], event: tuple[Any, ...]) -> None:
        self.kind, self.text, self.symbols, self.event = kind, text, symbols, event


def read(symbols: Iterable[Symbol]) -> list[str]:
    """The line that brings the arrays which a plan reads into variables: one for each would take longer to compile."""
    found = sorted(symbol for symbol in symbols if symbol[0] in _SOURCES)
    sources = [_SOURCES[kind].format(number) for kind, number in found]
    return [f"{', '.join(map(_variable, found))} = {', '.join(sources)}"] if found else []


def read_upstream(symbols: Iterable[Symbol]) -> list[str]:
    """That which brings gradients from outside into variables."""
    return read(symbol for symbol in symbols if symbol[0] == "up")


def _variable(symbol: Symbol) -> str:
    return f"{LETTERS[symbol[0]]}{symbol[1]}"


class Lent(list[Any]):
    """What a forward by graphs has left for a backward; empty when that has been there."""

    __slots__ = ("__weakref__",)


class _Segment:
    """Lines that one graph does, and what it reads and writes."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.lines: list[Line] = []
        self.inputs: list[Symbol] = []
        self.outputs: list[Symbol] = []
        self.draws: list[int] = []


class Graphs:
    """The graphs of a function: `serve` says whether they may be launched now, and `run` does it."""

    _PARAMETERS = "given, state"
    _read = staticmethod(read)

    @classmethod
    def of(cls, lines: list[Line], *args: Any) -> Any:
        """Those of `lines`, with the other arguments of the class; None if not all of the kernels run on a GPU."""
        kernels = [line.event for line in lines if line.kind == "kernel"]
        return None if not kernels or any(event[2] is np.ndarray for event in kernels) else cls(lines, *args)

    def __init__(self, lines: list[Line], names: dict[str, Any], recorder: Recorder, moving: set[int], draws: Sequence[int] = (),
                 resumes: int = 0) -> None:
        """`names` are the objects in the lines, `moving` the tensors that get other memory. What `resumes` after so many draws
        takes those in `draws` again.
        """
        self._gpu = backends.gpu_module()
        self.refused: str | None = None  # why there are none
        self._captures = 0
        self._stream = 0
        self._graphs: list[Any] = []
        self._static: dict[Symbol, Any] = {}  # where graphs read what is copied to them, and what earlier ones have written
        self._places: dict[Symbol, int] = {}  # of these, for `run`, where they stand in
        self._arrays: list[Any] = []
        self._memory: dict[int, Any] = {}  # what is read and written where it lies, by identity
        self._fixed: list[tuple[Symbol, Any]] = []  # gradients that are read where they lie: weak references
        self._gradients: list[tuple[Any, Symbol, Any]] = []  # a tensor, the array that is its gradient, who holds that
        self._lent: Any = None  # a weak reference to what is left for a backward
        self._names = dict(names)
        self._slots = recorder.slots
        self._growth = _growth(recorder)
        self._steps: list[CapturedStep] = []
        lines = _without_ones(self._with_steps(lines, recorder), recorder)
        self._segments = _segments(lines, draws, resumes)
        self._escaping = {symbol for line in lines if line.kind in _COPIED for symbol in line.symbols}
        self.made = own = {symbol for segment in self._segments for symbol in segment.outputs}
        inputs = dict.fromkeys(symbol for segment in self._segments for symbol in segment.inputs)
        self._copied = [symbol for symbol in inputs if symbol not in own and self._is_copied(symbol, moving)]
        if any(line.kind == "written" and line.event[1] in self._copied for line in lines):
            self.refused = "it writes to an argument, or to a tensor that is another one in each call"
        for line in lines:
            event = line.event
            if event[0] == "kernel" and event[5] is not None and event[1] not in _DRAWING:
                self.refused = f"'{event[1]}' takes the seed of its random numbers from the host"
            elif event[0] == "host" and event[4] is not None and event[4][0] == "number":
                self.refused = f"a kernel takes a number that '{event[1].__name__}' computes on the host"
            elif event[0] == "constant" and event[1].__class__ is np.ndarray:
                self.refused = "it has a constant in the memory of the host"
        self._targets = self._handed_out(lines)
        self._lines = lines
        self._run: Callable[..., Any] | None = None  # made with the first capture

    def _with_steps(self, lines: list[Line], recorder: Recorder) -> list[Line]:
        """`lines`, with the steps of optimizers as kernels where they are no more than that."""
        gradients: dict[Symbol, Symbol | None] = {}  # at the line
        places = {id(tensor): ("state", number) for number, tensor in enumerate(recorder.state)}

        def params(optimizer: Any) -> list[Tensor] | None:
            found = []
            for group in optimizer.param_groups:
                for param in group["params"]:
                    place = places.get(id(param))
                    if place in gradients:
                        found += [] if gradients[place] is None else [param]
                    elif recorder.had_gradient(param) is not False:
                        return None
            return found

        changed: list[Line] = []
        together: set[int] = set()  # the optimizers whose steps have no step between them that is called as it is
        replaced = None
        for line in lines:
            if line.event is replaced:
                continue
            if line.kind == "grad":
                gradients[line.event[1]] = line.event[2]
            step = None
            if line.kind == "host":
                if not together.intersection(map(id, line.event[2])):
                    step = CapturedStep.of(line.event[1], line.event[2], params)
                if step is None:
                    together.clear()
            if step is None:
                changed.append(line)
                continue
            together.add(id(line.event[2][0]))
            replaced = line.event
            symbols: list[Symbol] = [gradients[places[id(param)]] for param in step.params]  # type: ignore[misc]
            name = f"step{len(self._steps)}"
            self._names[name] = step
            self._steps.append(step)
            changed.append(Line("step", f"{name}.launch([{', '.join(map(_variable, symbols))}])", symbols, line.event))
        return changed

    def _is_copied(self, symbol: Symbol, moving: set[int]) -> bool:
        """Whether an array that no graph makes is copied to where graphs read it."""
        return symbol[0] in ("arg", "slot") or (symbol[0] == "state" and symbol[1] in moving)

    def _handed_out(self, lines: list[Line]) -> list[tuple[Any, Symbol]]:
        """The arrays that are handed out as they lie: gradients, each with its tensor."""
        return [(line.event[1], line.event[2]) for line in lines if line.kind == "grad" and line.event[2] is not None]

    def described(self) -> str:
        """How many graphs there are, or why there are none."""
        if self.refused is not None:
            return f"no CUDA graphs: {self.refused}"
        steps = "".join([f", with a step of {step.name}" for step in self._steps])
        return f"{len(self._segments)} CUDA graphs{steps}" if self._graphs else "not captured yet"

    def drawn(self) -> list[str]:
        """The graphs for Graphviz, as CUDA writes them; CuPy alone can."""
        return [graph.drawn() for graph, _ in self._graphs]

    # ---- whether they may be launched ----------------------------------------------------------------------------
    def serve(self, given: Sequence[Tensor], state: Sequence[Tensor]) -> bool:
        """Whether the graphs do what the plan does now; they are captured if they are not yet."""
        if self._lent is not None and self._lent():  # a backward may still read it
            return False

        def array_of(symbol: Symbol) -> Any:
            tensor = (given if symbol[0].startswith("arg") else state)[symbol[1]]
            return tensor._grad._array if symbol[0].endswith("grad") else tensor._array  # type: ignore[union-attr]

        if not self._are_ready(lambda: self._lie(given, state), array_of):
            return False
        if any(id(tensor._array.data.mem) in self._memory for tensor in given):  # it may be written before a copy of it is read
            return False
        for (kind, number), _, static in self._gradients:  # whether nobody keeps one that the last launch has written
            grad = (given if kind == "arg" else state)[number]._grad
            if grad is None or grad._array is not static.array:
                if not static.is_free(0):
                    return False
            elif getrefcount(grad) != _HOLDING or not static.is_free(1):
                return False
        return True

    def _are_ready(self, lie: Callable[[], bool], array_of: Callable[[Symbol], Any]) -> bool:
        """Whether there are graphs for the current stream, of what lies as it did then; they are captured if not."""
        if self.refused is not None:
            return False
        stream = self._gpu.streams.get_current_stream()
        if stream.is_capturing():
            return False
        if self._graphs and stream.ptr == self._stream and lie():
            return True
        if self._captures >= _MOST:
            self.refused = "what it reads lies elsewhere in each call"
            return False
        self._captures += 1
        try:
            self._capture(array_of)
        except Exception as error:
            self.refused = f"{type(error).__name__}: {error}".partition("\n")[0]
            self._graphs = []
            return False
        self._stream = stream.ptr
        return True

    def _lie(self, given: Sequence[Tensor], state: Sequence[Tensor]) -> bool:
        """Whether gradients that are read, and what optimizers have, lie where they lay."""
        if not all(step.holds() for step in self._steps):
            return False
        for (kind, number), array in self._fixed:
            grad = (given if kind == "arg_grad" else state)[number]._grad
            if grad is None or grad._array is not array():
                return False
        return True

    # ---- capturing -----------------------------------------------------------------------------------------------
    def _capture(self, array_of: Callable[[Symbol], Any]) -> None:
        gpu = self._gpu
        gpu.prepare_capture()
        self._graphs, self._static, self._gradients, self._arrays = [], {}, [], []
        pool = gpu.make_graph_pool()
        for step in self._steps:
            step.prepare()
        arrays: dict[Symbol, Any] = {}
        for segment in self._segments:
            for symbol in segment.inputs:
                if symbol not in arrays and symbol not in self.made and (symbol[0] != "slot" or self._is_given(symbol)):
                    array = array_of(symbol)
                    arrays[symbol] = self._place(symbol, array) if symbol in self._copied else array
        self._memory = {id(array.data.mem): array.data.mem for symbol, array in arrays.items()
                        if symbol[0] == "state" and symbol not in self._copied}
        self._fixed = [(symbol, weakref.ref(array)) for symbol, array in arrays.items() if self._stays(symbol)]
        for segment in self._segments:
            for symbol in segment.inputs:
                if symbol not in arrays:  # the result of a step, which is copied here
                    arrays[symbol] = self._static[symbol] = gpu.ndarray(*self._slots[symbol[1]][1:])
            draws = gpu.Draws([self._growth[number] for number in segment.draws]) if segment.draws else None
            function = self._function(segment)
            graph = gpu.Graph(pool)
            graph.begin()
            try:
                seeds = [] if draws is None else [draws.seed(place) for place in range(len(segment.draws))]
                found = function(*[arrays[symbol] for symbol in segment.inputs], *seeds)
                if draws is not None:
                    draws.advance()
            except BaseException:
                graph.abandon()
                raise
            graph.end()
            arrays.update(zip(segment.outputs, found, strict=True))
            self._static.update(zip(segment.outputs, found, strict=True))
            del found
            self._graphs.append((graph, draws))
        arrays.clear()
        self._run = self._run or self._made(self._lines)
        self._arrays = [self._static[symbol] for symbol in self._places]
        self._gradients = [(target, slot, gpu.Static(self._static.pop(slot))) for target, slot in self._targets]
        for _, _, holder in self._gradients:
            holder.settle()
        if any(symbol in self._escaping and not _is_dense(array) for symbol, array in self._static.items()):
            raise ValueError("a result has gaps in its memory")

    def _is_given(self, symbol: Symbol) -> bool:
        """Whether an array that no graph makes is there before, and not the result of a step."""
        return False

    def _stays(self, symbol: Symbol) -> bool:
        """Whether an array has to lie where it lay, and nobody else looks at that."""
        return symbol[0].endswith("grad")

    def _place(self, symbol: Symbol, array: Any) -> Any:
        """Where graphs read what is copied to them."""
        if not _is_dense(array):
            raise ValueError("an argument has gaps in its memory")
        place = self._static[symbol] = self._gpu.own_copy(array)
        return place

    def _function(self, segment: _Segment) -> Callable[..., Any]:
        """The kernels of a segment as a function of its inputs and of seeds."""
        parameters = [*map(_variable, segment.inputs), *[f"seed{number}" for number in segment.draws]]
        lines = [f"def captured({', '.join(parameters)}):", *[f" offset{number} = 0" for number in segment.draws]]
        last = {symbol: number for number, line in enumerate(segment.lines) for symbol in line.symbols}
        for number, line in enumerate(segment.lines):
            lines.append(f" {line.text}")
            gone = [_variable(symbol) for symbol in dict.fromkeys(line.symbols)
                    if last[symbol] == number and symbol[0] == "slot" and symbol not in segment.outputs]
            if gone:
                lines.append(f" del {', '.join(gone)}")
        lines.append(f" return [{', '.join(map(_variable, segment.outputs))}]")
        names = dict(self._names)
        exec(compile("\n".join(lines), "<lucid.compile>", "exec"), names)
        found: Callable[..., Any] = names["captured"]
        return found

    # ---- running -------------------------------------------------------------------------------------------------
    def run(self, *args: Any) -> Any:
        """What the function returns."""
        assert self._run is not None
        found = self._run(*args, self._arrays, self._graphs)
        if found.__class__ is not tuple:
            return found
        results, saved = found
        lent = Lent(saved)
        self._lent = weakref.ref(lent)
        return results, lent

    def _made(self, lines: list[Line]) -> Callable[..., Any]:
        """The function that launches graphs."""
        text = [f"def run({self._PARAMETERS}, static, graphs):"]
        text += [f" {line}" for line in self._read(
            {symbol for line in lines if line.kind not in _CAPTURED for symbol in line.symbols} | {*self._copied})]
        segments = iter(self._segments)
        segment: _Segment | None = None
        following = {id(segment.lines[0]) for segment in self._segments}
        # Gradients that are let go and come again at the same place: where no step looks at them in between, the tensors stay.
        stay = set() if any(line.kind == "host" for line in lines) else {slot for _, slot in self._targets}
        staying = {line.event[1] for line in lines if line.kind == "grad" and line.event[2] in stay}
        put: list[tuple[str, str]] = []
        waiting: list[str] = []
        for line in lines:
            if line.kind in _CAPTURED or line.kind == "draw":
                if line.kind.endswith("draw"):
                    text.append(f" {line.text}")
                if id(line) in following:
                    segment = next(segments)
                if line.kind == "step":
                    waiting.append(f" {line.text.partition('.')[0]}.done()")
                continue
            if segment is not None and line.kind == "host":
                text += self._launched(segment)
                text += waiting
                waiting, segment = [], None
            if line.kind == "grad" and line.event[1] in staying:
                if line.event[2] is not None:
                    put.append((line.text.partition("._grad")[0], _variable(line.event[2])))
                continue
            changed = re.sub(r"\b(wrap\(|renew\([^,]*, )(v\d+)", r"\1own(\2)", line.text) if line.kind in _COPIED else line.text
            (text if segment is None else waiting).append(f" {changed}")
        if segment is not None:
            text += self._launched(segment)
            if put:  # one line: a line for each takes long to compile
                tensors, arrays = (", ".join(names) for names in zip(*put, strict=True))
                text.append(f" put_gradients([{tensors}], [{arrays}])")
            text += waiting
        scope = {**self._names, "copy_into": self._gpu.copy_into, "own": self._gpu.own_copy, "put_gradients": _put_gradients}
        exec(compile("\n".join(text), "<lucid.compile>", "exec"), scope)
        found: Callable[..., Any] = scope["run"]
        return found

    def _launched(self, segment: _Segment) -> list[str]:
        place = f"graphs[{segment.number}]"
        text = [f" copy_into({self._placed(symbol)}, {_variable(symbol)})" for symbol in segment.inputs if symbol in self._copied]
        if segment.draws:
            pairs = ", ".join(f"(seed{number}, offset{number})" for number in segment.draws)
            text.append(f" {place}[1].store([{pairs}])")
        text += [f" {line.text.partition('.')[0]}.bring()" for line in segment.lines if line.kind == "step"]
        text.append(f" {place}[0].launch()")
        return text + [f" {_variable(symbol)} = {self._placed(symbol)}" for symbol in segment.outputs]

    def _placed(self, symbol: Symbol) -> str:
        return f"static[{self._places.setdefault(symbol, len(self._places))}]"


def _put_gradients(tensors: Sequence[Tensor], arrays: Sequence[Any]) -> None:
    """Let `arrays` be the gradients of `tensors`, in new tensors where they are not already."""
    for tensor, array in zip(tensors, arrays, strict=True):
        grad = tensor._grad
        if grad is None or grad._array is not array or grad._version_box is not None:
            tensor._grad = wrap(array)


def _growth(recorder: Recorder) -> list[int]:
    """How much further each draw begins in the next call: by all that a call takes of its generator."""
    generators: list[Any] = []
    taken: Counter[int] = Counter()
    for event in recorder.events:
        if event[0] == "draw":
            generators.append(event[1])
            taken[id(event[1])] += event[2]
        elif event[0] == "redraw":
            generators.append(generators[event[1]])
    return [taken[id(generator)] for generator in generators]


def _segments(lines: list[Line], known: Sequence[int], resumes: int) -> list[_Segment]:
    """The kernels in segments, between which are steps that are called as they are. Any may use the draws that are `known`, of
    those before it `resumes`.
    """
    segments: list[_Segment] = []
    current: _Segment | None = None
    draws: list[int] = []
    place: dict[Symbol, _Segment | None] = {}  # where an array is made: in the first line that names it
    count = resumes
    for line in lines:
        if line.kind == "host":
            current = None
        elif line.kind == "draw":
            draws.append(count)
            count += 1
        elif line.kind in _CAPTURED:
            if current is None:
                current = _Segment(len(segments))
                current.draws += known
                segments.append(current)
            if line.kind == "redraw":
                count += 1
            current.lines.append(line)
            current.draws += draws
            draws = []
        here = current if line.kind in _CAPTURED else None
        for symbol in line.symbols:
            maker = place.setdefault(symbol, here if symbol[0] == "slot" else None)
            if maker is not here and maker is not None and symbol not in maker.outputs:
                maker.outputs.append(symbol)
            if here is not None and maker is not here and symbol not in here.inputs:
                here.inputs.append(symbol)
    return segments


def _without_ones(lines: list[Line], recorder: Recorder) -> list[Line]:
    """`lines` without the products of gradients that a loss has computed with an array of one 1, as backward begins: these have
    the bits already. Other arrays may have numbers that are too small for a product.
    """
    last = {symbol: line for line in lines for symbol in line.symbols}
    ones: dict[Symbol, Line] = {}
    computed: set[Symbol] = set()
    changed: list[Line] = []
    for line in lines:
        event = line.event
        if event[0] == "kernel" and event[1] in _LOSSES:
            computed.update(output for output in event[6] if output is not None)
        if line.kind != "kernel" or event[1] not in ("fill", "mul"):
            changed.append(line)
            continue
        _, name, _, operands, attributes, _, outputs, many, _ = event
        result = outputs[0]
        is_new = not many and result is not None and result[0] == "slot" and recorder.owners[result[1]] == result[1]
        if name == "fill" and is_new and attributes == {"value": 1} and math.prod(recorder.slots[result[1]][1]) == 1:
            ones[result] = line
        elif name == "mul" and is_new and not attributes:
            factor, kept = _apart(operands, ones)
            if kept in computed and last[kept] is line and recorder.owners[kept[1]] == kept[1] and (
                    recorder.slots[kept[1]] == recorder.slots[result[1]] and recorder.slots[factor[1]][2] == (
                    recorder.slots[result[1]][2]) and recorder.slots[result[1]][2].kind != "c"):
                line = Line("kernel", f"{_variable(result)} = {_variable(kept)}", [kept, result], event)
        changed.append(line)
    read = {symbol for line in changed if line not in ones.values() for symbol in line.symbols}
    return [line for line in changed if not any(line is one and symbol not in read for symbol, one in ones.items())]


def _apart(operands: Sequence[Any], ones: dict[Symbol, Line]) -> tuple[Any, Any]:
    """Of the operands of a product that which is among the `ones`, and the other; None twice if there is none."""
    symbols = [operand.symbol if isinstance(operand, Use) else None for operand in operands]
    for factor, kept in (symbols, symbols[::-1]):
        if factor in ones:
            return factor, kept
    return None, None


def _is_dense(array: Any) -> bool:
    """Whether the elements lie side by side, in whatever order of the dimensions."""
    if array.flags.c_contiguous:
        return True
    size = array.itemsize
    for stride, length in sorted(zip(array.strides, array.shape, strict=True)):
        if length != 1 and stride != size:
            return False
        size *= length
    return True
