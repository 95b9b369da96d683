"""Chains of small datasets: what each pipe yields, its errors, and DataLoaders of chains."""
from __future__ import annotations

import pathlib
import pickle
from typing import Any

import pytest

import lucid
from lucid import data
from lucid.data.datapipes import graph, iter, map


def numbers(count: int = 7) -> Any:
    return iter.IterableWrapper(range(count))


def modulo_three(x: int) -> int:
    return x % 3


def test_functions_of_pipes() -> None:
    w = numbers()
    assert list(w.filter(lambda x: x > 2)) == [3, 4, 5, 6]
    assert list(w.batch(2).batch(2).unbatch(2)) == list(w.batch(2).batch(2).unbatch(-1)) == list(range(7))
    assert list(w.mux(iter.IterableWrapper("ab"))) == [0, "a", 1, "b"] and len(w.zip(numbers(3))) == 3
    assert sorted(w.shuffle(buffer_size=3)) == list(range(7))
    pairs = iter.IterableWrapper([(1, 2), (3, 4)])
    assert list(pairs.map(lambda x: x + 1, input_col=1)) == [(1, 3), (3, 5)]
    assert list(pairs.map(lambda x, y: x + y, input_col=[0, 1], output_col=-1)) == [(1, 2, 3), (3, 4, 7)]
    assert list(iter.IterableWrapper([{"a": 1}]).map(lambda x: x + 1, input_col="a", output_col="b")) == [{"a": 1, "b": 2}]
    assert next(w.batch(2).collate().__iter__()).tolist() == [0, 1]
    for wrong in (lambda: w.batch(0), lambda: w.shuffle(buffer_size=0), lambda: w.map(str, output_col=1), lambda: w.fork(0),
                  lambda: w.fork(2, copy="x"), lambda: list(w.unbatch()), lambda: list(w.filter(lambda x: x)),
                  lambda: list(w.demux(2, modulo_three)[0]), lambda: w.nothing, lambda: len(w.filter(bool))):
        with pytest.raises((ValueError, AssertionError, IndexError, AttributeError, TypeError)):
            wrong()


def test_one_iterator_is_valid() -> None:
    w = numbers()
    first = w.__iter__()
    assert next(first) == 0
    second = w.__iter__()
    with pytest.raises(RuntimeError, match="invalidated"):
        next(first)
    assert list(second) == list(range(7))


def test_branches_share_a_source() -> None:
    a, b = numbers(4).fork(2)
    assert list(zip(a, b, strict=True)) == [(n, n) for n in range(4)] and list(a) == list(b) == [0, 1, 2, 3]
    x, y = iter.IterableWrapper([[1]]).fork(2, copy="deep")
    (first,), (second,) = x, y
    assert first is not second and first == [1]
    even, odd = numbers().demux(2, lambda n: n % 2)
    assert list(even) == [0, 2, 4, 6] and list(odd) == [1, 3, 5] and list(odd) == [1, 3, 5]
    (some,) = numbers().demux(1, lambda n: None if n > 2 else 0, drop_none=True)
    assert list(some) == [0, 1, 2]
    a, b = numbers().fork(2, buffer_size=2)
    with pytest.raises(BufferError, match="too far apart"):
        list(a)


def test_files(tmp_path: pathlib.Path) -> None:
    (tmp_path / "below").mkdir()
    for name in ("b.txt", "a.txt", "c.bin", "below/d.txt"):
        (tmp_path / name).write_text(name)
    lister = iter.FileLister(str(tmp_path), "*.txt", recursive=True)
    assert [pathlib.Path(path).name for path in lister] == ["a.txt", "b.txt", "d.txt"]
    assert [text for _, text in lister.open_files().read_from_stream()] == ["a.txt", "b.txt", "below/d.txt"]
    assert [part for _, part in iter.FileLister(str(tmp_path), "*.bin").open_files("rb").read_from_stream(2)] == [b"c.", b"bi", b"n"]
    assert list(iter.IterableWrapper([str(tmp_path)]).list_files(masks=["*.bin"])) == [str(tmp_path / "c.bin")]
    with pytest.raises(ValueError, match="Invalid mode"):
        lister.open_files("w")


