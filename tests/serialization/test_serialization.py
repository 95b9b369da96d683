"""lucid.save and lucid.load."""
from __future__ import annotations

import io
import json
import math
import os
import pathlib
import stat
import zipfile
from collections import Counter, OrderedDict
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import nn, optim
from lucid.serialization import LoadError

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
          "complex128"]
Path = pathlib.Path


@pytest.fixture(params=["safetensors", "npz"])
def extension(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def same(a: lucid.Tensor, b: lucid.Tensor) -> bool:
    """Whether two tensors have the same dtype, shape and elements."""
    return a.dtype == b.dtype and a.shape == b.shape and a.cpu().tolist() == b.cpu().tolist()


def through_a_file(obj: Any, extension: str, **options: Any) -> Any:
    file = io.BytesIO()
    lucid.save(obj, file, format=extension)
    file.seek(0)
    return lucid.load(file, **options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0, 3)])
def test_dtypes_and_shapes(dtype: str, shape: tuple[int, ...], extension: str) -> None:
    tensor = lucid.arange(math.prod(shape)).reshape(shape).to(getattr(lucid, dtype))
    assert same(through_a_file(tensor, extension), tensor)
    assert same(through_a_file({"x": tensor}, extension)["x"], tensor)


def test_layouts(device: str, extension: str) -> None:
    base = lucid.arange(24, device=device).reshape(4, 6)
    views = {"transposed": base.T, "steps": base[::2, 1::2], "expanded": base[0].expand(3, 6), "offset": base[2],
             "parameter": nn.Parameter(lucid.ones(2, device=device)), "complex": (base * 1j).T, "scalar": base[1, 1]}
    loaded = through_a_file(views, extension)
    for name, view in views.items():
        assert same(loaded[name], view), name
        assert loaded[name].device == "cpu" and not loaded[name].requires_grad
        assert type(loaded[name]) is lucid.Tensor
    moved = through_a_file(views, extension, map_location=device)
    assert all(tensor.device == device for tensor in moved.values())


def test_structures(extension: str) -> None:
    obj = {"epoch": 3, "loss": 0.1 + 0.2, "name": "net", "done": False, "nothing": None, 7: "a number", True: "a bool",
           None: "none", (1, "a"): "a tuple", "list": [1, [2.5, "x"], (lucid.ones(2), ())], "nan": float("nan"),
           "inf": -float("inf"), "big": 1 << 70, "complex": 1 + 2j, "bytes": b"\x00\xff", "set": {1, 2},
           "counter": Counter(a=2), "ordered": OrderedDict(z=1, a=2), "dtype": lucid.bfloat16,
           "device": lucid.device("gpu:1"), "numpy": np.arange(3), "scalar": np.float64(0.5), "size": lucid.ones(2, 3).shape,
           "text": "ü\n\"'"}
    loaded = through_a_file(obj, extension)
    assert list(loaded) == list(obj)
    for key, value in obj.items():
        if key in ("list", "nan", "numpy"):
            continue
        assert loaded[key] == value, key
        assert type(loaded[key]) is type(value), key
    assert loaded["list"][:2] == [1, [2.5, "x"]] and loaded["list"][2][1] == ()
    assert loaded["list"][2][0].tolist() == [1, 1] and isinstance(loaded["list"][2], tuple)
    assert math.isnan(loaded["nan"])
    assert isinstance(loaded["numpy"], np.ndarray) and loaded["numpy"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("obj", [3, "text", None, [], {}, (), lucid.tensor(2.0)], ids=repr)
def test_small_objects(obj: Any, extension: str) -> None:
    loaded = through_a_file(obj, extension)
    assert loaded == obj and type(loaded) is type(obj)


def test_names_that_collide(extension: str) -> None:
    obj = {"a.b": lucid.tensor(1), "a": {"b": lucid.tensor(2)}, "__metadata__": lucid.tensor(3),
           "__lucid__": lucid.tensor(4), "": lucid.tensor(5), "/x/../y": lucid.tensor(6), 1: lucid.tensor(7),
           "1": lucid.tensor(8), "file": lucid.tensor(9)}
    loaded = through_a_file(obj, extension)
    assert loaded["a"].pop("b").item() == 2 and loaded.pop("a") == {}
    assert {key: value.item() for key, value in loaded.items()} == {
        "a.b": 1, "__metadata__": 3, "__lucid__": 4, "": 5, "/x/../y": 6, 1: 7, "1": 8, "file": 9}


# ---- models --------------------------------------------------------------------------------------------------------
def network() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2))


