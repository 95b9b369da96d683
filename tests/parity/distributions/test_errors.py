"""What PyTorch refuses is refused, with an error of the same class, and mostly the same text."""
from __future__ import annotations

import re
import warnings

import pytest

import lucid

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

#: What raises, of a library and its distributions.
WRONG = [
    lambda s, d: d.Normal(0.0, -1.0),
    lambda s, d: d.Normal("a", 1),
    lambda s, d: d.Normal(s.tensor([0.0, 1.0]), 1.0).log_prob(s.tensor([1.0, float("nan")])),
    lambda s, d: d.Normal(s.tensor([0.0, 1.0]), 1.0).log_prob(s.tensor([1.0, 2.0, 3.0])),
    lambda s, d: d.Normal(s.tensor([0.0, 1.0]), 1.0).log_prob(1.0),
    lambda s, d: d.Gamma(1.0, 1.0).cdf(s.tensor(-1.0)),
    lambda s, d: d.Bernoulli(),
    lambda s, d: d.Bernoulli(0.5, logits=0.3),
    lambda s, d: d.Bernoulli(1.5),
    lambda s, d: d.Bernoulli(0.5).log_prob(s.tensor(2.0)),
    lambda s, d: d.Bernoulli(0.3).rsample(),
    lambda s, d: d.Poisson(1.0).cdf(s.tensor(1.0)),
    lambda s, d: d.Poisson(1.0).log_prob(s.tensor(1.5)),
    lambda s, d: d.Poisson(1.0).entropy(),
    lambda s, d: d.Normal(0.0, 1.0).enumerate_support(),
    lambda s, d: d.Uniform(1.0, 0.0),
    lambda s, d: d.Uniform(0.0, 1.0).log_prob(s.tensor(2.0)),
    lambda s, d: d.Categorical(s.tensor(1.0)),
    lambda s, d: d.Categorical(logits=s.tensor(1.0)),
    lambda s, d: d.Categorical(s.tensor([-1.0, 2.0])),
    lambda s, d: d.Categorical(s.tensor([0.5, 0.5])).log_prob(s.tensor(2)),
    lambda s, d: d.Geometric(0.0),
    lambda s, d: d.Geometric(s.tensor([0.0, 0.5]), validate_args=True),
    lambda s, d: d.ContinuousBernoulli(1.5, validate_args=True),
    lambda s, d: d.Binomial(-1, 0.5),
    lambda s, d: d.Binomial(s.tensor([1.0, 2.0]), s.tensor([0.5, 0.5])).enumerate_support(),
    lambda s, d: d.Binomial(s.tensor([1.0, 2.0]), s.tensor([0.5, 0.5])).entropy(),
    lambda s, d: d.MultivariateNormal(s.tensor(1.0), s.tensor(1.0)),
    lambda s, d: d.MultivariateNormal(s.tensor([1.0])),
    lambda s, d: d.MultivariateNormal(s.tensor([1.0]), s.eye(1), s.eye(1)),
    lambda s, d: d.MultivariateNormal(s.tensor([1.0]), s.tensor([1.0])),
    lambda s, d: d.MultivariateNormal(s.tensor([1.0]), -s.eye(1)),
    lambda s, d: d.MultivariateNormal(s.zeros(2), s.eye(2)).log_prob(s.zeros(3)),
    lambda s, d: d.LowRankMultivariateNormal(s.zeros(2), s.ones(3, 1), s.ones(2)),
    lambda s, d: d.LowRankMultivariateNormal(s.zeros(2), s.ones(2, 1), s.ones(3)),
    lambda s, d: d.LowRankMultivariateNormal(s.zeros(2), s.ones(2), s.ones(2)),
    lambda s, d: d.LowRankMultivariateNormal(s.zeros(3, 2), s.ones(2, 2, 1), s.ones(2)),
    lambda s, d: d.Dirichlet(s.tensor(1.0)),
    lambda s, d: d.Dirichlet(s.tensor([1.0, -1.0])),
    lambda s, d: d.Multinomial(s.tensor(3), s.tensor([0.5, 0.5])),
    lambda s, d: d.Multinomial(3, s.tensor([0.5, 0.5])).log_prob(s.tensor([2.0, 2.0])),
    lambda s, d: d.Independent(d.Normal(0.0, 1.0), 1),
    lambda s, d: d.Independent(d.Bernoulli(s.ones(2) / 2), 1).enumerate_support(),
    lambda s, d: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
    lambda s, d: d.TransformedDistribution(d.Normal(0.0, 1.0), [d.StickBreakingTransform()]),
    lambda s, d: d.kl_divergence(d.Normal(0.0, 1.0), d.Cauchy(0.0, 1.0)),
    lambda s, d: d.kl_divergence(d.Binomial(2, 0.5), d.Binomial(3, 0.5)),
    lambda s, d: d.kl_divergence(d.MultivariateNormal(s.zeros(2), s.eye(2)), d.MultivariateNormal(s.zeros(3), s.eye(3))),
    lambda s, d: d.Distribution.set_default_validate_args(3),
    lambda s, d: d.Distribution(validate_args=False).mode,
    lambda s, d: d.Distribution(validate_args=False).expand((2,)),
    lambda s, d: d.LKJCholesky(1),
    lambda s, d: d.Wishart(s.tensor(1.0), s.eye(3)),
    lambda s, d: d.Wishart(s.tensor(2.5)),
    lambda s, d: d.Wishart(s.tensor(5.0), s.tensor([1.0])),
    lambda s, d: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(0.0, 1.0)),
    lambda s, d: d.MixtureSameFamily(d.Categorical(s.ones(3)), 3),
    lambda s, d: d.MixtureSameFamily(d.Categorical(s.ones(3)), d.Normal(s.zeros(2), 1.0)),
    lambda s, d: d.MixtureSameFamily(d.Categorical(s.ones(2, 3)), d.Normal(s.zeros(4, 3), 1.0)),
    lambda s, d: d.OneHotCategorical(s.ones(3)).log_prob(s.tensor([1.0, 1.0, 0.0])),
    lambda s, d: d.RelaxedBernoulli(s.tensor(1.0)),
    lambda s, d: d.ReshapeTransform((2,), (3,)),
    lambda s, d: d.IndependentTransform(d.ExpTransform(), 2)(s.ones(2)),
    lambda s, d: d.CorrCholeskyTransform().forward_shape((4,)),
    lambda s, d: d.CorrCholeskyTransform().inverse_shape((4, 3)),
    lambda s, d: d.AbsTransform().log_abs_det_jacobian(s.ones(2), s.ones(2)),
    lambda s, d: d.constraints.dependent.check(s.ones(2)),
    lambda s, d: d.constraints.dependent.event_dim,
    lambda s, d: d.constraints.real_vector.check(s.tensor(1.0)),
    lambda s, d: d.StackTransform([d.ExpTransform()], 0)(s.ones(2)),
    lambda s, d: d.CatTransform([d.ExpTransform()], 0, lengths=[1, 2]),
]


