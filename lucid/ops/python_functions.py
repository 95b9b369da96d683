"""Python functions called for every element: `apply_`, `map_`, `map2_`. Slow, on the CPU only, and without gradients."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.inplace import write
from ..tensor import Tensor
from ._methods import register
from ._operands import require_tensor

METHODS = ("apply_", "map_", "map2_")


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element ``x`` by ``callable(x)``. Raises TypeError on another device than the CPU.

    >>> lucid.tensor([1.0, 2.0]).apply_(lambda x: x * 10)
    Tensor([10.0, 20.0], requires_grad=False)
    """
    return _called("apply_", self, (), callable)


def map_(self: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element ``x`` by ``callable(x, y)`` with the element ``y`` of `other`, which broadcasts.

    >>> lucid.tensor([1.0, 2.0]).map_(lucid.tensor([3.0, 5.0]), lambda x, y: x * y)
    Tensor([ 3.0, 10.0], requires_grad=False)
    """
    return _called("map_", self, (other,), callable)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """As `map_`, with the elements of two tensors.

    >>> lucid.tensor([1.0]).map2_(lucid.tensor([3.0]), lucid.tensor([5.0]), lambda x, y, z: x + y * z)
    Tensor([16.0], requires_grad=False)
    """
    return _called("map2_", self, (x, y), callable)


def _called(name: str, self: Tensor, others: tuple[Tensor, ...], function: Callable[..., Any]) -> Tensor:
    given = (self, *(require_tensor(name, other) for other in others))
    if any(tensor.requires_grad for tensor in given):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if any(tensor.device != "cpu" for tensor in given):
        raise TypeError(f"{name} is only implemented on CPU tensors")
    if any(other.dtype != self.dtype for other in others):
        raise TypeError(f"{name}: the dtypes of all tensors must be the same")
    columns = [tensor.expand(self.shape).reshape(-1).tolist() for tensor in given]
    values = [function(*row) for row in zip(*columns, strict=True)]
    return write(self, lambda old: old.new_tensor(values).reshape(old.shape))


register(__name__)
