"""Records what a call runs, kernel by kernel, as the dispatcher reports it while the model runs eagerly.

Arrays become the numbers of values. Whatever the dispatcher does not see, such as an element that Python reads, either raises or
is caught by the caller, who runs the model several times with other elements and lengths and compares.
"""
from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .. import _recording, backends
from ..compiler.breaks import user_line
from ..tensor import Tensor
from .errors import ExportError

EACH_TIME = "all rows each time"  # in the place of the batch sizes of a sequence that is not packed
_CHECKING = frozenset(("require_within", "gaussian_nll_loss", "_require_classes"))
_HERE = str(Path(__file__).parent.parent)


@dataclasses.dataclass(frozen=True)
class Ref:
    """The place of an array among the operands and attributes of a call."""

    value: int


@dataclasses.dataclass
class Value:
    """An array of a run."""

    array: Any  # the object that it is known by, during the run; a later write changes its elements
    elements: Any  # as they were, of what no input leads to
    shape: tuple[int, ...]
    dtype: Any
    origin: str  # "input", "state" (a parameter or buffer), "constant" (from elsewhere) or "result"
    depends: bool  # on an input
    name: str = ""


@dataclasses.dataclass
class Event:
    """A call of a kernel."""

    kernel: str
    operands: list[Any]  # arrays as `Ref`, numbers and None as they are
    attributes: dict[str, Any]
    results: list[int | None]
    line: str


