"""Steps on a GPU that repeat the one before with other gradients: what was looked at then is only seen to be the same still.

Most of what a step of many tensors takes on the host is to collect them. Nothing is kept alive here, and nothing is trusted: the
parameters, the entries of their states and the arrays behind them are fetched again, and compared with those of the last step.
"""
from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

from .._writers import writes
from ..backends import run
from ..tensor import Tensor, bump_all

_array_of = attrgetter("_array")
_gradient_of = attrgetter("_grad")


class Repeated:
    """The tensors of a group of parameters on one GPU, as their last step left them."""

    def __init__(self, names: Sequence[str | None], numbers: Sequence[str], columns: Sequence[Sequence[Any]]) -> None:
        """`names` of moments, None for those that the options do not need, and of numbers. `columns`: the arrays of the
        parameters, of each moment but None, and of each number.
        """
        self.names = names
        self.present = [name for name in names if name is not None] + [*numbers]
        self.moments = len(self.present) - len(numbers)
        self.kind = columns[0][0].__class__
        self.device = columns[0][0].data.device_id
        self.shapes = [(array.shape, array.dtype) for array in columns[0]]
        arrays = [*chain.from_iterable(columns)]
        self.known: Any = None  # the kernel's
        self.gone: list[Any] = []
        #: Names of arrays that are all there as long as none has `gone`: then equal names are the same arrays.
        self.identities = [*map(id, arrays)]
        self.references = [weakref.ref(array, self.gone.append) for array in arrays]

    def collected(self, state: Any, params: Sequence[Tensor], names: Sequence[str | None]) -> Collected | None:
        """What the step of `params` works on, if it is still the same but for the gradients, and these fit; else None."""
        if self.gone or names != self.names:
            return None
        given = [*map(_gradient_of, params)]  # once: a flat parameter collects its own
        if any(grad is None for grad in given):
            params = [param for param, grad in zip(params, given, strict=True) if grad is not None]
            given = [grad for grad in given if grad is not None]
        if len(params) != len(self.shapes):
            return None
        try:
            states = [*map(state.get, params)]
            columns = [params, *[[entries[name] for entries in states] for name in self.present]]
            arrays = [[*map(_array_of, column)] for column in columns]
        except (KeyError, TypeError, AttributeError):  # the state is to begin, or has become something else
            return None
        if self.identities != [*map(id, chain.from_iterable(arrays))]:
            return None
        kind, device = self.kind, self.device
        grads = [*map(_array_of, given)]
        for grad, (shape, dtype) in zip(grads, self.shapes, strict=True):
            if grad.__class__ is not kind or grad.shape != shape or grad.dtype != dtype or grad.data.device_id != device:
                return None
        return Collected(self, columns, arrays, grads)


class Collected:
    """The tensors, arrays and gradients of a step that repeats another one."""

    __slots__ = ("arrays", "columns", "grads", "of")

    def __init__(self, of: Repeated, columns: list[Any], arrays: list[Any], grads: list[Any]) -> None:
        self.of, self.columns, self.arrays, self.grads = of, columns, arrays, grads

    @writes("written")
    def step(self, name: str, attributes: dict[str, Any]) -> None:
        """Run the kernel `name`, which has further `attributes`."""
        of, arrays = self.of, self.arrays
        moments = iter(arrays[1 : 1 + of.moments])
        nothing = [None] * len(self.grads)
        rows = [arrays[0], self.grads, *[nothing if each is None else next(moments) for each in of.names]]
        written = [*chain.from_iterable(self.columns)]
        counts = [*zip(*arrays[1 + of.moments :], strict=True)]
        run(name, [*chain.from_iterable(zip(*rows, strict=True))], {"counts": counts, "same": of, **attributes})
        bump_all(written)
