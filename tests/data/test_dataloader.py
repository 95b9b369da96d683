"""DataLoader without worker processes."""
from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import lucid
from lucid import data
from lucid.data.fetch import make_fetch


class Numbers(data.Dataset[int]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        return index


class Stream(data.IterableDataset[int]):
    def __init__(self, length: int = 7, said: int | None = None) -> None:
        self.length, self.said = length, said

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.length))

    def __len__(self) -> int:
        if self.said is None:
            raise TypeError("unknown")
        return self.said


def batches(loader: Any) -> list[Any]:
    return [batch.tolist() for batch in loader]


def test_batches_and_lengths() -> None:
    for options, expected in (({"batch_size": 4}, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]),
                              ({"batch_size": 4, "drop_last": True}, [[0, 1, 2, 3], [4, 5, 6, 7]]),
                              ({"sampler": [3, 1], "batch_size": 2}, [[3, 1]]),
                              ({"batch_sampler": [[1], [2, 3]]}, [[1], [2, 3]])):
        loader = data.DataLoader(Numbers(), **options)
        assert batches(loader) == expected == batches(loader)
        assert len(loader) == len(expected)
    single = data.DataLoader(Numbers(), batch_size=None)
    assert list(single) == list(range(10)) and len(single) == 10


def test_shuffle_is_reproducible() -> None:
    def epochs(seed: int) -> list[Any]:
        loader = data.DataLoader(Numbers(), 4, shuffle=True, generator=lucid.Generator().manual_seed(seed))
        return [batches(loader), batches(loader)]

    first = epochs(0)
    assert first == epochs(0) != epochs(1)
    assert first[0] != first[1] and sorted(itertools.chain(*first[0])) == list(range(10))


def test_tensor_dataset_at_once_is_the_same(device: str) -> None:
    """The short cut for whole batches gives what collating sample by sample gives."""
    tensors = data.TensorDataset(lucid.arange(24, dtype=lucid.float32, device=device).reshape(8, 3),
                                 lucid.arange(8, device=device))
    parts = data.Subset(data.Subset(tensors, [7, 6, 5, 1]), [3, 0, 1])
    for dataset, indices in ((tensors, [[3], [1, -1, 1], list(range(8))]), (parts, [[2, 0], [1]])):
        fetch = make_fetch(dataset, True, data.default_collate, False)
        for wanted in indices:
            assert dataset._collated(wanted) is not None
            fast, slow = fetch(wanted), data.default_collate([dataset[i] for i in wanted])
            assert type(fast) is type(slow) is list
            for a, b in zip(fast, slow, strict=True):
                assert (a.dtype, a.shape, a.device, a.tolist()) == (b.dtype, b.shape, b.device, b.tolist())
    with pytest.raises(IndexError, match="8 samples"):
        make_fetch(tensors, True, data.default_collate, False)([0, 8])


def test_tensor_dataset_with_other_samples() -> None:
    class Doubled(data.TensorDataset):
        def __getitem__(self, index: Any) -> Any:
            return self.tensors[0][index] * 2

    dataset = Doubled(lucid.arange(4))
    assert batches(data.DataLoader(dataset, 2)) == [[0, 2], [4, 6]]
    assert batches(data.DataLoader(data.Subset(dataset, [3, 1]), 2)) == [[6, 2]]
    plain = data.TensorDataset(lucid.arange(4))
    assert list(data.DataLoader(plain, 2, collate_fn=len)) == [2, 2]


def test_iterable() -> None:
    assert batches(data.DataLoader(Stream(), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert batches(data.DataLoader(Stream(), 3, drop_last=True)) == [[0, 1, 2], [3, 4, 5]]
    assert list(data.DataLoader(Stream(), None)) == list(range(7))
    assert len(data.DataLoader(Stream(said=7), 3)) == 3
    with pytest.warns(UserWarning, match="was reported to be 1"):
        list(data.DataLoader(Stream(7, said=3), 3))


def test_an_error_of_the_dataset_arrives_as_it_is() -> None:
    class Broken(Numbers):
        def __getitem__(self, index: int) -> int:
            raise KeyError("nothing here")

    with pytest.raises(KeyError, match="nothing here"):
        next(iter(data.DataLoader(Broken(), 2)))


@pytest.mark.parametrize(("options", "message"), [
    ({"num_workers": -1}, "non-negative"), ({"timeout": -1}, "timeout"), ({"prefetch_factor": 2}, "prefetch_factor"),
    ({"num_workers": 1, "prefetch_factor": 0}, "prefetch_factor"), ({"persistent_workers": True}, "persistent_workers"),
    ({"sampler": [0], "shuffle": True}, "mutually exclusive"), ({"batch_sampler": [[0]], "batch_size": 2}, "mutually exclusive"),
    ({"batch_size": None, "drop_last": True}, "mutually exclusive"), ({"batch_size": 0}, "batch_size"),
    ({"multiprocessing_context": "spawn"}, "num_workers > 0"),
    ({"multiprocessing_context": "thread", "num_workers": 1}, "valid start method"),
])
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        data.DataLoader(Numbers(), **options)


@pytest.mark.parametrize("options", [{"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}])
def test_bad_options_of_streams(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="IterableDataset: expected unspecified"):
        data.DataLoader(Stream(), **options)


def test_fixed_attributes() -> None:
    loader = data.DataLoader(Numbers(), 2)
    for name in ("batch_size", "sampler", "dataset", "drop_last"):
        with pytest.raises(ValueError, match="should not be set after DataLoader is initialized"):
            setattr(loader, name, None)
    with pytest.raises(TypeError, match="multiprocessing_context"):
        data.DataLoader(Numbers(), num_workers=1, multiprocessing_context=3)
