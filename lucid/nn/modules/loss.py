"""Losses as modules, each over its function in `functional`. `reduction` is 'mean', 'sum' or 'none'."""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from ...ops.nn.losses.linear_cross_entropy import LinearCrossEntropyOptions
from ...tensor import Tensor
from .. import functional as F
from .linear import Linear
from .module import Module


class _Loss(Module):
    """A loss with a reduction. `size_average` and `reduce` are its deprecated spellings."""

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
            warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
                          stacklevel=3)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss with weights, which are a buffer."""

    _described_buffers = _omitted_buffers = frozenset({"weight", "pos_weight"})

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """The absolute difference.

    `input` and `target` have one shape (others that broadcast give a UserWarning); ``reduction='none'`` keeps it, 'mean'
    and 'sum' give a 0-d tensor.

    >>> nn.L1Loss()(lucid.tensor([1.0, 5.0]), lucid.tensor([0.0, 3.0]))
    Tensor(1.5, requires_grad=False)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors of one shape."""
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The squared difference.

    `input` and `target` have one shape (others that broadcast give a UserWarning); ``reduction='none'`` keeps it, 'mean'
    and 'sum' give a 0-d tensor.

    >>> nn.MSELoss()(lucid.tensor([1.0, 5.0]), lucid.tensor([0.0, 3.0]))
    Tensor(2.5, requires_grad=False)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors of one shape."""
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """The squared difference where it is below `beta`, the absolute difference elsewhere, joined smoothly.

    >>> nn.SmoothL1Loss(reduction="none")(lucid.tensor([0.5, 4.0]), lucid.tensor([0.0, 0.0]))
    Tensor([0.125, 3.500], requires_grad=False)
    """

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
                 beta: float = 1.0) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors of one shape."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of log-probabilities `input` from probabilities, or log-probabilities, `target`.

    >>> nn.KLDivLoss(reduction="batchmean")(lucid.tensor([[0.5, 0.5]]).log(), lucid.tensor([[1.0, 0.0]]))
    Tensor(0.6931, requires_grad=False)
    """

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
                 log_target: bool = False) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors of one shape."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class NLLLoss(_WeightedLoss):
    """The negative log-likelihood of classes, given log-probabilities; `weight` has one number for each class.

    >>> nn.NLLLoss()(lucid.tensor([[0.25, 0.75]]).log(), lucid.tensor([1]))
    Tensor(0.2877, requires_grad=False)
    """

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
                 reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """(N, C, …) and integers (N, …)."""
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """The cross entropy of classes, or of class probabilities, given logits; `weight` has one number for each class.

    >>> logits = lucid.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
    >>> nn.CrossEntropyLoss(reduction="none")(logits, lucid.tensor([0, 2]))
    Tensor([0.2395, 0.0134], requires_grad=False)
    >>> nn.CrossEntropyLoss(label_smoothing=0.1)(logits, lucid.tensor([0, 2]))
    Tensor(0.3598, requires_grad=False)
    """

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
                 reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """(N, C, …) and integers (N, …) or probabilities (N, C, …)."""
        return F.cross_entropy(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
                               label_smoothing=self.label_smoothing)


class LinearCrossEntropyLoss(_WeightedLoss):
    """A linear layer, `linear`, and the cross entropy of its outputs as logits: input (N, in_features), targets as of
    `CrossEntropyLoss` for logits (N, num_classes, *out_features).

    Raises RuntimeError for weights of another shape than (num_classes,) and for a `label_smoothing` outside [0, 1].

    >>> loss = nn.LinearCrossEntropyLoss(8, 20)
    >>> loss(lucid.randn(4, 8), lucid.tensor([0, 3, 7, 19])).shape
    lucid.Size([])
    """

    def __init__(self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False,
                 device: Any = None, dtype: Any = None, reduction: str = "mean", weight: Tensor | None = None,
                 ignore_index: int | None = None, label_smoothing: float = 0.0,
                 options: LinearCrossEntropyOptions | None = None) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """(N, in_features) or (in_features,), and targets."""
        classes, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(input, self.linear.weight.reshape(*classes, self.linear.in_features), target,
                                      linear_bias=None if bias is None else bias.reshape(classes), weight=self.weight,
                                      reduction=self.reduction, ignore_index=self.ignore_index,
                                      label_smoothing=self.label_smoothing, options=self.options)


class BCELoss(_WeightedLoss):
    """The binary cross entropy of probabilities.

    `input` holds probabilities, `target` numbers from 0 to 1, of one shape; logarithms are at least -100. Raises
    RuntimeError outside [0, 1].

    >>> nn.BCELoss()(lucid.tensor([0.5, 0.75]), lucid.tensor([1.0, 1.0]))
    Tensor(0.4904, requires_grad=False)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors of one shape."""
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """The binary cross entropy of logits; `pos_weight` multiplies the positive targets.

    >>> nn.BCEWithLogitsLoss(reduction="none")(lucid.tensor([0.0, 2.0]), lucid.tensor([1.0, 1.0]))
    Tensor([0.6931, 0.1269], requires_grad=False)
    """

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors of one shape."""
        return F.binary_cross_entropy_with_logits(input, target, self.weight, pos_weight=self.pos_weight,
                                                  reduction=self.reduction)


