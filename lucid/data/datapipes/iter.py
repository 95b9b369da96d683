"""Pipes that are streams, each with the function of its name: `Mapper` is ``pipe.map(...)``."""
from __future__ import annotations

import copy
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...ops.random.random import randint
from ..collate import default_collate
from ..info import get_worker_info
from ..sampler import SequentialSampler
from .combining import (
    ConcaterIterDataPipe,
    DemultiplexerIterDataPipe,
    ForkerIterDataPipe,
    MultiplexerIterDataPipe,
    ZipperIterDataPipe,
)
from .files import FileListerIterDataPipe, FileOpenerIterDataPipe, StreamReaderIterDataPipe
from .pipes import Batching, DataChunk, IterDataPipe, Shuffling, functional_datapipe

Function = Callable[..., Any]


class IterableWrapperIterDataPipe(IterDataPipe):
    """The elements of an iterable, of a deep copy of it each time where that can be made."""

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(self.iterable)
            except TypeError:  # as generators
                source = self.iterable
        yield from source

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe):
    """`fn` of each sample, or of its columns `input_col`; the result takes the place of the first of them, or of `output_col`,
    where -1 is behind the last.
    """

    def __init__(self, datapipe: IterDataPipe, fn: Function, input_col: Any = None, output_col: Any = None) -> None:
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, list | tuple):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.datapipe, self.fn, self.input_col, self.output_col = datapipe, fn, input_col, output_col

    def _applied(self, data: Any) -> Any:
        if self.input_col is None:
            return self.fn(data)
        several = isinstance(self.input_col, list | tuple)
        columns = self.input_col if several else [self.input_col]
        result = self.fn(*[data[column] for column in columns])
        changed: Any = list(data) if isinstance(data, tuple) else copy.copy(data)
        if self.output_col is None:
            changed[columns[0]] = result
            for column in sorted(columns[1:], reverse=True) if not isinstance(data, dict) else columns[1:]:
                del changed[column]
        elif self.output_col == -1 and not isinstance(data, dict):
            changed.append(result)
        else:
            changed[self.output_col] = result
        return tuple(changed) if isinstance(data, tuple) else changed

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._applied(data)

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """`collate_fn`, by default that of the DataLoader, of each batch."""

    def __init__(self, datapipe: IterDataPipe, conversion: Any = default_collate, collate_fn: Function | None = None) -> None:
        chosen = conversion if collate_fn is None else collate_fn
        if not callable(chosen):
            raise TypeError("collate: a function is needed")
        super().__init__(datapipe, chosen)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The samples of which `filter_fn`, of them or of their columns `input_col`, is true."""

    def __init__(self, datapipe: IterDataPipe, filter_fn: Function, input_col: Any = None) -> None:
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def _keeps(self, data: Any) -> bool:
        if self.input_col is None:
            answer = self.filter_fn(data)
        elif isinstance(self.input_col, list | tuple):
            answer = self.filter_fn(*[data[column] for column in self.input_col])
        else:
            answer = self.filter_fn(data[self.input_col])
        if not isinstance(answer, bool):
            raise ValueError(f"Boolean output is required for `filter_fn` of FilterIterDataPipe, got {type(answer)}")
        return answer

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            if self._keeps(data):
                yield data


@functional_datapipe("batch")
class BatcherIterDataPipe(Batching, IterDataPipe):
    """`batch_size` samples in one, of `wrapper_class`; with `drop_last` without the rest."""

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for data in self.datapipe:
            batch.append(data)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """The samples of batches, `unbatch_level` levels deep, or of all levels with -1."""

    def __init__(self, datapipe: IterDataPipe, unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield from self._opened(data, self.unbatch_level)

    def _opened(self, data: Any, level: int) -> Iterator[Any]:
        if level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        if level == 0 or (level == -1 and not isinstance(data, list)):
            yield data
        elif isinstance(data, list):
            for item in data:
                yield from self._opened(item, -1 if level == -1 else level - 1)
        else:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(Shuffling, IterDataPipe):
    """The samples in random order, drawn from a buffer. All workers of a DataLoader draw the same order, so that
    `sharding_filter` shares them out.
    """

    def __init__(self, datapipe: IterDataPipe, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise ValueError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else UnBatcherIterDataPipe(datapipe, unbatch_level)
        self.buffer_size = buffer_size
        self._rng = random.Random()

    def reset(self) -> None:
        """Draw a seed where none was set."""
        if self._enabled:
            info = get_worker_info()
            if self._seed is None:
                self._seed = int(randint(2**31 - 1, ()).item()) if info is None else info.seed - info.id
            self._rng.seed(self._seed)
            self._seed = None

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        buffer: list[Any] = []
        for data in self.datapipe:
            if len(buffer) == self.buffer_size:
                place = self._rng.randint(0, len(buffer) - 1)
                given, buffer[place] = buffer[place], data
                yield given
            else:
                buffer.append(data)
        while buffer:
            yield buffer.pop(self._rng.randint(0, len(buffer) - 1))

    def __len__(self) -> int:
        return len(self.datapipe)


class SamplerIterDataPipe(IterDataPipe):
    """The indices of a sampler, made of the pipe."""

    def __init__(self, datapipe: IterDataPipe, sampler: type = SequentialSampler, sampler_args: Any = None,
                 sampler_kwargs: Any = None) -> None:
        self.datapipe = datapipe
        self.sampler = sampler(*(sampler_args or ()), **{"data_source": datapipe, **(sampler_kwargs or {})})

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe):
    """One of so many samples: those of this worker of a DataLoader, or what `apply_sharding` says."""

    def __init__(self, source_datapipe: IterDataPipe, sharding_group_filter: Any = None) -> None:
        self.source_datapipe = source_datapipe
        self._share: tuple[int, int] | None = None

    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> None:
        """Keep sample number `instance_id` of each `num_of_instances`."""
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        self._share = num_of_instances, instance_id

    def _shares(self) -> tuple[int, int]:
        info = get_worker_info()
        return self._share or ((1, 0) if info is None else (info.num_workers, info.id))

    def __iter__(self) -> Iterator[Any]:
        count, number = self._shares()
        for place, data in enumerate(self.source_datapipe):
            if place % count == number:
                yield data

    def __len__(self) -> int:
        count, number = self._shares()
        return (len(self.source_datapipe) - number + count - 1) // count


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe):
    """Samples with one key, of `group_key_fn`, together: in groups of `group_size`, or all of a key. The buffer holds
    `buffer_size` samples; where it is full the largest group goes, which must have `guaranteed_group_size`, or with
    `drop_remaining` is left out.
    """

    def __init__(self, datapipe: IterDataPipe, group_key_fn: Function, *, keep_key: bool = False, buffer_size: int = 10000,
                 group_size: int | None = None, guaranteed_group_size: int | None = None, drop_remaining: bool = False) -> None:
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.buffer_size, self.group_size, self.drop_remaining = buffer_size, group_size, drop_remaining
        self.guaranteed_group_size = None
        if group_size is not None and buffer_size is not None:
            if not 0 < group_size <= buffer_size:
                raise AssertionError("group_size must be > 0 and <= buffer_size")
            self.guaranteed_group_size = group_size
        if guaranteed_group_size is not None:
            if group_size is None or not 0 < guaranteed_group_size <= group_size:
                raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
            self.guaranteed_group_size = guaranteed_group_size
        self.wrapper_class = DataChunk

    def _group(self, key: Any, items: list[Any]) -> Any:
        group = self.wrapper_class(items)
        return (key, group) if self.keep_key else group

    def __iter__(self) -> Iterator[Any]:
        groups: dict[Any, list[Any]] = defaultdict(list)
        held = 0
        for data in self.datapipe:
            key = self.group_key_fn(data)
            groups[key].append(data)
            held += 1
            if self.group_size is not None and len(groups[key]) == self.group_size:
                held -= len(groups[key])
                yield self._group(key, groups.pop(key))
            if held == self.buffer_size:
                largest = max(groups, key=lambda each: len(groups[each]))
                items = groups.pop(largest)
                held -= len(items)
                if self.guaranteed_group_size is not None and len(items) < self.guaranteed_group_size and not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(items))
                if self.guaranteed_group_size is None or len(items) >= self.guaranteed_group_size:
                    yield self._group(largest, items)
        for key, items in groups.items():
            yield self._group(key, items)


Batcher, Collator, Concater = BatcherIterDataPipe, CollatorIterDataPipe, ConcaterIterDataPipe
Demultiplexer = DemultiplexerIterDataPipe
FileLister, FileOpener, Filter, Forker = FileListerIterDataPipe, FileOpenerIterDataPipe, FilterIterDataPipe, ForkerIterDataPipe
Grouper, IterableWrapper, Mapper, Multiplexer = (GrouperIterDataPipe, IterableWrapperIterDataPipe, MapperIterDataPipe,
                                                 MultiplexerIterDataPipe)
Sampler, ShardingFilter, Shuffler = SamplerIterDataPipe, ShardingFilterIterDataPipe, ShufflerIterDataPipe
StreamReader, UnBatcher, Zipper = StreamReaderIterDataPipe, UnBatcherIterDataPipe, ZipperIterDataPipe

__all__ = ["Batcher", "Collator", "Concater", "Demultiplexer", "FileLister", "FileOpener", "Filter", "Forker", "Grouper",
           "IterableWrapper", "Mapper", "Multiplexer", "Sampler", "ShardingFilter", "Shuffler", "StreamReader", "UnBatcher",
           "Zipper"]
