"""Functions of layers as PyTorch's own namespace has them: with other arguments than in `nn.functional`, or only there.

A reduction is a number: 0 for each element, 1 for the mean, 2 for the sum.
"""
from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from ...tensor import Tensor
from ..manipulation.padding import pad
from ..random import dropout as random_dropout
from . import convolution as convolutions
from . import embedding as tables
from . import embedding_bag as bags
from . import grid_sampling, group_normalization, normalization, piecewise_activation
from .losses import ctc_loss as ctc
from .losses import likelihood_loss, loss, margin_loss
from .recurrent import State, Weights, run_layers, run_step

_REDUCTIONS = ("none", "mean", "sum")


def _reduction(number: int) -> str:
    if number not in (0, 1, 2):
        raise ValueError(f"{number} is not a valid value for reduction: 0 is none, 1 mean, 2 sum")
    return _REDUCTIONS[number]


# ---- normalisation -----------------------------------------------------------------------------------------------------------
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
               running_var: Tensor | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool = True) -> Tensor:
    """`nn.functional.batch_norm` with the parameters first."""
    return normalization.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                  running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float,
                  cudnn_enabled: bool = True) -> Tensor:
    """`nn.functional.instance_norm` with the parameters first."""
    return group_normalization.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5, cudnn_enable: bool = True) -> Tensor:
    """`nn.functional.layer_norm`."""
    return normalization.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
               cudnn_enabled: bool = True) -> Tensor:
    """`nn.functional.group_norm`."""
    return group_normalization.group_norm(input, num_groups, weight, bias, eps)


# ---- convolution -------------------------------------------------------------------------------------------------------------
def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int],
                dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int) -> Tensor:
    """A convolution of one, two or three dimensions, by the rank of `input` (N, C, *), or a transposed one."""
    count = input.ndim - 2
    if count not in (1, 2, 3):
        raise RuntimeError(f"convolution: expected an input of 3 to 5 dimensions, got {input.ndim}")

    def spread(sizes: Sequence[int]) -> tuple[int, ...]:
        return tuple(sizes) * (count if len(sizes) == 1 else 1)

    stride, padding, dilation = spread(stride), spread(padding), spread(dilation)
    if transposed:
        function = getattr(convolutions, f"conv_transpose{count}d")
        result: Tensor = function(input, weight, bias, stride, padding, spread(output_padding), groups, dilation)
    else:
        result = getattr(convolutions, f"conv{count}d")(input, weight, bias, stride, padding, dilation, groups)
    return result


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution over time of `input` (time, batch, channels) with `weight` (width, channels, channels of the result)."""
    if input.ndim != 3 or weight.ndim != 3:
        raise RuntimeError(f"conv_tbc: input and weight must have 3 dimensions, got {input.ndim} and {weight.ndim}")
    return convolutions.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """`nn.functional.pad` with a constant."""
    return _pad(input, pad, "constant", value)


_pad = pad  # the parameter of `constant_pad_nd` hides the function


def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """`nn.functional.grid_sample` with numbers: bilinear, nearest, bicubic; zeros, border, reflection."""
    mode = ("bilinear", "nearest", "bicubic")[interpolation_mode]
    return grid_sampling.grid_sample(input, grid, mode, ("zeros", "border", "reflection")[padding_mode], align_corners)


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """`nn.functional.affine_grid`."""
    return grid_sampling.affine_grid(theta, size, align_corners)


# ---- tables ------------------------------------------------------------------------------------------------------------------
def embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Tensor:
    """The rows of `weight` named by `indices`; a `padding_idx` below 0 is none."""
    chosen = None if padding_idx < 0 else padding_idx
    return tables.embedding(indices, weight, chosen, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


_MODES = ("sum", "mean", "max")


def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0,
                  sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sums (`mode` 0), means (1) or maxima (2) of the rows of `weight` in bags of `indices` that begin at `offsets`; the bag
    of each index, the lengths of the bags, and of maxima the rows that they come from, else the lengths again.

    Without paddings; `padding_idx` below 0 is none.
    """
    if mode not in (0, 1, 2):
        raise RuntimeError(f"embedding_bag: mode must be 0, 1 or 2, but got {mode}")
    padding = None if padding_idx is None or padding_idx < 0 else padding_idx
    result = bags.embedding_bag(indices, weight, offsets, scale_grad_by_freq=scale_grad_by_freq, mode=_MODES[mode], sparse=sparse,
                                per_sample_weights=per_sample_weights, include_last_offset=include_last_offset,
                                padding_idx=padding)
    return result, *bags.of_bags(weight, indices, offsets, include_last_offset, padding, mode == 2)


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """The rows of `input` that `indices` name, scaled down in place to norms of at most `max_norm`."""
    tables.renormalize(input, indices, max_norm, norm_type)
    return input


