"""`Function`: operations whose forward and backward are written by the user.

The node of the graph is at the same time the `ctx` that both methods get, as in PyTorch: no cycle arises, because saved
outputs are kept as arrays and rebuilt as tensors when they are read.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .. import backends
from ..tensor import Tensor, version_box, wrap
from ..tensor.nodes import Leaf
from .engine import _modified
from .errors import type_name
from .grad_mode import GRAD, LEVELS, no_grad
from .grad_mode import mode as grad_mode
from .inplace import bump_all, rebase, refuse_leaf
from .levels import lifted
from .node import Node, Slot
from .saving import Kept, are_active
from .views import Unwritable, share_unwritable

_VIEW = ("This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
         "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
         "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function.")
_Meta = tuple[tuple[int, ...], Any, Any]  # shape, dtype, device


class FunctionNode(Node):
    """One call of a `Function`: its node in the graph, and the `ctx` of its forward and backward.

    `needs_input_grad` tells for each argument of `apply` whether its gradient is wanted. Attributes may be set freely.
    """

    foreign = True

    def __init__(self, function: type[Function], inputs: Sequence[Any]) -> None:
        self._function = function
        tensors = [x if isinstance(x, Tensor) else None for x in inputs]
        super().__init__(f"{function.__name__}Backward", [None if t is None else t._node for t in tensors],
                         None, kept=())  # type: ignore[arg-type]  # `kept`: there is something to free
        self.needs_input_grad = tuple(parent is not None for parent in self.parents)
        self._input_meta: list[_Meta | None] = [None if t is None else _meta(t) for t in tensors]
        self._output_meta: list[_Meta | None] = []
        self._materialize = True
        self._to_save: Sequence[Any] = ()
        self._saved: list[Any] | None = []  # tuples, or `Kept`
        self._dirty: Sequence[Tensor] = ()
        self._constant: Sequence[Tensor] = ()
        self._for_forward: Sequence[Tensor | None] = ()
        self._in_forward = False
        if grad_mode.get() & LEVELS:
            self.parents = lifted(self.parents, tuple([t._array for t in tensors if t is not None]))

    # ---- what forward and setup_context call ---------------------------------------------------------------------
    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs, outputs or intermediate tensors for backward, which finds them in `saved_tensors`."""
        for number, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument {number} is of type "
                                f"{type(tensor).__name__}")
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`, which finds them in `saved_tensors`."""
        self._for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs forward has written in place; they must be returned as well."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (the default) or None for outputs that have no gradient."""
        self._materialize = value

    # ---- what backward uses --------------------------------------------------------------------------------------
    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`. Raises RuntimeError if they are freed or were written since."""
        if self._saved is None and not self._in_forward:
            raise RuntimeError("Trying to backward through the graph a second time (or directly access saved tensors after "
                               "they have already been freed). Saved intermediate values of the graph are freed when you "
                               "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
                               "through the graph a second time or if you need to access saved tensors after calling "
                               "backward.")
        if self._in_forward:
            return tuple(self._for_forward)
        tensors: list[Tensor | None] = []
        for entry in self._saved or ():
            if entry is None:
                tensors.append(None)
                continue
            if entry.__class__ is Kept:
                place = entry.output
                tensors.append(entry.tensor(None if place is None else self if place < 0 else Slot(self, place)))
                continue
            array, box, count, node, output = entry
            if box.count != count:
                raise RuntimeError(_modified(self, wrap(array), "input" if output is None else "output"))
            if output is not None:
                node = self if output < 0 else Slot(self, output)
            tensor = wrap(array, node)
            tensor._version_box = box
            tensors.append(tensor)
        return tuple(tensors)

    @property
    def vjp(self) -> Any:
        """What the engine calls: backward with its arguments and results checked."""
        return self._vjp

    @vjp.setter
    def vjp(self, value: Any) -> None:
        if hasattr(self, "_saved"):  # the engine frees the graph: backward can run again, without what was saved
            self._saved = None

    def _vjp(self, g: Any, y: Any) -> Sequence[Any]:
        upstream: list[Any] = list(g) if g.__class__ is list else [g]
        upstream += [None] * (len(self._output_meta) - len(upstream))
        if self._materialize:
            for number, meta in enumerate(self._output_meta):
                if upstream[number] is None and meta is not None:
                    upstream[number] = _zeros(meta)
        results = self._function._backward_method()(self, *upstream)
        if results.__class__ is list:
            results = tuple(results)
        elif results.__class__ is not tuple:
            results = (results,)
        expected = len(self._input_meta)
        if len(results) > expected and all(extra is None for extra in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise RuntimeError(f"function {self.op} returned an incorrect number of gradients (expected {expected}, got "
                               f"{len(results)})")
        return [None if result is None else self._checked(result, number) for number, result in enumerate(results)]

    def _checked(self, gradient: Any, number: int) -> Tensor | None:
        """A gradient that backward returned, with the shape and dtype of its input."""
        meta = self._input_meta[number]
        if meta is None:
            raise RuntimeError(f"function {self.op} returned a gradient different from None at position {number + 1}, but "
                               "the corresponding forward input was not a Variable")
        if not isinstance(gradient, Tensor):
            raise TypeError(f"function {self.op} returned a {type(gradient).__name__} as gradient {number}, not a Tensor")
        if not self.needs_input_grad[number]:
            return None
        shape, dtype, device = meta
        if gradient._array.shape != shape:
            gradient = _sum_to(gradient, shape, self.op, number)
        if gradient.device != device:
            raise RuntimeError(f"Function {self.op} returned an invalid gradient at index {number} - expected device "
                               f"{device} but got {gradient.device}")
        return gradient if gradient._array.dtype == dtype else gradient.to(dtype)

    # ---- after forward -------------------------------------------------------------------------------------------
    def _finish(self, inputs: Sequence[Any], outputs: list[Any], alone: bool, record: bool) -> list[Any]:
        """Give the outputs their place in the graph and keep what backward needs."""
        for tensor in self._dirty:
            if not _among(tensor, outputs):
                raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. "
                                   "The inputs that are modified inplace must all be outputs of the Function.")
            if record:
                refuse_leaf(tensor)
            bump_all((tensor,))
        finished: list[Any] = []
        for number, output in enumerate(outputs):
            if isinstance(output, Tensor) and not _among(output, self._dirty):
                source = output
                as_is = _among(output, inputs)
                if as_is or output._node.__class__ is Leaf:
                    output = output.detach()  # an input handed through becomes a tensor of its own
                if source._view is not None or (as_is and not _among(source, self._constant)):
                    share_unwritable(output, source, Unwritable(f"Output {number} of {self.op}", _VIEW))
            finished.append(output)
        if not record:
            return finished
        self._output_meta = [_meta(t) if isinstance(t, Tensor) else None for t in finished]
        positions: dict[int, int] = {}  # the number of each differentiable output, -1 for the only output
        for number, (before, output) in enumerate(zip(outputs, finished, strict=True)):
            if (not isinstance(output, Tensor) or _among(before, self._constant)
                    or not (output.is_floating_point() or output.is_complex())):
                continue
            node = self if alone else Slot(self, number)
            if _among(output, self._dirty):
                rebase(output, node)
            else:
                output._node = node
            if output is before:
                positions[id(output)] = -1 if alone else number
        self._save(positions)
        return finished

    def _save(self, positions: dict[int, int]) -> None:
        self._saved = []
        for tensor in self._to_save:
            if tensor is None:
                self._saved.append(None)
                continue
            output = positions.get(id(tensor))
            if are_active():
                self._saved.append(Kept(tensor, None if output is not None else tensor._node, output))
                continue
            box = version_box(tensor)
            # An output is kept without its node: the node must not hold itself.
            self._saved.append((tensor._array, box, box.count, None if output is not None else tensor._node, output))
        self._to_save = self._dirty = self._constant = ()


FunctionCtx = FunctionNode  # PyTorch's name, for annotations


def _overridden(function: Any) -> Callable[..., Any]:
    """A method whose overrides name their arguments as they like: so a checker of types lets them."""
    return function


class Function:
    """A differentiable operation defined by two static methods, called with ``MyFunction.apply(...)``.

    ``forward(ctx, *args)`` computes the output, a tensor or a tuple; or ``forward(*args)`` with
    ``setup_context(ctx, inputs, output)`` beside it. ``backward(ctx, *grad_outputs)`` returns one gradient, or None, for each
    argument of forward. Gradients written with lucid operations differentiate again. PyTorch's documentation applies:
    https://docs.pytorch.org/docs/2.13/autograd.html#function

    >>> class Square(lucid.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         x, = ctx.saved_tensors
    ...         return 2 * x * g
    >>> x = lucid.tensor([1.0, 2.0], requires_grad=True)
    >>> Square.apply(x).sum().backward()
    >>> x.grad
    Tensor([2.0, 4.0], requires_grad=False)
    """

    def __init__(self, *args: Any, **keywords: Any) -> None:
        raise RuntimeError(f"{type(self).__name__} should not be instantiated. Methods on autograd functions are all static, "
                           "so you should invoke them on the class itself: use .apply(...).")

    @staticmethod
    def forward(*args: Any, **keywords: Any) -> Any:
        """Compute the output. To be overridden.

        >>> class Power(lucid.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x, n):
        ...         return x ** n
        >>> Power.apply(lucid.tensor([2.0, 3.0]), 2)
        Tensor([4.0, 9.0], requires_grad=False)
        """
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    @_overridden
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Store in `ctx` what backward needs, if forward does not take `ctx`. To be overridden.

        >>> class Square(lucid.autograd.Function):
        ...     @staticmethod
        ...     def forward(x):
        ...         return x * x
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         ctx.save_for_backward(*inputs)
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return 2 * ctx.saved_tensors[0] * g
        >>> lucid.func.grad(Square.apply)(lucid.tensor(3.0))
        Tensor(6.0, requires_grad=False)
        """
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    @_overridden
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradients of the inputs. To be overridden.

        >>> class Ten(lucid.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x.clone()
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return g * 10
        >>> x = lucid.ones(2, requires_grad=True)
        >>> Ten.apply(x).sum().backward()
        >>> x.grad
        Tensor([10.0, 10.0], requires_grad=False)
        """
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function "
                                  "to use it with backward mode AD.")

    vjp = backward
    generate_vmap_rule = False  # whether forward and backward may be given the tensors inside of `vmap` as they are

    @staticmethod
    @_overridden
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the tangents of the outputs for those of the inputs, in forward mode. To be overridden.

        >>> class Double(lucid.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def jvp(ctx, tangent):
        ...         return tangent * 2
        >>> x = lucid.tensor(3.0)
        >>> lucid.func.jvp(Double.apply, (x,), (lucid.tensor(1.0),))
        (Tensor(6.0, requires_grad=False), Tensor(2.0, requires_grad=False))
        """
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode "
                                  "AD.")

    @staticmethod
    @_overridden
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """Return the outputs for batches and their batch dimensions, inside of `vmap`. `in_dims` are those of `args`, and `info`
        has `batch_size` and `randomness`. To be overridden, or `generate_vmap_rule` to be set.

        >>> class Double(lucid.autograd.Function):
        ...     @staticmethod
        ...     def forward(x):
        ...         return x * 2
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         pass
        ...     @staticmethod
        ...     def vmap(info, in_dims, x):
        ...         return x * 2, in_dims[0]
        >>> lucid.vmap(Double.apply)(lucid.tensor([1.0, 2.0]))
        Tensor([2.0, 4.0], requires_grad=False)
        """
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
                                  "generate_vmap_rule=True.")

    @classmethod
    def apply(cls, *args: Any, **keywords: Any) -> Any:
        """Call forward without recording it, and record the whole as one operation.

        >>> class Double(lucid.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return g * 2
        >>> Double.apply(lucid.ones(2, requires_grad=True))
        Tensor([2.0, 2.0], requires_grad=True)
        """
        if cls._overrides("setup_context"):
            bound = inspect.signature(cls.forward).bind(*args, **keywords)
            bound.apply_defaults()
            args = bound.args
        elif keywords:
            raise TypeError(f"{cls.__name__}.apply() takes no keyword arguments")
        if grad_mode.get() & LEVELS:
            from .function_levels import apply_inside  # not with lucid: only transforms need it

            return apply_inside(cls, args)
        return cls._call(args)[0]

    @classmethod
    def _call(cls, args: Sequence[Any]) -> tuple[Any, FunctionNode]:
        """The output, and the node that it has been recorded with, if it has."""
        node = FunctionNode(cls, args)
        record = bool(grad_mode.get() & GRAD) and any(node.needs_input_grad)
        with no_grad():
            if cls._overrides("setup_context"):
                output = cls.forward(*args)
                cls.setup_context(node, tuple(args), output)
            else:
                output = cls.forward(node, *args)
        alone = not isinstance(output, (tuple, list))
        outputs = node._finish(args, [output] if alone else list(output), alone, record)
        return outputs[0] if alone else tuple(outputs), node

    @classmethod
    def _overrides(cls, name: str) -> bool:
        """Whether the class has a method of its own in the place of this one's."""
        return getattr(cls, name) is not getattr(Function, name)

    @classmethod
    def _backward_method(cls) -> Callable[..., Any]:
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should "
                               "only implement one of them.")
        return cls.vjp


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a backward that does not use lucid operations: a second differentiation through it raises RuntimeError.

    >>> class Double(lucid.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @lucid.autograd.once_differentiable
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = lucid.ones(1, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    Tensor([2.0], requires_grad=False)
    """
    @functools.wraps(function)
    def backward(ctx: Any, *gradients: Any) -> Any:
        with no_grad():
            results = function(ctx, *gradients)
        parents = [g._node for g in gradients if isinstance(g, Tensor) and g._node is not None]
        if not parents or not grad_mode.get() & GRAD:
            return results
        cut = [None if r is None else wrap(r._array, Node("once_differentiable", parents, _refuse_second))
               for r in (results if isinstance(results, (tuple, list)) else (results,))]
        return tuple(cut) if isinstance(results, (tuple, list)) else cut[0]

    return backward


def _refuse_second(g: Any, y: Any) -> Any:
    raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def _among(tensor: Any, others: Sequence[Any]) -> bool:
    return any(tensor is other for other in others)


def _meta(tensor: Tensor) -> _Meta:
    return tensor._array.shape, tensor._array.dtype, tensor.device


def _zeros(meta: _Meta) -> Tensor:
    shape, dtype, device = meta
    return wrap(backends.create("full", device, {"shape": shape, "fill_value": 0, "dtype": dtype}))


def _sum_to(gradient: Tensor, shape: tuple[int, ...], op: str, number: int) -> Tensor:
    """Sum a gradient over the dimensions in which the input would have been broadcast, as PyTorch's engine does."""
    given = gradient._array.shape
    lead = len(given) - len(shape)
    if lead < 0 or any(n not in (1, m) for n, m in zip(shape, given[lead:], strict=True)):
        raise RuntimeError(f"Function {op} returned an invalid gradient at index {number} - got {list(given)} but expected "
                           f"shape compatible with {list(shape)}, dtype {type_name(gradient._array.dtype)}")
    dims = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n != given[lead + i])
    return gradient.sum(dims, keepdim=True).reshape(shape)


class InplaceFunction(Function):
    """`Function`, by a name of old that libraries still derive from."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace
