"""Streams of several streams, and several of one."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from .pipes import IterDataPipe, Joining, functional_datapipe


@functional_datapipe("concat")
class ConcaterIterDataPipe(Joining, IterDataPipe):
    """One pipe after another."""

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe):
    """Tuples of a sample of each pipe, until one ends."""

    def __init__(self, *datapipes: IterDataPipe) -> None:
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes)


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe):
    """A sample of each pipe in turn, until one ends."""

    def __init__(self, *datapipes: IterDataPipe) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for samples in zip(*self.datapipes, strict=False):
            yield from samples

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes) * len(self.datapipes)


class _Source:
    """What the branches of a pipe share: one iterator of it, and what each branch has not taken yet."""

    def __init__(self, pipe: IterDataPipe, branches: int, buffer_size: int) -> None:
        if branches <= 0:
            raise ValueError(f"Expected `num_instances` larger than 0, but {branches} is found")
        if buffer_size == 0:
            raise ValueError("buffer_size must be positive, or -1 for any size")
        self.pipe, self.branches, self.buffer_size = pipe, branches, buffer_size
        self.iterator: Iterator[Any] | None = None
        self.waiting: list[deque[Any]] = []
        self.started: set[int] = set()

    def begin(self, branch: int) -> None:
        """A branch begins: from the front if it has begun before, or as the first."""
        if self.iterator is None or branch in self.started:
            self.iterator = iter(self.pipe)
            self.waiting = [deque() for _ in range(self.branches)]
            self.started = set()
        self.started.add(branch)

    def put(self, branch: int, data: Any) -> None:
        """Let a branch have a sample later. Raises BufferError where too many wait."""
        if 0 <= self.buffer_size <= sum(map(len, self.waiting)):
            raise BufferError(f"The branches of {self.pipe!r} are too far apart: buffer_size={self.buffer_size} is full")
        self.waiting[branch].append(data)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "iterator": None, "waiting": [], "started": set()}


class _Branch(IterDataPipe):
    """One of several pipes of one."""

    def __init__(self, source: _Source, number: int, where: Callable[[Any], list[int]], copied: Callable[[Any], Any]) -> None:
        self.main_datapipe, self.instance_id = source.pipe, number
        self._source, self._where, self._copied = source, where, copied

    def reset(self) -> None:
        """Begin from the front."""
        self._source.begin(self.instance_id)

    def __iter__(self) -> Iterator[Any]:
        source, own = self._source, self.instance_id
        while True:
            if source.waiting[own]:
                yield source.waiting[own].popleft()
                continue
            assert source.iterator is not None
            try:
                data = next(source.iterator)
            except StopIteration:
                return
            places = self._where(data)
            for place in places:
                if place != own:
                    source.put(place, self._copied(data))
            if own in places:
                yield self._copied(data)


class _Everywhere:
    def __init__(self, branches: int) -> None:
        self.branches = list(range(branches))

    def __call__(self, data: Any) -> list[int]:
        return self.branches


class _Classified:
    def __init__(self, function: Callable[[Any], Any], branches: int, drop_none: bool) -> None:
        self.function, self.branches, self.drop_none = function, branches, drop_none

    def __call__(self, data: Any) -> list[int]:
        place = self.function(data)
        if place is None and self.drop_none:
            return []
        if place is None or not 0 <= place < self.branches:
            raise ValueError(f"Output of the classification fn should be between 0 and {self.branches - 1}. {place} is returned.")
        return [int(place)]


def _itself(data: Any) -> Any:
    return data


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe):
    """A list of pipes that all have the samples of one; `copy` may be 'shallow' or 'deep'. What one has and another has not taken
    yet waits in a buffer: BufferError beyond `buffer_size`, where -1 is no limit.
    """

    def __new__(cls, datapipe: IterDataPipe, num_instances: int, buffer_size: int = 1000, copy: str | None = None) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        if num_instances == 1:
            return [datapipe]
        if copy not in (None, "shallow", "deep"):
            raise ValueError(f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`.")
        from copy import copy as shallow
        from copy import deepcopy

        copied = {None: _itself, "shallow": shallow, "deep": deepcopy}[copy]
        source = _Source(datapipe, num_instances, buffer_size)
        return [_Length(source, number, _Everywhere(num_instances), copied) for number in range(num_instances)]


class _Length(_Branch):
    def __len__(self) -> int:
        return len(self.main_datapipe)


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """A list of pipes, of which each has the samples for which `classifier_fn` gives its number; with `drop_none` None leaves a
    sample out. The buffer is as of `fork`.
    """

    def __new__(cls, datapipe: IterDataPipe, num_instances: int, classifier_fn: Callable[[Any], int | None],
                drop_none: bool = False, buffer_size: int = 1000) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        source = _Source(datapipe, num_instances, buffer_size)
        return [_Branch(source, number, _Classified(classifier_fn, num_instances, drop_none), _itself)
                for number in range(num_instances)]
