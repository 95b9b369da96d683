"""Transforms and constraints against PyTorch's."""
from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lucid

from .cases import close, default_dtype, outcome

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

RNG = np.random.default_rng(2)
X = RNG.uniform(-2, 2, (4, 6))
MATRICES = RNG.uniform(-1, 1, (2, 3, 3))


@pytest.fixture(autouse=True)
def of_double_precision():
    with default_dtype(torch, "float64"), default_dtype(lucid, "float64"):
        yield


def t(library, x):
    return library.tensor(np.asarray(x).tolist())


#: Name -> (how it is made of a library, an input).
TRANSFORMS = {
    "exp": (lambda s, d: d.ExpTransform(), X),
    "exp inverse": (lambda s, d: d.ExpTransform().inv, abs(X)),
    "sigmoid": (lambda s, d: d.SigmoidTransform(), X),
    "tanh": (lambda s, d: d.TanhTransform(), X),
    "softplus": (lambda s, d: d.SoftplusTransform(), X),
    "power": (lambda s, d: d.PowerTransform(t(s, [0.5, 1, 2, 3, -1, -0.3])), abs(X)),
    "abs": (lambda s, d: d.AbsTransform(), X),
    "affine": (lambda s, d: d.AffineTransform(1.0, -2.0), X),
    "affine of vectors": (lambda s, d: d.AffineTransform(t(s, np.ones(6)), t(s, np.arange(1, 7)), event_dim=1), X),
    "affine with numbers": (lambda s, d: d.AffineTransform(1, 3, event_dim=2), X),
    "softmax": (lambda s, d: d.SoftmaxTransform(), X),
    "stick breaking": (lambda s, d: d.StickBreakingTransform(), X),
    "lower Cholesky": (lambda s, d: d.LowerCholeskyTransform(), MATRICES),
    "positive definite": (lambda s, d: d.PositiveDefiniteTransform(), MATRICES),
    "correlation": (lambda s, d: d.CorrCholeskyTransform(), X),
    "compose": (lambda s, d: d.ComposeTransform([d.AffineTransform(0.5, 2.0), d.SigmoidTransform(), d.AffineTransform(-1.0, 3.0)]), X),
    "compose of events": (lambda s, d: d.ComposeTransform([d.AffineTransform(0.5, 2.0), d.StickBreakingTransform(), d.AffineTransform(0.0, 2.0)]), X),
    "compose with cache": (lambda s, d: d.ComposeTransform([d.ExpTransform(), d.AffineTransform(0.5, 2.0)], cache_size=1), X),
    "independent": (lambda s, d: d.IndependentTransform(d.ExpTransform(), 1), X),
    "reshape": (lambda s, d: d.ReshapeTransform((6,), (2, 3)), X),
    "cat": (lambda s, d: d.CatTransform([d.ExpTransform(), d.AffineTransform(0.0, 2.0)], dim=1, lengths=[2, 4]), X),
    "cat of rows": (lambda s, d: d.CatTransform([d.ExpTransform(), d.StickBreakingTransform().inv.inv, d.ExpTransform(), d.ExpTransform()], dim=0), X[:, :1]),
    "stack": (lambda s, d: d.StackTransform([d.ExpTransform(), d.TanhTransform(), d.identity_transform, d.SigmoidTransform()], dim=0), X),
    "distribution function": (lambda s, d: d.CumulativeDistributionTransform(d.Normal(0.5, 2.0)), X),
    "identity": (lambda s, d: d.identity_transform, X),
}


def pair(name):
    make, x = TRANSFORMS[name]
    return make(lucid, lucid.distributions), make(torch, torch.distributions), t(lucid, x), t(torch, x)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_values_inverses_and_jacobians(name):
    ours, theirs, x, expected = pair(name)
    x.requires_grad_(), expected.requires_grad_()
    mine, result = outcome(lambda: ours(x)), outcome(lambda: theirs(expected))
    if isinstance(result, type):
        assert mine is result
        return
    close(mine, result)
    one, other = outcome(lambda: ours.log_abs_det_jacobian(x, mine)), outcome(lambda: theirs.log_abs_det_jacobian(expected, result))
    if isinstance(other, type):
        assert one is other
    else:
        close(one, other)
    back, backwards = outcome(lambda: ours.inv(mine.detach())), outcome(lambda: theirs.inv(result.detach()))
    if isinstance(backwards, type):
        assert back is backwards
    else:
        close(back, backwards, 1e-7, 1e-8)
    total = mine.pow(2).sum() + (0 if isinstance(other, type) else one.sum())
    total.backward()
    (result.pow(2).sum() + (0 if isinstance(other, type) else other.sum())).backward()
    close(x.grad, expected.grad, 1e-7, 1e-8)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_properties(name):
    ours, theirs, x, expected = pair(name)
    assert repr(ours) == repr(theirs) and repr(ours.inv) == repr(theirs.inv)
    assert ours.inv.inv is ours
    for what in ("bijective", "event_dim", "_cache_size"):
        assert outcome(lambda: getattr(ours, what)) == outcome(lambda: getattr(theirs, what)), what
    sign, expected_sign = outcome(lambda: ours.sign), outcome(lambda: theirs.sign)
    assert np.all(np.asarray(sign) == np.asarray(expected_sign)) if not isinstance(expected_sign, type) else sign is expected_sign
    for what in ("domain", "codomain"):
        one, other = outcome(lambda: getattr(ours, what)), outcome(lambda: getattr(theirs, what))
        if isinstance(other, type):
            assert one is other
            continue
        assert (type(one).__name__, outcome(lambda: one.event_dim)) == (type(other).__name__, outcome(lambda: other.event_dim))
        assert outcome(lambda: one.is_discrete) == outcome(lambda: other.is_discrete)
    shape = tuple(x.shape)
    for what in ("forward_shape", "inverse_shape"):
        one, other = outcome(lambda: getattr(ours, what)(x.shape)), outcome(lambda: getattr(theirs, what)(expected.shape))
        assert one is other if isinstance(other, type) else tuple(one) == tuple(other), (what, shape)
    for size in (0, 1):
        one, other = outcome(lambda: ours.with_cache(size)), outcome(lambda: theirs.with_cache(size))
        assert one is other if isinstance(other, type) else one._cache_size == other._cache_size
    make = TRANSFORMS[name][0]
    assert (ours == make(lucid, lucid.distributions)) == (theirs == make(torch, torch.distributions))
    assert copy.deepcopy(ours) is not ours and type(pickle.loads(pickle.dumps(ours))) is type(ours)