def test_shuffling_is_set_for_a_chain() -> None:
    chain = numbers(50).shuffle().map(str)
    graph.apply_shuffle_settings(chain, False)
    assert list(chain) == [str(n) for n in range(50)]
    graph.apply_shuffle_settings(chain, True)
    generator = lucid.Generator().manual_seed(3)
    first = list(graph.apply_random_seed(chain, generator))
    assert first != [str(n) for n in range(50)] and first == list(graph.apply_random_seed(chain, generator.manual_seed(3)))
    lucid.manual_seed(1)
    again = list(chain)
    lucid.manual_seed(1)
    assert list(chain) == again
    assert len(graph.get_all_graph_pipes(chain.zip(chain))) == 4


@pytest.mark.parametrize("workers", [0, 2])
def test_data_loaders_of_chains(workers: int) -> None:
    chain = numbers(20).shuffle().sharding_filter()
    for shuffle in (False, True):
        loader = data.DataLoader(chain, batch_size=None, shuffle=shuffle, num_workers=workers)
        assert sorted(int(x) for x in loader) == list(range(20))
    assert [x.tolist() for x in data.DataLoader(numbers(4), batch_size=2)] == [[0, 1], [2, 3]]


def test_shares() -> None:
    share = numbers().sharding_filter()
    graph.apply_sharding(share, 3, 1)
    assert list(share) == [1, 4] and len(share) == 2
    with pytest.raises(ValueError, match="smaller"):
        share.apply_sharding(2, 2)


def test_samples_by_index() -> None:
    m = map.SequenceWrapper(list("abcd"))
    assert list(m.map(str.upper)) == list("ABCD") and list(m.batch(3)) == [["a", "b", "c"], ["d"]]
    assert m.concat(m)[5] == "b" and m.zip(m)[1] == ("b", "b") and len(m.batch(3, drop_last=True)) == 1
    shuffled = m.shuffle()
    assert sorted(shuffled) == list("abcd") and list(shuffled.set_shuffle(False)) == list("abcd")
    for wrong in (lambda: m.batch(3)[2], lambda: m.concat(m)[8]):
        with pytest.raises(IndexError):
            wrong()
    assert map.SequenceWrapper({"x": 1})["x"] == 1


def test_chains_are_pickled() -> None:
    chain = numbers().map(modulo_three).groupby(modulo_three)
    again = pickle.loads(pickle.dumps(chain))
    assert list(again) == list(chain) == [[0, 0, 0], [1, 1], [2, 2]]
    a, b = pickle.loads(pickle.dumps(numbers(2).fork(2)))
    assert list(a) == list(b) == [0, 1]


def test_own_pipes_become_functions() -> None:
    try:
        @data.functional_datapipe("plus")
        class Plus(data.IterDataPipe):
            def __init__(self, source: Any, by: int) -> None:
                self.source, self.by = source, by

            def __iter__(self) -> Any:
                for x in self.source:
                    yield x + self.by

        assert list(numbers(2).plus(3)) == [3, 4] and "plus" in dir(numbers())
        with pytest.raises(RuntimeError, match="already taken"):
            data.functional_datapipe("plus")(Plus)
    finally:
        data.IterDataPipe.functions.pop("plus")
    with pytest.raises(TypeError):
        data.functional_datapipe("plus")(int)
    refused = data.non_deterministic(lambda source, by: by > 1)(Plus)
    with data.guaranteed_datapipes_determinism():
        assert list(refused(numbers(1), 1)) == [1]
        with pytest.raises(TypeError, match="non-deterministic"):
            refused(numbers(1), 2)


@pytest.mark.torch
def test_chains_yield_what_pytorchs_do() -> None:
    theirs = pytest.importorskip("torch.utils.data.datapipes.iter")
    for chain in (
            lambda w: w.batch(3), lambda w: w.batch(3, drop_last=True), lambda w: w.batch(2).batch(2).unbatch(),
            lambda w: w.groupby(modulo_three), lambda w: w.groupby(modulo_three, group_size=2, keep_key=True),
            lambda w: w.groupby(modulo_three, buffer_size=4, group_size=3, drop_remaining=True),
            lambda w: w.groupby(modulo_three, buffer_size=4, group_size=3, guaranteed_group_size=2),
            lambda w: w.concat(w.map(str)), lambda w: w.zip(w.filter(lambda x: x > 2)), lambda w: w.demux(3, modulo_three)[1],
            lambda w: w.sharding_filter(), lambda w: w.batch(4).map(list).unbatch()):
        results = []
        for module in (iter, theirs):
            pipe = chain(module.IterableWrapper(range(10)))
            try:
                results.append(list(pipe))
            except RuntimeError as error:
                results.append(type(error))
        assert results[0] == results[1]
    assert set(iter.__all__) == set(theirs.__all__) - {"RoutedDecoder"}
