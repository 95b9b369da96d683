"""SGD against PyTorch's."""
from __future__ import annotations

import itertools
from typing import Any

import pytest

import lucid
from lucid import optim

from . import parity

OPTIONS = [{"momentum": m, "dampening": d, "weight_decay": w, "nesterov": n, "maximize": x}
           for m, d, w, n, x in itertools.product((0, 0.9), (0, 0.3), (0, 0.1), (False, True), (False, True))
           if not n or (m and not d)]


@pytest.mark.torch
@pytest.mark.parametrize("options", OPTIONS)
def test_parity(options: dict[str, Any]) -> None:
    parity.check(lambda o, params: o.SGD(params, lr=0.1, **options), "cpu")


def test_parity_on_device(device: str) -> None:
    parity.check(lambda o, params: o.SGD(params, lr=0.1, momentum=0.9, weight_decay=0.1), device)
    parity.check(lambda o, params: o.SGD(params, lr=0.1), device)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-13), ("float16", 4e-3), ("bfloat16", 3e-2)])
def test_dtypes(dtype: str, tolerance: float) -> None:
    parity.check(lambda o, params: o.SGD(params, lr=0.1, momentum=0.9), "cpu", dtype, tolerance)


def test_complex(device: str) -> None:
    torch = pytest.importorskip("torch")
    results = []
    for module, where in ((lucid, device), (torch, "cpu")):
        param = module.tensor([1 + 2j, 3 - 1j, 0.5j]).to(where).requires_grad_()
        optimizer = module.optim.SGD([param], lr=0.1, momentum=0.9, weight_decay=0.1)
        for step in range(3):
            param.grad = module.tensor([step + 1j, 2 - 1j, 1.0 + 0j]).to(where)
            optimizer.step()
        results.append((param, optimizer.state_dict()["state"][0]["momentum_buffer"]))
    for ours, theirs in zip(*results, strict=True):
        assert ours.dtype == lucid.complex64
        assert abs(ours.detach().cpu().numpy() - theirs.detach().numpy()).max() < 1e-6


def test_non_contiguous_parameter() -> None:
    base = lucid.ones(4, 3)
    param = base.T.requires_grad_()
    optimizer = optim.SGD([param], lr=0.5, momentum=0.9)
    for _ in range(2):
        param.grad = lucid.ones(3, 4)
        optimizer.step()
    assert base[0, 0].item() == pytest.approx(1 - 0.5 - 0.5 * 1.9)


def test_tensor_options_of_one_element() -> None:
    param = lucid.ones(2).requires_grad_()
    rate = lucid.tensor(0.5)
    optimizer = optim.SGD([param], lr=rate, weight_decay=lucid.tensor(0.0))
    param.grad = lucid.ones(2)
    optimizer.step()
    rate.fill_(0.25)
    optimizer.step()
    assert param.tolist() == [0.25, 0.25]
    assert optimizer.param_groups[0]["lr"] is rate


@pytest.mark.parametrize(("options", "message"), [
    ({"lr": -1.0}, "Invalid learning rate"), ({"momentum": -0.1}, "Invalid momentum"),
    ({"weight_decay": -0.1}, "Invalid weight_decay"), ({"nesterov": True}, "Nesterov momentum requires"),
    ({"nesterov": True, "momentum": 0.9, "dampening": 0.1}, "Nesterov momentum requires"),
])
def test_invalid_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        optim.SGD([lucid.ones(1).requires_grad_()], **options)


def test_tensor_lr_of_two_elements() -> None:
    with pytest.raises(ValueError, match="1-element"):
        optim.SGD([lucid.ones(1).requires_grad_()], lr=lucid.ones(2))


def test_implementation_options() -> None:
    params = [lucid.ones(1).requires_grad_()]
    optim.SGD(params, foreach=True)
    optim.SGD(params, fused=True)
    with pytest.raises(RuntimeError, match="cannot be `True` together"):
        optim.SGD(params, foreach=True, fused=True)
    with pytest.raises(RuntimeError, match="does not support `differentiable`"):
        optim.SGD(params, fused=True, differentiable=True)
