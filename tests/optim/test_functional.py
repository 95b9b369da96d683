"""The steps as functions: PyTorch's signatures, values and state, and what the classes compute."""
from __future__ import annotations

import importlib
import inspect
from itertools import chain
from typing import Any

import numpy as np
import pytest

import lucid

STEPS: dict[str, tuple[str, dict[str, Any], tuple[dict[str, Any], ...]]] = {
    "adadelta": ("square_avg acc_delta", {"lr": 1.0, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.1, "maximize": False},
                 ({}, {"maximize": True})),
    "adagrad": ("sum", {"lr": 0.1, "weight_decay": 0.1, "lr_decay": 0.1, "eps": 1e-8, "maximize": False}, ({},)),
    "adam": ("exp_avg exp_avg_sq max_exp_avg_sq",
             {"amsgrad": False, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8, "maximize": False},
             ({}, {"amsgrad": True}, {"decoupled_weight_decay": True, "maximize": True})),
    "adamw": ("exp_avg exp_avg_sq max_exp_avg_sq",
              {"amsgrad": False, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8, "maximize": False},
              ({"amsgrad": True},)),
    "adamax": ("exp_avg exp_inf", {"eps": 1e-8, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1}, ({},)),
    "asgd": ("ax mu eta", {"lambd": 0.1, "lr": 0.1, "t0": 1.0, "alpha": 0.75, "weight_decay": 0.1}, ({}, {"maximize": True})),
    "nadam": ("exp_avg exp_avg_sq mu_product",
              {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "momentum_decay": 4e-3, "eps": 1e-8},
              ({}, {"decoupled_weight_decay": True})),
    "radam": ("exp_avg exp_avg_sq", {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8},
              ({}, {"maximize": True})),
    "rmsprop": ("square_avg grad_avg momentum_buffer",
                {"lr": 0.1, "alpha": 0.9, "eps": 1e-8, "weight_decay": 0.1, "momentum": 0.9, "centered": True},
                ({}, {"momentum": 0.0, "centered": False})),
    "rprop": ("prev step_size", {"step_size_min": 1e-6, "step_size_max": 50.0, "etaminus": 0.5, "etaplus": 1.2}, ({},)),
    "sgd": ("momentum_buffer", {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.0, "nesterov": True,
                                "maximize": False}, ({}, {"momentum": 0.0, "nesterov": False}, {"dampening": 0.5, "nesterov": False})),
}
ONES = ("mu", "eta", "mu_product", "step_size")
NUMBERS = ("mu", "eta", "mu_product", "step")
CASES = [(name, options) for name, (_, _, variants) in STEPS.items() for options in variants]


def function(library: Any, name: str) -> Any:
    return getattr(importlib.import_module(f"{library.__name__}.optim.{name}"), name)


