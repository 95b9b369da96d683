"""Padding of the last dimensions. `padding` is a number for all sides, or (last before, last after, last but one before, …)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ...tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import sizes


class _Pad(Module):
    """Padding of `_dims` dimensions in the mode `_mode` of `functional.pad`."""

    _dims: ClassVar[int]
    _mode: ClassVar[str]

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = sizes(padding, 2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, …) or (C, …), larger in the last dimensions."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """The padding."""
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    _mode = "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, …) or (C, …), larger in the last dimensions."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Padding and value."""
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """The padding."""
        return f"{self.padding}"


class ConstantPad1d(_ConstantPadNd):
    """Copies of `value` around the last one dimension.

    >>> nn.ConstantPad1d((1, 2), 9.0)(lucid.tensor([[1.0, 2.0]]))
    Tensor([[9.0, 1.0, 2.0, 9.0, 9.0]], requires_grad=False)
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Copies of `value` around the last two dimensions.

    >>> nn.ConstantPad2d((1, 0, 0, 1), 9.0)(lucid.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
    Tensor([[[9.0, 1.0, 2.0],
             [9.0, 3.0, 4.0],
             [9.0, 9.0, 9.0]]], requires_grad=False)
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Copies of `value` around the last three dimensions.

    >>> nn.ConstantPad3d(1, 9.0)(lucid.zeros(1, 2, 2, 2)).shape
    lucid.Size([1, 4, 4, 4])
    """

    _dims = 3


class ZeroPad1d(_ZeroPad):
    """Zeros around the last one dimension.

    >>> nn.ZeroPad1d((1, 2))(lucid.tensor([[1.0, 2.0]]))
    Tensor([[0.0, 1.0, 2.0, 0.0, 0.0]], requires_grad=False)
    """

    _dims = 1


class ZeroPad2d(_ZeroPad):
    """Zeros around the last two dimensions.

    >>> nn.ZeroPad2d((1, 0, 0, 1))(lucid.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
    Tensor([[[0.0, 1.0, 2.0],
             [0.0, 3.0, 4.0],
             [0.0, 0.0, 0.0]]], requires_grad=False)
    """

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """Zeros around the last three dimensions.

    >>> nn.ZeroPad3d(1)(lucid.zeros(1, 1, 2, 2, 2)).shape
    lucid.Size([1, 1, 4, 4, 4])
    """

    _dims = 3


class _ReflectionPadNd(_Pad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """What mirrors at its edges would show around the last one dimension.

    >>> nn.ReflectionPad1d(2)(lucid.tensor([[1.0, 2.0, 3.0]]))
    Tensor([[3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0]], requires_grad=False)
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """What mirrors at its edges would show around the last two dimensions.

    >>> nn.ReflectionPad2d((1, 0, 0, 1))(lucid.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
    Tensor([[[2.0, 1.0, 2.0],
             [4.0, 3.0, 4.0],
             [2.0, 1.0, 2.0]]], requires_grad=False)
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """What mirrors at its edges would show around the last three dimensions.

    >>> nn.ReflectionPad3d(1)(lucid.zeros(1, 1, 2, 2, 2)).shape
    lucid.Size([1, 1, 4, 4, 4])
    """

    _dims = 3


class _ReplicationPadNd(_Pad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Copies of its edges around the last one dimension.

    >>> nn.ReplicationPad1d(2)(lucid.tensor([[1.0, 2.0, 3.0]]))
    Tensor([[1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0]], requires_grad=False)
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Copies of its edges around the last two dimensions.

    >>> nn.ReplicationPad2d((1, 0, 0, 1))(lucid.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
    Tensor([[[1.0, 1.0, 2.0],
             [3.0, 3.0, 4.0],
             [3.0, 3.0, 4.0]]], requires_grad=False)
    """

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Copies of its edges around the last three dimensions.

    >>> nn.ReplicationPad3d(1)(lucid.zeros(1, 1, 2, 2, 2)).shape
    lucid.Size([1, 1, 4, 4, 4])
    """

    _dims = 3


class _CircularPadNd(_Pad):
    _mode = "circular"


class CircularPad1d(_CircularPadNd):
    """Its other end around the last one dimension.

    >>> nn.CircularPad1d((1, 2))(lucid.tensor([[[1.0, 2.0, 3.0]]]))
    Tensor([[[3.0, 1.0, 2.0, 3.0, 1.0, 2.0]]], requires_grad=False)
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Its other end around the last two dimensions.

    >>> nn.CircularPad2d((1, 0, 0, 1))(lucid.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
    Tensor([[[2.0, 1.0, 2.0],
             [4.0, 3.0, 4.0],
             [2.0, 1.0, 2.0]]], requires_grad=False)
    """

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Its other end around the last three dimensions.

    >>> nn.CircularPad3d(1)(lucid.zeros(1, 1, 2, 2, 2)).shape
    lucid.Size([1, 1, 4, 4, 4])
    """

    _dims = 3
