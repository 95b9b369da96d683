"""Errors of operations, with the op, the shapes, dtypes and devices, and the dotted names of module state."""
from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ..backends import run
from ..tensor import Tensor
from .sparse_rules import sparse_rule

_TYPE_NAMES = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long",
               "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool",
               "complex64": "ComplexFloat", "complex128": "ComplexDouble",
               "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64"}
#: The living modules by identity; they enter it when they are made. Among all objects of a large process it took a second to
#: find them.
modules: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def type_name(dtype: Any) -> str:
    """PyTorch's name of a dtype in error messages: 'Float' for float32."""
    return _TYPE_NAMES.get(dtype.name, dtype.name.capitalize())


def explain(op: str, inputs: Sequence[Any], error: Exception) -> Exception:
    """The exception to raise when the kernel of `op` failed: PyTorch's class, and everything needed to find the cause."""
    tensors = [t for t in inputs if isinstance(t, Tensor)]
    devices = {(t.device.type, t.device.index) for t in tensors}
    if len(devices) > 1:
        if ("formula", None) in devices:
            return TypeError(f"op '{op}' got a tensor that is not an argument of the fused function; make it one")
        fix = ("Give those on the device 'meta' memory with module.to_empty(device=...) or empty_like(tensor, device=...) first."
               if any(t.is_meta for t in tensors) else "Move them with .to(device) first.")
        return RuntimeError(f"Expected all tensors to be on the same device, but op '{op}' got {describe(tensors)}. {fix}")
    if isinstance(error, (RuntimeError, IndexError, MemoryError, NotImplementedError)):
        return error
    if len(tensors) > 1 and "broadcast" in str(error):
        return RuntimeError(f"op '{op}' cannot broadcast its arguments together: {describe(tensors)}{mismatch(tensors)}")
    wrong_shape = isinstance(error, ValueError) or "boolean array indexing assignment" in str(error)  # NumPy's TypeError
    kind = RuntimeError if wrong_shape else type(error)
    return kind(f"op '{op}' failed on {describe(tensors)}: {error}")


def recover(kernel: str, arrays: Sequence[Any], attributes: dict[str, Any], op: str, inputs: Sequence[Any], error: Exception
              ) -> Any:
    """The result of a `kernel` that had no memory, after emptying the cache, or as a tensor what the rule for sparse tensors
    computes of them. Raises what `explain` says of another `error`.
    """
    if isinstance(error, MemoryError):
        return run(kernel, arrays, attributes)
    for array in arrays:
        if getattr(array, "is_sparse", False):
            return sparse_rule(op)(*inputs, **attributes)
    raise explain(op, inputs, error) from error


def mismatch(tensors: Sequence[Tensor]) -> str:
    """PyTorch's sentence about the first dimension in which two shapes differ."""
    a, b = tensors[0]._array.shape, tensors[1]._array.shape
    rank = max(len(a), len(b))
    long_a, long_b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    for dim in reversed(range(rank)):
        if long_a[dim] != long_b[dim] and 1 not in (long_a[dim], long_b[dim]):
            return (f". The size of tensor a ({long_a[dim]}) must match the size of tensor b ({long_b[dim]}) at "
                    f"non-singleton dimension {dim}")
    return ""


def describe(tensors: Sequence[Tensor]) -> str:
    """'float32[2, 3] on cpu (buffer 'bn.running_mean'), …' for an error message."""
    return ", ".join(describe_one(t) for t in tensors) or "no tensors"


def describe_one(tensor: Tensor) -> str:
    """Dtype, shape and device of a tensor, and its dotted name if a module holds it."""
    name = dotted_name(tensor)
    return f"{tensor.dtype.name}{list(tensor._array.shape)} on {tensor.device}" + (f" ({name})" if name else "")


def dotted_name(tensor: Tensor) -> str | None:
    """The longest name of `tensor` in any living module, such as "buffer 'bn.running_mean'"; None if none holds it.

    A view has the name of its base, and what an operation has saved of a buffer the name of that buffer, whatever memory it
    has now. Modules do not know their parents, so this searches all of them: for error messages only.
    """
    best: tuple[int, str] | None = None
    if tensor._view is not None:
        tensor = tensor._view[0]
    origin = saved_from(tensor)
    tensor = tensor if origin is None else origin[0]
    for module in list(modules.values()):
        found = module._state_name_of(tensor)
        if found is not None:
            kind, name = found
            if best is None or name.count(".") > best[0]:
                best = (name.count("."), f"{kind} '{name}'")
    return None if best is None else best[1]


def saved_from(tensor: Tensor) -> tuple[Tensor, int] | None:
    """The buffer that `tensor` stands for in a recorded operation, and its version then; None for any other tensor."""
    reference, version = tensor.__dict__.get("_saved_from", (None, 0))
    origin = None if reference is None else reference()
    return None if origin is None else (origin, version)
