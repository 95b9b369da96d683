"""Sampling and densities of distributions, with their checks. Rows without targets, of the whole library on a CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target

_FEATURES = 64


def _normal(library: Library, size: int) -> Any:
    return library.lib.distributions.Normal(library.tensor(normal(size)), library.tensor(np.exp(normal(size, seed=1))))


def _categorical(library: Library, size: int) -> Any:
    return library.lib.distributions.Categorical(logits=library.tensor(normal(size // 10, 10)))


def _gamma(library: Library, size: int) -> Any:
    shapes, rates = (library.tensor(np.exp(normal(size, seed=seed))) for seed in (1, 2))
    return library.lib.distributions.Gamma(shapes, rates)


def _multivariate_normal(library: Library, size: int) -> Any:
    factor = np.tril(normal(_FEATURES, _FEATURES) / 10) + 2 * np.eye(_FEATURES, dtype=np.float32)
    loc = library.tensor(np.zeros(_FEATURES, np.float32))
    return library.lib.distributions.MultivariateNormal(loc, scale_tril=library.tensor(factor))


#: family -> how it is made of a library and a number of elements
FAMILIES: dict[str, Callable[[Library, int], Any]] = {
    "Normal": _normal, "Categorical": _categorical, "Gamma": _gamma, "MultivariateNormal": _multivariate_normal,
}


def cases(side: Side) -> Iterator[Case]:
    """A thousand numbers, which the calls cost, and a hundred thousand, which the kernels cost."""
    for size in (1_000,) if side.quick else (1_000, 100_000):
        for name in FAMILIES:
            yield _case(side, name, size, "sample")
            yield _case(side, name, size, "log_prob")


def _case(side: Side, name: str, size: int, what: str) -> Case:
    def build(library: Library) -> Callable[[], Any]:
        distribution = FAMILIES[name](library, size)
        shape = (size // _FEATURES,) if name == "MultivariateNormal" else ()
        value = distribution.sample(shape)
        return (lambda: distribution.sample(shape)) if what == "sample" else lambda: distribution.log_prob(value)

    return target(side, f"{name}.{what} of {size}", None, build, bytes=8 * size)
