"""The functions of layers in the namespace `torch`, such as `torch.batch_norm`: with other arguments than in `nn.functional`, or
only there.

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
    """`nn.functional.batch_norm` with the parameters first.

    >>> F.batch_norm(lucid.tensor([[1.0, 10.0], [3.0, 30.0]]), None, None, training=True)
    Tensor([[-1.0, -1.0],
            [ 1.0,  1.0]], requires_grad=False)
    """
    return normalization.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                  running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float,
                  cudnn_enabled: bool = True) -> Tensor:
    """`nn.functional.instance_norm` with the parameters first.

    >>> F.instance_norm(lucid.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    Tensor([[[-1.0,  1.0],
             [-1.0,  1.0]]], requires_grad=False)
    """
    return group_normalization.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5, cudnn_enable: bool = True) -> Tensor:
    """`nn.functional.layer_norm`.

    >>> F.layer_norm(lucid.tensor([[1.0, 3.0], [10.0, 30.0]]), (2,))
    Tensor([[-1.0,  1.0],
            [-1.0,  1.0]], requires_grad=False)
    """
    return normalization.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
               cudnn_enabled: bool = True) -> Tensor:
    """`nn.functional.group_norm`.

    >>> F.group_norm(lucid.tensor([[1.0, 3.0, 10.0, 30.0]]), num_groups=2)
    Tensor([[-1.0,  1.0, -1.0,  1.0]], requires_grad=False)
    """
    return group_normalization.group_norm(input, num_groups, weight, bias, eps)


# ---- convolution -------------------------------------------------------------------------------------------------------------
def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int],
                dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int) -> Tensor:
    """A convolution of one, two or three dimensions, by the rank of `input` (N, C, *), or a transposed one.

    >>> lucid.convolution(lucid.ones(1, 1, 3), lucid.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)
    Tensor([[[2.0, 2.0]]], requires_grad=False)
    """
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
    """A convolution over time of `input` (time, batch, channels) with `weight` (width, channels, channels of the result).

    >>> lucid.conv_tbc(lucid.ones(4, 1, 2), lucid.ones(3, 2, 5), lucid.zeros(5), pad=1).shape
    lucid.Size([4, 1, 5])
    """
    if input.ndim != 3 or weight.ndim != 3:
        raise RuntimeError(f"conv_tbc: input and weight must have 3 dimensions, got {input.ndim} and {weight.ndim}")
    return convolutions.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """`nn.functional.pad` with a constant.

    >>> lucid.constant_pad_nd(lucid.tensor([1, 2]), (1, 2), value=9)
    Tensor([9, 1, 2, 9, 9], requires_grad=False)
    """
    return _pad(input, pad, "constant", value)


_pad = pad  # the parameter of `constant_pad_nd` hides the function


def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """`nn.functional.grid_sample` with numbers: bilinear, nearest, bicubic; zeros, border, reflection.

    >>> grid = F.affine_grid(lucid.tensor([[[-1.0, 0, 0], [0, 1, 0]]]), (1, 1, 2, 2), align_corners=True)
    >>> lucid.grid_sampler(lucid.arange(4.0).view(1, 1, 2, 2), grid, 0, 0, True)
    Tensor([[[[1.0, 0.0],
              [3.0, 2.0]]]], requires_grad=False)
    """
    mode = ("bilinear", "nearest", "bicubic")[interpolation_mode]
    return grid_sampling.grid_sample(input, grid, mode, ("zeros", "border", "reflection")[padding_mode], align_corners)


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """`nn.functional.affine_grid`.

    >>> lucid.affine_grid_generator(lucid.tensor([[[1.0, 0, 0], [0, 1, 0]]]), (1, 1, 2, 2), True)
    Tensor([[[[-1.0, -1.0],
              [ 1.0, -1.0]],
    <BLANKLINE>
             [[-1.0,  1.0],
              [ 1.0,  1.0]]]], requires_grad=False)
    """
    return grid_sampling.affine_grid(theta, size, align_corners)


# ---- tables ------------------------------------------------------------------------------------------------------------------
def embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Tensor:
    """The rows of `weight` named by `indices`; a `padding_idx` below 0 is none.

    >>> F.embedding(lucid.tensor([[0, 2]]), lucid.tensor([[1.0, 1.5], [2.0, 2.5], [3.0, 3.5]]))
    Tensor([[[1.0, 1.5],
             [3.0, 3.5]]], requires_grad=False)
    """
    chosen = None if padding_idx < 0 else padding_idx
    return tables.embedding(indices, weight, chosen, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


_MODES = ("sum", "mean", "max")


def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0,
                  sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sums (`mode` 0), means (1) or maxima (2) of the rows of `weight` in bags of `indices` that begin at `offsets`; the bag
    of each index, the lengths of the bags, and of maxima the rows that they come from, else the lengths again.

    Without paddings; `padding_idx` below 0 is none.

    >>> F.embedding_bag(lucid.tensor([0, 2, 1]), lucid.tensor([[1.0], [2.0], [4.0]]), offsets=lucid.tensor([0, 2]), mode="sum")
    Tensor([[5.0],
            [2.0]], requires_grad=False)
    """
    if mode not in (0, 1, 2):
        raise RuntimeError(f"embedding_bag: mode must be 0, 1 or 2, but got {mode}")
    padding = None if padding_idx is None or padding_idx < 0 else padding_idx
    result = bags.embedding_bag(indices, weight, offsets, scale_grad_by_freq=scale_grad_by_freq, mode=_MODES[mode], sparse=sparse,
                                per_sample_weights=per_sample_weights, include_last_offset=include_last_offset,
                                padding_idx=padding)
    return result, *bags.of_bags(weight, indices, offsets, include_last_offset, padding, mode == 2)


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """The rows of `input` that `indices` name, scaled down in place to norms of at most `max_norm`.

    >>> weight = lucid.tensor([[3.0, 4.0], [6.0, 8.0]])
    >>> lucid.embedding_renorm_(weight, lucid.tensor([0]), 1.0, 2.0)
    Tensor([[0.6, 0.8],
            [6.0, 8.0]], requires_grad=False)
    """
    tables.renormalize(input, indices, max_norm, norm_type)
    return input


# ---- dropout -----------------------------------------------------------------------------------------------------------------
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.dropout`.

    >>> x = lucid.ones(1000)
    >>> y = F.dropout(x, p=0.5)
    >>> y.unique()
    Tensor([0.0, 2.0], requires_grad=False)
    >>> lucid.equal(F.dropout(x, p=0.5, training=False), x)
    True
    """
    return random_dropout.dropout(input, p, train)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout`, written into `input`."""
    return random_dropout.dropout(input, p, train, inplace=True)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.alpha_dropout`.

    >>> y = F.alpha_dropout(lucid.randn(10000), p=0.5, training=True)
    >>> bool(y.mean().abs() < 0.1), bool((y.std() - 1).abs() < 0.1)
    (True, True)
    """
    return random_dropout.alpha_dropout(input, p, train)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout`, written into `input`."""
    return random_dropout.alpha_dropout(input, p, train, inplace=True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.feature_alpha_dropout`.

    >>> y = F.feature_alpha_dropout(lucid.randn(1, 6, 20), training=True)
    >>> [channel.unique().numel() for channel in y[0]]  # of a channel that is dropped, 1
    [1, 20, 1, 20, 20, 20]
    """
    return random_dropout.feature_alpha_dropout(input, p, train)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_alpha_dropout`, written into `input`."""
    return random_dropout.feature_alpha_dropout(input, p, train, inplace=True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout of whole channels of `input` (N, C, *).

    >>> y = lucid.feature_dropout(lucid.ones(1, 8, 4, 4), 0.5, True)
    >>> y.unique(), y.amax((2, 3)).equal(y.amin((2, 3)))  # whole channels
    (Tensor([0.0, 2.0], requires_grad=False), True)
    """
    return random_dropout.feature_dropout(input, p, train)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`feature_dropout`, written into `input`."""
    return random_dropout.feature_dropout(input, p, train, inplace=True)


def rrelu(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None) -> Tensor:
    """`nn.functional.rrelu` with a generator.

    >>> F.rrelu(lucid.tensor([-1.0, 2.0]), lower=0.25, upper=0.25)
    Tensor([-0.25,  2.00], requires_grad=False)
    """
    return piecewise_activation.rrelu(input, lower, upper, training, generator=generator)


def rrelu_(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None) -> Tensor:
    """`rrelu`, written into `input`."""
    return piecewise_activation.rrelu(input, lower, upper, training, inplace=True, generator=generator)


# ---- losses ------------------------------------------------------------------------------------------------------------------
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     pos_weight: Tensor | None = None, reduction: int = 1) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`.

    >>> F.binary_cross_entropy_with_logits(lucid.tensor([0.0, 2.0]), lucid.tensor([1.0, 1.0]), reduction="none")
    Tensor([0.6931, 0.1269], requires_grad=False)
    """
    return loss.binary_cross_entropy_with_logits(input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight)


def kl_div(input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False) -> Tensor:
    """`nn.functional.kl_div`.

    >>> F.kl_div(lucid.tensor([0.5, 0.5]).log(), lucid.tensor([1.0, 0.0]), reduction="sum")
    Tensor(0.6931, requires_grad=False)
    """
    return loss.kl_div(input, target, reduction=_reduction(reduction), log_target=log_target)


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 1,
             zero_infinity: bool = False) -> Tensor:
    """`nn.functional.ctc_loss`.

    >>> log_probs = lucid.zeros(3, 1, 2).log_softmax(2)  # (time, batch, classes)
    >>> F.ctc_loss(log_probs, lucid.tensor([[1]]), lucid.tensor([3]), lucid.tensor([1]))
    Tensor(0.2877, requires_grad=False)
    """
    return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1) -> Tensor:
    """`nn.functional.cosine_embedding_loss`.

    >>> F.cosine_embedding_loss(lucid.tensor([[1.0, 0.0]]), lucid.tensor([[0.0, 1.0]]), lucid.tensor([1]))
    Tensor(1.0, requires_grad=False)
    """
    return margin_loss.cosine_embedding_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1) -> Tensor:
    """`nn.functional.hinge_embedding_loss`.

    >>> F.hinge_embedding_loss(lucid.tensor([0.5, 0.25]), lucid.tensor([1, -1]), reduction="none")
    Tensor([0.50, 0.75], requires_grad=False)
    """
    return margin_loss.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1) -> Tensor:
    """`nn.functional.margin_ranking_loss`.

    >>> F.margin_ranking_loss(lucid.tensor([1.0, 1.0]), lucid.tensor([0.0, 3.0]), lucid.tensor([1, 1]), reduction="none")
    Tensor([0.0, 2.0], requires_grad=False)
    """
    return margin_loss.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """`nn.functional.poisson_nll_loss`.

    >>> F.poisson_nll_loss(lucid.tensor([0.0, 1.0]), lucid.tensor([1.0, 2.0]))
    Tensor(0.8591, requires_grad=False)
    """
    return likelihood_loss.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_reduction(reduction))


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
                        swap: bool = False, reduction: int = 1) -> Tensor:
    """`nn.functional.triplet_margin_loss`.

    >>> F.triplet_margin_loss(lucid.tensor([[0.0]]), lucid.tensor([[1.0]]), lucid.tensor([[1.5]]))
    Tensor(0.5, requires_grad=False)
    """
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

    >>> x, weights = lucid.ones(3, 1, 2), [p.detach() for p in nn.LSTM(2, 4).parameters()]
    >>> h = c = lucid.zeros(1, 1, 4)
    >>> output, h, c = lucid.lstm(x, (h, c), weights, True, 1, 0.0, False, False, False)
    >>> output.shape, c.shape
    (lucid.Size([3, 1, 4]), lucid.Size([1, 1, 4]))
    """
    return _recurrent("LSTM", input, *args, **keywords)


def gru(input: Tensor, *args: Any, **keywords: Any) -> tuple[Tensor, ...]:
    """(output, h) of a GRU; arguments as of `lstm`, with h alone for the state.

    >>> x, weights = lucid.ones(3, 1, 2), [p.detach() for p in nn.GRU(2, 4).parameters()]
    >>> output, h = lucid.gru(x, lucid.zeros(1, 1, 4), weights, True, 1, 0.0, False, False, False)
    >>> output.shape, h.shape
    (lucid.Size([3, 1, 4]), lucid.Size([1, 1, 4]))
    """
    return _recurrent("GRU", input, *args, **keywords)


def rnn_tanh(input: Tensor, *args: Any, **keywords: Any) -> tuple[Tensor, ...]:
    """(output, h) of an Elman network; arguments as of `gru`.

    >>> x, weights = lucid.ones(3, 1, 2), [p.detach() for p in nn.RNN(2, 4).parameters()]
    >>> output, h = lucid.rnn_tanh(x, lucid.zeros(1, 1, 4), weights, True, 1, 0.0, False, False, False)
    >>> output.shape, h.shape
    (lucid.Size([3, 1, 4]), lucid.Size([1, 1, 4]))
    """
    return _recurrent("RNN_TANH", input, *args, **keywords)


def rnn_relu(input: Tensor, *args: Any, **keywords: Any) -> tuple[Tensor, ...]:
    """(output, h) of an Elman network with ReLU; arguments as of `gru`.

    >>> x, weights = lucid.ones(3, 1, 2), [p.detach() for p in nn.RNN(2, 4).parameters()]
    >>> output, h = lucid.rnn_relu(x, lucid.zeros(1, 1, 4), weights, True, 1, 0.0, False, False, False)
    >>> output.shape, h.shape
    (lucid.Size([3, 1, 4]), lucid.Size([1, 1, 4]))
    """
    return _recurrent("RNN_RELU", input, *args, **keywords)


def lstm_cell(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
              b_hh: Tensor | None = None) -> tuple[Tensor, ...]:
    """The state (h, c) after `input`.

    `input` is (N, E), h and c (N, H), `w_ih` (4 H, E), `w_hh` (4 H, H): input, forget, cell and output gates.

    >>> cell = nn.LSTMCell(2, 4)
    >>> h, c = lucid.lstm_cell(lucid.ones(1, 2), (lucid.zeros(1, 4), lucid.zeros(1, 4)), *cell.parameters())
    >>> h.shape, c.shape
    (lucid.Size([1, 4]), lucid.Size([1, 4]))
    """
    return run_step("LSTM", input, tuple(hx), Weights(w_ih, w_hh, b_ih, b_hh))


def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
             ) -> Tensor:
    """The state after `input`. `input` is (N, E), `hx` (N, H), `w_ih` (3 H, E), `w_hh` (3 H, H): reset, update and new gates.

    >>> cell = nn.GRUCell(2, 4)
    >>> lucid.gru_cell(lucid.ones(1, 2), lucid.zeros(1, 4), *cell.parameters()).shape
    lucid.Size([1, 4])
    """
    return run_step("GRU", input, (hx,), Weights(w_ih, w_hh, b_ih, b_hh))[0]


def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
                  ) -> Tensor:
    """The state after `input`.

    >>> one = lucid.ones(1, 1)
    >>> lucid.rnn_tanh_cell(one, one, one, one)
    Tensor([[0.964]], requires_grad=False)
    """
    return run_step("RNN_TANH", input, (hx,), Weights(w_ih, w_hh, b_ih, b_hh))[0]


def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
                  ) -> Tensor:
    """The state after `input`.

    >>> one = lucid.ones(1, 1)
    >>> lucid.rnn_relu_cell(one, one, one, one * -2)
    Tensor([[0.0]], requires_grad=False)
    """
    return run_step("RNN_RELU", input, (hx,), Weights(w_ih, w_hh, b_ih, b_hh))[0]
