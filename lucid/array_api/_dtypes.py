"""dtypes: how they promote, their kinds and limits."""
from __future__ import annotations

import dataclasses
from typing import Any

import lucid

from .. import Tensor
from .._dtypes import as_dtype
from ._operands import dtype_with_scalar, promoted

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]


def _dtypes_of_kinds() -> dict[str, tuple[Any, ...]]:
    signed = (lucid.int8, lucid.int16, lucid.int32, lucid.int64)
    real, complexes = (lucid.float32, lucid.float64), (lucid.complex64, lucid.complex128)
    return {"bool": (lucid.bool,), "signed integer": signed, "unsigned integer": (lucid.uint8,),
            "integral": (*signed, lucid.uint8), "real floating": real, "complex floating": complexes,
            "numeric": (*signed, lucid.uint8, *real, *complexes)}


#: The standard's dtypes by their kinds. lucid's half-precision dtypes are real and floating-point too, but not of the standard.
KINDS = _dtypes_of_kinds()
_HALF = {"real floating", "numeric"}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether `dtype` is `kind`: a dtype, the name of a kind such as 'real floating', or any of a tuple of them.

    Raises ValueError for another name.

    >>> from lucid import array_api as xp
    >>> xp.isdtype(xp.float32, "real floating"), xp.isdtype(xp.int64, "bool")
    (True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if not isinstance(kind, str):
        return bool(as_dtype(dtype) == as_dtype(kind))
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is not a kind of dtypes; these are {', '.join(KINDS)}")
    return dtype in KINDS[kind] or (kind in _HALF and dtype in (lucid.float16, lucid.bfloat16))


def astype(x: Tensor, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """`x` in another dtype, on `device` if one is given; the same array if nothing changes and `copy` is False.

    >>> from lucid import array_api as xp
    >>> xp.astype(xp.asarray([1.5, -2.5]), xp.int64)
    Tensor([ 1, -2], requires_grad=False)
    """
    return x.to(device=x.device if device is None else device, dtype=as_dtype(dtype), copy=copy)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether `from_`, an array or a dtype, promotes to `to`.

    >>> from lucid import array_api as xp
    >>> xp.can_cast(xp.float32, xp.float64), xp.can_cast(xp.float64, xp.float32)
    (True, False)
    """
    own = from_.dtype if isinstance(from_, Tensor) else as_dtype(from_)
    return bool(lucid.promote_types(own, to) == as_dtype(to))


def result_type(*arrays_and_dtypes: Any) -> lucid.dtype:
    """The dtype of a result of arrays, dtypes and Python scalars. Raises ValueError if only scalars are given.

    >>> from lucid import array_api as xp
    >>> xp.result_type(xp.int32, xp.float32, 1.5)
    dtype('float32')
    """
    scalars = [given for given in arrays_and_dtypes if isinstance(given, (bool, int, float, complex))]
    others = [given.dtype if isinstance(given, Tensor) else as_dtype(given) for given in arrays_and_dtypes
              if not isinstance(given, (bool, int, float, complex))]
    if not others:
        raise ValueError("result_type: at least one array or dtype is needed")
    dtype = promoted(*others)
    for scalar in scalars:
        dtype = dtype_with_scalar(dtype, scalar)
    return dtype


@dataclasses.dataclass(frozen=True)
class _FloatLimits:
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


@dataclasses.dataclass(frozen=True)
class _IntegerLimits:
    bits: int
    max: int
    min: int
    dtype: Any


def finfo(type: Any, /) -> _FloatLimits:
    """The limits of a floating-point dtype, or of that of an array. `dtype` is a dtype, unlike that of `lucid.finfo`.

    >>> from lucid import array_api as xp
    >>> xp.finfo(xp.float32).bits
    32
    """
    found = lucid.finfo(type.dtype if isinstance(type, Tensor) else type)
    return _FloatLimits(found.bits, found.eps, found.max, found.min, found.smallest_normal, as_dtype(found.dtype))


def iinfo(type: Any, /) -> _IntegerLimits:
    """The limits of an integer dtype, or of that of an array. `dtype` is a dtype, unlike that of `lucid.iinfo`.

    >>> from lucid import array_api as xp
    >>> xp.iinfo(xp.int8).max
    127
    """
    found = lucid.iinfo(type.dtype if isinstance(type, Tensor) else type)
    return _IntegerLimits(found.bits, found.max, found.min, as_dtype(found.dtype))
