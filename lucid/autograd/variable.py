"""`Variable`, as tensors with gradients were once called."""
from __future__ import annotations

from typing import Any, NoReturn

from .. import backends
from .._dtypes import get_default_dtype
from ..tensor import Tensor, wrap


class _OfTensors(type):
    """The type of `Variable`: its calls give tensors back, and tensors are instances of it."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)

    def __call__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Tensor:
        if data is None:
            data = wrap(backends.create("empty", backends.default_device(), {"shape": (0,), "dtype": get_default_dtype()}))
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)


class Variable(metaclass=_OfTensors):
    """``Variable(tensor)``: the tensor, without its graph. Every tensor is an instance. `volatile` changes nothing.

    >>> lucid.autograd.Variable(lucid.ones(2), requires_grad=True)
    Tensor([1.0, 1.0], requires_grad=True)
    >>> isinstance(lucid.ones(2), lucid.autograd.Variable)
    True
    """


def variable(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError, as in PyTorch: `lucid.tensor` makes tensors.

    >>> lucid.autograd.variable([1.0])
    Traceback (most recent call last):
    RuntimeError: lucid.autograd.variable(...) is deprecated, use lucid.tensor(...) instead
    """
    raise RuntimeError("lucid.autograd.variable(...) is deprecated, use lucid.tensor(...) instead")
