"""Lists of implementations, by preference: the first that suits a problem computes it, as in oneDNN and FFTW.

A problem is a hashable description of the arguments, so that an implementation is chosen once for each.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

WhyNot = Callable[[Any], str | None]


class Implementation(NamedTuple):
    """`why_not` gives the reason why this does not compute a problem, or None."""

    name: str
    why_not: WhyNot
    run: Callable[..., Any]


class Implementations:
    """``Implementations(name=(why_not, run), ...)``; the last one takes everything."""

    def __init__(self, **entries: tuple[WhyNot, Callable[..., Any]]) -> None:
        self._entries = [Implementation(name, *entry) for name, entry in entries.items()]
        self.choose = functools.lru_cache(maxsize=1024)(self._first)

    def suitable(self, problem: Any) -> Iterator[Implementation]:
        """Those that compute the problem, the preferred one first."""
        return (entry for entry in self._entries if entry.why_not(problem) is None)

    def _first(self, problem: Any) -> Implementation:
        return next(self.suitable(problem))

    def explain(self, problem: Any) -> Iterator[str]:
        """A line for each implementation: whether it computes the problem, and why not."""
        chosen = self.choose(problem).name
        for entry in self._entries:
            verdict = "chosen" if entry.name == chosen else entry.why_not(problem) or "would do, but comes later"
            yield f"  {entry.name}: {verdict}"


def unmet(*conditions: tuple[bool, str]) -> str | None:
    """What stands beside the first condition that does not hold."""
    return next((reason for holds, reason in conditions if not holds), None)


def anything(problem: Any) -> None:
    """The `why_not` of what computes every problem."""
