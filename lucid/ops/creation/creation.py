"""New tensors: `tensor`, `zeros`, `full`, `arange`, `eye` and the like. `dtype`, `device` and `requires_grad` mean the same in
all of them; the defaults are the context's.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import _dtypes, _recording, backends
from ..._layout import strided
from ...autograd.errors import type_name
from ...autograd.grad_mode import INFERENCE
from ...autograd.grad_mode import mode as grad_mode
from ...backends import Device, dlpack
from ...backends.memory_format import contiguous_format, inverse, memory_axes, preserve_format, require_format
from ...tensor import Tensor, as_array, mark_inference, wrap
from .._methods import register
from .._operands import fitted, integers, require_number
from .._out import fills_out

_new = object.__new__
METHODS = ("new_tensor", "new_empty", "new_zeros", "new_ones", "new_full")


def _finish(array: Any, requires_grad: bool) -> Tensor:
    result: Tensor = _new(Tensor)  # as `wrap`, without the call
    result._array = array
    result._node = result._grad = result._version_box = result._view = None
    if grad_mode.get() & INFERENCE:
        mark_inference(result)
    if requires_grad:
        result.requires_grad = True
    return result


def device_for(device: Any) -> Device:
    """The device that an argument `device` means: None the default one."""
    if device.__class__ is Device:
        return device
    return backends.default_device() if device is None else Device(device)


def _chosen(device: Any) -> Device | None:
    return backends.chosen_device() if device is None else Device(device)


def _float_dtype(dtype: Any) -> np.dtype:
    return _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A leaf with a copy of `data`: a number, a nested sequence, a NumPy or CuPy array or a tensor.

    It goes to the default device, if one was chosen; else arrays and tensors stay where they are.

    >>> lucid.tensor([[1.0, 2.0], [3.0, 4.0]])
    Tensor([[1.0, 2.0],
            [3.0, 4.0]], requires_grad=False)
    >>> lucid.tensor(3, dtype=lucid.float64, requires_grad=True)
    Tensor(3.0, dtype=float64, requires_grad=True)
    """
    return _finish(as_array(data, dtype, _chosen(device), copy=True), requires_grad)


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of a number, in the default dtype if none is given: unlike `tensor`, also of integers and bools.

    Raises TypeError for what is no number, RuntimeError for a complex one in a real dtype.

    >>> lucid.scalar_tensor(3)
    Tensor(3.0, requires_grad=False)
    """
    value = require_number("scalar_tensor", "s", s)
    return full((), value, dtype=_float_dtype(dtype), device=device, requires_grad=requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, without a copy where dtype and device allow it; a tensor keeps its graph.

    It goes to the default device, if one was chosen; else arrays and tensors stay where they are.

    >>> lucid.as_tensor([1.0, 2.0])
    Tensor([1.0, 2.0], requires_grad=False)
    >>> array = np.zeros(2)
    >>> lucid.as_tensor(array)[0] = 5  # the same memory
    >>> array
    array([5., 0.])
    """
    if isinstance(data, Tensor):
        target = _chosen(device)
        if (dtype is None or dtype is data._array.dtype) and (target is None or target == data.device):
            return data  # as `to` finds out in five times the time
        return data.to(target, dtype)
    return _finish(as_array(data, dtype, _chosen(device)), False)