class CTCLoss(_Loss):
    """The loss of sequences whose alignment is not known: see `F.ctc_loss`.

    >>> log_probs = lucid.zeros(3, 1, 2).log_softmax(2)  # (time, batch, classes)
    >>> nn.CTCLoss()(log_probs, lucid.tensor([[1]]), lucid.tensor([3]), lucid.tensor([1]))
    Tensor(0.2877, requires_grad=False)
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        """(T, N, C) or (T, C), targets (N, S) or one after the other, and the lengths of both."""
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)


class HuberLoss(_Loss):
    """The squared difference up to `delta`, the absolute difference times `delta` beyond, joined smoothly.

    >>> nn.HuberLoss(reduction="none")(lucid.tensor([0.5, 4.0]), lucid.tensor([0.0, 0.0]))
    Tensor([0.125, 3.500], requires_grad=False)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors of one shape."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts under Poisson distributions.

    >>> nn.PoissonNLLLoss()(lucid.tensor([0.0, 1.0]), lucid.tensor([1.0, 2.0]))
    Tensor(0.8591, requires_grad=False)
    """

    def __init__(self, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-8,
                 reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """Two tensors of one shape."""
        return F.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full, eps=self.eps,
                                  reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood under normal distributions of given means and variances.

    >>> nn.GaussianNLLLoss()(lucid.tensor([0.0, 1.0]), lucid.tensor([1.0, 1.0]), lucid.tensor([1.0, 1.0]))
    Tensor(0.25, requires_grad=False)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """Means and targets of one shape, and variances."""
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """The distance where the target is 1, ``max(0, margin - distance)`` where it is -1.

    >>> nn.HingeEmbeddingLoss()(lucid.tensor([0.5, 0.25]), lucid.tensor([1, -1]))
    Tensor(0.625, requires_grad=False)
    """

    def __init__(self, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors of one shape."""
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """``max(0, margin - target * (input1 - input2))``.

    >>> nn.MarginRankingLoss()(lucid.tensor([1.0, 1.0]), lucid.tensor([0.0, 3.0]), lucid.tensor([1, 1]))
    Tensor(1.0, requires_grad=False)
    """

    def __init__(self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Three tensors of one shape."""
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1.

    >>> nn.CosineEmbeddingLoss()(lucid.tensor([[1.0, 0.0]]), lucid.tensor([[0.0, 1.0]]), lucid.tensor([1]))
    Tensor(1.0, requires_grad=False)
    """

    def __init__(self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """(N, D), (N, D) and (N,), or without N."""
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))`` for targets of 1 and -1.

    >>> nn.SoftMarginLoss()(lucid.tensor([0.0, 1.0]), lucid.tensor([1.0, -1.0]))
    Tensor(1.0032, requires_grad=False)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors of one shape."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """The hinge of the scores of the other classes against that of the target. Raises ValueError for other `p` than 1 and 2.

    >>> nn.MultiMarginLoss()(lucid.tensor([[0.1, 0.2, 0.4, 0.8]]), lucid.tensor([3]))
    Tensor(0.325, requires_grad=False)
    """

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None,
                 reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.ndim != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.ndim}D instead")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """(N, C) and integers (N,), or without N."""
        return F.multi_margin_loss(input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """The hinge of the scores of other classes against those of all labels of a sample.

    >>> nn.MultiLabelMarginLoss()(lucid.tensor([[0.1, 0.2, 0.4, 0.8]]), lucid.tensor([[3, 0, -1, 1]]))
    Tensor(0.85, requires_grad=False)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """(N, C) and integers (N, C): labels up to the first -1; or without N."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean binary cross entropy of the logits of all classes.

    >>> nn.MultiLabelSoftMarginLoss()(lucid.tensor([[2.0, -2.0]]), lucid.tensor([[1.0, 0.0]]))
    Tensor(0.1269, requires_grad=False)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Two tensors (N, C)."""
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """``max(0, margin + |anchor - positive| - |anchor - negative|)``. Raises ValueError for a margin that is not positive.

    >>> nn.TripletMarginLoss()(lucid.tensor([[0.0]]), lucid.tensor([[1.0]]), lucid.tensor([[1.5]]))
    Tensor(0.5, requires_grad=False)
    """

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
                 size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Three tensors (…, D)."""
        return F.triplet_margin_loss(anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps, swap=self.swap,
                                     reduction=self.reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a distance of the caller's; None is the Euclidean one.

    >>> loss = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(1))
    >>> loss(lucid.tensor([[0.0]]), lucid.tensor([[1.0]]), lucid.tensor([[1.5]]))
    Tensor(0.5, requires_grad=False)
    """

    def __init__(self, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
                 swap: bool = False, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead")
        self.distance_function = F.pairwise_distance if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Three tensors (…, D)."""
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function,
                                                   margin=self.margin, swap=self.swap, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """`NLLLoss` by its old name, with a FutureWarning.

    >>> nn.NLLLoss2d()(lucid.tensor([0.25, 0.75]).log().view(1, 2, 1, 1), lucid.tensor([[[1]]]))
    Tensor(0.2877, requires_grad=False)
    """

    def __init__(self, *args: Any, **keywords: Any) -> None:
        warnings.warn("`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement.", FutureWarning,
                      stacklevel=2)
        super().__init__(*args, **keywords)
