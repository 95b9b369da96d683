"""The tensor types of old: `FloatTensor` and its kin make tensors of one dtype, and `isinstance` checks it."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...tensor import Size, Tensor
from .._methods import register
from .creation import empty, tensor


class TensorType(type):
    """The type of `FloatTensor`: its calls make a `Tensor`, and `isinstance` compares the dtype and the device."""

    dtype: Any
    _place: str

    def __call__(cls, *data: Any, device: Any = None) -> Tensor:
        """``FloatTensor(2, 3)``: memory as it is found, of that shape; ``FloatTensor([1, 2])``: these elements.

        A tensor must have the dtype already, and shares its memory. Raises TypeError otherwise, and for a single float.
        """
        where = cls._place if device is None else device
        if len(data) == 1 and isinstance(data[0], Tensor):
            if not isinstance(data[0], cls):
                raise TypeError(f"expected a tensor of dtype {cls.dtype.name} on {cls._place}, got {data[0].dtype.name} on "
                                f"{data[0].device}")
            return data[0].detach()
        if not data:
            return empty(0, dtype=cls.dtype, device=where)
        if all(isinstance(n, int) for n in data) or isinstance(data[0], Size):
            return empty(*data, dtype=cls.dtype, device=where)
        if len(data) != 1 or isinstance(data[0], float):
            raise TypeError(f"new(): data must be a sequence (got {type(data[0]).__name__})")
        return tensor(data[0], dtype=cls.dtype, device=where)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype == cls.dtype and instance.device.type == cls._place

    def __repr__(cls) -> str:
        return f"<class 'lucid.{'gpu.' if cls._place == 'gpu' else ''}{cls.__name__}'>"


def tensor_types(place: str) -> dict[str, TensorType]:
    """The types of the tensors on 'cpu' or 'gpu', by their names."""
    names = {"Half": _dtypes.float16, "BFloat16": _dtypes.bfloat16, "Float": _dtypes.float32, "Double": _dtypes.float64,
             "Byte": _dtypes.uint8, "Char": _dtypes.int8, "Short": _dtypes.int16, "Int": _dtypes.int32, "Long": _dtypes.int64,
             "Bool": _dtypes.bool_}
    return {f"{name}Tensor": TensorType(f"{name}Tensor", (), {"dtype": dtype, "_place": place,
                                                              "__doc__": _described(f"{name}Tensor", dtype.name, place)})
            for name, dtype in names.items()}


def _described(name: str, dtype: str, place: str) -> str:
    path = f"lucid.{'gpu.' if place == 'gpu' else ''}{name}"
    return f"""Tensors of dtype {dtype} on a {place}.

    >>> x = {path}([0, 1])
    >>> x.dtype == lucid.{dtype}, isinstance(x, {path}), isinstance(lucid.ones(2, dtype=lucid.complex64), {path})
    (True, True, False)
    """


def new(self: Tensor, *data: Any, device: Any = None, size: Any = None, other: Tensor | None = None) -> Tensor:
    """``x.new(2, 3)``: memory as it is found, of that shape; ``x.new([1, 2])``: these numbers; both with the dtype and device of
    `x`. A tensor must have them already, and shares its memory. Raises TypeError otherwise, and for a single float.

    >>> lucid.zeros(1, dtype=lucid.float64).new([1, 2])
    Tensor([1.0, 2.0], dtype=float64, requires_grad=False)
    """
    kind = TensorType("Tensor", (), {"dtype": self.dtype, "_place": self.device.type})
    named = (other,) if size is None else tuple(size)
    return kind(*(data if size is None and other is None else named), device=self.device if device is None else device)


METHODS = ("new",)
register(__name__)

_types = tensor_types("cpu")
HalfTensor, BFloat16Tensor, FloatTensor, DoubleTensor = (_types[f"{n}Tensor"] for n in ("Half", "BFloat16", "Float", "Double"))
ByteTensor, CharTensor, ShortTensor, IntTensor, LongTensor, BoolTensor = (
    _types[f"{n}Tensor"] for n in ("Byte", "Char", "Short", "Int", "Long", "Bool"))
