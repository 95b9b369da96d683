"""Parameter and Buffer: the state of a module, as stable handles over arrays.

Moving one to another device swaps the array inside the same object, so the references that optimizers, other modules and
users hold stay valid. Whatever makes different numbers (dtype casts, `copy=True`) or leaves the device world (`cpu()`,
`numpy()`) returns something new, as for every tensor.
"""
from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from .. import _dtypes, backends
from ..autograd.grad_mode import enable_grad
from ..backends import Device
from ..ops import conversion
from ..tensor import Leaf, Tensor, Version, as_array, register_view, version_box, wrap

_OPTIONS = ("track_grad", "resizable", "init", "cast", "ema")


class _StableHandle(Tensor):
    """What Parameter and Buffer share: moving swaps the array inside the object."""

    __slots__ = ()
    _pickled_with_memory = True  # slices of one memory that are state stay tied

    def to(self, *args: Any, **keywords: Any) -> Tensor:
        """Move this object to another device and return it; with a dtype, memory format or `copy=True`, return a new tensor.

        Takes what `Tensor.to` takes: ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(other)``. A move swaps the
        array inside this object, and moves `.grad` along; it is not recorded in any graph.
        """
        target = conversion.destination(*args, **keywords)
        if (target.copy or target.device is None or target.memory_format is not None
                or target.dtype not in (None, self._array.dtype)):
            return conversion.convert(self, target)
        return self._move(target.device)

    def gpu(self, device: Any = None, non_blocking: bool = False) -> Tensor:
        """Move this object to a GPU, GPU 0 by default, and return it."""
        return self._move(Device("gpu" if device is None else device))

    cuda = gpu

    def _move(self, device: Device) -> Tensor:
        # Both arrays are made before either is swapped: if the device has no room, nothing has changed.
        arrays = [(t, backends.to_device(t._array, device)) for t in (self, self._grad) if t is not None]
        for tensor, array in arrays:
            if array is not tensor._array:
                tensor._swap_array(array)
        return self

    def _take(self, data: Any, dtype: Any = None, device: Any = None) -> None:
        """Become a leaf over `data`: the memory of a tensor where dtype and device allow, a copy of anything else."""
        self._array = as_array(data, dtype, device, copy=not isinstance(data, Tensor))
        shared = isinstance(data, Tensor) and self._array is data._array
        self._version_box: Version | None = version_box(data) if shared else None
        self._node = self._grad = self._view = None


class Parameter(_StableHandle):
    """A tensor that is trained: assigned to an attribute of a module, it appears in `parameters()`.

    `Parameter(data)` shares the memory of a tensor `data` and copies anything else; None makes an empty one. Raises
    RuntimeError for integer data unless `requires_grad=False`.
    """

    __slots__ = ()

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        self._take(() if data is None else data)
        self.requires_grad = requires_grad

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        found = memo.get(id(self))
        if found is None:
            # As in PyTorch, a copy of a parameter starts without a gradient.
            grad, self._grad = self._grad, None
            try:
                found = super().__deepcopy__(memo)
            finally:
                self._grad = grad
        return found


