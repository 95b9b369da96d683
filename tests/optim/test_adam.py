"""Adam and AdamW against PyTorch's."""
from __future__ import annotations

import itertools
from typing import Any

import pytest

import lucid
from lucid import optim

from . import parity

OPTIONS = [{"weight_decay": w, "amsgrad": a, "maximize": x}
           for w, a, x in itertools.product((0, 0.1), (False, True), (False, True))]


@pytest.mark.torch
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_parity(name: str, options: dict[str, Any]) -> None:
    parity.check(lambda o, params: getattr(o, name)(params, lr=0.1, betas=(0.8, 0.95), **options), "cpu")


@pytest.mark.parametrize("options", [{}, {"amsgrad": True, "weight_decay": 0.1}])
def test_parity_on_device(device: str, options: dict[str, Any]) -> None:
    parity.check(lambda o, params: o.AdamW(params, lr=0.1, **options), device)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float16", 1e-2), ("bfloat16", 5e-2)])
def test_dtypes(dtype: str, tolerance: float) -> None:
    parity.check(lambda o, params: o.Adam(params, lr=0.01, eps=1e-3), "cpu", dtype, tolerance)


def test_decoupled_weight_decay_is_adamw() -> None:
    adam, _ = parity.train(lucid, lambda o, p: o.Adam(p, lr=0.1, weight_decay=0.2, decoupled_weight_decay=True))
    adamw, _ = parity.train(lucid, lambda o, p: o.AdamW(p, lr=0.1, weight_decay=0.2))
    for a, b in zip(adam, adamw, strict=True):
        assert a.tolist() == b.tolist()


def test_loaded_groups_stay_decoupled() -> None:
    param = lucid.ones(1).requires_grad_()
    optimizer = optim.AdamW([param])
    optimizer.load_state_dict(optim.Adam([param]).state_dict())
    assert optimizer.param_groups[0]["decoupled_weight_decay"] is True


def test_tensor_options_of_one_element() -> None:
    param = lucid.ones(2).requires_grad_()
    param.grad = lucid.ones(2)
    optim.Adam([param], lr=lucid.tensor(0.5), betas=(lucid.tensor(0.9), lucid.tensor(0.999))).step()
    assert param.tolist() == pytest.approx([0.5, 0.5])


def test_complex() -> None:
    torch = pytest.importorskip("torch")
    results = []
    for module in (lucid, torch):
        param = module.tensor([1 + 2j, 3 - 1j]).requires_grad_()
        optimizer = module.optim.Adam([param], lr=0.1, amsgrad=True)
        for step in range(3):
            param.grad = module.tensor([step + 1j, 2 - 1j])
            optimizer.step()
        results.append(param.detach().numpy())
    assert abs(results[0] - results[1]).max() < 1e-6


def test_old_state_counts_steps_as_a_number() -> None:
    param = lucid.ones(2).requires_grad_()
    optimizer = optim.Adam([param])
    state = optimizer.state_dict()
    state["state"] = {0: {"step": 3, "exp_avg": lucid.zeros(2), "exp_avg_sq": lucid.zeros(2)}}
    optimizer.load_state_dict(state)
    step = optimizer.state[param]["step"]
    assert step.dtype == lucid.float32 and step.shape == () and step.item() == 3


@pytest.mark.parametrize(("options", "message"), [
    ({"lr": -1.0}, "Invalid learning rate"), ({"eps": -1.0}, "Invalid epsilon"),
    ({"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0"), ({"betas": (0.9, -0.1)}, "Invalid beta parameter at index 1"),
    ({"weight_decay": -1.0}, "Invalid weight_decay"), ({"betas": (0, 0.9)}, "both floats or both Tensors"),
])
@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW])
def test_invalid_options(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind([lucid.ones(1).requires_grad_()], **options)


def test_implementation_options() -> None:
    params = [lucid.ones(1).requires_grad_()]
    for option in ("foreach", "fused", "capturable"):
        optim.Adam(params, **{option: True})
    with pytest.raises(RuntimeError, match="cannot be `True` together"):
        optim.Adam(params, foreach=True, fused=True)
    with pytest.raises(RuntimeError, match="does not support `differentiable`"):
        optim.AdamW(params, fused=True, differentiable=True)
    with pytest.raises(ValueError, match="lr as a Tensor is not supported"):
        optim.Adam(params, lr=lucid.tensor(0.1), foreach=True)
