"""L-BFGS against PyTorch's."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
from lucid import optim


def rosenbrock(x: Any) -> Any:
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def minimise(module: Any, function: Any, start: Any, steps: int, device: str = "cpu", **options: Any) -> tuple[Any, Any, list[float]]:
    params = [module.tensor(np.array(s)).to(device).requires_grad_() for s in start]
    optimizer = module.optim.LBFGS(params, **options)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = function(*params)
        loss.backward()
        return loss

    return params, optimizer, [float(optimizer.step(closure)) for _ in range(steps)]


OPTIONS: list[dict[str, Any]] = [
    {"line_search_fn": "strong_wolfe"}, {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 5},
    {"line_search_fn": "strong_wolfe", "max_eval": 4, "lr": 0.5}, {"lr": 0.001}, {"lr": 0.002, "history_size": 2},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_parity(device: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    start = [np.array([-1.2, 1.0, 0.5])]
    params, optimizer, losses = minimise(lucid, rosenbrock, start, 1, device, **options)
    expected, reference, expected_losses = minimise(torch, rosenbrock, start, 1, **options)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(params[0].detach().cpu().numpy(), expected[0].detach().numpy(), rtol=1e-6)
    state, expected_state = optimizer.state_dict(), reference.state_dict()
    assert state["param_groups"] == expected_state["param_groups"]
    mine, theirs = state["state"][0], expected_state["state"][0]
    assert set(mine) == set(theirs)
    assert (mine["n_iter"], mine["func_evals"]) == (theirs["n_iter"], theirs["func_evals"])
    for name in ("old_dirs", "old_stps", "ro"):
        assert len(mine[name]) == len(theirs[name])
        for a, b in zip(mine[name], theirs[name], strict=True):
            np.testing.assert_allclose(a.cpu().numpy(), b.numpy(), rtol=1e-4, atol=1e-9)
    assert repr(optimizer) == repr(reference)


def test_finds_the_minimum(device: str) -> None:
    params, _, _ = minimise(lucid, rosenbrock, [np.array([-1.2, 1.0])], 3, device, line_search_fn="strong_wolfe", max_iter=50)
    np.testing.assert_allclose(params[0].detach().cpu().numpy(), [1, 1], atol=1e-4)


def test_several_parameters_and_complex_ones() -> None:
    torch = pytest.importorskip("torch")

    def function(x: Any, z: Any, unused: Any) -> Any:
        return ((x - 3) ** 4).sum() + (abs(z * z - (1 + 2j)) ** 2).sum()

    start = [np.array([[1.0, 2.0], [0.0, 5.0]]), np.array([1 + 1j, 0.5j]), np.array(1.0)]
    ours, _, losses = minimise(lucid, function, start, 3, line_search_fn="strong_wolfe")
    theirs, _, expected = minimise(torch, function, start, 3, line_search_fn="strong_wolfe")
    np.testing.assert_allclose(losses, expected, rtol=1e-6, atol=1e-9)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_stops_at_a_minimum() -> None:
    params, optimizer, losses = minimise(lucid, lambda x: (x * x).sum(), [np.zeros(3)], 2, line_search_fn="strong_wolfe")
    assert losses == [0.0, 0.0]
    assert optimizer.state[params[0]]["func_evals"] == 2
    assert optimizer.state[params[0]]["n_iter"] == 0


def test_refused() -> None:
    x, y = lucid.ones(2).requires_grad_(), lucid.ones(2).requires_grad_()
    with pytest.raises(ValueError, match="parameter groups"):
        optim.LBFGS([{"params": [x]}, {"params": [y]}])
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optim.LBFGS([x], line_search_fn="armijo").step(lambda: (x * x).sum())
