"""Distributions of many families and shapes, built alike of lucid's tensors and of PyTorch's."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_RNG = np.random.default_rng(0)


def _spread(*shape: int, low: float = 0.2, high: float = 3.0) -> np.ndarray:
    return _RNG.uniform(low, high, shape)


def _factor(*batch: int, n: int = 3) -> np.ndarray:
    return np.tril(_RNG.uniform(-0.5, 0.5, (*batch, n, n)), -1) + np.eye(n) * _RNG.uniform(0.6, 1.5, (*batch, n, 1))


def _definite(*batch: int, n: int = 3) -> np.ndarray:
    factor = _factor(*batch, n=n)
    return factor @ factor.swapaxes(-1, -2)


_LOC, _SCALE, _PROBS = _spread(3, low=-2), _spread(3), _spread(3, low=0.05, high=0.95)
_CHOICES = _spread(2, 4)
#: Family -> parameters, arrays or numbers. An array becomes a tensor that requires grad.
CASES: dict[str, list[dict[str, Any]]] = {
    **{name: [dict(loc=_LOC, scale=_SCALE), dict(loc=0.5, scale=2.0), dict(loc=_spread(2, 1, low=-1), scale=_SCALE)]
       for name in ("Normal", "Laplace", "Cauchy", "Gumbel", "LogNormal")},
    **{name: [dict(scale=_SCALE), dict(scale=1.5)] for name in ("HalfNormal", "HalfCauchy")},
    "LogisticNormal": [dict(loc=_LOC, scale=_SCALE), dict(loc=_spread(2, 3, low=-1), scale=_spread(2, 3))],
    "Uniform": [dict(low=_LOC, high=_LOC + _SCALE), dict(low=-1.0, high=2.0)],
    "Exponential": [dict(rate=_SCALE), dict(rate=0.7)],
    "Gamma": [dict(concentration=_SCALE, rate=_spread(3)), dict(concentration=0.3, rate=2.0)],
    "InverseGamma": [dict(concentration=_SCALE, rate=_spread(3)), dict(concentration=2.5, rate=2.0)],
    "Chi2": [dict(df=_spread(3, high=9)), dict(df=3.0)],
    "FisherSnedecor": [dict(df1=_spread(3, high=9), df2=np.array([1.5, 3.0, 8.0])), dict(df1=3.0, df2=5.0)],
    "StudentT": [dict(df=np.array([0.7, 1.5, 6.0]), loc=_LOC, scale=_SCALE), dict(df=4.0), dict(df=_spread(2, 1), loc=_LOC)],
    "Beta": [dict(concentration1=_SCALE, concentration0=_spread(3)), dict(concentration1=2.0, concentration0=3.0)],
    "Kumaraswamy": [dict(concentration1=_SCALE, concentration0=_spread(3)), dict(concentration1=0.5, concentration0=2.0)],
    "Pareto": [dict(scale=_SCALE, alpha=np.array([0.5, 1.5, 4.0])), dict(scale=1.0, alpha=3.0)],
    "Weibull": [dict(scale=_SCALE, concentration=_spread(3)), dict(scale=1.0, concentration=1.5)],
    "GeneralizedPareto": [dict(loc=_LOC, scale=_SCALE, concentration=np.array([-0.3, 0.0, 0.4])),
                          dict(loc=0.0, scale=1.0, concentration=0.7)],
    "VonMises": [dict(loc=_LOC, concentration=_spread(3, high=9)), dict(loc=np.array(0.3), concentration=np.array(4.0))],
    "ContinuousBernoulli": [dict(probs=np.array([0.1, 0.4995, 0.8])), dict(logits=_LOC), dict(probs=0.3)],
    "Bernoulli": [dict(probs=_PROBS), dict(logits=_LOC), dict(probs=0.3), dict(probs=np.array([0.0, 0.5, 1.0]))],
    "Geometric": [dict(probs=_PROBS), dict(logits=_LOC), dict(probs=0.3)],
    "Binomial": [dict(total_count=np.array([3.0, 3.0, 3.0]), probs=_PROBS), dict(total_count=5, logits=_LOC),
                 dict(total_count=np.array([[1.0], [4.0]]), probs=_PROBS)],
    "NegativeBinomial": [dict(total_count=np.array([2.5, 3.0, 7.0]), probs=_PROBS), dict(total_count=5, logits=_LOC)],
    "Poisson": [dict(rate=_spread(3, high=9)), dict(rate=2.5)],
    "Categorical": [dict(probs=_CHOICES), dict(logits=np.log(_CHOICES)), dict(probs=np.array([0.0, 1.0, 3.0]))],
    "OneHotCategorical": [dict(probs=_CHOICES), dict(logits=_CHOICES[0])],
    "OneHotCategoricalStraightThrough": [dict(probs=_CHOICES)],
    "Multinomial": [dict(total_count=5, probs=_CHOICES), dict(total_count=3, logits=_CHOICES[0]),
                    dict(total_count=4, probs=np.array([0.0, 1.0, 3.0]))],
    "RelaxedBernoulli": [dict(temperature=np.array(0.7), probs=_PROBS), dict(temperature=np.array(2.0), logits=_LOC)],
    "RelaxedOneHotCategorical": [dict(temperature=np.array(0.7), probs=_CHOICES), dict(temperature=np.array(2.0), logits=_CHOICES)],
    "Dirichlet": [dict(concentration=_CHOICES), dict(concentration=np.array([0.3, 0.5])), dict(concentration=1 + _CHOICES)],
    "MultivariateNormal": [dict(loc=_LOC, covariance_matrix=_definite()), dict(loc=_spread(2, 3), scale_tril=_factor()),
                           dict(loc=_LOC, precision_matrix=_definite(2)), dict(loc=_spread(4, 1, 3), scale_tril=_factor(2)),
                           dict(loc=_spread(2, 3), covariance_matrix=_definite(2))],
    "LowRankMultivariateNormal": [dict(loc=_LOC, cov_factor=_spread(3, 2), cov_diag=_SCALE),
                                  dict(loc=_spread(2, 3), cov_factor=_spread(3, 1), cov_diag=_spread(2, 3))],
    "Wishart": [dict(df=np.array(5.0), covariance_matrix=_definite()), dict(df=np.array([4.0, 6.5]), scale_tril=_factor(2)),
                dict(df=np.array(7.0), precision_matrix=_definite())],
    "LKJCholesky": [dict(dim=3, concentration=np.array([0.5, 1.0, 4.0])), dict(dim=2), dict(dim=5, concentration=np.array(2.0))],
}
LISTED = [(name, number) for name, cases in CASES.items() for number in range(len(cases))]


def build(library: Any, name: str, number: int, dtype: str = "float64", grad: bool = True) -> tuple[Any, list[Any]]:
    """The distribution of `library.distributions`, and its parameters that require grad."""
    parameters: list[Any] = []

    def tensor(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        result = library.tensor(value.tolist(), dtype=getattr(library, dtype))
        if grad:
            parameters.append(result.requires_grad_())
        return result

    with default_dtype(library, dtype):
        arguments = {key: tensor(value) for key, value in CASES[name][number].items()}
        return getattr(library.distributions, name)(**arguments), parameters


class default_dtype:
    """The default dtype of a library, inside."""

    def __init__(self, library: Any, dtype: str) -> None:
        self.library, self.dtype = library, getattr(library, dtype)

    def __enter__(self) -> None:
        self.before = self.library.get_default_dtype()
        self.library.set_default_dtype(self.dtype)

    def __exit__(self, *error: Any) -> None:
        self.library.set_default_dtype(self.before)


def close(ours: Any, theirs: Any, rtol: float = 1e-9, atol: float = 1e-9) -> None:
    """Compare a tensor of lucid with one of PyTorch: values, shape and dtype."""
    assert tuple(ours.shape) == tuple(theirs.shape), (ours.shape, theirs.shape)
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch."), (ours.dtype, theirs.dtype)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=rtol, atol=atol)


def outcome(function: Callable[[], Any]) -> Any:
    """What a function returns, or the class of what it raises."""
    try:
        return function()
    except Exception as error:
        return type(error)