def test_a_cache_gives_the_very_input_back():
    ours = lucid.distributions.TanhTransform(cache_size=1)
    x = lucid.tensor([30.0, -40.0])
    y = ours(x)
    assert ours(x) is y and ours.inv(y) is x
    assert ours.inv(y.clone()) is not x
    with pytest.raises(ValueError):
        lucid.distributions.ExpTransform(cache_size=2)
    with pytest.raises(TypeError):
        hash(ours)


def _constraints(s, c):
    return {
        "boolean": c.boolean, "real": c.real, "positive": c.positive, "nonnegative": c.nonnegative, "unit": c.unit_interval,
        "simplex": c.simplex, "one_hot": c.one_hot, "vector": c.real_vector, "less": c.less_than(0.5),
        "interval": c.interval(t(s, [-1.0, 0.0, 0.2]), 1.0), "half open": c.half_open_interval(0.0, 1.0),
        "integers": c.integer_interval(0, 2), "natural": c.nonnegative_integer, "positive integer": c.positive_integer,
        "multinomial": c.multinomial(2), "independent": c.independent(c.positive, 1),
        "cat": c.cat([c.positive, c.real], -1, [1, 2]), "stack": c.stack([c.positive, c.real, c.unit_interval], -1),
        "mixture": c.MixtureSameFamilyConstraint(c.positive),
    }


VALUES = [V.tolist() for V in (np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [2.0, -1.0, 0.5], [np.nan, 1.0, 3.0], [0.0, 2.0, 0.0]]),)]


@pytest.mark.parametrize("name", list(_constraints(torch, torch.distributions.constraints)))
def test_constraints(name):
    ours, theirs = (_constraints(s, s.distributions.constraints)[name] for s in (lucid, torch))
    assert (ours.event_dim, ours.is_discrete) == (theirs.event_dim, theirs.is_discrete)
    if name != "interval":
        assert repr(ours) == repr(theirs)
    close(ours.check(t(lucid, VALUES[0])), theirs.check(t(torch, VALUES[0])))


@pytest.mark.parametrize("name", ["square", "symmetric", "lower_triangular", "lower_cholesky", "corr_cholesky", "positive_definite",
                                  "positive_semidefinite"])
def test_constraints_of_matrices(name):
    factor = np.tril(MATRICES[0]) * [[1], [1], [1]] + 2 * np.eye(3)
    unit = factor / np.linalg.norm(factor, axis=1, keepdims=True)
    for x in (MATRICES, factor, factor @ factor.T, unit, np.stack([np.eye(3), -np.eye(3)]), np.zeros((2, 2)), np.ones((2, 3)), np.ones((2, 2))):
        ours, theirs = (outcome(lambda: getattr(s.distributions.constraints, name).check(t(s, x))) for s in (lucid, torch))
        assert ours is theirs if isinstance(theirs, type) else ours.tolist() == theirs.tolist(), x


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_registries(registry):
    for name in [*_constraints(torch, torch.distributions.constraints), "lower_cholesky", "corr_cholesky", "positive_definite", "dependent"]:
        made = []
        for s in (lucid, torch):
            c = s.distributions.constraints
            constraint = _constraints(s, c).get(name) or getattr(c, name)
            made.append(outcome(lambda: getattr(s.distributions, registry)(constraint)))
        ours, theirs = made
        if isinstance(theirs, type):
            assert ours is theirs, name
            continue
        assert repr(ours) == repr(theirs)
        x = RNG.uniform(-1, 1, (3, 3))
        close(ours(t(lucid, x)), theirs(t(torch, x)))
    with pytest.raises(TypeError):
        lucid.distributions.biject_to.register(3, lambda constraint: None)


def test_triangles():
    from torch.distributions import utils as theirs

    from lucid.distributions import utils as ours

    for diag in (-2, -1, 0, 1):
        vector = theirs.tril_matrix_to_vec(t(torch, RNG.uniform(size=(2, 4, 4))), diag)
        close(ours.vec_to_tril_matrix(lucid.tensor(vector.numpy()), diag), theirs.vec_to_tril_matrix(vector, diag))
        matrix = RNG.uniform(size=(2, 4, 4))
        close(ours.tril_matrix_to_vec(t(lucid, matrix), diag), theirs.tril_matrix_to_vec(t(torch, matrix), diag))
    for wrong in (lambda: ours.vec_to_tril_matrix(lucid.zeros(4)), lambda: ours.tril_matrix_to_vec(lucid.zeros(2, 2), 5)):
        with pytest.raises(ValueError):
            wrong()
