"""What differs between two recordings of one function, and by what arrays are told apart."""
from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from .. import _dtypes, backends
from .._pytree import TreeSpec
from ..tensor import Tensor
from .guards import WHOLE, Guard, absent, same, single
from .recompute import is_repeatable
from .recorder import Recorder
from .symbols import Symbol, Use

_PLAIN = frozenset((int, bool, str))
Layout = tuple[Any, ...]
_NUMBERED = frozenset(("state", "grad"))  # symbols of tensors that each recording has numbered by itself


def layout(array: Any) -> Layout:
    """What kernels are chosen by: shape, dtype, strides, and the device."""
    return array.shape, array.dtype, array.strides, None if array.__class__ is np.ndarray else place_of(array)


def place_of(array: Any) -> Any:
    """The number of the GPU that holds `array`; of one that is made of several, its class."""
    return array.__class__ if is_composed(array) else array.device.id


def is_composed(array: Any) -> bool:
    """Whether `array` is sparse or of a dtype for storage, which no plan computes with."""
    return hasattr(array, "is_sparse") or array.dtype in _dtypes.STORED


def alike(first: Recorder, second: Recorder) -> bool:
    """Whether two recordings began with the same guards and the same gradients, and gradients came to the same of their results:
    of others there is no plan if they cannot be recomputed.
    """
    if first.given != second.given and is_repeatable(second.events[:second.end + 1]):
        return False
    return _see_the_same(first, second) and all(_began_alike(first._before.get(key), before)
                                                for key, before in second._before.items())


def _see_the_same(first: Recorder, second: Recorder) -> bool:
    if first.environment is second.environment:
        return True
    replaced = {(id(event[1][1]), event[1][2]) for event in second.events if event[0] == "variable"}
    mine, its = first.environment.guards, second.environment.guards
    if not replaced and len(mine) == len(its) and all(map(_is_one, mine, its)):
        return True  # mostly, and in the same order
    contents = {(id(c), str(k), get.__name__): content for guard in mine for get, c, k, content in single(guard)}

    def is_alike(get: Any, container: Any, key: Any, content: Any) -> bool:
        place = id(container), str(key), get.__name__
        return place in contents and ((id(container), key) in replaced or same(contents[place], content))

    return all(get is absent or is_alike(get, container, key, content)
               for guard in its for get, container, key, content in single(guard))


def _is_one(a: Guard, b: Guard) -> bool:
    """Whether two guards are one, with the same content."""
    return a[0] is b[0] and a[1] is b[1] and (a[2] is b[2] or a[0] in WHOLE or a[2] == b[2]) and (
        a[3] is b[3] or same(a[3], b[3]))


def _began_alike(first: Any, second: Any) -> bool:
    """Whether a tensor was of the same kind in both, with such a gradient; the other one may not have known it."""
    if first is None:
        return True
    (_, grad, array, role), (_, other, its, now) = first, second
    return role == now and (grad is None) is (other is None) and (
        grad is None or array is its or layout(array) == layout(its))


def differences(first: Recorder, second: Recorder, most: int | None = None) -> str | None:
    """What differs between two recordings of one function, or their first `most` steps; None if a plan of one serves for both."""
    both = _Both(first, second)
    for number, (a, b) in enumerate(itertools.zip_longest(first.events[:most], second.events[:most])):
        if a is None or b is None:
            return f"one call ran {len(first.events)} steps, another one {len(second.events)}"
        if not (both.kernels(a, b) if a[0] == "kernel" == b[0] else both.gradients(a, b) if a[0] == "grad" == b[0] else
                both.equal(a, b)):
            line = second.line(number) or first.line(number)
            return f"{'' if line is None else line + ': '}step {number} differs between two calls: {_difference(a, b, both)}"
    return None


