"""What the engine and operations call where tensors may hold lifted arrays, those of function transforms."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .grad_mode import COMPOSED, LEVELS
from .grad_mode import mode as grad_mode


def lifted(parents: Sequence[Any], result: Any) -> list[Any]:
    """The parents of a node that is made inside of levels; see `lifting.lifted_parents`."""
    from .lifting import lifted_parents  # not with lucid: only transforms need it

    return lifted_parents(parents, result)


def add_tangents(target: Any, others: Sequence[Any]) -> None:
    """Give `target` the tangents that it needs to be written into; see `lifting.add_tangents`."""
    from .lifting import add_tangents

    add_tangents(target, others)


class Composed:
    """A context in which gradient rules use operations alone, and operations expect lifted arrays: what `backward` needs on a
    graph of those. It enters the levels that it meets.
    """

    def __init__(self) -> None:
        from ..levels.lifted import active, inside

        self._active = active
        self._mode = grad_mode.set(grad_mode.get() | LEVELS | COMPOSED)
        self._tables = inside()
        self._tables.__enter__()

    def enter(self, level: Any) -> None:
        """Be inside of `level` from now on."""
        levels = self._active.get()
        if level not in levels:
            self._active.set(tuple(sorted((*levels, level), key=lambda other: other.number)))

    def gradient(self, g: Any) -> Any:
        """The gradient of a tensor for what has come to it; of several outputs a list."""
        from .lifting import gradient_of

        return [None if part is None else gradient_of(part) for part in g] if g.__class__ is list else gradient_of(g)

    def leave(self) -> None:
        """End the context."""
        self._tables.__exit__(None, None, None)
        grad_mode.reset(self._mode)
