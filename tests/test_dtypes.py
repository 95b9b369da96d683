"""dtypes as objects: PyTorch's attributes on NumPy's dtypes, pickles, copies and equality."""
from __future__ import annotations

import pickle

import numpy as np
import pytest
from lucid_kernels.cpu.runtime import patches

import lucid

#: With LUCID_PATCHES=0 NumPy's dtypes have NumPy's attributes only.
pytestmark = pytest.mark.skipif(not patches.ENABLED, reason="LUCID_PATCHES=0")

NAMES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


STORED = ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]


@pytest.mark.parametrize("name", [*NAMES, *STORED])
def test_attributes_are_those_of_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = getattr(lucid, name), getattr(torch, name)
    for what in ("is_floating_point", "is_complex", "is_signed", "itemsize"):
        assert getattr(ours, what) == getattr(theirs, what), what
    assert str(theirs.to_real()) == f"torch.{ours.to_real().name}"
    try:
        expected = str(theirs.to_complex()).removeprefix("torch.")
    except RuntimeError:
        with pytest.raises(RuntimeError, match="no complex dtype"):
            ours.to_complex()
    else:
        assert ours.to_complex().name == ("complex64" if expected == "complex32" else expected)


def test_attributes_of_the_dtype_of_a_tensor() -> None:
    x = lucid.ones(2, dtype=lucid.bfloat16)
    assert isinstance(x.dtype, lucid.dtype) and x.dtype.is_floating_point and x.dtype.is_signed and x.dtype.itemsize == 2
    assert not lucid.zeros(1, dtype=lucid.int64).dtype.is_floating_point
    assert lucid.float32.to_complex() is lucid.complex64 and lucid.complex128.to_real() is lucid.float64
    assert lucid.bool_ is lucid.bool
    with pytest.raises(AttributeError):
        lucid.float32.is_floating_point = False  # type: ignore[misc]


def test_they_are_numpys_objects() -> None:
    assert lucid.float32 is np.dtype("float32") and lucid.dtype is np.dtype
    assert np.zeros(3, lucid.float32).dtype is lucid.float32
    assert lucid.ones(1).dtype == np.float32 == lucid.float32 and {lucid.float32: 1}[np.dtype("f4")] == 1
    assert {np.dtype(np.int8): 2}[lucid.int8] == 2
    assert not np.dtype("U3").is_floating_point and not np.dtype([("a", "f4")]).is_signed


def test_pickles_and_those_written_before() -> None:
    for name in NAMES:
        dtype = getattr(lucid, name)
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(dtype, protocol)) == dtype
    old = b"\x80\x02cnumpy\ndtype\nX\x02\x00\x00\x00f4\x89\x88\x87R(K\x03X\x01\x00\x00\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb."
    assert pickle.loads(old) == lucid.float32


@pytest.mark.parametrize("name", STORED)
def test_limits_of_dtypes_for_storage(name: str) -> None:
    dtype = getattr(lucid, name)
    info = (lucid.finfo if dtype.is_floating_point else lucid.iinfo)(dtype)
    assert info.bits == 8 * dtype.itemsize and info.dtype == name
    with pytest.raises(TypeError):
        (lucid.iinfo if dtype.is_floating_point else lucid.finfo)(dtype)
    torch = pytest.importorskip("torch")
    theirs = (torch.finfo if dtype.is_floating_point else torch.iinfo)(getattr(torch, name))
    names = ("bits", "max", "min", "dtype", *(("eps", "tiny", "smallest_normal", "resolution") if dtype.is_floating_point else ()))
    expected = {what: getattr(theirs, what) for what in names}
    if name == "float8_e5m2fnuz":
        expected["eps"] = 0.25  # the distance from 1 to 1.25; PyTorch says 0.125
    assert {what: getattr(info, what) for what in names} == expected