class Buffer(_StableHandle):
    """State that is not trained: running statistics, masks, caches. Assigned to an attribute of a module, it appears in
    `buffers()`, moves with `to()`, and is saved by `state_dict()` unless `persistent=False`.

    `data` is a tensor, number, list, or NumPy or CuPy array. The memory of a tensor is shared unless `dtype` or `device`
    require a copy; anything else is copied. `device` defaults to the device of `data`. A buffer has no history: a computed
    tensor is detached, and only a leaf that requires grad makes a buffer that does.

    The options, each an attribute of the buffer too:

    - `persistent=False`: `state_dict()` leaves it out.
    - `track_grad=True`: a computed tensor assigned to the buffer keeps its graph, as in PyTorch.
    - `resizable=True`: `load_state_dict` accepts another shape.
    - `init`: a function without arguments that computes the content. It makes `data` where that is not given, and again
      whenever the content is lost: in `Module.to_empty()`, and where a module on the meta device gets its memory.
    - `cast=False`: `half()`, `to(dtype)` and the other casts of a module leave the dtype alone.
    - `ema`: what moving averages of a model (`optim.swa_utils.AveragedModel`) do with it, "average" or "copy". None averages
      floating-point buffers where the averages are told to use buffers, and copies all others.

    Raises ValueError for another `ema`, TypeError for an `init` that cannot be called.
    """

    __slots__ = ()
    persistent = True
    track_grad = False
    resizable = False
    init: Callable[[], Any] | None = None
    cast = True
    ema: str | None = None
    _replaceable = True
    _declared = True  # made by `Buffer(...)`: assignment registers it; a tensor adopted by register_buffer is an alias

    def __init__(self, data: Any = None, dtype: Any = None, device: Any = None, *, persistent: bool = True,
                 track_grad: bool = False, resizable: bool = False, init: Callable[[], Any] | None = None, cast: bool = True,
                 ema: str | None = None) -> None:
        if ema not in (None, "average", "copy"):
            raise ValueError(f"ema must be 'average', 'copy' or None, not {ema!r}")
        if init is not None and not callable(init):
            raise TypeError(f"init must be a function without arguments, not {type(init).__name__}")
        if data is None:
            data = () if init is None else init()
        self._take(data, dtype, device)
        options = {"track_grad": track_grad, "resizable": resizable, "init": init, "cast": cast, "ema": ema}
        self.persistent = persistent
        self.__dict__.update((name, value) for name, value in options.items() if value != getattr(Buffer, name))
        if isinstance(data, Tensor) and data.requires_grad and _dtypes.is_differentiable(self.dtype):
            if track_grad and self._array is data._array:
                self._follow(data)
            elif data.is_leaf:
                self.requires_grad = True

    @classmethod
    def adopt(cls, tensor: Tensor, persistent: bool = True, options: Mapping[str, Any] = MappingProxyType({})) -> Tensor:
        """The handle that `register_buffer(name, tensor)` registers: `tensor` itself, turned into a Buffer.

        The identity of a registered tensor is kept, so every alias of it follows the module to another device. Only a
        computed tensor is replaced by a new, detached buffer over its memory. A Buffer takes `persistent` from the
        registration; anything else gets `options` too.
        """
        if isinstance(tensor, cls):
            tensor.persistent = persistent
            tensor.assign(tensor)
        elif not tensor.is_leaf:
            return cls(tensor, persistent=persistent, **options)
        elif tensor.__class__ is Tensor:
            tensor.__class__ = cls
            tensor.__dict__.update(persistent=persistent, _declared=False, **options)
        return tensor

    def assign(self, value: Tensor) -> None:
        """Take over the memory of `value`, and with `track_grad` its graph: what assigning to a buffer's name does."""
        if value is not self:
            self._leave_views()
            self._array = value._array
            self._version_box = version_box(value)
            self._view = None
            if self.track_grad:
                self._follow(value)
        if not self.track_grad and (self._node.__class__ is not Leaf or not _dtypes.is_differentiable(self.dtype)):
            self._node = None
        if self._grad is not None and self._grad.shape != self.shape:
            self._grad = None

    def detach_(self) -> Tensor:
        """Cut this buffer off the graph that computed it; the tensor that was assigned to it keeps its graph."""
        self._node = self._view = None
        return self

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient; with `track_grad` that of the leaf that was assigned, if it was one."""
        return self._leaf()._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        leaf = self._leaf()
        if leaf is self:
            Tensor.grad.fset(self, value)  # type: ignore[attr-defined]
        else:
            leaf.grad = value

    @grad.deleter
    def grad(self) -> None:
        self._leaf()._grad = None

    def convert_graph(self, convert: Callable[[Tensor], Tensor]) -> None:
        """Record `convert`, which the array of this buffer is about to go through, in the graph that it keeps, if any."""
        if self._node is not None and (self._node.__class__ is not Leaf or self._leaf() is not self):
            with enable_grad():
                result = convert(wrap(self._array, self._node))
            if result._array is not self._array:
                self._node, self._view = result._node, None

    def _move(self, device: Device) -> Tensor:
        self.convert_graph(lambda tensor: tensor.to(device))
        return super()._move(device)

    def _leaf(self) -> Tensor:
        """The tensor that gradients of this buffer accumulate in."""
        leaf = self._node.tensor() if self._node.__class__ is Leaf else None
        return self if leaf is None else leaf

    def _follow(self, value: Tensor) -> None:
        """Take the graph of `value` as a view of all of it: a write to either gives both the new history."""
        self._node = value._node
        self._view = value._view or (value, _itself)
        box = version_box(value)
        if not any(reference() is self for reference in box.views or ()):
            register_view(box, self)

    def _leave_views(self) -> None:
        """Let the views of this buffer stay with the memory that they see, which goes on as a tensor of its own."""
        box = self._version_box
        found = [reference() for reference in (box.views if box is not None else None) or ()]
        views = [view for view in found if view is not None and view._view is not None and view._view[0] is self]
        if views:
            base = wrap(self._array, self._node)
            base._version_box = box
            for view in views:
                view._view = (base, view._view[1])  # type: ignore[index]

    def _for_graph(self) -> Tensor:
        # A later `assign` gives this object other memory; the recorded operation keeps what it has seen. A strong reference
        # to the buffer would be a cycle where the buffer keeps its graph.
        alias = wrap(self._array, self._node)
        box = alias._version_box = version_box(self)
        alias.__dict__["_saved_from"] = (weakref.ref(self), box.count)  # for error messages
        return alias

    def given_options(self) -> dict[str, Any]:
        """The options that are not the default, but for `persistent`, as keywords of `Buffer`."""
        return {name: self.__dict__[name] for name in _OPTIONS if name in self.__dict__}

    def options(self) -> str:
        """The options that are not the default, as the `repr` of a module shows them: ``resizable, ema='copy'``."""
        shown = [name for name in ("track_grad", "resizable") if getattr(self, name)]
        if self.init is not None:
            shown.append(f"init={getattr(self.init, '__name__', type(self.init).__name__)}")
        shown += [] if self.cast else ["cast=False"]
        shown += [] if self.ema is None else [f"ema={self.ema!r}"]
        return ", ".join(shown)


def _itself(tensor: Tensor) -> Tensor:
    return tensor


def __getattr__(name: str) -> Any:
    # PyTorch has these names here; the module that defines them imports this one.
    if name in ("UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy"):
        from . import uninitialized

        return getattr(uninitialized, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
