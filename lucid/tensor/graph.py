"""Graph: what a tensor has to do with gradients, `requires_grad`, `grad` and hooks."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from .. import _clock as clock
from .. import _dtypes
from .._hooks import RemovableHandle
from .base import TensorBase
from .nodes import Caster, Leaf, Retainer

if TYPE_CHECKING:
    from . import Tensor


class Graph(TensorBase):
    """Gradients and hooks of a tensor."""

    __slots__ = ()

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

    def requires_grad_(self, mode: bool = True, *, requires_grad: bool | None = None) -> Self:
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
            if not isinstance(value, TensorBase):
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
