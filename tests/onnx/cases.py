"""Modules of lucid.nn that ONNX expresses, with inputs, and those that it does not, with a word of the error."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lucid
from lucid import nn
from lucid.nn import functional as F

Inputs = tuple[Any, ...]


def _rows() -> Inputs:
    return (lucid.randn(3, 6),)


def _sequences() -> Inputs:
    return (lucid.randn(3, 6, 8),)


def _images() -> Inputs:
    return (lucid.randn(3, 4, 9, 8),)


def _volumes() -> Inputs:
    return (lucid.randn(3, 2, 5, 6, 4),)


def _tokens() -> Inputs:
    return (lucid.randint(0, 10, (3, 5)),)


def _pairs() -> Inputs:
    return lucid.randn(3, 6), lucid.randn(3, 6)


def _classes() -> Inputs:
    return lucid.randn(3, 6), lucid.randint(0, 6, (3,))


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        """What the function returns."""
        return self.function(*inputs)


_ACTIVATIONS = """ReLU ReLU6 LeakyReLU ELU CELU SELU GELU SiLU Mish Hardswish Hardsigmoid Hardtanh Hardshrink Softshrink Tanhshrink
Softplus Softsign LogSigmoid Sigmoid Tanh RReLU PReLU Identity Dropout AlphaDropout FeatureAlphaDropout"""
#: Of each: a function that makes the module, and one that makes its inputs, whose first dimension is the batch.
EXPRESSED: list[tuple[Callable[[], nn.Module], Callable[[], Inputs]]] = [
    *[(getattr(nn, name), _rows) for name in _ACTIVATIONS.split()],
    (lambda: nn.GELU("tanh"), _rows), (lambda: nn.Threshold(0.1, 20), _rows), (nn.GLU, _rows),
    (lambda: nn.Sequential(nn.Linear(6, 4), nn.ReLU(inplace=True)), _rows),
    (lambda: nn.Softmax(1), _rows), (lambda: nn.LogSoftmax(1), _rows), (lambda: nn.Softmin(1), _rows), (nn.Softmax2d, _images),
    (lambda: nn.Dropout1d(), _sequences), (lambda: nn.Dropout2d(), _images), (lambda: nn.Dropout3d(), _volumes),

    (lambda: nn.Linear(6, 4), _rows), (lambda: nn.Linear(8, 4, bias=False), _sequences), (lambda: nn.Bilinear(6, 6, 3), _pairs),
    (lambda: nn.Embedding(10, 4, padding_idx=0), _tokens),
    (lambda: nn.EmbeddingBag(10, 4), _tokens), (lambda: nn.EmbeddingBag(10, 4, mode="sum"), _tokens),
    (lambda: nn.Conv1d(6, 4, 3, padding="same"), _sequences), (lambda: nn.Conv2d(4, 6, 3, 2, 1, groups=2), _images),
    (lambda: nn.Conv2d(4, 6, 3, padding=2, dilation=2, padding_mode="reflect"), _images), (lambda: nn.Conv3d(2, 4, 3), _volumes),
    (lambda: nn.ConvTranspose1d(6, 4, 3, 2), _sequences), (lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2), _images),
    (lambda: nn.ConvTranspose3d(2, 4, 3, bias=False), _volumes),
    (lambda: nn.Unfold(3, padding=1, stride=2), _images), (lambda: nn.Fold((9, 8), (3, 2), stride=2, padding=1),
                                                            lambda: (lucid.randn(3, 12, 25),)),

    (lambda: nn.MaxPool1d(2), _sequences), (lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True), _images), (lambda: nn.MaxPool3d(2), _volumes),
    (lambda: nn.AvgPool1d(3, 2, 1), _sequences), (lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True), _images),
    (lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), _images),
    (lambda: nn.AvgPool2d(2, 2, divisor_override=3), _images), (lambda: nn.AvgPool3d(2), _volumes),
    (lambda: nn.AdaptiveAvgPool1d(3), _sequences), (lambda: nn.AdaptiveAvgPool2d(1), _images),
    (lambda: nn.AdaptiveAvgPool2d((4, 3)), _images), (lambda: nn.AdaptiveAvgPool3d(2), _volumes),
    (lambda: nn.AdaptiveMaxPool1d(3), _sequences), (lambda: nn.AdaptiveMaxPool2d((4, 3)), _images),
    (lambda: nn.AdaptiveMaxPool3d(2), _volumes),
    (lambda: nn.LPPool1d(2, 2), _sequences), (lambda: nn.LPPool2d(2, 2), _images), (lambda: nn.LPPool3d(2, 2), _volumes),
    (lambda: nn.MaxPool1d(3, 2, 1, return_indices=True), _sequences), (lambda: nn.MaxPool2d(2, return_indices=True), _images),
    (lambda: nn.MaxUnpool1d(2), lambda: (lucid.randn(3, 4, 2), lucid.tensor([1, 2]).view(1, 1, 2).repeat(3, 4, 1))),
    (lambda: nn.MaxUnpool3d(2), lambda: (lucid.randn(3, 1, 1, 2, 1), lucid.tensor([1, 6]).view(1, 1, 1, 2, 1).repeat(3, 1, 1, 1, 1))),
    (lambda: nn.MaxUnpool2d(2), lambda: (lucid.randn(3, 4, 2, 2), lucid.tensor([0, 2, 9, 15]).view(1, 1, 2, 2).repeat(3, 4, 1, 1))),

    (lambda: nn.BatchNorm1d(6), _rows), (lambda: nn.BatchNorm2d(4, affine=False), _images), (lambda: nn.BatchNorm3d(2), _volumes),
    (lambda: nn.BatchNormReLU2d(4), _images), (lambda: nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), nn.ReLU()), _images),
    (lambda: nn.LinearCrossEntropyLoss(6, 4), lambda: (lucid.randn(3, 6), lucid.randint(0, 4, (3,)))), (lambda: nn.SyncBatchNorm(6), _rows),
    (lambda: nn.InstanceNorm1d(6), _sequences), (lambda: nn.InstanceNorm2d(4, affine=True), _images),
    (lambda: nn.InstanceNorm2d(4, track_running_stats=True), _images), (lambda: nn.InstanceNorm3d(2), _volumes),
    (lambda: nn.GroupNorm(2, 4), _images), (lambda: nn.LayerNorm((6, 8)), _sequences), (lambda: nn.LayerNorm(8, bias=False), _sequences),
    (lambda: nn.LayerNorm(8, elementwise_affine=False), _sequences), (lambda: nn.RMSNorm(8), _sequences),
    (lambda: nn.LocalResponseNorm(3), _images), (lambda: nn.CrossMapLRN2d(3), _images),

    (lambda: nn.LSTM(8, 5, 2, bidirectional=True, batch_first=True), _sequences), (lambda: nn.GRU(8, 5, batch_first=True), _sequences),
    (lambda: nn.RNN(8, 5, nonlinearity="relu", batch_first=True), _sequences), (lambda: nn.LSTMCell(6, 5), _rows),
    (lambda: nn.LSTM(8, 5, proj_size=3, batch_first=True), _sequences), (lambda: nn.GRUCell(6, 5), _rows), (lambda: nn.RNNCell(6, 5), _rows),
    (lambda: nn.MultiheadAttention(8, 2, batch_first=True), lambda: _sequences() * 3),
    (lambda: nn.TransformerEncoderLayer(8, 2, 12, batch_first=True), _sequences),
    (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, norm_first=True), 2), _sequences),
    (lambda: nn.TransformerDecoderLayer(8, 2, 12, batch_first=True), lambda: _sequences() * 2),
    (lambda: nn.Transformer(8, 2, 1, 1, 12, batch_first=True), lambda: _sequences() * 2),

    (lambda: nn.Upsample(scale_factor=2), _images), (lambda: nn.Upsample(size=(5, 12), mode="bilinear"), _images),
    (lambda: nn.Upsample(scale_factor=1.7, mode="bilinear"), _images), (lambda: nn.Upsample(scale_factor=1.5, mode="linear"), _sequences),
    (lambda: nn.Upsample(scale_factor=2, mode="bicubic", align_corners=True), _images),
    (lambda: nn.Upsample(scale_factor=2, mode="trilinear"), _volumes), (lambda: nn.Upsample(scale_factor=1.3, mode="nearest-exact"), _images),
    (lambda: nn.Upsample(size=(7, 11), mode="nearest"), _images), (lambda: nn.UpsamplingNearest2d(scale_factor=2), _images), (lambda: nn.UpsamplingBilinear2d(scale_factor=2), _images),
    (lambda: nn.PixelShuffle(2), _images), (lambda: nn.PixelUnshuffle(3), lambda: (lucid.randn(3, 2, 6, 9),)),
    (lambda: nn.ChannelShuffle(2), _images), (nn.Flatten, _images), (lambda: nn.Unflatten(1, (2, 3)), _rows),
    (lambda: nn.ReflectionPad1d(2), _sequences), (lambda: nn.ReflectionPad2d((1, 2, 0, 3)), _images), (lambda: nn.ReflectionPad3d(1), _volumes),
    (lambda: nn.ReplicationPad1d(2), _sequences), (lambda: nn.ReplicationPad2d(2), _images), (lambda: nn.ReplicationPad3d(1), _volumes),
    (lambda: nn.ZeroPad1d(2), _sequences), (lambda: nn.ZeroPad2d((1, 2, -1, 0)), _images), (lambda: nn.ZeroPad3d(1), _volumes),
    (lambda: nn.ConstantPad1d(2, 3.0), _sequences), (lambda: nn.ConstantPad2d(1, 3.0), _images), (lambda: nn.ConstantPad3d(1, 3.0), _volumes),
    (lambda: nn.CircularPad1d(2), _sequences), (lambda: nn.CircularPad2d((2, 0, 1, 1)), _images), (lambda: nn.CircularPad3d(1), _volumes),
    (nn.CosineSimilarity, _pairs), (nn.PairwiseDistance, _pairs),

    *[(getattr(nn, name), _pairs) for name in "L1Loss MSELoss SmoothL1Loss HuberLoss KLDivLoss SoftMarginLoss BCEWithLogitsLoss "
                                              "PoissonNLLLoss MultiLabelSoftMarginLoss HingeEmbeddingLoss".split()],
    (nn.BCELoss, lambda: (lucid.rand(3, 6), lucid.rand(3, 6))), (nn.GaussianNLLLoss, lambda: (*_pairs(), lucid.rand(3, 6))),
    (nn.CrossEntropyLoss, _classes), (nn.NLLLoss, _classes), (nn.MultiMarginLoss, _classes),
    (nn.TripletMarginLoss, lambda: (*_pairs(), *_rows())), (nn.MarginRankingLoss, lambda: (*_pairs(), *_rows())),
    (nn.CosineEmbeddingLoss, lambda: (*_pairs(), lucid.tensor([1, -1, 1]))),
    (nn.TripletMarginWithDistanceLoss, lambda: (*_pairs(), *_rows())),
]


def _parts_written(x: lucid.Tensor) -> lucid.Tensor:
    x = x * 1
    x[:, 0] = 2
    x[..., 2:4] = x[:, -1:]
    x[1] = x[0] + 1
    x[1:, -2] = x[:-1, 0].clone()
    x[:-1, 4] = -1
    seen = x > 0
    seen[:, :2] = True
    x[:] = x + seen
    return x


def _steps_written(x: lucid.Tensor) -> lucid.Tensor:
    x = x * 1
    x[:, ::2] = 2
    return x


def _written_through_a_view(x: lucid.Tensor) -> lucid.Tensor:
    x = x * 1
    x.view(-1).add_(1)
    return x * 2


def _written(x: lucid.Tensor) -> lucid.Tensor:
    x = x * 1
    x.add_(1).mul_(2)
    x += x
    return x


def _constants_written(x: lucid.Tensor) -> lucid.Tensor:
    ones = lucid.zeros(6).add_(1)
    x = x + ones
    ones.mul_(3)
    total = x.new_zeros(6)
    total += x.sum(0)
    return x * ones + total


class Counting(nn.Module):
    """A module with a buffer that its calls change."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", lucid.zeros(()))

    def forward(self, x: lucid.Tensor) -> lucid.Tensor:
        """`x` and the number of calls."""
        self.calls += 1
        return x + self.calls


