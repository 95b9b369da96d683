"""How the main process and the workers get one batch from a dataset."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from .collate import Collate, default_collate
from .dataset import IterableDataset

Fetch = Callable[[Any], Any]


class EndOfStream(Exception):
    """An IterableDataset has come to its end."""


def make_fetch(dataset: Any, batched: bool, collate: Collate, drop_last: bool) -> Fetch:
    """A function from an index, or with `batched` from a list of indices, to what the DataLoader yields.

    For an IterableDataset the function continues one iterator; EndOfStream says that it has come to its end.
    """
    if isinstance(dataset, IterableDataset):
        return _from_stream(dataset, batched, collate, drop_last)
    if not batched:
        return lambda index: collate(dataset[index])

    # A whole batch at once where the result is the same: one index operation in place of one for each sample and a stack.
    at_once = getattr(dataset, "_collated", None) if collate is default_collate else None
    many = getattr(dataset, "__getitems__", None)

    def fetch(indices: Any) -> Any:
        if at_once is not None:
            batch = at_once(indices)
            if batch is not None:
                return batch
        return collate(many(indices) if callable(many) else [dataset[index] for index in indices])

    return fetch


def _from_stream(dataset: IterableDataset[Any], batched: bool, collate: Collate, drop_last: bool) -> Fetch:
    stream = iter(dataset)

    def fetch(indices: Any) -> Any:
        samples = list(itertools.islice(stream, len(indices) if batched else 1))
        if not samples or (batched and drop_last and len(samples) < len(indices)):
            raise EndOfStream
        return collate(samples if batched else samples[0])

    return fetch
