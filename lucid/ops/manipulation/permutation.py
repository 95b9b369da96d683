"""The dimensions in another order, as views."""
from __future__ import annotations

import functools
from typing import Any

from ..._namespace.foreign import defer, defers
from ...autograd.calls import view_op
from ...autograd.op import Vjp
from ...backends.memory_format import inverse
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, canonical_dims, integers

METHODS = ("permute", "transpose", "swapaxes", "swapdims", "movedim", "moveaxis", "t")


def _transpose_rule(needs: Any, x: Tensor, *, axes: tuple[int, ...]) -> Vjp:
    back = _inverse(axes)
    return lambda g, y: (_transpose(g, axes=back),)


_inverse = functools.lru_cache(maxsize=256)(inverse)  # a third of the time of recording


_transpose = view_op("transpose", _transpose_rule)


@defers
def permute(input: Tensor, *order: Any, dims: Any = ()) -> Tensor:
    """The dimensions in another order. A view. Raises RuntimeError for a dimension that is named twice.

    >>> lucid.permute(lucid.zeros(2, 3, 4), (2, 0, 1)).shape
    lucid.Size([4, 2, 3])
    """
    axes = integers(order or (dims,))
    try:
        ndim = input._array.ndim
    except AttributeError:
        return defer("permute", input, *order, **({"dims": dims} if dims else {}))
    if len(axes) != ndim:
        raise RuntimeError("permute: number of dimensions in the tensor input does not match the length of the desired "
                           f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(axes)}")
    if not axes:
        return input.view(())
    return _transpose(input, axes=_counted_from_the_front(axes))


@functools.lru_cache(maxsize=256)
def _counted_from_the_front(dims: tuple[int, ...]) -> tuple[int, ...]:
    axes = tuple([canonical_dim(d, len(dims)) for d in dims])
    if len(set(axes)) != len(axes):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return axes


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged. A view.

    >>> lucid.swapdims(lucid.zeros(2, 3, 4), 0, 2).shape
    lucid.Size([4, 3, 2])
    """
    return _transpose(input, axes=_exchanged(input._array.ndim, dim0, dim1))


@functools.lru_cache(maxsize=256, typed=True)  # typed: True is no dimension
def _exchanged(ndim: int, dim0: int, dim1: int) -> tuple[int, ...]:
    dim0, dim1 = canonical_dim(dim0, ndim), canonical_dim(dim1, ndim)
    axes = list(range(ndim))
    if ndim:
        axes[dim0], axes[dim1] = dim1, dim0
    return tuple(axes)


swapdims = transpose


def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two dimensions exchanged: `transpose` with NumPy's names.

    >>> lucid.swapaxes(lucid.zeros(2, 3, 4), 0, 2).shape
    lucid.Size([4, 3, 2])
    """
    return transpose(input, axis0, axis1)


def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; tensors of fewer dimensions as they are.

    >>> lucid.t(lucid.tensor([[1, 2], [3, 4]]))
    Tensor([[1, 3],
            [2, 4]], requires_grad=False)
    """
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return transpose(input, 0, 1) if input.ndim == 2 else input


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions `source` moved to `destination`, the others in their order.

    >>> lucid.moveaxis(lucid.zeros(2, 3, 4), 0, -1).shape
    lucid.Size([3, 4, 2])
    """
    ndim = input.ndim
    source = (source,) if isinstance(source, int) else tuple(source)
    destination = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the "
                           f"same number of dims as destination ({list(destination)} dims)")
    src, dst = canonical_dims(source, ndim), canonical_dims(destination, ndim)
    rest = iter(i for i in range(ndim) if i not in src)
    return _transpose(input, axes=tuple(src[dst.index(i)] if i in dst else next(rest) for i in range(ndim)))


moveaxis = movedim


def adjoint_view(input: Tensor) -> Tensor:
    """The last two dimensions exchanged (the property `mT`).

    >>> lucid.zeros(5, 2, 3).mT.shape
    lucid.Size([5, 3, 2])
    """
    if input.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor.")
    return transpose(input, -2, -1)


def reverse_view(input: Tensor) -> Tensor:
    """The dimensions in reverse order (the property `T`).

    >>> lucid.tensor([[1, 2], [3, 4]]).T
    Tensor([[1, 3],
            [2, 4]], requires_grad=False)
    """
    return _transpose(input, axes=tuple(range(input._array.ndim - 1, -1, -1))) if input.ndim else input


SPECIAL_METHODS = {"T": property(reverse_view), "mT": property(adjoint_view)}
register(__name__)
