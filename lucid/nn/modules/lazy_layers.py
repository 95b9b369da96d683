"""The layers that learn the size of their input from the first one."""
from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...ops.creation.creation import tensor
from ...tensor import Tensor
from .. import init
from ..parameter import UninitializedBuffer, UninitializedParameter
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, _NormBase
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Size, _ConvNd
from .instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .lazy import LazyModuleMixin
from .linear import Linear


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` whose `in_features` is the last dimension of its first input.

    >>> layer = nn.LazyLinear(3)
    >>> y = layer(lucid.randn(4, 7))
    >>> layer
    Linear(in_features=7, out_features=3, bias=True)
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new parameters, once they have a shape."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take `in_features` from `input`. Raises AssertionError if loaded parameters are for another number."""
        features = input.shape[-1]
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = features
                _materialize(self.weight, (self.out_features, features))
                _materialize(self.bias, (self.out_features,))
                self.reset_parameters()
                if features == 0 and self.bias is not None:  # PyTorch leaves what was in the memory
                    init.zeros_(self.bias)
        if self.in_features == 0:
            if features != self.weight.shape[-1]:
                raise AssertionError(f"the input has {features} features, but the weight is for {self.weight.shape[-1]}")
            self.in_features = features


class _LazyConv(LazyModuleMixin, _ConvNd):
    """What lazy convolutions of any dimension share: the channels come from the first input."""

    def _declare(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new parameters, once they have a shape."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Take `in_channels` from `input`. Raises RuntimeError for an input with another number of dimensions, ValueError for
        channels that `groups` does not divide.
        """
        if not self.has_uninitialized_params():
            return
        channels = self._get_in_channels(input)
        if channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        self.in_channels = channels
        if self.transposed:
            sizes = channels, self.out_channels // self.groups
        else:
            sizes = self.out_channels, channels // self.groups
        _materialize(self.weight, (*sizes, *self.kernel_size))
        _materialize(self.bias, (self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input: Tensor) -> int:
        spatial = len(self.kernel_size)
        if input.ndim not in (spatial + 1, spatial + 2):
            raise RuntimeError(f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to "
                               f"{type(self).__name__}, but got input of size: {input.shape}")
        return int(input.shape[-spatial - 1])


class _LazyPlainConv(_LazyConv):
    def __init__(self, out_channels: int, kernel_size: Size, stride: Size = 1, padding: str | Size = 0, dilation: Size = 1,
                 groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None
                 ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._declare(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConv):
    def __init__(self, out_channels: int, kernel_size: Size, stride: Size = 1, padding: Size = 0, output_padding: Size = 0,
                 groups: int = 1, bias: bool = True, dilation: Size = 1, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self._declare(out_channels, bias, device, dtype)


class LazyConv1d(_LazyPlainConv, Conv1d):
    """A `Conv1d` whose `in_channels` are those of its first input.

    >>> layer = nn.LazyConv1d(16, kernel_size=3)
    >>> y = layer(lucid.randn(4, 6, 10))
    >>> layer
    Conv1d(6, 16, kernel_size=(3,), stride=(1,))
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyPlainConv, Conv2d):
    """A `Conv2d` whose `in_channels` are those of its first input.

    >>> layer = nn.LazyConv2d(16, kernel_size=3)
    >>> y = layer(lucid.randn(4, 6, 8, 8))
    >>> layer
    Conv2d(6, 16, kernel_size=(3, 3), stride=(1, 1))
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyPlainConv, Conv3d):
    """A `Conv3d` whose `in_channels` are those of its first input.

    >>> layer = nn.LazyConv3d(16, kernel_size=3)
    >>> y = layer(lucid.randn(1, 6, 4, 4, 4))
    >>> layer.in_channels
    6
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A `ConvTranspose1d` whose `in_channels` are those of its first input.

    >>> layer = nn.LazyConvTranspose1d(16, kernel_size=3)
    >>> y = layer(lucid.randn(4, 6, 10))
    >>> layer.in_channels, y.shape
    (6, lucid.Size([4, 16, 12]))
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A `ConvTranspose2d` whose `in_channels` are those of its first input.

    >>> layer = nn.LazyConvTranspose2d(16, kernel_size=3)
    >>> y = layer(lucid.randn(4, 6, 8, 8))
    >>> layer.in_channels, y.shape
    (6, lucid.Size([4, 16, 10, 10]))
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A `ConvTranspose3d` whose `in_channels` are those of its first input.

    >>> layer = nn.LazyConvTranspose3d(8, kernel_size=2)
    >>> y = layer(lucid.randn(1, 6, 4, 4, 4))
    >>> layer.in_channels, y.shape
    (6, lucid.Size([1, 8, 5, 5, 5]))
    """

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin, _NormBase):
    """What lazy batch and instance normalisations of any dimension share: dimension 1 of the first input is `num_features`."""

    def __init__(self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
                 device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, device=device)

    def reset_parameters(self) -> None:
        """Start with weight 1 and bias 0 and without statistics, once there are shapes."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take `num_features` from `input`."""
        if self.has_uninitialized_params():
            self.num_features = int(input.shape[1])
            for state in (self.weight, self.bias, self.running_mean, self.running_var):
                _materialize(state, (self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A `BatchNorm1d` whose `num_features` is dimension 1 of its first input.

    >>> layer = nn.LazyBatchNorm1d()
    >>> y = layer(lucid.randn(8, 4))
    >>> layer
    BatchNorm1d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A `BatchNorm2d` whose `num_features` is dimension 1 of its first input.

    >>> layer = nn.LazyBatchNorm2d()
    >>> y = layer(lucid.randn(8, 4, 3, 3))
    >>> layer.num_features
    4
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A `BatchNorm3d` whose `num_features` is dimension 1 of its first input.

    >>> layer = nn.LazyBatchNorm3d()
    >>> y = layer(lucid.randn(8, 4, 2, 2, 2))
    >>> layer.num_features
    4
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An `InstanceNorm1d` whose `num_features` is dimension 1 of its first input; affine, with statistics, by default.

    >>> layer = nn.LazyInstanceNorm1d()
    >>> y = layer(lucid.randn(8, 4, 3))
    >>> layer.num_features
    4
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An `InstanceNorm2d` whose `num_features` is dimension 1 of its first input; affine, with statistics, by default.

    >>> layer = nn.LazyInstanceNorm2d()
    >>> y = layer(lucid.randn(8, 4, 3, 3))
    >>> layer.num_features
    4
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An `InstanceNorm3d` whose `num_features` is dimension 1 of its first input; affine, with statistics, by default.

    >>> layer = nn.LazyInstanceNorm3d()
    >>> y = layer(lucid.randn(8, 4, 2, 2, 2))
    >>> layer.num_features
    4
    """

    cls_to_become = InstanceNorm3d


def _materialize(state: Any, shape: tuple[int, ...]) -> None:
    if state is not None:
        state.materialize(shape)