def test_checkpoint(tmp_path: Path, device: str, extension: str) -> None:
    """Training that stops and goes on from a checkpoint is the training that did not stop."""
    def step(model: Any, optimizer: Any) -> None:
        optimizer.zero_grad()
        model(lucid.arange(20, dtype=lucid.float32, device=device).reshape(5, 4) / 10).square().sum().backward()
        optimizer.step()

    model = network().to(device)
    optimizer = optim.AdamW(model.parameters(), lr=0.1)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=9)
    for _ in range(2):
        step(model, optimizer)
        schedule.step()
    path = tmp_path / f"checkpoint.{extension}"
    lucid.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict(),
                "epoch": 2}, path)

    other = network().to(device)
    other_optimizer = optim.AdamW(other.parameters(), lr=0.1)
    other_schedule = optim.lr_scheduler.OneCycleLR(other_optimizer, 0.1, total_steps=9)
    checkpoint = lucid.load(path)
    assert checkpoint["epoch"] == 2
    assert str(other.load_state_dict(checkpoint["model"])) == "<All keys matched successfully>"
    other_optimizer.load_state_dict(checkpoint["optimizer"])
    other_schedule.load_state_dict(checkpoint["schedule"])
    for _ in range(2):
        step(model, optimizer)
        step(other, other_optimizer)
        schedule.step()
        other_schedule.step()
    for ours, theirs in zip(other.state_dict().values(), model.state_dict().values(), strict=True):
        assert same(ours, theirs)


def test_state_dict_order_and_metadata(tmp_path: Path, extension: str) -> None:
    state = network().state_dict()
    lucid.save(state, tmp_path / f"model.{extension}")
    loaded = lucid.load(tmp_path / f"model.{extension}")
    assert isinstance(loaded, OrderedDict)
    assert list(loaded) == list(state) and loaded._metadata == state._metadata


def test_tied_parameters(extension: str) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    state = through_a_file(model.state_dict(), extension)
    assert same(state["0.weight"], state["1.weight"])
    model.load_state_dict(state)
    assert model[1].weight is model[0].weight


