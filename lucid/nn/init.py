"""Initialisation of parameters. All work in place, outside any graph, and return the tensor.

On the device 'meta' they check their arguments and do nothing else; no random numbers are drawn.

>>> from lucid.nn import init
>>> layer = nn.Linear(3, 2)
>>> init.zeros_(layer.bias).detach()
Tensor([0.0, 0.0], requires_grad=False)
"""
from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

from .._namespace.callers import stacklevel
from .._namespace.forwarding import deferring
from ..autograd.grad_mode import no_grad
from ..ops.creation.creation import empty_like
from ..ops.creation.creation import eye as identity
from ..ops.elementwise.where import where
from ..ops.random.random_numbers import at_least_single
from ..tensor import Tensor

__all__ = ["calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal", "kaiming_normal_",
           "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse",
           "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform",
           "xavier_uniform_", "zeros_"]

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which weights before `nonlinearity` are scaled so that activations keep their variance.

    `param` is the negative slope of 'leaky_relu' (0.01 by default). Raises ValueError for an unknown name.

    >>> nn.init.calculate_gain("relu"), nn.init.calculate_gain("leaky_relu", 0.2)
    (1.4142135623730951, 1.3867504905630728)
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with samples drawn uniformly from [a, b).

    >>> w = nn.init.uniform_(lucid.empty(1000), 2.0, 3.0)
    >>> bool((w >= 2).all()), bool((w <= 3).all())
    (True, True)
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normally distributed samples.

    >>> nn.init.normal_(lucid.empty(10000), mean=5.0).mean().round()
    Tensor(5.0, requires_grad=False)
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Any = None) -> Tensor:
    """Fill with normally distributed samples, those outside [a, b] drawn again.

    >>> bool(nn.init.trunc_normal_(lucid.empty(1000), std=1.0, a=-0.5, b=0.5).abs().max() <= 0.5)
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
                      "incorrect.", stacklevel=stacklevel())

    def below(x: float) -> float:
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    if tensor.is_meta:
        return tensor  # the elements to draw again are not known
    draw = _draw_normal if below(b) - below(a) > 0.3 else _draw_tail
    with no_grad():
        return tensor.copy_(draw(tensor, mean, std, a, b, generator))


def _no_grad_trunc_normal_(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any = None) -> Tensor:
    return trunc_normal_(tensor, mean, std, a, b, generator)


def _draw_normal(like: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Most normal samples lie in [a, b]: draw those that do not again."""
    def normal() -> Tensor:
        return empty_like(like, dtype=at_least_single(like.dtype)).normal_(mean, std, generator=generator)

    result = normal()
    while bool((stacklevel := (result < a) | (result > b)).any()):
        result = where(stacklevel, normal(), result)
    return result


