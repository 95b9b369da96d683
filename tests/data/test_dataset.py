"""Datasets."""
from __future__ import annotations

import itertools
from typing import Any

import pytest

import lucid
from lucid import data


class Squares(data.Dataset[int]):
    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> int:
        return index * index


def test_tensor_dataset(device: str) -> None:
    x, y = lucid.arange(6, device=device).reshape(3, 2), lucid.tensor([7, 8, 9], device=device)
    dataset = data.TensorDataset(x, y)
    assert len(dataset) == 3
    row, label = dataset[1]
    assert row.tolist() == [2, 3] and label.item() == 8 and label.shape == ()
    with pytest.raises(ValueError, match="Size mismatch between tensors: 3, 2"):
        data.TensorDataset(x, y[:2])


def test_subset() -> None:
    subset = data.Subset(Squares(10), [3, 5, 9])
    assert len(subset) == 3 and [subset[i] for i in range(3)] == [9, 25, 81]
    assert subset.__getitems__([2, 0]) == [81, 9]
    nested = data.Subset(subset, [2])
    assert nested[0] == 81 and nested.__getitems__([0]) == [81]


def test_concat() -> None:
    joined = Squares(2) + Squares(3)
    assert isinstance(joined, data.ConcatDataset)
    assert len(joined) == 5 and [joined[i] for i in range(5)] == [0, 1, 0, 1, 4]
    assert joined[-1] == 4 and joined[-5] == 0
    with pytest.raises(ValueError, match="absolute value"):
        joined[-6]
    with pytest.raises(IndexError):
        joined[5]
    with pytest.raises(ValueError, match="empty iterable"):
        data.ConcatDataset([])
    with pytest.raises(TypeError, match="does not support IterableDataset"):
        data.ConcatDataset([data.IterableDataset()])


def test_random_split() -> None:
    def split(lengths: Any, seed: int = 0) -> list[list[int]]:
        generator = lucid.Generator().manual_seed(seed)
        return [list(part.indices) for part in data.random_split(Squares(10), lengths, generator)]

    parts = split([7, 3])
    assert [len(part) for part in parts] == [7, 3] and sorted(itertools.chain(*parts)) == list(range(10))
    assert parts == split([7, 3]) != split([7, 3], seed=1)
    assert [len(part) for part in split([0.25, 0.25, 0.5])] == [3, 2, 5]
    with pytest.raises(ValueError, match="Sum of input lengths"):
        split([7, 4])
    with pytest.raises(ValueError, match="Fraction at index 0"):
        split([1.5, -0.5])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        split([1.0, 0.0])


def test_subclasses_must_define_access() -> None:
    with pytest.raises(NotImplementedError):
        data.Dataset()[0]
    with pytest.raises(NotImplementedError):
        iter(data.IterableDataset())
