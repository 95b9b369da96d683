"""Arrays of function transforms: `Batched`, which hides a batch dimension, and `Dual`, which carries a tangent.

Each call of a transform has a `Level`. A lifted array holds an array of a lower level, or a plain one, so transforms nest. To an
operation a lifted array looks like the array that the user's function sees; `call` takes the outermost level of its arguments
off, and the rule of that level computes with what is inside.
"""
from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from .. import _clock as clock
from .. import backends
from ..backends import TABLES, Device
from ..backends.stored_array import StoredArray
from ..backends.wrapped_array import WrappedArray

Array = Any
Kernel = Callable[..., Any]
Handler = Callable[["Level", str, Sequence[Any], dict[str, Any]], Any]

_number = itertools.count(1).__next__


class Level:
    """One call of a transform. A later one is inside of the earlier ones, so its arrays are outermost.

    `size` and `randomness` are those of `vmap`: the length of the batch dimension, and what random operations do. A level of
    tangents has the size None.
    """

    __slots__ = ("number", "randomness", "size", "start")

    def __init__(self, size: int | None = None, randomness: str = "error") -> None:
        self.number = _number()
        self.start = clock.tick()  # nodes of the graph that are older were made outside
        self.size: Any = size
        self.randomness = randomness


#: The levels that this context is inside of, those of later transforms last.
active: ContextVar[tuple[Level, ...]] = ContextVar("lucid_levels", default=())


class _Flags:
    """What is asked of NumPy's flags."""

    __slots__ = ("_array",)
    writeable = True

    def __init__(self, array: Lifted) -> None:
        self._array = array

    @property
    def c_contiguous(self) -> bool:
        step = self._array.itemsize
        for length, stride in zip(reversed(self._array.shape), reversed(self._array.strides), strict=True):
            if length == 0:
                return True
            if length > 1 and stride != step:
                return False
            step *= length
        return True

    @property
    def f_contiguous(self) -> bool:
        return self._array.ndim < 2 and self.c_contiguous

    @property
    def carray(self) -> bool:
        return self.c_contiguous


class Lifted(WrappedArray):
    """What both kinds have in common."""

    __slots__ = ("level",)
    level: Level

    @property
    def flags(self) -> Any:
        return _Flags(self)

    @property
    def device(self) -> Any:
        return backends.device_of(self.value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name}: Cannot access data pointer of Tensor that doesn't have storage. It is inside of a "
                             "function transform")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise RuntimeError("a tensor inside of a function transform has no NumPy array")

    def __getitem__(self, index: Any) -> Any:
        return call("getitem", (self,), {"index": index if isinstance(index, tuple) else (index,)})

    @property
    def T(self) -> Any:
        return self.transpose(tuple(reversed(range(self.ndim))))

    def transpose(self, axes: Sequence[int]) -> Any:
        """The dimensions in another order."""
        return call("transpose", (self,), {"axes": tuple(axes)})

    def reshape(self, *shape: Any) -> Any:
        """Another shape."""
        lengths = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        known = math.prod(length for length in lengths if length != -1)
        full = tuple(self.size // known if length == -1 and known else max(length, 0) for length in lengths)
        return call("reshape", (self,), {"shape": full})

    def copy(self, order: str = "C") -> Any:
        """A new array."""
        return call("copy", (self,), {})

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """An array of another dtype."""
        return self if not copy and self.dtype == dtype else call("cast", (self,), {"dtype": np.dtype(dtype)})


class Batched(Lifted):
    """An array with one more dimension, the first, than the function inside `vmap` sees."""

    __slots__ = ()

    def __init__(self, level: Level, value: Array, base: Lifted | None = None) -> None:
        self.level = level
        self.value = value
        self.base = base

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.value.shape[1:]
        return shape

    @property
    def strides(self) -> tuple[int, ...]:
        strides: tuple[int, ...] = self.value.strides[1:]
        return strides


class Dual(Lifted):
    """An array and the tangent that forward mode computes of it, of the same shape.

    `swapped` marks a cotangent that came from outside of the level: its value belongs to the tangent, its tangent to the value.
    """

    __slots__ = ("swapped", "tangent")

    def __init__(self, level: Level, value: Array, tangent: Array, swapped: bool = False, base: Lifted | None = None) -> None:
        self.level = level
        self.value = value
        self.tangent = tangent
        self.swapped = swapped
        self.base = base


LIFTED: frozenset[Any] = frozenset((Batched, Dual))
#: What computes an operation on arrays of each kind, once their modules are imported.
handlers: dict[type, Handler] = {}


def levels_of(value: Any) -> set[Level]:
    """All levels of an array, or of the arrays in a tuple."""
    if value.__class__ is tuple:
        return set().union(*map(levels_of, value))
    found = set()
    while value.__class__ in LIFTED:
        found.add(value.level)
        if value.__class__ is Dual:
            found |= levels_of(value.tangent)
        value = value.value
    return found


def outermost(values: Any) -> Any:
    """The array of the latest level among `values`, and in tuples and lists there; None if none is lifted."""
    top: Any = None
    for value in values:
        kind = value.__class__
        if kind is tuple or kind is list:
            value = outermost(value)
            if value is None:
                continue
        elif kind not in LIFTED:
            continue
        if top is None or value.level.number > top.level.number:
            top = value
    return top


def call(name: str, arrays: Sequence[Any], attributes: dict[str, Any] | None = None) -> Any:
    """The result of operation `name`, whatever the levels of its arguments are."""
    top = outermost(arrays)
    if attributes:
        other = outermost(attributes.values())
        if other is not None and (top is None or other.level.number > top.level.number):
            top = other
    else:
        attributes = {}
    if top is not None:
        return handlers[top.__class__](top.level, name, arrays, attributes)
    kinds = [array.__class__ for array in arrays]
    kind = StoredArray if StoredArray in kinds else next((kind for kind in kinds if kind in TABLES), None)
    table: Any = None if kind is None else TABLES[kind]
    if table is None:
        raise TypeError(f"op '{name}' got no array")
    if table.__class__ is MixedTable:
        table = table.table
    result = table[name](*arrays, **attributes)
    return result if result.__class__ in TABLES else backends.as_array(result)


class LiftedTable(Mapping[str, Kernel]):
    """The table of lifted arrays: `call` under every name of the CPU's table."""

    def __init__(self) -> None:
        self._entries: dict[str, Kernel] = {}

    def __getitem__(self, name: str) -> Kernel:
        found = self._entries.get(name)
        if found is None:
            if name not in TABLES[np.ndarray]:
                raise KeyError(name)

            def found(*arrays: Any, **attributes: Any) -> Any:
                return call(name, arrays, attributes)

            self._entries[name] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES[np.ndarray])

    def __len__(self) -> int:
        return len(TABLES[np.ndarray])


