"""What a parametrization must not do, unless it is registered with `unsafe`."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...tensor import Tensor


def require_tensors(value: Any) -> Sequence[Tensor]:
    """`value`, what a `right_inverse` returned for several originals. Raises ValueError unless it is a sequence of tensors."""
    expected = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...)."
    if not isinstance(value, Sequence):
        raise ValueError(f"{expected} Got {type(value).__name__}")
    for number, tensor in enumerate(value):
        if not isinstance(tensor, Tensor):
            raise ValueError(f"{expected} Got element {number} of the sequence with type {type(tensor).__name__}.")
    return value


def require_dtype(name: str, which: str, tensor: Tensor, original: Tensor) -> None:
    """Raise ValueError if `tensor`, described by `which`, has another dtype than the original called `name`."""
    if tensor.dtype != original.dtype:
        raise ValueError(f"{which} returned by `right_inverse` has dtype {tensor.dtype} while `{name}` has dtype "
                         f"{original.dtype}")


def require_same(before: str, dtype: Any, shape: Any, after: str, result: Any) -> None:
    """Raise ValueError unless `result` is a tensor of `dtype` and `shape`; `before` and `after` name the two in the error."""
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    for what, expected, found in (("dtype", dtype, result.dtype), ("shape", shape, result.shape)):
        if found != expected:
            raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag "
                             f"is enabled.\n{before} {what}: {expected}\n{after} {what}: {found}")


def try_next(name: str, value: Tensor, parametrization: Any) -> None:
    """Raise ValueError unless `parametrization` and its `right_inverse` keep the dtype and shape of `value`, the tensor
    `name`, which is parametrized already.
    """
    result = parametrization(value)
    require_same(f"module.{name}", value.dtype, value.shape, f"parametrization(module.{name})", result)
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(result)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for what in ("dtype", "shape"):
        expected, found = getattr(value, what), getattr(back, what)
        if found != expected:
            raise ValueError(f"The tensor returned by parametrization.right_inverse must have the same {what} as module.{name}, "
                             f"unless the `unsafe` flag is enabled.\nmodule.{name}.{what}: {expected}\nreturned {what}: {found}")
