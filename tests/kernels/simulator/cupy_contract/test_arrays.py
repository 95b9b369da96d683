"""Arrays, memory and devices."""
from __future__ import annotations

import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from .sources import HOST

MIXES: list[Callable[[ModuleType, Any], Any]] = [
    lambda cp, x: x + HOST,
    lambda cp, x: HOST + x,
    lambda cp, x: np.asarray(x),
    lambda cp, x: np.exp(x, out=HOST.copy()),
    lambda cp, x: cp.concatenate([x, HOST]),
    lambda cp, x: operator.setitem(x, slice(None), HOST),
    lambda cp, x: operator.iadd(HOST.copy(), x),
    lambda cp, x: cp.maximum(x, HOST),
    lambda cp, x: x @ HOST.T,
    lambda cp, x: cp.where(x > 0, x, HOST),
]


@pytest.mark.parametrize("mix", MIXES, ids=range(len(MIXES)))
def test_host_and_device_arrays_do_not_mix(cp: ModuleType, mix: Callable[[ModuleType, Any], Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        mix(cp, cp.asarray(HOST))


def test_results_stay_on_the_device(cp: ModuleType) -> None:
    x = cp.asarray(HOST)
    results = [x.sum(), x[0, 0], np.exp(x), cp.exp(x), x + 1, x.T, x.max(axis=1), x[1:], cp.argmax(x), -x, x > 1]
    assert all(isinstance(result, cp.ndarray) for result in results)
    assert isinstance(x.get(), np.ndarray) and isinstance(cp.asnumpy(x), np.ndarray)
    assert x.sum().shape == () and float(x.sum()) == 15


def test_views_share_memory(cp: ModuleType) -> None:
    x = cp.asarray(HOST.copy())
    x.reshape(3, 2)[0, 0] = 7
    x[1][2] = 9
    assert x.get()[0, 0] == 7 and x.get()[1, 2] == 9
    assert x.T.data.ptr == x.data.ptr and x[1].data.ptr == x.data.ptr + 12
    assert x.base is None and x[1].base is x and x.T[1].base is x
    assert not x.T.flags.c_contiguous and x.T.flags.f_contiguous


def test_promotion_is_numpys(cp: ModuleType) -> None:
    x = cp.asarray(HOST)
    assert (x * 2.0).dtype == np.float32 and (x + np.float64(1)).dtype == np.float64
    assert x.mean().dtype == np.float32 and cp.arange(3).sum().dtype == np.int64
    assert (cp.arange(3, dtype=np.int8) + 1).dtype == np.int8
    assert cp.zeros(2).dtype == np.float64 and cp.true_divide(cp.arange(2), 2).dtype == np.float64


FUNCTIONS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("sum", (HOST,), {"axis": 0, "keepdims": True}),
    ("prod", (HOST + 1,), {"axis": 1}),
    ("cumsum", (HOST,), {"axis": 1}),
    ("argmax", (HOST,), {"axis": 1}),
    ("sort", (-HOST,), {"axis": 1}),
    ("argsort", (-HOST,), {"axis": 1}),
    ("take", (HOST, np.array([2, 0])), {"axis": 1}),
    ("take_along_axis", (HOST, np.array([[2, 0], [1, 1]]), 1), {}),
    ("where", (HOST > 2, HOST, -HOST), {}),
    ("clip", (HOST, 1, 4), {}),
    ("matmul", (HOST, HOST.T), {}),
    ("einsum", ("ij,kj->ik", HOST, HOST), {}),
    ("tensordot", (HOST, HOST), {"axes": ((1,), (1,))}),
    ("broadcast_to", (HOST, (4, 2, 3)), {}),
    ("moveaxis", (HOST, 0, 1), {}),
    ("pad", (HOST, ((1, 0), (0, 2))), {}),
    ("triu", (HOST,), {}),
    ("flip", (HOST, 1), {}),
    ("power", (HOST, 2), {}),
    ("logaddexp", (HOST, 1.0), {}),
    ("isnan", (HOST,), {}),
    ("floor_divide", (HOST, 2), {}),
]


@pytest.mark.parametrize(("name", "arguments", "keywords"), FUNCTIONS, ids=[name for name, _, _ in FUNCTIONS])
def test_functions_agree_with_numpy(
    cp: ModuleType, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    on_device = [cp.asarray(argument) if isinstance(argument, np.ndarray) else argument for argument in arguments]
    result = getattr(cp, name)(*on_device, **keywords)
    expected = getattr(np, name)(*arguments, **keywords)
    assert isinstance(result, cp.ndarray) and result.dtype == expected.dtype
    np.testing.assert_allclose(result.get(), expected, rtol=1e-6)


def test_out_and_in_place_operators(cp: ModuleType) -> None:
    x, out = cp.asarray(HOST), cp.empty((2, 3), np.float32)
    assert cp.add(x, 1, out=out) is out and float(out.sum()) == 21
    before = out.data.ptr
    out += x
    out *= 2
    assert out.data.ptr == before and float(out.sum()) == 72


def test_advanced_indexing(cp: ModuleType) -> None:
    x = cp.asarray(HOST.copy())
    rows, columns = cp.asarray([1, 0]), cp.asarray([2, 1])
    assert x[rows, columns].get().tolist() == [5, 1]
    assert x[rows].get().tolist() == HOST[[1, 0]].tolist()
    assert x[x > 3].get().tolist() == [4, 5]
    x[rows, columns] = cp.asarray([50, 10], dtype=np.float32)
    x[x < 1] = -1
    assert x.get().tolist() == [[-1, 10, 2], [3, 4, 50]]
    x[rows] = x
    assert x.get().tolist() == [[3, 4, 50], [-1, 10, 2]]


def test_index_arrays_wrap_around_and_numbers_do_not(cp: ModuleType) -> None:
    x, far = cp.asarray(HOST.copy()), cp.asarray([4, -3])  # rows 0 and 1
    assert x[far].get().tolist() == HOST.tolist()
    assert x[None, ..., far].get().tolist() == HOST[None, ..., [1, 0]].tolist()
    assert x[far, cp.asarray([3, 7])].get().tolist() == [0, 4]
    assert x.take(far, axis=0).get().tolist() == cp.take(x, far, axis=0).get().tolist() == HOST.tolist()
    assert cp.take(x, cp.asarray([6, -7])).get().tolist() == [0, 5]
    assert cp.take_along_axis(x, cp.asarray([[5], [-4]]), 1).get().tolist() == [[2], [5]]
    x[cp.asarray([3])] = 7
    x[:, cp.asarray([-4])] = 8
    assert x.get().tolist() == [[0, 1, 8], [7, 7, 8]]
    cp.add.at(x, cp.asarray([2, 4]), cp.ones((2, 3), np.float32))
    assert x.get().tolist() == [[2, 3, 10], [7, 7, 8]]
    x.put(cp.asarray([6]), 5)
    assert x.get()[0].tolist() == [5, 3, 10]
    for call in (lambda: x[2], lambda: x[0, -4], lambda: operator.setitem(x, 2, 0)):
        with pytest.raises(IndexError):
            call()


def test_accumulation_at_repeated_indices(cp: ModuleType) -> None:
    x = cp.zeros(4, np.float32)
    cp.add.at(x, cp.asarray([1, 1, 3]), cp.asarray([1, 2, 4], dtype=np.float32))
    assert x.get().tolist() == [0, 3, 0, 4]
    with pytest.raises(TypeError):  # there is no atomicAdd for it
        cp.add.at(cp.zeros(4, np.int16), cp.asarray([1, 1]), 1)
    with pytest.raises(TypeError):
        cp.add.at(cp.zeros(4, np.complex64), cp.asarray([1, 1]), 1)


def test_what_differs_from_numpy(cp: ModuleType) -> None:
    x = cp.asarray([np.inf, 1.0, -1.0])
    assert cp.floor_divide(x, -np.inf).get()[1:].tolist() == [0, 0]
    assert np.isnan(cp.remainder(x, np.inf).get()).all()
    assert cp.clip(x, cp.asarray(np.nan), cp.asarray(0.5)).get().tolist() == [0.5, 0.5, -1]
    assert cp.power(-x, 0.5).get()[0] == np.inf
    half = cp.asarray([1.0, 2.0]).astype(ml_dtypes.bfloat16)
    assert cp.where(half > 1, half, half).dtype == half.clip(half, half).dtype == np.float32
    with pytest.raises(TypeError):
        half.clip(half, None)
    with pytest.raises(TypeError):
        hash(half.device)


def test_bfloat16(cp: ModuleType) -> None:
    x = cp.asarray(HOST.astype(ml_dtypes.bfloat16))
    assert x.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(x.astype(np.float32).get(), HOST)
    assert x.get().dtype == ml_dtypes.bfloat16


def test_copies_between_host_and_device(cp: ModuleType) -> None:
    x, out = cp.zeros((2, 3), np.float32), np.empty((2, 3), np.float32)
    x.set(HOST)
    assert x.get(out=out) is out
    np.testing.assert_array_equal(out, HOST)
    with pytest.raises((TypeError, ValueError)):
        x.set(HOST.astype(np.float64))
    assert x.tolist() == HOST.tolist() and x[1, 2].item() == 5


def test_dlpack_shares_memory(cp: ModuleType) -> None:
    x = cp.asarray(HOST)
    assert x.__dlpack_device__()[0] == 2
    assert cp.from_dlpack(x).data.ptr == x.data.ptr
    with pytest.raises((BufferError, RuntimeError, TypeError, ValueError)):
        np.from_dlpack(x)


def test_devices(cp: ModuleType) -> None:
    assert cp.cuda.runtime.getDeviceCount() >= 1
    with cp.cuda.Device(0):
        x = cp.ones(3)
    assert x.device == cp.cuda.Device(0) and x.device.id == 0
    assert cp.cuda.Device(0).attributes["MultiProcessorCount"] > 0
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError):
        cp.cuda.Device(1000).use()


def test_device_and_runtime_say_what_kernels_ask(cp: ModuleType) -> None:
    attributes = cp.cuda.Device().attributes
    properties = cp.cuda.runtime.getDeviceProperties(0)
    assert attributes["MaxThreadsPerBlock"] == properties["maxThreadsPerBlock"] == 1024
    assert attributes["MaxSharedMemoryPerBlockOptin"] == properties["sharedMemPerBlockOptin"]
    assert attributes["WarpSize"] == properties["warpSize"] == 32
    assert int(cp.cuda.Device().compute_capability) == properties["major"] * 10 + properties["minor"]
    assert {"MaxBlockDimX", "MaxGridDimX", "MaxRegistersPerBlock", "MaxSharedMemoryPerMultiprocessor"} <= set(attributes)


def test_pointers_copy_memory(cp: ModuleType) -> None:
    x, y, host = cp.arange(4, dtype=np.int32), cp.zeros(4, np.int32), np.zeros(2, np.int32)
    (y.data + 4).copy_from_device(x.data, 8)
    assert y.get().tolist() == [0, 0, 1, 0]
    (y.data + 8).copy_to_host(host.ctypes.data, 8)
    assert host.tolist() == [1, 0]
    host[:] = 9
    y.data.copy_from(host.ctypes.data, 8)
    y.data.memset(0, 4)
    cp.cuda.Device().synchronize()
    assert y.get().tolist() == [0, 9, 1, 0]


def test_the_books_of_a_memory_pool(cp: ModuleType) -> None:
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.zeros(1000, np.float32)
    assert pool.used_bytes() == 4096
    del x
    assert pool.used_bytes() == 0
