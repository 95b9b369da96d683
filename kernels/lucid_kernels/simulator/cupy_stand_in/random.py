"""``cupy.random``: NumPy's generators, whose numbers are copied to the device.

The distributions are CuPy's, the bits are not: the same seed gives other numbers than on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .array import check_dtype, ndarray, run, run_in_place

#: The names that CuPy has as functions and as methods of `RandomState`.
_SHARED = frozenset(
    (
        "beta", "binomial", "chisquare", "choice", "dirichlet", "exponential", "f", "gamma", "geometric", "gumbel",
        "hypergeometric", "laplace", "logistic", "lognormal", "logseries", "multivariate_normal", "negative_binomial",
        "noncentral_chisquare", "noncentral_f", "normal", "pareto", "permutation", "poisson", "power", "rand", "randint", "randn",
        "random_sample", "rayleigh", "standard_cauchy", "standard_exponential", "standard_gamma", "standard_normal",
        "standard_t", "triangular", "uniform", "vonmises", "wald", "weibull", "zipf",
    )
)  # fmt: skip
_OF_GENERATOR = frozenset(
    (
        "beta", "binomial", "chisquare", "dirichlet", "exponential", "f", "gamma", "geometric", "hypergeometric", "integers",
        "logseries", "normal", "poisson", "power", "random", "standard_exponential", "standard_gamma", "standard_normal",
        "uniform",
    )
)  # fmt: skip
_ALIASES = dict.fromkeys(("random", "ranf", "sample"), "random_sample")


class _Source:
    """The methods of a generator of NumPy's, as functions of the device."""

    _names: frozenset[str]
    _numpy: Any

    def __getattr__(self, name: str) -> Any:
        if name not in self._names:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        draw = getattr(self._numpy, name)

        def call(*args: Any, dtype: Any = None, **kwargs: Any) -> ndarray:
            if args and isinstance(args[-1], (type, np.dtype)):
                *args, dtype = args  # type: ignore[assignment]
            result = run(lambda *a, **k: np.asarray(draw(*a, **k)), f"random.{name}", tuple(args), kwargs)
            return result if dtype is None else result.astype(check_dtype(dtype), copy=False)

        call.__name__ = name
        return call


class RandomState(_Source):
    """A source of random numbers. `method` and the bits are not CuPy's."""

    _names = _SHARED

    def __init__(self, seed: Any = None, method: Any = None) -> None:
        self._numpy = np.random.RandomState(seed)

    def seed(self, seed: Any = None) -> None:
        """Start again from `seed`."""
        self._numpy.seed(seed)

    def shuffle(self, a: ndarray) -> None:
        """Shuffle along the first axis, in place."""
        run_in_place(self._numpy.shuffle, "random.shuffle", (a,))


class Generator(_Source):
    """A source of random numbers, as `default_rng` makes it."""

    _names = _OF_GENERATOR

    def __init__(self, bit_generator: Any) -> None:
        self._numpy = np.random.Generator(bit_generator)


def default_rng(seed: Any = None) -> Generator:
    """A new `Generator`."""
    return seed if isinstance(seed, Generator) else Generator(np.random.PCG64(seed))


_states = [RandomState()]


def get_random_state() -> RandomState:
    """The source of this module's functions."""
    return _states[0]


def set_random_state(rs: RandomState) -> None:
    """Make `rs` the source of this module's functions. Raises TypeError."""
    if not isinstance(rs, RandomState):
        raise TypeError(f"Random state must be an instance of RandomState. Actual: {type(rs)}")
    _states[0] = rs


def seed(seed: Any = None) -> None:
    """Start this module's numbers again from `seed`."""
    _states[0].seed(seed)


def shuffle(a: ndarray) -> None:
    """Shuffle along the first axis, in place."""
    _states[0].shuffle(a)


def bytes(length: int) -> Any:
    """Random bytes, in host memory as in CuPy."""
    return _states[0]._numpy.bytes(length)


def __getattr__(name: str) -> Callable[..., ndarray]:
    name = _ALIASES.get(name, name)
    if name not in _SHARED:
        raise AttributeError(f"module 'cupy.random' has no attribute {name!r}, or the simulator's stand-in lacks it")
    return lambda *args, **kwargs: getattr(_states[0], name)(*args, **kwargs)
