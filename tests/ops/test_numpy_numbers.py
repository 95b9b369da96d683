"""Numbers and arrays of NumPy as operands and arguments: they count as Python's numbers, and no foreign dtype gets through."""
from __future__ import annotations

import enum
import math
import operator
import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid.nn import functional as F
from lucid.serialization import LoadError

REAL = [np.float16(2), np.float32(2), np.float64(2), np.longdouble(2), np.int8(2), np.int32(2), np.uint8(2), np.uint64(2)]
ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.mod, operator.floordiv]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_real_numbers_keep_the_dtype_of_the_tensor(dtype: str, device: str) -> None:
    x = lucid.ones(2, dtype=getattr(lucid, dtype), device=device)
    for number in REAL:
        for function in ARITHMETIC:
            for result in (function(x, number), function(number, x), function(x, lucid.tensor(2, device=device))):
                assert result.dtype == x.dtype, (number.dtype, function)
        assert (x + number).tolist() == [3, 3]
        assert (x < number).dtype == lucid.bool
    assert (x * np.clongdouble(2j)).dtype in (lucid.complex64, lucid.complex128)


def test_numbers_beside_integers() -> None:
    x = lucid.tensor([1, 2])
    for number in REAL:
        assert (x * number).dtype == (lucid.float32 if number.dtype.kind == "f" else lucid.int64)
    assert (x + np.bool_(True)).tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="alpha must not be a floating point number"):
        lucid.sub(x, x, alpha=np.float32(2))
    assert lucid.sub(x, x, alpha=np.int32(2)).tolist() == [-1, -2]


def test_numbers_of_classes_derived_from_python_s() -> None:
    class Level(enum.IntEnum):
        HIGH = 3

    assert (lucid.ones(2) * Level.HIGH).tolist() == (Level.HIGH * lucid.ones(2)).tolist() == [3, 3]
    assert lucid.full((1,), Level.HIGH).dtype == lucid.int64


@pytest.mark.parametrize("number", REAL, ids=lambda number: number.dtype.name)
def test_arguments(number: Any, device: str) -> None:
    x = lucid.tensor([-1.0, 0.5], device=device)
    index = lucid.tensor([0], device=device)
    whole = number.dtype.kind in "iu"
    assert lucid.full((1,), number, device=device).dtype == (lucid.int64 if whole else lucid.float32)
    assert lucid.full((1,), number, dtype=lucid.int8, device=device).tolist() == [2]
    calls: dict[str, Callable[[], Any]] = {
        "leaky_relu": lambda: F.leaky_relu(x, number), "logit": lambda: lucid.logit(x, number / 8),
        "nan_to_num": lambda: x.nan_to_num(number, number, -number if not whole else 0), "clamp": lambda: x.clamp(number, number),
        "masked_fill": lambda: x.masked_fill(x > 0, number), "index_fill": lambda: x.index_fill(0, index, number),
        "full_like": lambda: lucid.full_like(x, number), "new_full": lambda: x.new_full((2,), number),
        "fill_": lambda: x.clone().fill_(number), "where": lambda: lucid.where(x > 0, x, number),
        "addcmul": lambda: lucid.addcmul(x, x, x, value=number), "add": lambda: lucid.add(x, x, alpha=number),
        "pad": lambda: F.pad(x, (1, 0), value=number), "lerp": lambda: lucid.lerp(x, x, number)}
    for name, call in calls.items():
        assert call().dtype == lucid.float32, name
    y = x.clone()
    y[0] = number
    assert y.tolist() == [2, 0.5]


