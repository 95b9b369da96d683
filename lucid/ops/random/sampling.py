"""Samples whose distributions tensors give. Their gradients are zeros."""
from __future__ import annotations

import math
import sys
from typing import Any

from ... import _dtypes, _random, backends
from ...autograd.errors import type_name
from ...tensor import Tensor, wrap
from .._independence import with_zero_gradients
from .._methods import register
from .._operands import refuse_stored, require_tensor
from .._out import accepts_out
from ..elementwise.where import where
from ..manipulation.broadcasting import broadcast_tensors
from ..reduction.axes import require_within
from ._binomial import binomial_numbers
from .random_numbers import random_floats, refuted

METHODS = ("bernoulli", "multinomial")

_SMALLEST, _LARGEST = math.ulp(0.0), sys.float_info.max  # positive numbers of any dtype
_REAL = tuple(dtype for dtype in _dtypes.ALL if dtype.kind != "c")


@accepts_out(also=_REAL, refusal=NotImplementedError, warns=False)
def bernoulli(input: Tensor, p: float | None = None, *, generator: _random.Generator | None = None) -> Tensor:
    """1 with the probability that each element gives (or `p` for all), else 0, in the dtype of `input`.

    Raises RuntimeError for probabilities outside [0, 1].

    >>> lucid.bernoulli(lucid.tensor([0.0, 1.0, 1.0]))
    Tensor([0.0, 1.0, 1.0], requires_grad=False)
    """
    x = require_tensor("bernoulli", input).detach()
    if p is not None:
        return with_zero_gradients(coins(x, p, generator), input)
    if not _dtypes.is_floating(x.dtype):
        raise NotImplementedError(f'"bernoulli_tensor_cpu_p_" not implemented for \'{type_name(x.dtype)}\'')
    require_within(x, 0, 1, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    return with_zero_gradients(coins(x, x, generator), input)


def coins(like: Tensor, p: Any, generator: Any) -> Tensor:
    """1 with probability `p`, a number or a tensor, else 0, in the shape and dtype of `like`."""
    return flips(like, p, generator).to(like._array.dtype)


def flips(like: Tensor, p: Any, generator: Any) -> Tensor:
    """`coins` as bools."""
    if not isinstance(p, Tensor) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    dtype = _dtypes.float64 if isinstance(p, Tensor) and p._array.dtype == _dtypes.float64 else _dtypes.float32
    numbers = random_floats("random_uniform", like._array.shape, dtype, like.device, generator)
    return wrap(backends.run("lt", (numbers._array, p.to(dtype)._array if isinstance(p, Tensor) else float(p))))


@accepts_out(warns=False)
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *,
                generator: _random.Generator | None = None) -> Tensor:
    """`num_samples` int64 indices, drawn with probabilities proportional to the (rows of the) weights `input`.

    Without replacement indices of weight 0 come last, when there are no others left.
    Raises RuntimeError for weights that are negative, not finite or all 0, and for more samples than weights without replacement.

    >>> lucid.multinomial(lucid.tensor([0.0, 1.0, 3.0]), 5, replacement=True).unique()
    Tensor([1, 2], requires_grad=False)
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
    require_within(x, 0, _LARGEST, "probability tensor contains either `inf`, `nan` or element < 0")
    rows = x if x.ndim == 2 else x.reshape(1, -1)
    drawn = _draw(rows.to(_dtypes.float64), num_samples, replacement, generator)
    return drawn if x.ndim == 2 else drawn.reshape(num_samples)


def _draw(weights: Tensor, count: int, replacement: bool, generator: Any) -> Tensor:
    """Of arrays, not tensors, where that is as short: few weights take 0.6 of the time."""
    if replacement:
        edges = backends.run("cumsum", (weights._array,), {"axis": 1, "dtype": None})
        totals = backends.run("getitem", (edges,), {"index": (slice(None), slice(-1, None))})
        _require_sums(wrap(totals))
        numbers = random_floats("random_uniform", (weights._array.shape[0], count), _dtypes.float64, weights.device, generator)
        # Scaled by the last edge, not by the sum, whose rounding may differ; every number is below it.
        positions = backends.run("mul", (numbers._array, totals))
        return wrap(backends.run("searchsorted", (edges, positions), {"right": True}))
    _require_sums(weights.sum(1))
    # The largest of weight / exponential is each index with probability proportional to its weight.
    chances = random_floats("random_exponential", weights._array.shape, _dtypes.float64, weights.device, generator)
    race = weights / (chances * 2.0**54)  # of which none is below 1: no quotient overflows
    return race.argmax(1, keepdim=True) if count == 1 else race.topk(count, 1).indices


def _require_sums(totals: Tensor) -> None:
    require_within(totals, _SMALLEST, math.inf, "invalid multinomial distribution (sum of probabilities <= 0)")


def poisson(input: Tensor, generator: _random.Generator | None = None) -> Tensor:
    """Samples from the Poisson distributions whose rates the elements of `input` are, in its dtype.

    By inversion of the distribution function, the regularised incomplete gamma function of the number plus one and the rate.
    The gradient is zero. Raises RuntimeError for negative rates and NaN, NotImplementedError for integers.

    >>> lucid.poisson(lucid.full((1000,), 4.0)).mean().round()
    Tensor(4.0, requires_grad=False)
    """
    refuse_stored("poisson", require_tensor("poisson", input).dtype)
    if not _dtypes.is_floating(input.dtype):
        raise NotImplementedError(f"\"poisson_cpu\" not implemented for '{type_name(input.dtype)}'")
    rate = input.detach().to(_dtypes.float64)
    if refuted(rate >= 0) or refuted(rate.isfinite()):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    chance = random_floats("random_uniform", tuple(rate.shape), _dtypes.float64, rate.device, generator)
    numbers = wrap(backends.run("poisson_quantile", (rate._array, chance._array), {})).to(input.dtype)
    return with_zero_gradients(numbers, input)


def binomial(count: Tensor, prob: Tensor, generator: _random.Generator | None = None) -> Tensor:
    """How many of `count` trials succeed, each with probability `prob`; both are broadcast. In the dtype of `count`.

    Probabilities are clipped to [0, 1], negative counts are 0, and NaN gives NaN. The gradient is zero. Raises ValueError for
    integers, RuntimeError for two dtypes, NotImplementedError for half precision.

    >>> lucid.binomial(lucid.tensor([10.0, 10.0]), lucid.tensor([0.0, 1.0]))
    Tensor([ 0.0, 10.0], requires_grad=False)
    """
    for name, argument in (("count", count), ("prob", prob)):
        if not _dtypes.is_floating(require_tensor("binomial", argument).dtype):
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {type_name(argument.dtype)}")
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {type_name(prob.dtype)} but expected {type_name(count.dtype)}")
    if count.itemsize < 4:
        raise NotImplementedError(f"\"binomial_cpu\" not implemented for '{type_name(count.dtype)}'")
    trials, chance = (t.detach().to(_dtypes.float64) for t in broadcast_tensors(count, prob))
    missing = trials.isnan() | chance.isnan()
    trials, chance = (t.masked_fill(missing, 0) for t in (trials.floor().clamp(min=0), chance.clamp(0, 1)))
    rare = chance.minimum(1 - chance)
    found = binomial_numbers(trials.reshape(-1), rare.reshape(-1), generator).reshape(trials.shape)
    result = where(chance > 0.5, trials - found, found).masked_fill(missing, math.nan).to(count.dtype)
    return with_zero_gradients(result, count, prob)


register(__name__)