def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool | None = None) -> Tensor:
    """`obj` as a tensor; memory is shared where possible unless `copy`. Raises ValueError if `copy=False` cannot be kept.

    A tensor keeps its history and stays differentiable, unless `requires_grad` is False.

    >>> lucid.asarray([1, 2], dtype=lucid.float32)
    Tensor([1.0, 2.0], requires_grad=False)
    """
    if isinstance(obj, Tensor) and obj.requires_grad and requires_grad is not False:
        result = obj.to(_chosen(device) or obj.device, obj.dtype if dtype is None else dtype, copy=bool(copy))
        if copy is False and result is not obj:
            raise ValueError("can't alias the data of obj: its dtype or device requires a copy")
        return result
    array = as_array(obj, dtype, _chosen(device), copy=bool(copy))
    source = obj._array if isinstance(obj, Tensor) else obj
    if copy is False and array is not source and array.base is not source:
        raise ValueError("can't alias the data of obj: its dtype, device or type requires a copy")
    return _finish(array, bool(requires_grad))


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares the memory of a NumPy array.

    Raises TypeError for anything else and for a dtype that we do not have, ValueError for another byte order than the machine's.

    >>> array = np.zeros(3)
    >>> x = lucid.from_numpy(array)
    >>> x += 1  # the memory is shared
    >>> array
    array([1., 1., 1.])
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if not ndarray.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between byte orders "
                         "is currently not supported: use lucid.tensor, which copies.")
    return _finish(as_array(ndarray), False)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares the memory of any object with `__dlpack__`, or of a capsule, on the CPU or a GPU; with `copy`, or for
    another `device` than the object's, a copy. What must not be written to cannot be written to as a tensor either.

    Raises ValueError for another device if `copy` is False, AssertionError for `device` or `copy` with a capsule, RuntimeError
    for a capsule that was used before.

    >>> array = np.arange(3.0)
    >>> lucid.from_dlpack(array)
    Tensor([0.0, 1.0, 2.0], dtype=float64, requires_grad=False)
    """
    if not hasattr(ext_tensor, "__dlpack__") and not (device is copy is None):
        raise AssertionError("device and copy kwargs not supported when ext_tensor is already a DLPack capsule.")
    target = None if device is None else device_for(device)
    if copy is False and target is not None:
        kind, index = ext_tensor.__dlpack_device__()
        if (kind == 1) != (target.type == "cpu") or (kind == 2 and target != Device("gpu", index)):
            raise ValueError(f"cannot move DLPack tensor from device {(int(kind), int(index))} to {target} without copying. Set "
                             "copy=None or copy=True.")
    array = dlpack.array_of(ext_tensor, copy, lambda source: backends.gpu_module().from_dlpack(source))
    backends.versions.share(array)
    result = _finish(backends.as_held(array), False)
    return result if target is None or target == result.device else result.to(target)


@fills_out
def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of shape `size` filled with a number, whose type gives the default dtype.

    >>> lucid.full((2, 2), 7.5)
    Tensor([[7.5, 7.5],
            [7.5, 7.5]], requires_grad=False)
    """
    if isinstance(fill_value, Tensor) and dtype is None:
        dtype = fill_value.dtype
    fill_value = require_number("full", "fill_value", fill_value)
    chosen = _dtypes.dtype_of_scalar(fill_value) if dtype is None else _dtypes.as_dtype(dtype)
    shape = integers((size,) if isinstance(size, (tuple, list)) else ((size,),))
    return _filled(shape, fitted(fill_value, chosen), chosen, device, requires_grad)


def _filled(shape: tuple[int, ...], number: Any, dtype: np.dtype, device: Any, requires_grad: bool) -> Tensor:
    """`full` of a number that `dtype` holds."""
    if shape and min(shape) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    attributes = {"shape": shape, "fill_value": number, "dtype": dtype}
    return _finish(backends.create("full", device_for(device), attributes), requires_grad)


