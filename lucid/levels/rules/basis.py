"""What the rules of batched arrays share: ``rule(level, name, arrays, attributes)`` computes with the arrays inside."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..lifted import Batched, Level, call

Array = Any
Rule = Callable[[Level, str, Sequence[Any], dict[str, Any]], Any]


def new_rules() -> tuple[dict[str, Rule], Callable[..., Callable[[Rule], Rule]]]:
    """A table, and the decorator that enters a rule under the names of its operations."""
    table: dict[str, Rule] = {}

    def enter(*names: str) -> Callable[[Rule], Rule]:
        def decorate(rule: Rule) -> Rule:
            for name in " ".join(names).split():
                table[name] = rule
            return rule

        return decorate

    return table, enter


def at(level: Level, array: Any) -> bool:
    """Whether `array` has the batch dimension of `level`."""
    return array.__class__ is Batched and array.level is level


def inner(level: Level, array: Any) -> Any:
    """What is computed with: the array with its batch dimension, or as it is if it has none."""
    return array.value if array.__class__ is Batched and array.level is level else array


def rank(array: Any) -> int:
    """The number of dimensions, of a Python scalar 0."""
    return array.ndim if hasattr(array, "dtype") else 0


def lift(level: Level, result: Any) -> Any:
    """The result, or results, of an operation on arrays with batch dimensions."""
    if result.__class__ is tuple:
        return tuple([None if part is None else Batched(level, part) for part in result])
    return Batched(level, result)


def reshaped(array: Array, shape: Sequence[int]) -> Array:
    """A view in another shape where there is one."""
    return array if array.shape == tuple(shape) else call("reshape", (array,), {"shape": tuple(shape)})


def permuted(array: Array, *axes: int) -> Array:
    """A view with the dimensions in another order."""
    return call("transpose", (array,), {"axes": axes})


def moved(array: Array, source: int, target: int) -> Array:
    """A view with dimension `source` at `target`."""
    axes = [axis for axis in range(array.ndim) if axis != source]
    axes.insert(target, source)
    return permuted(array, *axes)


def expanded(array: Array, shape: Sequence[int]) -> Array:
    """A view repeated to `shape`."""
    return array if array.shape == tuple(shape) else call("broadcast_to", (array,), {"shape": tuple(shape)})


def spread(level: Level, array: Any) -> Array:
    """The array with its batch dimension; one without any is repeated."""
    if at(level, array):
        return array.value
    return expanded(reshaped(array, (1, *array.shape)), (level.size, *array.shape))


def aligned(level: Level, array: Any, ndim: int) -> Array:
    """The array with its batch dimension in front of `ndim` others; what has none is returned as it is."""
    if not at(level, array):
        return array
    value = array.value
    missing = ndim - (value.ndim - 1)
    return value if missing <= 0 else reshaped(value, (value.shape[0], *(1,) * missing, *value.shape[1:]))


def dimension(axis: int, ndim: int) -> int:
    """A dimension of the array inside, for one of an array of `ndim` dimensions."""
    return int(axis) % ndim + 1 if ndim else 1


def merged(array: Array) -> Array:
    """The batch dimension and the one after it as one."""
    return reshaped(array, (array.shape[0] * array.shape[1], *array.shape[2:]))


def unmerged(level: Level, array: Array) -> Array:
    """`merged` undone."""
    size = level.size
    return reshaped(array, (size, array.shape[0] // size if size else 0, *array.shape[1:]))


def shares(view: Any, source: Any) -> bool:
    """Whether an array is over the memory of another one."""
    base, owner = view.base, source.base
    return (view if base is None else base) is (source if owner is None else owner)


def as_view(level: Level, result: Any, source: Any) -> Any:
    """`result` as a lifted array, a view of `source` if its memory is."""
    if result.__class__ is tuple:
        return tuple([as_view(level, part, source) for part in result])
    lifted = Batched(level, result)
    if shares(result, source.value):
        lifted.base = source if source.base is None else source.base
    return lifted


def unbatched_target(name: str) -> RuntimeError:
    """The error of a write of batched elements to memory that has no place for them."""
    return RuntimeError("vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
                        "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but "
                        f"`self` not being vmapped over in a vmap (op '{name}'). Please try to use out-of-place operators "
                        "instead of inplace arithmetic. If said operator is being called inside the PyTorch framework, please "
                        "file a bug report instead.")


def put_into(level: Level, name: str, out: Any, result: Any) -> Any:
    """Copy `result` into the array `out`, and return that."""
    if not at(level, out):
        if at(level, result):
            raise unbatched_target(name)
        return call("copy", (result,), {"out": out})
    if not at(level, result):
        call("copy", (result,), {"out": out.value})
    elif result.value is not out.value:
        call("copy", (expanded(aligned(level, result, out.ndim), out.value.shape),), {"out": out.value})
    return out
