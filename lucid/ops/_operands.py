"""Arguments before a kernel sees them: type promotion, Python scalars, devices, dimensions, broadcasting."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from .. import _dtypes, _recording
from .._namespace.foreign import answer
from ..autograd.grad_mode import GRAD, LEVELS
from ..autograd.grad_mode import mode as grad_mode
from ..backends import run, to_host
from ..tensor import Tensor, as_array, wrap

SCALARS = (bool, int, float, complex)
_UNROUNDED = ("add", "sub", "mul", "div")  # whose numbers are not rounded to half precision


def promote(name: str, *operands: Any, floating: bool = False) -> list[Any]:
    """`operands` as tensors of their common dtype, Python scalars left as they are where the kernel takes them weakly.

    With `floating`, integers and bools become the default dtype. A 0-d tensor on the CPU joins tensors on a GPU.
    """
    if _agree(operands, floating):
        return list(operands)
    values = [as_operand(name, value) for value in operands]
    dtype = common_dtype(values)
    if floating and not _dtypes.is_differentiable(dtype):
        dtype = _dtypes.get_default_dtype()
    device = next((v.device for v in values if isinstance(v, Tensor) and (v.ndim or v._array.__class__ is not np.ndarray)), None)
    converted: list[Any] = []
    for value in values:
        if isinstance(value, Tensor):
            if value.ndim == 0 and device is not None and value.device == "cpu" and device != "cpu":
                value = value.to(device)
            if value._array.dtype != dtype:
                require_one_device(name, values)  # before the cast, which would hide the dtype that was given
                value = value.to(dtype)
            converted.append(value)
        elif dtype.kind == "V" and name in _UNROUNDED and value.__class__ in (int, float) and device is not None and (
                device.type == "gpu"):
            converted.append(value)  # its kernels take numbers as they are
        elif dtype.kind == "u" and value.__class__ is int and device is not None and device.type == "gpu" and (
                0 <= value <= np.iinfo(dtype).max):
            converted.append(value)  # likewise
        elif dtype.kind in "Vbu" or not any(isinstance(v, Tensor) for v in values):
            # Extension and unsigned dtypes have no weak scalars in NumPy, or refuse those out of range.
            converted.append(wrap(_recording.constant(as_array(np.asarray(value), dtype, device))))
        else:
            converted.append(value)
    return converted


def _agree(operands: Sequence[Any], floating: bool) -> bool:
    """Whether these are tensors of one dtype and scalars that join them, with nothing to do: this check takes a fifth of the
    time of what there may be to do.
    """
    first, scalars = None, 0  # 1: whole ones, 2: real ones, 4: others
    for value in operands:
        if isinstance(value, Tensor):
            array = value._array
            if first is None:
                first = array
            elif array.dtype is not first.dtype or array.__class__ is not first.__class__:
                return False
        elif value.__class__ is int:
            scalars |= 1
        elif value.__class__ is float:
            scalars |= 2
        elif value.__class__ is complex:
            scalars |= 4
        else:
            return False
    if first is None:
        return False
    kind = first.dtype.kind
    if kind == "c":
        return True
    if kind == "f":
        return scalars == 0 or (scalars < 4 and first.dtype.itemsize > 2)
    return not floating and (scalars == 0 or (scalars == 1 and kind == "i"))


def is_operand(value: Any) -> bool:
    """Whether operators are about `value`: a tensor, a number or an array, if not necessarily of a dtype that we have."""
    return isinstance(value, (Tensor, *SCALARS, np.number, np.bool_, np.ndarray)) or hasattr(value, "__cuda_array_interface__")


def promote_if_known(name: str, *operands: Any) -> Any:
    """`promote` for operators: NotImplemented for what is no number, array or tensor."""
    try:
        return promote(name, *operands)
    except TypeError:
        if all(map(is_operand, operands)):
            raise
        return NotImplemented


def operator(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`function` as an operator: NotImplemented, so that Python tries the other class, for what is no number, array or tensor."""
    @functools.wraps(function)
    def method(self: Any, other: Any) -> Any:
        try:
            return function(self, other)
        except TypeError:
            if is_operand(other):
                raise
            return answer(method, (self, other), {})

    return method


def reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The `operator` of `function` for a tensor on the right."""
    @functools.wraps(function)
    def swapped(self: Any, other: Any) -> Any:
        return function(other, self)

    return operator(swapped)


def require_one_device(name: str, values: Sequence[Any]) -> None:
    """Raise RuntimeError if tensors are on several devices; one of no dimensions on the CPU joins any."""
    kinds = {v._array.__class__ for v in values if isinstance(v, Tensor)
             and (v._array.ndim or v._array.__class__ is not np.ndarray)}
    if len(kinds) > 1 and len({v.device for v in values if isinstance(v, Tensor)}) > 1:
        from ..autograd.errors import explain

        raise explain(name, values, RuntimeError())


def common_dtype(values: Sequence[Any]) -> np.dtype:
    """The dtype that tensors and Python scalars have together, by PyTorch's rules."""
    return _dtypes.result_type(*[
        (v._array.dtype, 2 if v._array.ndim else 1) if isinstance(v, Tensor) else (_dtypes.dtype_of_scalar(v), 0)
        for v in values])


def as_operand(name: str, value: Any) -> Any:
    """A tensor or a Python scalar; NumPy arrays become tensors. Raises TypeError, naming the op, for anything else."""
    if isinstance(value, Tensor) or value.__class__ in SCALARS:
        return value
    number = _dtypes.number(value)
    if number.__class__ in SCALARS:
        return number
    if isinstance(value, np.ndarray) or hasattr(value, "__cuda_array_interface__"):
        return wrap(as_array(value))
    raise TypeError(f"op '{name}' needs tensors or numbers, not {type(value).__name__}")


def require_number(name: str, argument: str, value: Any) -> Any:
    """`value` as Python's number, or the only element of a tensor. Raises TypeError that names the function otherwise."""
    if value.__class__ in SCALARS:
        return value
    number = value.item() if isinstance(value, Tensor) else _dtypes.number(value)
    if number.__class__ not in SCALARS:
        raise TypeError(f"{name}(): argument '{argument}' must be Number, not {type(value).__name__}")
    return number


def fitted(value: Any, dtype: np.dtype, halves: bool = True) -> Any:
    """`value`, if it is a number, as `dtype` holds it: in uint8 negative ints wrap around, as in PyTorch.

    Raises RuntimeError for a number out of range, for NaN and inf in an integer dtype, and for an imaginary part in a real one;
    OverflowError for an int of more than 64 bits. Without `halves`, what is too large for a float16 or bfloat16 becomes inf.
    """
    if value.__class__ is float and dtype.char in "fd":  # as most are
        return value
    value = _dtypes.number(value)
    kind = value.__class__
    if kind is complex and dtype.kind not in "cb":
        if value.imag:
            raise _out_of_range(value, dtype)
        return value.real
    if kind is int:
        if not -(1 << 63) <= value < 1 << 64:
            raise OverflowError(f"int too large to convert: {value}")
        if dtype.kind == "b":
            return value != 0
    elif kind is not float:
        return value
    if dtype.kind in "iu":
        limit = 1 << 8 * dtype.itemsize - (dtype.kind == "i")
        low = -limit if dtype.kind == "i" else 1 - limit if kind is int else 0
        if not low <= value < limit:  # nor does NaN
            raise _out_of_range(value, dtype)
        return value % limit if kind is int and value < 0 and dtype.kind == "u" else value
    if dtype.itemsize == 2 and halves and _LARGEST[dtype.name] < abs(value) != math.inf:
        raise _out_of_range(value, dtype)
    return value


_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38}


def _out_of_range(value: Any, dtype: np.dtype) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: {value}")


def is_any_true(condition: Tensor) -> bool:
    """Whether `condition` holds for any element, inside of `vmap` of any example: False on the device 'meta'."""
    return not condition.is_meta and bool(to_host(run("any", (physical(condition._array),), {"axis": None, "keepdims": False})))


def numbers(t: Tensor) -> list[Any]:
    """The elements, inside of `vmap` of all examples: for checks, and for what no result depends on."""
    found: list[Any] = to_host(physical(t._array)).reshape(-1).tolist()
    return found


def physical(array: Any) -> Any:
    """An array with the dimensions that function transforms hide."""
    if array.__class__ is np.ndarray or not grad_mode.get() & LEVELS:
        return array
    from ..levels.lifted import physical  # not with lucid: only transforms need it

    return physical(array)


def is_differentiated(*tensors: Tensor | None) -> bool:
    """Whether gradients by `tensors`, or their tangents, are asked for: then no rule may leave them out."""
    flags = grad_mode.get()
    if flags & GRAD and any(t is not None and t._node is not None for t in tensors):
        return True
    if not flags & LEVELS:
        return False
    from ..levels.lifted import is_dual

    return any(t is not None and is_dual(t._array) for t in tensors)


def room_for(input: Tensor, *others: Any) -> Tensor:
    """A copy of `input` to write `others` into: inside of `vmap` with their batch dimension, where `input` has none."""
    if not grad_mode.get() & LEVELS:
        copy: Tensor = input.clone()
        return copy
    from ..autograd.lifting import with_levels_of

    return with_levels_of(input, [t for t in others if isinstance(t, Tensor)]).clone()


