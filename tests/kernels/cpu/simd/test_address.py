"""The address of an array's elements."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu.arrays import tensor_list
from lucid_kernels.cpu.arrays.tensor_list import table_if_fit
from lucid_kernels.cpu.simd.address import READABLE, address_of


@pytest.mark.parametrize("array", [
    np.zeros((3, 4), np.float32), np.zeros((3, 4), np.float32)[1:], np.zeros((3, 4), np.float32)[:0], np.zeros(()),
    np.broadcast_to(np.zeros(3), (2, 3)), np.frombuffer(bytes(64), np.float64)])
def test_address_of_elements(array):
    """Of views, empty and read-only arrays too."""
    assert address_of(array) == array.ctypes.data


@pytest.fixture(params=[False, READABLE] if READABLE else [False], ids=lambda readable: "read" if readable else "asked")
def way(request, monkeypatch):
    monkeypatch.setattr(tensor_list, "READABLE", request.param)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_table_of_arrays(way, dtype):
    shapes = [(3, 4), (), (0, 5), (2, 3, 1, 2)]
    arrays = [np.zeros((2, *shape), dtype)[1] if shape else np.zeros((), dtype) for shape in shapes for _ in range(2)]
    table = table_if_fit(arrays, 2)
    assert table.addresses.tolist() == [[one.ctypes.data, two.ctypes.data] for one, two in zip(arrays[::2], arrays[1::2], strict=True)]
    assert table.offsets.tolist() == [0, 12, 13, 13, 25] and table.total == 25 and table.dtype == dtype


@pytest.mark.parametrize("odd", [
    np.zeros((4, 3), np.float32).T, np.zeros((6, 4), np.float32)[::2], np.zeros((3, 4), np.float64), np.zeros((3, 4), ">f4"),
    np.zeros((3, 4), np.int32), np.zeros((3, 5), np.float32), np.zeros((), np.float32)],
    ids=["turned", "strided", "float64", "swapped", "int32", "size", "scalar"])
@pytest.mark.parametrize("place", [1, 3])
def test_arrays_that_do_not_fit(way, odd, place):
    arrays = [np.zeros((3, 4), np.float32) for _ in range(4)]
    arrays[place] = odd
    assert table_if_fit(arrays, 2) is None
    assert table_if_fit([np.zeros((3, 4), np.float16)] * 2, 2) is None
