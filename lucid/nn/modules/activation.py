"""Activation functions as modules: each applies the function of its name in `functional`, elementwise or along `dim`."""
from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .module import Module


def _inplace_text(inplace: bool, separator: str = "") -> str:
    return f"{separator}inplace=True" if inplace else ""


class _Inplace(Module):
    """An activation whose only option is to write the result into its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Whether it works in place."""
        return _inplace_text(self.inplace)


class ReLU(_Inplace):
    """``max(0, x)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.relu(input, inplace=self.inplace)


class SiLU(_Inplace):
    """``x * sigmoid(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.silu(input, inplace=self.inplace)


class Hardtanh(Module):
    """`x` clipped to [min_val, max_val]."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """The bounds."""
        return f"min_val={self.min_val}, max_val={self.max_val}{_inplace_text(self.inplace, ', ')}"


class ReLU6(Hardtanh):
    """``min(max(0, x), 6)``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Whether it works in place."""
        return _inplace_text(self.inplace)


class LeakyReLU(Module):
    """`x` where it is positive, ``negative_slope * x`` elsewhere."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """The slope."""
        return f"negative_slope={self.negative_slope}{_inplace_text(self.inplace, ', ')}"


class ELU(Module):
    """`x` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Alpha."""
        return f"alpha={self.alpha}{_inplace_text(self.inplace, ', ')}"


class GELU(Module):
    """``x * Phi(x)``, Phi the distribution function of the normal distribution; `approximate` is 'none' or 'tanh'."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """The approximation."""
        return f"approximate={self.approximate!r}"


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``, a smooth ReLU; linear where ``beta * x > threshold``."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Beta and the threshold."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return input.sigmoid()


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return input.tanh()


class _AlongDim(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """``exp(x)`` divided by its sum along `dim`."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.softmax(input, self.dim)


class LogSoftmax(_AlongDim):
    """The logarithm of the softmax along `dim`."""

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.log_softmax(input, self.dim)
