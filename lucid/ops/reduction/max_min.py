"""The largest and smallest elements, and where they are. `dim` is None (all dimensions), a number or a tuple of them."""
from __future__ import annotations

from typing import Any, NamedTuple, overload

from ... import _dtypes
from ...autograd.calls import operation, single_op
from ...autograd.op import Op, Vjp
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim
from .._out import accepts_out
from ..elementwise.arithmetic import maximum, minimum
from ..elementwise.fused import fused_if_large
from . import extremes
from .axes import Axes, kernel_axes, one_axis, refuse_empty, refuse_unordered, spread
from .selection import ValuesIndices, selected_rule

METHODS = ("max", "min", "amax", "amin", "argmax", "argmin", "aminmax")


class MinMax(NamedTuple):
    """The result of `aminmax`."""

    min: Tensor
    max: Tensor


_chosen = fused_if_large(lambda x, peak: (x == peak) | ((x != x) & (peak != peak)))
_shared = fused_if_large(lambda x, peak, share: (x == peak).to(share.dtype) * share)


def _amax_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool) -> Vjp:
    """Elements that tie for the extremum share its gradient evenly."""
    shape = x._array.shape

    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor]:
        peak = spread(y.detach(), shape, axis, keepdims)
        ties = (x == peak).sum(None if axis is None else axis, keepdim=True)  # 0, and so all NaN, where the extremum is NaN
        return (_shared(x, peak, spread(g, shape, axis, keepdims) / ties.to(g.dtype)),)

    return vjp


def _max_rule(needs: Any, x: Tensor, *, axis: Axes, keepdims: bool) -> Vjp:
    """As `_amax_rule`; if the extremum is NaN, the NaN elements share."""

    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor]:
        from ..elementwise.where import where

        chosen = _chosen(x.detach(), y.detach())
        return (where(chosen, g / chosen.sum().to(g.dtype), 0.0),)

    return vjp


_amax = single_op("max", _amax_rule, saved_outputs=True)
_amin = single_op("min", _amax_rule, saved_outputs=True)
_max_all = single_op("max", _max_rule, saved_outputs=True)
_min_all = single_op("min", _max_rule, saved_outputs=True)
_max_with_indices = operation("max_with_indices", selected_rule, saved_outputs=(1,), outputs=(0,))
_min_with_indices = operation("min_with_indices", selected_rule, saved_outputs=(1,), outputs=(0,))
_argmax, _argmin = [single_op(name, attributes=("axis", "keepdims")) for name in ("argmax", "argmin")]


def _extremum(name: str, whole: Op, along: Op, elementwise: Any, input: Tensor, dim: Any, keepdim: bool) -> Any:
    if isinstance(dim, Tensor):
        return elementwise(input, dim)
    refuse_unordered(name, input)
    if dim is None:
        refuse_empty(name, input, None)
        if extremes.suits(input):
            return extremes.extreme("max", input, None, False, name == "min")
        return whole(input, axis=None, keepdims=False)
    axis = canonical_dim(dim, input._array.ndim)
    if input._array.ndim == 0:
        return ValuesIndices(input.clone(), input.new_zeros((), dtype=_dtypes.int64))
    refuse_empty(name, input, axis)
    return ValuesIndices(*along(input, axis=axis, keepdims=keepdim))


@overload
def max(input: Tensor, dim: None = None, keepdim: bool = False, *, other: None = None) -> Tensor: ...


@overload
def max(input: Tensor, dim: int, keepdim: bool = False) -> ValuesIndices: ...


@overload
def max(input: Tensor, dim: Tensor) -> Tensor: ...


@overload
def max(input: Tensor, *, other: Tensor) -> Tensor: ...