# ---- other programs ------------------------------------------------------------------------------------------------
def test_others_read_our_state_dicts(tmp_path: Path) -> None:
    state = OrderedDict((name, lucid.arange(3).to(getattr(lucid, name))) for name in DTYPES if name != "complex128")
    from safetensors.numpy import load_file

    del state["bfloat16"]  # NumPy has none
    lucid.save(state, tmp_path / "m.safetensors")
    loaded = load_file(tmp_path / "m.safetensors")
    assert set(loaded) == set(state)
    assert loaded["float16"].tolist() == [0, 1, 2] and loaded["complex64"].tolist() == [[0, 0], [1, 0], [2, 0]]
    lucid.save(state, tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as archive:
        assert set(archive.files) == {*state, "__lucid__"}
        assert archive["complex64"].dtype == np.complex64


def test_we_read_other_files(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    save_file({"b": torch.arange(3), "a": torch.ones(2, 2, dtype=torch.bfloat16)}, tmp_path / "t.safetensors")
    loaded = lucid.load(tmp_path / "t.safetensors")
    assert type(loaded) is dict and set(loaded) == {"a", "b"}
    assert loaded["a"].dtype == lucid.bfloat16 and loaded["b"].tolist() == [0, 1, 2]
    for write in (np.savez, np.savez_compressed):
        write(tmp_path / "n.npz", x=np.eye(2), y=np.arange(3, dtype=">i4"))
        loaded = lucid.load(str(tmp_path / "n.npz"))
        assert loaded["x"].tolist() == [[1, 0], [0, 1]] and loaded["y"].tolist() == [0, 1, 2]


# ---- bad files -----------------------------------------------------------------------------------------------------
def test_truncated_files(tmp_path: Path, extension: str) -> None:
    whole = io.BytesIO()
    lucid.save({"w": lucid.arange(10), "n": 3}, whole, format=extension)
    content = whole.getvalue()
    path = tmp_path / "short"
    for length in [*range(0, len(content), 11), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(LoadError, match="cannot load '.*short'"):
            lucid.load(path)


def test_damaged_files(extension: str) -> None:
    """Whatever bytes are changed, the result is LoadError or an object, never another error."""
    whole = io.BytesIO()
    lucid.save({"w": lucid.arange(10), "c": lucid.ones(2) * 1j, "h": lucid.ones(2).to(lucid.bfloat16), "n": [3]}, whole,
               format=extension)
    rng = np.random.default_rng(0)
    for _ in range(500):
        content = bytearray(whole.getvalue())
        for position in rng.integers(len(content), size=3):
            content[position] = rng.integers(256)
        try:
            lucid.load(io.BytesIO(bytes(content)))
        except LoadError as error:
            assert "cannot load" in str(error)


def test_foreign_files(tmp_path: Path) -> None:
    import pickle

    files = {"empty": b"", "text": b"hello, this is not a tensor file at all", "pickle": pickle.dumps({"a": 1}),
             "short": b"\x01"}
    messages = {"empty": "it is empty", "text": "neither a safetensors nor an npz", "pickle": "Python pickle",
                "short": "neither a safetensors nor an npz"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(LoadError, match=f"cannot load '.*{name}'.*{messages[name]}"):
            lucid.load(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "net.pt", "w") as archive:
        archive.writestr("net/data.pkl", b"x")
    with pytest.raises(LoadError, match="its pickle is damaged"):
        lucid.load(tmp_path / "net.pt")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("text", b"x")
    with pytest.raises(LoadError, match="neither npz nor PyTorch's: it contains 'text'"):
        lucid.load(tmp_path / "other.zip")
    with pytest.raises(FileNotFoundError):
        lucid.load(tmp_path / "missing")


class Spy:
    """Pickled, it would touch a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return pathlib.Path.touch, (self.path,)


def test_loading_executes_nothing(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    np.savez(tmp_path / "bad.npz", x=np.array([Spy(touched)], dtype=object))
    with pytest.raises(LoadError, match="allow_pickle"):
        lucid.load(tmp_path / "bad.npz")
    assert not touched.exists()


def test_unsupported_contents(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", names=np.array(["a"]))
    with pytest.raises(LoadError, match="tensor 'names'"):
        lucid.load(tmp_path / "x.npz")
    header = json.dumps({"q": {"dtype": "F6_E2M3", "shape": [2], "data_offsets": [0, 2]}}).encode()
    (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0")
    with pytest.raises(LoadError, match="tensor 'q' has dtype F6_E2M3"):
        lucid.load(tmp_path / "x.safetensors")
    for structure, message in (('{"version": 99}', "later version"), ('{"version": 1, "tree": {"tensor": "w"}}', "'w' is missing"),
                               ('{"version": 1, "tree": {"eval": "1"}}', "unknown kind 'eval'"), ("[", "structure is damaged")):
        header = json.dumps({"__metadata__": {"lucid": structure}}).encode()
        (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
        with pytest.raises(LoadError, match=message):
            lucid.load(tmp_path / "x.safetensors")


# ---- writing -------------------------------------------------------------------------------------------------------
def test_what_cannot_be_saved_leaves_the_old_file(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"m.{extension}"
    lucid.save({"a": lucid.ones(1)}, path)
    with pytest.raises(TypeError, match=r"cannot save entry \['x'\]\['1'\]: a object"):
        lucid.save({"a": lucid.zeros(1), "x": [1, object()]}, path)
    with pytest.raises(TypeError, match="dtype object"):
        lucid.save({"a": np.array([None])}, path)
    assert lucid.load(path)["a"].tolist() == [1]
    assert os.listdir(tmp_path) == [path.name]


def test_a_failing_disk_leaves_the_old_file(tmp_path: Path, extension: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"m.{extension}"
    lucid.save({"a": lucid.ones(1)}, path)

    def full(descriptor: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        lucid.save({"a": lucid.zeros(1)}, path)
    assert lucid.load(path)["a"].tolist() == [1]
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions and links")
def test_permissions_and_links(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    path, link = tmp_path / "m.safetensors", tmp_path / "link.safetensors"
    lucid.save(lucid.ones(1), path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o640)
    link.symlink_to(path)
    lucid.save(lucid.zeros(1), link)
    assert link.is_symlink() and lucid.load(path).tolist() == [0]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_formats_and_files(tmp_path: Path) -> None:
    for name, start in (("a.npz", b"PK"), ("a.safetensors", b"{"), ("a.ckpt", b"{"), ("a.pt", b"PK")):
        lucid.save({"a": lucid.ones(1)}, str(tmp_path / name))
        content = (tmp_path / name).read_bytes()
        assert (content if start == b"PK" else content[8:]).startswith(start)
        with open(tmp_path / name, "rb") as file:
            assert lucid.load(file)["a"].tolist() == [1]
    with pytest.raises(ValueError, match="format must be"):
        lucid.save({}, tmp_path / "x", format="pickle")
    with pytest.raises(TypeError, match="expected a path or a binary file"):
        lucid.save({}, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a path or a binary file"):
        lucid.load(3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="device type"):
        lucid.load(tmp_path / "a.npz", map_location="tpu")


def test_a_header_length_that_looks_like_a_pickle() -> None:
    """A safetensors file begins with a length, whose first byte may be that of a pickle."""
    starts = set()
    for length in range(0, 256, 8):
        file = io.BytesIO()
        lucid.save({"x" * length: lucid.ones(1)}, file)
        starts.add(file.getvalue()[0])
        file.seek(0)
        assert lucid.load(file)["x" * length].tolist() == [1]
    assert 0x80 in starts


def test_tensors_are_aligned() -> None:
    """Each tensor lies at a multiple of its element size, for readers that map the file into memory."""
    file = io.BytesIO()
    lucid.save({"a": lucid.ones(3, dtype=lucid.bool), "b": lucid.ones(2, dtype=lucid.float64),
                "c": lucid.ones(1, dtype=lucid.complex128), "d": lucid.ones(3, dtype=lucid.float16)}, file)
    content = file.getvalue()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + size])
    assert size % 8 == 0
    for name, itemsize in (("a", 1), ("b", 8), ("c", 8), ("d", 2)):
        assert header[name]["data_offsets"][0] % itemsize == 0


@pytest.mark.parametrize("extension", ["safetensors", "npz"])
def test_meta_tensors_keep_shape_dtype_and_layout(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"file.{extension}"
    with lucid.device("meta"):
        saved = {"a": lucid.zeros(2, 3, dtype=lucid.bfloat16).t(), "b": lucid.nn.Linear(2, 3).weight, "c": lucid.tensor(1)}
    lucid.save(saved | {"real": lucid.ones(1)}, path)
    loaded = lucid.load(path)
    for name, tensor in saved.items():
        assert loaded[name].is_meta
        assert (loaded[name].shape, loaded[name].dtype, loaded[name].stride()) == (tensor.shape, tensor.dtype, tensor.stride())
    assert loaded["real"].tolist() == [1.0]


@pytest.mark.parametrize("change", [{"nbytes": -1}, {"nbytes": 8}, {"nbytes": 10 ** 18}, {"nbytes": "x"}, {"parts": {"c": [0, [4]]}},
                                    {"parts": {"a": [-4, [4]]}}, {"parts": {"a": [1, [4]]}}, {"parts": {"a": [0, [4, 4]]}},
                                    {"parts": {"a": [0, [400]]}}, {"parts": {"a": [0.0, [4]]}}, {"parts": 3}])
def test_ties_of_a_damaged_file(change: dict[str, object], tmp_path: Path) -> None:
    from lucid.serialization import safetensors as _safetensors
    from lucid.serialization.structure import pack

    tensor = lucid.arange(4, dtype=lucid.float32)
    document, tensors = pack({"a": tensor, "b": tensor[1:]})
    ties = [{"nbytes": 64, "parts": {"a": [0, [4]], "b": [4, [4]]}} | change]
    with open(tmp_path / "file", "wb") as file:
        _safetensors.write(file, json.dumps(document | {"ties": ties}), tensors)
    with pytest.raises(lucid.serialization.LoadError, match="damaged|does not lie in the memory"):
        lucid.load(tmp_path / "file")
