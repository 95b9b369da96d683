"""`gradient`: derivatives of sampled functions by finite differences of second order (Fornberg, "Generation of finite difference
formulas on arbitrarily spaced grids", 1988).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _dtypes
from ...tensor import Tensor
from .._methods import register
from .._operands import canonical_dim, require_tensor
from .._out import accepts_out
from ..elementwise.comparison import logical_xor
from ..manipulation.joining import cat

METHODS = ("diff",)


def gradient(input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The derivatives of the samples `input` along each dimension of `dim` (all by default): a tuple of tensors of its shape.

    `spacing` is the distance of neighbours (1), or for each dimension a distance, or the vectors of the samples' coordinates.
    Inside, the differences take both neighbours, at the ends two samples, or three with `edge_order` 2. Integers give the
    default dtype. Raises RuntimeError for other orders, dimensions named twice or shorter than ``edge_order + 1``, bools and
    uint8, and where `spacing` does not fit.

    >>> lucid.gradient(lucid.tensor([0.0, 1.0, 4.0, 9.0]))
    (Tensor([1.0, 2.0, 4.0, 5.0], requires_grad=False),)
    """
    dtype = require_tensor("gradient", input).dtype
    if dtype == _dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = range(input.ndim) if dim is None else [canonical_dim(d, input.ndim) for d in ([dim] if isinstance(dim, int) else dim)]
    for axis in dims:
        if list(dims).count(axis) > 1:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
    steps = _steps(spacing, len(dims), dim is not None)
    for axis in dims:
        if input._array.shape[axis] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    return tuple(_even(input, axis, step, edge_order) if not isinstance(step, Tensor) else _uneven(input, axis, step, edge_order)
                 for axis, step in zip(dims, steps, strict=True))


def _steps(spacing: Any, count: int, dim_given: bool) -> Sequence[Any]:
    """For each dimension the distance of its samples or the vector of their coordinates."""
    if isinstance(spacing, Tensor) and spacing.ndim == 0:
        spacing = spacing.item()
    if spacing is None or isinstance(spacing, (int, float, complex)):
        return [1 if spacing is None else spacing] * count
    if not isinstance(spacing, (tuple, list)):
        raise TypeError(f"gradient(): spacing must be a number, or a list of numbers or of tensors, not {type(spacing).__name__}")
    if len(spacing) != count:
        wanted = ("equal to the length of 'dim'" if dim_given else f"equal to 'self.dim() = {count}', since dim argument was not "
                  "given,")
        raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
                           f"{wanted} but got a list of length {len(spacing)}")
    for step in spacing:
        if isinstance(step, Tensor) and step.ndim != 1:
            raise RuntimeError("torch.gradient expected each element of spacing to have one dimension, but got an element with "
                               f"{step.ndim} dimensions!")
    return spacing


def _even(x: Tensor, axis: int, step: Any, edge_order: int) -> Tensor:
    n = x._array.shape[axis]

    def at(start: int, length: int = 1) -> Tensor:
        return x.narrow(axis, start % n, length)

    inside = (at(2, n - 2) - at(0, n - 2)) / (2 * step) if n > 2 else None
    if edge_order == 1:
        first, last = (at(1) - at(0)) / step, (at(-1) - at(-2)) / step
    else:
        first = (2 * at(1) - 1.5 * at(0) - 0.5 * at(2)) / step
        last = (1.5 * at(-1) - 2 * at(-2) + 0.5 * at(-3)) / step
    return cat([part for part in (first, inside, last) if part is not None], axis)


def _uneven(x: Tensor, axis: int, coordinates: Tensor, edge_order: int) -> Tensor:
    n = x._array.shape[axis]
    if coordinates._array.shape[0] != n:
        raise RuntimeError(f"torch.gradient expected {n} places for dimension {axis}, but got {coordinates._array.shape[0]}")
    # How far each sample but the first is from the one before.
    gaps = coordinates.diff().reshape([-1 if d == axis else 1 for d in range(x.ndim)])

    def at(start: int, length: int = 1) -> Tensor:
        return x.narrow(axis, start % n, length)

    def gap(start: int, length: int = 1) -> Tensor:
        return gaps.narrow(axis, start % (n - 1), length)

    parts = []
    if n > 2:
        before, after = gap(0, n - 2), gap(1, n - 2)
        parts.append(-after / (before * (before + after)) * at(0, n - 2) + (after - before) / (before * after) * at(1, n - 2)
                     + before / (after * (before + after)) * at(2, n - 2))
    if edge_order == 1:
        first, last = (at(1) - at(0)) / gap(0), (at(-1) - at(-2)) / gap(-1)
    else:
        near, far = gap(0), gap(1)
        first = _end(at(0), at(1), at(2), near, far)
        near, far = gap(-1), gap(-2)
        last = -_end(at(-1), at(-2), at(-3), near, far)
    return cat([first, *parts, last], axis)


def _end(x: Tensor, next: Tensor, third: Tensor, near: Tensor, far: Tensor) -> Tensor:
    """The slope at `x` of the parabola through it, the sample `near` to it and the one `far` from that."""
    both = near + far
    return -(2 * near + far) / (near * both) * x + both / (near * far) * next - near / (far * both) * third


@accepts_out(castable=True)
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """The differences of neighbours along `dim`, taken `n` times; of bools, whether they differ.

    `prepend` and `append` are joined to `input` along `dim` first, unless `n` is 0. Raises RuntimeError for a 0-d tensor and a
    negative `n`.

    >>> lucid.diff(lucid.tensor([1, 4, 9, 16]))
    Tensor([3, 5, 7], requires_grad=False)
    >>> lucid.diff(lucid.tensor([1, 4, 9, 16]), n=2)
    Tensor([2, 2], requires_grad=False)
    """
    if require_tensor("diff", input).ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = canonical_dim(dim, input.ndim)
    if n == 0:
        return input.clone()
    parts = [t for t in (prepend, input, append) if t is not None]
    result = cat(parts, axis) if len(parts) > 1 else input
    for _ in range(n):
        length = result._array.shape[axis]
        late = result.narrow(axis, min(1, length), max(length - 1, 0))
        early = result.narrow(axis, 0, max(length - 1, 0))
        result = logical_xor(late, early) if result.dtype == _dtypes.bool_ else late - early
    return result


register(__name__)
