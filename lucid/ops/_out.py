"""The keyword `out`: a result written into a tensor that the caller gives, by one mechanism for all functions that have it."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _clock as clock
from .. import _dtypes
from .._namespace.forwarding import forwarding
from ..autograd.errors import type_name
from ..autograd.grad_mode import GRAD, no_grad
from ..autograd.grad_mode import mode as grad_mode
from ..autograd.inplace import refuse_leaf, store
from ..autograd.overwrite import Overwriting, refuse_shared, refuse_write
from ..autograd.writers import writer
from ..backends import Device
from ..backends.elementwise import ROWS
from ..tensor import Tensor, version_box

Function = Callable[..., Any]


def accepts_out(function: Any = None, *, castable: bool = False, in_its_dtype: bool = False, also: Sequence[Any] = (),
                refusal: type[Exception] = RuntimeError, warns: bool = True, leaf: bool = False) -> Any:
    """Give `function` the keyword `out`: a tensor, or a tuple of them for several results, which is returned.

    `out` gets the shape of the result, with a warning (unless `warns` is False) if it had elements of another shape, and must
    be on its device. It must have the result's dtype or one of `also`, or with `castable` (which means single results only) one
    that the result can be cast to without going from complex to real or from floating-point to integer. With `in_its_dtype` the
    function gets the dtype of `out` as its argument `dtype`, if the caller gives none. Raises RuntimeError otherwise (`refusal`
    where the dtype does not do), and where one of the arguments requires grad; `leaf` allows that, for functions that no
    gradient flows through.
    """
    if function is None:
        return functools.partial(accepts_out, castable=castable, in_its_dtype=in_its_dtype, also=also, refusal=refusal,
                                 warns=warns, leaf=leaf)

    name = function.__name__

    def general(*args: Any, out: Any = None, **keywords: Any) -> Any:
        if out is None:
            return function(*args, **keywords)
        if not leaf and grad_mode.get() & GRAD and _require_grad((*args, *keywords.values(), out)):
            raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic "
                               "differentiation, but one of the arguments requires grad.")
        if in_its_dtype and isinstance(out, Tensor) and keywords.get("dtype") is None and not _is_floating_like(args, out):
            keywords["dtype"] = out.dtype
        if accepting.single and args and isinstance(args[0], Tensor) and isinstance(out, Tensor):
            result = _compute_into(out, function, *args, **keywords)
            if result is out:
                return out
        else:
            result = function(*args, **keywords)
        if isinstance(out, Tensor) and out.dtype in also and not isinstance(result, tuple):
            result = result.to(out.dtype)
        if not leaf:
            return deliver(result, out, castable, refusal, warns)
        with no_grad():
            return deliver(result, out, castable, refusal, warns)

    write = functools.partial(writer, function, function.__code__) if name in ROWS else None
    accepting: Any = functools.wraps(function)(forwarding(function, general, True, False, write))
    accepting.without_out, accepting.general = function, general
    accepting.single = False
    return accepting


def _compute_into(out: Tensor, function: Function, first: Tensor, *args: Any, **keywords: Any) -> Tensor:
    """``function(first, ...)`` of a function that passes `first` to a single operation: `out`, if that could write there."""
    refuse_shared(out, (first, *args, *keywords.values()))
    if grad_mode.get() & GRAD:
        refuse_leaf(out)
    box = version_box(out)
    before = box.count
    result: Tensor = function(Overwriting.of(first, out), *args, **keywords)
    return result if box.count == before else out


def fills_out(function: Any = None, *, warns: bool = False, defined: bool = True) -> Any:
    """Give `function`, which makes a tensor of a `dtype` on a `device`, the keyword `out`: the tensor to fill and return, whose
    dtype and device those are.

    `out` gets the shape of the result, with a warning only if the function `warns`, and its elements if they are `defined`.
    Raises RuntimeError for another `dtype` or `device` than its own, and where it is a leaf that requires grad.
    """
    if function is None:
        return functools.partial(fills_out, warns=warns, defined=defined)

    def general(*args: Any, out: Any = None, **keywords: Any) -> Any:
        if out is None:
            return function(*args, **keywords)
        if not isinstance(out, Tensor):
            raise TypeError(f"out must be a Tensor, not {type(out).__name__}")
        if keywords.get("dtype") is not None and _dtypes.as_dtype(keywords["dtype"]) != out.dtype:
            raise RuntimeError(f"dtype {type_name(_dtypes.as_dtype(keywords['dtype']))} does not match dtype of out parameter "
                               f"({type_name(out.dtype)})")
        if keywords.get("device") is not None and Device(keywords["device"]) != out.device:
            raise RuntimeError(f"device type {keywords['device']} does not match device type of out parameter ({out.device})")
        if "memory_format" in keywords:
            raise RuntimeError("'memory_format' argument is incompatible with 'out' tensor argument")
        requires_grad = keywords.pop("requires_grad", False)
        result = function(*args, **{**keywords, "dtype": out.dtype, "device": out.device})
        _require_device(result, out)
        if defined:
            _write(result, out, warns)
        else:
            _require_writable(out)
            if out.shape != result.shape:
                out._swap_array(result._array)
        if requires_grad:
            out.requires_grad = True
        return out

    accepting: Any = functools.wraps(function)(forwarding(function, general, True, False))
    accepting.without_out, accepting.general = function, general
    return accepting


def method(function: Function) -> Function:
    """`function` as a method of Tensor: without the keyword `out`, which PyTorch's methods do not have either."""
    plain: Any = getattr(function, "without_out", None)
    found: Any = plain if plain is not None and plain is getattr(function, "__wrapped__", None) else function
    return found


