"""Losses: cross entropy, NLL, MSE, L1, Huber, KL divergence, binary cross entropy. Those of class indices have kernels; the
others are made of operations.
"""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .... import _dtypes, _recording
from ...._namespace.callers import stacklevel
from ....autograd.accumulation import is_one
from ....autograd.calls import operation, single_op
from ....autograd.errors import type_name
from ....autograd.grad_mode import is_composed, is_grad_enabled
from ....autograd.op import Vjp
from ....backends import run
from ....tensor import Tensor
from ..._operands import is_differentiated, require_tensor
from ..._second_order import ForSecondOrder
from ...creation.creation import arange
from ...elementwise.binary import xlogy
from ...elementwise.clamp import clip
from ...elementwise.fused import fused_formula
from ...elementwise.unary import log, log1p
from ...elementwise.where import where
from ...indexing.index import check_bounds
from ...manipulation.broadcasting import broadcast_tensors
from ...reduction.axes import require_within
from ..activation import log_softmax, log_softmax_grad, logsigmoid, require_floating

__all__ = ()  # functions of nn.functional only


# ---- what they share ---------------------------------------------------------------------------------------------------
def _reduction(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """The reduction to use. Raises ValueError for an unknown one; warns about PyTorch's legacy arguments."""
    if size_average is not None or reduce is not None:
        averaged, reduced = size_average is None or size_average, reduce is None or reduce
        reduction = "none" if not reduced else "mean" if averaged else "sum"
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
                      stacklevel=stacklevel())
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


def _require_losses(name: str, input: Tensor, target: Tensor) -> None:
    require_tensor(name, input)
    if not isinstance(target, Tensor):
        raise TypeError(f"{name}(): argument 'target' (position 2) must be Tensor, not {type(target).__name__}")