@accepts_out(castable=True)
def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The largest element; with `dim`, a named tuple (values, indices) along it; with a second tensor, `maximum`.

    NaN counts as the largest. Elements that tie share the gradient; with `dim` it goes to the element at the index.
    Raises RuntimeError for a tensor without elements, IndexError along a dimension of length 0.

    >>> lucid.max(lucid.tensor([[1, 5, 2], [7, 0, 3]]))
    Tensor(7, requires_grad=False)
    >>> lucid.max(lucid.tensor([[1, 5, 2], [7, 0, 3]]), dim=1)
    ValuesIndices(values=Tensor([5, 7], requires_grad=False), indices=Tensor([1, 0], requires_grad=False))
    """
    return _extremum("max", _max_all, _max_with_indices, maximum, input, dim if other is None else other, keepdim)


@overload
def min(input: Tensor, dim: None = None, keepdim: bool = False, *, other: None = None) -> Tensor: ...


@overload
def min(input: Tensor, dim: int, keepdim: bool = False) -> ValuesIndices: ...


@overload
def min(input: Tensor, dim: Tensor) -> Tensor: ...


@overload
def min(input: Tensor, *, other: Tensor) -> Tensor: ...


@accepts_out(castable=True)
def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The smallest element; with `dim`, a named tuple (values, indices) along it; with a second tensor, `minimum`.

    NaN counts as the smallest. Otherwise as `max`.

    >>> lucid.min(lucid.tensor([[1, 5, 2], [7, 0, 3]]))
    Tensor(0, requires_grad=False)
    >>> lucid.min(lucid.tensor([[1, 5, 2], [7, 0, 3]]), dim=1)
    ValuesIndices(values=Tensor([1, 0], requires_grad=False), indices=Tensor([0, 1], requires_grad=False))
    """
    return _extremum("min", _min_all, _min_with_indices, minimum, input, dim if other is None else other, keepdim)


@accepts_out
def amax(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The largest elements over `dim`; NaN wins. Elements that tie share the gradient evenly.

    >>> lucid.amax(lucid.tensor([[1, 5, 2], [7, 0, 7]]), dim=1)
    Tensor([5, 7], requires_grad=False)
    """
    refuse_unordered("amax", input)
    refuse_empty("amax", input, dim)
    axis = kernel_axes(dim, input._array.ndim)
    if extremes.suits(input):
        return extremes.extreme("amax", input, axis, keepdim, False)
    return _amax(input, axis=axis, keepdims=keepdim)


@accepts_out
def amin(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The smallest elements over `dim`; NaN wins. Elements that tie share the gradient evenly.

    >>> lucid.amin(lucid.tensor([[1, 5, 2], [7, 0, 7]]), dim=(0, 1))
    Tensor(0, requires_grad=False)
    """
    refuse_unordered("amin", input)
    refuse_empty("amin", input, dim)
    axis = kernel_axes(dim, input._array.ndim)
    if extremes.suits(input):
        return extremes.extreme("amax", input, axis, keepdim, True)
    return _amin(input, axis=axis, keepdims=keepdim)


def _arg_extremum(name: str, op: Op, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    refuse_unordered(name, input, "cb")
    axis = one_axis(dim, input._array.ndim)
    if input._array.size == 0 and axis is None:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    if axis is not None:
        refuse_empty(name, input, axis)
    return op(input, axis=axis, keepdims=keepdim)


@accepts_out
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The int64 index of the first largest element along `dim`, or of the flattened tensor; NaN is the largest.

    >>> lucid.argmax(lucid.tensor([[1, 5, 2], [7, 0, 7]]), dim=1)
    Tensor([1, 0], requires_grad=False)
    """
    return _arg_extremum("argmax", _argmax, input, dim, keepdim)


@accepts_out
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The int64 index of the first smallest element along `dim`, or of the flattened tensor; NaN is the smallest.

    >>> lucid.argmin(lucid.tensor([[1, 5, 2], [7, 0, 7]]))
    Tensor(4, requires_grad=False)
    >>> lucid.argmin(lucid.tensor([[1, 5, 2], [7, 0, 7]]), dim=0, keepdim=True)
    Tensor([[0, 1, 0]], requires_grad=False)
    """
    return _arg_extremum("argmin", _argmin, input, dim, keepdim)


@accepts_out
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> MinMax:
    """The named tuple (min, max) of the smallest and largest elements along `dim`, or of all; NaN wins.

    Elements that tie share the gradient evenly.

    >>> lucid.aminmax(lucid.tensor([3, 1, 2]))
    MinMax(min=Tensor(1, requires_grad=False), max=Tensor(3, requires_grad=False))
    """
    refuse_unordered("aminmax", input)
    if dim is not None:
        dim = canonical_dim(dim, input.ndim)
    dims = () if dim is None or not input.ndim else dim
    return MinMax(amin(input, dims, keepdim), amax(input, dims, keepdim))


register(__name__)
