"""The cross entropy of what a linear layer computes."""
from __future__ import annotations

import dataclasses
from typing import Any

from ....tensor import Tensor
from ...linalg.matmul import linear
from .loss import cross_entropy


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch divides `linear_cross_entropy` into parts to save memory; lucid computes it at once, whatever they are.

    >>> nn.LinearCrossEntropyOptions().chunking_method
    'auto'
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None


def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
                         weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
                         label_smoothing: float = 0.0, options: LinearCrossEntropyOptions | None = None) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``: input (N, F) or (F,), linear_weight (C, F) or
    (C, d_1, ..., F), for logits (N, C, d_1, ...), and linear_bias (C, d_1, ...). Errors as of `cross_entropy`.

    >>> hidden, weight, target = lucid.randn(4, 8), lucid.randn(20, 8), lucid.tensor([0, 3, 7, 19])
    >>> lucid.allclose(F.linear_cross_entropy(hidden, weight, target), F.cross_entropy(hidden @ weight.T, target))
    True
    """
    *classes, features = linear_weight.shape
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight.reshape(-1, features), bias).reshape(*input.shape[:-1], *classes)
    return cross_entropy(logits, target, weight, ignore_index=-100 if ignore_index is None else ignore_index,
                         reduction=reduction, label_smoothing=label_smoothing)
