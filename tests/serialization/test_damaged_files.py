"""Files that were damaged, by chance or on purpose: LoadError, or an object, and nothing else."""
from __future__ import annotations

import copy
import io
import json
import pathlib
import random
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lucid
from lucid.serialization import LoadError
from lucid.serialization import reading as _reading

Path = pathlib.Path


@pytest.fixture(params=["safetensors", "npz"])
def extension(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def content(extension: str) -> bytes:
    base = lucid.arange(12, dtype=lucid.float32).reshape(3, 4)
    obj = {"base": base, "view": base.T, "complex": lucid.ones(2) * 1j, "half": lucid.ones(2).to(lucid.bfloat16), "scalar": np.int8(1),
           "meta": lucid.ones(2, 3, device="meta"), "array": np.arange(3, dtype=np.uint32), "path": Path("x"), "bytes": b"x",
           "list": [1, 2.5, None, True, "text", (1, {2}), slice(1), range(2), 1 + 2j, 1 << 5000, lucid.float16, lucid.device("gpu")],
           "state": lucid.nn.Linear(2, 1).state_dict()}
    file = io.BytesIO()
    lucid.save(obj, file, format=extension)
    return file.getvalue()


def check(data: bytes) -> bool:
    """Whether `data` could be loaded; any error but LoadError fails."""
    try:
        lucid.load(io.BytesIO(data))
    except LoadError as error:
        assert "cannot load" in str(error)
        return False
    return True


# ---- bytes ---------------------------------------------------------------------------------------------------------
def damaged_bytes(data: bytes, seed: int) -> bytes:
    """`data` with bytes changed, removed, repeated, inserted, or numbers made large."""
    rng, result = random.Random(seed), bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        start = rng.randrange(len(result))
        length = rng.choice((1, 1, 4, 8, 50))
        result[start:start + length] = rng.choice((
            bytes(rng.randrange(256) for _ in range(length)), b"", result[start:start + length] * 2, b"\xff" * length, b"\0" * length,
            rng.choice((b"9" * length, b"[" * 3000, b"(" * 300, b"-", b"{", b"}", b"'", b'"', b"L", b"e9", b"\n", b"\\ud800", b"None"))))
    return bytes(result)


def test_damaged_bytes(extension: str) -> None:
    data = content(extension)
    assert check(data)
    loaded = sum(check(damaged_bytes(data, seed)) for seed in range(400))
    assert loaded < 300  # most of what was changed matters


# ---- what the header of an array says -------------------------------------------------------------------------------
_NPY = [
    "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (10**18,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296)}", "(" * 200, "[" * 9000, "'''", "{'descr': ",
    "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", "{'descr': '<U9', 'fortran_order': False, 'shape': (1,)}",
    "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (3,)}",
    "{'descr': '<f4', 'fortran_order': 3, 'shape': (3,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (True, 3)}",
    "{'descr': '|V0', 'fortran_order': False, 'shape': (3,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (3L,)}", "1 + 1j", "\\", "\x0c",
    "{'descr': '<f4', 'fortran_order': False, 'shape': 3}", "{" + "'a': 1, " * 900 + "}", "0" * 5000, "-" * 5000, "{[]: 1}", "{'descr': {}}"]


@pytest.mark.filterwarnings("ignore:Reading")  # a header that Python 2 wrote
@pytest.mark.parametrize("version", [b"\1\0", b"\2\0", b"\3\0", b"\7\7"])
def test_headers_of_npz_members(version: bytes) -> None:
    for text in _NPY:
        header = text.encode("latin1") + b"\n"
        length = len(header).to_bytes(2 if version == b"\1\0" else 4, "little")
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x.npy", b"\x93NUMPY" + version + length + header + b"\0" * 12)
        check(file.getvalue())


# ---- a structure and a header that are JSON, but say something else -------------------------------------------------
_VALUES: list[Any] = [None, True, -1, 0, 3, 1 << 70, 1e300, float("nan"), "", "x", "meta", "gpu:99", "tpu", "base", [], [[]], {}, [1, 2], "float32",
                      {"tensor": "base"}, {"array": "view"}, {"tensor": 3}, {"list": 3}, {"dict": [[{"list": []}, 1]]}, {"set": [{"list": []}]},
                      {"Counter": [[1, "x"]]}, {"meta": ["float32", [1 << 40, 1 << 40], [0, 1]]}, {"meta": ["float32", [-1], [0]]},
                      {"bytes": "*"}, {"device": "x"}, {"dtype": "object"}, {"scalar": ["int8", 300]}, {"scalar": ["x", 1]}, {"int": "zz"},
                      {"slice": [1]}, {"range": [1, 2, 0]}, {"complex": [1]}, {"Path": 3}, {"Path": "\0"}, {"Namespace": {"dict": [[1, 2]]}},
                      {"Namespace": 3}, {"defaultdict": [], "default": "eval"}, {"defaultdict": []}, {"Size": ["a"]}, {"OrderedDict": [[1]]},
                      {"dict": [], "_metadata": 1}, {"frozenset": [{"dict": []}]}, {"tensor": "scalar"}, {"tensor": "array"}]


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all parts of a JSON value."""
    yield path
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield from places(value, (*path, key))


def damaged_json(tree: Any, seed: int) -> Any:
    """A copy of a JSON value of which parts were replaced or removed."""
    rng, tree = random.Random(seed), json.loads(json.dumps(tree))
    for _ in range(rng.choice((1, 1, 2, 3))):
        path = rng.choice(list(places(tree)))
        if not path:
            continue
        parent = tree
        for key in path[:-1]:
            parent = parent[key]
        if rng.random() < 0.2:
            del parent[path[-1]]
        elif isinstance(parent, dict) and rng.random() < 0.2:
            parent[rng.choice(["x", "list", "tensor", "Counter", "defaultdict", "slice", "ties", "nbytes", "parts"])] = parent.pop(path[-1])
        else:
            parent[path[-1]] = copy.deepcopy(rng.choice(_VALUES))
    return tree


def with_structure(data: bytes, header: dict[str, Any], structure: Any) -> bytes:
    size = int.from_bytes(data[:8], "little")
    text = json.dumps({**header, "__metadata__": {**header["__metadata__"], "lucid": json.dumps(structure)}}).encode()
    return len(text).to_bytes(8, "little") + text + data[8 + size:]


def test_damaged_structures() -> None:
    data = content("safetensors")
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    structure = json.loads(header["__metadata__"]["lucid"])
    assert check(with_structure(data, header, structure)) and structure["ties"] and structure["arrays"]
    for seed in range(400):
        check(with_structure(data, header, damaged_json(structure, seed)))
    for key in ("ties", "arrays", "devices", "version", "tree"):
        for value in _VALUES:
            check(with_structure(data, header, {**structure, key: value}))
            check(with_structure(data, header, {**structure, key: [value]}))
    deep: Any = 1
    for _ in range(5000):
        deep = {"list": [deep]} if isinstance(deep, dict) else {"list": [1]}
    check(with_structure(data, header, {"version": 1, "tree": 1}).replace(b'\\"tree\\": 1', b'\\"tree\\": ' + b"[" * 50_000))


def test_damaged_headers() -> None:
    """What we read, the safetensors library reads as well."""
    library = pytest.importorskip("safetensors")
    data = content("safetensors")
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    for seed in range(400):
        text = json.dumps(damaged_json(header, seed)).encode()
        damaged = len(text).to_bytes(8, "little") + text + data[8 + size:]
        if check(damaged):
            try:
                library.deserialize(damaged)
            except library.SafetensorError as error:
                assert "expected a string" in str(error) or "expected a map" in str(error)  # of metadata, which is not ours


def test_files_that_lie_about_their_size() -> None:
    """Nothing is allocated that the file cannot fill."""
    for shape, end in (([1 << 50], 1 << 52), ([1 << 40, 1 << 40], 1 << 82), ([0, 1 << 60], 0), ([3], 12), ([-1], -4), ([0] * 100, 0)):
        header = json.dumps({"x": {"dtype": "F32", "shape": shape, "data_offsets": [0, end]}}).encode()
        assert check(len(header).to_bytes(8, "little") + header) == (shape == [0, 1 << 60])
    holes = {"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}, "b": {"dtype": "U8", "shape": [1], "data_offsets": [2, 3]}}
    shared = {"a": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}, "b": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}}
    for entries in (holes, shared):
        header = json.dumps(entries).encode()
        assert not check(len(header).to_bytes(8, "little") + header + b"abc")
    assert not check((1 << 63).to_bytes(8, "little") + b"{}")


# ---- bombs ---------------------------------------------------------------------------------------------------------
def test_files_that_become_much_larger_in_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_reading, "SMALL", 1 << 16)
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, x=np.zeros(1 << 20, np.uint8))
    ratio = (1 << 20) / path.stat().st_size
    assert ratio > 500
    with pytest.raises(LoadError, match=r"more than 100 times as many.*max_ratio=None"):
        lucid.load(path)
    with pytest.raises(LoadError, match="more than 10 times as many"):
        lucid.load(io.BytesIO(path.read_bytes()), max_ratio=10)
    for allowed in (None, 2000):
        assert lucid.load(path, max_ratio=allowed)["x"].shape == (1 << 20,)
    monkeypatch.setattr(_reading, "SMALL", 1 << 28)
    assert lucid.load(path)["x"].shape == (1 << 20,)


def test_memory_that_is_said_to_be_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tensors may lie far from each other in one memory: that is limited as well."""
    monkeypatch.setattr(_reading, "SMALL", 1 << 16)
    memory = lucid.zeros(1 << 20)
    file = io.BytesIO()
    lucid.save({"a": memory[::1 << 15], "b": memory[::1 << 15]}, file)
    file.seek(0)
    with pytest.raises(LoadError, match="more than 100 times as many"):
        lucid.load(file)
    file.seek(0)
    assert lucid.load(file, max_ratio=None)["a"].shape == (32,)


def test_too_little_memory_is_an_error_of_the_file(monkeypatch: pytest.MonkeyPatch, extension: str) -> None:
    data = content(extension)

    def refuse(*arguments: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(_reading.np, "empty", refuse)
    with pytest.raises(LoadError, match="not enough memory"):
        lucid.load(io.BytesIO(data))
