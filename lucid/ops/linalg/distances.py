"""Distances: between all pairs of vectors, `cdist` and `pdist`; between pairs, `pairwise_distance` and `cosine_similarity`."""
from __future__ import annotations

import math
from collections.abc import Sequence

from ... import _dtypes
from ...autograd.calls import operation, single_op
from ...autograd.errors import type_name
from ...autograd.grad_mode import is_composed
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._operands import require_tensor
from ..elementwise.clamp import clip
from ..elementwise.fused import fused_formula
from ..manipulation.broadcasting import broadcast_shapes
from ..manipulation.diagonals import triu_indices
from ..reduction.axes import Axes, spread

_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
_PRODUCT_FROM = 25  # rows, beyond which a product is necessary


def _euclidean_rule(needs: Sequence[bool], x: Tensor, y: Tensor) -> Vjp:
    def vjp(g: Tensor, distances: Tensor) -> tuple[Tensor | None, Tensor | None]:
        # A distance of 0 has the subgradient 0.
        slope = (g / distances).masked_fill(distances == 0, 0)
        return (x * slope.sum(-1, True) - slope @ y if needs[0] else None,
                y * slope.sum(-2).unsqueeze(-1) - slope.mT @ x if needs[1] else None)

    return vjp


_euclidean = single_op("euclidean_distances", _euclidean_rule, saved_outputs=True)


def _pair_rule(needs: Sequence[bool], x: Tensor, y: Tensor | None, *, p: int) -> Vjp:
    needs_x, needs_y = needs[0], y is not None and needs[1]

    def vjp(g: Tensor, distances: Tensor) -> tuple[Tensor | None, ...]:
        if is_composed():
            return _pair_gradients(g, distances, x, y, p)
        to_x = _pair_grad(g, distances, x, y, p=p) if needs_x else None
        return to_x, _pair_grad(g.mT, distances.mT, y, x, p=p) if needs_y else None

    return vjp


def _pair_gradients(g: Tensor, distances: Tensor, x: Tensor, y: Tensor | None, p: int) -> tuple[Tensor | None, ...]:
    """The gradients of differentiable operations."""
    slope = (g if p == 1 else (g / distances).masked_fill(distances == 0, 0)).unsqueeze(-1)
    if y is not None:
        difference = x.unsqueeze(2) - y.unsqueeze(1)
        parts = slope * (difference.sgn() if p == 1 else difference)
        return parts.sum(2), -parts.sum(1)
    first, second = triu_indices(x.shape[1], x.shape[1], 1, device=x.device).unbind(0)
    difference = x.index_select(1, first) - x.index_select(1, second)
    parts = slope * (difference.sgn() if p == 1 else difference)
    return x.new_zeros(x.shape).index_add(1, first, parts).index_add(1, second, -parts), None


_pair_grad = operation("pair_distances_grad")
_pair = single_op("pair_distances", _pair_rule, saved_outputs=True)


def _largest_rule(needs: Sequence[bool], size: Tensor, *, axis: Axes, keepdims: bool) -> Vjp:
    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor]:
        # 1 for each that is the largest, 0 for the others; NaN where the two have no difference.
        chosen = 1 - (size - spread(y, size.shape, axis, keepdims)).detach().abs().ceil().clamp(max=1)
        return (spread(g, size.shape, axis, keepdims) * chosen,)

    return vjp


_largest = single_op("max", _largest_rule, saved_outputs=True)