def without_bools(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both, with bools as 0 and 1 of the other's dtype. Raises NotImplementedError for bools alone."""
    mine, theirs = input._array.dtype, target._array.dtype
    if mine != _dtypes.bool_ and theirs != _dtypes.bool_:
        return input, target
    if mine == theirs:
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")
    return (input.to(theirs), target) if mine == _dtypes.bool_ else (input, target.to(mine))


def _warn_about_sizes(input: Tensor, target: Tensor) -> None:
    if target.shape != input.shape:
        warnings.warn(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
                      "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
                      stacklevel=stacklevel())


def _weighted(loss: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """`loss` times `weight` of the same shape, reduced; the mean is over the weights."""
    if weight is None:
        return _reduced(loss, reduction)
    if weight.shape != loss.shape:
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else _reduced(loss, reduction)


_OUT_OF_BOUNDS = "Target {value} is out of bounds."


# ---- cross entropy -------------------------------------------------------------------------------------------------------
def _cross_entropy_rule(needs: Any, x: Tensor, target: Tensor, weight: Tensor | None, *, reduction: str, ignore_index: int,
                        label_smoothing: float, with_grad: bool) -> Vjp:
    dim = 1 if x._array.ndim > 1 else 0
    saved = ForSecondOrder(x)

    def vjp(g: Tensor, kept: tuple[Tensor]) -> tuple[Any, Any, Any]:
        upstream = g.unsqueeze(dim) if reduction == "none" else g
        if not is_composed():
            # Half of the time: a pass over memory less. To look at the element would wait for a GPU.
            if g._array.size == 1 and not _recording.under_way and (
                    g.item() == 1 if g._array.__class__ is np.ndarray else is_one(g)):
                return kept[0], None, None
            return kept[0] * upstream, None, None
        # The same gradient as a function of x and g, with log_softmax.
        x = saved()
        share, total = _class_shares(x, target, weight, ignore_index, label_smoothing, dim)
        if reduction == "mean":
            upstream = upstream / total
        return log_softmax_grad(-share * upstream, log_softmax(x, dim), dim), None, None

    return vjp


def _class_shares(x: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, label_smoothing: float, dim: int
                  ) -> tuple[Tensor, Tensor]:
    """The weight of ``-log_softmax(x)`` of each element of `x` in the summed loss, and the total weight of the targets."""
    classes = x._array.shape[dim]
    column = (classes,) + (1,) * (x._array.ndim - 1 - dim)
    valid = (target != ignore_index).unsqueeze(dim)
    indices = arange(classes, device=x.device).reshape(column)
    weights = x.detach().new_ones(column) if weight is None else weight.reshape(column)
    hard = ((indices == target.unsqueeze(dim)) & valid).to(x.dtype) * weights
    soft = weights * valid.to(x.dtype)
    return hard * (1 - label_smoothing) + soft * (label_smoothing / classes), hard.sum()


_cross_entropy = operation("cross_entropy", _cross_entropy_rule, saved_outputs=(1,), outputs=(0,))


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                  ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """The negative log-likelihood of `target` under ``softmax(input)``.

    `input` is (C,), (N, C) or (N, C, d1, …); `target` holds class indices (int64, or for two dimensions uint8, the shape of
    `input` without C) or class probabilities (the shape of `input`, floating). `weight` (C,) scales the classes; targets equal to
    `ignore_index` count nothing, and 'mean' divides by the total weight of the others. The result is 0-d, or without
    reduction has the shape of the class indices.

    Raises IndexError for a class out of range, ValueError for batch sizes that differ and an unknown reduction,
    RuntimeError for other shapes and dtypes.

    Source of label smoothing: Szegedy et al., "Rethinking the Inception Architecture", 2016.

    >>> logits = lucid.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
    >>> F.cross_entropy(logits, lucid.tensor([0, 2]))
    Tensor(0.1265, requires_grad=False)
    >>> F.cross_entropy(logits, lucid.tensor([0, -100]))  # -100 is left out
    Tensor(0.2395, requires_grad=False)
    """
    reduction = _reduction(reduction, size_average, reduce)
    _require_losses("cross_entropy_loss", input, target)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if input._array.ndim == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    _require_class_weight(input, weight)
    if target._array.shape == input._array.shape:
        return _cross_entropy_of_probabilities(input, target, weight, ignore_index, reduction, label_smoothing)
    target = _class_indices("cross_entropy", input, target, weight)
    require_floating("cross_entropy", input)
    # The kernel computes the gradient along with the loss, if there will be a backward.
    with_grad = input._node is not None and is_grad_enabled()
    return _cross_entropy(input, target, weight, reduction=reduction, ignore_index=ignore_index,
                          label_smoothing=label_smoothing, with_grad=with_grad)[0]


def _cross_entropy_of_probabilities(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str,
                                    label_smoothing: float) -> Tensor:
    if not target.is_floating_point():
        raise RuntimeError("Expected floating point type for target with class probabilities, got "
                           f"{type_name(target.dtype)}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    dim = 1 if input._array.ndim > 1 else 0
    classes = input._array.shape[dim]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    if weight is not None:
        target = target * weight.reshape((classes,) + (1,) * (input._array.ndim - 1 - dim))
    loss = -(log_softmax(input, dim) * target).sum(dim)
    if reduction == "mean":
        return loss.sum() / (input.numel() // classes if classes else 0 * loss.sum())
    return _reduced(loss, reduction)


def _require_class_weight(input: Tensor, weight: Tensor | None) -> None:
    if weight is None:
        return
    classes = input._array.shape[1 if input._array.ndim > 1 else 0]
    if weight._array.shape != (classes,):
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes but got weight "
                           f"tensor of shape: {list(weight._array.shape)}")
    if weight._array.dtype != input._array.dtype:
        raise RuntimeError(f"expected scalar type {type_name(input.dtype)} but found {type_name(weight.dtype)}")


def _class_indices(name: str, input: Tensor, target: Tensor, weight: Tensor | None) -> Tensor:
    """`target` as int64. Raises if its dtype or shape do not fit `input` (C,) or (N, C, d1, …), and if `weight`, which is a
    constant then, needs a gradient.
    """
    if weight is not None and is_differentiated(weight):
        raise RuntimeError(f"The function '{name}' is not differentiable with respect to argument 'weight'. This input cannot "
                           "have requires_grad True.")
    shape, given = input._array.shape, target._array.shape
    if len(shape) == 1:
        if len(given) == 1 and given[0] != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {given[0]}")
        if len(given) > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    else:
        if not given or given[0] != shape[0]:
            raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size "
                             f"({given[0] if given else 0}).")
        if len(shape) == 2 and len(given) != 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        wanted = (shape[0], *shape[2:])
        if given != wanted:
            if len(shape) == 4 and len(given) == 3:
                raise RuntimeError(f"size mismatch (got input: {list(shape)} , target: {list(given)}")
            raise RuntimeError(f"Expected target size {list(wanted)}, got {list(given)}")
    dtype = target._array.dtype
    if dtype != _dtypes.int64 and (dtype != _dtypes.uint8 or len(shape) > 2):
        dtypes = "Long or Byte" if len(shape) < 3 else "Long"
        raise RuntimeError(f"expected target dtype to be {dtypes}, but got {type_name(target.dtype)}")
    if len(shape) == 1:
        target = target.reshape(())
    return target if dtype == _dtypes.int64 else target.long()


def _any_ignored(target: Tensor, ignore_index: int, classes: int) -> bool:
    """Whether a target is `ignore_index`. If none is, all are known to be classes: raises IndexError otherwise."""
    array = target._array
    if not 0 <= ignore_index < classes:  # then what is out of bounds comes first: as a rule, nothing is
        try:
            check_bounds(array, 0, classes, _OUT_OF_BOUNDS)
            return False
        except IndexError:
            pass
    if run("any", (run("eq", (array, ignore_index)),), {"axis": None, "keepdims": False}):
        return True
    check_bounds(array, 0, classes, _OUT_OF_BOUNDS)
    return False


def _nll_loss_rule(needs: Any, x: Tensor, target: Tensor, weight: Tensor | None, *, reduction: str, ignore_index: int | None
                   ) -> Vjp:
    shape = x._array.shape
    return lambda g, y: (
        _nll_loss_grad(g, target, weight, shape=shape, reduction=reduction, ignore_index=ignore_index), None, None)


def _nll_loss_grad_rule(needs: Any, g: Tensor, target: Tensor, weight: Tensor | None, *, shape: Any, reduction: str,
                        ignore_index: int | None) -> Vjp:
    return lambda gg, y: (_nll_loss(gg, target, weight, reduction=reduction, ignore_index=ignore_index), None, None)


# Both are linear, and each is the gradient of the other.
_nll_loss = single_op("nll_loss", _nll_loss_rule)
_nll_loss_grad = single_op("nll_loss_grad", _nll_loss_grad_rule)


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
             ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """``-input`` at the class of each target: the negative log-likelihood if `input` holds log-probabilities.

    Shapes, arguments and errors are those of `cross_entropy` with class indices.

    >>> F.nll_loss(lucid.tensor([[0.25, 0.75]]).log(), lucid.tensor([1]))
    Tensor(0.2877, requires_grad=False)
    """
    reduction = _reduction(reduction, size_average, reduce)
    _require_losses("nll_loss_nd", input, target)
    array = input._array
    if array.ndim == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    target = _class_indices("nll_loss", input, target, weight)
    _require_class_weight(input, weight)
    require_floating("nll_loss", input)
    classes, ignored = array.shape[1 if array.ndim > 1 else 0], None
    if array.__class__ is not np.ndarray:
        ignored = ignore_index  # a GPU's kernel checks: here this would wait for it
    elif _any_ignored(target, ignore_index, classes):
        ignored = ignore_index
        check_bounds(where(target != ignored, target, 0)._array, 0, classes, _OUT_OF_BOUNDS)
    return _nll_loss(input, target, weight, reduction=reduction, ignore_index=ignored)


# ---- regression ----------------------------------------------------------------------------------------------------------
@fused_formula
def _squared_difference(input: Tensor, target: Tensor) -> Tensor:
    difference = _difference("mse_loss", input, target)
    return difference * difference


@fused_formula
def _distance(input: Tensor, target: Tensor) -> Tensor:
    return (input - target).abs()


@fused_formula
def _smooth_distance(input: Tensor, target: Tensor, beta: float) -> Tensor:
    difference = _difference("smooth_l1_loss", input, target)
    distance = difference.abs()
    if beta == 0:
        return distance
    far = distance >= beta
    near = where(far, 0.0, difference)  # the square of an infinite one would make the gradient NaN
    return where(far, distance - 0.5 * beta, near * near * (0.5 / beta))


def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
             reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """``(input - target) ** 2``, elementwise and reduced. Warns if the shapes differ, and broadcasts.

    >>> F.mse_loss(lucid.tensor([1.0, 5.0]), lucid.tensor([0.0, 3.0]))
    Tensor(2.5, requires_grad=False)
    """
    _require_losses("mse_loss", input, target)
    _warn_about_sizes(input, target)
    reduction = _reduction(reduction, size_average, reduce)
    return _weighted(_squared_difference(*without_bools("mse_loss", input, target)), weight, reduction)


def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
            reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """``|input - target|``, elementwise and reduced. Warns if the shapes differ, and broadcasts.

    >>> F.l1_loss(lucid.tensor([1.0, 5.0]), lucid.tensor([0.0, 3.0]))
    Tensor(1.5, requires_grad=False)
    """
    _require_losses("l1_loss", input, target)
    _warn_about_sizes(input, target)
    return _weighted(_distance(input, target), weight, _reduction(reduction, size_average, reduce))


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """``d ** 2 / (2 beta)`` where ``d = |input - target| < beta``, else ``d - beta / 2``. Raises RuntimeError for ``beta < 0``.

    Source: Girshick, "Fast R-CNN", 2015.

    >>> F.smooth_l1_loss(lucid.tensor([0.5, 4.0]), lucid.tensor([0.0, 0.0]), reduction="none")
    Tensor([0.125, 3.500], requires_grad=False)
    """
    _require_losses("smooth_l1_loss", input, target)
    _warn_about_sizes(input, target)
    reduction = _reduction(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return _reduced(_smooth_distance(*without_bools("smooth_l1_loss", input, target), beta), reduction)


def _difference(name: str, input: Tensor, target: Tensor) -> Tensor:
    difference = input - target
    return difference if difference.is_complex() else require_floating(name, difference)


# ---- binary cross entropy --------------------------------------------------------------------------------------------------
def _binary_cross_entropy_rule(needs: Any, input: Tensor, target: Tensor) -> Vjp:
    """PyTorch's gradient, whose denominator is bounded by 1e-12."""
    needs_input, needs_target = needs
    return lambda g, y: (g * (input - target) / clip((1 - input) * input, min=1e-12) if needs_input else None,
                         g * (log1p(-input) - log(input)) if needs_target else None)


_binary_cross_entropy = fused_formula(single_op("binary_cross_entropy", _binary_cross_entropy_rule))


@fused_formula
def _cross_entropy_of_logits(input: Tensor, target: Tensor) -> Tensor:
    return (1 - target) * input - logsigmoid(input)


@fused_formula
def _weighted_cross_entropy_of_logits(input: Tensor, target: Tensor, pos_weight: Tensor) -> Tensor:
    return (1 - target) * input - logsigmoid(input) * ((pos_weight - 1) * target + 1)


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:
    """``-(target * log(input) + (1 - target) * log(1 - input))`` of probabilities, with logarithms bounded by -100.

    `weight` broadcasts. Raises ValueError for shapes that differ, RuntimeError for dtypes that differ and for elements
    outside [0, 1].

    >>> F.binary_cross_entropy(lucid.tensor([0.5, 0.75]), lucid.tensor([1.0, 1.0]))
    Tensor(0.4904, requires_grad=False)
    """
    reduction = _reduction(reduction, size_average, reduce)
    _require_losses("binary_cross_entropy", input, target)
    if target.shape != input.shape:
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
                         "deprecated. Please ensure they have the same size.")
    require_floating("binary_cross_entropy", input)
    if target.dtype != input.dtype:
        raise RuntimeError(f"Found dtype {type_name(target.dtype)} but expected {type_name(input.dtype)}")
    for name, tensor in (("input", input), ("target", target)):
        require_within(tensor, 0, 1, f"all elements of {name} should be between 0 and 1")
    loss = _binary_cross_entropy(input, target)
    if weight is not None:
        loss = loss * weight.expand(input.shape)
    return _reduced(loss, reduction)


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
                                     pos_weight: Tensor | None = None) -> Tensor:
    """`binary_cross_entropy` of ``sigmoid(input)``, computed without overflow.

    `weight` and `pos_weight`, which scales the positive targets, broadcast. Raises ValueError for shapes that differ.

    >>> F.binary_cross_entropy_with_logits(lucid.tensor([0.0, 2.0]), lucid.tensor([1.0, 1.0]), reduction="none")
    Tensor([0.6931, 0.1269], requires_grad=False)
    """
    reduction = _reduction(reduction, size_average, reduce)
    _require_losses("binary_cross_entropy_with_logits", input, target)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if pos_weight is None:
        loss = _cross_entropy_of_logits(input, target)
    else:
        loss = _weighted_cross_entropy_of_logits(input, target, pos_weight)
    return _reduced(loss if weight is None else loss * weight, reduction)


# ---- divergence ------------------------------------------------------------------------------------------------------------
@fused_formula
def _divergence(input: Tensor, target: Tensor) -> Tensor:
    return xlogy(target, target) - target * input


@fused_formula
def _divergence_of_logarithms(input: Tensor, target: Tensor) -> Tensor:
    return target.exp() * (target - input)


def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
           reduction: str = "mean", log_target: bool = False) -> Tensor:
    """The divergence of the distribution `target` from the one whose logarithm is `input`: ``target (log target - input)``.

    With `log_target`, `target` is a logarithm as well. `reduction` may also be 'batchmean': the sum over the first length;
    'mean' divides by the number of elements and warns, as PyTorch does. Raises RuntimeError for integers and bools.

    >>> F.kl_div(lucid.tensor([0.5, 0.5]).log(), lucid.tensor([1.0, 0.0]), reduction="sum")
    Tensor(0.6931, requires_grad=False)
    """
    _require_losses("kl_div", input, target)
    if not (_dtypes.is_differentiable(input._array.dtype) and _dtypes.is_differentiable(target._array.dtype)):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' "
                      "divides only by the batch size, and aligns with the KL div math definition.'mean' will be changed to "
                      "behave the same as 'batchmean' in the next major release.", stacklevel=stacklevel())
    batch_mean = reduction == "batchmean"
    reduction = _reduction("sum" if batch_mean else reduction, size_average, reduce)
    if input._array.shape != target._array.shape:
        input, target = broadcast_tensors(input, target)
    reduced = _reduced((_divergence_of_logarithms if log_target else _divergence)(input, target), reduction)
    return reduced / input._array.shape[0] if batch_mean and input._array.ndim else reduced


