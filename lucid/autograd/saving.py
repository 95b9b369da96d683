"""What operations save for their gradients, as a program may see and change it: `saved_tensors_hooks` and what builds on it.

While hooks are active a mode flag takes every operation off its short paths, and the one place that records it (`Op.record`)
hands the tensors in the closure of its gradient rule to `pack_hook`. A vjp that asks `unpack_hook` for them takes its place.

>>> x = lucid.ones(2, requires_grad=True)
>>> with lucid.autograd.graph.save_on_cpu():
...     y = (x * x).sum()
>>> y.backward()
>>> x.grad
Tensor([2.0, 2.0], requires_grad=False)
"""
from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from types import CellType, FunctionType
from typing import Any

from ..tensor import Tensor, Version, version_box, wrap, write_count
from .grad_mode import HOOKS, mode, no_grad
from .node import Node, Slot

Pack = Callable[[Tensor], Any]
Unpack = Callable[[Any], Tensor]
Restore = Callable[[dict[int, Tensor]], Any]  # makes something again; takes the tensors that it has unpacked for the node so far
_stack: ContextVar[tuple[tuple[Pack, Unpack], ...]] = ContextVar("lucid_saved_tensors_hooks", default=())
_refusal: ContextVar[str | None] = ContextVar("lucid_saved_tensors_refusal", default=None)


class saved_tensors_hooks:
    """Call ``pack_hook(tensor)`` for each tensor that operations inside save for their gradients, keep what it returns, and get
    the tensor back by ``unpack_hook(packed)`` when the gradient is computed, also after the context.

    The hook sees the tensor without its graph and must not write to it. Of nested pairs the inner one is called. A write to a
    tensor that was saved is not noticed. An operation may save other tensors than PyTorch's of that name.

    >>> x = lucid.ones(2, requires_grad=True)
    >>> with lucid.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), lambda a: lucid.from_numpy(a)):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    Tensor([2.0, 2.0], requires_grad=False)
    """

    def __init__(self, pack_hook: Pack, unpack_hook: Unpack) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        message = _refusal.get()
        if message is not None:
            raise RuntimeError(message)
        _stack.set((*_stack.get(), (self.pack_hook, self.unpack_hook)))
        mode.set(mode.get() | HOOKS)

    def __exit__(self, *exception: Any) -> None:
        rest = _stack.get()[:-1]
        _stack.set(rest)
        if not rest:
            mode.set(mode.get() & ~HOOKS)


class save_on_cpu(saved_tensors_hooks):
    """Keep on the CPU what operations inside save for their gradients, in page-locked memory with `pin_memory`.

    >>> x = lucid.ones(2, requires_grad=True)
    >>> with lucid.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    Tensor([2.0, 2.0], requires_grad=False)
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            kept: Tensor = tensor.cpu() if tensor.device != "cpu" else tensor.clone()
            return tensor.device, kept.pin_memory() if pin_memory and device_type in ("cuda", "gpu") else kept

        super().__init__(pack, lambda packed: packed[1].to(packed[0], non_blocking=pin_memory))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Let `saved_tensors_hooks` inside raise RuntimeError with this message; so does the context itself if hooks are active.

    >>> with lucid.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     try:
    ...         with lucid.autograd.graph.save_on_cpu():
    ...             pass
    ...     except RuntimeError as error:
    ...         print(error)
    not here
    """
    if _stack.get():
        raise RuntimeError(error_message)
    before = _refusal.get()
    _refusal.set(error_message)
    try:
        yield
    finally:
        _refusal.set(before)


class SavedCopies:
    """What operations in `allow_mutation_on_saved_tensors` have saved: copies, one for each tensor and version."""

    def __init__(self) -> None:
        self._copies: weakref.WeakKeyDictionary[Version, weakref.WeakValueDictionary[Any, Tensor]] = weakref.WeakKeyDictionary()
        self._is_open = False

    def hooks(self) -> saved_tensors_hooks:
        """The hooks of the context."""
        if any(getattr(pack, "__func__", None) is SavedCopies._pack for pack, _ in _stack.get()):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self._is_open = True
        return saved_tensors_hooks(self._pack, self._unpack)

    def clear(self) -> None:
        """Forget everything."""
        self._copies.clear()
        self._is_open = False

    def _pack(self, tensor: Tensor) -> Tensor:
        box = version_box(tensor)
        key = box.count, tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype
        of_memory = self._copies.setdefault(box, weakref.WeakValueDictionary())
        copy = of_memory.get(key)
        if copy is None:
            copy = of_memory[key] = tensor.clone()
        return copy

    def _unpack(self, copy: Tensor) -> Tensor:
        if not self._is_open:
            raise AssertionError("Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph "
                                 "was originally recorded.")
        return copy


