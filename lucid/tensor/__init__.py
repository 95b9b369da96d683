"""Tensor: an array and its node in the graph. `lucid.ops` adds the operations as methods, `lucid.autograd` computes gradients.

`base`: shape, dtype, device and other attributes.
`graph`: gradients and hooks.
`nodes`: the base of the graph's nodes, and the leaves, where gradients end.
`sharing`: its memory, shared with NumPy, DLPack and other processes.
`protocols`: Python's protocols: numbers, sequences and text.
`pickling`: deep copies and pickles.
`construction`, `python_data`: arrays from the arguments of constructors.
`format`: the printed form.
`size`: the shape, a tuple.
`version`: counts the writes to a piece of memory.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, Self, TypeVar

import numpy as np

from .. import _clock as clock
from .. import _dtypes, backends
from .._namespace.lazy import load
from ..backends import storage
from ..backends.pickling import Shared
from . import base, graph, nodes, pickling, protocols, version
from .base import Answer, TensorBase
from .construction import as_array, from_arguments
from .nodes import Retainer
from .sharing import Sharing
from .size import Size
from .version import Version, mark_inference, record_update, register_view, version_box, write_count

__all__ = [
    "Answer", "Size", "Tensor", "Version", "array_behind", "as_array", "as_class", "disabled_torch_function",
    "mark_inference", "record_update", "register_view", "succeed", "version_box", "wrap", "write_count",
]

_new: Callable[..., Any] = object.__new__
Kind = TypeVar("Kind")


def _run_disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of a class whose tensors are treated as plain ones."""
    with load("lucid.overrides.state:DisableTorchFunctionSubclass")():
        return func(*args, **(kwargs or {}))


disabled_torch_function: Any = _run_disabled


