"""The keyword `out`: a result written into a tensor that the caller gives, by one mechanism for all functions that have it."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from .. import _dtypes
from ..autograd.errors import type_name
from ..autograd.grad_mode import GRAD
from ..autograd.grad_mode import mode as grad_mode
from ..autograd.inplace import refuse_leaf, store
from ..tensor import Tensor

Function = Callable[..., Any]


def accepts_out(function: Any = None, *, castable: bool = False) -> Any:
    """Give `function` the keyword `out`: a tensor, or a tuple of them for several results, which is returned.

    `out` gets the shape of the result, with a warning if it had elements of another shape, and must be on its device. It must
    have the result's dtype, or with `castable` one that the result can be cast to without going from complex to real or from
    floating-point to integer. Raises RuntimeError otherwise, and where one of the arguments requires grad.
    """
    if function is None:
        return functools.partial(accepts_out, castable=castable)

    @functools.wraps(function)
    def accepting(*args: Any, out: Any = None, **keywords: Any) -> Any:
        if out is None:
            return function(*args, **keywords)
        if grad_mode.get() & GRAD and any(t.requires_grad for t in _tensors((args, tuple(keywords.values()), out))):
            raise RuntimeError(f"{function.__name__}(): functions with out=... arguments don't support automatic "
                               "differentiation, but one of the arguments requires grad.")
        return deliver(function(*args, **keywords), out, castable)

    accepting.without_out = function  # type: ignore[attr-defined]
    return accepting


def method(function: Function) -> Function:
    """`function` as a method of Tensor: without the keyword `out`, which PyTorch's methods do not have either."""
    plain: Any = getattr(function, "without_out", None)
    found: Any = plain if plain is not None and plain is getattr(function, "__wrapped__", None) else function
    return found


def deliver(result: Any, out: Any, castable: bool = False) -> Any:
    """Write `result`, a tensor or a tuple of them, into `out`, and return that. Raises as `accepts_out` says."""
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"out must be a tuple of {len(result)} tensors")
        for value, target in zip(result, out, strict=True):
            _check(value, target, castable)
        written = [_write(value, target) for value, target in zip(result, out, strict=True)]
        return type(result)(*written) if hasattr(result, "_fields") else tuple(written)
    _check(result, out, castable)
    return _write(result, out)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)


def _check(result: Tensor, out: Any, castable: bool) -> None:
    if not isinstance(out, Tensor):
        raise TypeError(f"out must be a Tensor, not {type(out).__name__}")
    if out.device != result.device:
        raise RuntimeError(f"Expected out tensor to be on {result.device}, but it is on {out.device}")
    if castable and _dtypes.CATEGORY[result.dtype] > _dtypes.CATEGORY[out.dtype]:
        raise RuntimeError(f"result type {type_name(result.dtype)} can't be cast to the desired output type "
                           f"{type_name(out.dtype)}")
    if not castable and out.dtype != result.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {result.dtype.name}, but got {out.dtype.name} instead")


def _write(result: Tensor, out: Tensor) -> Tensor:
    if grad_mode.get() & GRAD:
        refuse_leaf(out)
    if out.shape == result.shape:
        store(out, result.detach()._array)
        return out
    if out.numel():
        warnings.warn(f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not "
                      f"match the required output shape {list(result.shape)}.", stacklevel=4)
    out._swap_array(result.detach().to(out.dtype, copy=True)._array)
    return out
