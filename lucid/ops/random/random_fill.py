"""Methods that fill a tensor with random numbers. The same seed gives the same elements on every device."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import _dtypes, _random
from ...autograd.errors import type_name
from ...autograd.inplace import write
from ...backends.sizes import LARGE
from ...tensor import Tensor
from .._independence import rebase_with_zeros
from .._methods import register
from .._operands import refuse_stored
from .random import normal
from .random_numbers import (
    at_least_single,
    check_bounds,
    check_range,
    draw_into,
    float_dtype,
    random_floats,
    random_integers,
    scaled,
)
from .sampling import flips

METHODS = ("uniform_", "normal_", "bernoulli_", "exponential_", "random_", "geometric_", "cauchy_", "log_normal_")

# The largest integer up to which a floating-point type represents all integers.
_WHOLE = {_dtypes.float16: 1 << 11, _dtypes.bfloat16: 1 << 8, _dtypes.float32: 1 << 24, _dtypes.float64: 1 << 53}


def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *,
             generator: _random.Generator | None = None) -> Tensor:
    """Fill with samples from the uniform distribution on [from_, to), the real and imaginary parts of complex ones alike.

    >>> x = lucid.zeros(1000).uniform_(2.0, 3.0)
    >>> bool((x >= 2).all()), bool((x <= 3).all())
    (True, True)
    """
    refuse_stored("uniform_", self.dtype)
    dtype = float_dtype("check_uniform_bounds", self.dtype)
    low, high = float(from_), float(to)
    check_bounds(low, high, dtype)
    if draw_into(self, "random_uniform", generator, low=low, high=high):
        return self
    return write(self, lambda old: random_floats("random_uniform", tuple(self.shape), dtype, self.device, generator, low=low,
                                                 high=high))


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: _random.Generator | None = None) -> Tensor:
    """Fill with normal samples of `mean` and `std`.

    >>> x = lucid.zeros(10000).normal_(5.0, 2.0)
    >>> x.mean().round(), x.std().round()
    (Tensor(5.0, requires_grad=False), Tensor(2.0, requires_grad=False))
    """
    refuse_stored("normal_", self.dtype)
    steps = scaled(std, mean)
    if steps is not None and draw_into(self, "random_normal", generator, *steps):
        return self
    dtype = float_dtype("normal_kernel_cpu", self.dtype)
    return write(self, lambda old: normal(mean, std, tuple(self.shape), generator=generator, dtype=dtype,
                                          device=self.device))


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: _random.Generator | None = None) -> Tensor:
    """Fill with 1 with probability `p` (a number or a tensor that broadcasts), else 0. Not for complex tensors."""
    refuse_stored("bernoulli_", self.dtype)
    if self.is_complex():
        raise NotImplementedError(f'"bernoulli_scalar_cpu_" not implemented for \'{type_name(self.dtype)}\'')
    few = p.__class__ is float and 0 <= p <= 1 and self._array.size < LARGE and self._array.dtype == _dtypes.float32
    if few and draw_into(self, "random_uniform", generator, ("lt", None, p)):
        return self
    chance = p.detach().to(self.device).expand(self.shape) if isinstance(p, Tensor) else p
    return rebase_with_zeros(write(self, lambda old: flips(self, chance, generator)), p)


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: _random.Generator | None = None) -> Tensor:
    """Fill with samples from the exponential distribution with rate `lambd`. None is 0, for rates up to 1e27.

    >>> lucid.zeros(10000).exponential_(2.0).mean().round(decimals=1)
    Tensor(0.5, requires_grad=False)
    """
    refuse_stored("exponential_", self.dtype)
    if not _dtypes.is_floating(self.dtype):
        raise RuntimeError("Exponential distribution is a continuous probability distribution. dtype must be a "
                           f"floating point but you specified {type_name(self.dtype)}")
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")

    rate = float(lambd)
    if draw_into(self, "random_exponential", generator, *([] if rate == 1 else [("div", None, rate)])):
        return self
    smallest = 2.0**-24 if self.dtype == _dtypes.float16 else 0.0  # float16 has smaller values than that rounded to 0
    wide = at_least_single(self.dtype)
    return write(self, lambda old: (_drawn("random_exponential", self, generator, wide) / rate).clamp(min=smallest))


def random_(self: Tensor, from_: int = 0, to: int | None = None, *,
            generator: _random.Generator | None = None) -> Tensor:
    """Fill with integers from [from_, to); ``random_(to)`` begins at 0. By default all that the dtype holds from 0 on,
    for floating-point types up to where every integer is exact.

    >>> lucid.zeros(1000).random_(3, 6).unique()
    Tensor([3.0, 4.0, 5.0], requires_grad=False)
    """
    low, high = from_, to
    if high is None and low:
        low, high = 0, low
    dtype = self.dtype
    refuse_stored("random_", dtype)
    if high is None:
        high = 2 if dtype.kind == "b" else _WHOLE[dtype] + 1 if dtype in _WHOLE else int(np.iinfo(dtype).max) + 1
    check_range(int(low), int(high), dtype)
    return write(self, lambda old: random_integers(tuple(self.shape), int(low), int(high), dtype, self.device, generator))


def geometric_(self: Tensor, p: float, *, generator: _random.Generator | None = None) -> Tensor:
    """Fill with how many trials it takes, from 1 on, up to the first success with probability `p` of each.

    Raises RuntimeError for `p` outside (0, 1), NotImplementedError for bools and complex tensors.

    >>> lucid.zeros(1000).geometric_(0.5).min()
    Tensor(1.0, requires_grad=False)
    """
    refuse_stored("geometric_", self.dtype)
    if self.dtype.kind in "bc":
        raise NotImplementedError(f"\"geometric_cpu\" not implemented for '{type_name(self.dtype)}'")
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    # The exponential distribution, cut into pieces of equal ratio.
    return write(self, lambda old: (_drawn("random_exponential", self, generator) / -math.log1p(-p)).ceil().to(self.dtype))


def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: _random.Generator | None = None) -> Tensor:
    """Fill with samples from the Cauchy distribution around `median`, half of them nearer to it than `sigma`.

    >>> bool(lucid.zeros(3).cauchy_(median=1.0, sigma=2.0).isfinite().all())
    True
    """
    refuse_stored("cauchy_", self.dtype)
    if not _dtypes.is_floating(self.dtype):
        raise RuntimeError("Cauchy distribution is a continuous probability distribution. dtype must be a floating point but "
                           f"you specified {type_name(self.dtype)}")
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return write(self, lambda old: (median + sigma * (math.pi * (_drawn("random_uniform", self, generator) - 0.5)).tan()
                                    ).to(self.dtype))


def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: _random.Generator | None = None) -> Tensor:
    """Fill with the exponentials of normal samples of `mean` and `std`.

    >>> bool((lucid.zeros(5).log_normal_() > 0).all())
    True
    """
    refuse_stored("log_normal_", self.dtype)
    if not _dtypes.is_floating(self.dtype):
        raise NotImplementedError(f"\"log_normal_cpu\" not implemented for '{type_name(self.dtype)}'")
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    return write(self, lambda old: (_drawn("random_normal", self, generator) * std + mean).exp().to(self.dtype))


def _drawn(name: str, like: Tensor, generator: Any, dtype: np.dtype = _dtypes.float64) -> Tensor:
    """Samples in the shape and on the device of `like`: in float64 tails are long enough, and functions of them, rounded to
    float32, the same on every device.
    """
    return random_floats(name, tuple(like.shape), dtype, like.device, generator)


register(__name__)