class Trace:
    """One run of a model."""

    def __init__(self, inputs: Sequence[Tensor], state: dict[str, Tensor]) -> None:
        self.values: list[Value] = []
        self.events: list[Event] = []
        self.outputs: list[int] = []
        self._index: dict[int, int] = {}  # the present value of an array, by id
        self._stale: set[int] = set()  # arrays that share memory with one that was written
        for tensor in inputs:
            self._add(tensor._array, "input", True)
        for name, tensor in state.items():
            if id(tensor._array) not in self._index:
                self._add(tensor._array, "state", False, name)

    def run(self, function: Callable[[], Any]) -> Any:
        """Call `function` and note what it runs."""
        token = _recording.recorder.set(self)
        _recording.count(1)
        try:
            with backends.observe(self.kernel):
                return function()
        finally:
            _recording.count(-1)
            _recording.recorder.reset(token)

    def release(self) -> None:
        """Let go of the activations, when the run is over."""
        self._index.clear()
        for value in self.values:
            value.array = None
            if value.depends:
                value.elements = None

    def output(self, tensor: Tensor) -> int:
        """The value of a tensor that the model returns."""
        return self._value(tensor._array)

    # ---- what the dispatcher and others tell -----------------------------------------------------------------------
    def kernel(self, name: str, arrays: Sequence[Any], attributes: dict[str, Any], result: Any) -> None:
        """Called after each kernel."""
        if any(a.__class__ in backends.TABLES and a.__class__ is not np.ndarray for a in (*arrays, result)):
            return  # a formula that is traced, or shapes without elements
        operands = [self._operand(a) for a in arrays]
        named = {key: self._operand(value) for key, value in attributes.items() if key != "out"}
        results = result if result.__class__ in (tuple, list) else (result,)
        given = list(_arrays((arrays, list(attributes.values()))))
        depends = any(self.values[ref.value].depends for ref in refs((operands, named)))
        numbers: list[int | None] = []
        for array in results:
            if array.__class__ is not np.ndarray:
                if array is not None:
                    raise ExportError(f"{user_line()}: '{name}' returns something else than arrays of the CPU")
                numbers.append(None)
                continue
            written = any(array is a for a in given)
            if written and (name not in _MAY_RETURN_AN_OPERAND or attributes.get("out") is not None):
                self._written(array, name)
            numbers.append(self._add(array, "result", depends))
        if name == "recurrence" and len(set(named["batch_sizes"])) <= 1:
            named["batch_sizes"] = EACH_TIME
        self.events.append(Event(name, operands, named, numbers, user_line()))

    def read(self, array: Any) -> None:
        """Python is about to see the elements of `array`."""
        number = self._index.get(id(array))
        if number is not None and self.values[number].depends and not _only_checks():
            raise ExportError(f"{user_line()}: Python reads an element that depends on the inputs, as `if x > 0`, x.item() and "
                              "x.tolist() do: a graph has no branches. Write lucid.where(condition, a, b)")

    def constant(self, array: Any) -> None:
        """An array was made of Python's numbers."""

    def took(self, generator: Any, blocks: int, seed: int, offset: int) -> None:
        """A generator has given away random numbers."""
        raise ExportError(f"{user_line()}: random numbers cannot be exported; call model.eval() where they are dropout's")

    def refuse(self, why: str) -> None:
        """Something happens that no recording may hold."""
        raise ExportError(f"{user_line()}: {why}")

    def host(self, function: Callable[..., Any], args: Any, keywords: Any) -> Any:
        """A step that reads and changes Python's state, or a look at elements, which the graph leaves out."""
        if function.__name__ in _CHECKING:
            return function(*args, **keywords)
        raise ExportError(f"{user_line()}: {getattr(function, '__qualname__', function)} is no part of a forward pass")

    # ---- arrays ----------------------------------------------------------------------------------------------------
    def _add(self, array: np.ndarray, origin: str, depends: bool, name: str = "") -> int:
        elements = array if depends or origin == "state" else array.copy()
        # It holds the array, so that its id and its memory stay its own.
        self.values.append(Value(array, elements, array.shape, array.dtype, origin, depends, name))
        self._index[id(array)] = len(self.values) - 1
        self._stale.discard(id(array))
        return len(self.values) - 1

    def _value(self, array: np.ndarray) -> int:
        if array.__class__ is not np.ndarray:
            raise ExportError(f"{user_line()}: only models on the CPU are exported; call model.cpu()")
        if id(array) in self._stale:
            raise ExportError(f"{user_line()}: it uses a tensor of which a part was written through another tensor over the same "
                              "memory; write lucid.where, lucid.cat or clone() in the place of the write")
        number = self._index.get(id(array))
        if number is None:
            if any(v.depends and np.may_share_memory(v.array, array) for v in self.values):
                raise ExportError(f"{user_line()}: it uses a tensor that was made of another one outside of lucid's operations")
            number = self._add(array, "constant", False)
        return number

    def _operand(self, value: Any) -> Any:
        kind = value.__class__
        if kind in backends.TABLES:
            return Ref(self._value(value))
        if isinstance(value, (tuple, list)):
            items = [self._operand(item) for item in value]
            return kind(*items) if hasattr(kind, "_make") else kind(items)
        if kind is dict:
            return {key: self._operand(item) for key, item in value.items()}
        return value

    def _written(self, array: np.ndarray, name: str) -> None:
        """A kernel has written into `array`."""
        number = self._index.get(id(array))
        if number is not None and self.values[number].origin in ("state", "input"):
            what = f"'{self.values[number].name}'" if self.values[number].name else "an input"
            raise ExportError(f"{user_line()}: '{name}' writes into {what}, and a graph has no state")
        for key, other in self._index.items():
            held = self.values[other].array
            if key != id(array) and id(held) == key and np.may_share_memory(held, array):
                self._stale.add(key)


_MAY_RETURN_AN_OPERAND: frozenset[str] = frozenset(("reshape", "contiguous", "broadcast_to", "transpose", "cast", "conj", "real"))


def _only_checks() -> bool:
    """Whether one of lucid's functions reads the elements to refuse wrong ones, which a graph does not."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        if frame.f_code.co_name in _CHECKING:
            return True
        frame = frame.f_back
    return False


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if value.__class__ is np.ndarray:
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _arrays(item)


def refs(value: Any) -> Iterator[Ref]:
    """The arrays in operands or attributes."""
    if value.__class__ is Ref:
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from refs(item)
    elif isinstance(value, dict):
        yield from refs(list(value.values()))


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """`model` in evaluation mode."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training
