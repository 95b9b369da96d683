"""Chained and stacked datasets, and the share of one of several processes, as PyTorch's."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import lucid
from lucid.data import ChainDataset, DataLoader, DistributedSampler, IterableDataset, StackDataset, TensorDataset


class Stream(IterableDataset[int]):
    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)


def test_chain() -> None:
    chain = ChainDataset([Stream(1, 2), Stream(), Stream(3)])
    assert list(chain) == [1, 2, 3] and len(chain) == 3
    assert [batch.tolist() for batch in DataLoader(chain, 2)] == [[1, 2], [3]]
    with pytest.raises(AssertionError, match="IterableDataset"):
        list(ChainDataset([[1]]))  # type: ignore[list-item]


def test_stack() -> None:
    a, b = TensorDataset(lucid.arange(4)), list(range(10, 14))
    pairs: Any = StackDataset(a, b)  # type: ignore[arg-type]
    named: Any = StackDataset(x=a, y=b)  # type: ignore[arg-type]
    assert len(pairs) == 4 and pairs[2][1] == 12 and named[1]["y"] == 11 and pairs.__getitems__([0, 3])[1][1] == 13
    (x,), y = next(iter(DataLoader(pairs, 4)))
    assert x.tolist() == [0, 1, 2, 3] and y.tolist() == b
    assert next(iter(DataLoader(named, 2)))["y"].tolist() == [10, 11]
    for wrong, match in (((), "At least one"), ((a, [1]), "Size mismatch")):
        with pytest.raises(ValueError, match=match):
            StackDataset(*wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="both types"):
        StackDataset(a, y=b)  # type: ignore[arg-type]


@pytest.mark.parametrize(("length", "count", "drop_last"), [(10, 3, False), (10, 3, True), (2, 5, False), (6, 2, False), (3, 1, True)])
def test_shares(length: int, count: int, drop_last: bool) -> None:
    torch = pytest.importorskip("torch")
    for rank in range(count):
        options = {"num_replicas": count, "rank": rank, "drop_last": drop_last}
        ours = DistributedSampler(range(length), shuffle=False, **options)
        theirs = torch.utils.data.DistributedSampler(range(length), shuffle=False, **options)
        assert list(ours) == list(theirs) and len(ours) == len(theirs)
    shares = [DistributedSampler(range(length), count, rank, drop_last=drop_last) for rank in range(count)]
    first = [list(share) for share in shares]
    if not drop_last:
        assert {index for share in first for index in share} == set(range(length))
    for share in shares:
        share.set_epoch(1)
    assert length < 6 or [list(share) for share in shares] != first
    assert sorted(DistributedSampler(range(length))) == list(range(length))
    with pytest.raises(ValueError, match="Invalid rank"):
        DistributedSampler(range(length), 2, 2)