def test_what_is_no_number_is_refused(device: str) -> None:
    x = lucid.ones(2, device=device)
    for wrong in (np.array([1.0, 2.0]), np.str_("a"), "a", None):
        for call in (lambda w=wrong: lucid.full((2,), w), lambda w=wrong: x.fill_(w), lambda w=wrong: lucid.full_like(x, w)):
            with pytest.raises(TypeError, match="must be Number"):
                call()
    for function in (operator.add, operator.mul, operator.lt):
        with pytest.raises(TypeError):
            function(x, np.str_("a"))
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize("dtype", ["longdouble", "clongdouble", "object", "U1", "M8[s]"])
def test_arrays_of_foreign_dtypes_are_refused(dtype: str) -> None:
    array = np.zeros(2, dtype)
    x = lucid.ones(2)
    for make in (lucid.tensor, lucid.as_tensor, lucid.asarray, lucid.from_numpy):
        with pytest.raises(TypeError, match="can't convert an array of dtype"):
            make(array)
    for function in (operator.add, operator.mul, operator.lt, operator.iadd):
        with pytest.raises(TypeError):
            function(x, array)
        with pytest.raises(TypeError):
            function(array, x)
    assert x.tolist() == [1, 1]
    if array.dtype.kind in "fc":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the imaginary parts
            assert lucid.tensor(array, dtype=lucid.float64).tolist() == [0, 0]
        with pytest.raises(TypeError):
            lucid.tensor(array[0])
        assert lucid.tensor([array[0]]).dtype in (lucid.float32, lucid.complex64)


def test_equal_dtypes_are_one_object() -> None:
    for dtype in lucid.float16, lucid.float32, lucid.float64, lucid.int8, lucid.int16, lucid.int32, lucid.int64, lucid.uint8:
        for code in "bhilqpBefd":
            array = np.arange(3, dtype=code)
            if array.dtype == dtype:
                shared = lucid.from_numpy(array)
                for made in (shared, lucid.tensor(array), lucid.as_tensor(array), lucid.asarray(array, copy=False),
                             lucid.zeros(3, dtype=array.dtype), lucid.ones(3).to(array.dtype), lucid.from_dlpack(array),
                             lucid.tensor([array]), shared + array, lucid.frombuffer(array, dtype=array.dtype)):
                    assert made.dtype is dtype, code
                shared[0] = 1
                assert array[0] == 1
    assert lucid.from_numpy(np.zeros(1, np.dtype("f4", metadata={"unit": 1}))).dtype is lucid.float32


def test_arrays_of_another_byte_order() -> None:
    for dtype in (">i4", ">f4", ">c16"):
        array = np.arange(3).astype(dtype)
        assert lucid.tensor(array).tolist() == [0, 1, 2]
        assert lucid.tensor(array).dtype.isnative
        with pytest.raises(ValueError, match="byte order"):
            lucid.from_numpy(array)


def test_python_s_conversions_of_several_elements(device: str) -> None:
    for x in (lucid.ones(2, device=device), lucid.tensor([], device=device), lucid.tensor([1, 2], device=device)):
        for convert in (float, int, complex, math.sqrt, math.floor, math.ceil, math.isfinite):
            with pytest.raises(ValueError, match="only one element tensors"):
                convert(x)
        with pytest.raises(ValueError, match="only one element tensors"):
            "%.1f" % x  # noqa: UP031
        for convert in (operator.index, range, hex):
            with pytest.raises(TypeError):
                convert(x)
        with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
            x.item()


def test_python_s_conversions_of_complex_elements(device: str) -> None:
    real, imaginary = lucid.tensor([2 + 0j], device=device), lucid.tensor(2j, device=device)
    assert float(real) == 2.0
    assert int(real) == 2
    assert complex(imaginary) == 2j
    for convert in (float, int, math.sqrt):
        with pytest.raises(RuntimeError, match="without overflow"):
            convert(imaginary)


def test_files_with_foreign_dtypes_are_refused(tmp_path: pathlib.Path) -> None:
    for dtype in ("longdouble", "clongdouble"):
        np.savez(tmp_path / "foreign.npz", x=np.ones(2, dtype))
        with pytest.raises(LoadError, match="'x'"):
            lucid.load(tmp_path / "foreign.npz")
