"""What autocast does with the arguments of an operation: a policy calls the operation with others."""
from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _dtypes
from ..tensor import Tensor
from ._casts import cast_to, eligible, mapped, tensors_in

Function = Callable[..., Any]
Policy = Callable[[Function, str, np.dtype, tuple[Any, ...], dict[str, Any]], Any]
_REFUSED = """torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.
Many models use a sigmoid layer right before the binary cross entropy layer.
In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits
or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are
safe to autocast.""".replace("torch.", "lucid.")


def _called(function: Function, dtype: np.dtype, device: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    cast = cast_to(dtype, device)
    return function(*[mapped(value, cast) for value in args], **{name: mapped(value, cast) for name, value in keywords.items()})


def _floating(device: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> list[Tensor]:
    return [t for value in (*args, *keywords.values()) for t in tensors_in(value) if eligible(t, device)]


def _lower(function: Function, device: str, dtype: np.dtype, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return _called(function, dtype, device, args, keywords)


def _wide(function: Function, device: str, dtype: np.dtype, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return _called(function, _dtypes.float32, device, args, keywords)


@functools.cache
def _position_of_dtype(function: Function) -> int | None:
    """Which argument `dtype` is; None where it is a keyword only."""
    parameters = list(inspect.signature(function).parameters.values())
    return next((i for i, p in enumerate(parameters) if p.name == "dtype" and p.kind is p.POSITIONAL_OR_KEYWORD), None)


def _wide_dtype(function: Function, device: str, dtype: np.dtype, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """float32 as the argument `dtype`, unless the caller gives one or the first argument is no float."""
    position = _position_of_dtype(function)
    given = args[position] if position is not None and position < len(args) else keywords.get("dtype")
    first = args[0] if args else next(iter(keywords.values()))
    if given is not None or not eligible(first, device):
        return function(*args, **keywords)
    return _called(function, _dtypes.float32, device, args, keywords)


def _widest(function: Function, device: str, dtype: np.dtype, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """All in float32 if one of them is, else in the lower precision."""
    found = {t._array.dtype for t in _floating(device, args, keywords)}
    if not found.isdisjoint(_dtypes.STORED):
        raise RuntimeError(f"autocast has no dtype for {function.__name__} of 8-bit floating-point numbers: convert them with "
                           ".to(dtype)")
    return _called(function, _dtypes.float32 if len(found - {dtype}) else dtype, device, args, keywords)


def _lower_products(function: Function, device: str, dtype: np.dtype, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Products of matrices, but not what the same function computes without one: a permutation, or a single number."""
    tensors = [t for value in (*args, *keywords.values()) for t in tensors_in(value)]
    if len(tensors) < 2:
        return function(*args, **keywords)
    if function.__name__ != "einsum":
        a, b = (t._array.shape for t in tensors[:2])
        dims = ([-1], [-1]) if function.__name__ == "inner" else args[2] if len(args) > 2 else keywords.get("dims", 2)
        if isinstance(dims, Tensor):
            dims = dims.tolist()
        over = (range(len(a) - dims, len(a)), range(dims)) if isinstance(dims, int) else dims
        if not (a and b) or _left(a, over[0]) == _left(b, over[1]) == 1:
            return _widest(function, device, dtype, args, keywords)
    return _called(function, dtype, device, args, keywords)


def _left(shape: tuple[int, ...], over: Any) -> int:
    """How many elements there are along the dimensions that are not summed over."""
    summed = {dim % len(shape) for dim in over}
    return math.prod(length for dim, length in enumerate(shape) if dim not in summed)


def _wide_padding(function: Function, device: str, dtype: np.dtype, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Padding by reflection and replication, but not by a constant."""
    mode = args[2] if len(args) > 2 else keywords.get("mode", "constant")
    tensors = _floating(device, args[:1], keywords)
    if mode not in ("reflect", "replicate") or (mode == "reflect" and len(args[1] if len(args) > 1 else keywords["pad"]) == 6):
        return function(*args, **keywords)
    return _wide(function, device, dtype, args, keywords) if tensors else function(*args, **keywords)


def _wide_without_indices(function: Function, device: str, dtype: np.dtype, args: tuple[Any, ...], keywords: dict[str, Any]
                          ) -> Any:
    """Maxima, but not together with their places."""
    if args[6] if len(args) > 6 else keywords.get("return_indices"):
        return function(*args, **keywords)
    return _wide(function, device, dtype, args, keywords)


def _wide_rounded(function: Function, device: str, dtype: np.dtype, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What PyTorch composes of operations in float32 and a last product in the lower precision."""
    return mapped(_wide(function, device, dtype, args, keywords), cast_to(dtype, device))


def _wide_resampling(function: Function, device: str, dtype: np.dtype, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Resampling, but not by averages of areas."""
    mode = args[3] if len(args) > 3 else keywords.get("mode", "nearest")
    if mode == "area":
        return function(*args, **keywords)
    return _wide(function, device, dtype, args, keywords)


def _recurrent_cpu(function: Function, device: str, dtype: np.dtype, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Layers of LSTMs, and RNNs, in the lower precision; what keeps its state apart from the products, in that of the state."""
    mode, _, state, *_ = args
    if mode.startswith("RNN") or (mode == "LSTM" and function.__name__ != "run_step"):
        return _called(function, dtype, device, args, keywords)
    return _called(function, state[0]._array.dtype if eligible(state[0], device) else dtype, device, args, keywords)


def _refused(function: Function, device: str, dtype: np.dtype, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    raise RuntimeError(_REFUSED)


POLICIES: dict[str, Policy] = {
    "lower": _lower, "wide": _wide, "wide_dtype": _wide_dtype, "widest": _widest, "lower_products": _lower_products,
    "wide_padding": _wide_padding, "wide_resampling": _wide_resampling, "wide_without_indices": _wide_without_indices,
    "wide_rounded": _wide_rounded, "recurrent_cpu": _recurrent_cpu, "refused": _refused,
}