def deliver(result: Any, out: Any, castable: bool = False, refusal: type[Exception] = RuntimeError, warns: bool = True) -> Any:
    """Write `result`, a tensor or a tuple of them, into `out`, and return that. Raises as `accepts_out` says."""
    if isinstance(out, Tensor) and out._node is out._view is None and not clock.any_guarded and isinstance(result, Tensor):
        array, memory = result._array, out._array
        if array.__class__ is memory.__class__ is np.ndarray and array.dtype is memory.dtype and array.shape == memory.shape:
            store(out, array)  # there is nothing to check
            return out
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"out must be a tuple of {len(result)} tensors")
        for value, target in zip(result, out, strict=True):
            _check(value, target)
        written = [_write(value, target) for value, target in zip(result, out, strict=True)]
        return type(result)(*written) if hasattr(result, "_fields") else tuple(written)
    _check(result, out, castable, refusal)
    return _write(result, out, warns)


def _is_floating_like(args: Sequence[Any], out: Tensor) -> bool:
    """Whether the first argument has the dtype of `out`, which then is that of a sum of its elements."""
    dtype = args[0]._array.dtype if args and isinstance(args[0], Tensor) else None
    return dtype is out._array.dtype and dtype.kind in "fc"


def _require_grad(values: Sequence[Any]) -> bool:
    """Whether a tensor among `values`, or in tuples and lists among them, requires grad."""
    for value in values:
        if isinstance(value, Tensor):
            if value._node is not None:
                return True
        elif isinstance(value, (tuple, list)) and _require_grad(value):
            return True
    return False


def _check(result: Tensor, out: Any, castable: bool = False, refusal: type[Exception] = RuntimeError) -> None:
    if not isinstance(out, Tensor):
        raise TypeError(f"out must be a Tensor, not {type(out).__name__}")
    _require_device(result, out)
    if out._array.dtype is result._array.dtype:
        return
    if castable and _dtypes.CATEGORY[result.dtype] > _dtypes.CATEGORY[out.dtype]:
        raise refusal(f"result type {type_name(result.dtype)} can't be cast to the desired output type "
                      f"{type_name(out.dtype)}")
    if not castable and out.dtype != result.dtype:
        raise refusal(f"Expected out tensor to have dtype {result.dtype.name}, but got {out.dtype.name} instead")


def _require_device(result: Tensor, out: Tensor) -> None:
    if out._array.__class__ is np.ndarray is result._array.__class__:
        return
    if out.device != result.device:
        raise RuntimeError(f"Expected out tensor to be on {result.device}, but it is on {out.device}")


def _require_writable(out: Tensor) -> None:
    refuse_write(out)
    if grad_mode.get() & GRAD:
        refuse_leaf(out)


def _write(result: Tensor, out: Tensor, warns: bool = True) -> Tensor:
    _require_writable(out)
    if out._array.shape == result._array.shape:
        store(out, result._array)
        return out
    if out.numel() and warns:
        warnings.warn(f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not "
                      f"match the required output shape {list(result.shape)}.", stacklevel=6)
    out._swap_array(result.detach().to(out.dtype, copy=True)._array)
    return out
