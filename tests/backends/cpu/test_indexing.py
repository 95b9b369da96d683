"""Many indices on the CPU: our kernels against NumPy's ways, which serve the few."""
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lucid.backends.common import indexing
from lucid.backends.cpu.backend import TABLE

add_at: Any = np.add.at  # its annotation knows no slices
PLAIN: dict[str, Any] = indexing.table(np, add_at, np.ufunc.at) | {"getitem": lambda x, index: x[index].copy()}
DTYPES = ["f4", "f8", "f2", ml_dtypes.bfloat16, "i8", "i4", "i2", "u1", "?", "c8", "c16"]
CASES: list[Any] = [((80, 90), (80, 100), 1), ((80, 90), (70, 85), 0), ((6, 50, 40), (5, 70, 30), 1), ((6, 50, 40), (6, 30, 60), 2)]


def arguments(case: Any, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    shape, lengths, axis = case
    rng = np.random.default_rng(0)
    x, source = (rng.integers(0, 5, size).astype(dtype) for size in (shape, lengths))
    return x, rng.integers(0, shape[axis], lengths), source


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_numpy(case: Any, dtype: Any) -> None:
    x, indices, source = arguments(case, dtype)
    axis = case[2]
    calls: dict[str, Any] = {
        "gather": lambda table: table["gather"](x, indices, axis=axis),
        "of a view": lambda table: table["gather"](np.flip(x, axis), indices, axis=axis),
        "by a view": lambda table: table["gather"](x, np.flip(indices, 0), axis=axis),
        "write": lambda table: table["scatter"](x, indices, source, axis=axis),
        "number": lambda table: table["scatter"](x, indices, 1, axis=axis),
        "out": lambda table: table["scatter"](x, indices, source, axis=axis, out=x.copy()),
        "strided out": lambda table: table["scatter"](x, indices, source, axis=axis, out=x.copy().T.copy().T),
        "add": lambda table: table["scatter"](x, indices, source, axis=axis, accumulate=True),
        "gather_grad": lambda table: table["gather_grad"](source, indices, shape=x.shape, axis=axis),
    }
    if np.dtype(dtype).kind != "c":
        for reduce in ("amax", "amin"):
            calls[reduce] = lambda table, reduce=reduce: table["scatter_reduce"](x, indices, source, axis=axis, reduce=reduce)
    before = x.copy()
    for name, call in calls.items():
        found, wanted = call(TABLE), call(PLAIN)
        assert found.dtype == wanted.dtype, name
        np.testing.assert_array_equal(found, wanted, name)
    np.testing.assert_array_equal(x, before)


def test_int32_indices() -> None:
    x, indices, source = arguments(CASES[0], "f4")
    for name, rest in (("gather", ()), ("scatter", (source,))):
        np.testing.assert_array_equal(TABLE[name](x, indices.astype("i4"), *rest, axis=1), PLAIN[name](x, indices, *rest, axis=1))


def test_arrays_that_share_memory() -> None:
    """What is written is read before, and indices stay what they were."""
    x, rng = np.arange(6000), np.random.default_rng(0)
    indices = rng.permutation(6000)
    wanted = x.copy()
    wanted[indices] = wanted[::-1].copy()
    np.testing.assert_array_equal(TABLE["scatter"](x, indices, x[::-1], axis=0, out=x), wanted)
    wanted = indices.copy()
    wanted[indices.copy()] = 5
    np.testing.assert_array_equal(TABLE["scatter"](indices, indices, 5, axis=0, out=indices), wanted)


def test_the_gradient_of_a_sum_is_one_number() -> None:
    x = np.broadcast_to(np.float32(3), (80, 90))
    found = TABLE["gather"](x, arguments(CASES[0], "f4")[1], axis=1)
    np.testing.assert_array_equal(found, np.full((80, 100), 3, "f4"))
    assert found.flags.writeable


INDEX: dict[str, Any] = {
    "rows": (np.arange(-40, 40),), "matrix of rows": (np.arange(80).reshape(2, 40) - 40,),
    "pairs": (np.arange(-30, 30), np.arange(60) - 55), "crossed": (np.arange(20)[:, None], np.arange(-9, 9)),
    "columns": (slice(None), np.arange(-50, 50)), "later pairs": (slice(None), np.arange(60), np.arange(60) - 60),
    "apart": (np.arange(40), slice(None), np.arange(40)), "int32": (np.arange(60, dtype=np.int32), np.arange(60, dtype=np.int8)),
    "mask": (np.arange(90) % 3 > 0,), "part": (slice(2, 60), np.arange(60)),
}


@pytest.mark.parametrize("dtype", ["f4", "f2", "i8"])
@pytest.mark.parametrize("name", INDEX)
def test_slices_added_at_an_index(name: str, dtype: str) -> None:
    index, rng = INDEX[name], np.random.default_rng(0)
    x = rng.integers(-9, 9, (90, 70, 80)).astype(dtype)
    values = rng.integers(-9, 9, x[index].shape).astype(dtype)
    for given in (values, np.flip(values, 0), np.broadcast_to(values[:1], values.shape), values[0]):
        wanted = x.copy()
        add_at(wanted, index, given)
        np.testing.assert_array_equal(TABLE["index_put"](x, given, index=index, accumulate=True), wanted)


@pytest.mark.parametrize("dtype", ["f4", ml_dtypes.bfloat16, "?"], ids=str)
def test_large_selections(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, (30, 20, 64)).astype(dtype)
    rows, columns = rng.integers(-30, 30, (90, 20)), rng.integers(0, 20, 900)
    calls: dict[str, Any] = {
        "rows": lambda table: table["getitem"](x, index=(rows,)),
        "columns": lambda table: table["getitem"](x, index=(slice(None), columns)),
        "both": lambda table: table["getitem"](x, index=(rows[:, 0, None], columns)),
        "part": lambda table: table["getitem"](x, index=(slice(3, None), columns)),
        "of a view": lambda table: table["getitem"](x.transpose(1, 0, 2), index=(columns,)),
        "index_select": lambda table: table["index_select"](x, columns, axis=1),
        "embedding": lambda table: table["embedding"](x.reshape(600, 64), rows + 30, padding_idx=None),
        "int32": lambda table: table["embedding"](x.reshape(600, 64), rows.astype("i4"), padding_idx=None),
    }
    for name, call in calls.items():
        found, wanted = call(TABLE), call(PLAIN)
        np.testing.assert_array_equal(found, wanted, name)
        assert found.dtype == wanted.dtype and found.flags.writeable and not np.may_share_memory(found, x)
    for index in (np.full(5000, 30), np.full(5000, -31)):
        with pytest.raises(IndexError):
            TABLE["getitem"](x, index=(index,))


def test_errors_are_those_of_numpy() -> None:
    x = np.zeros((90, 70), "f4")
    with pytest.raises(IndexError):
        TABLE["index_put"](x, np.ones((100, 70), "f4"), index=(np.full(100, 90),), accumulate=True)
    with pytest.raises(ValueError, match="broadcast|shape"):
        TABLE["index_put"](x, np.ones((99, 70), "f4"), index=(np.zeros(100, int),), accumulate=True)


@pytest.mark.parametrize("axis", [1, 2])
def test_indices_behind_whole_dimensions(axis: int) -> None:
    x = np.arange(5 * 60 * 70, dtype=np.float32).reshape(5, 60, 70)
    index = (*(slice(None),) * axis, np.array([[3, -1], [0, 4]]))
    for array in (x, x[::2], x.transpose(2, 1, 0)):
        found = TABLE["getitem"](array, index=index)
        np.testing.assert_array_equal(found, array[index])
    with pytest.raises(IndexError):
        TABLE["getitem"](x, index=(slice(None), np.array([60])))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", ml_dtypes.bfloat16, "i8", "u1", "?", "c8", "c16"], ids=str)
def test_elements_of_the_last_dimensions_written_by_index(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, (6, 40, 50)).astype(dtype)
    full, last, row = slice(None), rng.integers(-50, 50, 60), rng.integers(0, 40, 60)
    cases = [((full, full, last), (6, 40, 60)), ((full, full, last), (60,)), ((full, full, last), (40, 1)), ((full, full, last), ()),
             ((full, row, last), (6, 60)), ((full, row[:, None], last), (6, 60, 60)), ((full, full, last), (1, 1, 6, 40, 60)),
             ((row % 6, row, last), (60,)), ((full, full, last[:1].reshape(())), (6, 40)), ((row % 6, full, last), (60, 40))]
    for index, shape in cases:
        values = rng.integers(5, 9, shape).astype(dtype)
        for target in (x, x.copy().transpose(0, 2, 1).copy().transpose(0, 2, 1), x.repeat(2, 1)[:, ::2]):
            wanted = x.copy()
            wanted[index] = values
            np.testing.assert_array_equal(TABLE["index_put"](target, values, index=index), wanted, f"{shape}")
            written = target.copy(order="K")
            TABLE["index_put"](written, values, index=index, out=written)
            np.testing.assert_array_equal(written, wanted, f"{shape}")


def test_what_is_written_by_index_may_be_read_there() -> None:
    x = np.random.default_rng(0).random((100, 60)).astype(np.float32)
    wanted, index = x.copy(), (slice(None), np.arange(60)[::-1].copy())
    wanted[index] = x.copy()
    TABLE["index_put"](x, x, index=index, out=x)
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize("index", [np.full(60, 60), np.full(60, -61)])
def test_nothing_is_written_by_an_index_out_of_range(index: np.ndarray) -> None:
    x = np.zeros((100, 60), np.float32)
    with pytest.raises(IndexError):
        TABLE["index_put"](x, 1.0, index=(slice(None), index), out=x)
    with pytest.raises(ValueError, match="shape mismatch|could not be broadcast"):
        TABLE["index_put"](x, np.ones(7, np.float32), index=(slice(None), index % 60), out=x)
    assert not x.any()