class Kept:
    """What `pack_hook` has made of a saved tensor, with the node that it had."""

    __slots__ = ("node", "output", "packed", "unpack")

    def __init__(self, tensor: Tensor, node: Any, output: int | None = None) -> None:
        pack, self.unpack = _stack.get()[-1]
        self.node, self.output = node, output
        with no_grad():
            plain = tensor.detach()
            before = write_count(plain)
            self.packed = pack(plain)
            if write_count(plain) != before:
                raise RuntimeError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
                                   "hook can not be modified by in-place operations as this can lead to unexpected side-effects. "
                                   "Please open an issue if you need to perform in-place operations on the input to a pack hook.")

    def tensor(self, node: Any = None) -> Tensor:
        """The tensor, as a part of the graph."""
        with no_grad():
            found = self.unpack(self.packed)
        if not isinstance(found, Tensor):
            raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                            f"{type(found).__name__}")
        restored = wrap(found._array, self.node if node is None else node)
        restored._version_box = found._version_box
        return restored


def are_active() -> bool:
    """Whether operations are to hand over what they save."""
    return bool(_stack.get())


def pack(node: Node) -> None:
    """Hand what `node` has saved to the hooks."""
    kept: dict[int, Kept] = {}
    restore = _restorer(node.vjp, kept, set())
    outputs = node.kept if node.kept.__class__ is list else None
    if restore is None and outputs is None:
        return
    node.vjp = _restoring(node.vjp if restore is None else None, restore, _outputs(node, outputs), node.vjp.__defaults__)
    node.kept = True


def _outputs(node: Node, entries: list[Any] | None) -> Callable[[], Any] | None:
    """What makes the saved outputs of `node` again, as `Node.output` does."""
    if entries is None:
        return None
    packed: list[tuple[Kept | None, int | None]] = []
    for entry in entries:
        if entry.__class__ is tuple:
            packed.append((Kept(wrap(entry[0]), None), entry[2]))
        else:
            packed.append((None if entry is None else Kept(entry, entry._node), None))
    owner_of = weakref.ref(node)  # the node holds what is returned
    number = next((number for _, number in packed if number is not None), None)

    def restored() -> Any:
        found, owner = [], owner_of()
        for kept, place in packed:
            own = None if place is None or owner is None else owner if place < 0 else Slot(owner, place)
            found.append(None if kept is None else kept.tensor(own))
        return found[0] if number == -1 else tuple(found)

    return restored


def _restoring(plain: Any, restore: Restore | None, outputs: Callable[[], Any] | None, defaults: Any) -> Any:
    """A vjp that gets back what was saved, and calls the rule's."""
    def run(g: Any, **keywords: Any) -> Sequence[Any]:
        vjp = plain if restore is None else restore({})
        y = None if outputs is None else outputs()
        results: Sequence[Any] = vjp(g, y, **keywords)
        if outputs is None:
            return results
        held = {id(t._array) for t in (y if y.__class__ is tuple else (y,)) if t is not None}
        return [r.clone() if r is not None and id(r._array) in held else r for r in results]

    if defaults is None:
        return lambda g, y: run(g)

    def with_needs(g: Any, y: Any, needs: Any = defaults[0]) -> Sequence[Any]:
        return run(g, needs=needs)

    return with_needs


def _restorer(content: Any, kept: dict[int, Kept], seen: set[int]) -> Restore | None:
    """The function that makes `content` again with its tensors unpacked; None if it holds none."""
    if isinstance(content, Tensor):
        key = id(content)
        if key not in kept:
            kept[key] = Kept(content, content._node)
        return functools.partial(_unpacked, key, kept[key])
    if content.__class__ in (tuple, list):
        parts = [_restorer(part, kept, seen) for part in content]
        if not any(parts):
            return None
        kind, others = content.__class__, [part if again is None else None for part, again in zip(content, parts, strict=True)]
        return lambda made: kind([other if again is None else again(made) for other, again in zip(others, parts, strict=True)])
    if content.__class__ is dict:
        values, names = _restorer(list(content.values()), kept, seen), list(content)
        return None if values is None else lambda made: dict(zip(names, values(made), strict=True))
    if content.__class__ is FunctionType and content.__closure__ and id(content) not in seen:
        seen.add(id(content))
        return _function_restorer(content, kept, seen)
    return None


def _unpacked(key: int, kept: Kept, made: dict[int, Tensor]) -> Tensor:
    if key not in made:
        made[key] = kept.tensor()
    return made[key]


def _function_restorer(function: FunctionType, kept: dict[int, Kept], seen: set[int]) -> Restore | None:
    cells = function.__closure__ or ()
    again = [_restorer(cell.cell_contents, kept, seen) for cell in cells]
    if not any(again):
        return None
    others = [cell if restore is None else None for cell, restore in zip(cells, again, strict=True)]
    code, names, name, defaults = function.__code__, function.__globals__, function.__name__, function.__defaults__

    def restored(made: dict[int, Tensor]) -> Any:
        closure = [other if restore is None else CellType(restore(made)) for other, restore in zip(others, again, strict=True)]
        return FunctionType(code, names, name, defaults, tuple(closure))  # type: ignore[arg-type]

    return restored