def _draw_tail(like: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Few normal samples lie in [a, b]: draw uniformly there and keep each with a probability like its density."""
    peak = ((max(a, min(mean, b)) - mean) / std) ** 2

    def uniform(low: float, high: float) -> Tensor:
        return empty_like(like, dtype=at_least_single(like.dtype)).uniform_(low, high, generator=generator)

    result = uniform(a, b)
    chance = uniform(0.0, 1.0)
    while bool((rejected := chance > ((peak - ((result - mean) / std) ** 2) * 0.5).exp()).any()):
        result = where(rejected, uniform(a, b), result)
        # An accepted number gets a chance of 0, which accepts it again.
        chance = where(rejected, uniform(0.0, 1.0), chance * 0.0)
    return result


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number.

    >>> nn.init.constant_(lucid.empty(2), 0.3)
    Tensor([0.3, 0.3], requires_grad=False)
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    >>> nn.init.ones_(lucid.empty(2))
    Tensor([1.0, 1.0], requires_grad=False)
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    >>> nn.init.zeros_(lucid.empty(2))
    Tensor([0.0, 0.0], requires_grad=False)
    """
    return constant_(tensor, 0.0)


# Libraries with initializations of their own call these.
_no_grad_uniform_, _no_grad_normal_, _no_grad_fill_, _no_grad_zero_ = uniform_, normal_, constant_, zeros_


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity. Raises ValueError for tensors without exactly 2 dimensions.

    >>> nn.init.eye_(lucid.empty(2, 3))
    Tensor([[1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0]], requires_grad=False)
    """
    with no_grad():
        if tensor.ndim != 2:
            raise ValueError("Only tensors with 2 dimensions are supported")
        return tensor.copy_(identity(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that it passes as many channels through as it can.

    Raises ValueError unless there are 3 to 5 dimensions, the first divisible by `groups`.

    >>> nn.init.dirac_(lucid.empty(2, 2, 3))[0]  # a convolution that leaves its input as it is
    Tensor([[0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0]], requires_grad=False)
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    outputs, inputs, *kernel = tensor.shape
    if outputs % groups:
        raise ValueError("dim 0 must be divisible by groups")
    centre = tuple(length // 2 for length in kernel)
    per_group = outputs // groups
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, inputs)):
                tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many elements go into one output of a layer with this weight, and how many outputs one input goes to."""
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outputs, inputs, *kernel = tensor.shape
    return inputs * math.prod(kernel), outputs * math.prod(kernel)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """The one of both that `mode`, 'fan_in' or 'fan_out', names."""
    modes = ("fan_in", "fan_out")
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {list(modes)}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Glorot's uniform distribution: the variance is 2 * gain**2 / (fan_in + fan_out).

    >>> bool(nn.init.xavier_uniform_(lucid.empty(2, 4)).abs().max() <= 1)  # sqrt(6 / (2 + 4))
    True
    """
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Glorot's normal distribution: the variance is 2 * gain**2 / (fan_in + fan_out).

    >>> nn.init.xavier_normal_(lucid.empty(300, 500)).std().round(decimals=2)  # sqrt(2 / (300 + 500))
    Tensor(0.05, requires_grad=False)
    """
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Any = None) -> Tensor:
    """He's uniform distribution: the variance is gain**2 / fan. `a` is the negative slope of 'leaky_relu'.

    >>> bool(nn.init.kaiming_uniform_(lucid.empty(10, 6), nonlinearity="relu").abs().max() <= 1)  # sqrt(6 / 6)
    True
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    return uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Any = None) -> Tensor:
    """He's normal distribution: the variance is gain**2 / fan. `a` is the negative slope of 'leaky_relu'.

    >>> nn.init.kaiming_normal_(lucid.empty(1000, 200), nonlinearity="relu").std().round(decimals=2)  # sqrt(2 / 200)
    Tensor(0.1, requires_grad=False)
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=stacklevel())
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix, dimensions after the first taken as one.

    Raises ValueError for fewer than 2 dimensions.

    >>> w = nn.init.orthogonal_(lucid.empty(3, 5))
    >>> lucid.allclose(w @ w.T, lucid.eye(3), atol=1e-5)
    True
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    # Normal columns made orthonormal are uniformly distributed over all orthogonal matrices.
    matrix = tensor.new_empty((max(rows, columns), min(rows, columns))).normal_(0, 1, generator=generator)
    result = _orthonormal_columns(matrix) * gain
    with no_grad():
        return tensor.copy_((result.t() if rows < columns else result).reshape(tensor.shape))


def _orthonormal_columns(matrix: Tensor) -> Tensor:
    """The Gram-Schmidt process, every column treated twice: once is not enough in floating point."""
    for column in range(matrix.shape[1]):
        before = matrix[:, :column]
        vector = matrix[:, column]
        for _ in range(2):
            vector = vector - before @ (before.t() @ vector)
        matrix[:, column] = vector / (vector * vector).sum().sqrt()
    return matrix


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normal samples, in each column the fraction `sparsity` of them, rounded up, replaced by zeros.

    >>> (nn.init.sparse_(lucid.empty(10, 2), sparsity=0.3) == 0).sum(dim=0)  # zeros of each column
    Tensor([3, 3], requires_grad=False)
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    order = empty_like(tensor, dtype=at_least_single(tensor.dtype)).uniform_(generator=generator).argsort(0)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[order[:zeros, column], column] = 0
    return tensor


def _deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`function` by its old name, without the `_`, which warns."""
    new = function.__name__
    old = new[:-1]

    @functools.wraps(function)
    def warning(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=stacklevel())
        return function(*args, **kwargs)

    warning.__name__, warning.__doc__ = old, f"`{new}` by its old name, with a FutureWarning."
    return warning


uniform, normal, constant = _deprecated(uniform_), _deprecated(normal_), _deprecated(constant_)
eye, dirac, orthogonal, sparse = _deprecated(eye_), _deprecated(dirac_), _deprecated(orthogonal_), _deprecated(sparse_)
xavier_uniform, xavier_normal = _deprecated(xavier_uniform_), _deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecated(kaiming_uniform_), _deprecated(kaiming_normal_)

for _name, _value in list(globals().items()):
    if not _name.startswith("_") and getattr(_value, "__module__", "") == __name__ and callable(_value):
        globals()[_name] = deferring(_value)
