"""A step of a group is one kernel for all of its parameters, whatever they are."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
from lucid import backends, optim

SGD = {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.01}
ADAM = {"lr": 0.1, "weight_decay": 0.01, "amsgrad": True}


def params_of_all_kinds(device: str) -> list[Any]:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in ((3, 4), (), (0, 2), (40,), (5, 6))]
    arrays[4] = arrays[4].T  # strided
    dtypes = [lucid.float32, lucid.float32, lucid.float64, lucid.float64, lucid.float32]
    params = [lucid.tensor(a).to(device).to(d) for a, d in zip(arrays, dtypes, strict=True)]
    params += [params[0].half(), params[0].bfloat16()]
    params[4] = params[4].T
    params.append(params[0] * (1 + 2j))
    params.append((params[0] * (1 + 2j)).T)
    return [param.detach().requires_grad_() for param in params]


def give_gradients(params: list[Any], step: int) -> None:
    for number, param in enumerate(params):
        param.grad = None if (step, number) == (2, 1) else (param.detach() * step + number).to(param.dtype)


@pytest.mark.parametrize(("name", "options"), [("SGD", SGD), ("Adam", ADAM), ("AdamW", ADAM)])
def test_together_as_one_by_one(device: str, name: str, options: dict[str, Any]) -> None:
    make = getattr(optim, name)
    together, alone = params_of_all_kinds(device), params_of_all_kinds(device)
    optimizer = make(together, **options)
    optimizers = [make([param], **options) for param in alone]
    for step in (1, 2, 3):
        give_gradients(together, step)
        give_gradients(alone, step)
        before = [param._version for param in together]
        optimizer.step()
        assert [p._version - old for p, old in zip(together, before, strict=True)] == [p.grad is not None for p in together]
        for single in optimizers:
            single.step()
    for param, other, single in zip(together, alone, optimizers, strict=True):
        assert param.tolist() == other.tolist()
        entries, others = optimizer.state[param], single.state[other]
        assert list(entries) == list(others)
        for key, value in entries.items():
            assert value.tolist() == others[key].tolist()
            assert value.shape == others[key].shape


def test_devices_in_one_group(device: str) -> None:
    params = [lucid.ones(3).requires_grad_(), lucid.ones(4, device=device).requires_grad_(), lucid.ones(5).requires_grad_()]
    for optimizer in (optim.SGD(params, lr=0.5, momentum=0.9), optim.Adam(params)):
        for param in params:
            param.grad = lucid.ones_like(param)
        optimizer.step()
        assert len({param[0].item() for param in params}) == 1


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_one_kernel_for_all(name: str) -> None:
    params = [lucid.ones(n).requires_grad_() for n in (3, 4, 5)]
    for param in params:
        param.grad = lucid.ones_like(param)
    called: list[str] = []
    with backends.observe(lambda name, *_: called.append(name)):
        getattr(optim, name)(params).step()
    assert [name for name in called if name.startswith("multi_tensor_")] == [f"multi_tensor_{name.lower()}"]


def test_a_parameter_that_is_listed_twice_takes_two_steps() -> None:
    torch = pytest.importorskip("torch")
    results = []
    for module in (lucid, torch):
        param = module.ones(3).requires_grad_()
        param.grad = module.ones(3)
        with pytest.warns(UserWarning, match="duplicate parameters"):
            optimizer = module.optim.Adam([param, param], lr=0.1)
        optimizer.step()
        assert optimizer.state[param]["step"].item() == 2
        results.append(param.tolist())
    assert results[0] == pytest.approx(results[1], rel=1e-6)
