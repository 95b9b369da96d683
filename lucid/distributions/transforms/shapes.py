"""Transforms that change a shape, or differ from part to part of a tensor."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lucid

from ...tensor import Size, Tensor
from .. import constraints
from ..constraints import Constraint
from ..utils import sum_rightmost
from .base import Transform


class ReshapeTransform(Transform):
    """The last dimensions `in_shape` as `out_shape`, of which each makes one event.

    >>> lucid.distributions.ReshapeTransform((4,), (2, 2))(lucid.arange(4.0))
    Tensor([[0.0, 1.0],
            [2.0, 3.0]], requires_grad=False)
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _batch(self, shape: Any, event: Size) -> Size:
        return Size(shape)[:len(shape) - len(event)]

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self._batch(x.shape, self.in_shape) + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self._batch(y.shape, self.out_shape) + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(self._batch(x.shape, self.in_shape))

    def _exchanged(self, shape: Any, old: Size, new: Size) -> Any:
        if len(shape) < len(old):
            raise ValueError("Too few dimensions on input")
        cut = len(shape) - len(old)
        if tuple(shape[cut:]) != tuple(old):
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return shape[:cut] + new if isinstance(shape, Size) else Size((*shape[:cut], *new))

    def forward_shape(self, shape: Any) -> Any:
        return self._exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._exchanged(shape, self.out_shape, self.in_shape)


class _Sequence(Transform):
    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(transform, Transform) for transform in tseq):
            raise AssertionError("tseq must be a sequence of Transform instances")
        if cache_size:
            tseq = [transform.with_cache(cache_size) for transform in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:
        return all(transform.bijective for transform in self.transforms)

    def _place(self, x: Tensor) -> int:
        if not -x.ndim <= self.dim < x.ndim:
            raise AssertionError(f"dim {self.dim} is out of range for a tensor with {x.ndim} dimensions")
        return self.dim


class CatTransform(_Sequence):
    """Transforms of parts along the dimension `dim`, which have `lengths`, 1 by default.

    >>> t = lucid.distributions
    >>> t.CatTransform([t.ExpTransform(), t.identity_transform])(lucid.tensor([0.0, 5.0]))
    Tensor([1.0, 5.0], requires_grad=False)
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None,
                 cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths must have the length of tseq, {len(self.transforms)}, not {len(self.lengths)}")

    @property
    def event_dim(self) -> int:
        return max(transform.event_dim for transform in self.transforms)

    @property
    def length(self) -> int:
        """The length of the dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, x: Tensor) -> Any:
        dim = self._place(x)
        if x.shape[dim] != self.length:
            raise AssertionError(f"expected {self.length} elements in dimension {dim}, not {x.shape[dim]}")
        return x.split(self.lengths, dim)

    def _call(self, x: Tensor) -> Tensor:
        return lucid.cat([transform(part) for transform, part in zip(self.transforms, self._parts(x))], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return lucid.cat([transform.inv(part) for transform, part in zip(self.transforms, self._parts(y))], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = []
        for transform, before, after in zip(self.transforms, self._parts(x), self._parts(y)):
            term = transform.log_abs_det_jacobian(before, after)
            terms.append(sum_rightmost(term, self.event_dim - transform.event_dim))
        dim = self.dim - x.ndim if self.dim >= 0 else self.dim
        dim += self.event_dim
        return lucid.cat(terms, dim=dim) if dim < 0 else sum(terms[1:], terms[0])

    @constraints.dependent_property
    def domain(self) -> Constraint:
        return constraints.cat([transform.domain for transform in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        return constraints.cat([transform.codomain for transform in self.transforms], self.dim, self.lengths)


class StackTransform(_Sequence):
    """A transform for each slice of the dimension `dim`.

    >>> t = lucid.distributions
    >>> t.StackTransform([t.ExpTransform(), t.AffineTransform(0.0, 10.0)])(lucid.tensor([0.0, 5.0]))
    Tensor([ 1.0, 50.0], requires_grad=False)
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, x: Tensor) -> Any:
        dim = self._place(x)
        if x.shape[dim] != len(self.transforms):
            raise AssertionError(f"expected {len(self.transforms)} slices in dimension {dim}, not {x.shape[dim]}")
        return x.unbind(dim)

    def _call(self, x: Tensor) -> Tensor:
        return lucid.stack([transform(part) for transform, part in zip(self.transforms, self._slices(x))], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return lucid.stack([transform.inv(part) for transform, part in zip(self.transforms, self._slices(y))], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._slices(x), self._slices(y))
        return lucid.stack([transform.log_abs_det_jacobian(before, after) for transform, before, after in parts], dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> Constraint:
        return constraints.stack([transform.domain for transform in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Constraint:
        return constraints.stack([transform.codomain for transform in self.transforms], self.dim)
