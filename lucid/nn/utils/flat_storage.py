"""Parameters and gradients of a model in one piece of memory each (what gradient buckets of data-parallel training are)."""
from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from ...autograd.grad_mode import no_grad
from ...backends import Device
from ...ops.creation.creation import zeros_like
from ...ops.manipulation.joining import cat
from ...tensor import Tensor, version_box, wrap
from ..parameter import Parameter


def flatten_parameters(parameters: Iterable[Tensor]) -> list[FlatParameter]:
    """Put all `parameters` of one dtype and device into one vector, and return the vectors.

    The parameters stay the same objects, with the same shapes and elements, as row-major views of a vector; their gradients, zero
    at first, are views of its gradient. An optimizer and `clip_grad_norm_` that get the vectors do all of them at once::

        vectors = nn.utils.flatten_parameters(model.parameters())
        optimizer = optim.Adam(vectors)

    Frozen parameters are left alone; one that is listed twice counts once. Raises TypeError for what is not a Parameter, and
    ValueError for parameters that share memory, with nothing changed. `FlatParameter` says what undoes the arrangement.

    >>> layer = nn.Linear(2, 3)
    >>> (flat,) = nn.utils.flatten_parameters(layer.parameters())
    >>> with lucid.no_grad():
    ...     flat.zero_()
    Parameter containing:
    Tensor([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], requires_grad=True)
    >>> layer.bias
    Parameter containing:
    Tensor([0.0, 0.0, 0.0], requires_grad=True)
    """
    listed = list(dict.fromkeys(parameters))
    for parameter in listed:
        if not isinstance(parameter, Parameter) or isinstance(parameter, FlatParameter):
            raise TypeError(f"flatten_parameters takes parameters of a module, not {type(parameter).__name__}")
    groups: dict[Any, list[Parameter]] = {}
    for parameter in listed:
        if parameter.requires_grad:
            groups.setdefault((parameter.dtype, parameter.device), []).append(parameter)  # type: ignore[arg-type]
    for parts in groups.values():
        _refuse_overlaps(parts)
    return [FlatParameter(parts) for parts in groups.values()]


class FlatParameter(Parameter):
    """A vector over the elements of several parameters; its gradient is one over theirs. `flatten_parameters` makes them.

    The elements may be changed through either; saved tensors notice, since all share one version counter, as views do. Other
    arrays behind the parameters or other gradients (after a move or cast of the module, ``load_state_dict(assign=True)``,
    ``module.zero_grad()``, a backward pass with `create_graph`) are copied in when `grad` is asked for next, as each step of an
    optimizer does; then they are views again. So the vector has always a gradient: where that of a parameter is None it
    is zero, and ``vector.grad = None`` fills it with zeros. An optimizer hence takes a step along its momentum and weight decay
    also for parameters without a gradient.

    A copy and a pickle come with copies of the parameters. Raises RuntimeError, when `grad` is asked for, if the parameters have
    come to differ in dtype or device, or were given another number of elements.

    >>> layer = nn.Linear(2, 3)
    >>> (flat,) = nn.utils.flatten_parameters(layer.parameters())
    >>> type(flat).__name__, flat.shape
    ('FlatParameter', lucid.Size([9]))
    """

    __slots__ = ()

    def __init__(self, parts: list[Parameter]) -> None:
        # What the parameters and their gradients were made to be: other arrays mean that they are not views any more.
        self._views: list[Any] = []
        self._grad_views: list[tuple[Tensor, Any]] = []
        self._parts: list[Parameter] = []
        super().__init__(_joined(list(parts)))
        self._flat_grad = zeros_like(self).detach()
        self._parts = list(parts)
        with no_grad():
            self._sync()

    @property
    def _grad(self) -> Tensor | None:
        if not self._parts:
            return None
        with no_grad():
            self._sync()
        return self._flat_grad

    @_grad.setter
    def _grad(self, value: Tensor | None) -> None:
        if not self._parts:
            return
        with no_grad():
            self._sync()
            if value is None:
                self._flat_grad.zero_()
            elif value is not self._flat_grad:
                self._flat_grad.copy_(value)

    def _sync(self) -> None:
        """Make the parameters and their gradients views again, where they are not."""
        if len(self._views) != len(self._parts) or any(
                part._array is not view for part, view in zip(self._parts, self._views, strict=True)):
            self._take_parameters()
        if len(self._grad_views) != len(self._parts) or any(
                part._grad is not tensor or tensor._array is not array
                for part, (tensor, array) in zip(self._parts, self._grad_views, strict=True)):
            self._take_gradients()

    def _take_parameters(self) -> None:
        array = _joined(self._parts)._array
        if array.dtype != self._array.dtype or array.__class__ is not self._array.__class__:
            self._grad_views = []
        self._swap_array(array)
        self._views = []
        for part, view in zip(self._parts, self._slices(self), strict=True):
            part._swap_array(view._array)
            part._version_box = version_box(self)
            self._views.append(part._array)

    def _take_gradients(self) -> None:
        old = [part._grad for part in self._parts]
        self._flat_grad._swap_array(zeros_like(self)._array)
        slices = self._slices(self._flat_grad)
        for part, gradient, view in zip(self._parts, old, slices, strict=True):
            if gradient is not None:
                view.copy_(gradient.detach())
            view._version_box = version_box(self._flat_grad)
            part._grad = view
        self._grad_views = [(view, view._array) for view in slices]

    def _slices(self, vector: Tensor) -> list[Tensor]:
        slices, start = [], 0
        for part in self._parts:
            stop = start + part.numel()
            slices.append(wrap(vector._array[start:stop].reshape(part.shape)))
            start = stop
        return slices

    def _move(self, device: Device) -> Tensor:
        for part in self._parts:
            part._move(device)
        with no_grad():
            self._sync()
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) not in memo:
            memo[id(self)] = FlatParameter(copy.deepcopy(self._parts, memo))
        found: Tensor = memo[id(self)]
        return found

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return FlatParameter, (self._parts,)


def _joined(parts: list[Parameter]) -> Tensor:
    """The elements of `parts` in a new vector."""
    kinds = {(part.dtype.name, str(part.device)) for part in parts}
    if len(kinds) > 1:
        raise RuntimeError("the parameters of a FlatParameter must have one dtype and device, but they have "
                           + ", ".join(f"{dtype} on {device}" for dtype, device in sorted(kinds)))
    return cat([part.detach().reshape(-1) for part in parts])


def _refuse_overlaps(parts: list[Parameter]) -> None:
    """Raise ValueError if two of `parts` share elements."""
    ends = 0
    for start, stop in sorted(_extent(part) for part in parts if part.numel() and not part.is_meta):
        if start < ends:
            raise ValueError("flatten_parameters: two parameters share memory; list only one of them")
        ends = stop


def _extent(tensor: Tensor) -> tuple[int, int]:
    """Where the elements of `tensor` begin and end in memory."""
    size = tensor.element_size()
    last = sum((length - 1) * abs(step) for length, step in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * size
