"""PyTorch's `_foreach_*`: an operation for each tensor of a list, and of those beside it. A name that ends in `_` writes in
place.

They are loops over the operations, in order: an error leaves the tensors before it written. A step of an optimizer has kernels of
its own for all of its parameters (`lucid.optim`).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _dtypes
from ..autograd.errors import type_name
from ..tensor import Tensor
from ._operands import SCALARS
from .conversion import clone
from .linalg.matmul import mm
from .linalg.vector_norms import vector_norm

Tensors = Sequence[Tensor]
_UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt
sigmoid sign sin sinh sqrt tan tanh trunc""".split()


def _checked(name: str, position: int, tensors: Any) -> Tensors:
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): argument {position + 1} must be a tuple or list of Tensors, not {type(tensors).__name__}")
    for place, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {place} in argument {position}, but got {type(tensor).__name__}")
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return tensors


def _beside(name: str, position: int, own: Tensors, others: Any) -> Tensors:
    """Another list of tensors, as long as the first."""
    if not isinstance(others, (list, tuple)) or len(others) == len(own):
        return _checked(name, position, others)
    raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(own)} and {len(others)}")


def _each(name: str, own: Tensors, value: Any) -> Sequence[Any]:
    """What an operand, a list of tensors or of numbers, a number or a tensor without dimensions, is for each tensor."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {value.ndim} dimensions and {value.numel()} "
                               "elements.")
        return [value] * len(own)
    if isinstance(value, (list, tuple)):
        if value and isinstance(value[0], Tensor):
            return _beside(name, 1, own, value)
        return _numbers(name, own, value)
    if not isinstance(value, SCALARS):
        raise TypeError(f"{name}(): argument 2 must be tensors, numbers, a number or a tensor, not {type(value).__name__}")
    return [value] * len(own)


def _numbers(name: str, own: Tensors, values: Sequence[Any]) -> Sequence[Any]:
    if len(values) != len(own):
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    for value in values:
        if not isinstance(value, SCALARS):
            raise TypeError(f"{name}(): a list of numbers holds {type(value).__name__}")
    return values


def _one_of(name: str, given: dict[str, Any]) -> Any:
    """The operand, which has another name in each of PyTorch's signatures."""
    found = [value for value in given.values() if value is not None]
    if len(found) != 1:
        raise TypeError(f"{name}() takes one of the arguments {', '.join(given)}")
    return found[0]


def _method(name: str) -> tuple[str, bool]:
    """The name of the method behind a name, and whether it writes in place."""
    return name.removeprefix("_foreach_"), name.endswith("_")


def _result(self: Tensors, inplace: bool, made: list[Tensor]) -> Any:
    return self if inplace else tuple(made)


def _unary(name: str) -> Callable[..., Any]:
    method, inplace = _method(name)

    def function(self: Tensors) -> Any:
        return _result(self, inplace, [getattr(tensor, method)() for tensor in _checked(name, 0, self)])

    return function


def _with_alpha(name: str) -> Callable[..., Any]:
    method, inplace = _method(name)
    scalar_tensors = method.startswith("add")

    def function(self: Tensors, other: Any = None, *, scalar: Any = None, scalars: Any = None, alpha: Any = 1) -> Any:
        other = _one_of(name, {"other": other, "scalar": scalar, "scalars": scalars})
        of_tensors = isinstance(other, (list, tuple)) and len(other) > 0 and isinstance(other[0], Tensor)
        if alpha != 1 and not of_tensors and not (scalar_tensors and isinstance(other, Tensor)):
            raise TypeError(f"{name}(): alpha goes with tensors, not with numbers")
        others = _each(name, _checked(name, 0, self), other)
        made = [getattr(tensor, method)(value, alpha=alpha) if alpha != 1 else getattr(tensor, method)(value)
                for tensor, value in zip(self, others, strict=True)]
        return _result(self, inplace, made)

    return function


def _binary(name: str) -> Callable[..., Any]:
    method, inplace = _method(name)
    method = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(method.rstrip("_"), method.rstrip("_")) + "_" * inplace

    def function(self: Tensors, other: Any = None, *, scalar: Any = None, scalars: Any = None) -> Any:
        other = _one_of(name, {"other": other, "scalar": scalar, "scalars": scalars})
        others = _each(name, _checked(name, 0, self), other)
        return _result(self, inplace, [getattr(tensor, method)(value) for tensor, value in zip(self, others, strict=True)])

    return function


def _pow(name: str) -> Callable[..., Any]:
    method, inplace = _method(name)

    def function(self: Any, exponent: Any) -> Any:
        if isinstance(self, SCALARS) and not inplace:
            base: Any = self
            return tuple([base ** tensor for tensor in _checked(name, 1, exponent)])
        exponents = _each(name, _checked(name, 0, self), exponent)
        return _result(self, inplace, [getattr(tensor, method)(value) for tensor, value in zip(self, exponents, strict=True)])

    return function


