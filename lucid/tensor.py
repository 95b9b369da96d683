"""Tensor: an array plus its graph node. Operations are attached by `lucid.ops`, gradients by `lucid.autograd`."""
from __future__ import annotations

import copyreg
import math
import operator
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from sys import getrefcount
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from . import _clock as clock
from . import _dtypes, _nodes, _recording, backends
from ._format import format_tensor
from ._hooks import RemovableHandle
from ._namespace.lazy import load
from ._nodes import Caster, Leaf, Retainer
from ._python_data import from_python
from .backends import dlpack, pickling, shared_memory, storage
from .backends.memory_format import MemoryFormat, contiguous_format, is_contiguous

if TYPE_CHECKING:
    from ._tensor_methods import TensorMethods
else:
    TensorMethods = object  # its methods are those that lucid.ops attaches

_new: Callable[..., Any] = object.__new__


def _run_disabled(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of a class whose tensors are treated as plain ones."""
    with load("lucid.overrides.state:DisableTorchFunctionSubclass")():
        return func(*args, **(kwargs or {}))


disabled_torch_function: Any = _run_disabled


class Version:
    """The in-place writes to one piece of memory, shared by every tensor that views it."""

    __slots__ = ("__weakref__", "count", "inference", "stamp", "views")

    def __init__(self) -> None:
        self.count = 0  # writes so far
        self.stamp = 0  # the clock at the last write
        self.inference = False  # made in inference_mode: must not be saved for a gradient
        self.views: set[weakref.ref[Tensor]] | None = None  # live differentiable views, to rebase after a write

    def __reduce__(self) -> tuple[Any, ...]:
        return Version, ()  # a copy of the memory has a history of its own

    def bump(self) -> None:
        """Record a write."""
        self.count += 1
        self.stamp = clock.last_write = clock.tick()


class Answer(int):
    """True or False that can be called as well."""

    def __call__(self) -> bool:
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))


_YES, _NO = Answer(True), Answer(False)


class Tensor(TensorMethods):
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

    __slots__ = ("__dict__", "__weakref__", "_array", "_grad", "_node", "_version_box", "_view")
    __array_priority__ = 1000  # NumPy on the left of an operator leaves the work to Tensor
    _replaceable = False  # whether other memory, with a history of its own, may be put behind the object
    _pickled_with_memory = False  # whether the pickle of a slice holds all the memory that it is a slice of

    _array: Any
    _node: Any
    _grad: Tensor | None
    _version_box: Version | None
    _view: tuple[Tensor, Callable[[Tensor], Tensor]] | None
    _refuse_grad: Callable[[], None]

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

    def as_subclass(self, cls: type) -> Any:
        """This tensor as one of class `cls`, a class derived from Tensor: a view of all of it, with its history.

        >>> type(lucid.ones(2).as_subclass(nn.Parameter)).__name__
        'Parameter'
        """
        return as_class(self[...], cls)

    def _fill(self, data: Any = (), *more: Any, requires_grad: bool | None = None, dtype: Any = None,
              device: str | backends.Device | None = None) -> None:
        """What the constructor does."""
        self._node = self._grad = self._version_box = self._view = None
        plain = requires_grad is dtype is None
        shape = _sizes(data, more) if plain else None
        if shape is not None:
            self._array = _empty(shape, device)
        elif plain and not more and device is None and isinstance(data, Tensor):
            self._become(data[...])
        else:
            if more:
                requires_grad, dtype, device = _in_order(more, requires_grad, dtype, device)
                plain = False
            if dtype is None and not isinstance(data, (Tensor, *_NUMBERS)):
                device = device if hasattr(data, "dtype") or device is not None else backends.default_device()
                data, dtype = _collected(data)
            self._array = as_array(data, dtype, device, copy=not (plain and isinstance(data, np.ndarray)))
            if requires_grad:
                self.requires_grad = True

    def _become(self, view: Tensor) -> None:
        """Take the place of `view`, a tensor that nobody else has."""
        self._array, self._node, self._version_box, self._view = view._array, view._node, view._version_box, view._view
        box = view._version_box
        if box is not None and any(reference() is view for reference in box.views or ()):
            register_view(box, self)

    # ---- what it is ----------------------------------------------------------------------------------------------
    @property
    def shape(self) -> Size:
        """The lengths of the dimensions, a tuple.

        >>> lucid.zeros(2, 3).shape
        lucid.Size([2, 3])
        """
        return Size(self._array.shape)

    @property
    def dtype(self) -> np.dtype:
        """The element type, a NumPy dtype object.

        >>> lucid.ones(2).dtype, lucid.tensor([1]).dtype
        (dtype('float32'), dtype('int64'))
        """
        dtype: np.dtype = self._array.dtype
        return dtype

    @property
    def device(self) -> backends.Device:
        """Where the memory is; compares equal to 'cpu', 'gpu', 'gpu:1'.

        >>> lucid.ones(2).device
        device(type='cpu')
        """
        return backends.device_of(self._array)

    @property
    def ndim(self) -> int:
        """The number of dimensions.

        >>> lucid.zeros(2, 3).ndim
        2
        """
        return int(self._array.ndim)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is on a GPU.

        >>> lucid.ones(2).is_cuda
        False
        """
        return self._array.__class__ is not np.ndarray and self.device.type == "gpu"

    @property
    def is_gpu(self) -> Answer:
        """Whether the memory is on a GPU: as an attribute, and as the method that it is in lucid 2.x.

        >>> lucid.ones(2).is_gpu
        False
        """
        return _YES if self._array.__class__ is not np.ndarray and self.device.type == "gpu" else _NO

    @property
    def is_meta(self) -> bool:
        """Whether the tensor is on the device 'meta': it has shape and dtype, but no memory.

        >>> lucid.ones(2, device="meta").is_meta
        True
        """
        return self._array.__class__ is not np.ndarray and self.device.type == "meta"

    @property
    def itemsize(self) -> int:
        """Bytes of one element.

        >>> lucid.zeros(2, 3).itemsize
        4
        """
        return int(self._array.itemsize)

    def element_size(self) -> int:
        """Bytes of one element.

        >>> lucid.zeros(2, 3).element_size()
        4
        """
        return int(self._array.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements.

        >>> lucid.zeros(2, 3).nbytes
        24
        """
        return int(self._array.nbytes)

    def dim(self) -> int:
        """The number of dimensions.

        >>> lucid.zeros(2, 3).dim()
        2
        """
        return int(self._array.ndim)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of dimension `dim`. Raises IndexError if there is no such dimension.

        >>> lucid.zeros(2, 3).size(), lucid.zeros(2, 3).size(1)
        (lucid.Size([2, 3]), 3)
        """
        shape = self._array.shape
        if dim is None:
            return Size(shape)
        if not -len(shape) <= dim < len(shape):
            raise IndexError(f"Dimension out of range (expected to be in range of [{-len(shape)}, {len(shape) - 1}], "
                             f"but got {dim})")
        return int(shape[dim])

    def numel(self) -> int:
        """The number of elements.

        >>> lucid.zeros(2, 3).nelement()
        6
        """
        return int(self._array.size)

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Steps between neighbours along each dimension, or along `dim`, counted in elements.

        >>> lucid.zeros(2, 3).stride(), lucid.zeros(2, 3).T.stride()
        ((3, 1), (1, 3))
        """
        steps = tuple(step // self._array.itemsize for step in self._array.strides)
        return steps if dim is None else steps[dim]

    def is_contiguous(self, *, memory_format: MemoryFormat = contiguous_format) -> bool:
        """Whether the elements lie in memory without gaps, in row-major order or in `memory_format`.

        >>> lucid.zeros(2, 3).is_contiguous(), lucid.zeros(2, 3).T.is_contiguous()
        (True, False)
        """
        return is_contiguous(self._array, memory_format)

    def is_floating_point(self) -> bool:
        """Whether the dtype is a real floating-point type.

        >>> lucid.tensor([1.0]).is_floating_point(), lucid.tensor([1]).is_floating_point()
        (True, False)
        """
        return _dtypes.is_floating(self.dtype)

    def is_complex(self) -> bool:
        """Whether the dtype is complex.

        >>> lucid.tensor([1j]).is_complex()
        True
        """
        return bool(self.dtype.kind == "c")

    def data_ptr(self) -> int:
        """The address of the first element; 0 on the device 'meta'.

        >>> x = lucid.arange(4)
        >>> x[1:].data_ptr() - x.data_ptr()
        8
        """
        if self.is_meta:
            return 0
        backends.note_read(self._array)
        backends.versions.share(self._array)
        return storage.address(self._array)

    def is_shared(self) -> bool:
        """Whether the memory can be shared with other processes: after `share_memory_()`, and on a GPU, as in PyTorch.

        >>> lucid.ones(2).is_shared(), lucid.ones(2).share_memory_().is_shared()
        (False, True)
        """
        return self.is_cuda or shared_memory.block_of(self._array) is not None

    def share_memory_(self) -> Tensor:
        """Put the elements into memory that other processes can share, and return the tensor; on a GPU nothing happens.

        A process that gets the tensor as an argument or through a queue or pipe of `multiprocessing` then sees the same
        elements, and each sees what the other writes. What this tensor is a view of and the differentiable views of it move
        along; other tensors over the old memory, such as detached ones and NumPy arrays, stay with that. Raises RuntimeError
        on the device 'meta'.

        >>> lucid.ones(2).share_memory_().is_shared()
        True
        """
        if self.is_meta:
            raise RuntimeError("share_memory_: a tensor on the device 'meta' has no memory to share")
        if not self.is_shared():
            whole = storage.owner(self._array)
            shared = shared_memory.share(whole)
            views = () if self._version_box is None else self._version_box.views or ()
            tensors = [self, self._base, *[reference() for reference in views]]
            for tensor in dict.fromkeys(t for t in tensors if t is not None and storage.owner(t._array) is whole):
                tensor._array = storage.follow(whole, shared, tensor._array)
        return self

    # ---- graph ---------------------------------------------------------------------------------------------------
    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded. Settable on leaves only.

        >>> x = lucid.ones(2, requires_grad=True)
        >>> x.requires_grad, (x * 2).requires_grad, x.detach().requires_grad
        (True, True, False)
        """
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value and clock.any_inference and self.is_inference():
            self._refuse_grad()
        if value == (self._node is not None):
            return
        if not value:
            if self._node.__class__ is not Leaf:
                raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a "
                                   "computed variable in a subgraph that doesn't require differentiation use "
                                   "var_no_grad = var.detach().")
            self._node = None
        elif not _dtypes.is_differentiable(self.dtype):
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients, "
                               f"not {self.dtype.name}")
        else:
            self._node = Leaf(self)
            if "_grad_dtype" in self.__dict__:
                self._cast_gradients()

    def requires_grad_(self, mode: bool = True, *, requires_grad: bool | None = None) -> Tensor:
        """Set `requires_grad` to `mode`, or to the argument of that name, and return the tensor.

        >>> lucid.ones(2).requires_grad_()
        Tensor([1.0, 1.0], requires_grad=True)
        """
        self.requires_grad = mode if requires_grad is None else requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor was not computed from tensors that require grad.

        >>> x = lucid.ones(1, requires_grad=True)
        >>> x.is_leaf, (x * 2).is_leaf
        (True, False)
        """
        return self._node is None or self._node.__class__ is Leaf

    @property
    def grad_fn(self) -> Any:
        """The graph node that computed this tensor; None for a leaf.

        >>> x = lucid.ones(1, requires_grad=True)
        >>> x.grad_fn is None, (x * 2).grad_fn is None
        (True, False)
        """
        return None if self.is_leaf else self._node.edge()[0]

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient, a tensor of the same shape, dtype and device, or None.

        >>> x = lucid.tensor([3.0], requires_grad=True)
        >>> x.grad is None
        True
        >>> (x ** 2).sum().backward()
        >>> x.grad
        Tensor([6.0], requires_grad=False)
        """
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got {type(value).__name__}")
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            wanted = self.__dict__.get("_grad_dtype", self.dtype)
            if wanted is not None and wanted != value.dtype:
                raise RuntimeError(f"assigned grad has dtype {value.dtype}, but the tensor has grad_dtype {wanted}; with "
                                   "grad_dtype None it takes any")
            for what in ("device", "shape"):
                if getattr(value, what) != getattr(self, what):
                    raise RuntimeError(f"assigned grad has {what} {getattr(value, what)}, but the tensor has "
                                       f"{what} {getattr(self, what)}")
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_dtype(self) -> Any:
        """The dtype that `grad` has, by default that of the tensor: gradients are cast to it. None: a gradient of any dtype may
        be assigned. Only leaves have it.

        >>> x = lucid.ones(2, requires_grad=True)
        >>> x.grad_dtype = lucid.float64
        >>> x.sum().backward()
        >>> x.grad.dtype
        dtype('float64')
        """
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return self.__dict__.get("_grad_dtype", self.dtype)

    @grad_dtype.setter
    def grad_dtype(self, dtype: Any) -> None:
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        if dtype is not None:
            if dtype.__class__ not in _dtypes.CLASSES:
                raise RuntimeError(f"grad_dtype must be a dtype or None, but got {type(dtype).__name__}")
            dtype = _dtypes.as_dtype(dtype)
        if dtype is not None and not _dtypes.is_differentiable(dtype):
            raise RuntimeError(f"grad_dtype must be a floating-point or complex dtype, but got {dtype}")
        if self._grad is not None and dtype is not None and self._grad.dtype != dtype:
            raise RuntimeError(f"Cannot set grad_dtype to '{dtype}' because there is already a gradient with dtype "
                               f"'{self._grad.dtype}'. Please clear the gradient (.grad = None) before.")
        self.__dict__["_grad_dtype"] = dtype
        if self._node is not None:
            self._cast_gradients()

    def _cast_gradients(self) -> None:
        """Let a hook, before those of the user, cast what this leaf gets."""
        hooks = self._node.hooks
        if hooks is None:
            hooks = self._node.hooks = OrderedDict()
        if not any(hook.__class__ is Caster for hook in hooks.values()):
            RemovableHandle.add(hooks, Caster(self), prepend=True)

    @property
    def _version(self) -> int:
        return 0 if self._version_box is None else self._version_box.count

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view[0]

    def is_inference(self) -> bool:
        """Whether the tensor was made in `inference_mode`.

        >>> with lucid.inference_mode():
        ...     x = lucid.ones(2)
        >>> x.is_inference()
        True
        """
        return self._version_box is not None and self._version_box.inference

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
        return wrap(self._array)

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

    def is_distributed(self) -> bool:
        """Whether its elements are those of several processes: never.

        >>> lucid.ones(1).is_distributed()
        False
        """
        return False

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` when the gradient of this tensor is known; a returned tensor replaces it.

        >>> x = lucid.ones(2, requires_grad=True)
        >>> handle = x.register_hook(lambda gradient: gradient * 10)
        >>> x.sum().backward()
        >>> x.grad
        Tensor([10.0, 10.0], requires_grad=False)
        """
        if self._node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._node.hooks is None:
            self._node.hooks = OrderedDict()
        return RemovableHandle.add(self._node.hooks, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(tensor)` after `.grad` of this leaf has been accumulated.

        >>> x = lucid.ones(2, requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda x: print("the gradient is", x.grad))
        >>> x.sum().backward()
        the gradient is Tensor([1.0, 1.0], requires_grad=False)
        """
        if self._node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._node.__class__ is not Leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._node.post_accumulate_hooks is None:
            self._node.post_accumulate_hooks = OrderedDict()
        return RemovableHandle.add(self._node.post_accumulate_hooks, hook)

    def retain_grad(self) -> None:
        """Keep `.grad` of a tensor that is not a leaf: that of its elements as they are when they are used, after all hooks.

        >>> x = lucid.ones(2, requires_grad=True)
        >>> y = x * 2
        >>> y.retain_grad()
        >>> (y * y).sum().backward()
        >>> y.grad
        Tensor([4.0, 4.0], requires_grad=False)
        """
        if self._node is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self._node.__class__ is not Leaf and not self.retains_grad:
            self.register_hook(Retainer(self))

    @property
    def retains_grad(self) -> bool:
        """Whether a non-leaf tensor keeps its gradient.

        >>> y = lucid.ones(2, requires_grad=True) * 2
        >>> y.retain_grad()
        >>> y.retains_grad
        True
        """
        hooks = None if self._node is None else self._node.hooks
        return hooks is not None and any(hook.__class__ is Retainer and hook.tensor() is self for hook in hooks.values())

    # ---- out of the tensor ---------------------------------------------------------------------------------------
    def item(self) -> Any:
        """The only element, as a Python number. Raises RuntimeError if there are more or none, and on the device 'meta'.

        >>> lucid.tensor([2.5]).item()
        2.5
        """
        array = self._array
        if array.size != 1:
            raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
        if array.__class__ is not np.ndarray and self.is_meta:
            raise RuntimeError("Tensor.item() cannot be called on meta tensors: they have no elements")
        value = backends.to_host(array).item()
        return float(value) if array.dtype.kind == "V" else value

    def tolist(self) -> Any:
        """The elements as nested lists of Python scalars; a 0-d tensor gives the scalar.

        >>> lucid.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return backends.to_host(self._array).tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"Unable to avoid copy: a tensor of dtype {array.dtype} has no array of dtype {np.dtype(dtype)}")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[Any, int] | None = None, copy: bool | None = None) -> Any:
        """A capsule of DLPack with the memory, or with a copy if `copy`, or if it is to be on another device, `dl_device`.

        It is a versioned one if `max_version` allows it. Raises BufferError for a tensor that requires grad, for one without
        memory and for a device that needs a copy if `copy` is False.
        """
        if self._node is not None:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.is_meta:
            raise BufferError("a tensor on the device 'meta' has no memory to share")
        if stream is not None and not isinstance(stream, int):
            raise TypeError("stream must be ``int`` or ``none``")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            if dl_device[0] not in (1, 2):
                raise BufferError(f"a tensor cannot go to the device {tuple(dl_device)} of DLPack")
            if copy is False:
                raise BufferError(f"a tensor on {self.device} cannot go to the device {tuple(dl_device)} of DLPack "
                                  "without a copy")
            moved = self.to("cpu" if dl_device[0] == 1 else backends.Device("gpu", dl_device[1]))
            return moved.__dlpack__(stream=stream if dl_device[0] == 2 else None, max_version=max_version)
        backends.note_read(self._array)
        backends.versions.share(self._array)
        return dlpack.capsule_of(self._array, stream, max_version, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.is_meta:
            raise BufferError("a tensor on the device 'meta' has no memory to share")
        kind, index = storage.bits_of(self._array).__dlpack_device__()
        return int(kind), int(index)

    @property
    def __cuda_array_interface__(self) -> Any:
        if not self.is_gpu:
            raise AttributeError("a tensor on the cpu has no __cuda_array_interface__")
        if self._node is not None:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad. Use var.detach() first.")
        backends.note_read(self._array)
        backends.versions.share(self._array)
        return self._array.__cuda_array_interface__

    def __bool__(self) -> bool:
        if self._array.size != 1:
            size = "no values" if self._array.size == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {size} is ambiguous")
        return bool(self.item())

    def __int__(self) -> int:
        return int(self._real_number("int64"))

    def __float__(self) -> float:
        return float(self._real_number("float64"))

    def __complex__(self) -> complex:
        return complex(self._number())

    def _number(self) -> Any:
        """The only element, for Python's conversions: those of libraries try others after a ValueError, not a RuntimeError."""
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def _real_number(self, kind: str) -> Any:
        number = self._number()
        if number.__class__ is complex:
            if number.imag:
                raise RuntimeError(f"value cannot be converted to type {kind} without overflow: {number}")
            return number.real
        return number

    def __index__(self) -> int:
        if self._array.dtype.kind not in "biu" or self._array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)

    def __iter__(self) -> Iterator[Tensor]:
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> bool:
        if not isinstance(element, (Tensor, int, float, complex, np.generic)):
            raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
        return bool((self == element).any().item())

    __hash__ = object.__hash__  # by identity; `==` compares elements

    def _repr_html_(self) -> str:
        return str(load("lucid._notebook:tensor")(self))

    def __repr__(self) -> str:
        return format_tensor(self)

    def __format__(self, specification: str) -> str:
        return format(self.item(), specification) if self.ndim == 0 else object.__format__(self, specification)

    def __dir__(self) -> list[str]:
        return sorted(set(object.__dir__(self)))

    # ---- copies --------------------------------------------------------------------------------------------------
    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
                               "at the moment; detach() this one first.")
        if id(self) in memo:
            found: Tensor = memo[id(self)]
            return found
        import copy

        result = _new(self.__class__)
        memo[id(self)] = result
        result._array = self._array.copy() if hasattr(self._array, "is_sparse") else storage.copy(self._array, memo)
        result._version_box = copy.deepcopy(self._version_box, memo)
        result._node = result._grad = result._view = None
        result.requires_grad = self.requires_grad
        result._grad = copy.deepcopy(self._grad, memo)
        _restore(result, copy.deepcopy(_state_of(self), memo))
        return result

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # As in PyTorch, what is computed comes back as a leaf.
        if hasattr(self._array, "is_sparse"):
            parts = [wrap(part) for part in self._array.parts()]
            return _unpickle_sparse, (self.__class__, self._array.__class__, parts, self._array.facts(), self.requires_grad,
                                      self._grad, self.__dict__)
        memory, place = pickling.Shared.of(self._array, self._pickled_with_memory)
        memory.version = version_box(self)
        return _unpickle, (self.__class__, memory, place, self.requires_grad, self._grad, _state_of(self))


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple with `numel()`, as in PyTorch. Slices, sums and multiples of it are of its class too.

    >>> size = lucid.zeros(2, 3).shape
    >>> size, size.numel(), size[-1]
    (lucid.Size([2, 3]), 6, 3)
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"lucid.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        part = tuple.__getitem__(self, index)
        return Size(part) if isinstance(index, slice) else part

    def __add__(self, other: Any) -> Size:
        return Size((*self, *other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Size:
        return Size((*other, *self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, other: Any) -> Size:
        try:
            return Size(tuple(self) * operator.index(other))
        except TypeError:
            return NotImplemented

    __rmul__ = __mul__


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


def version_box(tensor: Tensor) -> Version:
    """The version shared by all tensors on this memory, made when first needed."""
    box = tensor._version_box
    if box is None:
        box = tensor._version_box = Version()
    return box


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


def register_view(box: Version, view: Tensor) -> None:
    """Remember a live differentiable view, so that a write can give it its new history."""
    if box.views is None:
        box.views = set()
    box.views.add(weakref.ref(view, box.views.discard))


def bump_all(tensors: Iterable[Tensor]) -> None:
    """Record one write to each of several tensors."""
    clock.last_write = now = clock.tick()
    for box in [tensor._version_box or version_box(tensor) for tensor in tensors]:
        box.count += 1
        box.stamp = now


def _references() -> int:
    """How many references there are to a version that a tensor alone has, while a function looks at it."""
    tensor = wrap(np.empty(0))
    box = version_box(tensor)
    return getrefcount(box)


_ALONE = _references()


def record_update(state: Tensor) -> None:
    """Record a write to the state of a module that every step updates, such as running statistics.

    A recorded operation saves an alias of a buffer, which shares its version. Where nothing shares that, no saved tensor is
    stale, and the clock of writes stands still: else each backward would look at the saved tensors of all nodes before the last
    batch norm, a fifth of what the engine takes for a small network.
    """
    box = version_box(state)
    if state._replaceable and box.views is None and not box.inference:
        if getrefcount(box) == _ALONE:
            box.count += 1
            box.stamp = clock.tick()
            return
        successor = Version()
        successor.count, successor.stamp = box.count + 1, clock.tick()
        reference, state._version_box = weakref.ref(box), successor
        del box
        shared = reference()
        if shared is None:  # nobody else had it
            return
        state._version_box = box = shared
    box.bump()


vars(_nodes)["Tensor"] = Tensor  # for those who read its annotations
_NUMBERS = (bool, int, float, complex, np.generic)  # single ones keep the kinds of their own


def _sizes(data: Any, more: tuple[Any, ...]) -> tuple[int, ...] | None:
    """The shape that the arguments of `Tensor` give: a Size, or integers of any class. None if they are data."""
    if isinstance(data, Size):
        return None if more else tuple(data)
    if isinstance(data, (bool, np.bool_)) or (isinstance(data, Tensor) and not more):
        return None
    try:
        sizes = tuple(map(operator.index, (data, *more)))
    except TypeError:
        return None
    for size in sizes:
        if size < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {size}: {list(sizes)}")
    return sizes


def _empty(shape: tuple[int, ...], device: Any) -> Any:
    place = backends.default_device() if device is None else backends.Device(device)
    return backends.create("empty", place, {"shape": shape, "dtype": _dtypes.get_default_dtype()})


def _in_order(given: tuple[Any, ...], requires_grad: Any, dtype: Any, device: Any) -> list[Any]:
    """`requires_grad`, `dtype` and `device`, of which the first ones are `given` by position."""
    named = [requires_grad, dtype, device]
    if len(given) > len(named) or any(value is not None for value in named[:len(given)]) or not isinstance(given[0], bool):
        raise TypeError("Tensor() takes sizes, or data, requires_grad, dtype and device")
    return [*given, *named[len(given):]]


def _collected(data: Any) -> tuple[Any, np.dtype]:
    """An array or sequence, and the dtype that a tensor of it has by default."""
    if not hasattr(data, "dtype"):
        data = from_python(data, None, Tensor, floating=True)
    return data, _dtypes.default_complex() if np.dtype(data.dtype).kind == "c" else _dtypes.get_default_dtype()


def mark_inference(tensor: Tensor) -> None:
    """Note that `tensor` was made in inference_mode, and must not be saved for a gradient."""
    clock.any_inference = clock.any_guarded = True
    version_box(tensor).inference = True


def as_array(data: Any, dtype: Any = None, device: Any = None, copy: bool = False) -> Any:
    """An array made of `data` with `dtype` on `device`; None keeps what an array or tensor has.

    Scalars and sequences become the default float dtype, int64, bool or the default complex dtype. Raises TypeError for data that
    is not numeric, and without a `dtype` for arrays of one that we do not have, such as those of unsigned 64-bit integers and of
    C's long double; ValueError for ragged sequences.
    """
    wanted, made = None if dtype is None else _dtypes.as_dtype(dtype), False
    if isinstance(data, Tensor):
        array = data._array
    elif isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
    elif hasattr(data, "__cuda_array_interface__"):
        array = backends.gpu_module().as_array(data)
        backends.versions.share(array)
    elif hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        array = np.asarray(data)
    else:
        array, copy, made = from_python(data, wanted, Tensor), False, True
        if device is None:
            device = backends.default_device()
    if not array.dtype.isnative:
        array, copy = array.astype(array.dtype.newbyteorder("=")), False
    if wanted is not None and array.dtype != wanted and (array.dtype.kind in "biufc" or array.dtype in _dtypes.CATEGORY):
        array, copy = _converted(array, wanted), False
    else:
        array = backends.held(array)
    if device is not None:
        target = backends.Device(device)
        moved = backends.to_device(array, target)
        array, copy = moved, copy and moved is array
    if made:
        return _recording.constant(array)
    return backends.row_major_copy(array) if copy else array


def _converted(array: Any, dtype: np.dtype) -> Any:
    """`array` as another dtype of tensors."""
    if array.dtype.__class__ in _dtypes.STORED_CLASSES:
        array = backends.held(array)
    return backends.run("cast", (array,), {"dtype": dtype}) if dtype.__class__ in _dtypes.STORED_CLASSES else array.astype(dtype)


def _unpickle_sparse(cls: type[Tensor], kind: Any, parts: list[Tensor], facts: tuple[Any, ...], requires_grad: bool,
                     grad: Tensor | None, attributes: dict[str, Any]) -> Tensor:
    tensor = cls.__new__(cls)
    tensor._array = kind(*[part._array for part in parts], *facts)
    tensor._version_box = tensor._node = tensor._view = None
    tensor._grad = grad
    tensor.requires_grad = requires_grad
    tensor.__dict__.update(attributes)
    return tensor


def _unpickle(cls: type[Tensor], memory: pickling.Shared, place: storage.Part | None, requires_grad: bool,
              grad: Tensor | None, state: Any) -> Tensor:
    tensor = _new(cls)
    tensor._array = storage.take(memory.array, place)
    if memory.version is None:
        memory.version = Version()
    tensor._version_box = memory.version
    tensor._node = tensor._view = None
    tensor._grad = grad
    tensor.requires_grad = requires_grad
    _restore(tensor, state)
    return tensor


def _state_of(tensor: Tensor) -> Any:
    """The attributes of a tensor, and with them those in slots of its class; what its own `__getstate__` says."""
    cls = tensor.__class__
    own = getattr(cls, "__getstate__", None)
    if own is not getattr(object, "__getstate__", None) and own is not None:
        return own(tensor)
    slots = {name: getattr(tensor, name) for name in _slots_of(cls) if hasattr(tensor, name)}
    return (tensor.__dict__, slots) if slots else tensor.__dict__


def _slots_of(cls: type) -> list[str]:
    """The slots that classes derived from Tensor have beside its own."""
    return [name for name in copyreg._slotnames(cls) if name not in Tensor.__slots__]  # type: ignore[attr-defined]


def _restore(tensor: Tensor, state: Any) -> None:
    """Give a tensor what `_state_of` another was."""
    own = getattr(tensor.__class__, "__setstate__", None)
    if own is not None:
        own(tensor, state)
        return
    attributes, slots = state if isinstance(state, tuple) else (state, {})
    tensor.__dict__.update(attributes)
    for name, value in slots.items():
        setattr(tensor, name, value)
