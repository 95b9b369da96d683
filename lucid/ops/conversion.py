"""Copies and conversions of dtype and device: `clone`, `to`, `copy_`, real and imaginary parts. All but `numpy` are
differentiable.
"""
from __future__ import annotations

import builtins
from typing import Any, NamedTuple, overload

import numpy as np

from .. import _dtypes, _recording, backends
from .._namespace.lazy import load
from ..autograd.calls import operation, single_op, view_op
from ..autograd.errors import type_name
from ..autograd.grad_mode import GRAD, LEVELS
from ..autograd.grad_mode import mode as grad_mode
from ..autograd.inplace import refuse_leaf, store, write
from ..autograd.levels import lifted
from ..autograd.node import Node
from ..autograd.op import Op
from ..autograd.overwrite import refuse_shared
from ..autograd.views import connect_conjugate
from ..backends import Device
from ..backends.memory_format import (
    MemoryFormat,
    contiguous_format,
    format_of,
    memory_axes,
    preserve_format,
    require_format,
)
from ..tensor import Tensor, wrap
from ._independence import with_zero_gradients
from ._methods import register
from ._operands import as_operand, common_dtype, require_tensor
from ._out import accepts_out

METHODS = ("clone", "contiguous", "to", "type", "type_as", "cpu", "gpu", "cuda", "half", "bfloat16", "float", "double", "int",
           "long", "short", "char", "byte", "bool", "cfloat", "cdouble", "copy_", "conj", "conj_physical", "to_device")
INPLACE_METHODS = ("conj_physical",)


def _cast_rule(needs: Any, x: Tensor, *, dtype: np.dtype) -> Any:
    source = x._array.dtype

    def vjp(g: Tensor, y: Any) -> tuple[Any]:
        if source.kind != "c" and g._array.dtype.kind == "c":
            g = real(g)
        return (g if g._array.dtype == source else _cast(g, dtype=source),)

    return vjp


_cast = single_op("cast", _cast_rule, saves=False)
_copy = operation("copy", lambda needs, x, **layout: lambda g, y: (g,))
_conj: Op = single_op("conj", lambda needs, x: lambda g, y: (_conj(g),))
_real = view_op("real", lambda needs, x: lambda g, y: (_cast(g, dtype=np.result_type(g.dtype, np.complex64)),))
_imag = view_op("imag", lambda needs, x: lambda g, y: (_cast(g, dtype=np.result_type(g.dtype, np.complex64)) * 1j,))


