"""Random tensors. The same seed gives the same numbers on every device."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _dtypes, _random, backends
from ..autograd.errors import type_name
from ..autograd.inplace import write
from ..backends import Device
from ..backends.memory_format import preserve_format
from ..tensor import Tensor, wrap
from ._operands import integers, require_tensor
from ._out import accepts_out, fills_out
from .complex_parts import view_as_complex
from .creation import like

METHODS = ("bernoulli", "multinomial", "uniform_", "normal_", "bernoulli_", "exponential_", "random_")

_REAL = tuple(dtype for dtype in _dtypes.ALL if dtype.kind != "c")
# The largest integer up to which a floating-point type represents all integers.
_WHOLE = {_dtypes.float16: 1 << 11, _dtypes.bfloat16: 1 << 8, _dtypes.float32: 1 << 24, _dtypes.float64: 1 << 53}


def _take(generator: _random.Generator | None, count: int, per_block: int, device: Device) -> dict[str, int]:
    """Counters for `count` numbers, of which a block gives `per_block`; the device 'meta' takes none."""
    if device.type == "meta":
        return {"seed": 0, "offset": 0}
    seed, offset = (generator or _random.default_generator).take(-(-count // per_block))
    return {"seed": seed, "offset": offset}


def _floats(name: str, shape: tuple[int, ...], dtype: np.dtype, device: Device, generator: Any) -> Tensor:
    if dtype.kind == "c":  # independent parts; those of normal numbers share their variance
        part = _dtypes.float32 if dtype == _dtypes.complex64 else _dtypes.float64
        parts = _floats(name, (*shape, 2), part, device, generator)
        return view_as_complex(parts * math.sqrt(0.5) if name == "random_normal" else parts)
    counters = _take(generator, math.prod(shape), 2 if dtype == _dtypes.float64 else 4, device)
    return wrap(backends.create(name, device, {"shape": shape, "dtype": dtype, **counters}))


def _integers(shape: tuple[int, ...], low: int, high: int, dtype: np.dtype, device: Device, generator: Any) -> Tensor:
    counters = _take(generator, math.prod(shape), 2, device)
    return wrap(backends.create("random_integers", device,
                                {"shape": shape, "dtype": dtype, "low": low, "high": high, **counters}))


def _shape(size: Any) -> tuple[int, ...]:
    shape = integers(size)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def _made(result: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad:
        result.requires_grad = True
    return result


def _device(device: Any) -> Device:
    return backends.default_device() if device is None else Device(device)


def _refuted(condition: Tensor) -> bool:
    """Whether `condition` is False anywhere; on the device 'meta', where nobody can tell, it is not."""
    return not condition.is_meta and not bool(condition.all())


def _float_dtype(kernel: str, dtype: Any) -> np.dtype:
    """The dtype of random floats, which may be complex. Raises NotImplementedError, as PyTorch does, for others."""
    chosen = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    if not _dtypes.is_differentiable(chosen):
        raise NotImplementedError(f'"{kernel}" not implemented for \'{type_name(chosen)}\'')
    return chosen


@fills_out
def rand(*size: Any, generator: _random.Generator | None = None, dtype: Any = None, device: Any = None,
         requires_grad: bool = False) -> Tensor:
    """Numbers from the uniform distribution on [0, 1): ``rand(2, 3)`` or ``rand((2, 3))``."""
    chosen = _float_dtype("check_uniform_bounds", dtype)
    return _made(_floats("random_uniform", _shape(size), chosen, _device(device), generator), requires_grad)


@fills_out
def randn(*size: Any, generator: _random.Generator | None = None, dtype: Any = None, device: Any = None,
          requires_grad: bool = False) -> Tensor:
    """Numbers from the standard normal distribution: ``randn(2, 3)`` or ``randn((2, 3))``."""
    chosen = _float_dtype("normal_kernel_cpu", dtype)
    return _made(_floats("random_normal", _shape(size), chosen, _device(device), generator), requires_grad)


@fills_out
def randint(*args: Any, low: int | None = None, high: int | None = None, size: Any = None,
            generator: _random.Generator | None = None, dtype: Any = None, device: Any = None,
            requires_grad: bool = False) -> Tensor:
    """Integers from [low, high), int64 by default: ``randint(high, size)`` or ``randint(low, high, size)``.

    Raises RuntimeError for an empty range and for one that the dtype cannot hold.
    """
    given = list(args)
    if given and isinstance(given[-1], (tuple, list)):
        size = given.pop()
    if len(given) == 2:
        low, high = given
    elif len(given) == 1:
        low, high = (low, given[0]) if high is None else (given[0], high)
    if size is None or high is None:
        raise TypeError("randint() needs high and size: randint(high, size) or randint(low, high, size)")
    chosen = _dtypes.int64 if dtype is None else _dtypes.as_dtype(dtype)
    low, high = int(low or 0), int(high)
    _check_range(low, high, chosen)
    return _made(_integers(_shape((size,)), low, high, chosen, _device(device), generator), requires_grad)


def _check_range(low: int, high: int, dtype: np.dtype) -> None:
    """Raise RuntimeError for an empty range of integers, or one that `dtype` cannot hold."""
    if dtype.kind == "c":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.kind in "iub":
        limits = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        for name, bound in (("from", low), ("to - 1", high - 1)):
            if not limits[0] <= bound <= limits[1]:
                raise RuntimeError(f"{name} is out of bounds for {dtype.name}")


@fills_out
def randperm(n: int, *, generator: _random.Generator | None = None, dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """The integers from 0 to ``n - 1`` in random order, int64 by default."""
    chosen, where = _dtypes.int64 if dtype is None else _dtypes.as_dtype(dtype), _device(device)
    if chosen.kind in "bc":
        raise NotImplementedError(f"\"randperm\" not implemented for '{type_name(chosen)}'")
    # Sorting random 64-bit keys: the same permutation on every device.
    keys = _integers(_shape((n,)), 0, 1 << 63, _dtypes.int64, where, generator)
    order = wrap(backends.run("argsort", (keys._array,), {"axis": 0}))
    return _made(order.to(chosen), requires_grad)


def rand_like(input: Tensor, *, generator: _random.Generator | None = None, dtype: Any = None, device: Any = None,
              requires_grad: bool = False, memory_format: Any = preserve_format) -> Tensor:
    """`rand` with the shape, and by default the dtype, device and memory format, of `input`."""
    return like(input, memory_format, lambda shape: rand(
        shape, generator=generator, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad))


def randn_like(input: Tensor, *, generator: _random.Generator | None = None, dtype: Any = None, device: Any = None,
               requires_grad: bool = False, memory_format: Any = preserve_format) -> Tensor:
    """`randn` with the shape, and by default the dtype, device and memory format, of `input`."""
    return like(input, memory_format, lambda shape: randn(
        shape, generator=generator, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad))


def randint_like(input: Tensor, *args: Any, low: int | None = None, high: int | None = None,
                 generator: _random.Generator | None = None, dtype: Any = None, device: Any = None,
                 requires_grad: bool = False, memory_format: Any = preserve_format) -> Tensor:
    """`randint` with the shape, and by default the dtype, device and memory format, of `input`."""
    return like(input, memory_format, lambda shape: randint(
        *args, tuple(shape), low=low, high=high, generator=generator, dtype=dtype or input.dtype, device=device or input.device,
        requires_grad=requires_grad))


@fills_out
def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: _random.Generator | None = None,
           dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Normal numbers with `mean` and `std`: tensors, which are broadcast, or numbers with a `size`."""
    if not isinstance(std, Tensor) and std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    if isinstance(std, Tensor) and _refuted(std >= 0):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    given = [t for t in (mean, std) if isinstance(t, Tensor)]
    if not given:
        if size is None:
            raise TypeError("normal() needs a size if neither mean nor std is a tensor")
        shape, where = _shape((size,)), _device(device)
    else:
        from .broadcasting import broadcast_shapes

        shape, where = broadcast_shapes(*[t.shape for t in given]), given[0].device
        dtype = given[0].dtype if dtype is None else dtype
    numbers = _floats("random_normal", shape, _float_dtype("normal_kernel_cpu", dtype), where, generator)
    plain = [t.detach() if isinstance(t, Tensor) else t for t in (mean, std)]
    return _made(numbers * plain[1] + plain[0], requires_grad)


