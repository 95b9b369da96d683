"""Parametrizations of weights: derivatives, devices and optimisation; PyTorch's behaviour is in tests/parity."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import nn
from lucid.func import functional_call
from lucid.nn.utils import clip_grad_norm_, get_total_norm, parameters_to_vector, parametrizations
from tests.ops.arrays import host
from tests.ops.table.derivatives import check_derivatives

MAPS = ["matrix_exp", "cayley", "householder"]


def layer(device: str, inputs: int = 4, outputs: int = 3) -> nn.Linear:
    return nn.Linear(inputs, outputs).double().to(device)


def check_layer(module: nn.Module, device: str) -> None:
    """First and second derivatives by the originals of `module` agree with finite differences."""
    names = [name for name, _ in module.named_parameters()]
    x = lucid.tensor(np.random.default_rng(0).standard_normal((2, 4)), device=device)

    def run(*values: lucid.Tensor) -> lucid.Tensor:
        return functional_call(module, dict(zip(names, values, strict=True)), (x,)).tanh()

    check_derivatives(run, device, *[host(p) for p in module.parameters()])


@pytest.mark.parametrize("dim", [0, 1, None])
def test_derivatives_of_weight_norm(dim: Any, device: str) -> None:
    check_layer(parametrizations.weight_norm(layer(device), dim=dim), device)


def test_derivatives_of_spectral_norm(device: str) -> None:
    check_layer(parametrizations.spectral_norm(layer(device)).eval(), device)


@pytest.mark.parametrize("trivialization", [True, False])
@pytest.mark.parametrize("orthogonal_map", MAPS)
def test_derivatives_of_orthogonal(orthogonal_map: str, trivialization: bool, device: str) -> None:
    module = parametrizations.orthogonal(layer(device), orthogonal_map=orthogonal_map, use_trivialization=trivialization)
    names = dict(module.named_parameters())
    x = lucid.tensor(np.random.default_rng(0).standard_normal((2, 4)), device=device)
    original = host(names["parametrizations.weight.original"])
    k = original.shape[0]

    def run(change: lucid.Tensor) -> lucid.Tensor:
        # Below the diagonal only: the diagonal of reflectors is a choice of signs.
        value = lucid.tensor(original, device=device) + change.triu(1)
        return functional_call(module, {"parametrizations.weight.original": value}, (x,)).tanh()

    check_derivatives(run, device, np.random.default_rng(1).standard_normal((k, 4)))


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("orthogonal_map", MAPS)
def test_training_keeps_a_weight_orthogonal(orthogonal_map: str, shape: tuple[int, int], device: str) -> None:
    module = parametrizations.orthogonal(nn.Linear(*shape).to(device), orthogonal_map=orthogonal_map)
    optimizer = lucid.optim.SGD(module.parameters(), lr=0.1)
    x = lucid.randn(16, shape[0], device=device)
    first = host(module.weight)
    for _ in range(5):
        optimizer.zero_grad()
        (module(x) - 1).square().mean().backward()
        optimizer.step()
    q = host(module.weight)
    tall = q if q.shape[0] >= q.shape[1] else q.T
    np.testing.assert_allclose(tall.T @ tall, np.eye(tall.shape[1]), atol=1e-5)
    assert not np.allclose(q, first)


def test_moving_a_parametrized_model(device: str) -> None:
    model = nn.Sequential(parametrizations.spectral_norm(nn.Linear(4, 4)), parametrizations.orthogonal(nn.Linear(4, 4)),
                          parametrizations.weight_norm(nn.Linear(4, 4))).eval()
    expected, state = host(model(lucid.ones(2, 4))), [*model.parameters(), *model.buffers()]
    model.to(device)
    assert all(a is b for a, b in zip(state, [*model.parameters(), *model.buffers()], strict=True))
    np.testing.assert_allclose(host(model(lucid.ones(2, 4, device=device))), expected, rtol=1e-5, atol=1e-6)


def test_spectral_norm_bounds_a_deep_model(device: str) -> None:
    weight = parametrizations.spectral_norm(nn.Conv2d(3, 8, 3).to(device), n_power_iterations=5).weight
    assert abs(np.linalg.svd(host(weight).reshape(8, -1))[1][0] - 1) < 1e-2


def test_removing_the_older_spectral_norm_removes_every_hook(device: str) -> None:
    """PyTorch leaves a hook behind that asks for the keys of the normalized weight in later loads."""
    module = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(3, 2).to(device)))
    assert not module._load_state_dict_pre_hooks and not module._state_dict_hooks and not module._forward_pre_hooks
    module.load_state_dict(nn.Linear(3, 2).state_dict())


@pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm"])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_moving_the_older_forms_does_not_warn(kind: str, device: str) -> None:
    module = getattr(nn.utils, kind)(nn.Linear(3, 2)).eval()
    expected = host(module(lucid.ones(1, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.to(device)
    np.testing.assert_allclose(host(module(lucid.ones(1, 3, device=device))), expected, rtol=1e-5)


def test_norm_over_two_devices(device: str) -> None:
    parameters = [nn.Parameter(lucid.zeros(1, device=place)) for place in ("cpu", device)]
    for parameter, gradient in zip(parameters, (3.0, 4.0), strict=True):
        parameter.grad = lucid.full((1,), gradient, device=parameter.device)
    total = clip_grad_norm_(parameters, 1.0)
    assert total.device == "cpu" and abs(total.item() - 5) < 1e-6
    assert [p.grad.device for p in parameters] == ["cpu", device]
    np.testing.assert_allclose([p.grad.item() for p in parameters], [0.6, 0.8], rtol=1e-5)
    assert get_total_norm([p.grad for p in reversed(parameters)]).device == device


def test_vector_of_parameters_on_two_devices(device: str) -> None:
    parameters = [lucid.zeros(1), lucid.zeros(1, device=device)]
    if device == "cpu":
        assert parameters_to_vector(parameters).shape == (2,)
    else:
        with pytest.raises(TypeError, match="different devices"):
            parameters_to_vector(parameters)


def test_a_vector_that_is_too_short_changes_nothing() -> None:
    parameters = [nn.Parameter(lucid.ones(2)), nn.Parameter(lucid.ones(2))]
    with pytest.raises(RuntimeError):
        nn.utils.vector_to_parameters(lucid.zeros(3), parameters)
    assert all((p == 1).all() for p in parameters)
