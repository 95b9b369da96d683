"""The optimizers that are composed of tensor operations against PyTorch's: parameters, state and `state_dict`, step by step."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import optim

from . import parity

CASES: list[tuple[str, dict[str, Any]]] = [
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.1, "momentum": 0.9, "centered": True, "maximize": True, "eps": 1e-3}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {}),
    ("RAdam", {"lr": 0.1, "betas": (0.8, 0.99), "weight_decay": 0.1, "maximize": True}),
    ("RAdam", {"lr": 0.1, "betas": (0.5, 0.9), "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "t0": 2, "weight_decay": 0.1, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.4, 1.5), "step_sizes": (0.05, 0.12), "maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.3, "beta2_decay": -0.5, "eps": (1e-4, 1e-2), "d": 1.5, "weight_decay": 0.1, "maximize": True}),
]
NAMES = sorted({name for name, _ in CASES})
EXTRA = ["Muon", "LBFGS"]


def id_of(value: Any) -> str:
    return str(value)


@pytest.mark.torch
@pytest.mark.parametrize(("name", "options"), CASES, ids=id_of)
def test_parity(device: str, name: str, options: dict[str, Any]) -> None:
    shapes = ((3, 4), (5,), (), (2, 3, 4)) if name == "Adafactor" else None  # PyTorch divides by the number of elements
    parity.check(lambda o, params: getattr(o, name)(params, **options), device, steps=9, shapes=shapes)


@pytest.mark.torch
@pytest.mark.parametrize(("name", "options"), CASES, ids=id_of)
def test_large_parameters(device: str, name: str, options: dict[str, Any]) -> None:
    """Formulas, of which every step has other numbers."""
    steps = 7 if device == "cpu" else 2
    parity.check(lambda o, params: getattr(o, name)(params, **options), device, "float64", 1e-10, steps, ((130, 140), (3,)))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Adafactor"])
def test_large_and_small_parameters_take_the_same_steps(name: str) -> None:
    """Also strided ones; NaN and infinity stay in their element."""
    values = np.random.default_rng(0).normal(size=(130, 140)).astype(np.float32)
    values[3, 4], values[5, 6] = np.nan, np.inf
    whole = lucid.tensor(values, requires_grad=True)
    strided = lucid.tensor(np.ascontiguousarray(values.T)).T.detach().requires_grad_()
    parts = [lucid.tensor(row, requires_grad=True) for row in values]
    optimizer = getattr(optim, name)([whole, strided, *parts], lr=0.1)
    for step in range(1, 4):
        versions = [whole._version, *[t._version for t in optimizer.state[whole].values()]]
        for parameter, value in zip([whole, strided, *parts], [values, values, *values], strict=True):
            parameter.grad = lucid.tensor(value * step - 1)
        optimizer.step()
        after = [whole._version, *[t._version for t in optimizer.state[whole].values()]]
        if step > 1:
            assert all(new > old for new, old in zip(after, versions, strict=True))
    expected = np.stack([part.detach().numpy() for part in parts])
    for parameter in (whole, strided):
        np.testing.assert_allclose(parameter.detach().numpy(), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.torch
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float16", 1e-2), ("bfloat16", 5e-2)])
@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name: str, dtype: str, tolerance: float) -> None:
    shapes = ((3, 4), (5,), (), (2, 3, 4))
    parity.check(lambda o, params: getattr(o, name)(params, lr=0.01), "cpu", dtype, tolerance, shapes=shapes)


@pytest.mark.parametrize("options", [
    {}, {"lr": 0.1, "weight_decay": 0.0, "momentum": 0.8, "nesterov": False}, {"adjust_lr_fn": "match_rms_adamw", "ns_steps": 3},
], ids=id_of)
def test_muon(device: str, options: dict[str, Any]) -> None:
    # bfloat16 has 8 bits; the iteration amplifies the rounding of its products, whose order of summation is not PyTorch's.
    options = {"lr": 0.1, **options}
    parity.check(lambda o, params: o.Muon(params, **options), device, tolerance=1e-2, shapes=((8, 4), (4, 8), (5, 5)))


@pytest.mark.parametrize("name", NAMES)
def test_complex(name: str) -> None:
    torch = pytest.importorskip("torch")
    results = []
    for module in (lucid, torch):
        values = np.array([[1 + 2j, 3 - 1j, 0.5j], [2, -1j, 1 - 1j]], np.complex64)
        param, other = module.tensor(values).requires_grad_(), module.tensor(values).T.detach().requires_grad_()
        optimizer = getattr(module.optim, name)([param, other], lr=0.1)
        for step in (1, 2, 3):
            param.grad = module.tensor(values * step - 1)
            other.grad = module.tensor(values * step - 1j).T
            if name == "Adafactor":
                with pytest.raises(RuntimeError, match="complex"):
                    optimizer.step()
                return
            optimizer.step()
        results.append([np.asarray(t.detach().numpy()) for t in (param, other)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [*NAMES, *EXTRA])
def test_state_dict_goes_on_where_it_was(device: str, name: str) -> None:
    def run(optimizer: Any, param: Any, steps: range) -> None:
        for step in steps:
            def closure(step: int = step) -> Any:
                optimizer.zero_grad()
                loss = ((param * param - step) ** 2).sum()
                loss.backward()
                return loss

            optimizer.step(closure)

    # On the simulator each of L-BFGS's many small operations is a kernel.
    options: dict[str, Any] = {"lr": 0.01} | ({"max_iter": 5} if name == "LBFGS" else {})
    make, start = functools.partial(getattr(optim, name), **options), lucid.tensor([[1.0, 2.0], [3.0, 4.0]]).to(device)
    whole = start.clone().requires_grad_()
    run(make([whole]), whole, range(4))
    first = start.clone().requires_grad_()
    optimizer = make([first])
    run(optimizer, first, range(2))
    second = first.detach().clone().requires_grad_()
    resumed = make([second])
    resumed.load_state_dict(optimizer.state_dict())
    run(resumed, second, range(2, 4))
    assert second.tolist() == whole.tolist()
    assert resumed.param_groups[0]["lr"] == 0.01


@pytest.mark.parametrize("name", [*NAMES, "Muon"])
def test_state_follows_the_parameter(device: str, name: str) -> None:
    module = lucid.nn.Linear(3, 2, bias=False)
    optimizer = getattr(optim, name)(module.parameters(), lr=0.01)
    other = lucid.nn.Linear(3, 2, bias=False)
    other.load_state_dict(module.state_dict())
    stays = getattr(optim, name)(other.parameters(), lr=0.01)
    for step in (1, 2):
        for net, steps in ((module, optimizer), (other, stays)):
            net.weight.grad = lucid.ones_like(net.weight) * step
            steps.step()
        module.to(device)
    np.testing.assert_allclose(parity.host(module.weight), parity.host(other.weight), rtol=1e-6)
    for value in optimizer.state_dict()["state"][0].values():
        assert not isinstance(value, lucid.Tensor) or value.device == device or value.ndim == 0


@pytest.mark.torch
@pytest.mark.parametrize(("name", "options", "message"), [
    ("Adagrad", {"lr": -1.0}, "Invalid learning rate: -1.0"), ("Adagrad", {"lr_decay": -1.0}, "Invalid lr_decay value"),
    ("Adagrad", {"eps": -1.0}, "Invalid epsilon value"),
    ("Adagrad", {"initial_accumulator_value": -1.0}, "Invalid initial_accumulator_value value"),
    ("RMSprop", {"momentum": -1.0}, "Invalid momentum value"), ("RMSprop", {"alpha": -1.0}, "Invalid alpha value"),
    ("Adadelta", {"rho": 1.5}, "Invalid rho value"), ("Adamax", {"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0"),
    ("NAdam", {"momentum_decay": -1.0}, "Invalid momentum_decay value"),
    ("RAdam", {"weight_decay": -1.0}, "Invalid weight_decay value"), ("ASGD", {"weight_decay": -1.0}, "Invalid weight_decay"),
    ("Rprop", {"etas": (1.0, 1.2)}, "Invalid eta values"), ("Adafactor", {"beta2_decay": 0.1}, "beta2_decay should be <= 0"),
    ("Adafactor", {"d": 0.5}, "Clipping threshold d"), ("Adafactor", {"eps": (-1.0, 1.0)}, "epsilon1"),
    ("Muon", {"momentum": -1.0}, "momentum should be >= 0"), ("Muon", {"adjust_lr_fn": "x"}, "is not supported"),
    ("LBFGS", {"lr": -1.0}, "Invalid learning rate"),
])
def test_refused_options(name: str, options: dict[str, Any], message: str) -> None:
    torch = pytest.importorskip("torch")
    for module in (lucid, torch):
        with pytest.raises(ValueError, match=message):
            getattr(module.optim, name)([module.ones(2, 2).requires_grad_()], **options)


def test_muon_refuses_vectors() -> None:
    with pytest.raises(ValueError, match="only supports 2D parameters"):
        optim.Muon([lucid.ones(3).requires_grad_()])


def test_old_checkpoints_without_options_and_with_steps_as_numbers() -> None:
    param = lucid.ones(3).requires_grad_()
    param.grad = lucid.ones(3)
    optimizer = optim.NAdam([param])
    optimizer.step()
    state = optimizer.state_dict()
    del state["param_groups"][0]["decoupled_weight_decay"], state["param_groups"][0]["maximize"]
    state["state"][0] = {**state["state"][0], "step": 1, "mu_product": state["state"][0]["mu_product"].item()}
    optimizer.load_state_dict(state)
    optimizer.step()
    assert optimizer.state[param]["step"].item() == 2


FUSED: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}), ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}), ("SGD", {"momentum": 0.9, "dampening": 0.5}),
    ("Adam", {"weight_decay": 0.1}), ("Adam", {"amsgrad": True, "maximize": True}), ("AdamW", {}),
]


@pytest.mark.parametrize(("name", "options"), [*((name, {}) for name in NAMES if name != "Adafactor"), *FUSED], ids=id_of)
def test_differentiable(device: str, name: str, options: dict[str, Any]) -> None:
    """The gradient with respect to the first gradient, through parameters and state: of two steps as by differences, of one
    step as PyTorch's, which does not differentiate through several."""
    values = [0.5, -1.0, 2.0]

    def loss(module: Any, first: Any, steps: int) -> Any:
        param = module.tensor([1.0, 2.0, -3.0], dtype=module.float64).to(first.device).requires_grad_().clone()
        optimizer = getattr(module.optim, name)([param], lr=0.1, differentiable=True, **options)
        for gradient in (first * 1.0, first * first + 1)[:steps]:
            param.grad = gradient
            optimizer.step()
        return (param**2).sum()

    def gradient(module: Any, steps: int, place: str = "cpu") -> list[float]:
        first = module.tensor(values, dtype=module.float64).to(place).requires_grad_()
        loss(module, first, steps).backward()
        found: list[float] = first.grad.tolist()
        return found

    first = lucid.tensor(values, dtype=lucid.float64).to(device)
    assert lucid.autograd.gradcheck(lambda first: loss(lucid, first, 2), (first.requires_grad_(),), atol=1e-4)
    if options.get("momentum", 0) == 0:  # PyTorch detaches the first momentum buffer
        torch = pytest.importorskip("torch")
        np.testing.assert_allclose(gradient(lucid, 1, device), gradient(torch, 1), rtol=1e-6, atol=1e-9)
