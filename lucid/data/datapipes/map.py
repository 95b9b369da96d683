"""Pipes of samples by index, each with the function of its name."""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from .iter import IterableWrapperIterDataPipe
from .pipes import Batching, IterDataPipe, Joining, MapDataPipe, Shuffling, functional_datapipe

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


class SequenceWrapperMapDataPipe(MapDataPipe):
    """The elements of a sequence or a mapping, of a deep copy of it where that can be made."""

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                self.sequence = sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


def _itself(data: Any) -> Any:
    return data


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe):
    """`fn` of each sample."""

    def __init__(self, datapipe: MapDataPipe, fn: Callable[[Any], Any] = _itself) -> None:
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("batch")
class BatcherMapDataPipe(Batching, MapDataPipe):
    """`batch_size` samples in one, of `wrapper_class`; with `drop_last` without the rest."""

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        last = min((index + 1) * self.batch_size, len(self.datapipe))
        return self.wrapper_class([self.datapipe[place] for place in range(index * self.batch_size, last)])


@functional_datapipe("concat")
class ConcaterMapDataPipe(Joining, MapDataPipe):
    """One pipe after another."""

    def __getitem__(self, index: Any) -> Any:
        before = 0
        for pipe in self.datapipes:
            count = len(pipe)
            if index - before < count:
                return pipe[index - before]
            before += count
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperMapDataPipe(Joining, MapDataPipe):
    """Tuples of the samples of one index."""

    def __getitem__(self, index: Any) -> Any:
        return tuple(pipe[index] for pipe in self.datapipes)

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes)


class ShufflerIterDataPipe(Shuffling, IterDataPipe):
    """The samples of a pipe by index, or those of `indices`, as a stream in random order."""

    def __init__(self, datapipe: MapDataPipe, *, indices: list[Any] | None = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices

    def __iter__(self) -> Iterator[Any]:
        order: Any = IterableWrapperIterDataPipe(self.indices, deepcopy=False)
        if self._enabled:
            order = order.shuffle(buffer_size=max(len(self.indices), 1))
            if self._seed is not None:
                order.set_seed(self._seed)
                self._seed = None
        for index in order:
            yield self.datapipe[index]

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)  # which is a stream
Batcher, Concater, Mapper = BatcherMapDataPipe, ConcaterMapDataPipe, MapperMapDataPipe
SequenceWrapper = SequenceWrapperMapDataPipe
Shuffler, Zipper = ShufflerIterDataPipe, ZipperMapDataPipe