@fills_out
def zeros(*sizes: Any, size: Any = (), dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of zeros: ``zeros(2, 3)`` or ``zeros((2, 3))``.

    >>> lucid.zeros(2, 3)
    Tensor([[0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0]], requires_grad=False)
    """
    return _filled(integers(sizes or (size,)), 0, _float_dtype(dtype), device, requires_grad)


@fills_out
def ones(*sizes: Any, size: Any = (), dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of ones: ``ones(2, 3)`` or ``ones((2, 3))``.

    >>> lucid.ones(2, 3)
    Tensor([[1.0, 1.0, 1.0],
            [1.0, 1.0, 1.0]], requires_grad=False)
    """
    return _filled(integers(sizes or (size,)), 1, _float_dtype(dtype), device, requires_grad)


@fills_out(defined=False)
def empty(*sizes: Any, size: Any = (), dtype: Any = None, device: Any = None, requires_grad: bool = False,
          memory_format: Any = contiguous_format) -> Tensor:
    """A tensor whose elements are whatever was in memory. Raises RuntimeError for a memory format of another rank.

    >>> lucid.empty(2, 3).shape
    lucid.Size([2, 3])
    """
    shape = integers(sizes or (size,))
    if require_format("empty", memory_format) is preserve_format:
        raise RuntimeError("unsupported memory format: there is nothing whose format empty could preserve")

    def make(shape: Sequence[int]) -> Tensor:
        attributes = {"shape": shape, "dtype": _float_dtype(dtype)}
        return _finish(backends.create("empty", device_for(device), attributes), requires_grad)

    return _laid_out(shape, memory_format.axes(len(shape)), make)


def _laid_out(shape: Sequence[int], axes: Sequence[int] | None, make: Callable[[Sequence[int]], Tensor]) -> Tensor:
    """What ``make(shape)`` returns, with the dimensions `axes` in memory from the outermost to the innermost."""
    if axes is None:
        return make(shape)
    result = make([shape[axis] for axis in axes])
    result._array = backends.run("transpose", (result._array,), {"axes": inverse(axes)})
    return result


def like(input: Tensor, memory_format: Any, make: Callable[[Sequence[int]], Tensor]) -> Tensor:
    """``make(shape)`` for the shape of `input`, in memory as `input` is or in `memory_format`: what all `..._like` share.

    Raises RuntimeError for a memory format of another rank.
    """
    array = input._array
    if input.layout is not strided:
        raise NotImplementedError(f"a tensor like one of layout {input.layout} has no elements but zeros. Use to_dense() first.")
    if memory_format is not preserve_format:
        axes = require_format("like", memory_format).axes(array.ndim)
    else:
        axes = None if array.flags.c_contiguous else memory_axes(array)
    return _laid_out(array.shape, axes, make)


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
              memory_format: Any = preserve_format) -> Tensor:
    """`full` with the shape, and by default the dtype, device and memory format, of `input`.

    >>> lucid.full_like(lucid.zeros(2), 7)
    Tensor([7.0, 7.0], requires_grad=False)
    """
    chosen = input._array.dtype if dtype is None else _dtypes.as_dtype(dtype)
    number = fitted(require_number("full_like", "fill_value", fill_value), chosen)
    return _filled_like(input, number, chosen, device, requires_grad, memory_format)


def _filled_like(input: Tensor, number: Any, dtype: Any, device: Any, requires_grad: bool, memory_format: Any) -> Tensor:
    """`full_like` of a number that the dtype holds."""
    array = input._array
    device = backends.device_of(array) if device is None else device
    chosen = array.dtype if dtype is None else _dtypes.as_dtype(dtype)
    if memory_format is preserve_format and array.__class__ is np.ndarray and array.flags.c_contiguous:  # as most are
        return _filled(array.shape, number, chosen, device, requires_grad)
    if number == 0 and input.layout is not strided:
        return _none_kept(input, chosen, device, requires_grad)
    return like(input, memory_format, lambda shape: _filled(tuple(shape), number, chosen, device, requires_grad))


def _none_kept(input: Tensor, dtype: np.dtype, device: Any, requires_grad: bool) -> Tensor:
    """A sparse tensor like `input` without any elements."""
    made = wrap(input._array.emptied()).to(device=device, dtype=dtype)
    made.requires_grad = requires_grad
    return made


def zeros_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
               memory_format: Any = preserve_format) -> Tensor:
    """Zeros with the shape, and by default the dtype, device and memory format, of `input`.

    >>> lucid.zeros_like(lucid.tensor([5, 6]))
    Tensor([0, 0], requires_grad=False)
    """
    return _filled_like(input, 0, dtype, device, requires_grad, memory_format)


