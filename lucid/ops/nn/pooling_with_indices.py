"""Pooling that returns where the maxima stand, by the names of torch.nn.functional."""
from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .fractional_pooling import fractional_max_pool2d, fractional_max_pool3d
from .pooling import adaptive_max_pool2d, max_pool2d
from .pooling_dimensions import adaptive_max_pool1d, adaptive_max_pool3d, max_pool1d, max_pool3d

Pair = tuple[Tensor, Tensor]


def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                            ceil_mode: bool = False, return_indices: bool = False) -> Pair:
    """`max_pool1d` and where the maxima stand, whatever `return_indices`.

    >>> F.max_pool1d_with_indices(lucid.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (Tensor([[3.0, 2.0]], requires_grad=False), Tensor([[1, 2]], requires_grad=False))
    """
    found: Pair = max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)
    return found


def max_pool2d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                            ceil_mode: bool = False, return_indices: bool = False) -> Pair:
    """`max_pool2d` and where the maxima stand in their planes.

    >>> F.max_pool2d_with_indices(lucid.arange(4.0).reshape(1, 2, 2), 2)
    (Tensor([[[3.0]]], requires_grad=False), Tensor([[[3]]], requires_grad=False))
    """
    found: Pair = max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)
    return found


def max_pool3d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                            ceil_mode: bool = False, return_indices: bool = False) -> Pair:
    """`max_pool3d` and where the maxima stand in their volumes.

    >>> F.max_pool3d_with_indices(lucid.arange(8.0).reshape(1, 2, 2, 2), 2)[1].item()
    7
    """
    found: Pair = max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=True)
    return found


def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Pair:
    """`adaptive_max_pool1d` and where the maxima stand.

    >>> F.adaptive_max_pool1d_with_indices(lucid.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (Tensor([[3.0, 2.0]], requires_grad=False), Tensor([[1, 2]], requires_grad=False))
    """
    found: Pair = adaptive_max_pool1d(input, output_size, return_indices=True)
    return found


def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Pair:
    """`adaptive_max_pool2d` and where the maxima stand in their planes.

    >>> F.adaptive_max_pool2d_with_indices(lucid.arange(4.0).reshape(1, 2, 2), 1)[1].item()
    3
    """
    found: Pair = adaptive_max_pool2d(input, output_size, return_indices=True)
    return found


def adaptive_max_pool3d_with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Pair:
    """`adaptive_max_pool3d` and where the maxima stand in their volumes.

    >>> F.adaptive_max_pool3d_with_indices(lucid.arange(8.0).reshape(1, 2, 2, 2), 1)[1].item()
    7
    """
    found: Pair = adaptive_max_pool3d(input, output_size, return_indices=True)
    return found


def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                                       return_indices: bool = False, _random_samples: Tensor | None = None) -> Pair:
    """`fractional_max_pool2d` and where the maxima stand in their planes.

    >>> F.fractional_max_pool2d_with_indices(lucid.arange(16.0).reshape(1, 4, 4), 2, 2)[1].shape
    lucid.Size([1, 2, 2])
    """
    found: Pair = fractional_max_pool2d(input, kernel_size, output_size, output_ratio, True, _random_samples)
    return found


def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                                       return_indices: bool = False, _random_samples: Tensor | None = None) -> Pair:
    """`fractional_max_pool3d` and where the maxima stand in their volumes.

    >>> F.fractional_max_pool3d_with_indices(lucid.arange(64.0).reshape(1, 4, 4, 4), 2, 2)[1].shape
    lucid.Size([1, 2, 2, 2])
    """
    found: Pair = fractional_max_pool3d(input, kernel_size, output_size, output_ratio, True, _random_samples)
    return found
