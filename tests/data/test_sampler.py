"""Samplers."""
from __future__ import annotations

from typing import Any

import pytest

import lucid
from lucid import data


def generator(seed: int = 0) -> lucid.Generator:
    return lucid.Generator().manual_seed(seed)


def test_sequential() -> None:
    sampler = data.SequentialSampler("abc")
    assert list(sampler) == [0, 1, 2] and len(sampler) == 3


def test_random() -> None:
    orders = [list(data.RandomSampler(range(20), generator=generator(seed))) for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2] and sorted(orders[0]) == list(range(20))
    sampler = data.RandomSampler(range(20), generator=generator())
    assert list(sampler) != list(sampler)
    lucid.manual_seed(0)
    first = list(data.RandomSampler(range(20)))
    lucid.manual_seed(0)
    assert list(data.RandomSampler(range(20))) == first


def test_random_numbers_of_samples() -> None:
    drawn = list(data.RandomSampler(range(3), replacement=True, num_samples=50, generator=generator()))
    assert len(drawn) == 50 and set(drawn) == {0, 1, 2}
    rounds = list(data.RandomSampler(range(4), num_samples=10, generator=generator()))
    assert sorted(rounds[:4]) == sorted(rounds[4:8]) == [0, 1, 2, 3] and len(rounds) == 10


@pytest.mark.parametrize(("options", "error"), [({"replacement": 1}, TypeError), ({"num_samples": 0}, ValueError)])
def test_random_options(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        data.RandomSampler(range(3), **options)


def test_subset_and_weighted() -> None:
    assert sorted(data.SubsetRandomSampler([4, 7, 9], generator())) == [4, 7, 9]
    drawn = list(data.WeightedRandomSampler([0.0, 1.0, 3.0], 400, generator=generator()))
    assert 0 not in drawn and 250 < drawn.count(2) < 350
    assert sorted(data.WeightedRandomSampler([1.0, 1.0, 1.0], 3, replacement=False)) == [0, 1, 2]
    with pytest.raises(ValueError, match="num_samples"):
        data.WeightedRandomSampler([1.0], 0)
    with pytest.raises(ValueError, match="1d sequence"):
        data.WeightedRandomSampler([[1.0]], 1)  # type: ignore[list-item]


def test_batches() -> None:
    assert list(data.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(data.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert len(data.BatchSampler(range(5), 2, False)) == 3 and len(data.BatchSampler(range(5), 2, True)) == 2
    for size, drop in ((0, False), (True, False), (2, 1)):
        with pytest.raises(ValueError, match="batch_size|drop_last"):
            data.BatchSampler(range(5), size, drop)  # type: ignore[arg-type]
