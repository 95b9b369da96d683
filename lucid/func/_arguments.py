"""What the transforms do with their arguments and results: positions, containers, names."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..tensor import Tensor

Argnums = int | tuple[int, ...]


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, as errors give it."""
    if hasattr(function, "__name__"):
        return str(function.__name__)
    if isinstance(function, functools.partial):
        return f"functools.partial({name_of(function.func)}, ...)"
    return repr(function)


def positions_of(argnums: Argnums, count: int) -> tuple[int, ...]:
    """The positions that `argnums` means of `count` arguments. Raises RuntimeError for others."""
    if not isinstance(argnums, (int, tuple)) or isinstance(argnums, bool):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    given = (argnums,) if isinstance(argnums, int) else argnums
    if not given:
        raise RuntimeError("argnums must be non-empty")
    found = []
    for number in given:
        if not isinstance(number, int):
            raise RuntimeError(f"argnum must be int, got: {type(number)}")
        if not -count <= number < count:
            raise RuntimeError(f"Got argnum={number}, but only {count} positional inputs")
        found.append(number % count)
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple(found)


def chosen(args: Sequence[Any], argnums: Argnums) -> Any:
    """The arguments at `argnums`: one, or a tuple."""
    positions = positions_of(argnums, len(args))
    return args[positions[0]] if isinstance(argnums, int) else tuple([args[position] for position in positions])


def replaced(args: Sequence[Any], argnums: Argnums, new: Any) -> tuple[Any, ...]:
    """`args` with `new` at `argnums`."""
    result = list(args)
    for position, value in zip(positions_of(argnums, len(args)), (new,) if isinstance(argnums, int) else new, strict=True):
        result[position] = value
    return tuple(result)


def split_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """The output of a function and what it returns beside it, None without `has_aux`."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def require_tensors(values: Sequence[Any], name: str) -> list[Tensor]:
    """`values`, which a function returned. Raises RuntimeError unless all are tensors."""
    for value in values:
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(value)}")
    return list(values)


def refuse_complex(name: str, tensors: Sequence[Any], is_input: bool) -> None:
    """Raise RuntimeError for complex tensors, of which a Jacobian has no one meaning."""
    if any(isinstance(tensor, Tensor) and tensor.is_complex() for tensor in tensors):
        what = "inputs" if is_input else "outputs"
        raise RuntimeError(f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: "
                           f"{next(i for i, t in enumerate(tensors) if isinstance(t, Tensor) and t.is_complex())}")


def basis(tensors: Sequence[Tensor], start: int, stop: int) -> list[Tensor]:
    """Rows `start` to `stop` of the unit matrix over all elements of `tensors`, in the shapes of those."""
    rows, begin = [], 0
    for tensor in tensors:
        count = tensor.numel()
        row = tensor.detach().new_zeros((stop - start, count))
        first, last = max(start, begin), min(stop, begin + count)
        if first < last:
            row[first - start:last - start, first - begin:last - begin].fill_diagonal_(1)
        rows.append(row.reshape((stop - start, *tensor.shape)))
        begin += count
    return rows
