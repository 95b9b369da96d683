"""`lucid.load`: where tensors go, and how they get there."""
from __future__ import annotations

import io
import pathlib
import tracemalloc
from typing import Any

import numpy as np
import pytest

import lucid
from lucid.serialization import LoadError

Path = pathlib.Path


@pytest.fixture(params=["safetensors", "npz"])
def extension(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path, extension: str, device: str) -> Path:
    """A file with tensors of `device`, of the CPU, and with some that share memory."""
    base = lucid.arange(6, dtype=lucid.float32, device=device)
    lucid.save({"x": lucid.ones(2, device=device), "cpu": lucid.ones(3), "base": base, "part": base[2:4], "array": np.arange(3)},
               tmp_path / f"m.{extension}")
    return tmp_path / f"m.{extension}"


def devices(loaded: dict[str, Any]) -> dict[str, str]:
    return {name: str(value.device) for name, value in loaded.items()}


def everywhere(device: str) -> dict[str, str]:
    return dict.fromkeys(("x", "cpu", "base", "part"), device) | {"array": "cpu"}


def test_map_location_is_a_function(path: Path, device: str) -> None:
    calls = []

    def stay(tensor: lucid.Tensor, location: str) -> lucid.Tensor:
        calls.append((tensor.device.type, lucid.device(location).type, tensor.dtype))
        return tensor

    assert devices(lucid.load(path, stay)) == everywhere("cpu")
    # Tensors that share memory move together, as bytes.
    assert sorted(calls, key=str) == sorted([("cpu", device, lucid.float32), ("cpu", "cpu", lucid.float32), ("cpu", device, lucid.uint8)], key=str)
    name = str(lucid.device(device))
    loaded = lucid.load(path, lambda tensor, location: tensor.to(device))
    assert devices(loaded) == everywhere(name)
    loaded["base"][2] = 9
    assert loaded["part"].tolist() == [9, 3]
    assert devices(lucid.load(path, lambda tensor, location: None)) == {**everywhere(name), "cpu": "cpu"}
    with pytest.raises(TypeError, match="map_location must return the tensor that it is given"):
        lucid.load(path, lambda tensor, location: tensor.double())
    with pytest.raises(ZeroDivisionError):  # not an error of the file
        lucid.load(path, lambda tensor, location: 1 / 0)


def test_map_location_is_a_dictionary(path: Path, device: str) -> None:
    name = str(lucid.device(device))
    assert devices(lucid.load(path, {device: "cpu"})) == everywhere("cpu")
    assert devices(lucid.load(path, {})) == {**everywhere(name), "cpu": "cpu"}
    assert devices(lucid.load(path, {"cpu": lucid.device(device)})) == everywhere(name)
    assert devices(lucid.load(path, {"cuda:0": "cpu"})) == everywhere("cpu")


def test_map_location_is_a_device(path: Path, device: str) -> None:
    for location in (device, lucid.device(device), "meta"):
        loaded = lucid.load(path, map_location=location)
        assert devices(loaded) == everywhere(str(lucid.device(location)))
        assert loaded["part"].shape == (2,) and loaded["array"].tolist() == [0, 1, 2]
    assert devices(lucid.load(path)) == everywhere("cpu")


@pytest.mark.parametrize("weights_only", [None, True, False])
def test_weights_only_changes_nothing(path: Path, weights_only: bool | None) -> None:
    assert lucid.load(path, weights_only=weights_only)["x"].tolist() == [1, 1]


def test_as_torch_calls_it() -> None:
    """The names of PyTorch's arguments, and where they stand."""
    torch = pytest.importorskip("torch")
    for save, load, one in ((torch.save, torch.load, torch.ones(1)), (lucid.save, lucid.load, lucid.ones(1))):
        file = io.BytesIO()
        save({"x": one}, file)
        seen = []
        for location in (lambda tensor, name, seen=seen: seen.append(name), {"cpu": "meta"}, {"cuda:7": "cpu"}, "meta", None):
            file.seek(0)
            loaded = load(file, location, weights_only=True, mmap=False)["x"]
            assert loaded.device.type == ("meta" if location in ("meta", {"cpu": "meta"}) else "cpu")
        assert seen == ["cpu"]
        file.seek(0)
        with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
            load(file, mmap=True)


