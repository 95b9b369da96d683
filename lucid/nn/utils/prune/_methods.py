"""The methods of pruning: which elements or slices of a parameter get a zero in its mask."""
from __future__ import annotations

import numbers
from typing import Any

from ....ops.creation.creation import zeros_like
from ....ops.linalg.norm import norm
from ....ops.random.random import rand, rand_like
from ....ops.random.random_numbers import at_least_single
from ....ops.sorting.sorting import topk
from ....tensor import Tensor
from ...modules.module import Module
from ._method import BasePruningMethod


class _Amount:
    """How much to prune: a fraction from 0 to 1 of what is left, or a number of elements or slices.

    Raises TypeError for what is not a real number, ValueError for a negative number and a fraction outside 0 to 1.
    """

    def __init__(self, amount: Any) -> None:
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if float(amount) < 0 or (float(amount) > 1 and not isinstance(amount, numbers.Integral)):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
        self.amount = amount

    def _of(self, size: int) -> int:
        """The number to prune out of `size`. Raises ValueError if there are fewer."""
        count = int(self.amount) if isinstance(self.amount, numbers.Integral) else round(float(self.amount) * size)
        if count > size:
            raise ValueError(f"amount={count} should be smaller than the number of parameters to prune={size}")
        return count


class Identity(BasePruningMethod):
    """Prune nothing: the mask is all ones, for masks that come later.

    >>> nn.utils.prune.Identity().prune(lucid.tensor([3.0, 4.0]))
    Tensor([3.0, 4.0], requires_grad=False)
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` itself."""
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> BasePruningMethod:  # type: ignore[override]
        """See `BasePruningMethod.apply`."""
        return super().apply(module, name)


class _Unstructured(_Amount, BasePruningMethod):
    """What methods share that prune the elements with the lowest scores."""

    PRUNING_TYPE = "unstructured"

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` with zeros at the elements to prune. Raises ValueError if there are fewer elements than that."""
        count = self._of(t.numel())
        mask = default_mask.detach().clone().contiguous()
        if count:
            lowest = topk(self._scores(t.detach()).reshape(-1), count, largest=False).indices
            mask.view(-1).index_fill_(0, lowest, 0)
        return mask


class RandomUnstructured(_Unstructured):
    """Prune elements at random. `amount` is a fraction or a number of elements.

    >>> nn.utils.prune.RandomUnstructured(amount=2).prune(lucid.ones(5)).sum()
    Tensor(3.0, requires_grad=False)
    """

    def _scores(self, t: Tensor) -> Tensor:
        return rand_like(t, dtype=at_least_single(t.dtype))

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any) -> BasePruningMethod:  # type: ignore[override]
        """See `BasePruningMethod.apply`."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Prune the elements of the smallest magnitude. `amount` is a fraction or a number of elements.

    >>> nn.utils.prune.L1Unstructured(amount=2).prune(lucid.tensor([3.0, -1.0, 0.5, -4.0]))
    Tensor([ 3.0, -0.0,  0.0, -4.0], requires_grad=False)
    """

    def _scores(self, t: Tensor) -> Tensor:
        return t.abs()

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, importance_scores: Tensor | None = None  # type: ignore[override]
              ) -> BasePruningMethod:
        """See `BasePruningMethod.apply`."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_Amount, BasePruningMethod):
    """What methods share that prune the slices of one dimension with the lowest scores."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` with zeros in the slices to prune.

        Raises ValueError for a tensor of less than two dimensions and if there are fewer slices than to prune, IndexError if
        there is no dimension `dim`.
        """
        if t.ndim <= 1:
            raise ValueError("Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                             f"{t.shape} with {t.ndim} dims")
        if not -t.ndim <= self.dim < t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = self._of(size)
        if count == 0:
            return default_mask
        kept = topk(self._scores(t.detach()), size - count, largest=True).indices
        return zeros_like(t).index_fill_(self.dim, kept, 1) * default_mask.to(dtype=t.dtype)


class RandomStructured(_Structured):
    """Prune slices of dimension `dim` at random. `amount` is a fraction or a number of slices.

    >>> mask = nn.utils.prune.RandomStructured(amount=1, dim=0).prune(lucid.ones(3, 2))
    >>> mask.sum(1).sort().values
    Tensor([0.0, 2.0, 2.0], requires_grad=False)
    """

    def _scores(self, t: Tensor) -> Tensor:
        return rand(t.shape[self.dim], device=t.device)

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, dim: int = -1) -> BasePruningMethod:  # type: ignore[override]
        """See `BasePruningMethod.apply`."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prune the slices of dimension `dim` that have the smallest norm of order `n`, which is as for `lucid.norm`.

    `amount` is a fraction or a number of slices.

    >>> nn.utils.prune.LnStructured(amount=1, n=2, dim=0).prune(lucid.tensor([[3.0, 4.0], [1.0, 0.0]]))
    Tensor([[3.0, 4.0],
            [0.0, 0.0]], requires_grad=False)
    """

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: Tensor) -> Tensor:
        return norm(t, self.n, [d for d in range(t.ndim) if d != self.dim % t.ndim])

    @classmethod
    def apply(cls, module: Module, name: str, amount: Any, n: Any, dim: int,  # type: ignore[override]
              importance_scores: Tensor | None = None) -> BasePruningMethod:
        """See `BasePruningMethod.apply`."""
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prune where `mask`, a tensor of any dtype and of the shape of the parameter, is 0.

    >>> nn.utils.prune.CustomFromMask(lucid.tensor([1.0, 0.0])).prune(lucid.tensor([3.0, 4.0]))
    Tensor([3.0, 0.0], requires_grad=False)
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` times the given mask. Raises AssertionError if their shapes differ."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> BasePruningMethod:  # type: ignore[override]
        """See `BasePruningMethod.apply`."""
        return super().apply(module, name, mask=mask)
