"""The loss of sequences whose alignment is not known: connectionist temporal classification."""
from __future__ import annotations

import math
from typing import Any

from .. import _dtypes
from ..autograd.errors import type_name
from ..tensor import Tensor
from ._operands import require_tensor
from .comparison import where
from .creation import arange, tensor
from .joining import cat, stack
from .reduction import logsumexp

__all__ = ()  # a function of nn.functional only

_NEVER = -1e30  # the logarithm of 0 in sums: the gradient of -inf would be NaN
_REDUCTIONS = ("none", "mean", "sum")


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
             zero_infinity: bool = False) -> Tensor:
    """Minus the logarithm of the probability of each target, over all its alignments: (N,), its 'sum', or the 'mean' of the
    losses divided by the lengths of the targets.

    `log_probs` (T, N, C) are logarithms of probabilities, of which the first `input_lengths` (N,) frames count; `targets` are
    (N, S) with `target_lengths` (N,), or one after the other in a vector. Class `blank` is no target. Without N there is one
    sequence. A target that fits into no alignment has the loss inf, or with `zero_infinity` 0. As in PyTorch, the gradient is
    that of logits which `log_softmax` made `log_probs` of.

    Raises RuntimeError for shapes, dtypes, classes and lengths that do not fit.
    Source: Graves et al., "Connectionist temporal classification", 2006.
    """
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    single = require_tensor("ctc_loss", log_probs).ndim == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    if log_probs.ndim != 3 or not _dtypes.is_floating(log_probs.dtype) or log_probs.dtype.itemsize == 2:
        raise RuntimeError("ctc_loss needs log_probs of float32 or float64 with 3 dimensions, or 2 without a batch, but got "
                           f"{type_name(log_probs.dtype)} and {list(log_probs.shape)}")
    frames, batch, classes = log_probs._array.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    inputs, lengths = (_lengths(name, value, batch) for name, value in (("input_lengths", input_lengths),
                                                                          ("target_lengths", target_lengths)))
    if max(inputs, default=0) > frames or min(inputs, default=0) < 0:
        raise RuntimeError(f"Expected input_lengths to have values between 0 and {frames}, but got {inputs}")
    labels = _padded(targets, lengths, batch, single)
    device = log_probs.device
    own = arange(labels._array.shape[1], device=device) < tensor(lengths, device=device).reshape(-1, 1)
    if bool(((labels < 0) | (labels >= classes))[own].any()):
        raise RuntimeError(f"ctc_loss: expected targets between 0 and {classes - 1}")
    loss = _losses(log_probs, where(own, labels, blank), tensor(inputs, device=device), tensor(lengths, device=device), blank)
    if zero_infinity:
        loss = where(loss == math.inf, 0, loss)
    if reduction == "mean":
        return (loss / tensor(lengths, dtype=loss.dtype, device=device).clamp(min=1)).mean()
    return loss.sum() if reduction == "sum" else loss.squeeze(0) if single else loss


def _lengths(name: str, value: Any, batch: int) -> list[int]:
    found = value.reshape(-1).tolist() if isinstance(value, Tensor) else [int(n) for n in value]
    if len(found) != batch:
        raise RuntimeError(f"{name} must be of size batch_size")
    return found


def _padded(targets: Tensor, lengths: list[int], batch: int, single: bool) -> Tensor:
    """The targets (N, S) as int64."""
    targets = require_tensor("ctc_loss", targets).long()
    longest = max(lengths, default=0)
    if single and targets.ndim == 1:
        targets = targets.unsqueeze(0)
    if targets.ndim == 1:
        if targets.numel() != sum(lengths):
            raise RuntimeError("Expected tensor to have size equal to the sum of target_lengths at dimension 0, but got "
                               f"{targets.numel()} and {sum(lengths)}")
        rows = [cat([row, row.new_zeros(longest - n)]) for row, n in zip(targets.split(lengths), lengths, strict=True)]
        return stack(rows) if rows else targets.reshape(0, 0)
    if targets.ndim != 2 or targets._array.shape[0] != batch or targets._array.shape[1] < longest:
        raise RuntimeError(f"Expected targets of shape ({batch}, at least {longest}), but got {list(targets.shape)}")
    return targets


def _losses(log_probs: Tensor, labels: Tensor, inputs: Tensor, lengths: Tensor, blank: int) -> Tensor:
    """The forward algorithm: probabilities of all beginnings of the targets with blanks around, frame after frame."""
    (frames, batch, _), count = log_probs._array.shape, labels._array.shape[1]
    states = stack([labels.new_full(labels._array.shape, blank), labels], 2).reshape(batch, 2 * count)
    states = cat([states, states.new_full((batch, 1), blank)], 1)
    before = cat([states.new_full((batch, 2), blank), states[:, :-2]], 1)[:, :2 * count + 1]
    skips = (states != blank) & (states != before)
    emitted = log_probs.gather(2, states.expand(frames, batch, 2 * count + 1)).clamp(min=_NEVER)
    edge = emitted.new_full((batch, 2), _NEVER)
    begins = arange(2 * count + 1, device=states.device) < 2
    alpha = where(begins, emitted[0], _NEVER) if frames else cat([edge] * (count + 1), 1)[:, :2 * count + 1]
    for frame in range(1, frames):
        last = cat([edge, alpha], 1)
        ways = stack([alpha, last[:, 1:-1], where(skips, last[:, :-2], _NEVER)])
        alpha = where((frame < inputs).unsqueeze(1), logsumexp(ways, 0) + emitted[frame], alpha)
    ends = stack([2 * lengths, (2 * lengths - 1).clamp(min=0)], 1)
    last = where(stack([lengths >= 0, lengths > 0], 1), alpha.gather(1, ends), _NEVER)
    loss = -logsumexp(last, 1)
    loss = where(loss > -_NEVER / 2, math.inf, loss)
    loss = where(inputs == 0, where(lengths == 0, 0.0, math.inf), loss)
    # What the gradient of log_softmax subtracts again. Its value is 0.
    counted = arange(frames, device=inputs.device).unsqueeze(1) < inputs
    total = where(counted.unsqueeze(2), log_probs.exp(), 0).sum((0, 2))
    return loss + (total - total.detach())
