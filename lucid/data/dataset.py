"""Datasets: what a DataLoader reads from."""
from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from .._random import Generator
from ..ops.creation.creation import tensor
from ..ops.random.random import randperm
from ..tensor import Tensor

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by index: a subclass defines `__getitem__` and usually `__len__`.

    A `__getitems__(indices)` that returns a list of samples is used by DataLoader where it exists.

    >>> class Squares(lucid.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index ** 2
    >>> next(iter(lucid.data.DataLoader(Squares(), batch_size=4)))
    Tensor([0, 1, 4, 9], requires_grad=False)
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples in a stream: a subclass defines `__iter__`.

    With workers, each has its own copy and yields all of it, unless `__iter__` calls `get_worker_info` for its share.

    >>> class Lines(lucid.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(["a", "b", "c"])
    >>> list(lucid.data.DataLoader(Lines(), batch_size=2))
    [['a', 'b'], ['c']]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Sample i is the tuple of the i-th rows of tensors of the same length. Raises ValueError for different lengths.

    >>> data = lucid.data.TensorDataset(lucid.tensor([[1, 2], [3, 4]]), lucid.tensor([0, 1]))
    >>> len(data), data[1]
    (2, (Tensor([3, 4], requires_grad=False), Tensor(1, requires_grad=False)))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(len(t) != len(tensors[0]) for t in tensors):
            raise ValueError(f"Size mismatch between tensors: {', '.join(str(len(t)) for t in tensors)}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])

    def _collated(self, indices: Sequence[int]) -> list[Tensor] | None:
        """What `default_collate` makes of the samples at `indices`, without making the samples.

        None where that has to be done: if a subclass has another idea of a sample, or indices are not integers.
        """
        if type(self).__getitem__ is not TensorDataset.__getitem__ or set(map(type, indices)) != {int}:
            return None
        length = len(self)
        if not -length <= min(indices) <= max(indices) < length:  # a GPU would not check
            raise IndexError(f"index out of range: the dataset has {length} samples, the batch asks for "
                             f"{min(indices)} to {max(indices)}")
        rows = tensor(indices, device="cpu")
        return [t[rows] for t in self.tensors]


class Subset(Dataset[T_co]):
    """The samples of `dataset` at `indices`, in that order.

    >>> data = lucid.data.Subset("abcdef", [4, 0])
    >>> len(data), data[0]
    (2, 'e')
    """

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        """The samples at several indices."""
        wanted = [self.indices[i] for i in indices]
        fetch = getattr(self.dataset, "__getitems__", None)
        return fetch(wanted) if callable(fetch) else [self.dataset[i] for i in wanted]

    def __len__(self) -> int:
        return len(self.indices)

    def _collated(self, indices: Sequence[int]) -> list[Tensor] | None:
        if type(self).__getitem__ is not Subset.__getitem__ or type(self).__getitems__ is not Subset.__getitems__:
            return None
        collated = getattr(self.dataset, "_collated", None)
        return None if collated is None else collated([self.indices[i] for i in indices])


class ConcatDataset(Dataset[T_co]):
    """One dataset after another. Raises ValueError for none and TypeError for an IterableDataset.

    >>> data = lucid.data.ConcatDataset(["ab", "cde"])
    >>> len(data), data[3]
    (5, 'd')
    """

    datasets: list[Dataset[T_co]]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("datasets should not be an empty iterable")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise TypeError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        number = bisect.bisect_right(self.cumulative_sizes, index)
        if number == len(self.datasets):
            raise IndexError(f"index {index} is out of range for {len(self)} samples")
        return self.datasets[number][index - (self.cumulative_sizes[number - 1] if number else 0)]


class ChainDataset(IterableDataset[T_co]):
    """The samples of several IterableDatasets, one after the other.

    >>> class Count(lucid.data.IterableDataset):
    ...     def __init__(self, n):
    ...         self.n = n
    ...     def __iter__(self):
    ...         return iter(range(self.n))
    >>> list(lucid.data.ChainDataset([Count(2), Count(3)]))
    [0, 1, 0, 1, 2]
    """

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[T_co]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from dataset

    def __len__(self) -> int:
        total = 0
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            total += len(dataset)  # type: ignore[arg-type]
        return total


class StackDataset(Dataset[Any]):
    """Samples of several datasets side by side: tuples, or dictionaries of datasets that are given by keywords.

    Raises ValueError for datasets of different lengths, for none, and for both kinds.

    >>> data = lucid.data.StackDataset(letter="abc", number=[1, 2, 3])
    >>> data[1]
    {'letter': 'b', 'number': 2}
    """

    def __init__(self, *args: Dataset[Any], **kwargs: Dataset[Any]) -> None:
        if args and kwargs:
            raise ValueError("Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output, but "
                             "both types are given.")
        if not (args or kwargs):
            raise ValueError("At least one dataset should be passed")
        self.datasets: Any = args or kwargs
        lengths = {len(dataset) for dataset in self._all()}  # type: ignore[arg-type]
        if len(lengths) > 1:
            raise ValueError("Size mismatch between datasets")
        self._length = lengths.pop()

    def _all(self) -> list[Dataset[Any]]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _together(self, parts: Iterable[Any]) -> Any:
        return dict(zip(self.datasets, parts, strict=True)) if isinstance(self.datasets, dict) else tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._together([dataset[index] for dataset in self._all()])

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """The samples at several indices. Raises ValueError where a `__getitems__` returns another number of them."""
        columns = []
        for dataset in self._all():
            fetch = getattr(dataset, "__getitems__", None)
            column = fetch(indices) if callable(fetch) else [dataset[index] for index in indices]
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
            columns.append(column)
        return [self._together(row) for row in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


def random_split(dataset: Dataset[T_co], lengths: Sequence[int | float],
                 generator: Generator | None = None) -> list[Subset[T_co]]:
    """Random subsets that do not overlap, of the given lengths, or of the given fractions if they sum to 1.

    What fractions leave over is given out one by one, beginning with the first. Raises ValueError for lengths that do not sum
    to that of the dataset.

    >>> parts = lucid.data.random_split(range(10), [0.7, 0.3])
    >>> [len(part) for part in parts]
    [7, 3]
    """
    total = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for number, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {number} is not between 0 and 1")
        sizes = [math.floor(total * fraction) for fraction in lengths]
        for number in range(total - sum(sizes)):
            sizes[number % len(sizes)] += 1
        for number, size in enumerate(sizes):
            if size == 0:
                warnings.warn(f"Length of split at index {number} is 0. This might result in an empty dataset.", stacklevel=2)
        lengths = sizes
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(total, generator=generator, device="cpu").tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - length:end])
            for end, length in zip(ends, lengths, strict=True)]