class Tensor(graph.Graph, Sharing, protocols.Protocols):
    """A multi-dimensional array on one device, with automatic differentiation.

    The arguments are read as those of PyTorch's constructor: ``Tensor(2, 3)`` and ``Tensor(Size([2, 3]))`` are memory as it is
    found, of that shape; ``Tensor([1, 2])``, of a nested sequence or an array, holds these elements in the default dtype (complex
    ones stay complex), and shares the memory of an array that has it; ``Tensor(tensor)`` is a view of all of a tensor.

    What PyTorch refuses is read as by lucid 2.x, ``Tensor(data, requires_grad=False, dtype=None, device=None)``: a number,
    `requires_grad` or `dtype` beside data, and a tensor with a device. It makes a leaf with a copy of `data`, in which numbers
    and tensors keep their dtypes. `lucid.tensor` keeps them all.

    The names and behaviour of methods are PyTorch's (https://docs.pytorch.org/docs/2.13/tensors.html). Raises TypeError for
    data that is not numeric, ValueError for ragged sequences, and RuntimeError for negative sizes and for a dtype that cannot
    require grad.

    >>> lucid.Tensor([1, 2])
    Tensor([1.0, 2.0], requires_grad=False)
    """

    __slots__ = ()

    def __new__(cls, data: Any = (), *more: Any, requires_grad: bool | None = None, dtype: Any = None,
                device: str | backends.Device | None = None) -> Self:
        self = _new(cls)
        self._fill(data, *more, requires_grad=requires_grad, dtype=dtype, device=device)
        return self

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.__torch_function__ is not disabled_torch_function:
            load("lucid.overrides.switching:watch_class")(cls)

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        """What a function does with a tensor of a class derived from Tensor: its results are of that class."""
        return load("lucid.overrides.subclasses:in_subclass")(cls, func, types, args, kwargs)

    @staticmethod
    def _make_subclass(cls: type, data: Tensor, require_grad: bool = False, **keywords: Any) -> Any:
        """A leaf of class `cls` over the memory of `data`."""
        if not isinstance(data, Tensor):
            raise TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type(data).__name__}")
        made = as_class(data.detach(), cls)
        made.requires_grad = require_grad
        return made

    def as_subclass(self, cls: type[Kind]) -> Kind:
        """This tensor as one of class `cls`, a class derived from Tensor: a view of all of it, with its history.

        >>> type(lucid.ones(2).as_subclass(nn.Parameter)).__name__
        'Parameter'
        """
        return as_class(self[...], cls)

    def _fill(self, data: Any = (), *more: Any, requires_grad: bool | None = None, dtype: Any = None,
              device: str | backends.Device | None = None) -> None:
        """What the constructor does."""
        self._node = self._grad = self._version_box = self._view = None
        if isinstance(data, Tensor) and not more and requires_grad is dtype is device is None:
            self._become(data[...])
        else:
            self._array, requires_grad = from_arguments(data, more, requires_grad, dtype, device)
            if requires_grad:
                self.requires_grad = True

    def _become(self, view: Tensor) -> None:
        """Take the place of `view`, a tensor that nobody else has."""
        self._array, self._node, self._version_box, self._view = view._array, view._node, view._version_box, view._view
        box = view._version_box
        if box is not None and any(reference() is view for reference in box.views or ()):
            register_view(box, self)

    @property
    def data(self) -> Tensor:
        """The same memory without graph or version tracking. Assigning a tensor replaces the memory.

        >>> x = lucid.ones(2, requires_grad=True)
        >>> x.data.mul_(3)
        Tensor([3.0, 3.0], requires_grad=False)
        >>> x
        Tensor([3.0, 3.0], requires_grad=True)
        """
        backends.versions.share(self._array)
        result = wrap(self._array)
        if self._version_box is not None and self._version_box.conjugates is not None:
            self._share_conjugates(result)
        return result

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"data must be a Tensor, not {type(value).__name__}")
        if self._node is not None and not _dtypes.is_differentiable(value.dtype):
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        self._swap_array(value._array)

    def _swap_array(self, array: Any) -> None:
        """Put another array behind this object; tensors saved for a gradient notice by the version."""
        if self._version_box is not None:
            self._version_box.bump()
        self._array = array
        # The new memory has a history of its own, which begins with this write.
        self._version_box = Version()
        self._version_box.bump()

    def _for_graph(self) -> Tensor:
        """What a recorded operation saves: this tensor, unless it is `_replaceable`."""
        return self

    def detach(self) -> Tensor:
        """The same memory without the graph; in-place writes to it are still tracked.

        >>> x = lucid.ones(2, requires_grad=True)
        >>> (x * 2).detach()
        Tensor([2.0, 2.0], requires_grad=False)
        """
        array = self._array
        if array.__class__ is not np.ndarray and hasattr(array, "is_sparse"):
            array = array.mapped(lambda part: part)  # the same memory, but what is kept can change
        result = wrap(array)
        box = version_box(self)
        result._version_box = Version() if box.inference else box  # an ordinary tensor again, as in PyTorch
        if box.conjugates is not None:
            self._share_conjugates(result)
        return result

    def detach_(self) -> Tensor:
        """Cut this tensor off the graph that computed it.

        >>> y = lucid.ones(2, requires_grad=True) * 2
        >>> y.detach_()
        Tensor([2.0, 2.0], requires_grad=False)
        """
        if self._view is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        self._node = None
        return self

    def free(self) -> None:
        """Let go of the memory, the graph and the gradient; the tensor has no elements afterwards (a name of lucid 2.x).

        >>> x = lucid.ones(2)
        >>> x.free()
        >>> lucid.is_tensor(x)  # without its memory
        True
        """
        self._grad = self._node = self._view = None
        self._swap_array(self._array[:0].copy() if self._array.ndim else self._array.reshape(1)[:0].copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
                               "at the moment; detach() this one first.")
        if id(self) in memo:
            found: Tensor = memo[id(self)]
            return found
        result = _new(self.__class__)
        memo[id(self)] = result
        result._array = self._array.copy() if hasattr(self._array, "is_sparse") else storage.copy(self._array, memo)
        result._version_box = copy.deepcopy(self._version_box, memo)
        result._node = result._grad = result._view = None
        result.requires_grad = self.requires_grad
        result._grad = copy.deepcopy(self._grad, memo)
        pickling.restore(result, copy.deepcopy(pickling.state_of(self), memo))
        return result

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # As in PyTorch, what is computed comes back as a leaf.
        if hasattr(self._array, "is_sparse"):
            parts = [wrap(part) for part in self._array.parts()]
            sparse = self._array.__class__, parts, self._array.facts()
            return pickling.unpickle_sparse, (self.__class__, *sparse, self.requires_grad, self._grad, self.__dict__)
        memory, place = Shared.of(self._array, self._pickled_with_memory)
        memory.version = version_box(self)
        state = pickling.state_of(self)
        return pickling.unpickle, (self.__class__, memory, place, self.requires_grad, self._grad, state)


def as_class(tensor: Tensor, cls: type) -> Any:
    """`tensor`, which nobody else has, as one of class `cls`."""
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(f"cls must be a class derived from Tensor, not {cls!r}")
    made = _new(cls)
    made._become(tensor)
    made._grad = None
    return made


def wrap(array: Any, node: Any = None) -> Tensor:
    """A tensor around an array, without a copy."""
    tensor: Tensor = _new(Tensor)
    tensor._array = array
    tensor._node = node
    tensor._grad = tensor._version_box = tensor._view = None
    return tensor


def array_behind(tensor: Tensor) -> Any:
    """The array of a tensor, also of an uninitialized one, whose array is out of reach."""
    return Tensor._array.__get__(tensor)


def succeed(tensor: Tensor, node: Any) -> None:
    """Give `tensor` the history `node` after a write to its memory. `retain_grad` keeps the gradient of the new elements; other
    hooks stay with those that they were registered for.
    """
    old = tensor._node
    tensor._node = node
    if old is not None and old.hooks:
        for key, hook in list(old.hooks.items()):
            if hook.__class__ is Retainer and hook.tensor() is tensor:
                del old.hooks[key]
                tensor.register_hook(hook)


for _part in (base, graph, nodes, pickling, protocols, version):
    vars(_part)["Tensor"] = Tensor  # for those who read its annotations
_unpickle, _unpickle_sparse = pickling.unpickle, pickling.unpickle_sparse  # as pickles of earlier versions name them
