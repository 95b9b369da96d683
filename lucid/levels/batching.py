"""Operations on batched arrays: by the rule of their family, or one batch element after the other."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .lifted import Batched, Level, call, handlers
from .rules import RULES
from .rules.basis import at, put_into, unbatched_target

Array = Any

# What a loop over the batch would write again and again, as it changes arguments that have no batch dimension.
_IN_PLACE = frozenset("sgd adam multi_tensor_sgd multi_tensor_adam increment".split())
_warned: set[str] = set()
warnings_enabled = True


def batch(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """The result of operation `name`, of which some arguments are batched at `level`, the outermost."""
    out = attributes.get("out")
    if out is not None:
        attributes = {key: value for key, value in attributes.items() if key != "out"}
    if out is not None and not _is_batched(level, (*arrays, *attributes.values())):
        result = call(name, arrays, attributes)
    else:
        rule = RULES.get(name)
        result = NotImplemented if rule is None else rule(level, name, arrays, attributes)
        if result is NotImplemented:
            result = one_by_one(level, name, arrays, attributes)
    if out is None:
        return result
    if out.__class__ is tuple:
        return tuple([new if given is None else put_into(level, name, given, new)
                      for given, new in zip(out, result, strict=True)])
    return put_into(level, name, out, result)


handlers[Batched] = batch


def _is_batched(level: Level, values: Sequence[Any]) -> bool:
    return any(_is_batched(level, value) if value.__class__ is tuple or value.__class__ is list else at(level, value)
               for value in values)


def one_by_one(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """The operation for each element of the batch, and the results stacked. Warns once for each operation."""
    if name in _IN_PLACE:
        raise unbatched_target(name)
    if name == "nonzero":
        raise RuntimeError("vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
                           "nonzero, or an index by a mask. Where possible use where() and the like, whose shapes do not "
                           "depend on the elements.")
    if name not in _warned and warnings_enabled:
        _warned.add(name)
        warnings.warn(f"There is a performance drop because we have not yet implemented the batching rule for {name}: it is "
                      "computed for one element of the batch after the other.", UserWarning, stacklevel=2)
    if not level.size:
        raise RuntimeError(f"vmap: op '{name}' has no batching rule, and there is nothing to compute for a batch of size 0")
    results = [call(name, [part_of(level, array, number) for array in arrays],
                    {key: part_of(level, value, number) for key, value in attributes.items()}) for number in range(level.size)]
    if results[0].__class__ is not tuple:
        return _stacked(level, name, results)
    return tuple([_stacked(level, name, parts) for parts in zip(*results, strict=True)])


def part_of(level: Level, value: Any, number: int) -> Any:
    """Element `number` of the batch of an argument, also of those in tuples and lists; the argument itself if it has none."""
    if value.__class__ is Batched and value.level is level:
        return call("getitem", (value.value,), {"index": (number, Ellipsis)})
    if value.__class__ is tuple or value.__class__ is list:
        return value.__class__(part_of(level, item, number) for item in value)
    return value


def _stacked(level: Level, name: str, parts: Sequence[Any]) -> Any:
    if parts[0] is None:
        return None
    if any(part.shape != parts[0].shape for part in parts):
        raise RuntimeError(f"vmap: op '{name}' returns a shape that depends on the elements, and differs from one element of "
                           "the batch to the other")
    return Batched(level, call("stack", parts, {"axis": 0}))
