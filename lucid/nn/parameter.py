"""Parameter and Buffer, the state of a module, and their uninitialized forms in lazy modules, whose shape is not known yet.

Moving one to another device swaps the array inside the same object, so the references that optimizers, other modules and
users hold stay valid. Whatever makes different elements (dtype casts, `copy=True`) or leaves the device world (`cpu()`,
`numpy()`) returns something new, as for every tensor.
"""
from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Self

from .. import _dtypes, backends
from ..autograd.grad_mode import enable_grad
from ..backends import Device
from ..backends.memory_format import preserve_format
from ..ops import conversion
from ..ops.creation.creation import empty
from ..tensor import Tensor, Version, as_array, as_class, disabled_torch_function, register_view, version_box, wrap
from ..tensor.nodes import Leaf

_OPTIONS = ("track_grad", "resizable", "init", "cast", "ema")


class _StableHandle(Tensor):
    """What Parameter and Buffer share: moving swaps the array inside the object."""

    __slots__ = ()
    __torch_function__ = disabled_torch_function
    _pickled_with_memory = True  # slices of one memory that are state stay tied

    def __new__(cls, *args: Any, **keywords: Any) -> Self:
        return object.__new__(cls)  # `__init__` makes it

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

    def gpu(self, device: Any = None, non_blocking: bool = False, *, memory_format: Any = preserve_format) -> Tensor:
        """Move this object to a GPU, GPU 0 by default, and return it; with a memory format, return a new tensor."""
        return self.to("gpu" if device is None else device, memory_format=memory_format)

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

    >>> module = nn.Module()
    >>> module.weight = nn.Parameter(lucid.ones(2))
    >>> list(module.parameters())
    [Parameter containing:
    Tensor([1.0, 1.0], requires_grad=True)]
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **keywords: Any) -> Any:
        if cls is Parameter and (args or keywords):
            data = args[0] if args else keywords.get("data")
            kind: Any = data.__class__
            if kind is not Tensor and isinstance(data, Tensor) and kind.__torch_function__ is not disabled_torch_function:
                return _of_class(*args, **keywords)
        return object.__new__(cls)

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


def _of_class(data: Tensor, requires_grad: bool = True) -> Any:
    """A parameter over a tensor of a class that overrides functions: of that class too."""
    made = as_class(data.detach(), _class_of_parameters(data.__class__))
    made.requires_grad = requires_grad
    return made