def ones_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
              memory_format: Any = preserve_format) -> Tensor:
    """Ones with the shape, and by default the dtype, device and memory format, of `input`.

    >>> lucid.ones_like(lucid.tensor([5, 6]))
    Tensor([1, 1], requires_grad=False)
    """
    return _filled_like(input, 1, dtype, device, requires_grad, memory_format)


def empty_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
               memory_format: Any = preserve_format) -> Tensor:
    """Uninitialised memory with the shape, and by default the dtype, device and memory format, of `input`.

    >>> lucid.empty_like(lucid.ones(2, 3), dtype=lucid.int64).dtype
    dtype('int64')
    """
    dtype = input.dtype if dtype is None else dtype
    device = input.device if device is None else device
    if input.layout is not strided:
        return _none_kept(input, _dtypes.as_dtype(dtype), device, requires_grad)
    return like(input, memory_format, lambda shape: empty(tuple(shape), dtype=dtype, device=device,
                                                          requires_grad=requires_grad))


def _refuse_kinds(name: str, dtype: np.dtype, kinds: str) -> np.dtype:
    """`dtype`. Raises NotImplementedError for one of `kinds` and for one for storage, as PyTorch does."""
    if dtype.kind in kinds or dtype.__class__ in _dtypes.STORED_CLASSES:
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_name(dtype)}'")
    return dtype


@fills_out(warns=True)
def arange(start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None,
           requires_grad: bool = False) -> Tensor:
    """The values from `start` (0 if only one bound is given) up to, not including, `end`, in steps of `step`.

    int64 if all arguments are integers, else the default dtype. For an integer dtype `start` and `step` count without their
    fractions. Raises RuntimeError for a zero step, one that leads away from `end`, and bounds that are not finite.

    >>> lucid.arange(5)
    Tensor([0, 1, 2, 3, 4], requires_grad=False)
    >>> lucid.arange(1, 2.5, 0.5)
    Tensor([1.0, 1.5, 2.0], requires_grad=False)
    """
    if end is None:
        start, end = 0, start
    bounds: Sequence[Any] = (start, end, step)
    whole = start.__class__ is end.__class__ is step.__class__ is int
    if not whole or (abs(start) | abs(end) | abs(step)).bit_length() > 63:
        scalars = [v.item() if isinstance(v, Tensor) else v for v in bounds]
        bounds = start, end, step = [fitted(number, _dtypes.float64) for number in scalars]
        whole = all(isinstance(v, (int, np.integer)) for v in bounds)
    if dtype is None:
        dtype = _dtypes.int64 if whole else _dtypes.get_default_dtype()
    chosen = _refuse_kinds("arange", _dtypes.as_dtype(dtype), "bc")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if chosen is _dtypes.int64:
        start, end, step = map(int, bounds)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if chosen.kind in "iu" and not whole:
        count = math.ceil((end - start) / step)
        start, step = int(start), int(step)
        array = backends.create("arange", device_for(device), {"start": 0, "stop": count, "step": 1, "dtype": _dtypes.int64})
        array = array * step + start
    else:  # The values are computed in float64 (or integers) and rounded once.
        wide = _dtypes.int64 if whole else _dtypes.float64
        array = backends.create("arange", device_for(device), {"start": start, "stop": end, "step": step, "dtype": wide})
    return _finish(array.astype(chosen, copy=False), requires_grad)


def ends_and_dtype(name: str, start: Any, end: Any, dtype: Any) -> tuple[Any, Any, np.dtype]:
    """The ends of `name`, scalars or 0-d tensors, as scalars, for an integer dtype without their fractions; and the dtype, by
    default the default one, or the complex one with such parts if an end is complex.

    Raises RuntimeError for other tensors and for ends that the dtype does not hold, such as complex ones if it is real.
    """
    ends = start, end
    for end in ends:
        if isinstance(end, Tensor) and end.ndim:
            raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {end.ndim} dimensions")
    scalars = [end.item() if isinstance(end, (Tensor, np.generic)) else end for end in ends]
    if dtype is None and complex in map(type, scalars):
        dtype = _dtypes.default_complex()
    chosen = _refuse_kinds(name, _float_dtype(dtype), "b")
    first, last = (fitted(number, chosen) for number in scalars)
    return (int(first), int(last), chosen) if chosen.kind in "iu" else (first, last, chosen)