# ---- memory --------------------------------------------------------------------------------------------------------
def test_mmap(tmp_path: Path) -> None:
    path = tmp_path / "m"
    base = lucid.arange(6)
    lucid.save({"w": lucid.arange(1 << 18, dtype=lucid.float32), "c": lucid.ones(3) * 1j, "base": base, "part": base[2:], "empty": lucid.ones(0),
                "b": lucid.ones(3, dtype=lucid.bool), "h": lucid.ones(3, dtype=lucid.bfloat16)}, path)
    before = path.read_bytes()
    lucid.load(path, mmap=True)  # imports and caches
    tracemalloc.start()
    try:
        loaded = lucid.load(path, mmap=True)
        assert tracemalloc.get_traced_memory()[1] < 1 << 18
    finally:
        tracemalloc.stop()
    plain = lucid.load(path)
    for name, tensor in plain.items():
        assert loaded[name].dtype == tensor.dtype and loaded[name].tolist() == tensor.tolist()
        assert type(loaded[name]._array) is np.ndarray
    loaded["w"].add_(1)
    assert loaded["w"][0].item() == 1 and path.read_bytes() == before
    loaded["base"][2] = 9
    assert loaded["part"][0].item() == 9
    lucid.save(loaded, path)  # over what is mapped
    assert lucid.load(path)["w"][0].item() == 1


def test_mmap_of_tensors_that_are_not_aligned(tmp_path: Path) -> None:
    """Other programs do not pad the header: such tensors are copied."""
    data = np.arange(3, dtype=np.float32).tobytes()
    for padding in range(4):
        header = b'{"x":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}' + b" " * padding
        (tmp_path / "x").write_bytes(len(header).to_bytes(8, "little") + header + data)
        loaded = lucid.load(tmp_path / "x", mmap=True)["x"]
        assert loaded._array.flags.aligned and loaded.tolist() == [0, 1, 2]


def test_mmap_is_refused(tmp_path: Path) -> None:
    lucid.save({"x": lucid.ones(1)}, tmp_path / "x.npz")
    with pytest.raises(ValueError, match="mmap=True needs a safetensors file"):
        lucid.load(tmp_path / "x.npz", mmap=True)
    (tmp_path / "bad").write_bytes(b"\xff" * 100)
    with pytest.raises(LoadError, match="cannot load"):
        lucid.load(tmp_path / "bad", mmap=True)


@pytest.mark.parametrize("kind", ["path", "file", "memory"])
def test_loading_needs_the_memory_of_the_tensors_only(kind: str, tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"m.{extension}"
    tensors = {str(number): lucid.ones(1 << 19, dtype=lucid.float32) for number in range(4)}
    lucid.save(tensors, path)
    nbytes = path.stat().st_size
    source: Any = path
    if kind != "path":
        source = open(path, "rb") if kind == "file" else io.BytesIO(path.read_bytes())  # noqa: SIM115
    lucid.load(path)  # imports and caches
    tracemalloc.start()
    try:
        loaded = lucid.load(source)
        assert tracemalloc.get_traced_memory()[1] < 1.4 * nbytes
    finally:
        tracemalloc.stop()
        if kind == "file":
            source.close()
    assert all(tensor.equal(tensors[name]) for name, tensor in loaded.items())


class _Reader:
    """A file that can only be read, a few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self.read = io.BytesIO(data).read


def test_files_of_other_kinds(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    (tmp_path / "later").write_bytes(b"before it" + data)
    with open(tmp_path / "later", "rb") as file:
        file.seek(9)
        for source in (file, _Reader(data), open(path, "rb", buffering=0)):  # noqa: SIM115
            assert lucid.load(source)["base"].tolist() == [0, 1, 2, 3, 4, 5]  # type: ignore[arg-type]
            getattr(source, "close", lambda: None)()