def clone(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """A copy in memory of its own, laid out as `input` or in `memory_format`; gradients pass through.

    Raises RuntimeError for a memory format of another rank.

    >>> x = lucid.tensor([1, 2])
    >>> y = lucid.clone(x)
    >>> y[0] = 9
    >>> x, y
    (Tensor([1, 2], requires_grad=False), Tensor([9, 2], requires_grad=False))
    """
    if input.__class__ is not Tensor:
        require_tensor("clone", input)
    array = input._array
    if memory_format is not preserve_format:
        axes = require_format("clone", memory_format).axes(array.ndim)
    else:
        axes = None if array.flags.c_contiguous else memory_axes(array)
    return _copy(input) if axes is None else _copy(input, axes=axes)


def contiguous(input: Tensor, *, memory_format: Any = contiguous_format) -> Tensor:
    """The tensor itself if its elements lie in row-major order, or in `memory_format`, without gaps, else a copy that does.

    Raises RuntimeError for `preserve_format` and for a memory format of another rank.

    >>> x = lucid.zeros(2, 3).T
    >>> x.is_contiguous(), x.contiguous().is_contiguous()
    (False, True)
    """
    if require_format("contiguous", memory_format) is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if input.is_contiguous(memory_format=memory_format):
        return input
    return clone(input, memory_format=memory_format)


def conj(input: Tensor) -> Tensor:
    """The complex conjugate, a view with memory of its own: a write to one of the two is repeated in the other. A real
    tensor itself.

    >>> lucid.conj(lucid.tensor([1 + 2j, 3 - 1j])).resolve_conj()
    Tensor([1.0-2.0j, 3.0+1.0j], requires_grad=False)
    """
    return connect_conjugate(_conj(input), input) if input.is_complex() else input


@accepts_out
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate, a copy, unlike `conj`; a real tensor itself.

    >>> lucid.conj_physical(lucid.tensor([1 + 2j, 3 - 1j]))
    Tensor([1.0-2.0j, 3.0+1.0j], requires_grad=False)
    """
    return _conj(input) if require_tensor("conj_physical", input).is_complex() else input


def real(input: Tensor) -> Tensor:
    """The real part, a view; a real tensor itself.

    >>> lucid.real(lucid.tensor([1 + 2j, 3 - 1j]))
    Tensor([1.0, 3.0], requires_grad=False)
    """
    return _real(input) if input.is_complex() else input


def imag(input: Tensor) -> Tensor:
    """The imaginary part, a view. Raises RuntimeError for real tensors.

    >>> lucid.imag(lucid.tensor([1 + 2j, 3 - 1j]))
    Tensor([ 2.0, -1.0], requires_grad=False)
    """
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _imag(input)


def set_real(self: Tensor, value: Any) -> None:
    """Write `value`, a tensor or a number, into the real part: the assignment ``x.real = value``."""
    _fill_part(real(self), value)


def set_imag(self: Tensor, value: Any) -> None:
    """Write `value`, a tensor or a number, into the imaginary part: ``x.imag = value``. Raises RuntimeError for real tensors."""
    _fill_part(imag(self), value)


def _fill_part(part: Tensor, value: Any) -> None:
    copy_(part, value) if isinstance(value, Tensor) else part.fill_(value)


def transfer(input: Tensor, device: Device, non_blocking: builtins.bool = False) -> Tensor:
    """A copy of `input` on another device; the gradient comes back to this one."""
    source = input.device
    result = wrap(backends.to_device(input._array, device, non_blocking=non_blocking))
    if input._node is not None and grad_mode.get() & GRAD:
        parents = lifted([input._node], result._array) if grad_mode.get() & LEVELS else [input._node]
        result._node = Node("to_device", parents, lambda g, y: (transfer(g, source),))
    return result


class Destination(NamedTuple):
    """What arguments of `to` say; None leaves something as it is."""

    device: Device | None = None
    dtype: Any = None
    copy: builtins.bool = False
    memory_format: MemoryFormat | None = None
    non_blocking: builtins.bool = False


def destination(*args: Any, **keywords: Any) -> Destination:
    """The arguments of `to` in any of PyTorch's forms: ``(device, dtype, non_blocking, copy)``, ``(dtype, non_blocking,
    copy)`` or ``(tensor, non_blocking, copy)``, by position or by name, each with the keyword `memory_format`.

    With `non_blocking` the host does not wait for a copy of pinned memory to a GPU; other copies wait. Raises TypeError for
    other arguments, RuntimeError for an unknown device.
    """
    first = args[0] if args else None
    if isinstance(first, Tensor) or (not args and "tensor" in keywords):
        form: tuple[str, ...] = ("tensor", "non_blocking", "copy")
    elif first is None or isinstance(first, (Device, builtins.int)) or (isinstance(first, str)
                                                                        and first not in _dtypes._BY_NAME):
        form = ("device", "dtype", "non_blocking", "copy")
    else:
        form = ("dtype", "non_blocking", "copy")
    given = dict(zip(form, args, strict=False))
    wrong = [name for name in keywords if name in given or name not in (*form, "memory_format")]
    given |= keywords
    wrong += [name for name in ("non_blocking", "copy") if not isinstance(given.get(name, False), builtins.bool)]
    if wrong or len(args) > len(form):
        kinds = [builtins.type(value).__name__ for value in args] + [f"{name}={builtins.type(value).__name__}"
                                                                    for name, value in keywords.items()]
        raise TypeError(f"to() received an invalid combination of arguments - got ({', '.join(kinds)}); it takes "
                        f"({', '.join(form)}, *, memory_format)")
    memory_format = given.get("memory_format")
    if memory_format is not None and require_format("to", memory_format) is preserve_format:
        memory_format = None
    source = given.get("tensor")
    if source is not None:
        return Destination(source.device, source.dtype, given.get("copy", False), memory_format, given.get("non_blocking", False))
    device, dtype = given.get("device"), given.get("dtype")
    return Destination(None if device is None else Device(device), None if dtype is None else _dtypes.as_dtype(dtype),
                       given.get("copy", False), memory_format, given.get("non_blocking", False))


def to(input: Tensor, *args: Any, **keywords: Any) -> Tensor:
    """`input` with another dtype, on another device or in another memory format: ``to(dtype)``, ``to(device)``,
    ``to(device, dtype)``, ``to(other)``, ``to(memory_format=...)``. Returns `input` itself if nothing changes, unless
    ``copy=True``. Takes and raises what `destination` does.

    >>> x = lucid.ones(2)
    >>> x.to(lucid.float64)
    Tensor([1.0, 1.0], dtype=float64, requires_grad=False)
    >>> x.to("meta").device
    device(type='meta')
    >>> x.to("cpu") is x
    True
    """
    if len(args) == 1 and not keywords:
        if args[0] is input._array.dtype:  # what layers do at the end of mixed precision
            return input
        if isinstance(args[0], np.dtype):
            return _as(input, _dtypes.as_dtype(args[0]), preserve_format)
        if args[0].__class__ in (str, Device) and args[0] == "cpu" and input._array.__class__ is np.ndarray:
            return input
    return convert(input, destination(*args, **keywords))


def convert(input: Tensor, target: Destination) -> Tensor:
    """`to` with arguments that are known already."""
    result = input
    if target.dtype is not None and target.dtype != result._array.dtype:
        result = _cast(result, dtype=target.dtype)
    if target.device is not None and target.device != result.device:
        result = transfer(result, target.device, target.non_blocking)
    if target.memory_format is not None and target.memory_format is not format_of(result._array):
        return clone(result, memory_format=target.memory_format)
    return clone(result) if target.copy and result is input else result


def _as(input: Tensor, dtype: Any, memory_format: Any) -> Tensor:
    """`to` of a dtype, for methods named after one."""
    if memory_format is not preserve_format:
        return to(input, dtype, memory_format=memory_format)
    return input if input._array.dtype == dtype else _cast(input, dtype=dtype)


@overload
def type(input: Tensor, dtype: None = None, non_blocking: builtins.bool = False) -> str: ...


@overload
def type(input: Tensor, dtype: Any, non_blocking: builtins.bool = False) -> Tensor: ...


def type(input: Tensor, dtype: Any = None, non_blocking: builtins.bool = False) -> Any:
    """The tensor in another dtype, given as such or by the name of a type; without one, the name of its type, such as
    'lucid.FloatTensor'. Raises ValueError for an unknown name.

    >>> lucid.ones(2).type()
    'lucid.FloatTensor'
    >>> lucid.ones(2).type(lucid.int64)
    Tensor([1, 1], requires_grad=False)
    """
    if dtype is None:
        where = "" if input.device == "cpu" else f"{input.device.type}."
        return f"lucid.{where}{type_name(input.dtype)}Tensor"
    return convert(input, type_destination(dtype))


def type_destination(dtype: Any) -> Destination:
    """What `type` means with a dtype or the name of a tensor type: 'lucid.FloatTensor', 'lucid.gpu.FloatTensor'."""
    if not isinstance(dtype, str) or dtype in _dtypes._BY_NAME:
        return Destination(dtype=_dtypes.as_dtype(dtype))
    for place in ("", "gpu.", "cuda."):
        for known in _dtypes.EVERY:
            if dtype in (f"lucid.{place}{type_name(known)}Tensor", f"torch.{place}{type_name(known)}Tensor"):
                return Destination(Device("gpu" if place else "cpu"), known)
    raise ValueError(f"invalid type: {dtype!r}")


def type_as(input: Tensor, other: Tensor) -> Tensor:
    """`input` with the dtype of `other`.

    >>> lucid.type_as(lucid.tensor([1, 2]), lucid.zeros(1))
    Tensor([1.0, 2.0], requires_grad=False)
    """
    return to(input, other.dtype)


def cpu(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """`input` in host memory.

    >>> lucid.ones(2).cpu().device
    device(type='cpu')
    """
    if memory_format is preserve_format:
        return to(input, "cpu")
    return to(input, "cpu", memory_format=memory_format)


def gpu(input: Tensor, device: Any = None, non_blocking: builtins.bool = False, *, memory_format: Any = preserve_format
        ) -> Tensor:
    """`input` on a GPU, GPU 0 by default.

    >>> lucid.ones(2).gpu().device
    device(type='gpu', index=0)
    """
    return to(input, Device("gpu" if device is None else device), non_blocking=non_blocking, memory_format=memory_format)


cuda = gpu


def half(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """`input` as float16. Itself if it has that dtype already.

    >>> lucid.tensor([1.5]).half()
    Tensor([1.5], dtype=float16, requires_grad=False)
    """
    return _as(input, _dtypes.float16, memory_format)


def bfloat16(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """`input` as bfloat16. Itself if it has that dtype already.

    >>> lucid.tensor([1.0]).bfloat16().element_size()
    2
    """
    return _as(input, _dtypes.bfloat16, memory_format)


def cfloat(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """`input` as complex64. Itself if it has that dtype already.

    >>> lucid.tensor([1.5]).cfloat()
    Tensor([1.5+0.0j], requires_grad=False)
    """
    return _as(input, _dtypes.complex64, memory_format)


def cdouble(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """`input` as complex128. Itself if it has that dtype already.

    >>> lucid.tensor([1.5]).cdouble()
    Tensor([1.5+0.0j], dtype=complex128, requires_grad=False)
    """
    return _as(input, _dtypes.complex128, memory_format)


def float(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """`input` as float32. Itself if it has that dtype already.

    >>> lucid.tensor([1, 2]).float()
    Tensor([1.0, 2.0], requires_grad=False)
    """
    return _as(input, _dtypes.float32, memory_format)


def double(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """`input` as float64. Itself if it has that dtype already.

    >>> lucid.tensor([1.5]).double()
    Tensor([1.5], dtype=float64, requires_grad=False)
    """
    return _as(input, _dtypes.float64, memory_format)


def int(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """`input` as int32. Itself if it has that dtype already.

    >>> lucid.tensor([1.5, -2.5]).int()
    Tensor([ 1, -2], dtype=int32, requires_grad=False)
    """
    return _as(input, _dtypes.int32, memory_format)


def long(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """`input` as int64. Itself if it has that dtype already.

    >>> lucid.tensor([1.5, -2.5]).long()
    Tensor([ 1, -2], requires_grad=False)
    """
    return _as(input, _dtypes.int64, memory_format)


def short(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """`input` as int16. Itself if it has that dtype already.

    >>> lucid.tensor([1.5, -2.5]).short()
    Tensor([ 1, -2], dtype=int16, requires_grad=False)
    """
    return _as(input, _dtypes.int16, memory_format)


def char(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """`input` as int8. Itself if it has that dtype already.

    >>> lucid.tensor([1.5, -2.5]).char()
    Tensor([ 1, -2], dtype=int8, requires_grad=False)
    """
    return _as(input, _dtypes.int8, memory_format)


def byte(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """`input` as uint8. Itself if it has that dtype already.

    >>> lucid.tensor([1.5, 2.5]).byte()
    Tensor([1, 2], dtype=uint8, requires_grad=False)
    """
    return _as(input, _dtypes.uint8, memory_format)


def bool(input: Tensor, *, memory_format: Any = preserve_format) -> Tensor:
    """`input` as bool: False where it is zero. Itself if it has that dtype already.

    >>> lucid.tensor([0.0, 2.0]).bool()
    Tensor([False,  True], requires_grad=False)
    """
    return _as(input, _dtypes.bool_, memory_format)


_WIDEST = {builtins.bool: np.bool_, builtins.int: np.int64, builtins.float: np.float64, builtins.complex: np.complex128}


def copy_(self: Tensor, other: Any, non_blocking: Any = False) -> Tensor:
    """Write the elements of `other`, a tensor that is broadcast, cast and moved as needed, or a number, into this tensor.

    Raises RuntimeError where both share memory, but not element by element, and TypeError for what is neither.

    >>> lucid.zeros(2, 2).copy_(lucid.tensor([1, 2]))
    Tensor([[1.0, 2.0],
            [1.0, 2.0]], requires_grad=False)
    """
    src = other
    if not isinstance(other, Tensor):
        number = _dtypes.number(other)
        if number.__class__ in _WIDEST:
            src = wrap(_recording.constant(np.asarray(number, _WIDEST[number.__class__])))
    refuse_shared(self, (require_tensor("copy_", src),))
    recording = grad_mode.get() & GRAD
    plain = src._array.dtype == self._array.dtype or src._array.dtype.kind != "c"
    plain = plain and src._array.__class__ is self._array.__class__
    plain = plain and (src._array.__class__ is np.ndarray or src.device == self.device)
    if plain and not (recording and not (src._node is self._node is None)):
        if recording and self._view is not None:
            refuse_leaf(self)
        store(self, src._array if src._array.shape == self._array.shape else src.expand(self.shape)._array)
        return self

    def converted(old: Tensor) -> Tensor:
        value = convert(src, Destination(old.device, old.dtype, non_blocking=builtins.bool(non_blocking)))
        # With a node of its own also where nothing changes: with that of a leaf, this tensor would be the leaf.
        return with_zero_gradients(value if value is not src and value.shape == old.shape else value.expand(old.shape), old)

    return write(self, converted)


def numpy(self: Tensor, *, force: builtins.bool = False) -> np.ndarray:
    """The elements as a NumPy array that shares the memory.

    Raises TypeError for a tensor on another device and RuntimeError for one that requires grad, outside `no_grad`, unless
    `force`, which detaches and copies to the host; NotImplementedError if there are no elements, on the device 'meta'.

    >>> x = lucid.zeros(2)
    >>> x.numpy()[0] = 5  # the same memory
    >>> x
    Tensor([5.0, 0.0], requires_grad=False)
    """
    if not force:
        if self._array.__class__ is not np.ndarray and not (self.device == "cpu" and self._array.dtype in _dtypes.STORED):
            backends.to_host(self._array) if hasattr(self._array, "is_sparse") else None  # which says that it is sparse
            raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the "
                            "tensor to host memory first.")
        if self._node is not None and grad_mode.get() & GRAD:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    return backends.to_host(self._array)


def result_type(*operands: Any, **named: Any) -> np.dtype:
    """The dtype that an operation on two tensors or Python numbers computes in. Their names are those that PyTorch gives them:
    `tensor` and `other`, `tensor1` and `tensor2`, `scalar` and `tensor`, `scalar1` and `scalar2`. Raises TypeError for others.

    >>> lucid.result_type(lucid.tensor([1, 2], dtype=lucid.int32), 1.5)
    dtype('float32')
    """
    given = (*operands, *named.values())
    if len(given) != 2 or not named.keys() <= _NAMES_OF_OPERANDS:
        raise TypeError(f"result_type() takes two operands, got {len(operands)} and {sorted(named)}")
    return common_dtype([as_operand("result_type", value) for value in given])


_NAMES_OF_OPERANDS = {"tensor", "other", "tensor1", "tensor2", "scalar", "scalar1", "scalar2"}


def to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """`to` a device, by its name in the array API standard. Raises ValueError for a `stream`: work is ordered by `gpu.stream`.

    >>> lucid.ones(2).to_device("cpu").device
    device(type='cpu')
    """
    if stream is not None:
        raise ValueError("to_device: stream must be None; lucid.gpu.stream says on which stream work runs")
    return to(self, device)


def array_namespace(self: Tensor, /, *, api_version: str | None = None) -> Any:
    """`lucid.array_api`. Raises ValueError for a version of the standard later than 2024.12, or that there is not."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"the version {api_version!r} of the array API standard is not available; the latest one is 2024.12")
    return load("lucid.array_api")


SPECIAL_METHODS: dict[str, Any] = {"__array_namespace__": array_namespace, "numpy": numpy,
                                   "real": property(real, set_real), "imag": property(imag, set_imag)}
register(__name__)
