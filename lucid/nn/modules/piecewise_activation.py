"""More activation functions as modules: each applies the function of its name in `functional`."""
from __future__ import annotations

from typing import Any

from ...ops.creation.creation import full
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .activation import _AlongDim, _Inplace, _inplace_text
from .module import Module


class Hardswish(_Inplace):
    """``x * hardsigmoid(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Hardsigmoid(_Inplace):
    """``x / 6 + 1 / 2`` moved into [0, 1]."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Mish(_Inplace):
    """``x * tanh(softplus(x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.mish(input, self.inplace)


class SELU(_Inplace):
    """A scaled ELU that keeps mean 0 and variance 1."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.selu(input, self.inplace)


class CELU(Module):
    """`x` where it is positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Alpha."""
        return f"alpha={self.alpha}{_inplace_text(self.inplace, ', ')}"


class Threshold(Module):
    """`x` where it is above `threshold`, `value` elsewhere."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Threshold and value."""
        return f"threshold={self.threshold}, value={self.value}{_inplace_text(self.inplace, ', ')}"


class RReLU(Module):
    """A leaky ReLU with slopes drawn from [lower, upper] in training, and their mean otherwise."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The bounds."""
        return f"lower={self.lower}, upper={self.upper}{_inplace_text(self.inplace, ', ')}"


class PReLU(Module):
    """`x` where it is positive, ``weight * x`` elsewhere; `weight` has one number, or one for each channel (dimension 1)."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(full((num_parameters,), init, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start with the slope `init`."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, …), or any shape with one parameter."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The number of parameters."""
        return f"num_parameters={self.num_parameters}"


class GLU(Module):
    """The first half along `dim` times the sigmoid of the second."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """(…, 2 N, …) to (…, N, …)."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """Lambda."""
        return str(self.lambd)


class Hardshrink(_Shrink):
    """`x`, and 0 within `lambd` of 0."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """`x` moved towards 0 by `lambd`."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.softshrink(input, self.lambd)


class Tanhshrink(Module):
    """``x - tanh(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.tanhshrink(input)


class Softsign(Module):
    """``x / (1 + |x|)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.softsign(input)


class LogSigmoid(Module):
    """``log(sigmoid(x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.logsigmoid(input)


class Softmin(_AlongDim):
    """The softmax of ``-x`` along `dim`."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.softmin(input, self.dim)


class Softmax2d(Module):
    """The softmax over the channels of (N, C, H, W) or (C, H, W). Raises ValueError for other inputs."""

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, H, W), or without N."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)
