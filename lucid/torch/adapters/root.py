"""`torch` itself."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import ml_dtypes

import lucid

from ..distribution import VERSION, TorchVersion
from ..dtypes import dtype, get_default_dtype, promote_types, result_type

__all__ = ["__version__", "_assert", "_assert_async", "_check", "_check_index", "_check_is_size", "_check_not_implemented",
           "_check_tensor_all", "_check_type", "_check_value", "_check_with", "_is_all_true", "_is_any_true", "_shape_as_tensor",
           "dtype", "finfo", "get_default_dtype", "get_num_interop_threads", "is_anomaly_enabled", "is_warn_always_enabled",
           "promote_types", "result_type", "set_anomaly_enabled", "set_default_tensor_type", "set_flush_denormal",
           "set_num_interop_threads", "set_warn_always"]

__version__ = TorchVersion(VERSION)


class finfo(lucid.finfo):
    """The limits of a floating-point dtype, also of those with 8 bits, which lucid has no tensors of."""

    def __init__(self, type: Any = None) -> None:
        if not (isinstance(type, dtype) and type.name.startswith("float8")):
            super().__init__(type)
            return
        limits: Any = ml_dtypes.finfo
        found = limits(type.dtype)
        self.bits, self.eps, self.max, self.min = int(found.bits), float(found.eps), float(found.max), float(found.min)
        self.tiny = self.smallest_normal = float(found.smallest_normal)
        self.resolution, self.dtype = 10.0 ** -int(found.precision), type.name


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError unless `condition` is true."""
    if not condition:
        raise AssertionError(message)


def _assert_async(condition: Any, message: str = "Expected Tensor to be non-zero") -> None:
    """Raise RuntimeError unless `condition`, a tensor of one element, is true."""
    if not condition:
        raise RuntimeError(message)


def _fail(error: type[Exception], message: Callable[[], str] | None) -> NoReturn:
    raise error("Expected cond to be True, but got False." if message is None else str(message()))


def _check_with(error_type: type[Exception], cond: Any, message: Callable[[], str]) -> None:
    """Raise an error of that type unless `cond` is true."""
    if not cond:
        _fail(error_type, message)


def _checking(error: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Callable[[], str] | None = None) -> None:
        if not cond:
            _fail(error, message)

    return check


_check = _checking(RuntimeError)
_check_index, _check_value, _check_type = _checking(IndexError), _checking(ValueError), _checking(TypeError)
_check_not_implemented = _checking(NotImplementedError)


def _check_tensor_all(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise RuntimeError unless all elements are true."""
    if not cond.all():
        _fail(RuntimeError, message)


def _check_is_size(i: int, message: Callable[[], str] | None = None, *, max: int | None = None) -> None:
    """Raise RuntimeError for a number that is no length."""
    if i < 0 or (max is not None and i > max):
        _fail(RuntimeError, message)


def _is_all_true(input: lucid.Tensor) -> lucid.Tensor:
    """Whether all elements of a bool tensor are true."""
    return input.all()


def _is_any_true(input: lucid.Tensor) -> lucid.Tensor:
    """Whether an element of a bool tensor is true."""
    return input.any()


def _shape_as_tensor(input: lucid.Tensor) -> lucid.Tensor:
    """The shape, as a tensor on the CPU."""
    return lucid.tensor(list(input.shape), dtype=lucid.int64)


def is_anomaly_enabled() -> bool:
    """Whether `torch.autograd.detect_anomaly` is on: errors of lucid name the operation without it."""
    return False


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """`mode` must be False; True raises, as a NaN would have to be looked for."""
    if mode:
        raise NotImplementedError("lucid has no set_anomaly_enabled(True): use `with torch.autograd.detect_anomaly():`")


def is_warn_always_enabled() -> bool:
    """Whether a warning is shown each time."""
    return False


def set_warn_always(b: bool, /) -> None:
    """Warnings are Python's here: use `warnings.simplefilter("always")`."""
    if b:
        import warnings

        warnings.simplefilter("always")


def get_num_interop_threads() -> int:
    """The number of operations that run side by side: one."""
    return 1


def set_num_interop_threads(threads: int, /) -> None:
    """One operation runs after the other, whatever the number."""


def set_flush_denormal(mode: bool, /) -> bool:
    """Whether the processor now takes the smallest numbers for 0: it does not, so False, and True has no effect, as on processors
    that cannot.
    """
    return not mode


def set_default_tensor_type(t: Any, /) -> None:
    """Set the default dtype, and the default device, by the name of a type: 'torch.FloatTensor', `torch.cuda.HalfTensor`."""
    from lucid.ops.conversion import type_destination

    if not isinstance(t, str):
        lucid.set_default_dtype(t.dtype)
        lucid.set_default_device(None if t._place == "cpu" else t._place)
        return
    target = type_destination(t)
    lucid.set_default_dtype(target.dtype)
    lucid.set_default_device(None if target.device in (None, "cpu") else target.device)


def __getattr__(name: str) -> Any:
    if name == "_autocast":
        from lucid.amp import autocast

        return autocast
    if name == "_torch":
        import torch  # type: ignore[import-not-found, unused-ignore]

        return torch
    raise AttributeError(name)