@fused_formula
def _huber(input: Tensor, target: Tensor, delta: float) -> Tensor:
    difference = require_floating("huber_loss", input - target)
    distance = difference.abs()
    far = distance > delta
    near = where(far, 0.0, difference)  # the square of an infinite one would make the gradient NaN
    return where(far, (distance - 0.5 * delta) * delta, near * near * 0.5)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
               ) -> Tensor:
    """``d ** 2 / 2`` where ``d = |input - target| <= delta``, else ``delta * (d - delta / 2)``.

    Warns if the shapes differ, and broadcasts. Raises RuntimeError for a `delta` that is not positive and for an
    integer or bool `input` with a floating-point target.

    Source: Huber, "Robust Estimation of a Location Parameter", 1964.

    >>> F.huber_loss(lucid.tensor([0.5, 4.0]), lucid.tensor([0.0, 0.0]), reduction="none")
    Tensor([0.125, 3.500], requires_grad=False)
    """
    _require_losses("huber_loss", input, target)
    _warn_about_sizes(input, target)
    reduction = _reduction(reduction, None, None)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if _dtypes.is_floating(target.dtype) and not _dtypes.is_floating(input.dtype):
        raise RuntimeError(f"huber_loss: result type {type_name(target.dtype)} can't be cast to the desired output type "
                           f"{type_name(input.dtype)}, that of the input")
    input, target = without_bools("huber_loss", input, target)
    loss = _huber(input, target, delta)
    if weight is None:
        return _reduced(loss, reduction)
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    return _reduced(loss * weight, reduction)