def _lengths(difference: Tensor, p: float, skip_nan: bool = False) -> Tensor:
    """The `p`-norms of vectors along the last dimension; unlike those of `norm`, of order inf with a gradient of 1 for each of
    several largest elements, and of order 0 with NaN counted as NaN. `skip_nan` leaves NaN out of the largest.
    """
    if p == 0:
        return difference.abs().ceil().clamp(max=1).sum(-1)
    if p != math.inf or not difference.shape[-1]:
        return difference.norm(p, -1) if difference.shape[-1] else difference.sum(-1)
    nan = difference.isnan()
    # The gradient of a NaN is NaN, also where it is left out.
    size = difference * difference.detach().sgn().masked_fill(nan, math.nan)
    return _largest(size.masked_fill(nan, 0) if skip_nan else size, axis=difference.ndim - 1, keepdims=False)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The `p`-norms of the differences of all pairs of rows: ``(..., P, M)`` and ``(..., R, M)`` give ``(..., P, R)``.

    Leading dimensions broadcast. With p = 2, above 25 rows in either matrix, distances are computed by a product of matrices, as
    in PyTorch: those of near rows lose digits. `compute_mode` 'use_mm_for_euclid_dist' always does it,
    'donot_use_mm_for_euclid_dist' never. With p = inf, differences that are NaN are left out, as in PyTorch, and of several
    largest each gets the whole gradient. Raises RuntimeError for other dtypes than floats, other lengths and a negative `p`.

    >>> lucid.cdist(lucid.tensor([[0.0, 0.0]]), lucid.tensor([[3.0, 4.0], [1.0, 0.0]]))
    Tensor([[5.0, 1.0]], requires_grad=False)
    """
    for number, x in enumerate((x1, x2), 1):
        if not _dtypes.is_floating(require_tensor("cdist", x).dtype):
            raise RuntimeError(f"cdist only supports floating-point dtypes, X{number} got: {type_name(x.dtype)}")
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, X{number} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    mode = _MODES[0] if compute_mode is None else compute_mode
    if mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    rows = max(x1.shape[-2], x2.shape[-2])
    product = mode == _MODES[1] or (mode == _MODES[0] and rows > _PRODUCT_FROM)
    if p == 2 and product and x1.shape[-1] and x1.dtype == x2.dtype:
        batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        return _euclidean(x1.expand(*batch, -1, -1), x2.expand(*batch, -1, -1))
    if p in (1, 2) and x1.shape[-1] and x1.dtype == x2.dtype:
        if x1.ndim == x2.ndim == 2:
            return _pair(x1.unsqueeze(0), x2.unsqueeze(0), p=int(p)).squeeze(0)
        batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        x, y = (x.expand(*batch, -1, -1).reshape(math.prod(batch), *x.shape[-2:]) for x in (x1, x2))
        return _pair(x, y, p=int(p)).reshape(*batch, x1.shape[-2], x2.shape[-2])
    return _lengths(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, skip_nan=True)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The `p`-norms of the differences of all pairs of different rows of a matrix, in the order of `combinations`.

    >>> F.pdist(lucid.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    Tensor([5.0000, 1.0000, 4.2426], requires_grad=False)
    """
    if require_tensor("pdist", input).ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not _dtypes.is_floating(input.dtype):
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if p in (1, 2):
        return _pair(input.unsqueeze(0), None, p=int(p)).squeeze(0)
    first, second = triu_indices(input.shape[0], input.shape[0], 1, device=input.device).unbind(0)
    return _lengths(input.index_select(0, first) - input.index_select(0, second), p)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The scalar product of `x1` and `x2` along `dim`, divided by their lengths, each counted as at least `eps`.

    They broadcast. Raises RuntimeError if neither is floating.

    >>> F.cosine_similarity(lucid.tensor([[1.0, 0.0]]), lucid.tensor([[3.0, 4.0]]))
    Tensor([0.6], requires_grad=False)
    """
    common = _dtypes.promote_types(x1.dtype, x2.dtype)
    if not _dtypes.is_floating(common):
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {type_name(common)}")
    x1, x2 = x1.to(common), x2.to(common)
    if x1._array.shape != x2._array.shape:
        shape = broadcast_shapes(x1.shape, x2.shape)  # whose dimensions `dim` counts
        x1, x2 = x1.expand(shape), x2.expand(shape)
    return _unit_products(x1, x2, x1.norm(2, dim, keepdim=True), x2.norm(2, dim, keepdim=True), eps).sum(dim)


@fused_formula
def _unit_products(x1: Tensor, x2: Tensor, length1: Tensor, length2: Tensor, eps: float) -> Tensor:
    """Divided before the products are summed, so that no square of a length can overflow or underflow."""
    return x1 / clip(length1, min=eps) * (x2 / clip(length2, min=eps))


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The `p`-norm of ``x1 - x2 + eps`` along the last dimension. They broadcast.

    >>> F.pairwise_distance(lucid.tensor([[0.0, 0.0]]), lucid.tensor([[3.0, 4.0]]))
    Tensor([5.0], requires_grad=False)
    """
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)
