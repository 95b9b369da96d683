"""The loss of sequences whose alignment is not known: connectionist temporal classification."""
from __future__ import annotations

import math
from typing import Any

from .... import _dtypes, _recording
from ....autograd.calls import operation
from ....autograd.errors import type_name
from ....autograd.grad_mode import is_composed, is_grad_enabled
from ....autograd.op import Vjp
from ....tensor import Tensor
from ..._operands import require_tensor
from ..._second_order import by_recording
from ...creation.creation import arange, tensor
from ...elementwise.where import where
from ...manipulation.joining import cat, stack
from ...reduction.reduction import logsumexp

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

    Raises RuntimeError for shapes, dtypes and lengths that do not fit, IndexError for targets that are no class.
    Source: Graves et al., "Connectionist temporal classification", 2006.

    >>> log_probs = lucid.zeros(3, 1, 2).log_softmax(2)  # (time, batch, classes)
    >>> F.ctc_loss(log_probs, lucid.tensor([[1]]), lucid.tensor([3]), lucid.tensor([1]))
    Tensor(0.2877, requires_grad=False)
    """
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    single = require_tensor("ctc_loss", log_probs).ndim == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    if log_probs.ndim != 3 or not _dtypes.is_floating(log_probs.dtype) or log_probs.dtype.itemsize == 2:
        raise RuntimeError("ctc_loss needs log_probs of float32 or float64 with 3 dimensions, or 2 without a batch, but got "
                           f"{type_name(log_probs.dtype)} and {list(log_probs.shape)}")
    frames, _, classes = log_probs._array.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    inputs = _lengths("input_lengths", input_lengths, log_probs)
    lengths = _lengths("target_lengths", target_lengths, log_probs)
    _require_frames(inputs, frames)
    labels = _padded(targets, target_lengths, lengths, single)
    # The kernel computes the gradient along with the loss, if there will be a backward.
    with_grad = log_probs._node is not None and is_grad_enabled()
    loss = _ctc_loss(log_probs, labels, inputs, lengths, blank=blank, zero_infinity=zero_infinity, with_grad=with_grad)[0]
    if reduction == "mean":
        return (loss / lengths.clamp(min=1)).mean()
    return loss.sum() if reduction == "sum" else loss.squeeze(0) if single else loss


def _lengths(name: str, value: Any, log_probs: Tensor) -> Tensor:
    """The lengths (N,) as int64, on the device of `log_probs`."""
    if not isinstance(value, Tensor):
        value = tensor([int(n) for n in value], dtype=_dtypes.int64)
    if value.ndim != 1:
        value = value.reshape(-1)
    if value._array.size != log_probs._array.shape[1]:
        raise RuntimeError(f"{name} must be of size batch_size")
    lengths: Tensor = value.to(log_probs.device, _dtypes.int64)
    return lengths


@_recording.not_recorded  # a replay looks too
def _require_frames(inputs: Tensor, frames: int) -> None:
    """Raise RuntimeError for lengths of more frames than there are."""
    counts = inputs.tolist()
    if max(counts, default=0) > frames or min(counts, default=0) < 0:
        raise RuntimeError(f"Expected input_lengths to have values between 0 and {frames}, but got {counts}")


@_recording.not_recorded
def _require_targets(lengths: Tensor, shape: tuple[int, ...]) -> None:
    """Raise RuntimeError for targets of another `shape` than their lengths ask for."""
    batch, longest = lengths._array.size, max(lengths.tolist(), default=0)
    if len(shape) != 2 or shape[0] != batch or shape[1] < longest:
        raise RuntimeError(f"Expected targets of shape ({batch}, at least {longest}), but got {list(shape)}")


def _padded(targets: Tensor, given: Any, lengths: Tensor, single: bool) -> Tensor:
    """The targets (N, S) as int64. If they lie one after the other their `lengths` are read, unless numbers were `given`."""
    targets = require_tensor("ctc_loss", targets).long()
    if single and targets.ndim == 1:
        targets = targets.unsqueeze(0)
    if targets.ndim != 1:
        _require_targets(lengths, targets._array.shape)
        return targets
    sizes = lengths.tolist() if isinstance(given, Tensor) else [int(n) for n in given]
    if targets.numel() != sum(sizes):
        raise RuntimeError("Expected tensor to have size equal to the sum of target_lengths at dimension 0, but got "
                           f"{targets.numel()} and {sum(sizes)}")
    rows = [cat([row, row.new_zeros(max(sizes) - n)]) for row, n in zip(targets.split(sizes), sizes, strict=True)]
    return stack(rows) if rows else targets.reshape(0, 0)


def _rule(needs: Any, log_probs: Tensor, labels: Tensor, inputs: Tensor, lengths: Tensor, *, blank: int, zero_infinity: bool,
          with_grad: bool) -> Vjp:
    def vjp(g: Tensor, kept: tuple[Tensor]) -> tuple[Any, ...]:
        if not is_composed():
            return kept[0] * g.unsqueeze(1), None, None, None
        # The same gradient as a function of log_probs and g, in operations.
        def losses(log_probs: Tensor) -> Tensor:
            found = _losses(log_probs, labels, inputs, lengths, blank)
            return where(found == math.inf, 0, found) if zero_infinity else found

        return *by_recording(losses, (log_probs,), (True,), g), None, None, None

    return vjp


_ctc_loss = operation("ctc_loss", _rule, saved_outputs=(1,), outputs=(0,))


def _losses(log_probs: Tensor, labels: Tensor, inputs: Tensor, lengths: Tensor, blank: int) -> Tensor:
    """The forward algorithm: probabilities of all beginnings of the targets with blanks around, frame after frame."""
    (frames, batch, _), count = log_probs._array.shape, labels._array.shape[1]
    labels = where(arange(count, device=labels.device) < lengths.reshape(-1, 1), labels, blank)
    states = stack([labels.new_full(labels._array.shape, blank), labels], 2).reshape(batch, 2 * count)
    states = cat([states, states.new_full((batch, 1), blank)], 1)
    before = cat([states.new_full((batch, 2), blank), states[:, :-2]], 1)[:, :2 * count + 1]
    skips = states != before
    emitted = log_probs.gather(2, states.expand(frames, batch, 2 * count + 1)).clamp(min=_NEVER)
    edge = emitted.new_full((batch, 2), _NEVER)
    begins = arange(2 * count + 1, device=states.device) < 2
    alpha = where(begins, emitted[0], _NEVER) if frames else cat([edge] * (count + 1), 1)[:, :2 * count + 1]
    for frame in range(1, frames):
        last = cat([edge, alpha], 1)
        paths = stack([alpha, last[:, 1:-1], where(skips, last[:, :-2], _NEVER)])
        alpha = where((frame < inputs).unsqueeze(1), logsumexp(paths, 0) + emitted[frame], alpha)
    ends = stack([2 * lengths, (2 * lengths - 1).clamp(min=0)], 1)
    last = where(stack([lengths >= 0, lengths > 0], 1), alpha.gather(1, ends), _NEVER)
    loss = -logsumexp(last, 1)
    loss = where(loss > -_NEVER / 2, math.inf, loss)
    loss = where(inputs == 0, where(lengths == 0, 0.0, math.inf), loss)
    # What the gradient of log_softmax subtracts again. Its value is 0.
    counted = arange(frames, device=inputs.device).unsqueeze(1) < inputs
    total = where(counted.unsqueeze(2), log_probs.exp(), 0).sum((0, 2))
    return loss + (total - total.detach())