def require_tensor(name: str, value: Any) -> Tensor:
    """`value` if it is a tensor. Raises TypeError that names the function otherwise."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(value).__name__}")
    return value


def require_tensors(name: str, tensors: Any) -> list[Tensor]:
    """The tensors in a tuple or list. Raises TypeError that names the function, or the position of what is no tensor."""
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {class_name(tensors)}")
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {class_name(tensor)}")
    return list(tensors)


def class_name(value: Any) -> str:
    """The name of the class of `value`, with the module unless that is ours or Python's: ``numpy.ndarray``, ``float``."""
    cls = value.__class__
    return cls.__name__ if cls.__module__.partition(".")[0] in ("builtins", "lucid") else f"{cls.__module__}.{cls.__name__}"


def refuse_stored(name: str, dtype: np.dtype) -> None:
    """Raise NotImplementedError for a dtype for storage, with which PyTorch does not compute."""
    if dtype.__class__ in _dtypes.STORED_CLASSES:
        from ..autograd.errors import type_name

        raise NotImplementedError(f"\"{name}\" not implemented for '{type_name(dtype)}'")


def as_floating(name: str, input: Any) -> Tensor:
    """`input`, or its conversion to the default float dtype if it holds integers. Raises TypeError unless it is a tensor."""
    tensor: Tensor = input if input.__class__ is Tensor else require_tensor(name, input)
    return tensor.to(_dtypes.get_default_dtype()) if tensor._array.dtype.kind in "biu" else tensor


def require_same_dtype(name: str, *tensors: Tensor | None) -> None:
    """Raise RuntimeError if an op that does not promote got tensors of several dtypes."""
    from ..autograd.errors import describe, type_name

    given = [t for t in tensors if t is not None]
    first = given[0]._array.dtype
    for tensor in given[1:]:
        if tensor._array.dtype != first:
            raise RuntimeError(f"op '{name}' expected all tensors to have the same dtype, but got {type_name(first)} and "
                               f"{type_name(tensor._array.dtype)}: {describe(given)}. Convert one with .to(dtype).")


def canonical_dim(dim: int, ndim: int) -> int:
    """`dim` counted from the front. Raises IndexError if a tensor of `ndim` dimensions has none such."""
    size = ndim or 1
    if dim.__class__ is int and -size <= dim < size:
        return dim % size
    if dim.__class__ is not int and (not isinstance(dim, (int, np.integer)) or isinstance(dim, bool)):
        raise TypeError(f"dim must be an integer, not {type(dim).__name__}")
    if not -size <= dim < size:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})")
    return int(dim) % size


def canonical_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions meant by `dim` (None or an empty tuple: all), each once. Raises RuntimeError for repetitions."""
    if dim.__class__ is int:
        axis = canonical_dim(dim, ndim)
        return (axis,) if ndim else ()
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    dims = tuple(canonical_dim(d, ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"dim {next(d for d in dims if dims.count(d) > 1)} appears multiple times in the list of dims")
    return dims if ndim else ()


def integers(sizes: Any) -> tuple[int, ...]:
    """A shape given as ``(2, 3)`` or ``((2, 3),)``: the arguments of `reshape(2, 3)` and `reshape((2, 3))`."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    for size in sizes:
        if size.__class__ is not int:
            break
    else:
        return tuple(sizes)
    try:
        return tuple([size.__index__() for size in sizes])  # also of ints of a class of `fuse`, which `index` does not ask
    except AttributeError:
        return tuple(map(index, sizes))  # the TypeError of what is no integer


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape of a tensor; None for a Python scalar."""
    return value._array.shape if isinstance(value, Tensor) else None


def reduce_to(gradient: Tensor, shape: tuple[int, ...] | None) -> Tensor:
    """Sum a gradient over the dimensions in which an input of `shape` was broadcast."""
    given = gradient._array.shape
    if shape is None or given == shape:
        return gradient
    result: Tensor
    dims, lead = _broadcast_dims(given, shape)
    if 0 < lead == len(dims):  # as with the bias of a layer: what is left has the shape already
        result = gradient.sum(dims)
        return result
    result = gradient.sum(dims, keepdim=True) if dims else gradient
    return result.reshape(shape) if lead else result


@functools.lru_cache(maxsize=256)
def _broadcast_dims(given: tuple[int, ...], shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """The dimensions of `given` that `shape` has broadcast, and how many of them it does not have."""
    lead = len(given) - len(shape)
    return tuple(range(lead)) + tuple(i + lead for i, n in enumerate(shape) if n == 1 and given[i + lead] != 1), lead
