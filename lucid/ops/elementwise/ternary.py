"""Elementwise operations of three operands."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...autograd.calls import single_op
from ...autograd.errors import type_name
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import as_operand, reduce_to, require_tensor, shape_of
from .._out import accepts_out
from .arithmetic import add, conjugate, div, mul

METHODS = ("lerp", "addcmul", "addcdiv")
INPLACE_METHODS = SINGLE = METHODS

Weight = Any  # a Tensor or a Python number


def _lerp_rule(needs: Any, x: Tensor, end: Tensor, weight: Weight) -> Vjp:
    x_shape, end_shape, weight_shape = x._array.shape, end._array.shape, shape_of(weight)
    needs_x, needs_end, needs_weight = needs
    kept_x, kept_end = (x, end) if needs_weight else (None, None)

    def vjp(g: Tensor, y: Any) -> tuple[Any, Any, Any]:
        return (reduce_to(g * (1 - conjugate(weight)), x_shape) if needs_x else None,
                reduce_to(g * conjugate(weight), end_shape) if needs_end else None,
                None if kept_x is None else reduce_to(g * conjugate(kept_end - kept_x), weight_shape))

    return vjp


def _addcmul_rule(needs: Any, x: Tensor, a: Tensor, b: Tensor, *, value: float) -> Vjp:
    kept_a, kept_b = a if needs[2] else None, b if needs[1] else None
    return lambda g, y: (g, None if kept_b is None else g * kept_b * value, None if kept_a is None else g * kept_a * value)


def _addcdiv_rule(needs: Any, x: Tensor, a: Tensor, b: Tensor, *, value: float) -> Vjp:
    needs_a, needs_b = needs[1:]
    kept_a = a if needs_b else None

    def vjp(g: Tensor, y: Any) -> tuple[Any, Any, Any]:
        quotient = g * value / b
        return g, quotient if needs_a else None, None if kept_a is None else -quotient * (kept_a / b)

    return vjp


_lerp = single_op("lerp", _lerp_rule)
_addcmul, _addcdiv = single_op("addcmul", _addcmul_rule), single_op("addcdiv", _addcdiv_rule)


@accepts_out(castable=True)
def lerp(input: Tensor, end: Tensor, weight: Weight) -> Tensor:
    """``input + weight * (end - input)``, elementwise with broadcasting: `input` for weight 0, `end` for weight 1.

    `weight` is a number or a tensor. All tensors have one floating-point or complex dtype, but a `weight` of no dimensions,
    which is cast. Computed from the nearer of the two ends, so weight 1 gives `end` exactly. Raises TypeError unless `end`
    is a tensor, RuntimeError for tensors of several dtypes and for a complex weight of real tensors, and
    NotImplementedError for integers.

    >>> lucid.lerp(lucid.tensor([0.0, 10.0]), lucid.tensor([1.0, 20.0]), 0.25)
    Tensor([ 0.25, 12.50], requires_grad=False)
    """
    return _lerp(input, end, _checked_weight(input, end, weight))


def _checked_weight(x: Tensor, end: Tensor, weight: Weight) -> Weight:
    """`weight` as a number or a tensor of the dtype of `x`, after a look at all three operands."""
    dtype = require_tensor("lerp", x)._array.dtype
    if not isinstance(end, Tensor):
        raise TypeError(f"lerp(): argument 'end' must be Tensor, not {type(end).__name__}")
    _require_dtype("end", end, dtype)
    if not _dtypes.is_differentiable(dtype):
        raise NotImplementedError(f"lerp is not implemented for {dtype.name}: it needs floating-point or complex tensors")
    weight = as_operand("lerp", weight)
    if isinstance(weight, Tensor):
        if weight.ndim == 0 and weight.device == "cpu" and not weight.requires_grad:
            weight = weight.item()  # as a number it goes with tensors of any device and dtype
        elif weight.ndim == 0:
            return weight.to(x.device, dtype)
        else:
            _require_dtype("weight", weight, dtype)
            return weight
    if isinstance(weight, complex) and dtype.kind != "c":
        raise RuntimeError(f"value cannot be converted to type {type_name(dtype).lower()} without overflow: the weight is "
                           "complex")
    return weight


def _require_dtype(argument: str, tensor: Tensor, dtype: Any) -> None:
    if tensor._array.dtype != dtype:
        raise RuntimeError(f"expected dtype {type_name(dtype).lower()} for `{argument}` but got dtype "
                           f"{type_name(tensor._array.dtype).lower()}")


@accepts_out(castable=True)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``, elementwise with broadcasting. Raises NotImplementedError for bools.

    >>> lucid.addcmul(lucid.zeros(2), lucid.tensor([1.0, 2.0]), lucid.tensor([4.0, 5.0]), value=10)
    Tensor([ 40.0, 100.0], requires_grad=False)
    """
    if _alike(input, tensor1, tensor2, value):
        return _addcmul(input, tensor1, tensor2, value=value)
    product = mul(*_pair("addcmul", tensor1, tensor2))
    if product._array.dtype.kind == require_tensor("addcmul", input)._array.dtype.kind == "b":
        raise NotImplementedError("addcmul is not implemented for bools")
    return _sum(input, product, value)


@accepts_out(castable=True)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``, elementwise with broadcasting. Raises RuntimeError for integers, as PyTorch does.

    >>> lucid.addcdiv(lucid.zeros(2), lucid.tensor([1.0, 2.0]), lucid.tensor([4.0, 5.0]), value=10)
    Tensor([2.5, 4.0], requires_grad=False)
    """
    if _alike(input, tensor1, tensor2, value):
        return _addcdiv(input, tensor1, tensor2, value=value)
    pair = _pair("addcdiv", tensor1, tensor2)
    if tensor1._array.dtype.kind in "biu" and tensor2._array.dtype.kind in "biu":
        raise RuntimeError("Integer division with addcdiv is no longer supported: convert one of the tensors to a floating-point "
                           "dtype, or write input + value * lucid.div(tensor1, tensor2, rounding_mode=...)")
    return _sum(require_tensor("addcdiv", input), div(*pair), value)


def _alike(input: Any, tensor1: Any, tensor2: Any, value: Any) -> bool:
    """Whether these are three real floating-point tensors of one shape and dtype on one kind of device, and a number."""
    if not (isinstance(input, Tensor) and isinstance(tensor1, Tensor) and isinstance(tensor2, Tensor)):
        return False
    x, a, b = input._array, tensor1._array, tensor2._array
    return bool(value.__class__ in (int, float) and x.dtype.char in "fd" and x.dtype == a.dtype == b.dtype
                and x.shape == a.shape == b.shape and x.__class__ is a.__class__ is b.__class__)


def _pair(name: str, tensor1: Any, tensor2: Any) -> tuple[Tensor, Tensor]:
    for argument, tensor in (("tensor1", tensor1), ("tensor2", tensor2)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name}(): argument '{argument}' must be Tensor, not {type(tensor).__name__}")
    return tensor1, tensor2


def _sum(input: Tensor, product: Tensor, value: Any) -> Tensor:
    """``input + value * product``; a `value` joins a sum of integers as an integer, True one of floats as 1, as in PyTorch."""
    kind = _dtypes.promote_types(input.dtype, product.dtype).kind
    if (isinstance(value, bool) and kind != "b") or (isinstance(value, float) and kind in "biu"):
        value = int(value)
    result: Tensor = add(input, product, alpha=value)
    return result


register(__name__)
