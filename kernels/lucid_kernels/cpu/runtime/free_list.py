"""Sets of byte ranges: the free parts of one large piece of memory."""
from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator


class Ranges:
    """Disjoint ranges [start, stop); touching ones become one. `total` is the number of bytes in them."""

    def __init__(self) -> None:
        self.total = 0
        self._stops: dict[int, int] = {}  # start -> stop
        self._starts: dict[int, int] = {}  # stop -> start
        self._by_size: list[tuple[int, int]] = []  # (size, start), sorted

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The ranges from the lowest to the highest."""
        return iter(sorted(self._stops.items()))

    def __len__(self) -> int:
        return len(self._stops)

    def add(self, start: int, stop: int) -> None:
        """Add a range that shares nothing with those that are there."""
        self.total += stop - start
        if start in self._starts:
            start = self._forget(self._starts[start])[0]
        if stop in self._stops:
            stop = self._forget(stop)[1]
        self._keep(start, stop)

    def remove(self, whole: int, start: int, stop: int) -> None:
        """Remove [start, stop) from the range that starts at `whole`."""
        first, last = self._forget(whole)
        self.total -= stop - start
        if first < start:
            self._keep(first, start)
        if stop < last:
            self._keep(stop, last)

    def smallest(self, size: int) -> int | None:
        """The start of the smallest range of at least `size` bytes, the lowest of equal ones; None if there is none."""
        position = bisect_left(self._by_size, (size, 0))
        return self._by_size[position][1] if position < len(self._by_size) else None

    def before(self, stop: int) -> int:
        """The start of the range that ends at `stop`; `stop` itself where none does."""
        return self._starts.get(stop, stop)

    def _keep(self, start: int, stop: int) -> None:
        self._stops[start], self._starts[stop] = stop, start
        insort(self._by_size, (stop - start, start))

    def _forget(self, start: int) -> tuple[int, int]:
        stop = self._stops.pop(start)
        del self._starts[stop], self._by_size[bisect_left(self._by_size, (stop - start, start))]
        return start, stop
