"""Parameters and buffers whose shape is not known yet: what lazy modules hold until they have seen an input."""
from __future__ import annotations

import copy
from typing import Any

from ..backends import Device
from ..ops import conversion
from ..ops.creation.creation import empty
from ..tensor import Tensor, wrap
from .parameter import Buffer, Parameter


class UninitializedError(ValueError, RuntimeError):
    """An uninitialized parameter or buffer was used. PyTorch raises RuntimeError for its shape, ValueError for the rest."""


class UninitializedTensorMixin:
    """What uninitialized parameters and buffers share.

    They know their dtype, device and `requires_grad`, which `to()` and the casts of a module change. The array that every
    operation asks for is out of reach, so whatever needs elements or their shape raises UninitializedError. `data` is the
    empty tensor that holds dtype and device.
    """

    __slots__ = ()
    cls_to_become: type[Tensor]
    requires_grad: bool

    @property
    def _array(self) -> Any:
        raise UninitializedError(
            f"Attempted to use an uninitialized parameter or buffer ({type(self).__name__}): its shape is not known yet. Call "
            "the module with an input, or materialize(shape), first.")

    @_array.setter
    def _array(self, array: Any) -> None:
        Tensor._array.__set__(self, array)

    @property
    def data(self) -> Tensor:
        """An empty tensor with the dtype and on the device that this will have."""
        return wrap(Tensor._array.__get__(self))

    @data.setter
    def data(self, value: Tensor) -> None:
        Tensor.data.fset(self, value)  # type: ignore[attr-defined]

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or buffer of `shape`, with arbitrary elements; the object stays the same.

        `device` and `dtype` are those it has, unless given. Returns None.
        """
        remembered = self.data
        self.data = empty(shape, device=remembered.device if device is None else device,
                          dtype=remembered.dtype if dtype is None else dtype)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def to(self, *args: Any, **keywords: Any) -> Tensor:
        """Move this object to another device and return it; with another dtype or `copy=True`, return an empty tensor."""
        device, dtype, copied = conversion.destination(*args, **keywords)[:3]
        if copied or (dtype is not None and dtype != self.data.dtype):
            return self.data.to(*args, **keywords)
        return self if device is None else self._move(device)  # type: ignore[return-value]

    def _move(self, device: Device) -> Any:
        self.data = self.data.to(device)
        return self

    def share_memory_(self) -> Any:
        """There is no memory to share: raises UninitializedError."""
        return self._array

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            make, arguments, attributes = self.__reduce_ex__(4)
            memo[id(self)] = result = make(*arguments)
            result.__dict__.update(copy.deepcopy(attributes, memo))
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, self.data.device, self.data.dtype), self.__dict__


def _of_empty(name: str) -> Any:
    """A method or property of the empty tensor; where the result is that tensor, it is this object."""
    if isinstance(getattr(Tensor, name), property):
        return property(lambda self: getattr(self.data, name))

    def method(self: UninitializedTensorMixin, *args: Any, **keywords: Any) -> Any:
        data = self.data
        result = getattr(data, name)(*args, **keywords)
        return self if result is data else result

    return method


for _name in ("dtype", "device", "is_gpu", "is_cuda", "is_meta", "ndim", "itemsize", "nbytes", "size",
              "half", "float", "double", "char", "short", "int", "long", "cpu"):
    setattr(UninitializedTensorMixin, _name, _of_empty(_name))


def _refused(self: UninitializedTensorMixin, *args: Any, **keywords: Any) -> Any:
    return self._array  # raises


# These would find something else to complain about first: that the tensor is a leaf, or requires grad.
for _name in vars(Tensor):
    if _name == "numpy" or (_name.endswith("_") and _name[0] != "_" and _name != "requires_grad_") or _name in (
            "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__"):
        setattr(UninitializedTensorMixin, _name, _refused)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet; `materialize(shape)` turns it into a `Parameter`.

    Raises RuntimeError for an integer dtype unless ``requires_grad=False``.
    """

    __slots__ = ()
    cls_to_become: type[Tensor] = Parameter

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        Tensor.__init__(self, (), requires_grad, dtype, device)


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose shape is not known yet; `materialize(shape)`, or a tensor assigned to its name, turns it into a `Buffer`.

    The other options of a buffer are attributes: ``buffer.cast = False``.
    """

    __slots__ = ()
    cls_to_become: type[Tensor] = Buffer

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> None:
        Tensor.__init__(self, (), requires_grad, dtype, device)
        self.persistent = persistent

    def assign(self, value: Tensor) -> None:
        """Become a buffer with the memory of `value`."""
        if value is not self:
            self.__class__ = self.cls_to_become  # type: ignore[assignment]
            self.assign(value)


def is_lazy(param: Any) -> bool:
    """Whether `param` is an uninitialized parameter or buffer."""
    return isinstance(param, UninitializedTensorMixin)