class MixedTable(Mapping[str, Kernel]):
    """A table of plain arrays whose operations may get lifted ones too. It stands in `TABLES` only while there are any, so that
    nobody else pays for the check.
    """

    def __init__(self, table: Mapping[str, Kernel]) -> None:
        self.table = table
        self._entries: dict[str, Kernel] = {}

    def __getitem__(self, name: str) -> Kernel:
        found = self._entries.get(name)
        if found is None:
            found = self._entries[name] = _random(name, self.table) if name in RANDOM else _mixed(name, self.table)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)


def _mixed(name: str, table: Mapping[str, Kernel]) -> Kernel:
    table[name]  # KeyError for what there is not

    def kernel(*arrays: Any, **attributes: Any) -> Any:
        for array in arrays:
            if array.__class__ in LIFTED:
                return call(name, arrays, attributes)
        if attributes and outermost(attributes.values()) is not None:
            return call(name, arrays, attributes)
        return table[name](*arrays, **attributes)

    return kernel


#: Operations that draw random numbers. `dropout` gets ones inside of transforms, see `lucid/ops/random/dropout.py`.
RANDOM = frozenset(("random_uniform", "random_normal", "random_exponential", "random_integers", "dropout"))


def draws() -> int:
    """How many times as many random numbers an operation draws here as it asks for."""
    count = 1
    for level in active.get():
        if level.size is not None and level.randomness == "different":
            count *= level.size
    return count


def _random(name: str, table: Mapping[str, Kernel]) -> Kernel:
    def kernel(*arrays: Any, **attributes: Any) -> Any:
        batches = [level for level in active.get() if level.size is not None]
        if any(level.randomness == "error" for level in batches):
            raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                               "'different' randomness flags on vmap or perform the randomness operation out of vmap")
        different = [level for level in batches if level.randomness == "different"]
        if not different:
            return table[name](*arrays, **attributes)
        if attributes.get("out") is not None:
            raise RuntimeError("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like "
                               "same randomness. If this is necessary for your usage, please file an issue with functorch.")
        lead = tuple([level.size for level in different])
        if arrays:
            ones = table["full"](shape=(*lead, *arrays[0].shape), fill_value=1, dtype=arrays[0].dtype)
            result = table[name](ones, **attributes)
        else:
            result = table[name](**{**attributes, "shape": (*lead, *attributes["shape"])})
        for level in different:
            result = Batched(level, result)
        return result

    return kernel


@contextlib.contextmanager
def inside(*levels: Level) -> Iterator[None]:
    """Run the code of a transform whose `levels` begin here; of none, code on lifted arrays from elsewhere."""
    register()
    token = active.set((*active.get(), *levels))
    clock.levels = backends.wrap_tables(MixedTable, 1)
    try:
        yield
    finally:
        clock.levels = backends.wrap_tables(MixedTable, -1)
        active.reset(token)


class _Backend:
    """What the dispatcher asks of the module of a backend."""

    lifted = True

    def __init__(self, ndarray: type[Lifted]) -> None:
        self.ndarray = ndarray
        self.TABLE = LiftedTable()

    def device_of(self, array: Lifted) -> Device:
        """The device of the elements."""
        return backends.device_of(array.value)

    def to_device(self, array: Any, device: Device, copy: bool) -> Any:
        """The array with its elements on another device."""
        value = backends.to_device(array.value, device, copy)
        if array.__class__ is Batched:
            return array if value is array.value else Batched(array.level, value)
        tangent = backends.to_device(array.tangent, device, copy)
        if value is array.value:
            return array
        return Dual(array.level, value, tangent, array.swapped)

    def to_host(self, array: Any) -> np.ndarray:
        """The elements as Python sees them: those of a dual array. Raises RuntimeError for a batched one."""
        if array.__class__ is Batched:
            raise RuntimeError("vmap: It looks like you're calling .item() on a Tensor, or attempting to use a Tensor in some "
                               "data-dependent control flow. We don't support vmap over that, please try to rewrite what you're "
                               "doing with other operations.")
        return backends.to_host(array.value)

    def synchronize(self) -> None:
        """Plain arrays wait for themselves."""


@functools.cache
def register() -> None:
    """Enter both kinds of arrays into the dispatcher."""
    for kind in (Batched, Dual):
        backends.register(_Backend(kind))


def physical(array: Any) -> Any:
    """The plain array in a lifted one, with all batch dimensions: for checks that hold of all elements."""
    while array.__class__ in LIFTED:
        array = array.value
    return array


def is_dual(array: Any) -> bool:
    """Whether an array has a tangent, at any level."""
    while array.__class__ in LIFTED:
        if array.__class__ is Dual:
            return True
        array = array.value
    return False
