"""What replays look at on the host: numbers for kernels, whether a matrix could be solved, probabilities."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from lucid import nn

from .programs import check, data


def _check(function, *shape):
    def program(compiled):
        run = compiled(function)
        return lambda number: run(data(number, *shape))

    check(program, True)


def test_batch_norm_without_momentum(device):
    def program(compiled):
        model = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4, momentum=None), nn.Tanh())
        optimizer = lucid.optim.SGD(model.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        step = compiled(step)
        return lambda number: (step(data(number, 5, 6).to(device)), *[value.clone() for value in model.state_dict().values()])

    with lucid.device(device):
        compiled = check(program, True)
    if device != "cpu":
        assert "computes on the host" in compiled.summary()


def test_batch_norm_without_momentum_of_a_module_alone():
    def program(compiled):
        model = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4, momentum=None), nn.Tanh())
        run = compiled(model)

        def step(number):
            model.zero_grad()
            run(data(number, 5, 6)).square().mean().backward()
            return [*model.state_dict().values(), *[p.grad for p in model.parameters()]]

        return step

    check(program, True)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("shape", [(5,), (3, 5)])
def test_multinomial(shape, replacement):
    _check(lambda x: lucid.multinomial(x.abs() + 0.1, 4, replacement=replacement), *shape)


def test_categorical():
    _check(lambda x: lucid.distributions.Categorical(logits=x, validate_args=False).sample(), 3, 5)


def _solved(x):
    a = x @ x.T + lucid.eye(4)
    return lucid.linalg.solve(x, x[:, 0]), lucid.linalg.inv(x), lucid.linalg.cholesky(a), lucid.linalg.lu_factor(x).LU


def test_linear_systems():
    _check(_solved, 4, 4)


def test_a_matrix_that_cannot_be_solved_in_a_replay():
    compiled = lucid.compile(lambda x: lucid.linalg.inv(x), fullgraph=True)
    for number in range(4):
        compiled(data(number, 3, 3))
    with pytest.raises(lucid.linalg.LinAlgError, match="singular"):
        compiled(lucid.zeros(3, 3))
    x = data(9, 3, 3)
    np.testing.assert_array_equal(compiled(x).numpy(), lucid.linalg.inv(x).numpy())
