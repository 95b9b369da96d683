"""The share that one of several processes has of a dataset."""
from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sized

from .._random import Generator
from ..ops.random.random import randperm
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index, beginning with `rank`; without these two, all of them: lucid trains in one process.

    With `shuffle` in an order that depends on `seed` and `set_epoch`. All shares are of one length: indices are repeated, or with
    `drop_last` left out. Raises ValueError for a `rank` that is none.

    >>> list(lucid.data.DistributedSampler(range(6), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 5]
    """

    def __init__(self, dataset: Sized, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
                 seed: int = 0, drop_last: bool = False) -> None:
        self.num_replicas = 1 if num_replicas is None else num_replicas
        self.rank = 0 if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(f"Invalid rank {self.rank}, rank should be in the interval [0, {self.num_replicas - 1}]")
        self.dataset, self.shuffle, self.seed, self.drop_last, self.epoch = dataset, shuffle, seed, drop_last, 0
        length = len(dataset)
        self.num_samples = length // self.num_replicas if drop_last else math.ceil(length / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        length = len(self.dataset)
        order = (randperm(length, generator=Generator().manual_seed(self.seed + self.epoch), device="cpu").tolist()
                 if self.shuffle else list(range(length)))
        return itertools.islice(itertools.cycle(order), self.rank, self.total_size, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch comes, for another order in each."""
        self.epoch = epoch
