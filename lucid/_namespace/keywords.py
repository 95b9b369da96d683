"""Arguments that PyTorch's functions take beside those that they have of their own: NumPy's and the Array API's names of them,
such as `axis` for `dim`, and `layout` and `pin_memory` where a tensor is made.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .._layout import Layout
from .forwarding import forwarding

Function = Callable[..., Any]

_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "a": "input", "x": "input", "x1": "input", "x2": "other"}


def with_all_keywords(function: Function) -> Function:
    """`function`, with the other names of its arguments if one is `dim`, with `layout` and `pin_memory` if it makes a tensor."""
    code = inspect.unwrap(function).__code__
    own = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    if hasattr(function, "added_keywords"):
        return function
    if "requires_grad" in own and "device" in own and "layout" not in own:
        return _creating(function)
    if "dim" in own:
        return _renaming(function, {name: meant for name, meant in _NUMPY_NAMES.items() if meant in own and name not in own})
    return function


def _renaming(function: Function, names: dict[str, str]) -> Function:
    call = getattr(function, "general", function)  # of `accepts_out`, without the frame before it

    def general(*args: Any, **keywords: Any) -> Any:
        try:
            return call(*args, **keywords)
        except TypeError:
            if names.keys().isdisjoint(keywords):
                raise
            renamed = {names.get(name, name): value for name, value in keywords.items()}
            if len(renamed) < len(keywords):  # both `dim` and `axis`
                raise
        return call(*args, **renamed)

    own = getattr(function, "without_out", None)
    accepting = functools.wraps(function)(forwarding(own or function, general, own is not None, True))
    accepting.added_keywords = tuple(names)  # type: ignore[attr-defined]
    return accepting


def _creating(function: Function) -> Function:
    call = getattr(function, "general", function)  # of `fills_out`, without the frame before it

    def general(*args: Any, layout: Any = None, pin_memory: bool | None = False, **keywords: Any) -> Any:
        if layout is None and not pin_memory:
            return call(*args, **keywords)
        require_strided(function.__name__, layout)
        if not pin_memory:
            return call(*args, **keywords)
        requires_grad = keywords.pop("requires_grad", False)
        return call(*args, **keywords).pin_memory().requires_grad_(requires_grad)

    own = getattr(function, "without_out", None)
    accepting = functools.wraps(function)(forwarding(own or function, general, own is not None, True))
    accepting.added_keywords = ("layout", "pin_memory")  # type: ignore[attr-defined]
    return accepting


def require_strided(name: str, layout: Any) -> None:
    """Raise TypeError for what is no layout, NotImplementedError for a sparse one."""
    if layout is not None and not isinstance(layout, Layout):
        raise TypeError(f"{name}(): argument 'layout' must be lucid.layout, not {type(layout).__name__}")
    if layout not in (None, Layout.strided):
        raise NotImplementedError(f"{name}(): layout {layout} is not supported: sparse tensors come from sparse_coo_tensor, "
                                  "sparse_csr_tensor and to_sparse()")