def comparable(text: str) -> str:
    """Without what is the library's own: its name, the values of tensors, sizes."""
    text = re.sub(r"torch\.|lucid\.|Size\(\[|\]\)|[\[\]()]", "", text.partition("invalid values")[0])
    return re.sub(r"tensor|requires_grad=\w+|dtype=\w+", "", re.sub(r"Tensor\(", "(", text)).split("but found")[0].replace(",", "").strip().rstrip(".")


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_errors(number):
    found = []
    for library in (lucid, torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                WRONG[number](library, library.distributions)
            except Exception as error:
                found.append(error)
            else:
                found.append(None)
    ours, theirs = found
    assert theirs is not None and isinstance(ours, type(theirs)), found
    first, second = comparable(str(ours)), comparable(str(theirs))
    if isinstance(theirs, ValueError) and "satisfy" not in second:
        assert first.split()[1:4] == second.split()[1:4] , (first, second)  # the first word may be a name


def test_no_checks_without_validation():
    for library in (lucid, torch):
        d = library.distributions.Normal(library.zeros(2), -library.ones(2), validate_args=False)
        assert d.log_prob(library.tensor([float("nan"), 1.0])).shape == (2,) and d.expand((3, 2)).batch_shape == (3, 2)
        library.distributions.Distribution.set_default_validate_args(False)
        try:
            library.distributions.Gamma(-1.0, 1.0)
        finally:
            library.distributions.Distribution.set_default_validate_args(True)


def test_a_subclass_with_a_constructor_needs_an_expand():
    for library in (lucid, torch):
        class Derived(library.distributions.Normal):
            def __init__(self, loc):
                super().__init__(loc, 1.0)

        class Inherits(library.distributions.Normal):
            pass

        with pytest.raises(NotImplementedError, match="custom .expand"):
            Derived(library.zeros(2)).expand((3, 2))
        assert type(Inherits(library.zeros(2), 1.0).expand((3, 2))) is Inherits


def test_the_most_derived_pair_computes_the_divergence():
    for library in (lucid, torch):
        d = library.distributions

        class Left(d.Normal):
            pass

        class Right(d.Normal):
            pass

        d.register_kl(Left, d.Normal)(lambda p, q: "left")
        d.register_kl(d.Normal, Right)(lambda p, q: "right")
        assert d.kl_divergence(Left(0.0, 1.0), d.Normal(0.0, 1.0)) == "left"
        with pytest.warns(RuntimeWarning, match="Ambiguous kl_divergence"):
            assert d.kl_divergence(Left(0.0, 1.0), Right(0.0, 1.0)) == "left"
        d.register_kl(Left, Right)(lambda p, q: "both")
        assert d.kl_divergence(Left(0.0, 1.0), Right(0.0, 1.0)) == "both"


def test_sample_n_warns():
    for library in (lucid, torch):
        with pytest.warns(FutureWarning):
            assert library.distributions.Normal(0.0, 1.0).sample_n(3).shape == (3,)