class _Both:
    """Two recordings, whose values and events are compared."""

    def __init__(self, first: Recorder, second: Recorder) -> None:
        self._first, self._second = first.state, second.state
        self._slots, self._other_slots = first.slots, second.slots
        self._variables, self._others = _variables(first), _variables(second)
        #: Whether equal symbols are those of one tensor, or of arrays of one layout: mostly.
        self._are_numbered_alike = not (self._variables or self._others) and len(self._first) == len(self._second) and all(
            map(operator.is_, self._first, self._second)) and first.slots == second.slots

    def kernels(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
        """Whether two kernel calls are the same."""
        if a[1] != b[1] or a[2] is not b[2] or a[5] != b[5] or a[7] is not b[7] or a[8] is not b[8] or (
                len(a[3]) != len(b[3]) or len(a[6]) != len(b[6])):
            return False
        alike = self._are_numbered_alike
        for x, y in zip(a[3], b[3], strict=True):
            if x.__class__ is Use is y.__class__:
                if x != y if alike else not self.equal(x.symbol, y.symbol):
                    return False
            elif x is not y and not self.equal(x, y):
                return False
        return (a[6] == b[6] if alike else all(map(self._results, a[6], b[6]))) and (
            not (a[4] or b[4]) or self.equal(a[4], b[4]))

    def _results(self, a: Symbol | None, b: Symbol | None) -> bool:
        """Whether two results are the same, with arrays of one layout."""
        return self.equal(a, b) and (a is None or b is None or a[0] != "slot" or self._slots[a[1]] == self._other_slots[b[1]])

    def gradients(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
        """Whether the same tensors get the same gradients."""
        return a == b if self._are_numbered_alike else self.equal(a, b)

    def _symbols(self, a: Symbol, b: Symbol | None) -> bool:
        """Whether two symbols of numbered tensors are of one tensor, or of the tensor in one variable."""
        if b is None or a[0] != b[0]:
            return False
        mine, its = self._variables.get(a[1]), self._others.get(b[1])
        return mine == its if mine is not None else self._first[a[1]] is self._second[b[1]]

    def equal(self, a: Any, b: Any) -> bool:
        """Whether two values are the same."""
        if a is b:
            return True
        if a.__class__ is not b.__class__:
            return False
        if a.__class__ in _PLAIN:
            return bool(a == b)
        if a.__class__ in backends.TABLES:
            a, b = backends.to_host(a), backends.to_host(b)
            return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        if isinstance(a, Use):
            return self.equal(a.symbol, b.symbol)
        if isinstance(a, (tuple, list)):
            if a.__class__ is tuple and len(a) == 2 and a[1].__class__ is int and a[0].__class__ is str and a[0] in _NUMBERED:
                return len(b) == 2 and self._symbols(a, b)
            return len(a) == len(b) and all(map(self.equal, a, b))
        if isinstance(a, dict):
            return list(a) == list(b) and all(self.equal(a[key], b[key]) for key in a)
        if hasattr(a, "vjp") or hasattr(a, "next_functions"):  # nodes of results
            return True
        return same(a, b) or (isinstance(a, TreeSpec) and a == b) or (
            a.__class__.__eq__ is not object.__eq__ and not isinstance(a, (Tensor, float, complex)) and bool(a == b))


def _variables(recorder: Recorder) -> dict[int, tuple[int, Any]]:
    """The tensors that the function replaces by others in a variable: its place by the number of the tensor."""
    return {event[2]: (id(event[1][1]), event[1][2]) for event in recorder.events if event[0] == "variable"}


def _difference(a: Any, b: Any, both: _Both) -> str:
    names = [f"'{event[1]}'" if event[0] == "kernel" else event[0] for event in (a, b)]
    if names[0] != names[1]:
        return f"{names[0]} was {names[1]}"
    if a[0] != "kernel":
        return f"{names[0]} has other values"
    if not both.equal(a[3], b[3]):
        shown = _shown(a[3]), _shown(b[3])
        return f"{names[0]} has other operands, " + (
            "of other variables" if shown[0] == shown[1] else " and ".join(shown))
    for key in a[4]:
        if key not in b[4] or not both.equal(a[4][key], b[4][key]):
            return f"{names[0]} has another '{key}', {_shown(a[4][key])} and {_shown(b[4].get(key))}"
    return f"{names[0]} has other results, {_shown(a[6:])} and {_shown(b[6:])}"


def _shown(value: Any) -> str:
    if isinstance(value, Use):
        return " ".join(map(str, value.symbol))
    return f"({', '.join(map(_shown, value))})" if isinstance(value, (list, tuple)) else repr(value)[:60]
