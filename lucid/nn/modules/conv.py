"""Convolutions."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...ops.creation.creation import empty
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import reset_bias
from .module import Module
from .utils import sizes

_MODES = ("zeros", "reflect", "replicate", "circular")
Size = int | tuple[int, ...]


class _ConvNd(Module):
    """What convolutions of any dimension share: sizes, parameters and `repr`."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...],
                 padding: str | tuple[int, ...], dilation: tuple[int, ...], transposed: bool,
                 output_padding: tuple[int, ...], groups: int, bias: bool, padding_mode: str, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
            if padding == "same" and any(step != 1 for step in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {_MODES}, but got padding_mode={padding_mode!r}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty((*channels, *kernel_size), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        reset_bias(self.weight, self.bias)

    def _borders(self) -> list[int]:
        """The widths that `functional.pad` adds: last dimension first, before and after."""
        widths: list[int] = []
        for dim in reversed(range(len(self.kernel_size))):
            if isinstance(self.padding, str):
                total = self.dilation[dim] * (self.kernel_size[dim] - 1) if self.padding == "same" else 0
                widths += [total // 2, total - total // 2]
            else:
                widths += [self.padding[dim]] * 2
        return widths

    @property
    def _reversed_padding_repeated_twice(self) -> Sequence[int]:
        return self._borders() if isinstance(self.padding, str) else tuple(self._borders())

    def extra_repr(self) -> str:
        """Channels and sizes; what has its default is left out."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    """What the convolutions share that are not transposed."""

    _dims: ClassVar[int]
    _function: ClassVar[Callable[..., Tensor]]

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, padding: str | Size = 0,
                 dilation: Size = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:
        dims = self._dims
        super().__init__(in_channels, out_channels, sizes(kernel_size, dims), sizes(stride, dims),
                         padding if isinstance(padding, str) else sizes(padding, dims), sizes(dilation, dims), False,
                         (0,) * dims, groups, bias, padding_mode, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """(N, C_in, …) to (N, C_out, …), or the same without N."""
        return self._conv_forward(input, *self._tensors("weight", "bias"))

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None, function: Callable[..., Tensor] | None = None
                      ) -> Tensor:
        function = function or type(self)._function
        if self.padding_mode == "zeros":
            return function(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
        padded = F.pad(input, self._borders(), mode=self.padding_mode)
        return function(padded, weight, bias, self.stride, (0,) * self._dims, self.dilation, self.groups)


class Conv1d(_Conv):
    """A one-dimensional convolution: (N, C_in, L) to (N, C_out, L'), or the same without N. Options as in `Conv2d`.

    >>> nn.Conv1d(16, 33, kernel_size=3, stride=2)(lucid.randn(4, 16, 50)).shape
    lucid.Size([4, 33, 24])
    """

    _dims = 1
    _function = staticmethod(F.conv1d)


class Conv2d(_Conv):
    """A two-dimensional convolution: (N, C_in, H, W) to (N, C_out, H', W'), or the same without N.

    `weight` is (out_channels, in_channels / groups, kernel height, kernel width), `bias` (out_channels,) or None; both start
    uniformly distributed within 1 / sqrt(fan_in). `padding` may be 'same' or 'valid', `padding_mode` 'zeros', 'reflect',
    'replicate' or 'circular'. Raises ValueError for channels that `groups` does not divide and for unknown paddings.

    >>> layer = nn.Conv2d(3, 16, kernel_size=3, padding="same")
    >>> layer(lucid.randn(8, 3, 32, 32)).shape
    lucid.Size([8, 16, 32, 32])
    >>> layer.weight.shape
    lucid.Size([16, 3, 3, 3])
    """

    _dims = 2
    _function = staticmethod(F.conv2d)


class Conv3d(_Conv):
    """A three-dimensional convolution: (N, C_in, D, H, W) to (N, C_out, D', H', W'), or the same without N. Options as in
    `Conv2d`.

    >>> nn.Conv3d(3, 8, kernel_size=(1, 3, 3), padding=(0, 1, 1))(lucid.randn(2, 3, 4, 8, 8)).shape
    lucid.Size([2, 8, 4, 8, 8])
    """

    _dims = 3
    _function = staticmethod(F.conv3d)


class _ConvTransposeNd(_ConvNd):
    """What the transposed convolutions share."""

    _dims: ClassVar[int]
    _function: ClassVar[Callable[..., Tensor]]

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, padding: Size = 0,
                 output_padding: Size = 0, groups: int = 1, bias: bool = True, dilation: Size = 1,
                 padding_mode: str = "zeros", device: Any = None, dtype: Any = None) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        kernel_size, stride, padding, output_padding, dilation = (
            sizes(size, self._dims) for size in (kernel_size, stride, padding, output_padding, dilation))
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, True, output_padding, groups, bias,
                         padding_mode, device, dtype)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """(N, C_in, …) to (N, C_out, …), or the same without N; `output_size`, with or without N and C, replaces
        `output_padding`. Raises ValueError for a size that these strides cannot give.
        """
        extra = self.output_padding if output_size is None else self._extra(input, tuple(output_size))
        return type(self)._function(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)

    def _extra(self, input: Tensor, output_size: tuple[int, ...]) -> tuple[int, ...]:
        """The output padding that makes the result of `output_size`."""
        if len(output_size) == input.ndim:
            output_size = output_size[-self._dims:]
        if len(output_size) != self._dims:
            raise ValueError(f"{type(self).__name__}: for {input.ndim}D input, output_size must have {self._dims} or "
                             f"{input.ndim} elements (got {len(output_size)})")
        padding: Any = self.padding
        smallest = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in zip(
            input.shape[-self._dims:], self.stride, padding, self.dilation, self.kernel_size, strict=True)]
        largest = [n + s - 1 for n, s in zip(smallest, self.stride, strict=True)]
        if any(not low <= n <= high for low, n, high in zip(smallest, output_size, largest, strict=True)):
            raise ValueError(f"requested an output size of {list(output_size)}, but valid sizes range from {smallest} to "
                             f"{largest} (for an input of {list(input.shape[-self._dims:])})")
        return tuple(n - low for n, low in zip(output_size, smallest, strict=True))


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of a one-dimensional convolution: (N, C_in, L) to (N, C_out, L'), or the same without N. Options as in
    `ConvTranspose2d`.

    >>> nn.ConvTranspose1d(16, 8, kernel_size=4, stride=2, padding=1)(lucid.randn(4, 16, 10)).shape
    lucid.Size([4, 8, 20])
    """

    _dims = 1
    _function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of a two-dimensional convolution: (N, C_in, H, W) to (N, C_out, H', W'), or the same without N.

    `weight` is (in_channels, out_channels / groups, kernel height, kernel width), `bias` (out_channels,) or None. With strides
    several lengths of the result are possible: `output_padding` is added to the smallest. Raises ValueError for channels that
    `groups` does not divide and for another padding mode than 'zeros'.

    >>> nn.ConvTranspose2d(16, 3, kernel_size=4, stride=2, padding=1)(lucid.randn(2, 16, 8, 8)).shape
    lucid.Size([2, 3, 16, 16])
    """

    _dims = 2
    _function = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of a three-dimensional convolution: (N, C_in, D, H, W) to (N, C_out, D', H', W'), or the same without N.
    Options as in `ConvTranspose2d`.

    >>> nn.ConvTranspose3d(4, 2, kernel_size=2, stride=2)(lucid.randn(1, 4, 3, 3, 3)).shape
    lucid.Size([1, 2, 6, 6, 6])
    """

    _dims = 3
    _function = staticmethod(F.conv_transpose3d)
