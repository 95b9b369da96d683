"""Losses of margins between scores, and of distances and angles between vectors."""
from __future__ import annotations

from collections.abc import Callable

from ..tensor import Tensor
from ._large import fused_formula
from ._operands import require_tensor
from .activation import logsigmoid, require_floating
from .arithmetic import minimum
from .comparison import clip, where
from .creation import arange
from .loss import _reduced, _reduction
from .vectors import pairwise_distance

__all__ = ()  # functions of nn.functional only


@fused_formula
def _hinge_embedding(input: Tensor, target: Tensor, margin: float) -> Tensor:
    return where(target == 1, 0.0, clip(margin - input, min=0)) + where(target == -1, 0.0, input)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """The distance `input` where `target` is 1, ``max(0, margin - input)`` where it is -1."""
    reduction = _reduction(reduction, size_average, reduce)
    require_tensor("hinge_embedding_loss", input)
    return _reduced(_hinge_embedding(input, target, margin), reduction)


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
                        reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """``max(0, margin - target * (input1 - input2))``: `target` is 1 where `input1` should be the larger, else -1.

    Raises RuntimeError for numbers of dimensions that differ.
    """
    reduction = _reduction(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                           f"{list(input1.shape)}, input2: {list(input2.shape)}, target: {list(target.shape)}")
    # In this order: unsigned integers wrap around before the margin makes them floating.
    return _reduced(clip(-target * (input1 - input2) + float(margin), min=0), reduction)


@fused_formula
def _soft_margin(input: Tensor, target: Tensor) -> Tensor:
    return -logsigmoid(target * input)


def soft_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                     reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-target * input))`` for targets of 1 and -1."""
    reduction = _reduction(reduction, size_average, reduce)
    require_floating("soft_margin_loss", input)
    return _reduced(_soft_margin(input, target), reduction)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
                          size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """``1 - cos`` of the vectors (N, D) or (D,) where `target` (N,) or () is 1, ``max(0, cos - margin)`` where it is -1.

    Raises RuntimeError for other shapes.
    """
    reduction = _reduction(reduction, size_average, reduce)
    if target.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise RuntimeError(f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
                           f"{list(input1.shape)} and {list(input2.shape)}.")
    # The lengths are kept from 0 inside the root, not outside of it as in `cosine_similarity`.
    dim, eps = target.ndim, 1e-12
    lengths = ((input1 * input1).sum(dim) + eps) * ((input2 * input2).sum(dim) + eps)
    cosine = (input1 * input2).sum(dim) / lengths.sqrt()
    return _reduced(where(target == 1, 1 - cosine, 0.0) + where(target == -1, clip(cosine - margin, min=0), 0.0), reduction)


@fused_formula
def _gaps(scores: Tensor, wanted: Tensor, others: Tensor, margin: float, p: int, weight: Tensor | None) -> Tensor:
    """What `margin` lacks between the `wanted` scores and the `others`, which a bool marks, to the power `p`."""
    gaps = clip(margin - wanted + scores, min=0)
    gaps = gaps if p == 1 else gaps * gaps
    return where(others, gaps if weight is None else gaps * weight, 0.0)


def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
                      size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """The mean over the other classes of ``max(0, margin - input[target] + input[class]) ** p`` for `input` (N, C) or (C,).

    `weight` (C,) scales by the class of the target. Raises ValueError for other `p` than 1 and 2, RuntimeError for shapes
    that do not fit.
    """
    reduction = _reduction(reduction, size_average, reduce)
    require_floating("multi_margin_loss", input)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    scores, labels = (input, target) if input.ndim > 1 else (input.reshape(1, -1), target.reshape(1))
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise RuntimeError("Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                           f"{list(input.shape)}")
    if labels.shape != scores.shape[:1]:
        raise RuntimeError(f"inconsistent target size, expected {scores.shape[0]} but got {list(labels.shape)}")
    column = labels.unsqueeze(1)
    others = arange(scores.shape[1], device=input.device) != column
    scale = None if weight is None else weight.index_select(0, labels).unsqueeze(1)
    loss = _gaps(scores, scores.gather(1, column), others, margin, p, scale).sum(1) / scores.shape[1]
    return _reduced(loss if input.ndim > 1 or target.ndim else loss.squeeze(0), reduction)


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                           reduction: str = "mean") -> Tensor:
    """The sum of ``max(0, 1 - input[label] + input[other])`` over the labels of a sample and its other classes, divided by C.

    `input` and `target` are (N, C) or (C,); a row of `target` holds class numbers up to the first -1. Raises RuntimeError
    for shapes that differ.
    """
    reduction = _reduction(reduction, size_average, reduce)
    require_floating("multilabel_margin_loss", input)
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    scores, labels = (input, target) if input.ndim > 1 else (input.reshape(1, -1), target.reshape(1, -1))
    given = (labels < 0).long().cumsum(1) == 0
    safe = where(given, labels, 0)
    ones = given.to(input.dtype)
    is_label = scores.detach().new_zeros(scores.shape).scatter_add(1, safe, ones) > 0
    counted = given.unsqueeze(2) & (~is_label).unsqueeze(1)
    loss = _gaps(scores.unsqueeze(1), scores.gather(1, safe).unsqueeze(2), counted, 1, 1, None).sum((1, 2)) / scores.shape[1]
    return _reduced(loss if input.ndim > 1 else loss.squeeze(0), reduction)


@fused_formula
def _cross_entropy_of_labels(input: Tensor, target: Tensor) -> Tensor:
    return -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                                reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """The mean over the last dimension of the binary cross entropy of logits; `weight` scales the classes."""
    reduction = _reduction(reduction, size_average, reduce)
    loss = _cross_entropy_of_labels(input, target)
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.sum(-1) / input.shape[-1], reduction)


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-6, swap: bool = False, size_average: bool | None = None, reduce: bool | None = None,
                        reduction: str = "mean") -> Tensor:
    """``max(0, margin + |anchor - positive| - |anchor - negative|)`` of vectors (…, D) with the `p`-norm.

    With `swap` the negative's distance is the smaller one from anchor and positive. Raises ValueError for a margin that is
    not positive, RuntimeError for numbers of dimensions that differ.

    Source: Balntas et al., "Learning local feature descriptors with triplets", 2016.
    """
    reduction = _reduction(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return triplet_margin_with_distance_loss(anchor, positive, negative, margin=margin, swap=swap, reduction=reduction,
                                             distance_function=lambda x, y: pairwise_distance(x, y, p, eps))


def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *,
                                      distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
                                      margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> Tensor:
    """`triplet_margin_loss` with a distance of the caller's; None is the Euclidean one."""
    reduction = _reduction(reduction, None, None)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of dimensions, but "
                           f"got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return _reduced(clip(margin + near - far, min=0), reduction)