def _lerp(name: str) -> Callable[..., Any]:
    method, inplace = _method(name)

    def function(self: Tensors, tensors1: Tensors, weight: Any = None, *, weights: Any = None) -> Any:
        ends = _beside(name, 1, _checked(name, 0, self), tensors1)
        shares = _each(name, self, _one_of(name, {"weight": weight, "weights": weights}))
        made = [getattr(tensor, method)(end, share) for tensor, end, share in zip(self, ends, shares, strict=True)]
        return _result(self, inplace, made)

    return function


def _scaled(name: str) -> Callable[..., Any]:
    method, inplace = _method(name)

    def function(self: Tensors, tensor1: Tensors, tensor2: Tensors, value: Any = None, *, scalars: Any = None) -> Any:
        first = _beside(name, 1, _checked(name, 0, self), tensor1)
        second = _beside(name, 2, self, tensor2)
        factors = 1 if value is None is scalars else _one_of(name, {"value": value, "scalars": scalars})
        if isinstance(factors, Tensor):
            if factors.ndim != 1:
                raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {factors.ndim} instead.")
            if len(factors) != len(self):
                raise RuntimeError(f"Expected length of scalars to match input of length {len(self)} but got {len(factors)} "
                                   "instead.")
            factors = factors.tolist()
        made = [getattr(tensor, method)(a, b, value=factor)
                for tensor, a, b, factor in zip(self, first, second, _each(name, self, factors), strict=True)]
        return _result(self, inplace, made)

    return function


def _foreach_norm(self: Tensors, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The norm of all elements of each tensor."""
    _require_order("_foreach_norm", ord)
    return tuple([vector_norm(tensor, ord, dtype=dtype) for tensor in _checked("_foreach_norm", 0, self)])


def _foreach_powsum(self: Tensors, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The sum of the powers of the absolute values of each tensor."""
    _require_order("_foreach_powsum", ord)
    converted = [tensor if dtype is None else tensor.to(dtype) for tensor in _checked("_foreach_powsum", 0, self)]
    for tensor in converted:
        if not _dtypes.is_differentiable(tensor.dtype):
            raise NotImplementedError(f"\"powsum\" not implemented for '{type_name(tensor.dtype)}'")
    return tuple([tensor.abs().pow(ord).sum() for tensor in converted])


def _require_order(name: str, ord: Any) -> None:
    if not isinstance(ord, SCALARS):
        raise TypeError(f"{name}(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}")


def _foreach_max(self: Tensors) -> tuple[Tensor, ...]:
    """The largest element of each tensor."""
    for tensor in _checked("_foreach_max", 0, self):
        if not tensor.numel():
            raise RuntimeError("_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined.")
    return tuple([tensor.max() for tensor in self])


def _foreach_clone(self: Tensors, *, memory_format: Any = None) -> tuple[Tensor, ...]:
    """A copy of each tensor."""
    options = {} if memory_format is None else {"memory_format": memory_format}
    return tuple([clone(tensor, **options) for tensor in _checked("_foreach_clone", 0, self)])


def _foreach_mm(self: Tensors, mat2: Tensors) -> tuple[Tensor, ...]:
    """The product of each matrix with the one beside it."""
    return tuple([mm(a, b) for a, b in zip(self, _beside("_foreach_mm", 1, _checked("_foreach_mm", 0, self), mat2), strict=True)])


def _foreach_copy_(self: Tensors, src: Tensors, non_blocking: bool = False) -> Tensors:
    """Write the elements of each tensor of `src` into the one beside it."""
    for tensor, source in zip(self, _beside("_foreach_copy_", 1, _checked("_foreach_copy_", 0, self), src), strict=True):
        tensor.copy_(source, non_blocking)
    return self


def _foreach_zero_(self: Tensors) -> Tensors:
    """Write zeros into each tensor."""
    for tensor in _checked("_foreach_zero_", 0, self):
        tensor.zero_()
    return self


_FAMILIES = {_unary: _UNARY, _with_alpha: ["add", "sub"], _pow: ["pow"], _lerp: ["lerp"], _scaled: ["addcmul", "addcdiv"],
             _binary: ["mul", "div", "maximum", "minimum", "clamp_min", "clamp_max"]}
for _make, _names in _FAMILIES.items():
    for _name in [f"_foreach_{name}{end}" for name in _names for end in ("", "_")]:
        _function = globals()[_name] = _make(_name)
        _function.__name__ = _function.__qualname__ = _name
        _function.__doc__ = f"`{_name[9:]}` for each tensor."
