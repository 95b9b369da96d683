"""The operations on stored arrays, and for which of the dtypes PyTorch has them. Every other one is refused."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ... import _dtypes, _recording
from .. import create as create_bits
from ..device import Device
from ..stored_array import Refused, StoredArray, bits_dtype
from . import computation, movement
from .casts import cast, narrow, number
from .float8 import FLOAT8

Array = Any
Kernel = Callable[..., Any]
_ALL = frozenset(_dtypes.STORED)
_UNSIGNED = _ALL - FLOAT8
_NUMBERS = FLOAT8 - {_dtypes.float8_e8m0fnu}  # with a sign and a fraction


def _for(dtypes: frozenset[np.dtype], kernels: dict[str, Kernel]) -> dict[str, tuple[frozenset[np.dtype], Kernel]]:
    return {name: (dtypes, kernel) for name, kernel in kernels.items()}


_ENTRIES = {
    **_for(_ALL, movement.TABLE),
    **_for(_ALL, {"cast": cast, "embedding": movement.moved("embedding")}),
    **_for(_ALL, {"mul": computation.mul, "kron": computation.same("kron")}),
    **_for(_ALL, {name: computation.other(name) for name in ("eq", "ne", "any", "all")}),
    **_for(FLOAT8, {"index_select": movement.moved("index_select")}),
    **_for(_UNSIGNED, {name: computation.same(name) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")}),
    **_for(_ALL, {name: computation.total(name) for name in ("sum", "prod", "cumsum", "cumprod")}),
    **_for(_UNSIGNED, dict.fromkeys(("floor", "ceil", "round", "trunc", "nan_to_num"), computation.itself)),
    **_for(_UNSIGNED, {"signbit": computation.constant("signbit")}),
    **_for(_UNSIGNED | {_dtypes.float8_e5m2}, {"isinf": computation.other("isinf")}),
    **_for(_UNSIGNED | {_dtypes.float8_e5m2, _dtypes.float8_e8m0fnu}, {"isfinite": computation.other("isfinite")}),
    **_for(_UNSIGNED, {"sort": computation.sort, "argsort": computation.argsort}),
    **_for(_NUMBERS, {"abs": computation.same("abs"), "matmul": computation.matmul, "linear": computation.same("linear")}),
    **_for(_ALL, {"isnan": computation.other("isnan")}),
}


class _Table(Mapping[str, Kernel]):
    def __init__(self) -> None:
        self._kernels: dict[str, Kernel] = {}

    def __getitem__(self, name: str) -> Kernel:
        found = self._kernels.get(name)
        if found is None:
            found = self._kernels[name] = _entry(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_ENTRIES)

    def __len__(self) -> int:
        return len(_ENTRIES)


def _entry(name: str) -> Kernel:
    dtypes, kernel = _ENTRIES.get(name, (frozenset(), None))

    def checked(*arrays: Any, **attributes: Any) -> Any:
        _refuse_recording(name)
        for array in arrays:
            if array.__class__ is StoredArray and array.dtype not in dtypes:
                raise Refused(name, array.dtype)
        return kernel(*arrays, **attributes)  # type: ignore[misc]

    return checked


TABLE = _Table()


def _refuse_recording(name: str) -> None:
    recorder = _recording.current()
    if recorder is not None:
        recorder.refuse(f"'{name}' computes with a dtype for storage")


def create(name: str, device: Device, attributes: dict[str, Any]) -> StoredArray:
    """`backends.create` of an array that is stored."""
    _refuse_recording(name)
    dtype = attributes["dtype"]
    changed = {"dtype": bits_dtype(dtype)}
    if name == "full":
        changed["fill_value"] = number(attributes["fill_value"], dtype)
    elif name == "eye" and dtype in FLOAT8:
        return narrow(create_bits(name, device, {**attributes, "dtype": np.dtype(np.float32)}), dtype)
    elif name == "random_integers" and dtype in _UNSIGNED:
        return narrow(create_bits(name, device, {**attributes, "dtype": np.dtype(np.int64)}), dtype)
    elif name != "empty":
        raise Refused(name, dtype)
    return StoredArray(create_bits(name, device, {**attributes, **changed}), dtype)
