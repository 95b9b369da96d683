"""Methods that fill a tensor with random numbers. The same seed gives the same numbers on every device."""
from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dtypes, _random
from ..autograd.errors import type_name
from ..autograd.inplace import write
from ..tensor import Tensor
from ._random_numbers import check_range, float_dtype, random_floats, random_integers
from .random import normal
from .sampling import coins

METHODS = ("uniform_", "normal_", "bernoulli_", "exponential_", "random_")

# The largest integer up to which a floating-point type represents all integers.
_WHOLE = {_dtypes.float16: 1 << 11, _dtypes.bfloat16: 1 << 8, _dtypes.float32: 1 << 24, _dtypes.float64: 1 << 53}


def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *,
             generator: _random.Generator | None = None) -> Tensor:
    """Fill with numbers from the uniform distribution on [from_, to), the real and imaginary parts of complex ones alike."""
    if from_ > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    dtype = float_dtype("check_uniform_bounds", self.dtype)
    start = complex(from_, from_) if dtype.kind == "c" else from_

    def numbers(old: Tensor) -> Tensor:
        unit = random_floats("random_uniform", tuple(self.shape), dtype, self.device, generator)
        return unit if (from_, to) == (0, 1) else unit * (to - from_) + start

    return write(self, numbers)


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: _random.Generator | None = None) -> Tensor:
    """Fill with normal numbers of `mean` and `std`."""
    dtype = float_dtype("normal_kernel_cpu", self.dtype)
    return write(self, lambda old: normal(mean, std, tuple(self.shape), generator=generator, dtype=dtype,
                                          device=self.device))


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: _random.Generator | None = None) -> Tensor:
    """Fill with 1 with probability `p` (a number or a tensor that broadcasts), else 0. Not for complex tensors."""
    if self.is_complex():
        raise NotImplementedError(f'"bernoulli_scalar_cpu_" not implemented for \'{type_name(self.dtype)}\'')
    chance = p.detach().to(self.device).expand(self.shape) if isinstance(p, Tensor) else p
    return write(self, lambda old: coins(self, chance, generator))


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: _random.Generator | None = None) -> Tensor:
    """Fill with numbers from the exponential distribution with rate `lambd`."""
    if not _dtypes.is_floating(self.dtype):
        raise RuntimeError("Exponential distribution is a continuous probability distribution. dtype must be a "
                           f"floating point but you specified {type_name(self.dtype)}")
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")

    def numbers(old: Tensor) -> Tensor:
        unit = random_floats("random_uniform", tuple(self.shape), self.dtype, self.device, generator)
        return (1 - unit).log() / -lambd

    return write(self, numbers)


def random_(self: Tensor, from_: int = 0, to: int | None = None, *,
            generator: _random.Generator | None = None) -> Tensor:
    """Fill with integers from [from_, to); ``random_(to)`` begins at 0. By default all that the dtype holds from 0 on,
    for floating-point types up to where every integer is exact.
    """
    low, high = from_, to
    if high is None and low:
        low, high = 0, low
    dtype = self.dtype
    if high is None:
        high = 2 if dtype.kind == "b" else _WHOLE[dtype] + 1 if dtype in _WHOLE else int(np.iinfo(dtype).max) + 1
    check_range(int(low), int(high), dtype)
    return write(self, lambda old: random_integers(tuple(self.shape), int(low), int(high), dtype, self.device, generator))
