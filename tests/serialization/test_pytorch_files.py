"""PyTorch's own files, read and written without PyTorch. Those under `files` were written by PyTorch 2.13."""
from __future__ import annotations

import io
import os
import pathlib
import pickle
import random
import zipfile
from collections import Counter, OrderedDict
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import nn
from lucid.serialization import LoadError

FILES = pathlib.Path(__file__).parent / "files"


@pytest.mark.parametrize(("name", "mmap"), [("checkpoint.pt", False), ("checkpoint.pt", True), ("legacy.pt", False)])
def test_a_checkpoint_of_pytorch(name: str, mmap: bool) -> None:
    found = lucid.load(FILES / name, mmap=mmap)
    assert list(found) == ["model", "epoch", "base", "part", "half", "parameter", "size", "dtype", "device", "rest"]
    assert type(found["model"]) is OrderedDict and found["model"]._metadata["1"] == {"version": 2}
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    model.load_state_dict(found["model"])
    assert model[0].weight[0, 0].item() == pytest.approx(-0.0043225, abs=1e-6)
    assert found["part"].tolist() == [[4, 6], [8, 10]] and found["part"].stride() == (4, 2)
    found["base"][1, 0] = 77
    assert found["part"][0, 0].item() == 77  # one memory, as in PyTorch
    assert found["half"].dtype == lucid.bfloat16 and found["half"].tolist() == [1.5, -2]
    assert isinstance(found["parameter"], nn.Parameter) and found["parameter"].requires_grad
    assert found["size"] == lucid.Size([2, 3]) and found["dtype"] == lucid.int16 and found["device"] == "cpu"
    assert found["rest"] == [(1, "ü", None, True), {1, 2}, 2**70, 0.1]


def test_map_location(device: str) -> None:
    found = lucid.load(FILES / "checkpoint.pt", map_location=device)
    assert found["base"].device == device and found["part"].tolist() == [[4, 6], [8, 10]]
    found["base"][1, 0] = 77
    assert found["part"][0, 0].item() == 77
    assert lucid.load(FILES / "legacy.pt", map_location="meta")["base"].is_meta


def _everything(device: str) -> dict[str, Any]:
    base = lucid.arange(12.0, device=device).reshape(3, 4)
    return {
        "state": nn.Linear(2, 2, device=device).state_dict(), "base": base, "rows": base[1:], "columns": base.t()[1],
        "empty": lucid.empty(0, 3), "scalar": lucid.tensor(5), "parameter": nn.Parameter(lucid.ones(2), requires_grad=False),
        "leaf": lucid.ones(2, requires_grad=True), "size": lucid.Size([1, 2]), "dtype": lucid.bfloat16, "device": lucid.device("cpu"),
        "list": [1, -2**40, 2**70, 0.5, None, True, "text ü", b"\x00\xff", 1 + 2j], "tuple": ((), (1,)), "set": {1, 2},
        "counter": Counter("aab"), "numpy": np.float64(0.25),
        **{dtype.name: lucid.ones(2, 2).to(dtype) for dtype in (lucid.float16, lucid.bfloat16, lucid.complex64, lucid.bool)},
    }