# ---- dropout -----------------------------------------------------------------------------------------------------------------
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.dropout`."""
    return random_dropout.dropout(input, p, train)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout`, written into `input`."""
    return random_dropout.dropout(input, p, train, inplace=True)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.alpha_dropout`."""
    return random_dropout.alpha_dropout(input, p, train)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout`, written into `input`."""
    return random_dropout.alpha_dropout(input, p, train, inplace=True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.feature_alpha_dropout`."""
    return random_dropout.feature_alpha_dropout(input, p, train)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_alpha_dropout`, written into `input`."""
    return random_dropout.feature_alpha_dropout(input, p, train, inplace=True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout of whole channels of `input` (N, C, *)."""
    return random_dropout.feature_dropout(input, p, train)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout`, written into `input`."""
    return random_dropout.feature_dropout(input, p, train, inplace=True)


def rrelu(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None) -> Tensor:
    """`nn.functional.rrelu` with a generator."""
    return piecewise_activation.rrelu(input, lower, upper, training, generator=generator)


def rrelu_(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None) -> Tensor:
    """`rrelu`, written into `input`."""
    return piecewise_activation.rrelu(input, lower, upper, training, inplace=True, generator=generator)


# ---- losses ------------------------------------------------------------------------------------------------------------------
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     pos_weight: Tensor | None = None, reduction: int = 1) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`."""
    return loss.binary_cross_entropy_with_logits(input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight)


def kl_div(input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False) -> Tensor:
    """`nn.functional.kl_div`."""
    return loss.kl_div(input, target, reduction=_reduction(reduction), log_target=log_target)


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 1,
             zero_infinity: bool = False) -> Tensor:
    """`nn.functional.ctc_loss`."""
    return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1) -> Tensor:
    """`nn.functional.cosine_embedding_loss`."""
    return margin_loss.cosine_embedding_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1) -> Tensor:
    """`nn.functional.hinge_embedding_loss`."""
    return margin_loss.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1) -> Tensor:
    """`nn.functional.margin_ranking_loss`."""
    return margin_loss.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """`nn.functional.poisson_nll_loss`."""
    return likelihood_loss.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_reduction(reduction))


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
                        swap: bool = False, reduction: int = 1) -> Tensor:
    """`nn.functional.triplet_margin_loss`."""
    return margin_loss.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction))


# ---- recurrent networks --------------------------------------------------------------------------------------------------------
def _layers(mode: str, state: State, params: Sequence[Tensor], has_biases: bool, input: Tensor, batch_sizes: tuple[int, ...],
            num_layers: int, dropout: float, train: bool, bidirectional: bool) -> tuple[Tensor, ...]:
    """The run of a network whose parameters are those of its directions in a row."""
    runs = num_layers * (1 + bidirectional)
    each, rest = divmod(len(params), runs)
    with_projection = each - (4 if has_biases else 2)
    if rest or with_projection not in (0, 1):
        raise RuntimeError(f"{mode}: {len(params)} parameters do not make {runs} layers and directions")
    weights = []
    for i in builtins.range(runs):
        weight_ih, weight_hh, *more = params[i * each:(i + 1) * each]
        biases, projection = (more[:2], more[2:]) if has_biases else ([None, None], more)
        weights.append(Weights(weight_ih, weight_hh, *biases, *projection))
    output, last = run_layers(mode, input, state, weights, batch_sizes, 1 + bidirectional, dropout if train else 0.0)
    return (output, *last)


def _recurrent(mode: str, input: Tensor, second: Any, third: Any, fourth: Any, *rest: Any, **keywords: Any
               ) -> tuple[Tensor, ...]:
    """Of a padded batch (input, hx, params, has_biases, ..., batch_first); of a packed one (data, batch_sizes, hx, params, ...)
    without `batch_first`."""
    if isinstance(third, Tensor) or (mode == "LSTM" and isinstance(second, Tensor)):
        state = tuple(third) if mode == "LSTM" else (third,)
        has_biases, num_layers, dropout, train, bidirectional = _in_order(rest, keywords)
        return _layers(mode, state, fourth, has_biases, input, tuple(second.tolist()), num_layers, dropout, train, bidirectional)
    state = tuple(second) if mode == "LSTM" else (second,)
    num_layers, dropout, train, bidirectional, batch_first = _in_order(rest, keywords)
    sequence = input.transpose(0, 1) if batch_first else input
    time, batch = sequence.shape[:2]
    output, *last = _layers(mode, state, third, fourth, sequence, (batch,) * time, num_layers, dropout, train, bidirectional)
    return (output.transpose(0, 1) if batch_first else output, *last)


def _in_order(rest: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
    names = ("has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")
    return (*rest, *[keywords[name] for name in names if name in keywords])


def lstm(input: Tensor, *args: Any, **keywords: Any) -> tuple[Tensor, ...]:
    """(output, h, c) of ``lstm(input, (h, c), params, has_biases, num_layers, dropout, train, bidirectional, batch_first)``, of a
    packed sequence ``lstm(data, batch_sizes, (h, c), params, has_biases, num_layers, dropout, train, bidirectional)``.

    `params` are those of every layer and direction in a row, as in `nn.LSTM.all_weights`.
    """
    return _recurrent("LSTM", input, *args, **keywords)


def gru(input: Tensor, *args: Any, **keywords: Any) -> tuple[Tensor, ...]:
    """(output, h) of a GRU; arguments as of `lstm`, with h alone for the state."""
    return _recurrent("GRU", input, *args, **keywords)


def rnn_tanh(input: Tensor, *args: Any, **keywords: Any) -> tuple[Tensor, ...]:
    """(output, h) of an Elman network; arguments as of `gru`."""
    return _recurrent("RNN_TANH", input, *args, **keywords)


def rnn_relu(input: Tensor, *args: Any, **keywords: Any) -> tuple[Tensor, ...]:
    """(output, h) of an Elman network with ReLU; arguments as of `gru`."""
    return _recurrent("RNN_RELU", input, *args, **keywords)


def lstm_cell(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
              b_hh: Tensor | None = None) -> State:
    """The state (h, c) after `input`."""
    return run_step("LSTM", input, tuple(hx), Weights(w_ih, w_hh, b_ih, b_hh))


def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
             ) -> Tensor:
    """The state after `input`."""
    return run_step("GRU", input, (hx,), Weights(w_ih, w_hh, b_ih, b_hh))[0]


def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
                  ) -> Tensor:
    """The state after `input`."""
    return run_step("RNN_TANH", input, (hx,), Weights(w_ih, w_hh, b_ih, b_hh))[0]


def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
                  ) -> Tensor:
    """The state after `input`."""
    return run_step("RNN_RELU", input, (hx,), Weights(w_ih, w_hh, b_ih, b_hh))[0]
