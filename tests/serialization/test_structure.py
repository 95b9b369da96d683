"""What `lucid.save` takes besides tensors, and what it refuses before it writes anything."""
from __future__ import annotations

import argparse
import collections
import enum
import io
import json
import pathlib
import random
import types
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np
import pytest

import lucid

Path = pathlib.Path


@pytest.fixture(params=["safetensors", "npz"])
def extension(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def through_a_file(obj: Any, extension: str) -> Any:
    file = io.BytesIO()
    lucid.save(obj, file, format=extension)
    file.seek(0)
    return lucid.load(file)


_options = argparse.Namespace(lr=0.1, out=Path("o"))
_options.self = [1]  # what an option --self becomes
VALUES = [
    Path("runs") / "a", pathlib.PurePosixPath("/x"), pathlib.PureWindowsPath("c:\\x"), _options,
    types.SimpleNamespace(a=1), OrderedDict(b=1, a=2), defaultdict(list, {"a": [1]}), defaultdict(None, {1: 2}), Counter("aab"),
    {1, 2}, frozenset({(1, 2), "x"}), {frozenset({1}): 1}, slice(1, None, 2), range(3, 9, 2), 1 + 2j, b"\0\xff", bytearray(b"ab"),
    lucid.bfloat16, np.dtype("uint32"), lucid.device("gpu:1"), lucid.Size([2, 3]), np.float32(0.1), np.int8(-3), np.uint64(2**64 - 1),
    np.bool_(True), np.complex64(1 + 2j), lucid.bfloat16.type(1.5), np.float64("inf"), 1 << 20000, -(1 << 20000), "\ud800", [[]],
    {"\ud800": 1, "": 2, "\0": 3}]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_keep_their_type(value: Any, extension: str) -> None:
    loaded = through_a_file({"value": value}, extension)["value"]
    assert loaded == value and type(loaded) is type(value)
    assert getattr(loaded, "default_factory", None) is getattr(value, "default_factory", None)


def test_a_defaultdict_with_a_function_is_a_dict(extension: str) -> None:
    loaded = through_a_file(defaultdict(lambda: 3, a=1), extension)
    assert loaded == {"a": 1} and type(loaded) is dict


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_arrays_of_wide_unsigned_integers(dtype: str, extension: str, device: str) -> None:
    """Also as views of one memory, and on the way to another device, where no tensor could have such a dtype."""
    array = np.array([[1, 2, 3], [np.iinfo(dtype).max, 0, 5]], dtype)
    loaded = through_a_file({"a": array, "t": array.T, "column": array[:, 1], "empty": array[:0], "scalar": array.sum()}, extension)
    assert {key: value.dtype.name for key, value in loaded.items() if key != "scalar"} == dict.fromkeys(("a", "t", "column", "empty"), dtype)
    np.testing.assert_array_equal(loaded["a"], array)
    np.testing.assert_array_equal(loaded["t"], array.T)
    loaded["a"][0, 1] = 7
    assert loaded["column"].tolist() == [7, 0] and loaded["empty"].shape == (0, 3) and loaded["scalar"] == array.sum()
    file = io.BytesIO()
    lucid.save({"array": array, "tensor": lucid.ones(2)}, file, format=extension)
    file.seek(0)
    moved = lucid.load(file, map_location=device)
    assert type(moved["array"]) is np.ndarray and moved["tensor"].device == device
    np.testing.assert_array_equal(moved["array"], array)


@pytest.mark.parametrize("kind", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_states_of_random_generators(kind: str, extension: str) -> None:
    generator = np.random.Generator(getattr(np.random, kind)(0))
    generator.standard_normal(3)
    state = through_a_file(generator.bit_generator.state, extension)
    expected = generator.random(5).tolist()
    other = np.random.Generator(getattr(np.random, kind)(1))
    other.bit_generator.state = state
    assert other.random(5).tolist() == expected


def test_states_of_global_random_generators(extension: str) -> None:
    before = np.random.get_state(), random.getstate()
    try:
        state = through_a_file({"numpy": np.random.get_state(), "python": random.getstate(), "lucid": lucid.get_rng_state()}, extension)
        expected = np.random.rand(), random.random(), lucid.rand(1).item()
        np.random.set_state(state["numpy"])
        random.setstate(state["python"])
        lucid.set_rng_state(state["lucid"])
        assert (np.random.rand(), random.random(), lucid.rand(1).item()) == expected
    finally:
        np.random.set_state(before[0])
        random.setstate(before[1])


# ---- refused -------------------------------------------------------------------------------------------------------
class _Color(enum.IntEnum):
    RED = 1


_Point = collections.namedtuple("_Point", "x y")


@pytest.mark.parametrize("value", [
    object(), _Color.RED, _Point(1, 2), lucid.nn.Linear(1, 1), len, int, collections.deque([1]), type("Text", (str,), {})("x"),
    type("List", (list,), {})([1]), np.datetime64("2020-01-01"), np.longdouble(1), np.array(["a"]), np.ones(2, np.longdouble),
    np.ones(2, ">f4"), np.ma.masked_array([1, 2], [True, False]), np.dtype("float128" if hasattr(np, "float128") else "M8")],
    ids=lambda value: type(value).__name__)
def test_refused(value: Any, extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"m.{extension}"
    lucid.save({"a": 1}, path)
    before = path.read_bytes()
    for obj in ({"x": [value]}, {"x": {"y": (value,)}}):
        with pytest.raises(TypeError, match=r"cannot save entry \['x'\]"):
            lucid.save(obj, path)
    assert path.read_bytes() == before
    file = io.BytesIO()
    with pytest.raises(TypeError):
        lucid.save({"x": value}, file, format=extension)
    assert file.getvalue() == b""


def test_objects_that_contain_themselves_or_are_too_deep(extension: str) -> None:
    itself: list[Any] = [1]
    itself += [itself, itself]
    ring: dict[str, Any] = {"a": {}}
    ring["a"]["b"] = [ring]
    deep: Any = 1
    for _ in range(2000):
        deep = [deep]
    for obj in (itself, ring, deep, {"x": deep}):
        with pytest.raises(ValueError, match="contains itself, or containers within each other"):
            lucid.save(obj, io.BytesIO(), format=extension)
    twice = [1]
    assert through_a_file([twice, twice], extension) == [[1], [1]]
    for _ in range(1900):
        deep = deep[0]
    assert through_a_file(deep, extension) == deep


@pytest.mark.parametrize("key", ["\ud800", "a\0b", "x" * 70000, "\0", "x.npy", "é" * 40000, "a\\b", "tensor", "__lucid__"])
def test_keys_of_any_text(key: str, extension: str) -> None:
    """Each tensor is found under its key, though the formats cannot store all names."""
    obj = {key: lucid.tensor(1), key + "\0": lucid.tensor(2), key + "?": {"": lucid.tensor(3)}, key[:1000]: [lucid.tensor(4)]}
    loaded = through_a_file(obj, extension)
    assert list(loaded) == list(obj)
    assert loaded[key + "\0"].item() == 2 and loaded[key + "?"][""].item() == 3 and loaded[key[:1000]][0].item() == 4


def test_a_structure_larger_than_a_header(monkeypatch: pytest.MonkeyPatch, extension: str) -> None:
    """It becomes a tensor of bytes: readers take headers of 100 MB only."""
    from lucid.serialization import safetensors as _safetensors

    obj = {"history": list(range(300_000)), "w": lucid.ones(2), "text": "ü" * 10}
    file = io.BytesIO()
    lucid.save(obj, file, format=extension)
    if extension == "safetensors":
        assert int.from_bytes(file.getvalue()[:8], "little") < 1000
    file.seek(0)
    loaded = lucid.load(file)
    assert loaded["history"] == obj["history"] and loaded["w"].tolist() == [1, 1] and loaded["text"] == obj["text"]
    assert set(loaded) == set(obj)
    if extension == "safetensors":
        library = pytest.importorskip("safetensors.numpy")
        assert set(library.load(file.getvalue())) == {"w", "__lucid__"}
    assert _safetensors.MAX_HEADER == 100_000_000


def test_more_names_than_a_header_takes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from lucid.serialization import safetensors as _safetensors

    monkeypatch.setattr(_safetensors, "MAX_HEADER", 2000)
    path = tmp_path / "m.safetensors"
    lucid.save({"good": lucid.ones(1)}, path)
    many = {f"weight{number}": lucid.ones(1) for number in range(50)}
    with pytest.raises(ValueError, match="cannot save 50 tensors as safetensors: the header.* format='npz' has no such limit"):
        lucid.save(many, path)
    file = io.BytesIO()
    with pytest.raises(ValueError, match="the header"):
        lucid.save(many, file)
    assert file.getvalue() == b"" and lucid.load(path)["good"].tolist() == [1]
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.safetensors"]
    lucid.save(many, tmp_path / "m.npz")
    assert len(lucid.load(tmp_path / "m.npz")) == 50


def test_a_header_that_is_too_long(tmp_path: Path) -> None:
    header = json.dumps({"__metadata__": {"x": "y" * 100_000_000}}).encode()
    (tmp_path / "x").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(lucid.serialization.LoadError, match="more than the 100000000 that the format allows"):
        lucid.load(tmp_path / "x")
