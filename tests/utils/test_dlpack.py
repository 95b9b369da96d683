"""DLPack in both directions: versions, devices, copies, memory that must not be written to, dtypes and errors."""
from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import lucid
from lucid.backends import dlpack

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


class Old:
    """An object with the protocol from before version 1.0."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_goes_there_and_back(dtype: str, device: str) -> None:
    x = lucid.arange(6, device=device).reshape(2, 3).to(getattr(lucid, dtype))
    y = lucid.from_dlpack(x.t())
    assert y.dtype == x.dtype and y.device == x.device and y.data_ptr() == x.data_ptr() and y.stride() == (1, 3)
    assert y.tolist() == x.t().tolist()


def test_versions_of_the_protocol(device: str) -> None:
    x = lucid.arange(3.0, device=device)
    if device == "cpu":
        assert '"dltensor"' in repr(x.__dlpack__()) and '"dltensor"' in repr(x.__dlpack__(max_version=(0, 8)))
        assert '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 1)))
    old = lucid.from_dlpack(Old(x))
    assert old.data_ptr() == x.data_ptr()
    assert lucid.from_dlpack(Old(x), copy=True).data_ptr() != x.data_ptr()
    assert lucid.from_dlpack(Old(x), copy=False).data_ptr() == x.data_ptr()


def test_capsules() -> None:
    x = lucid.arange(4.0).to(lucid.bfloat16)
    for version in (None, (1, 0)):
        capsule = x.__dlpack__(max_version=version)
        y = lucid.from_dlpack(capsule)
        assert y.data_ptr() == x.data_ptr() and y.dtype == lucid.bfloat16
        with pytest.raises(RuntimeError, match="consumed only once"):
            lucid.from_dlpack(capsule)
    for keywords in ({"device": "cpu"}, {"copy": True}):
        with pytest.raises(AssertionError, match="not supported when ext_tensor is already a DLPack capsule"):
            lucid.from_dlpack(x.__dlpack__(), **keywords)
    with pytest.raises(RuntimeError, match="invalid capsule"):
        lucid.from_dlpack(3)
    del y
    gc.collect()
    assert x.tolist() == [0, 1, 2, 3]


def test_memory_lives_as_long_as_either_side() -> None:
    x = lucid.arange(1000.0)
    y = lucid.from_dlpack(x.__dlpack__())
    del x
    gc.collect()
    assert y.sum().item() == 499500


def test_copies_and_devices(device: str) -> None:
    x = lucid.arange(3.0, device=device)
    here, other = x.__dlpack_device__(), ("gpu" if device == "cpu" else "cpu")
    assert here[0] == (1 if device == "cpu" else 2)
    assert lucid.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert lucid.from_dlpack(x, device=device, copy=False).data_ptr() == x.data_ptr()
    with pytest.raises(ValueError, match="without copying"):
        lucid.from_dlpack(x, device=other, copy=False)
    there = (2, 0) if device == "cpu" else (1, 0)
    with pytest.raises(BufferError, match="without a copy"):
        x.__dlpack__(dl_device=there, copy=False)
    with pytest.raises(BufferError, match="cannot go to"):
        x.__dlpack__(dl_device=(7, 0))
    with pytest.raises(TypeError, match="stream must be"):
        x.__dlpack__(stream="main")
    x.__dlpack__(dl_device=here)


def test_from_one_device_to_the_other(device: str) -> None:
    x = lucid.arange(3.0, device=device)
    for target in ("cpu", device):
        y = lucid.from_dlpack(x, device=target)
        assert y.device == target and y.tolist() == [0, 1, 2] and (y.data_ptr() == x.data_ptr()) == (target == device)
    array = np.from_dlpack(x, device="cpu") if dlpack._KEYWORDS else np.asarray(x.cpu())
    assert array.tolist() == [0, 1, 2]


def test_memory_that_must_not_be_written_to() -> None:
    array = np.ones(3)
    array.flags.writeable = False
    x = lucid.from_dlpack(array)
    with pytest.raises(RuntimeError, match="read-only"):
        x.add_(1)
    with pytest.raises(BufferError, match="readonly"):
        x.__dlpack__()
    assert not np.from_dlpack(x).flags.writeable
    assert lucid.from_dlpack(array, copy=True).add_(1).tolist() == [2, 2, 2] and array.tolist() == [1, 1, 1]


def test_what_has_no_memory_to_share() -> None:
    with pytest.raises(BufferError, match="require gradient"):
        lucid.ones(2, requires_grad=True).__dlpack__()
    x = lucid.ones(2, device="meta")
    for call in (x.__dlpack__, x.__dlpack_device__, lambda: lucid.from_dlpack(x)):
        with pytest.raises(BufferError, match="meta"):
            call()
    with pytest.raises(AssertionError, match="stream should be None on cpu"):
        lucid.ones(2).__dlpack__(stream=1)


@pytest.mark.torch
def test_with_pytorch() -> None:
    torch = pytest.importorskip("torch")
    for dtype in DTYPES:
        t = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
        x = lucid.from_dlpack(t)
        assert x.dtype.name == dtype and x.data_ptr() == t.data_ptr() and x.tolist() == t.tolist()
        back = torch.from_dlpack(x.t())
        assert back.dtype == t.dtype and back.data_ptr() == t.data_ptr() and back.tolist() == t.t().tolist()
        assert lucid.from_dlpack(torch.utils.dlpack.to_dlpack(t)).data_ptr() == t.data_ptr()