def run(library: Any, name: str, changed: dict[str, Any], steps: int = 3, **kinds: Any) -> list[list[Any]]:
    """Parameters and state after some steps, the state as it is given: lists of tensors."""
    random = np.random.default_rng(0)
    names, options, _ = STEPS[name]
    options = {**options, **changed}

    def new(value: Any, like: Any = None) -> Any:
        return library.full(() if like is None else like.shape, value, **(kinds if like is not None else {}))

    params = [library.tensor(random.standard_normal(shape).tolist(), **kinds) for shape in ((3, 2), (4,))]
    state: list[list[Any]] = []
    for entry in names.split():
        unused = {"max_exp_avg_sq": not options.get("amsgrad"), "grad_avg": not options.get("centered"),
                  "momentum_buffer": options.get("momentum") == 0 and name != "sgd"}
        if name == "sgd":
            state.append([None, None])
        elif unused.get(entry):
            state.append([])
        else:
            state.append([new(0.1 if entry in ("eta", "step_size") else float(entry in ONES), None if entry in NUMBERS else param)
                          for param in params])
    if name != "sgd":
        state.append([new(0.0) for _ in params])
    for _ in range(steps):
        grads = [library.tensor(random.standard_normal(tuple(param.shape)).tolist(), **kinds) for param in params]
        function(library, name)(params, grads, *state, **options)
    return [params, *state]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_values_and_state_are_pytorchs(name: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    ours = run(lucid, name, options, dtype=lucid.float64)
    theirs = run(torch, name, options, dtype=torch.float64)
    assert [len(tensors) for tensors in ours] == [len(tensors) for tensors in theirs]
    for one, other in zip(chain(*ours), chain(*theirs), strict=True):
        if other is None:
            assert one is None
        else:
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", STEPS)
def test_signatures_are_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (inspect.signature(function(library, name)).parameters for library in (lucid, torch))
    assert [(p.name, p.kind, p.default) for p in ours.values()] == [(p.name, p.kind, p.default) for p in theirs.values()]


@pytest.mark.parametrize("name", STEPS)
def test_both_devices_agree(name: str, device: str) -> None:
    expected = run(lucid, name, STEPS[name][2][-1], 1, dtype=lucid.float32)
    found = run(lucid, name, STEPS[name][2][-1], 1, dtype=lucid.float32, device=device)
    for one, other in zip(chain(*found), chain(*expected), strict=True):
        if other is not None:
            np.testing.assert_allclose(one.cpu().numpy(), other.numpy(), rtol=1e-5, atol=1e-6)


def test_a_step_is_that_of_the_class() -> None:
    w = lucid.nn.Parameter(lucid.tensor([1.0, -2.0]))
    optimizer = lucid.optim.Adam([w], lr=0.1)
    v, mean, square, step = lucid.tensor([1.0, -2.0]), lucid.zeros(2), lucid.zeros(2), lucid.tensor(0.0)
    for _ in range(3):
        w.grad = w.detach() * 2
        optimizer.step()
        function(lucid, "adam")([v], [v * 2], [mean], [square], [], [step], amsgrad=False, beta1=0.9, beta2=0.999, lr=0.1,
                                weight_decay=0.0, eps=1e-8, maximize=False)
    assert v.tolist() == w.tolist() and mean.tolist() == optimizer.state[w]["exp_avg"].tolist() and step.item() == 3


def test_gradients_flow_through_differentiable_steps() -> None:
    rate = lucid.tensor(2.0, requires_grad=True)
    start = lucid.tensor([1.0, 2.0], requires_grad=True)
    w = start * 1
    function(lucid, "rprop")([w], [rate * start], [lucid.zeros(2)], [lucid.full((2,), 0.5)], [lucid.tensor(0.0)],
                             differentiable=True, step_size_min=0.1, step_size_max=1.0, etaminus=0.5, etaplus=1.2)
    w.sum().backward()
    assert w.tolist() == [0.5, 1.5] and start.grad.tolist() == [1, 1]
    weight = start.detach().requires_grad_() * 1
    function(lucid, "adadelta")([weight], [rate * 1 * lucid.ones(2)], [lucid.zeros(2)], [lucid.zeros(2)], [lucid.tensor(0.0)],
                                differentiable=True, lr=1.0, rho=0.5, eps=1.0, weight_decay=0.0, maximize=False)
    weight.sum().backward()
    assert rate.grad is not None and rate.grad.item() != 0


def test_sparse_gradients_scaled_gradients_and_parameters_given_twice() -> None:
    options = {"weight_decay": 0.0, "momentum": 0.0, "lr": 1.0, "dampening": 0.0, "nesterov": False, "maximize": False}
    sgd, w = function(lucid, "sgd"), lucid.ones(3)
    sgd([w, w], [lucid.ones(3), lucid.ones(3)], [None, None], **options)
    assert w.tolist() == [-1, -1, -1]
    sgd([w], [lucid.tensor([0.0, 2.0, 0.0]).to_sparse()], [None], True, **options)
    assert w.tolist() == [-1, -3, -1]
    sgd([w], [lucid.full((3,), 4.0)], [None], fused=True, grad_scale=lucid.tensor(4.0), found_inf=lucid.tensor(0.0), **options)
    assert w.tolist() == [-2, -4, -2]
    sgd([w], [lucid.ones(3)], [None], fused=True, grad_scale=lucid.tensor(4.0), found_inf=lucid.tensor(1.0), **options)
    sgd([], [], [], **options)
    assert w.tolist() == [-2, -4, -2]


def test_what_is_refused_changes_nothing() -> None:
    w = lucid.ones(2)
    options = {"eps": 1e-8, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.0}
    adamax = function(lucid, "adamax")
    for grad, step, error, match in (
            (lucid.ones(3), lucid.tensor(0.0), RuntimeError, "must have its shape"), (lucid.ones(2), 0, RuntimeError, "state_steps"),
            (lucid.ones(2).to_sparse(), lucid.tensor(0.0), RuntimeError, "sparse gradients")):
        with pytest.raises(error, match=match):
            adamax([w], [grad], [lucid.zeros(2)], [lucid.zeros(2)], [step], **options)
    with pytest.raises(ValueError):
        adamax([w, w], [lucid.ones(2)], [lucid.zeros(2)], [lucid.zeros(2)], [lucid.tensor(0.0)], **options)
    with pytest.raises(NotImplementedError, match="complex"):
        adamax([lucid.ones(2, dtype=lucid.complex64)], [lucid.ones(2, dtype=lucid.complex64)], [lucid.zeros(2)], [lucid.zeros(2)],
               [lucid.tensor(0.0)], differentiable=True, **options)
    assert w.tolist() == [1, 1]
