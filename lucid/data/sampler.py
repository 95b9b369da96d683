"""Samplers: the order in which a DataLoader takes samples."""
from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from .. import _dtypes
from .._random import Generator
from ..ops.creation.creation import as_tensor
from ..ops.random.random import randint, randperm
from ..ops.random.sampling import multinomial

T_co = TypeVar("T_co", covariant=True)


def random_seed(generator: Generator | None) -> int:
    """A seed drawn from `generator`, or from the default one."""
    return int(randint(0, 1 << 62, (), generator=generator, device="cpu").item())


def _own_generator(generator: Generator | None) -> Generator:
    """`generator`, or a new one seeded by the default one: then an epoch takes one number of that, however long it is."""
    return generator if generator is not None else Generator().manual_seed(random_seed(None))


class Sampler(Generic[T_co]):
    """Indices, or batches of indices: a subclass defines `__iter__`, and `__len__` if it knows.

    >>> class Backwards(lucid.data.Sampler):
    ...     def __init__(self, data):
    ...         self.data = data
    ...     def __iter__(self):
    ...         return reversed(range(len(self.data)))
    >>> list(lucid.data.DataLoader([10, 20, 30], batch_size=3, sampler=Backwards([10, 20, 30])))
    [Tensor([30, 20, 10], requires_grad=False)]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")


class SequentialSampler(Sampler[int]):
    """All indices in order.

    >>> list(lucid.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All indices in random order, or `num_samples` of them, drawn with `replacement` or going round in permutations.

    Raises TypeError or ValueError for options of the wrong kind.

    >>> sorted(lucid.data.RandomSampler(range(4)))
    [0, 1, 2, 3]
    """

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None,
                 generator: Generator | None = None) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many indices are drawn."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = _own_generator(self.generator)
        total = len(self.data_source)
        if self.replacement:
            yield from randint(0, total, (self.num_samples,), generator=generator, device="cpu").tolist()
            return
        rounds = (randperm(total, generator=generator, device="cpu").tolist() for _ in itertools.count())
        yield from itertools.islice(itertools.chain.from_iterable(rounds), self.num_samples)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order.

    >>> sorted(lucid.data.SubsetRandomSampler([5, 1, 3]))
    [1, 3, 5]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in randperm(len(self.indices), generator=self.generator, device="cpu").tolist():
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` indices drawn with probabilities proportional to `weights`.

    >>> set(lucid.data.WeightedRandomSampler([0.0, 1.0, 0.0], num_samples=4))
    {1}
    """

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True,
                 generator: Generator | None = None) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=_dtypes.float64, device="cpu")
        if self.weights.ndim != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices from another sampler; the last one may be shorter unless `drop_last`.

    Raises ValueError for options of the wrong kind.

    >>> list(lucid.data.BatchSampler(lucid.data.SequentialSampler(range(5)), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        length = len(self.sampler)  # type: ignore[arg-type]
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)


class Forever(Sampler[Any]):
    """The sampler of an IterableDataset, which has no indices: None, again and again."""

    def __iter__(self) -> Iterator[Any]:
        return itertools.repeat(None)
