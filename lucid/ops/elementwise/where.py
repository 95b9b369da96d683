"""Elements of one tensor or another, by a condition."""
from __future__ import annotations

import warnings
from typing import Any, overload

from ... import _dtypes
from ..._namespace.callers import stacklevel
from ...autograd.calls import single_op
from ...autograd.op import Vjp
from ...backends.stored_array import StoredArray
from ...tensor import Tensor
from .._methods import register
from .._operands import as_operand, promote, reduce_to, require_tensor, shape_of
from .._out import accepts_out


def _where_rule(needs: Any, condition: Tensor, a: Any, b: Any) -> Vjp:
    a_shape, b_shape = shape_of(a), shape_of(b)
    _, needs_a, needs_b = needs

    def vjp(g: Tensor, y: Any) -> tuple[Any, Any, Any]:
        return (None, reduce_to(where_op(condition, g, 0), a_shape) if needs_a else None,
                reduce_to(where_op(condition, 0, g), b_shape) if needs_b else None)

    return vjp


def _where_stored_rule(needs: Any, a: Any, b: Any, condition: Tensor) -> Vjp:
    vjp = _where_rule((False, *needs[:2]), condition, a, b)
    return lambda g, y: (*vjp(g, y)[1:], None)


_where = single_op("where", _where_rule)
_where_stored = single_op("where_stored", _where_stored_rule)


def where_op(condition: Tensor, a: Any, b: Any) -> Tensor:
    """`where` of what has one dtype and is on one device."""
    for value in (a, b):
        if isinstance(value, Tensor) and value._array.__class__ is StoredArray:
            chosen: Tensor = _where_stored(a, b, condition)
            return chosen
    result: Tensor = _where(condition, a, b)
    return result


@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...


@overload
def where(condition: Tensor, input: Any, other: Any) -> Tensor: ...


@accepts_out
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Elements of `input` where `condition` is true, else of `other`; all three broadcast together.

    With `condition` alone, the indices of its true elements, as `nonzero(as_tuple=True)`. Raises RuntimeError for a
    condition that is not bool.

    >>> x = lucid.tensor([-1.0, 2.0])
    >>> lucid.where(x > 0, x, 0.0)
    Tensor([0.0, 2.0], requires_grad=False)
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if require_tensor("where", condition)._array.dtype == _dtypes.uint8:
        warnings.warn("where received a uint8 condition tensor. This behavior is deprecated. Use a bool condition instead.",
                      stacklevel=stacklevel())
        condition = condition.bool()
    if condition._array.dtype != _dtypes.bool_:
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype "
                           f"{condition.dtype.name}")
    a, b = as_operand("where", input), as_operand("where", other)
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        dtype = _dtypes.result_type((_dtypes.dtype_of_scalar(a), 0), (_dtypes.dtype_of_scalar(b), 0))
        a = condition.new_full((), a, dtype=dtype)
    a, b = promote("where", a, b)
    kind = condition._array.__class__
    if (isinstance(a, Tensor) and a._array.__class__ is not kind) or (isinstance(b, Tensor) and b._array.__class__ is not kind):
        # A 0-d tensor on the CPU joins tensors on a GPU, as in arithmetic.
        device = next((t.device for t in (condition, a, b) if isinstance(t, Tensor) and (t.ndim or t.device != "cpu")), "cpu")
        a, b = (v.to(device) if isinstance(v, Tensor) and v.ndim == 0 and v.device == "cpu" else v for v in (a, b))
    return where_op(condition, a, b)


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Elements of this tensor where `condition` is true, else of `other`. See `lucid.where`.

    >>> x = lucid.tensor([-1.0, 2.0])
    >>> x.where(x > 0, 0.0)
    Tensor([0.0, 2.0], requires_grad=False)
    """
    result: Tensor = where(condition, self, other)
    return result


SPECIAL_METHODS = {"where": _where_method}
register(__name__)
