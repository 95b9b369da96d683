"""Activation functions as modules: each applies the function of its name in `functional`, elementwise or along `dim`."""
from __future__ import annotations

import warnings
from typing import Any

from ...ops.creation.creation import full
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .attention import MultiheadAttention as MultiheadAttention
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
    """``max(0, x)``.

    >>> nn.ReLU()(lucid.tensor([-1.0, 0.0, 2.0]))
    Tensor([0.0, 0.0, 2.0], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.relu(input, inplace=self.inplace)


class SiLU(_Inplace):
    """``x * sigmoid(x)``.

    >>> nn.SiLU()(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-0.2689,  0.0000,  0.7311], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.silu(input, inplace=self.inplace)


class Hardtanh(Module):
    """`x` clipped to [min_val, max_val].

    >>> nn.Hardtanh()(lucid.tensor([-4.0, 0.5, 4.0]))
    Tensor([-1.0,  0.5,  1.0], requires_grad=False)
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value: float | None = None,
                 max_value: float | None = None) -> None:
        super().__init__()
        for name, value in (("min_value", min_value), ("max_value", max_value)):
            if value is not None:
                warnings.warn(f"keyword argument `{name}` is deprecated and rename to `{name[:7]}`", FutureWarning, stacklevel=2)
        min_val = min_val if min_value is None else min_value
        max_val = max_val if max_value is None else max_value
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
    """``min(max(0, x), 6)``.

    >>> nn.ReLU6()(lucid.tensor([-1.0, 2.0, 8.0]))
    Tensor([0.0, 2.0, 6.0], requires_grad=False)
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Whether it works in place."""
        return _inplace_text(self.inplace)


class LeakyReLU(Module):
    """`x` where it is positive, ``negative_slope * x`` elsewhere.

    >>> nn.LeakyReLU(0.1)(lucid.tensor([-1.0, 0.0, 2.0]))
    Tensor([-0.1,  0.0,  2.0], requires_grad=False)
    """

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
    """`x` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere.

    >>> nn.ELU()(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-0.6321,  0.0000,  1.0000], requires_grad=False)
    """

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
    """``x * Phi(x)``, Phi the distribution function of the normal distribution; `approximate` is 'none' or 'tanh'.

    >>> nn.GELU()(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-0.1587,  0.0000,  0.8413], requires_grad=False)
    """

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
    """``log(1 + exp(beta * x)) / beta``, a smooth ReLU; linear where ``beta * x > threshold``.

    >>> nn.Softplus()(lucid.tensor([-1.0, 0.0, 100.0]))
    Tensor([  0.3133,   0.6931, 100.0000], requires_grad=False)
    """

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
    """``1 / (1 + exp(-x))``.

    >>> nn.Sigmoid()(lucid.tensor([-1.0, 0.0, 100.0]))
    Tensor([0.2689, 0.5000, 1.0000], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return input.sigmoid()


class Tanh(Module):
    """The hyperbolic tangent.

    >>> nn.Tanh()(lucid.tensor([-1.0, 0.0, 100.0]))
    Tensor([-0.7616,  0.0000,  1.0000], requires_grad=False)
    """

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
    """``exp(x)`` divided by its sum along `dim`. The shape stays.

    >>> nn.Softmax(dim=1)(lucid.tensor([[0.0, 0.0], [0.0, 1.0]]))
    Tensor([[0.5000, 0.5000],
            [0.2689, 0.7311]], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.softmax(input, self.dim)


class LogSoftmax(_AlongDim):
    """The logarithm of the softmax along `dim`. The shape stays.

    >>> nn.LogSoftmax(dim=0)(lucid.tensor([0.0, 0.0]))
    Tensor([-0.6931, -0.6931], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.log_softmax(input, self.dim)


class Hardswish(_Inplace):
    """``x * hardsigmoid(x)``.

    >>> nn.Hardswish()(lucid.tensor([-4.0, 1.0, 4.0]))
    Tensor([-0.0000,  0.6667,  4.0000], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Hardsigmoid(_Inplace):
    """``x / 6 + 1 / 2`` moved into [0, 1].

    >>> nn.Hardsigmoid()(lucid.tensor([-4.0, 0.0, 1.5]))
    Tensor([0.00, 0.50, 0.75], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Mish(_Inplace):
    """``x * tanh(softplus(x))``.

    >>> nn.Mish()(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-0.3034,  0.0000,  0.8651], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.mish(input, self.inplace)


class SELU(_Inplace):
    """A scaled ELU that keeps mean 0 and variance 1.

    >>> nn.SELU()(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-1.1113,  0.0000,  1.0507], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.selu(input, self.inplace)


class CELU(Module):
    """`x` where it is positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere.

    >>> nn.CELU(alpha=0.5)(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-0.4323,  0.0000,  1.0000], requires_grad=False)
    """

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
    """`x` where it is above `threshold`, `value` elsewhere.

    >>> nn.Threshold(1.0, 0.0)(lucid.tensor([-1.0, 0.5, 2.0]))
    Tensor([0.0, 0.0, 2.0], requires_grad=False)
    """

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
    """A leaky ReLU with slopes drawn from [lower, upper] in training, and their mean otherwise.

    >>> nn.RReLU(0.25, 0.25)(lucid.tensor([-1.0, 2.0]))
    Tensor([-0.25,  2.00], requires_grad=False)
    """

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
    """`x` where it is positive, ``weight * x`` elsewhere; `weight` has one number, or one for each channel (dimension 1).

    >>> nn.PReLU()(lucid.tensor([-2.0, 3.0])).detach()
    Tensor([-0.5,  3.0], requires_grad=False)
    """

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
    """The first half along `dim` times the sigmoid of the second.

    >>> nn.GLU()(lucid.tensor([1.0, 2.0, 0.0, 100.0]))
    Tensor([0.5, 2.0], requires_grad=False)
    """

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
    """`x`, and 0 within `lambd` of 0.

    >>> nn.Hardshrink()(lucid.tensor([-1.0, 0.3, 0.7]))
    Tensor([-1.0,  0.0,  0.7], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """`x` moved towards 0 by `lambd`.

    >>> nn.Softshrink(0.5)(lucid.tensor([-1.0, 0.3, 0.7]))
    Tensor([-0.5,  0.0,  0.2], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.softshrink(input, self.lambd)


class Tanhshrink(Module):
    """``x - tanh(x)``.

    >>> nn.Tanhshrink()(lucid.tensor([-1.0, 0.0, 1.0]))
    Tensor([-0.2384,  0.0000,  0.2384], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.tanhshrink(input)


class Softsign(Module):
    """``x / (1 + |x|)``.

    >>> nn.Softsign()(lucid.tensor([-1.0, 0.0, 3.0]))
    Tensor([-0.50,  0.00,  0.75], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.softsign(input)


class LogSigmoid(Module):
    """``log(sigmoid(x))``.

    >>> nn.LogSigmoid()(lucid.tensor([-1000.0, 0.0]))
    Tensor([-1000.0000,    -0.6931], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.logsigmoid(input)


class Softmin(_AlongDim):
    """The softmax of ``-x`` along `dim`. The shape stays.

    >>> nn.Softmin(dim=0)(lucid.tensor([0.0, 1.0]))
    Tensor([0.7311, 0.2689], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """Any shape."""
        return F.softmin(input, self.dim)


class Softmax2d(Module):
    """The softmax over the channels of (N, C, H, W) or (C, H, W). Raises ValueError for other inputs.

    >>> nn.Softmax2d()(lucid.zeros(1, 2, 1, 1)).flatten()
    Tensor([0.5, 0.5], requires_grad=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, H, W), or without N."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)
