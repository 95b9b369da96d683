"""Optimizers that call a function: it is compiled, or the function around the step runs eagerly."""
from __future__ import annotations

import warnings

import pytest

import lucid
import lucid.nn.functional as F

from .programs import data, labels, net

SEARCHES = pytest.mark.parametrize("search", [None, "strong_wolfe"])


def _fitted(device, search, make_closure=lambda function: function, make_step=lambda function: function):
    """Losses, parameters and state of some steps; the closure, and the function around the step."""
    lucid.manual_seed(0)
    model, x, t = net().to(device), data(0, 8, 6).to(device), labels(0, 3, 8).to(device)
    optimizer = lucid.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, line_search_fn=search)

    @make_closure
    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), t)
        loss.backward()
        return loss

    step = make_step(lambda: optimizer.step(closure))
    losses = [step().item() for _ in range(5)]
    numbers = [losses, [param.tolist() for param in model.parameters()], optimizer.state_dict()["state"][0]["d"].tolist()]
    return numbers, closure, step


@SEARCHES
def test_the_closure_is_replayed(device, search):
    wanted, _, _ = _fitted(device, search)
    found, closure, _ = _fitted(device, search, lambda function: lucid.compile(function, fullgraph=True))
    assert found == wanted
    assert len(closure.plans) == 1
    assert closure._replays > 4


@SEARCHES
def test_a_function_with_such_a_step_runs_eagerly(search):
    wanted, _, _ = _fitted("cpu", search)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found, closure, step = _fitted("cpu", search, lucid.compile, lucid.compile)
    assert found == wanted
    (warning,) = warned
    assert warning.filename == __file__
    assert f"{__file__}:" in str(warning.message)
    assert "LBFGS.step gets a function" in str(warning.message)
    assert step.plans == []
    assert closure._replays > 4  # it is compiled by itself


def test_fullgraph_raises_in_the_line_of_the_step():
    with pytest.raises(lucid.compiler.GraphBreak, match=r"test_closures.py:\d+: LBFGS.step gets a function"):
        _fitted("cpu", None, make_step=lambda function: lucid.compile(function, fullgraph=True))
