"""Checks of elements that raise and change nothing else: a replay looks too. Masks that one number is written by."""
from __future__ import annotations

import warnings

import pytest

import lucid
import lucid.nn.functional as F
from lucid import distributions, nn

from .programs import check, data, labels


def variational(compiled):
    """An autoencoder, whose distributions check their parameters."""
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    optimizer = lucid.optim.Adam([*encoder.parameters(), *decoder.parameters()])

    @compiled
    def step(x):
        optimizer.zero_grad()
        mean, log = encoder(x).chunk(2, -1)
        found = distributions.Normal(mean, log.exp())
        prior = distributions.Normal(0.0, 1.0)
        loss = F.mse_loss(decoder(found.rsample()), x) + distributions.kl_divergence(found, prior).mean()
        loss.backward()
        optimizer.step()
        return loss

    return lambda n: (step(data(n, 4, 6)), list(encoder.parameters()))


def policy_gradient(compiled):
    """Actions and their probabilities."""
    policy = nn.Linear(6, 3)
    optimizer = lucid.optim.Adam(policy.parameters())

    @compiled
    def step(x, reward):
        optimizer.zero_grad()
        chosen = distributions.Categorical(logits=policy(x))
        action = chosen.sample()
        loss = -(chosen.log_prob(action) * reward).mean() - 0.1 * chosen.entropy().mean()
        loss.backward()
        optimizer.step()
        return loss, action

    return lambda n: step(data(n, 4, 6), data(n, 4, seed=1))


def aligned(compiled):
    """Connectionist temporal classification, with lengths as tensors and as numbers."""
    layer = nn.Linear(6, 5)
    optimizer = lucid.optim.SGD(layer.parameters(), 0.1)
    lengths = lucid.tensor([7, 6]), lucid.tensor([3, 2])

    @compiled
    def step(x, targets):
        optimizer.zero_grad()
        scores = layer(x).log_softmax(-1)
        loss = F.ctc_loss(scores, targets, *lengths) + F.ctc_loss(scores, targets.reshape(-1)[:5], (7, 6), (3, 2))
        loss.backward()
        optimizer.step()
        return loss

    return lambda n: (step(data(n, 7, 2, 6), labels(n, 4, (2, 3)) + 1), layer.weight)


def written_by_masks(compiled):
    """One number in many places."""
    @compiled
    def step(x):
        y = x.clone()
        y[x < 0] = -1.0
        y[:, 1][x[:, 1] > 0] = x.mean()
        return y

    return lambda n: step(data(n, 3, 8))


def least_squares(compiled):
    """Shapes do not depend on ranks here."""
    solve = compiled(lambda a, b: tuple(lucid.linalg.lstsq(a, b)))
    return lambda n: solve(data(n, 6, 3), data(n, 6, 2, seed=1))


@pytest.mark.parametrize("program", [variational, policy_gradient, aligned, written_by_masks, least_squares])
def test_replayed(program):
    check(program, True)


def _compiled(function, *args):
    """A function that has a plan for such arguments."""
    call = lucid.compile(function, fullgraph=True)
    for _ in range(3):
        call(*args)
    assert call._replays == 1
    return call


def test_replays_raise_too():
    call = _compiled(lambda t: F.one_hot(t, 3) + 1, lucid.tensor([0, 2]))
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        call(lucid.tensor([0, 3]))
    with pytest.raises(RuntimeError, match="non-negative"):
        call(lucid.tensor([0, -1]))
    assert call(lucid.tensor([0, 1])).tolist() == [[2, 1, 1], [1, 2, 1]]

    call = _compiled(lambda scale: distributions.Normal(0.0, scale).log_prob(lucid.zeros(2)), lucid.ones(2))
    with pytest.raises(ValueError, match="parameter scale of distribution Normal"):
        call(lucid.tensor([1.0, -1.0]))

    scores, targets = lucid.zeros(3, 1, 2).log_softmax(2), lucid.tensor([[1]])
    call = _compiled(lambda inputs, lengths: F.ctc_loss(scores, targets, inputs, lengths), lucid.tensor([3]), lucid.tensor([1]))
    with pytest.raises(RuntimeError, match="between 0 and 3"):
        call(lucid.tensor([4]), lucid.tensor([1]))
    with pytest.raises(RuntimeError, match="at least 2"):
        call(lucid.tensor([3]), lucid.tensor([2]))

    call = _compiled(lambda a: lucid.linalg.lstsq(a, a, driver="gels").solution, lucid.eye(2))
    with pytest.raises(RuntimeError, match="full rank"):
        call(lucid.ones(2, 2))


def _reason(function, *calls):
    """Why a function runs eagerly, and the line that its warning names."""
    call = lucid.compile(function)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for args in calls:
            call(*args)
    assert [warning.filename for warning in found] == [__file__]
    return call.summary()


def test_reasons_name_lines_and_what_to_do():
    model = nn.Linear(2, 2)
    optimizer = lucid.optim.LBFGS(model.parameters(), max_iter=1)

    def closure():
        optimizer.zero_grad()
        loss = model(lucid.ones(1, 2)).square().sum()
        loss.backward()
        return loss

    found = _reason(lambda: optimizer.step(closure), (), ())
    assert "LBFGS.step gets a function" in found
    assert "compile that function instead" in found
    assert f"{__file__}:" in _reason(F.one_hot, (lucid.tensor([0]),), (lucid.tensor([1]),))
    embedding = nn.Embedding(3, 2, sparse=True)

    def step(index):
        embedding.weight.grad = None
        embedding(index).sum().backward()

    assert "a gradient is sparse" in _reason(step, (lucid.tensor([1]),), (lucid.tensor([1]),))


def test_differences_name_the_line():
    import random

    random.seed(0)
    found = _reason(lambda x: x * random.random(), (lucid.ones(2),), (lucid.ones(2),))
    assert f"{__file__}:" in found
    assert "'mul' has other operands, (arg 0, 0.8" in found


def test_the_sign_of_zero_is_another_number():
    scale = 0.0

    @lucid.compile
    def inverse(x):
        return 1 / (x * scale)

    for scale in (0.0, 0.0, 0.0, -0.0, -0.0, -0.0, 0.0):
        assert inverse(lucid.ones(1)).item() == (lucid.ones(1) / scale).item()
    assert inverse._replays == 3
