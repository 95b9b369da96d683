"""State dicts in several files with an index."""
from __future__ import annotations

import json
import pathlib
import sys
import types
from typing import Any

import pytest

import lucid
from lucid import nn
from lucid.serialization import LoadError, progress

Path = pathlib.Path


def model() -> nn.Sequential:
    lucid.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 4))


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return list(a) == list(b) and all(a[key].dtype == b[key].dtype and lucid.equal(a[key], b[key]) for key in a)


@pytest.mark.parametrize(("format", "stem", "suffix"), [(None, "model", ".safetensors"), ("pytorch", "pytorch_model", ".bin")])
def test_shards(tmp_path: Path, format: str | None, stem: str, suffix: str) -> None:
    state = model().state_dict()
    lucid.save(state, tmp_path, max_shard_size=400, format=format)
    names = sorted(file.name for file in tmp_path.iterdir())
    count = len(names) - 1
    assert count == 3
    assert names == [f"{stem}-{n:05}-of-{count:05}{suffix}" for n in range(1, count + 1)] + [f"{stem}{suffix}.index.json"]
    index = json.loads((tmp_path / names[-1]).read_text())
    assert list(index["weight_map"]) == list(state) and index["metadata"]["total_size"] == sum(t.nbytes for t in state.values())
    for source in (tmp_path, tmp_path / names[-1]):
        for mmap in (False, True):
            loaded = lucid.load(source, mmap=mmap)
            assert same(loaded, state) and loaded._metadata == state._metadata
    assert not any(t.is_cpu for t in lucid.load(tmp_path, "meta").values())
    # A later save of another number of files leaves nothing of this one.
    lucid.save(state, tmp_path, max_shard_size="1MB")
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]
    assert same(lucid.load(tmp_path), state)


def test_tied_tensors_stay_together(tmp_path: Path) -> None:
    weight = lucid.randn(64)
    state = {"a": weight, "b": lucid.randn(64), "c": weight[:32], "d": lucid.randn(300)}
    lucid.save(state, tmp_path, max_shard_size="0.5KB")
    loaded = lucid.load(tmp_path)
    assert same(loaded, state)
    loaded["a"][0] = 7.0
    assert loaded["c"][0] == 7.0
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())["weight_map"]
    assert index["a"] == index["c"] != index["b"]


def test_errors_name_keys_and_files(tmp_path: Path) -> None:
    state = {name: lucid.ones(10) for name in "abcd"}
    lucid.save(state, tmp_path, max_shard_size=80)
    first, second = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    index = tmp_path / "model.safetensors.index.json"
    document = json.loads(index.read_text())

    def refused(words: list[str], **weight_map: Any) -> None:
        index.write_text(json.dumps({"weight_map": document["weight_map"] | weight_map}))
        with pytest.raises(LoadError) as error:
            lucid.load(tmp_path)
        assert all(word in str(error.value) for word in words), error.value

    refused([first, "'e'", "lacks"], e=first)
    refused([first, "'b'", "holds"], b=second)
    refused(["other.safetensors", "'c'", "missing"], c="other.safetensors")
    refused(["../x", "'c'"], c="../x")
    refused(["'c'", "5"], c=5)
    index.write_text("[]")
    with pytest.raises(LoadError, match=r"index\.json is damaged"):
        lucid.load(tmp_path)
    index.write_text(json.dumps(document))
    (tmp_path / second).write_bytes((tmp_path / second).read_bytes()[:-1])
    with pytest.raises(LoadError, match=rf"{second}.*truncated"):
        lucid.load(tmp_path)
    (tmp_path / second).unlink()
    with pytest.raises(LoadError, match=rf"{second} with 'c', 'd' is missing"):
        lucid.load(index)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(LoadError, match="pytorch_model.bin"):
        lucid.load(empty)
    with pytest.raises(TypeError, match="state_dict"):
        lucid.save([lucid.ones(2)], empty, max_shard_size=10)
    for size in ("many", 0, "-5GB"):
        with pytest.raises(ValueError, match="max_shard_size"):
            lucid.save(state, empty, max_shard_size=size)
    assert not list(empty.iterdir())


def test_a_failed_save_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = {name: lucid.ones(10) for name in "abcd"}
    lucid.save(state, tmp_path, max_shard_size=80)

    def full(*_: Any) -> None:
        raise OSError("no space")

    monkeypatch.setattr("lucid.serialization.safetensors.write", full)
    with pytest.raises(OSError, match="no space"):
        lucid.save({"a": lucid.zeros(10)}, tmp_path, max_shard_size=80)
    assert same(lucid.load(tmp_path), state)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_bar_follows_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bars: list[Any] = []

    class Bar:
        def __init__(self, total: int, **_: Any) -> None:
            self.total, self.seen, self.open = total, 0, True
            bars.append(self)

        def update(self, count: int) -> None:
            self.seen += count

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: Any) -> None:
            self.open = False

    tqdm = types.ModuleType("tqdm")
    tqdm.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", tqdm)
    state = {name: lucid.ones(1000) for name in "abcd"}
    lucid.save(state, tmp_path, max_shard_size=8000)
    lucid.load(tmp_path)
    assert not bars
    assert same(lucid.load(tmp_path, progress=True), state)
    assert len(bars) == 1 and bars[0].seen >= bars[0].total > 16000 and not bars[0].open
    for format in ("npz", "pytorch"):
        lucid.save(state, tmp_path / format, format=format)
        assert same(lucid.load(tmp_path / format, progress=True), state) and bars[-1].seen > 16000
    monkeypatch.setattr(progress, "LONG", 1000)
    count = len(bars)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    lucid.load(tmp_path)
    lucid.load(tmp_path, progress=False)
    lucid.load(tmp_path, mmap=True)
    assert len(bars) == count + 1
    monkeypatch.setitem(sys.modules, "tqdm", None)
    lucid.load(tmp_path)
    with pytest.raises(ImportError, match="tqdm"):
        lucid.load(tmp_path, progress=True)


@pytest.mark.torch
def test_other_libraries_read_them(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    state = model().state_dict()
    lucid.save(state, tmp_path, max_shard_size=400)
    found: dict[str, Any] = {}
    for file in sorted(tmp_path.glob("*.safetensors")):
        found |= safetensors.load_file(file)
        with safetensors.safe_open(file, "pt") as opened:
            assert opened.metadata()["format"] == "pt"
    lucid.save(state, tmp_path, max_shard_size=400, format="pytorch")
    for file in sorted(tmp_path.glob("*.bin")):
        for key, value in torch.load(file, weights_only=True).items():
            assert torch.equal(value, found[key])
    assert found.keys() == state.keys()
    assert all(found[key].tolist() == value.tolist() for key, value in state.items())