@pytest.mark.parametrize("suffix", ["pt", "pth", "bin"])
def test_what_is_written_is_read(device: str, suffix: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / f"file.{suffix}"
    given = _everything(device)
    lucid.save(given, path)
    found = lucid.load(path)
    assert list(found) == list(given)
    for name, value in given.items():
        if isinstance(value, lucid.Tensor):
            assert found[name].tolist() == value.tolist() and found[name].dtype == value.dtype, name
            assert type(found[name]) is type(value) and found[name].requires_grad == value.requires_grad, name
        elif name != "state":
            assert found[name] == value, name
    assert found["state"]._metadata == given["state"]._metadata
    found["base"][1, 0] = 77
    assert found["rows"][0, 0].item() == 77
    memory = io.BytesIO()
    lucid.save(given["base"], memory, format="pytorch")
    memory.seek(0)
    assert lucid.load(memory).tolist() == given["base"].tolist()


def test_bytes_of_storages_are_aligned(tmp_path: pathlib.Path) -> None:
    lucid.save({"a": lucid.ones(3), "b": lucid.ones(5)}, tmp_path / "file.pt")
    content = (tmp_path / "file.pt").read_bytes()
    for array in (np.ones(3, np.float32), np.ones(5, np.float32)):
        assert content.rindex(array.tobytes()) % 4 == 0
    with zipfile.ZipFile(tmp_path / "file.pt") as archive:
        assert archive.testzip() is None and {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


def test_what_pytorch_would_not_read_is_refused_before_anything_is_written(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file.pt"
    around: list[Any] = []
    around.append(around)
    for value, error, text in ((nn.Linear(1, 1), TypeError, "is a Linear"), ({"a": [lucid.ones(1), np.ones(2)]}, TypeError, "the object"),
                               ({"f": print}, TypeError, r"object\['f'\] is a builtin"), (around, ValueError, "contains itself"),
                               (lucid.empty(2, device="meta"), TypeError, "meta")):
        with pytest.raises(error, match=text):
            lucid.save(value, path)
        assert not path.exists()


class _Harm:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("harm",)


def _zipped(program: bytes) -> io.BytesIO:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        archive.writestr("archive/data.pkl", program)
        archive.writestr("archive/data/0", b"\0" * 16)
    memory.seek(0)
    return memory


def _tensor_of(offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> bytes:
    """A program for a tensor over the 16 bytes of storage 0."""
    numbers = b"".join(b"(" + b"".join(b"J" + int(n).to_bytes(4, "little", signed=True) for n in t) + b"t" for t in (size, stride))
    return (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x04tQJ"
            + offset.to_bytes(4, "little", signed=True) + numbers + b"\x89ccollections\nOrderedDict\n)RtR.")


def test_a_tensor_made_by_hand() -> None:
    assert lucid.load(_zipped(_tensor_of(1, (3,), (1,)))).tolist() == [0, 0, 0]


@pytest.mark.parametrize(("program", "text"), [
    (pickle.dumps(_Harm()), "names posix.mkdir"),
    (b"cos\nsystem\n(S'true'\ntR.", "names os.system"),
    (b"cbuiltins\ngetattr\n.", "names builtins.getattr"),
    (b"cbuiltins\neval\n(S'1'\ntR.", "names builtins.eval"),
    (b"ctorch\nload\n.", "names torch.load"),
    (b"ctorch.nn.modules.linear\nLinear\n.", "names torch.nn.modules.linear.Linear"),
    (b"ctorch._utils\n_rebuild_tensor_v2\n.", "holds the function or class torch._utils._rebuild_tensor_v2 itself"),
    (b"ctorch\nfloat32\n)R.", "calls torch.float32"),
    (b"ccollections\nOrderedDict\n)R}X\x05\0\0\0itemsK\x01sb.", "gives a OrderedDict a state"),
    (b"ccollections\nOrderedDict\n}X\x01\0\0\0aK\x01sb.", "state|Known"),
    (b"](K\x01e}X\x01\0\0\0aK\x01sb.", "gives a list a state"),
    (b"}K\x01a.", "for a list"),
    (b"\x82\x01.", "uses EXT1"),
    (b"K\x01", "has no end|damaged"),
    (b"h\x05.", "damaged"),
    (b"\x80\x09.", "protocol"),
    (b"X\x01\0\0\x00xQ.", "damaged|outside"),
    (_tensor_of(0, (5,), (1,)), "does not lie in its storage"),
    (_tensor_of(2, (2, 2), (2, 1)), "does not lie in its storage"),
    (_tensor_of(-1, (2,), (1,)), "impossible"),
    (_tensor_of(0, (2,), (-1,)), "impossible"),
    (_tensor_of(0, (2, 2), (1,)), "impossible"),
    (_tensor_of(0, (1 << 30, 1 << 30), (1 << 30, 1)), "does not lie in its storage"),
])
def test_nothing_else_is_read_or_run(program: bytes, text: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for weights_only in (True, False, None):
        with pytest.raises(LoadError, match=text):
            lucid.load(_zipped(program), weights_only=weights_only)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["checkpoint.pt", "legacy.pt"])
def test_damaged_files_raise_a_load_error(name: str) -> None:
    whole = (FILES / name).read_bytes()
    numbers = random.Random(0)
    for _ in range(150):
        content = bytearray(whole)
        if numbers.random() < 0.3:
            del content[numbers.randrange(len(content)):]
        else:
            for _ in range(numbers.randrange(1, 4)):
                content[numbers.randrange(len(content))] = numbers.randrange(256)
        try:
            lucid.load(io.BytesIO(bytes(content)))
        except LoadError:
            pass


@pytest.mark.torch
@pytest.mark.parametrize("legacy", [False, True])
def test_files_go_both_ways(legacy: bool, tmp_path: pathlib.Path) -> None:
    torch: Any = pytest.importorskip("torch")
    path = tmp_path / "file.pt"
    given = _everything("cpu")
    lucid.save(given, path)
    theirs = torch.load(path, weights_only=True)
    assert list(theirs) == list(given)
    torch.save(theirs, path, _use_new_zipfile_serialization=not legacy)
    found = lucid.load(path)
    for name, value in given.items():
        if isinstance(value, lucid.Tensor):
            assert tuple(theirs[name].shape) == tuple(value.shape) and theirs[name].requires_grad == value.requires_grad
            assert not value.numel() or theirs[name].stride() == tuple(value.stride())
            assert found[name].tolist() == theirs[name].tolist() == value.tolist() and found[name].dtype == value.dtype
            assert type(theirs[name]).__name__ == type(value).__name__
    theirs["base"][1, 0] = 77
    assert theirs["rows"][0, 0].item() == 77
    model, copy = torch.nn.Linear(2, 2), nn.Linear(2, 2)
    model.load_state_dict(theirs["state"])
    copy.load_state_dict(found["state"])
    assert model.weight.tolist() == copy.weight.tolist()


@pytest.mark.torch
def test_optimizers_and_modules_of_pytorch(tmp_path: pathlib.Path) -> None:
    torch: Any = pytest.importorskip("torch")
    model = torch.nn.LSTM(3, 4, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 1, 3))[0].sum().backward()
    optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "file.pt")
    found = lucid.load(tmp_path / "file.pt")
    ours = nn.LSTM(3, 4, 2)
    ours.load_state_dict(found["model"])
    adam = lucid.optim.AdamW(ours.parameters())
    adam.load_state_dict(found["optimizer"])
    for theirs, own in ((model, optimizer), (ours, adam)):
        own.zero_grad()
        (theirs(torch.ones(2, 1, 3) if theirs is model else lucid.ones(2, 1, 3))[0]).sum().backward()
        own.step()
    for a, b in zip(model.parameters(), ours.parameters(), strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-5, atol=1e-6)
    torch.save(model, tmp_path / "whole.pt")
    with pytest.raises(LoadError, match=r"names torch\.nn\.modules\.rnn\.LSTM"):
        lucid.load(tmp_path / "whole.pt")
