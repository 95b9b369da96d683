"""CUDA graphs of a backward that is computed outside of the function, behind a forward by graphs."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .graphs import Graphs, Lent, Line, read_upstream
from .symbols import Symbol


class BackwardGraphs(Graphs):
    """What the graphs of `forward` have left is read where they have written it. Gradients are handed out as they lie; while
    somebody keeps one of an earlier backward, the kernels run one by one.
    """

    _PARAMETERS = "saved, keep, up"
    _read = staticmethod(read_upstream)

    def __init__(self, lines: list[Line], forward: Graphs, *args: Any) -> None:
        self._left = forward.made
        self._saved = [symbol for line in lines if line.kind == "saved" for symbol in line.symbols]
        super().__init__(lines, *args)

    def _is_copied(self, symbol: Symbol, moving: set[int]) -> bool:
        return symbol not in self._left and (symbol[0] != "state" or symbol[1] in moving)

    def _is_given(self, symbol: Symbol) -> bool:
        return True

    def _stays(self, symbol: Symbol) -> bool:
        return symbol not in self._copied

    def _handed_out(self, lines: list[Line]) -> list[tuple[Any, Symbol]]:
        found = [symbol for line in lines if line.kind == "returned" for symbol in line.symbols if symbol in self.made]
        return [(None, symbol) for symbol in dict.fromkeys(found)]

    def serve(self, saved: Any, up: Sequence[Any]) -> bool:
        """Whether the graphs do what backward does now, for what a forward has left; they are captured if they are not yet."""
        if saved.__class__ is not Lent:  # by kernels one by one
            return False
        arrays = dict(zip(self._saved, saved, strict=False))  # the rest are draws

        def array_of(symbol: Symbol) -> Any:
            return up[symbol[1]]._array if symbol[0] == "up" else arrays[symbol]

        def lie() -> bool:
            return all(array() is arrays[symbol] for symbol, array in self._fixed)

        return self._are_ready(lie, array_of) and all(holder.is_free(0) for _, _, holder in self._gradients)