@fills_out
def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """`steps` values from `start` to `end`, both included, evenly spaced; for an integer dtype between those without fractions.

    Of complex ends the result is complex. Raises RuntimeError for a negative number of steps and for ends that a `dtype`, or that
    of `out`, does not hold.

    >>> lucid.linspace(0, 1, steps=5)
    Tensor([0.00, 0.25, 0.50, 0.75, 1.00], requires_grad=False)
    """
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end, chosen = ends_and_dtype("linspace", start, end, dtype)
    array = backends.create("linspace", device_for(device), {"start": start, "stop": end, "num": steps})
    return _finish(_recording.constant(array.astype(chosen, copy=False)), requires_grad)


@fills_out
def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """An n by m matrix (n by n without `m`) with ones on the diagonal.

    >>> lucid.eye(2)
    Tensor([[1.0, 0.0],
            [0.0, 1.0]], requires_grad=False)
    >>> lucid.eye(2, 3, dtype=lucid.int64)
    Tensor([[1, 0, 0],
            [0, 1, 0]], requires_grad=False)
    """
    if n < 0 or (m is not None and m < 0):
        raise RuntimeError(f"n and m must be greater or equal to 0, got {n} and {m}")
    return _finish(backends.create("eye", device_for(device), {"N": n, "M": m, "dtype": _float_dtype(dtype)}), requires_grad)


def new_tensor(self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """`tensor(data)` with this tensor's dtype and device by default.

    >>> lucid.zeros(1, dtype=lucid.float64).new_tensor([1, 2])
    Tensor([1.0, 2.0], dtype=float64, requires_grad=False)
    """
    return tensor(data, dtype=self.dtype if dtype is None else dtype, device=self.device if device is None else device,
                  requires_grad=requires_grad)


def new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """`full(size, fill_value)` with this tensor's dtype and device by default.

    >>> lucid.zeros(1, dtype=lucid.int32).new_full((2,), 7)
    Tensor([7, 7], dtype=int32, requires_grad=False)
    """
    return full(size, fill_value, dtype=self.dtype if dtype is None else dtype,
                device=self.device if device is None else device, requires_grad=requires_grad)


def new_zeros(self: Tensor, *sizes: Any, size: Any = (), dtype: Any = None, device: Any = None,
              requires_grad: bool = False) -> Tensor:
    """`zeros(size)` with this tensor's dtype and device by default.

    >>> lucid.ones(1, dtype=lucid.int32).new_zeros(2)
    Tensor([0, 0], dtype=int32, requires_grad=False)
    """
    return _filled(integers(sizes or (size,)), 0, self.dtype if dtype is None else _dtypes.as_dtype(dtype),
                   self.device if device is None else device, requires_grad)


def new_ones(self: Tensor, *sizes: Any, size: Any = (), dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """`ones(size)` with this tensor's dtype and device by default.

    >>> lucid.zeros(1, dtype=lucid.int32).new_ones(2)
    Tensor([1, 1], dtype=int32, requires_grad=False)
    """
    return _filled(integers(sizes or (size,)), 1, self.dtype if dtype is None else _dtypes.as_dtype(dtype),
                   self.device if device is None else device, requires_grad)


def new_empty(self: Tensor, *sizes: Any, size: Any = (), dtype: Any = None, device: Any = None,
              requires_grad: bool = False) -> Tensor:
    """`empty(size)` with this tensor's dtype and device by default.

    >>> lucid.zeros(1, dtype=lucid.int32).new_empty(2, 3).dtype
    dtype('int32')
    """
    return empty(*sizes, size=size, dtype=self.dtype if dtype is None else dtype,
                 device=self.device if device is None else device, requires_grad=requires_grad)


register(__name__)
