"""What a row of the op table gives on lucid and on PyTorch for inputs of one dtype: tensors, or an exception."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import lucid
from tests.ops.table.row import Row

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "complex64": 1e-5, "float64": 1e-10, "complex128": 1e-10}
OUT_OF_RANGE = 1e4  # half-precision results beyond it may overflow at another step


def flat(result: Any) -> list[Any]:
    """The tensors of a result, which may be nested tuples and lists; of None and other objects nothing is left out."""
    return [item for part in result for item in flat(part)] if isinstance(result, (tuple, list)) else [result]


def inputs_of(row: Row, dtype: str, seed: int = 0) -> list[np.ndarray]:
    """The inputs of a row as NumPy arrays that hold numbers of `dtype`; indices and masks stay as they are."""
    rng = np.random.default_rng(seed)
    arrays = row.inputs(rng)
    if dtype.startswith("complex"):
        return [a + 1j * rng.uniform(-1, 1, a.shape) if a.dtype.kind == "f" else a for a in arrays]
    if dtype == "bool":
        return [a > np.median(a) if a.dtype.kind == "f" and a.size else a for a in arrays]
    if "int" in dtype:
        return [np.rint(np.abs(a * 2) if dtype == "uint8" else a * 2) if a.dtype.kind == "f" else a for a in arrays]
    return arrays


def tensors(library: Any, arrays: list[np.ndarray], dtype: str, device: str = "cpu") -> list[Any]:
    """The arrays as tensors of `library`, those of numbers in `dtype`."""
    return [library.tensor(a, device=device).to(getattr(library, dtype)) if a.dtype.kind in "fc" or (dtype == "bool"
            and a.dtype.kind == "b") else library.tensor(a, device=device) for a in arrays]


def outcome(library: Any, row: Row, arrays: list[np.ndarray], dtype: str, device: str = "cpu") -> Any:
    """A list of what the row gives, or the exception that it raises."""
    given = tensors(library, arrays, dtype, device)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return flat(row.run(library, *given))
    except Exception as error:
        return error


def difference(row: Row, arrays: list[np.ndarray], dtype: str, torch: Any, device: str = "cpu") -> str | None:
    """In words how lucid's outcome differs from PyTorch's, or None."""
    ours, theirs = outcome(lucid, row, arrays, dtype, device), outcome(torch, row, arrays, dtype)
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        if isinstance(ours, Exception) and isinstance(theirs, Exception) and isinstance(ours, type(theirs)):
            return None
        return f"{dtype}: PyTorch gives {_brief(theirs)}, lucid {_brief(ours)}"
    if len(ours) != len(theirs):
        return f"{dtype}: PyTorch gives {len(theirs)} results, lucid {len(ours)}"
    for number, (mine, expected) in enumerate(zip(ours, theirs, strict=True)):
        found = _difference(mine, expected, torch, row.random)
        if found:
            return f"{dtype}, result {number}: {found}"
    return None


def _difference(mine: Any, expected: Any, torch: Any, only_layout: bool) -> str | None:
    if not isinstance(expected, torch.Tensor):
        return None if mine == expected else f"PyTorch gives {expected}, lucid {mine}"
    if f"torch.{mine.dtype}" != str(expected.dtype):
        return f"PyTorch's dtype is {expected.dtype}, lucid's {mine.dtype}"
    if tuple(mine.shape) != tuple(expected.shape):
        return f"PyTorch's shape is {tuple(expected.shape)}, lucid's {tuple(mine.shape)}"
    if only_layout:
        return None
    return differing_values(numbers(mine), numbers(expected), TOLERANCES.get(mine.dtype.name, 0.0), mine.dtype.name)


def differing_values(mine: np.ndarray, expected: np.ndarray, tolerance: float, dtype: str = "") -> str | None:
    """In words how two arrays differ by more than the tolerance, or None."""
    if dtype == "float16":
        mine, expected = np.where(np.abs(mine) > OUT_OF_RANGE, np.inf, mine), np.where(np.abs(expected) > OUT_OF_RANGE, np.inf, expected)
    try:
        np.testing.assert_allclose(mine, expected, rtol=tolerance, atol=tolerance)
    except AssertionError:
        return f"expected {expected.tolist()}, found {mine.tolist()}"
    return None


def numbers(tensor: Any) -> np.ndarray:
    """The elements of a tensor of either library, in 64 bits."""
    found = tensor.detach().cpu().clone()  # PyTorch's may be a zero without memory
    return np.asarray(found.tolist(), np.complex128 if found.is_complex() else None).reshape(tuple(found.shape))


def _brief(result: Any) -> str:
    if isinstance(result, Exception):
        return f"{type(result).__name__}: {str(result)[:100]}"
    return ", ".join(f"{getattr(r, 'dtype', r)}" for r in result)


def named(rows: list[Row]) -> Any:
    return pytest.mark.parametrize("row", rows, ids=lambda r: r.name)
