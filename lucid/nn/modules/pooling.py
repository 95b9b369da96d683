"""Pooling layers over one, two and three dimensions: max, average, LP, adaptive and fractional, and max unpooling."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import sizes

Size = int | tuple[int, ...]


class _MaxPoolNd(Module):
    _function: ClassVar[Callable[..., Any]]

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
                 return_indices: bool = False, ceil_mode: bool = False) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        """(N, C, …) to (N, C, …), or the same without N."""
        return type(self)._function(input, self.kernel_size, self.stride, self.padding, self.dilation,
                                    ceil_mode=self.ceil_mode, return_indices=self.return_indices)

    def extra_repr(self) -> str:
        """The window."""
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
                f"ceil_mode={self.ceil_mode}")


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window of (N, C, L) or (C, L). Options as in `MaxPool2d`.

    >>> nn.MaxPool1d(2)(lucid.tensor([[[1.0, 3.0, 5.0, 2.0]]]))
    Tensor([[[3.0, 5.0]]], requires_grad=False)
    """

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window: (N, C, H, W) to (N, C, H', W'), or the same without N.

    `stride` is the size of the window by default. With `return_indices` the result is a pair with the flat positions of the
    maxima in their planes.

    >>> nn.MaxPool2d(2)(lucid.arange(16.0).view(1, 1, 4, 4))
    Tensor([[[[ 5.0,  7.0],
              [13.0, 15.0]]]], requires_grad=False)
    >>> nn.MaxPool2d(3, stride=2, padding=1)(lucid.randn(8, 16, 32, 32)).shape
    lucid.Size([8, 16, 16, 16])
    """

    _function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window of (N, C, D, H, W) or (C, D, H, W). Options as in `MaxPool2d`.

    >>> nn.MaxPool3d(2)(lucid.zeros(1, 3, 4, 4, 4)).shape
    lucid.Size([1, 3, 2, 2, 2])
    """

    _function = staticmethod(F.max_pool3d)


class _Windowed(Module):
    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        """The window."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _MaxUnpoolNd(_Windowed):
    _function: ClassVar[Callable[..., Tensor]]
    _dimensions: ClassVar[int]

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        self.kernel_size = sizes(kernel_size, self._dimensions)
        self.stride = sizes(kernel_size if stride is None else stride, self._dimensions)
        self.padding = sizes(padding, self._dimensions)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Of the size that max pooling made `input` and `indices` from: the smallest possible one, or `output_size`."""
        return type(self)._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd):
    """The maxima (N, C, L) or (C, L) of `MaxPool1d` back at their positions, and zeros elsewhere.

    >>> y, indices = nn.MaxPool1d(2, return_indices=True)(lucid.tensor([[[1.0, 3.0, 5.0, 2.0]]]))
    >>> nn.MaxUnpool1d(2)(y, indices)
    Tensor([[[0.0, 3.0, 5.0, 0.0]]], requires_grad=False)
    """

    _function = staticmethod(F.max_unpool1d)
    _dimensions = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """The maxima (N, C, H, W) or (C, H, W) of `MaxPool2d` back at their positions, and zeros elsewhere.

    Where windows overlap, the last of those that found the same maximum counts.

    >>> y, indices = nn.MaxPool2d(2, return_indices=True)(lucid.arange(4.0).view(1, 1, 2, 2))
    >>> nn.MaxUnpool2d(2)(y, indices)
    Tensor([[[[0.0, 0.0],
              [0.0, 3.0]]]], requires_grad=False)
    """

    _function = staticmethod(F.max_unpool2d)
    _dimensions = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """The maxima (N, C, D, H, W) or (C, D, H, W) of `MaxPool3d` back at their positions, and zeros elsewhere.

    >>> y, indices = nn.MaxPool3d(2, return_indices=True)(lucid.arange(8.0).view(1, 1, 2, 2, 2))
    >>> nn.MaxUnpool3d(2)(y, indices).flatten()
    Tensor([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0], requires_grad=False)
    """

    _function = staticmethod(F.max_unpool3d)
    _dimensions = 3


