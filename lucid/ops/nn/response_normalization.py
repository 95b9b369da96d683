"""Normalisation by the neighbouring channels."""
from __future__ import annotations

from ...tensor import Tensor
from .._operands import require_tensor
from ..manipulation.padding import pad


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """``input / (k + alpha * m) ** beta`` with m, the mean of input² over `size` neighbouring channels; those beyond the first
    and the last count as zeros. (N, C, *) to the same shape.

    Source: Krizhevsky et al. 2012. Raises ValueError for less than 3 dimensions.
    """
    if require_tensor("local_response_norm", input).ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if input.numel() == 0:
        return input
    beside = [0, 0] * (input.ndim - 2) + [size // 2, (size - 1) // 2]
    mean = pad(input * input, beside).unfold(1, size, 1).mean(-1)
    return input / (mean * alpha + k) ** beta
