"""Constraints made of others."""
from __future__ import annotations

from collections.abc import Sequence

import lucid

from ...tensor import Tensor
from .base import Constraint
from .numbers import real


class _IndependentConstraint(Constraint):
    """`base_constraint` with its last `reinterpreted_batch_ndims` batch dimensions as a part of the event.

    >>> c = lucid.distributions.constraints
    >>> c.independent(c.positive, 1).check(lucid.tensor([[1.0, 2.0], [1.0, -2.0]]))
    Tensor([ True, False], requires_grad=False)
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError("reinterpreted_batch_ndims must be a non-negative integer")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        valid = self.base_constraint.check(value)
        if valid.ndim < self.reinterpreted_batch_ndims:
            expected = self.base_constraint.event_dim + self.reinterpreted_batch_ndims
            raise ValueError(f"Expected value.dim() >= {expected} but got {value.ndim}")
        if not self.reinterpreted_batch_ndims:
            return valid
        return valid.reshape((*valid.shape[:valid.ndim - self.reinterpreted_batch_ndims], -1)).all(-1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """What a mixture of components with the support `base_constraint` may give: a value that all components may give.

    >>> c = lucid.distributions.constraints
    >>> c.MixtureSameFamilyConstraint(c.positive).check(lucid.tensor([1.0, -1.0]))
    Tensor([ True, False], requires_grad=False)
    """

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError("base_constraint must be a Constraint")
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """A bool for each value of the mixture's batch, of which the components' dimension is no part."""
        valid = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        events = value.ndim - self.event_dim
        if valid.ndim <= events:
            return valid
        return valid.reshape((*valid.shape[:events], -1)).all(-1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_constraint!r})"


class _Sequence(Constraint):
    def __init__(self, cseq: Sequence[Constraint], dim: int) -> None:
        if not all(isinstance(constraint, Constraint) for constraint in cseq):
            raise AssertionError("cseq must be a sequence of Constraint instances")
        self.cseq = list(cseq)
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return any(constraint.is_discrete for constraint in self.cseq)

    def _place(self, value: Tensor) -> int:
        if not -value.ndim <= self.dim < value.ndim:
            raise AssertionError(f"dim {self.dim} is out of range for a value with {value.ndim} dimensions")
        return self.dim


class _Cat(_Sequence):
    """Constraints one after the other along the dimension `dim`, for parts of `lengths`, which are 1 by default.

    >>> c = lucid.distributions.constraints
    >>> c.cat([c.positive, c.real], dim=0).check(lucid.tensor([-1.0, -1.0]))
    Tensor([False,  True], requires_grad=False)
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self.lengths = [1] * len(cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(cseq):
            raise AssertionError(f"lengths must have the length of cseq, {len(cseq)}, not {len(self.lengths)}")
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        return max(constraint.event_dim for constraint in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self._place(value))
        return lucid.cat([constraint.check(part) for constraint, part in zip(self.cseq, parts)], self.dim)


class _Stack(_Sequence):
    """A constraint for each slice of the dimension `dim`.

    >>> c = lucid.distributions.constraints
    >>> c.stack([c.positive, c.real], dim=0).check(lucid.tensor([-1.0, -1.0]))
    Tensor([False,  True], requires_grad=False)
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        dim = max(constraint.event_dim for constraint in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        slices = value.unbind(self._place(value))
        return lucid.stack([constraint.check(part) for constraint, part in zip(self.cseq, slices)], self.dim)


independent = _IndependentConstraint
real_vector = independent(real, 1)
cat = _Cat
stack = _Stack