class _FractionalMaxPool(Module):
    _function: ClassVar[Callable[..., Any]]
    _dimensions: ClassVar[int]
    _random_samples: Tensor | None

    def __init__(self, kernel_size: Size, output_size: Size | None = None, output_ratio: float | tuple[float, ...] | None = None,
                 return_indices: bool = False, _random_samples: Tensor | None = None) -> None:
        super().__init__()
        name, count = type(self).__name__, self._dimensions
        self.kernel_size = sizes(kernel_size, count)
        if min(self.kernel_size) <= 0 and count == 3:
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else sizes(output_size, count)
        self.output_ratio = output_ratio if output_ratio is None or isinstance(output_ratio, tuple) else (output_ratio,) * count
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        """(N, C, …) to (N, C, …), or the same without N."""
        return type(self)._function(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                                    _random_samples=self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """The maxima of windows at random distances of (N, C, H, W) or (C, H, W): see `F.fractional_max_pool2d`.

    The size of the result is `output_size`, or `output_ratio`, between 0 and 1, times that of the input. Raises ValueError for
    both, for neither, and for other ratios.

    >>> nn.FractionalMaxPool2d(2, output_ratio=0.5)(lucid.randn(1, 3, 8, 8)).shape
    lucid.Size([1, 3, 4, 4])
    """

    _function = staticmethod(F.fractional_max_pool2d)
    _dimensions = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    """The maxima of windows at random distances of (N, C, D, H, W) or (C, D, H, W). Options as in `FractionalMaxPool2d`.

    >>> nn.FractionalMaxPool3d(2, output_size=3)(lucid.randn(1, 3, 8, 8, 8)).shape
    lucid.Size([1, 3, 3, 3, 3])
    """

    _function = staticmethod(F.fractional_max_pool3d)
    _dimensions = 3


class AvgPool1d(_Windowed):
    """The mean of each window of (N, C, L) or (C, L). Options as in `AvgPool2d`.

    >>> nn.AvgPool1d(2)(lucid.tensor([[[1.0, 3.0, 5.0, 9.0]]]))
    Tensor([[[2.0, 7.0]]], requires_grad=False)
    """

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True) -> None:
        super().__init__()
        self.kernel_size = sizes(kernel_size, 1)
        self.stride = sizes(kernel_size if stride is None else stride, 1)
        self.padding = sizes(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, L) to (N, C, L')."""
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolNd(_Windowed):
    _function: ClassVar[Callable[..., Tensor]]

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, …) to (N, C, …), or the same without N."""
        return type(self)._function(input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
                                    self.count_include_pad, self.divisor_override)


class AvgPool2d(_AvgPoolNd):
    """The mean of each window: (N, C, H, W) to (N, C, H', W'), or the same without N.

    The sum is divided by the size of the window; without `count_include_pad` by the elements of the input in it; with
    `divisor_override` by that.

    >>> nn.AvgPool2d(2)(lucid.arange(16.0).view(1, 1, 4, 4))
    Tensor([[[[ 2.5,  4.5],
              [10.5, 12.5]]]], requires_grad=False)
    """

    _function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolNd):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W). Options as in `AvgPool2d`.

    >>> nn.AvgPool3d(2, stride=1)(lucid.zeros(1, 3, 4, 4, 4)).shape
    lucid.Size([1, 3, 3, 3, 3])
    """

    _function = staticmethod(F.avg_pool3d)


class _LPPoolNd(Module):
    _function: ClassVar[Callable[..., Tensor]]

    def __init__(self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, …) to (N, C, …), or the same without N."""
        return type(self)._function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        """The norm and the window."""
        return (f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
                f"ceil_mode={self.ceil_mode}")


class LPPool1d(_LPPoolNd):
    """The `norm_type`-norm of each window of (N, C, L) or (C, L).

    >>> nn.LPPool1d(2, kernel_size=2)(lucid.tensor([[[3.0, 4.0, 5.0, 12.0]]]))
    Tensor([[[ 5.0, 13.0]]], requires_grad=False)
    """

    _function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """The `norm_type`-norm of each window of (N, C, H, W) or (C, H, W).

    >>> nn.LPPool2d(1, kernel_size=2)(lucid.arange(4.0).view(1, 1, 2, 2))
    Tensor([[[[6.0]]]], requires_grad=False)
    """

    _function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """The `norm_type`-norm of each window of (N, C, D, H, W) or (C, D, H, W).

    >>> nn.LPPool3d(2, kernel_size=2)(lucid.ones(1, 1, 2, 2, 2))
    Tensor([[[[[2.8284]]]]], requires_grad=False)
    """

    _function = staticmethod(F.lp_pool3d)


class _AdaptiveAvgPoolNd(Module):
    _function: ClassVar[Callable[..., Tensor]]

    def __init__(self, output_size: int | tuple[int | None, ...] | None) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, …) to (N, C, *output_size), or the same without N."""
        return type(self)._function(input, self.output_size)

    def extra_repr(self) -> str:
        """The size of the output."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of as many windows as `output_size` says, of (N, C, L) or (C, L).

    >>> nn.AdaptiveAvgPool1d(2)(lucid.arange(6.0).view(1, 1, 6))
    Tensor([[[1.0, 4.0]]], requires_grad=False)
    """

    _function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of as many windows as `output_size` says: (N, C, H, W) to (N, C, *output_size), or the same without N.

    None in `output_size` keeps the length of that dimension.

    >>> nn.AdaptiveAvgPool2d((1, None))(lucid.zeros(2, 3, 8, 5)).shape
    lucid.Size([2, 3, 1, 5])
    """

    _function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of as many windows as `output_size` says, of (N, C, D, H, W) or (C, D, H, W). None as in `AdaptiveAvgPool2d`.

    >>> nn.AdaptiveAvgPool3d(2)(lucid.zeros(1, 3, 8, 6, 4)).shape
    lucid.Size([1, 3, 2, 2, 2])
    """

    _function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPoolNd(Module):
    _function: ClassVar[Callable[..., Any]]

    def __init__(self, output_size: int | tuple[int | None, ...] | None, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """(N, C, …) to (N, C, *output_size), or the same without N; with `return_indices` a pair."""
        return type(self)._function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        """The size of the output."""
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The maxima of as many windows as `output_size` says, of (N, C, L) or (C, L).

    >>> nn.AdaptiveMaxPool1d(2)(lucid.arange(6.0).view(1, 1, 6))
    Tensor([[[2.0, 5.0]]], requires_grad=False)
    """

    _function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The maxima of as many windows as `output_size` says, of (N, C, H, W) or (C, H, W).

    >>> nn.AdaptiveMaxPool2d(1)(lucid.arange(6.0).view(1, 1, 2, 3))
    Tensor([[[[5.0]]]], requires_grad=False)
    """

    _function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The maxima of as many windows as `output_size` says, of (N, C, D, H, W) or (C, D, H, W).

    >>> nn.AdaptiveMaxPool3d(2)(lucid.zeros(1, 3, 8, 6, 4)).shape
    lucid.Size([1, 3, 2, 2, 2])
    """

    _function = staticmethod(F.adaptive_max_pool3d)