@accepts_out(also=_REAL)
def bernoulli(input: Tensor, p: float | None = None, *, generator: _random.Generator | None = None) -> Tensor:
    """1 with the probability that each element gives (or `p` for all), else 0, in the dtype of `input`.

    Raises RuntimeError for probabilities outside [0, 1].
    """
    x = require_tensor("bernoulli", input).detach()
    if p is not None:
        return _coins(x, p, generator)
    if not _dtypes.is_floating(x.dtype):
        raise NotImplementedError(f'"bernoulli_tensor_cpu_p_" not implemented for \'{type_name(x.dtype)}\'')
    if _refuted((x >= 0) & (x <= 1)):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    return _coins(x, x, generator)


def _coins(like: Tensor, p: Any, generator: Any) -> Tensor:
    if not isinstance(p, Tensor) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    wide = p.dtype == _dtypes.float64 if isinstance(p, Tensor) else False
    numbers = _floats("random_uniform", tuple(like.shape), _dtypes.float64 if wide else _dtypes.float32, like.device,
                      generator)
    return (numbers < (p.to(numbers.dtype) if isinstance(p, Tensor) else p)).to(like.dtype)


@accepts_out
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *,
                generator: _random.Generator | None = None) -> Tensor:
    """`num_samples` int64 indices, drawn with probabilities proportional to the (rows of the) weights `input`.

    Raises RuntimeError for weights that are negative, not finite or all 0, and for more samples than there are non-zero
    weights without replacement.
    """
    x = require_tensor("multinomial", input).detach()
    if x.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not _dtypes.is_floating(x.dtype):
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {type_name(x.dtype)}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > x.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if _refuted(x.isfinite() & (x >= 0)):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if x.ndim == 1:
        return _draw(x.reshape(1, -1), num_samples, replacement, generator).reshape(num_samples)
    return _draw(x, num_samples, replacement, generator)


