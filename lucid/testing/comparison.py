"""`assert_close`: whether two things are equal within tolerances, with an error that says where they are not."""
from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._dtypes import bfloat16, complex64, complex128, float16, float32, float64, int64, promote_types
from ..ops.creation.creation import as_tensor, tensor
from ..tensor import Tensor

#: (rtol, atol) of each dtype; those of all others are 0.
TOLERANCES = {float16: (1e-3, 1e-5), bfloat16: (1.6e-2, 1e-5), float32: (1.3e-6, 1e-5),
              float64: (1e-7, 1e-7), complex64: (1.3e-6, 1e-5), complex128: (1e-7, 1e-7)}
Message = str | Callable[[str], str] | None


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
                 atol: float | None = None, equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True,
                 check_layout: bool = True, check_stride: bool = False, msg: Message = None) -> None:
    """Raise AssertionError unless ``abs(actual - expected) <= atol + rtol * abs(expected)``, element by element.

    Tensors, arrays and numbers, None, and sequences and mappings of them. Tensors must also agree in shape, and by the
    switches in device, dtype and memory (strides); without the switch they are moved and promoted first. `rtol` and `atol` go
    together; by default they are the larger ones of the two dtypes. NaN equals NaN only with `equal_nan`; infinities equal
    themselves. `msg` is the error's text, or makes it from the one that there would be.

    Raises TypeError for types that cannot be compared, ValueError for one tolerance without the other.

    >>> lucid.testing.assert_close(lucid.tensor([1.0, 2.0]), lucid.tensor([1.0, 2.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError(f"rtol and atol must both be specified or both be unspecified, but got rtol={rtol} and atol={atol}.")
    options = {"allow_subclasses": allow_subclasses, "rtol": rtol, "atol": atol, "equal_nan": equal_nan,
               "check_device": check_device, "check_dtype": check_dtype, "check_stride": check_stride}
    problem = _difference(actual, expected, (), options)
    if problem is not None:
        raise AssertionError(msg(problem) if callable(msg) else problem if msg is None else msg)


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True,
                    msg: str = "") -> None:
    """The old form of `assert_close`, which compares numbers only and warns.

    >>> lucid.testing.assert_allclose(lucid.tensor([1.0]), [1.0 + 1e-7])
    """
    warnings.warn("assert_allclose() is deprecated since 1.12. Please use assert_close() instead.", FutureWarning, stacklevel=2)
    actual, expected = (t if isinstance(t, Tensor) else tensor(t) for t in (actual, expected))
    if rtol is None and atol is None:
        rtol, atol = max(TOLERANCES.get(t.dtype, (0.0, 0.0)) for t in (actual, expected))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False,
                 check_stride=False, msg=msg or None)


def _difference(actual: Any, expected: Any, path: tuple[Any, ...], options: dict[str, Any]) -> str | None:
    """What is wrong first; None if nothing is. `path` leads to the pair in containers."""
    strings = isinstance(actual, (str, bytes)) or isinstance(expected, (str, bytes))
    if isinstance(actual, Sequence) and isinstance(expected, Sequence) and not strings:
        if len(actual) != len(expected):
            return _at(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
        for number, pair in enumerate(zip(actual, expected, strict=True)):
            if (problem := _difference(*pair, (*path, number), options)) is not None:
                return problem
        return None
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            missing, extra = sorted(map(str, expected.keys() - actual.keys())), sorted(map(str, actual.keys() - expected.keys()))
            return _at(f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {missing}\n"
                       f"Additional keys in the actual mapping: {extra}", path)
        for key in expected:
            if (problem := _difference(actual[key], expected[key], (*path, key), options)) is not None:
                return problem
        return None
    return _of_leaves(actual, expected, path, options)


def _of_leaves(actual: Any, expected: Any, path: tuple[Any, ...], options: dict[str, Any]) -> str | None:
    if actual is None or expected is None:
        return None if actual is expected else _at(f"None mismatch: {actual} is not {expected}", path)
    kinds = type(actual), type(expected)
    if not options["allow_subclasses"] and kinds[0] is not kinds[1]:
        raise TypeError(_at(f"No comparison pair was able to handle inputs of type {kinds[0]} and {kinds[1]}.", path))
    if isinstance(actual, bool) and isinstance(expected, bool):
        return None if actual is expected else _at(f"Booleans mismatch: {actual} is not {expected}", path)
    if isinstance(actual, numbers.Number) and isinstance(expected, numbers.Number):
        return _of_numbers(actual, expected, path, options)
    if not all(isinstance(value, (Tensor, np.ndarray, numbers.Number)) for value in (actual, expected)):
        raise TypeError(_at(f"No comparison pair was able to handle inputs of type {kinds[0]} and {kinds[1]}.", path))
    ours, theirs = (value.detach() if isinstance(value, Tensor) else as_tensor(value) for value in (actual, expected))
    return _of_tensors(ours, theirs, path, options)


def _of_numbers(actual: Any, expected: Any, path: tuple[Any, ...], options: dict[str, Any]) -> str | None:
    if options["check_dtype"] and type(actual) is not type(expected):
        return _at(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
    first, second = [complex128 if isinstance(value, complex) else float64 if isinstance(value, float) else int64
                     for value in (actual, expected)]
    rtol, atol = _tolerances(first, second, options)
    if _close(np.asarray(actual), np.asarray(expected), rtol, atol, options["equal_nan"]).all():
        return None
    if rtol == atol == 0:
        return _at(f"Scalars are not equal!\n\nExpected {expected} but got {actual}.\nAbsolute difference: "
                   f"{abs(actual - expected)}\nRelative difference: {_ratio(actual, expected)}", path)
    return _at(f"Scalars are not close!\n\nExpected {expected} but got {actual}.\nAbsolute difference: "
               f"{abs(actual - expected)} (up to {atol} allowed)\nRelative difference: {_ratio(actual, expected)} (up to {rtol} "
               "allowed)", path)


def _ratio(actual: Any, expected: Any) -> float:
    return float(abs(actual - expected) / abs(expected)) if expected else float("inf")


def _of_tensors(actual: Tensor, expected: Tensor, path: tuple[Any, ...], options: dict[str, Any]) -> str | None:
    if actual.shape != expected.shape:
        return _at(f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}.", path)
    for name in ("device", "dtype"):
        ours, theirs = getattr(actual, name), getattr(expected, name)
        if options[f"check_{name}"] and ours != theirs:
            return _at(f"The values for attribute '{name}' do not match: {ours} != {theirs}.", path)
    if options["check_stride"] and actual.stride() != expected.stride():
        return _at(f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}.", path)
    rtol, atol = _tolerances(actual.dtype, expected.dtype, options)
    common = promote_types(actual.dtype, expected.dtype)
    wide = {"f": np.float64, "c": np.complex128}.get(common.kind, np.dtype(np.float64) if common == bfloat16 else common)
    ours, theirs = (t.to("cpu").to(common).numpy().astype(wide) for t in (actual, expected))
    close = _close(ours, theirs, rtol, atol, options["equal_nan"])
    return None if close.all() else _at(_report(ours, theirs, close, rtol, atol), path)


def _tolerances(first: Any, second: Any, options: dict[str, Any]) -> tuple[float, float]:
    if options["rtol"] is not None:
        return options["rtol"], options["atol"]
    pairs = [TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in (first, second)]
    return max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)


def _close(actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    if rtol == atol == 0:
        return (actual == expected) | ((actual != actual) & (expected != expected) & equal_nan)
    return np.isclose(actual, expected, rtol, atol, equal_nan)


def _report(actual: Any, expected: Any, close: Any, rtol: float, atol: float) -> str:
    wrong = int(close.size - close.sum())
    exact = rtol == atol == 0
    if actual.dtype.kind in "bui":
        actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        absolute = np.where(close, 0, np.abs(actual - expected))
        relative = np.where(close, 0, absolute / np.abs(expected))
    what = "not equal" if exact else "not close"
    head = f"Tensor-likes are {what}!" if actual.ndim else f"Scalars are {what}!\n\nExpected {expected[()]} but got {actual[()]}."
    lines = [head, "",
             f"Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})"]
    for name, values, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        place = np.unravel_index(int(np.argmax(values)), values.shape)
        lines.append(f"Greatest {name} difference: {values[place]} at index {tuple(map(int, place))}"
                     + ("" if exact else f" (up to {allowed} allowed)"))
    return "\n".join(lines)


def _at(message: str, path: tuple[Any, ...]) -> str:
    return message if not path else f"{message}\n\nThe failure occurred for item {''.join(f'[{item!r}]' for item in path)}"
