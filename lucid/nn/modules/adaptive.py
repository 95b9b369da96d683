"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes, of which the frequent ones are cheap."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ops.creation.creation import arange
from ...ops.manipulation.joining import cat
from ...tensor import Tensor
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module


class _Result(NamedTuple):
    """`output`: the log-probability of each target (N,); `loss`: the mean of their negatives."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-softmax over `n_classes` classes, sorted by frequency, and its loss.

    The first ``cutoffs[0]`` classes are in `head`, a linear layer of `in_features` to them and one number for each of the
    other clusters, which end at the other cutoffs. A cluster i is in ``tail[i]``: a projection to ``in_features //
    div_value ** (i + 1)`` features, and a linear layer to its classes; only the rows of the batch whose target is in it are
    computed. ``model(input, target)`` takes (N, in_features) and (N,), or one sample, and gives `output` and `loss`.

    Raises ValueError for cutoffs that are not increasing integers below `n_classes`, for none, and where a projection would have
    no features; in `forward` RuntimeError for shapes and targets that do not fit.

    Source: Grave et al., "Efficient softmax approximation for GPUs", 2017.

    >>> loss = nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[5, 10])
    >>> output, mean = loss(lucid.randn(4, 16), lucid.tensor([0, 3, 7, 19]))
    >>> output.shape, mean.shape
    (lucid.Size([4]), lucid.Size([]))
    """

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        whole = all(int(cutoff) == cutoff for cutoff in cutoffs)
        if not whole or cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where "
                             "each value is between 1 and n_classes-1")
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            features = int(in_features // (div_value ** (i + 1)))
            if features == 0:
                raise ValueError(f"AdaptiveLogSoftmaxWithLoss: cluster {i} would have a projection to 0 features: "
                                 f"{in_features} // {div_value} ** {i + 1}")
            classes = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(Sequential(Linear(in_features, features, bias=False, **options),
                                        Linear(features, classes, bias=False, **options)))

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster.children():
                layer.reset_parameters()

    def forward(self, input: Tensor, target: Tensor) -> _Result:
        """(N, in_features) and targets (N,), or (in_features,) and a 0-d one."""
        if target.dim() not in (0, 1):
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs with "
                               f"sizes {list(input.shape)}.")
        if target.dim() == 1 and input.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        single = target.dim() == 0
        rows, labels = (input.unsqueeze(0), target.unsqueeze(0)) if single else (input, target)
        if labels.numel() and not (int(labels.min()) >= 0 and int(labels.max()) < self.n_classes):
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range [{int(labels.min())}, "
                               f"{int(labels.max())}] were found. ")
        in_head, of_clusters = labels.clone(), []
        for i, (low, high) in enumerate(zip(self.cutoffs[:-1], self.cutoffs[1:], strict=True)):
            chosen = ((labels >= low) & (labels < high)).nonzero().squeeze(1)
            if not chosen.numel():
                continue
            in_head[chosen] = self.shortlist_size + i
            scores = F.log_softmax(self.tail[i](rows[chosen]), 1)
            of_clusters.append((chosen, scores.gather(1, (labels[chosen] - low).unsqueeze(1)).squeeze(1)))
        output = F.log_softmax(self.head(rows), 1).gather(1, in_head.unsqueeze(1)).squeeze(1)
        for chosen, scores in of_clusters:
            output = output.index_add(0, chosen, scores)
        loss = (-output).mean()
        return _Result(output.squeeze(0) if single else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes (N, n_classes) of (N, in_features)."""
        return self._all(input, F.log_softmax(self.head(input), 1))

    def _all(self, input: Tensor, head: Tensor) -> Tensor:
        parts = [head[:, :self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            parts.append(F.log_softmax(tail(input), 1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return parts[0] if len(parts) == 1 else cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class (N,) of each row. Clusters are computed only for rows that the head sends there."""
        head = self.head(input)
        output = head.argmax(1)
        outside = output >= self.shortlist_size
        if not bool(outside.any()):
            return output
        output = output.clone()
        places = arange(len(input), device=input.device)[outside]
        output[places] = self.log_prob(input[places]).argmax(1)
        return output