#: What is no module, but what the forward passes of models do.
FUNCTIONS: list[tuple[Callable[..., Any], Callable[[], Inputs]]] = [
    (lambda x: x.view(x.shape[0], -1).sum(1) / x.shape[0], _images), (lambda x: x[:, 1:, None, ::2, -1], _images),
    (lambda x: lucid.cat([x, x.flip(1)], 1).roll(1, 1).chunk(3, 1), _rows), (lambda x: x.transpose(0, 1) @ x, _rows),
    (lambda x: lucid.einsum("bij,bkj->bik", x, x).softmax(-1), _sequences), (lambda x: x.max(1), _rows),
    (lambda x: (x.argmax(1), x.amin((0, 2)), x.var(1), x.std(2, correction=0), x.logsumexp(1)), _sequences),
    (lambda x: x.topk(2, 1), _rows), (lambda x: x.sort(1, descending=True)[0], _rows), (lambda x: x.cumsum(1), _rows),
    (lambda x: x + lucid.arange(x.shape[0])[:, None], _rows), (lambda x: lucid.zeros_like(x) + x.new_ones(x.shape[0], 1), _rows),
    (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), _images),
    (lambda x: F.scaled_dot_product_attention(x, x, x, x[:, :, :, :1] > 0), lambda: (lucid.randn(3, 2, 4, 4) + 1,)),
    (lambda x: lucid.where(x > 0, x, -x).clamp(0.1, 1).pow(2.5), _rows), (lambda x: x.gather(1, (x > 0).long()), _rows),
    (lambda x, i: (x[:, 0][i], x.index_select(0, i), x.scatter(1, i[:, None], 5.0)), lambda: (lucid.randn(3, 6), lucid.tensor([0, 2, 1]))),
    (lambda x: (x % 0.7, x // 0.3, x.round(), x.trunc(), x.sign(), x.log1p().nan_to_num(0.5), x.atan()), _rows),
    (lambda x: ((x > 0) & (x < 1)).any(1) ^ (x > 1).all(1), _rows), (lambda x: F.one_hot(x, 10).float(), _tokens),
    (lambda x: x.repeat(1, 2).repeat_interleave(2, 1).unflatten(1, (4, -1)).tril(), _rows), (lambda x: x.unbind(1)[1:3], _rows),
    (lambda x: (x.half().float(), (x * 10).long(), x.double()), _rows), (lambda x: F.normalize(x, dim=1), _rows),
    (lambda x: lucid.stack(lucid.meshgrid(x[0], x[1], indexing="ij")), lambda: (lucid.randn(3, 6),)),
    (lambda x: ((x * 10).long() // 3, (x * 10).long() % -3, x * lucid.tensor(x.shape[0]), x.clone().fill_(2.0)), _rows),
    (lambda x: lucid.where(x > 0, x < 1, x > -1).masked_fill(x > 2, True), _rows), (_written, _rows), (_parts_written, _rows), (_constants_written, _rows), (lambda x: x % 0.7, lambda: (lucid.randn(3, 400),)), (lambda x, i: x[:, i, 1:3], lambda: (lucid.randn(3, 6, 5), lucid.tensor([[0, 2], [1, 5], [0, 0]]))),
    (lambda x: x.masked_fill(x > 0, -1.0).unsqueeze(1).expand(-1, 4, -1).reshape(-1, 6), _rows),
]

#: What is refused, with a word of the error.
REFUSED: list[tuple[Callable[[], nn.Module], Callable[[], Inputs], str]] = [
    (lambda: Call(lambda x: x * 2 if x.sum() > 0 else x), _rows, "Python reads an element"),
    (lambda: Call(lambda x: x * x.mean().item()), _rows, "Python reads an element"),
    (lambda: Call(lambda x: x * float(x.numpy().mean())), _rows, "Python reads an element"),
    (lambda: Call(lambda x: x + lucid.randn(6)), _rows, "random"),
    (lambda: Call(lambda x: sum(x[i] for i in range(x.shape[0]))), _rows, "more operations|other"),
    (lambda: Call(lambda x: x[x > 0]), _rows, "mask"),
    (lambda: Call(lambda x: F.one_hot(x)), _tokens, "Python reads an element"),
    (lambda: Call(lambda x: x.nonzero()), _rows, "nonzero"),
    (lambda: Call(_steps_written), _rows, "index_put"),  (Counting, _rows, "writes into 'calls'"),
    (lambda: Call(_written_through_a_view), _rows, "a part was written through another"),
    (lambda: Call(lambda x: x.add_(1)), _rows, "writes into an input"),
    (lambda: Call(lambda x: lucid.linalg.inv(x[:6, :6].T @ x)), lambda: (lucid.randn(7, 6),), "inv|other lengths"),
    (lambda: Call(lambda x: lucid.fft.fft(x)), _rows, "fft|complex"),
    (lambda: nn.FractionalMaxPool2d(2, output_size=4), _images, "random"),
    (lambda: nn.EmbeddingBag(10, 4, padding_idx=0), _tokens, "bag|mask"),
    (lambda: nn.AdaptiveMaxPool2d(2, return_indices=True), _images, "indices"),
    (lambda: nn.CrossEntropyLoss(label_smoothing=0.1), _classes, "label_smoothing"),
    (nn.MultiLabelMarginLoss, lambda: (lucid.randn(3, 6), lucid.tensor([[1, 2, -1, 0, 0, 0]] * 3)), "Python reads an element"),
]
