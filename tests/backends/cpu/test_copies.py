"""Copies of large arrays and new ones on the CPU: those of small ones, laid out alike, in memory of their own."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.runtime.allocator import POOL, SMALLEST
from lucid_kernels.cpu.simd.address import address_of
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES

import lucid
from lucid.backends.common import manipulation
from lucid.backends.cpu import copies
from lucid.backends.cpu.backend import TABLE

PLAIN: dict[str, Any] = {
    "copy": manipulation.copy, "flip": manipulation.flip, "reshape": manipulation.reshape, "contiguous": np.ascontiguousarray,
    "roll": np.roll, "full": np.full, "concatenate": lambda *arrays, axis: np.concatenate(arrays, axis),
    "stack": lambda *arrays, axis: np.stack(arrays, axis)}
X = np.arange(72 * 80 * 90, dtype=np.float32).reshape(72, 80, 90)
CALLS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "copy": lambda table: table["copy"](X.T),
    "copy, axes": lambda table: table["copy"](X, axes=(1, 2, 0)),
    "copy, out": lambda table: table["copy"](X.T, out=np.empty(X.shape[::-1], X.dtype)),
    **{f"flip {axes}": lambda table, axes=axes: table["flip"](X, axis=axes) for axes in ((), (0,), (2,), (0, 2), (0, 1, 2))},
    "flip of a view": lambda table: table["flip"](X.transpose(2, 0, 1), axis=(1,)),
    "flip of columns": lambda table: table["flip"](np.broadcast_to(X[:, :1], X.shape), axis=(0, 1)),
    "flip of complex numbers": lambda table: table["flip"](X.astype("c16"), axis=(2,)),
    "flip of bytes": lambda table: table["flip"](X.astype("i1"), axis=(2,)),
    **{f"roll {shift} {axis}": lambda table, shift=shift, axis=axis: table["roll"](X, shift=shift, axis=axis)
       for shift, axis in (((3,), (0,)), ((-7, 200), (2, 1)), ((0,), (1,)), ((5, 4), (1, 1)), ((1, 2, 3), (0, 1, 2)), ((), ()))},
    "roll of a view": lambda table: table["roll"](X.transpose(2, 0, 1), shift=(4,), axis=(1,)),
    "contiguous": lambda table: table["contiguous"](X[:, ::-1]),
    "reshape": lambda table: table["reshape"](X.transpose(1, 0, 2), shape=(-1, 90)),
    "concatenate": lambda table: table["concatenate"](X, X[::-1, :7], X, axis=1),
    "concatenate, first": lambda table: table["concatenate"](X[:3], X, axis=0),
    "concatenate, dtypes": lambda table: table["concatenate"](X, X.astype(np.float64), axis=2),
    "concatenate, transposed": lambda table: table["concatenate"](X.T, X.T, axis=2),
    "concatenate, many": lambda table: table["concatenate"](*[X[:, :n] for n in range(1, 30)], axis=1),
    "concatenate, many contiguous": lambda table: table["concatenate"](*[X[n] for n in range(40)], X[0, :7], axis=0),
    "concatenate, many in rows": lambda table: table["concatenate"](*[X[:40, n : n + 9].copy() for n in range(9)], X[:40], axis=1),
    "stack, many": lambda table: table["stack"](*[X[n] for n in range(40)], axis=1),
    "stack": lambda table: table["stack"](X, X[::-1], X, axis=2),
    "stack, last": lambda table: table["stack"](X, X, axis=3),
}


@pytest.mark.parametrize("name", CALLS)
def test_like_numpy(name: str) -> None:
    found, wanted = CALLS[name](TABLE), CALLS[name](PLAIN)
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == wanted.dtype and found.strides == wanted.strides
    assert not np.shares_memory(found, X)


@pytest.mark.parametrize("dtype", [np.float32, np.bool_, np.complex128, ml_dtypes.bfloat16])
@pytest.mark.parametrize("value", [0, 1, -0.0])
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (1 << 20,), (700, 3, 1000)])
def test_full(shape: tuple[int, ...], value: float, dtype: Any) -> None:
    found, wanted = (table["full"](shape=shape, fill_value=value, dtype=np.dtype(dtype)) for table in (TABLE, PLAIN))
    assert found.dtype == wanted.dtype and found.shape == wanted.shape and found.tobytes() == wanted.tobytes()


def test_what_is_read_only_is_not_filled() -> None:
    x = np.zeros((600, 500), np.float32)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        TABLE["fill"](x, value=1, out=x)
    assert not x.any()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_assembled_parts_that_overlap(dtype: str) -> None:
    shape = (500, 400)
    parts = [np.random.default_rng(n).integers(-9, 9, size).astype(dtype) for n, size in enumerate([(500, 399), (500, 399)])]
    parts.append(np.broadcast_to(np.array(3, dtype), (499, 400)))
    indices = [(slice(None), slice(1, None)), (slice(None), slice(None, -1)), (slice(1, None),)]
    for axes in (None, (1, 0)):
        found = TABLE["assemble"](*parts, shape=shape, indices=indices, axes=axes)
        wanted = np.zeros(shape, dtype)
        for part, index in zip(parts, indices, strict=True):
            wanted[index] += part
        np.testing.assert_array_equal(found, wanted)
    found = TABLE["add_at"](found, parts[0], index=indices[0])
    wanted[indices[0]] += parts[0]
    np.testing.assert_array_equal(found, wanted)


def test_new_arrays_begin_with_a_whole_vector() -> None:
    """Those of the pool: malloc's, which are smaller, lie anywhere."""
    count, before = SMALLEST // 4 + 1, POOL.count().allocated
    x = lucid.tensor(np.zeros(count, np.float32))
    if POOL.count().allocated == before:
        pytest.skip("no pool on this system")
    for tensor in (x, x.clone(), x.to("cpu", copy=True), lucid.empty(count), lucid.zeros(count), lucid.ones_like(x)):
        assert address_of(tensor._array) % VECTOR_BYTES == 0


@pytest.mark.parametrize("axis", [(2,), (1, 2), (0, 1, 2), (0, 2), (0, 1)])
def test_large_flips(axis: tuple[int, ...]) -> None:
    x = np.arange(3 * 40 * 700, dtype=np.float32).reshape(3, 40, 700)
    np.testing.assert_array_equal(TABLE["flip"](x, axis=axis), np.flip(x, axis))


def test_views_stay_views() -> None:
    assert np.shares_memory(TABLE["reshape"](X, shape=(-1,)), X)
    assert np.shares_memory(TABLE["reshape"](X[:, :, ::2], shape=(72 * 80, 45)), X)
    assert np.shares_memory(TABLE["contiguous"](X), X)


@pytest.mark.parametrize("shapes", [((200, 3000), (200, 3001)), ((200, 3000), (200, 3000, 1))])
def test_arrays_that_do_not_fit_raise(shapes: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ValueError, match="must match|must have same"):
        TABLE["concatenate"](*map(np.zeros, shapes), axis=0)


def test_small_copies_do_not_import_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_row_major", None)
    np.testing.assert_array_equal(TABLE["copy"](X[:4].T), X[:4].T)
    np.testing.assert_array_equal(TABLE["reshape"](X[:4].T, shape=(-1,)), X[:4].T.ravel())
