"""Losses of margins between scores, and of distances and angles between vectors."""
from __future__ import annotations

from collections.abc import Callable

from .... import _dtypes
from ....autograd.errors import type_name
from ....tensor import Tensor
from ..._operands import is_differentiated, require_tensor
from ...creation.creation import arange
from ...elementwise.arithmetic import minimum
from ...elementwise.clamp import clip
from ...elementwise.fused import fused_formula
from ...elementwise.where import where
from ...indexing.index import IndexBoundsError, check_bounds
from ...linalg.distances import pairwise_distance
from ..activation import logsigmoid, require_floating
from .loss import _reduced, _reduction, _require_losses

__all__ = ()  # functions of nn.functional only


@fused_formula
def _hinge_embedding(input: Tensor, target: Tensor, margin: float) -> Tensor:
    return where(target == 1, 0.0, clip(margin - input, min=0)) + where(target == -1, 0.0, input)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """The distance `input` where `target` is 1, ``max(0, margin - input)`` where it is -1.

    >>> F.hinge_embedding_loss(lucid.tensor([0.5, 0.25]), lucid.tensor([1, -1]), reduction="none")
    Tensor([0.50, 0.75], requires_grad=False)
    """
    reduction = _reduction(reduction, size_average, reduce)
    require_tensor("hinge_embedding_loss", input)
    return _reduced(_hinge_embedding(input, target, margin), reduction)


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
                        reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """``max(0, margin - target * (input1 - input2))``: `target` is 1 where `input1` should be the larger, else -1.

    Raises RuntimeError for numbers of dimensions that differ.

    >>> F.margin_ranking_loss(lucid.tensor([1.0, 1.0]), lucid.tensor([0.0, 3.0]), lucid.tensor([1, 1]), reduction="none")
    Tensor([0.0, 2.0], requires_grad=False)
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
    """``log(1 + exp(-target * input))`` for targets of 1 and -1.

    >>> F.soft_margin_loss(lucid.tensor([0.0, 1.0]), lucid.tensor([1.0, -1.0]))
    Tensor(1.0032, requires_grad=False)
    """
    reduction = _reduction(reduction, size_average, reduce)
    require_floating("soft_margin_loss", input)
    return _reduced(_soft_margin(input, target), reduction)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
                          size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """``1 - cos`` of the vectors (N, D) or (D,) where `target` (N,) or () is 1, ``max(0, cos - margin)`` where it is -1.

    Raises RuntimeError for other shapes.

    >>> F.cosine_embedding_loss(lucid.tensor([[1.0, 0.0]]), lucid.tensor([[0.0, 1.0]]), lucid.tensor([1]))
    Tensor(1.0, requires_grad=False)
    """
    reduction = _reduction(reduction, size_average, reduce)
    if target.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise RuntimeError(f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
                           f"{list(input1.shape)} and {list(input2.shape)}.")
    dim = target.ndim
    products, first, second = ((x * y).sum(dim) for x, y in ((input1, input2), (input1, input1), (input2, input2)))
    return _reduced(_cosine_embedding(products, first, second, target, margin), reduction)


@fused_formula
def _cosine_embedding(products: Tensor, first: Tensor, second: Tensor, target: Tensor, margin: float) -> Tensor:
    """The loss from the sums of the products of two vectors and of the squares of each."""
    # The lengths are kept from 0 inside the root, not outside of it as in `cosine_similarity`.
    cosine = products / ((first + 1e-12) * (second + 1e-12)).sqrt()
    return where(target == 1, 1 - cosine, 0.0) + where(target == -1, clip(cosine - margin, min=0), 0.0)


# ---- scores of classes -----------------------------------------------------------------------------------------------------
def _require_scores(name: str, input: Tensor, target: Tensor) -> int:
    """The number of classes. Raises for scores other than (N, C), (C,) and (), and for labels that are not int64."""
    _require_losses(name, input, target)
    require_floating(name, input)
    shape = input._array.shape
    if len(shape) > 2 or (shape and shape[-1] == 0):
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(shape)}")
    return shape[-1] if shape else 1


def _check_labels(target: Tensor, low: int, classes: int, message: str) -> None:
    if target._array.dtype != _dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {type_name(target.dtype)}")
    try:
        check_bounds(target._array, low, classes, message)
    except IndexError as error:
        raise IndexBoundsError(*error.args) from None


def _wide(x: Tensor) -> Tensor:
    """Half precision as float32: a row is rounded once."""
    return x.to(_dtypes.float32) if x._array.dtype.itemsize == 2 else x


def _lacking(gaps: Tensor, counted: Tensor) -> tuple[Tensor, Tensor]:
    """Where the `gaps` that are `counted` are above 0, and the gaps there; NaN is not, and has no gradient, as in PyTorch."""
    lacks = counted & (gaps > 0)
    return lacks, where(lacks, gaps, 0.0)


def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
                      size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """The mean over the classes of ``max(0, margin - input[target] + input[class]) ** p``, where that of the target is 0, for
    `input` (N, C), (C,) or () and int64 `target` (N,) or ().

    `weight` (C,), a constant of the dtype of `input`, scales by the class of the target. A difference that is NaN counts nothing.

    Raises ValueError for other `p` than 1 and 2, IndexError for a target that is no class, RuntimeError for shapes and dtypes
    that do not fit.

    >>> F.multi_margin_loss(lucid.tensor([[0.1, 0.2, 0.4, 0.8]]), lucid.tensor([3]))
    Tensor(0.325, requires_grad=False)
    """
    reduction = _reduction(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    classes = _require_scores("multi_margin_loss", input, target)
    shape, given = input._array.shape, target._array.shape
    rows = shape[0] if len(shape) == 2 else 1
    if len(given) > 1 or target._array.size != rows:
        raise RuntimeError("multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
                           f"size): inconsistent target size, expected [{rows}] but got {list(given)}. Input has shape "
                           f"{list(shape)}.")
    _check_labels(target, 0, classes, "target out of range")
    if weight is not None:
        _require_constant(weight, input, classes)
    scores, column = _wide(input).reshape(rows, classes), target.reshape(rows, 1)
    lacks, gaps = _lacking(margin - scores.gather(1, column) + scores, arange(classes, device=input.device) != column)
    gaps = gaps if p == 1 else gaps * gaps
    if weight is not None:
        gaps = where(lacks, gaps * _wide(weight)[column], 0.0)
    return _reduced((gaps.sum(1) / classes).reshape(given), reduction).to(input.dtype)


def _require_constant(weight: Tensor, input: Tensor, classes: int) -> None:
    if weight._array.size != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    if weight._array.dtype != input._array.dtype:
        raise RuntimeError(f"expected scalar type {type_name(input.dtype)} but found {type_name(weight.dtype)}")
    if is_differentiated(weight):
        raise RuntimeError("The function 'multi_margin_loss' is not differentiable with respect to argument 'weight'. This input "
                           "cannot have requires_grad True.")


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                           reduction: str = "mean") -> Tensor:
    """The sum of ``max(0, 1 - input[label] + input[other])`` over the labels of a sample and its other classes, divided by C.

    `input` and the int64 `target` are (N, C), (C,) or (); a row of `target` holds class indices up to the first -1. A difference
    that is NaN counts nothing. Raises IndexError for targets outside of [-1, C), RuntimeError for shapes and dtypes that do not
    fit.

    >>> F.multilabel_margin_loss(lucid.tensor([[0.1, 0.2, 0.4, 0.8]]), lucid.tensor([[3, 0, -1, 1]]))
    Tensor(0.85, requires_grad=False)
    """
    reduction = _reduction(reduction, size_average, reduce)
    classes = _require_scores("multilabel_margin_loss", input, target)
    shape, given = input._array.shape, target._array.shape
    if given != shape and (len(shape) == 2 or len(given) > 1 or target._array.size != classes):
        raise RuntimeError(f"inconsistent target size: {list(given)} for input of size: {list(shape)}")
    _check_labels(target, -1, classes, "argument #2 'target' is out of range")
    scores, labels = _wide(input).reshape(-1, classes), target.reshape(-1, classes)
    given = (labels < 0).cumsum(1) == 0
    is_label = scores.detach().new_zeros(scores.shape).scatter_add(1, where(given, labels, 0), given.to(scores.dtype)) > 0
    if not input.is_meta and labels._array.size:  # rows have few labels
        most = max(1, int(given.sum(1).max()))
        given, labels = given[:, :most], labels[:, :most]
    gaps = 1 - scores.gather(1, where(given, labels, 0)).unsqueeze(2) + scores.unsqueeze(1)
    _, gaps = _lacking(gaps, given.unsqueeze(2) & ~is_label.unsqueeze(1))
    return _reduced((gaps.sum((1, 2)) / classes).reshape(shape[:-1]), reduction).to(input.dtype)


@fused_formula
def _cross_entropy_of_labels(input: Tensor, target: Tensor) -> Tensor:
    return -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                                reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """The mean over the last dimension of the binary cross entropy of logits; `weight` scales the classes.

    >>> F.multilabel_soft_margin_loss(lucid.tensor([[2.0, -2.0]]), lucid.tensor([[1.0, 0.0]]))
    Tensor(0.1269, requires_grad=False)
    """
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

    >>> F.triplet_margin_loss(lucid.tensor([[0.0]]), lucid.tensor([[1.0]]), lucid.tensor([[1.5]]))
    Tensor(0.5, requires_grad=False)
    """
    reduction = _reduction(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return triplet_margin_with_distance_loss(anchor, positive, negative, margin=margin, swap=swap, reduction=reduction,
                                             distance_function=lambda x, y: pairwise_distance(x, y, p, eps))


def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *,
                                      distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
                                      margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> Tensor:
    """`triplet_margin_loss` with a distance of the caller's; None is the Euclidean one.

    >>> F.triplet_margin_with_distance_loss(lucid.tensor([[0.0]]), lucid.tensor([[1.0]]), lucid.tensor([[1.5]]))
    Tensor(0.5, requires_grad=False)
    """
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
    return _reduced(_hinge(near, far, margin), reduction)


@fused_formula
def _hinge(near: Tensor, far: Tensor, margin: float) -> Tensor:
    return clip(margin + near - far, min=0)