def _class_of_parameters(cls: type[Tensor]) -> type[Parameter]:
    """The class of parameters that are tensors of class `cls`, which overrides functions, and do what those do."""
    found = vars(cls).get("_class_of_parameters")
    if found is not None or issubclass(cls, Parameter):
        return found or cls  # type: ignore[return-value]

    def torch_function(made: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls.__torch_function__(func, tuple([cls if kind is made else kind for kind in types]), args, kwargs)

    attributes = {"__slots__": (), "__torch_function__": classmethod(torch_function), "__module__": cls.__module__,
                  "__init__": lambda self, *args, **keywords: None, "__reduce_ex__": _reduce_of_class, "_class": cls}
    made = cls._class_of_parameters = type(cls.__name__, (cls, Parameter), attributes)  # type: ignore[attr-defined]
    return made


def _reduce_of_class(self: Any, protocol: Any) -> tuple[Any, ...]:
    rebuild, (_, *rest) = Tensor.__reduce_ex__(self, protocol)
    return _rebuilt_of_class, (self._class, rebuild, *rest)


def _rebuilt_of_class(cls: type[Tensor], rebuild: Callable[..., Any], *rest: Any) -> Any:
    return rebuild(_class_of_parameters(cls), *rest)


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

    >>> module = nn.Module()
    >>> module.mean = nn.Buffer(lucid.zeros(2))
    >>> module.state_dict(), list(module.parameters())
    (StateDictionary([('mean', Tensor([0.0, 0.0], requires_grad=False))]), [])
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


class UninitializedError(ValueError, RuntimeError):
    """An uninitialized parameter or buffer was used. PyTorch raises RuntimeError for its shape, ValueError for the rest."""


class UninitializedTensorMixin:
    """What uninitialized parameters and buffers share.

    They know their dtype, device and `requires_grad`, which `to()` and the casts of a module change. The array that every
    operation asks for is out of reach, so whatever needs elements or their shape raises UninitializedError. `data` is the
    empty tensor that holds dtype and device.
    """

    __slots__ = ()
    cls_to_become: type[Tensor]
    requires_grad: bool
    _pickled_with_memory: bool

    @property
    def _array(self) -> Any:
        raise UninitializedError(
            f"Attempted to use an uninitialized parameter or buffer ({type(self).__name__}): its shape is not known yet. Call "
            "the module with an input, or materialize(shape), first.")

    @_array.setter
    def _array(self, array: Any) -> None:
        Tensor._array.__set__(self, array)

    @property
    def data(self) -> Tensor:
        """An empty tensor with the dtype and on the device that this will have."""
        return wrap(Tensor._array.__get__(self))

    @data.setter
    def data(self, value: Tensor) -> None:
        Tensor.data.fset(self, value)  # type: ignore[attr-defined]

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or buffer of `shape`, with arbitrary elements; the object stays the same.

        `device` and `dtype` are those it has, unless given. Returns None.
        """
        remembered = self.data
        self.data = empty(shape, device=remembered.device if device is None else device,
                          dtype=remembered.dtype if dtype is None else dtype)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def to(self, *args: Any, **keywords: Any) -> Tensor:
        """Move this object to another device and return it; with another dtype or `copy=True`, return an empty tensor."""
        device, dtype, copied = conversion.destination(*args, **keywords)[:3]
        if copied or (dtype is not None and dtype != self.data.dtype):
            return self.data.to(*args, **keywords)
        return self if device is None else self._move(device)  # type: ignore[return-value]

    def _move(self, device: Device) -> Any:
        self.data = self.data.to(device)
        return self

    def share_memory_(self) -> Any:
        """There is no memory to share: raises UninitializedError."""
        return self._array

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            make, arguments = self.__reduce_ex__(4)[:2]
            memo[id(self)] = result = make(*arguments)
            result.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        made = type(self), (self.requires_grad, self.data.device, self.data.dtype)
        kept = self.__dict__ and self._pickled_with_memory  # PyTorch's have no more than that
        return (*made, self.__dict__) if kept else made


def _of_empty(name: str) -> Any:
    """A method or property that asks the empty tensor; where that answers with itself, this object is the answer."""
    if isinstance(getattr(Tensor, name), property):
        return property(lambda self: getattr(self.data, name))

    def method(self: UninitializedTensorMixin, *args: Any, **keywords: Any) -> Any:
        data = self.data
        result = getattr(data, name)(*args, **keywords)
        return self if result is data else result

    return method


for _name in ("dtype", "device", "is_gpu", "is_cuda", "is_meta", "ndim", "itemsize", "nbytes", "size",
              "half", "float", "double", "char", "short", "int", "long", "cpu"):
    setattr(UninitializedTensorMixin, _name, _of_empty(_name))


def _refused(self: UninitializedTensorMixin, *args: Any, **keywords: Any) -> Any:
    return self._array  # raises


# These would find something else to complain about first: that the tensor is a leaf, or requires grad.
for _name in dir(Tensor):
    if _name == "numpy" or (_name.endswith("_") and _name[0] != "_" and _name != "requires_grad_") or _name in (
            "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__"):
        setattr(UninitializedTensorMixin, _name, _refused)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet; `materialize(shape)` turns it into a `Parameter`.

    Raises RuntimeError for an integer dtype unless ``requires_grad=False``.

    >>> parameter = nn.UninitializedParameter()
    >>> parameter.materialize((2, 3))
    >>> parameter.shape
    lucid.Size([2, 3])
    """

    __slots__ = ()
    cls_to_become: type[Tensor] = Parameter

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        self._fill((), requires_grad, dtype, device)


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose shape is not known yet; `materialize(shape)`, or a tensor assigned to its name, turns it into a `Buffer`.

    The other options of a buffer are attributes: ``buffer.cast = False``.

    >>> buffer = nn.UninitializedBuffer()
    >>> buffer.materialize((2, 3))
    >>> buffer.shape
    lucid.Size([2, 3])
    """

    __slots__ = ()
    cls_to_become: type[Tensor] = Buffer

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> None:
        self._fill((), requires_grad, dtype, device)
        self.persistent = persistent

    def assign(self, value: Tensor) -> None:
        """Become a buffer with the memory of `value`."""
        if value is not self:
            self.__class__ = self.cls_to_become  # type: ignore[assignment]
            self.assign(value)


def is_lazy(param: Any) -> bool:
    """Whether `param` is an uninitialized parameter or buffer."""
    return isinstance(param, UninitializedTensorMixin)
