"""The conversion of a module's state: each memory once, inside the same objects, and undone after an error."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ....backends import storage
from ....tensor import Tensor, Version, array_behind, wrap
from ...parameter import Buffer, Parameter, is_lazy
from .registry import Registry
from .rollback import Rollback

Convert = Callable[[Tensor], Tensor]


class MemoisedConversion:
    """A conversion of the state of `root` that treats each array once: what shared one before shares one afterwards.

    A buffer with ``cast=False`` goes through `uncast` instead of `convert`. All tensors over one array are converted together,
    and the array is free before the next one is converted: there must be room for one array more. With `elementwise` (the
    functions treat elements one by one, wherever they lie) that holds for all tensors over one memory, whatever part of it
    each shows. With `reversible` (the functions change nothing but device, dtype and memory format) `roll_back` can go back.
    With `themselves` the functions get the tensors, which they may know, and not others over their arrays.
    """

    def __init__(self, convert: Convert, root: Registry, uncast: Convert | None = None, *, elementwise: bool = False,
                 reversible: bool = False, themselves: bool = False) -> None:
        self._convert = convert
        self._uncast = uncast or convert
        self._root = root
        self._themselves = themselves
        self._memory: Callable[[Any], Any] = storage.owner if elementwise else _itself
        self._rollback = Rollback(reversible)
        self._current: Tensor | None = None  # what is being converted
        self._done: set[int] = set()  # tensors by identity; the modules keep them alive
        self._steady: set[int] = set()  # those that go through `uncast`
        self._holders: dict[int, list[Tensor]] = {}  # id of a memory not yet converted -> the tensors over it
        for _, member, tensor in _state(root):
            self._holders.setdefault(id(self._memory(array_behind(tensor))), []).append(tensor)
            if isinstance(member, Buffer) and not member.cast:
                self._steady.add(id(tensor))

    def __call__(self, tensor: Tensor) -> Tensor:
        """What `fn(tensor)` gives in an `_apply` that a class overrides to convert tensors of its own, too."""
        if isinstance(tensor, (Parameter, Buffer)):
            self.swap(tensor)
            return tensor
        return self._convert(tensor)

    def swap(self, tensor: Tensor) -> None:
        """Swap the converted array into `tensor`, and that of its gradient into its gradient."""
        for target in (tensor, tensor._grad):
            if target is not None and id(target) not in self._done:
                self._current = target
                memory = self._memory(array_behind(target))
                others = self._holders.pop(id(memory), ())
                together = [target, *(t for t in others if t is not target and self._memory(array_behind(t)) is memory)]
                if not self._swap(memory, together):
                    for array in {id(array_behind(t)): array_behind(t) for t in together}.values():
                        self._swap(array, [t for t in together if array_behind(t) is array])
                self._current = None

    def _swap(self, memory: Any, tensors: list[Tensor]) -> bool:
        """Convert `memory`, or as much of it as `tensors` show; False, with nothing changed, if they cannot be views of the
        result as they are views of `memory`.
        """
        arrays = [array_behind(tensor) for tensor in tensors]
        if all(array is arrays[0] for array in arrays):
            memory = arrays[0]
        elif all(array.dtype == arrays[0].dtype for array in arrays):
            memory = storage.elements_of(memory, arrays[0])
        functions = [self._uncast if id(tensor) in self._steady else self._convert for tensor in tensors]
        if any(_would_cast(function, array) for array, function in zip(arrays, functions, strict=True)
               if array.dtype != memory.dtype):
            return False  # bits seen as two dtypes: only moved can both be views of the result
        given = tensors[0] if self._themselves and not is_lazy(tensors[0]) else wrap(memory)
        results = {function: function(given)._array for function in dict.fromkeys(functions)}
        converted = [storage.follow(memory, results[function], array)
                     for array, function in zip(arrays, functions, strict=True)]
        if any(array is None for array in converted):
            return False
        for function, result in results.items():
            if result is not memory:
                self._rollback.record(memory, result, [t for t, f in zip(tensors, functions, strict=True) if f is function])
        versions: dict[Convert, Version | None] = {}
        for tensor, function, array in zip(tensors, functions, converted, strict=True):
            self._done.add(id(tensor))
            if isinstance(tensor, Buffer):
                tensor.convert_graph(function)
            if results[function] is not memory:
                tensor._swap_array(array)
                tensor._version_box = versions.setdefault(function, tensor._version_box)
                tensor._view = None
        return True

    def roll_back(self, error: BaseException) -> None:
        """Convert back what has been converted before `error`, as far as that is possible, and say so in notes at it."""
        names = {id(tensor): name for name, _, tensor in _state(self._root)}
        if self._current is not None and id(self._current) in names:
            error.add_note(f"It happened at {names[id(self._current)]}.")
        for note in self._rollback.run(names):
            error.add_note(note)


def _itself(array: Any) -> Any:
    return array


def _would_cast(function: Convert, array: Any) -> bool:
    """Whether `function` gives arrays like `array` another dtype."""
    none = wrap(array.reshape(1)[:0] if array.ndim == 0 else array[:0])
    return bool(function(none).dtype != array.dtype)




def _state(root: Registry) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Triples (a name for messages, parameter or buffer, itself or its gradient)."""
    for kind, members in (("parameter", root.named_parameters()), ("buffer", root.named_buffers())):
        for name, member in members:
            yield f"{kind} '{name}'", member, member
            if member._grad is not None:
                yield f"the gradient of '{name}'", member, member._grad
