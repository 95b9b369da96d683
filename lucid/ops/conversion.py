"""Copies, and conversions of dtype and device. All of them are differentiable."""
from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from .. import _dtypes, backends
from ..autograd.grad_mode import GRAD
from ..autograd.grad_mode import mode as grad_mode
from ..autograd.inplace import check_result, write
from ..autograd.op import Node, Op, UnaryOp
from ..backends import Device
from ..tensor import Tensor, wrap
from ._operands import require_tensor

METHODS = ("clone", "contiguous", "to", "type", "type_as", "cpu", "gpu", "cuda", "half", "bfloat16", "float", "double", "int",
           "long", "short", "char", "byte", "bool", "copy_", "conj", "real", "imag")


def _cast_rule(needs: Any, x: Tensor, *, dtype: np.dtype) -> Any:
    source = x._array.dtype

    def pull(g: Tensor, y: Any) -> tuple[Any]:
        if source.kind != "c" and g._array.dtype.kind == "c":
            g = real(g)
        return (g if g._array.dtype == source else _cast(g, dtype=source),)

    return pull


_cast = Op("cast", _cast_rule)
_copy = UnaryOp("copy", lambda needs, x: lambda g, y: (g,))
_contiguous = UnaryOp("contiguous", lambda needs, x: lambda g, y: (g,))
_conj: Op = UnaryOp("conj", lambda needs, x: lambda g, y: (_conj(g),))
_real = UnaryOp("real", lambda needs, x: lambda g, y: (_cast(g, dtype=np.result_type(g.dtype, np.complex64)),))
_imag = UnaryOp("imag", lambda needs, x: lambda g, y: (_cast(g, dtype=np.result_type(g.dtype, np.complex64)) * 1j,))


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy in memory of its own; gradients pass through."""
    return _copy(require_tensor("clone", input))


def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its elements lie in row-major order, else a copy that does."""
    return input if input.is_contiguous() else _contiguous(input)


def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor itself."""
    return _conj(input) if input.is_complex() else input


def real(input: Tensor) -> Tensor:
    """The real part; a real tensor itself."""
    return _real(input) if input.is_complex() else input


def imag(input: Tensor) -> Tensor:
    """The imaginary part. Raises RuntimeError for real tensors."""
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _imag(input)


def transfer(input: Tensor, device: Device) -> Tensor:
    """A copy of `input` on another device; the gradient comes back to this one."""
    source = input.device
    result = wrap(backends.to_device(input._array, device))
    if input._node is not None and grad_mode.get() & GRAD:
        result._node = Node("to_device", (input._node,), lambda g, y: (transfer(g, source),))
    return result


def destination(*args: Any, device: Any = None, dtype: Any = None, tensor: Tensor | None = None, copy: builtins.bool = False,
                non_blocking: builtins.bool = False, memory_format: Any = None) -> tuple[Device | None, Any, builtins.bool]:
    """The (device, dtype, copy) that arguments of `to` ask for, None where they leave something as it is.

    Raises TypeError for arguments that are none of these.
    """
    flags = 0
    for value in (*args, tensor):
        if isinstance(value, Tensor):
            device, dtype = value.device, value.dtype
        elif isinstance(value, builtins.bool):
            flags += 1
            copy = value if flags == 2 else copy  # the first flag is non_blocking
        elif isinstance(value, (Device, builtins.int)) or (isinstance(value, str) and value not in _dtypes._BY_NAME):
            device = value
        elif value is not None:
            dtype = value
    return (None if device is None else Device(device), None if dtype is None else _dtypes.as_dtype(dtype), copy)


def to(input: Tensor, *args: Any, device: Any = None, dtype: Any = None, non_blocking: builtins.bool = False,
       copy: builtins.bool = False, memory_format: Any = None) -> Tensor:
    """`input` with another dtype, on another device, or both: ``to(dtype)``, ``to(device)``, ``to(device, dtype)``,
    ``to(other)``. Returns `input` itself if nothing changes, unless `copy`.
    """
    device, dtype, copy = destination(*args, device=device, dtype=dtype, copy=copy)
    result = input
    if dtype is not None and dtype != result._array.dtype:
        result = _cast(result, dtype=dtype)
    if device is not None and device != result.device:
        result = transfer(result, device)
    return clone(result) if copy and result is input else result


def type(input: Tensor, dtype: Any = None) -> Any:
    """The tensor in another dtype; without one, the name of its type, such as 'lucid.FloatTensor'."""
    if dtype is None:
        from ..autograd.errors import type_name

        return f"lucid.{'gpu.' if input.is_gpu else ''}{type_name(input.dtype)}Tensor"
    return to(input, dtype)


def type_as(input: Tensor, other: Tensor) -> Tensor:
    """`input` with the dtype of `other`."""
    return to(input, other.dtype)


def cpu(input: Tensor) -> Tensor:
    """`input` in host memory."""
    return to(input, Device("cpu"))


def gpu(input: Tensor, device: Any = None) -> Tensor:
    """`input` on a GPU, GPU 0 by default."""
    return to(input, Device("gpu" if device is None else device))


cuda = gpu


def half(input: Tensor) -> Tensor:
    """`input` as float16."""
    return to(input, _dtypes.float16)


def bfloat16(input: Tensor) -> Tensor:
    """`input` as bfloat16."""
    return to(input, _dtypes.bfloat16)


def float(input: Tensor) -> Tensor:
    """`input` as float32."""
    return to(input, _dtypes.float32)


def double(input: Tensor) -> Tensor:
    """`input` as float64."""
    return to(input, _dtypes.float64)


def int(input: Tensor) -> Tensor:
    """`input` as int32."""
    return to(input, _dtypes.int32)


def long(input: Tensor) -> Tensor:
    """`input` as int64."""
    return to(input, _dtypes.int64)


def short(input: Tensor) -> Tensor:
    """`input` as int16."""
    return to(input, _dtypes.int16)


def char(input: Tensor) -> Tensor:
    """`input` as int8."""
    return to(input, _dtypes.int8)


def byte(input: Tensor) -> Tensor:
    """`input` as uint8."""
    return to(input, _dtypes.uint8)


def bool(input: Tensor) -> Tensor:
    """`input` as bool: False where it is zero."""
    return to(input, _dtypes.bool_)


def copy_(self: Tensor, src: Tensor, non_blocking: Any = False) -> Tensor:
    """Write the elements of `src`, broadcast, cast and moved as needed, into this tensor."""
    def converted(old: Tensor) -> Tensor:
        value = to(require_tensor("copy_", src), old.device, old.dtype)
        return value if value.shape == old.shape else value.expand(old.shape)

    check_result(self, self._array.shape, self._array.dtype)
    return write(self, converted)