def _draw(weights: Tensor, count: int, replacement: bool, generator: Any) -> Tensor:
    weights = weights.to(_dtypes.float64)
    total = weights.sum(1, keepdim=True)
    if _refuted(total > 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement:
        if _refuted((weights > 0).sum(1) >= count):
            raise RuntimeError("invalid multinomial distribution (with replacement=False, not enough non-negative "
                               "category to sample)")
        # The largest of weight / exponential is each index with probability proportional to its weight.
        race = _floats("random_uniform", tuple(weights.shape), _dtypes.float64, weights.device, generator)
        return (weights / -(1 - race).log()).topk(count, 1).indices
    edges = weights.cumsum(1)
    numbers = _floats("random_uniform", (weights.shape[0], count), _dtypes.float64, weights.device, generator)
    # Scaled by the last edge, not by the sum, whose rounding may differ; every number is below it.
    return wrap(backends.run("search_rows", (edges._array, (numbers * edges[:, -1:])._array), {}))


def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *,
             generator: _random.Generator | None = None) -> Tensor:
    """Fill with numbers from the uniform distribution on [from_, to), the real and imaginary parts of complex ones alike."""
    if from_ > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    dtype = _float_dtype("check_uniform_bounds", self.dtype)
    start = complex(from_, from_) if dtype.kind == "c" else from_

    def numbers(old: Tensor) -> Tensor:
        unit = _floats("random_uniform", tuple(self.shape), dtype, self.device, generator)
        return unit if (from_, to) == (0, 1) else unit * (to - from_) + start

    return write(self, numbers)


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: _random.Generator | None = None) -> Tensor:
    """Fill with normal numbers of `mean` and `std`."""
    dtype = _float_dtype("normal_kernel_cpu", self.dtype)
    return write(self, lambda old: normal(mean, std, tuple(self.shape), generator=generator, dtype=dtype,
                                          device=self.device))


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: _random.Generator | None = None) -> Tensor:
    """Fill with 1 with probability `p` (a number or a tensor that broadcasts), else 0. Not for complex tensors."""
    if self.is_complex():
        raise NotImplementedError(f'"bernoulli_scalar_cpu_" not implemented for \'{type_name(self.dtype)}\'')
    chance = p.detach().to(self.device).expand(self.shape) if isinstance(p, Tensor) else p
    return write(self, lambda old: _coins(self, chance, generator))


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: _random.Generator | None = None) -> Tensor:
    """Fill with numbers from the exponential distribution with rate `lambd`."""
    if not _dtypes.is_floating(self.dtype):
        raise RuntimeError("Exponential distribution is a continuous probability distribution. dtype must be a "
                           f"floating point but you specified {type_name(self.dtype)}")
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")

    def numbers(old: Tensor) -> Tensor:
        unit = _floats("random_uniform", tuple(self.shape), self.dtype, self.device, generator)
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
    _check_range(int(low), int(high), dtype)
    return write(self, lambda old: _integers(tuple(self.shape), int(low), int(high), dtype, self.device, generator))

