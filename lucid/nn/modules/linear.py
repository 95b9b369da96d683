"""Layers that multiply by a matrix."""
from __future__ import annotations

import math
from typing import Any

from ...ops.creation.creation import empty
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


class Identity(Module):
    """Returns its input. Any arguments are accepted and ignored.

    >>> nn.Identity()(lucid.tensor([1.0, 2.0]))
    Tensor([1.0, 2.0], requires_grad=False)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """`input` itself."""
        return input


class Linear(Module):
    """``y = x @ weight.T + bias`` over the last dimension: (..., in_features) to (..., out_features).

    `weight` is (out_features, in_features), `bias` (out_features,) or None; both start uniformly distributed within
    1 / sqrt(in_features).

    >>> layer = nn.Linear(20, 30)
    >>> layer(lucid.randn(128, 20)).shape
    lucid.Size([128, 30])
    >>> layer.weight.shape, layer.bias.shape
    (lucid.Size([30, 20]), lucid.Size([30]))
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
                 ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        reset_bias(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """(..., in_features) to (..., out_features)."""
        return F.linear(input, *self._tensors("weight", "bias"))

    def extra_repr(self) -> str:
        """Sizes and whether there is a bias."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear` under the name that PyTorch shows for the output projection of `MultiheadAttention`."""


class Bilinear(Module):
    """``y[o] = x1 @ weight[o] @ x2 + bias[o]``: (…, in1_features) and (…, in2_features) to (…, out_features).

    `weight` is (out_features, in1_features, in2_features), `bias` (out_features,) or None; both start uniformly distributed
    within 1 / sqrt(in1_features). Raises ValueError for an `in1_features` below 1.

    >>> nn.Bilinear(2, 3, 4)(lucid.randn(8, 2), lucid.randn(8, 3)).shape
    lucid.Size([8, 4])
    """

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """(…, in1_features) and (…, in2_features) to (…, out_features)."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes and whether there is a bias."""
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")


def reset_bias(weight: Tensor, bias: Tensor | None) -> None:
    """Draw a bias within 1 / sqrt(fan_in) of the layer with `weight`."""
    if bias is not None:
        fan_in, _ = init._calculate_fan_in_and_fan_out(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(bias, -bound, bound)
