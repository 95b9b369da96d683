"""Errors for what is not true: `lucid._check` and its kin, which libraries for PyTorch call."""
from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable
from typing import Any

from .. import _dtypes
from .._namespace.foreign import defers
from .._namespace.lazy import load
from ..tensor import Tensor

Message = Callable[[], Any] | None


@defers
def _assert(condition: Any, message: Any) -> Any:
    """Raise AssertionError with `message` unless `condition` is true.

    >>> lucid._assert(lucid.ones(1).sum() == 1, "not one")
    """
    if not isinstance(condition, builtins.bool | Tensor):
        protocol = load("lucid.overrides.protocol")
        if protocol.has_torch_function((condition,)):
            return protocol.handle_torch_function(_assert, (condition,), condition, message)
    if not condition:
        raise AssertionError(message)
    return None


def _assert_async(input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raise RuntimeError unless the element of `input` is not zero; at once, also on a GPU.

    >>> lucid._assert_async(lucid.tensor(True))
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"_assert_async(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if not input:
        raise RuntimeError(assert_msg)


def _check_with(error_type: type[Exception], cond: builtins.bool, message: Message) -> None:
    """Raise an error of that type unless `cond`, a bool, is True; `message` is called for its text.

    >>> lucid._check_with(KeyError, 1 + 1 == 2, lambda: "arithmetic")
    """
    if not isinstance(cond, builtins.bool):
        if isinstance(cond, Tensor):
            raise TypeError("cond must be a bool, but got a Tensor. For tensor conditions, use lucid._check_tensor_all() to "
                            "assert that all elements are true.")
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if not issubclass(error_type, Exception) or issubclass(error_type, Warning):
        raise AssertionError(f"error_type must be a subclass of Exception but not Warning, got {error_type}")
    if message is None:
        raise error_type("Expected cond to be True, but got False.")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: builtins.bool, message: Message = None) -> None:
    """Raise RuntimeError unless `cond` is True.

    >>> lucid._check(2 > 1, lambda: "2 is not more than 1")
    """
    _check_with(RuntimeError, cond, message)


def _check_index(cond: builtins.bool, message: Message = None) -> None:
    """Raise IndexError unless `cond` is True.

    >>> lucid._check_index(0 < 3)
    """
    _check_with(IndexError, cond, message)


def _check_value(cond: builtins.bool, message: Message = None) -> None:
    """Raise ValueError unless `cond` is True.

    >>> lucid._check_value(0 < 3)
    """
    _check_with(ValueError, cond, message)


def _check_type(cond: builtins.bool, message: Message = None) -> None:
    """Raise TypeError unless `cond` is True.

    >>> lucid._check_type(isinstance(3, int))
    """
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: builtins.bool, message: Message = None) -> None:
    """Raise NotImplementedError unless `cond` is True.

    >>> lucid._check_not_implemented(0 < 3)
    """
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: Any, message: Message = None, *, max: Any = None) -> None:
    """Raise RuntimeError for a number below 0, or above `max`. Deprecated, as in PyTorch, with a FutureWarning.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore", category=FutureWarning):
    ...     lucid._check_is_size(3, max=4)
    """
    warnings.warn("_check_is_size is deprecated: use _check(i >= 0).", FutureWarning, stacklevel=2)
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: Message = None) -> None:
    """Raise an error of that type unless all elements of a bool tensor are true.

    >>> lucid._check_tensor_all_with(ValueError, lucid.ones(2) > 0)
    """
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype != _dtypes.bool_:
        raise TypeError(f"cond tensor must have dtype lucid.bool, but got {cond.dtype}")
    _check_with(error_type, builtins.bool(cond.all().item()), message)


def _check_tensor_all(cond: Tensor, message: Message = None) -> None:
    """Raise RuntimeError unless all elements of a bool tensor are true.

    >>> lucid._check_tensor_all(lucid.ones(2) > 0)
    """
    _check_tensor_all_with(RuntimeError, cond, message)


def _of_bools(name: str, input: Tensor) -> Tensor:
    if input.dtype != _dtypes.bool_:
        raise RuntimeError(f"{name}: expected a tensor of dtype bool, got {input.dtype}")
    return input


def _is_all_true(input: Tensor) -> Tensor:
    """Whether all elements of a bool tensor are true, as a tensor.

    >>> lucid._is_all_true(lucid.tensor([True, False]))
    Tensor(False, requires_grad=False)
    """
    return _of_bools("_is_all_true", input).all()


def _is_any_true(input: Tensor) -> Tensor:
    """Whether an element of a bool tensor is true, as a tensor.

    >>> lucid._is_any_true(lucid.tensor([True, False]))
    Tensor(True, requires_grad=False)
    """
    return _of_bools("_is_any_true", input).any()


def _shape_as_tensor(input: Tensor) -> Tensor:
    """The shape, as a tensor of int64 on the CPU.

    >>> lucid._shape_as_tensor(lucid.ones(2, 3))
    Tensor([2, 3], requires_grad=False)
    """
    from ..ops.creation.creation import tensor

    return tensor(list(input.shape), dtype=_dtypes.int64, device="cpu")
