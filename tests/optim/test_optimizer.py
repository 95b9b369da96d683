"""What all optimizers share: groups, checks, hooks, state that is saved, loaded and moved."""
from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import nn, optim

from . import parity


def parameter(*shape: int) -> lucid.Tensor:
    return lucid.ones(*shape).requires_grad_()


def with_gradient(*shape: int) -> lucid.Tensor:
    param = parameter(*shape)
    param.grad = lucid.ones(*shape)
    return param


# ---- groups --------------------------------------------------------------------------------------------------------
def test_groups_hold_the_tensors_themselves() -> None:
    a, b = parameter(1), parameter(2)
    optimizer = optim.SGD([{"params": a}, {"params": [b], "lr": 0.5}], lr=0.1, momentum=0.9)
    assert optimizer.param_groups[0]["params"][0] is a
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5]
    assert optimizer.param_groups[1]["momentum"] == 0.9
    c = parameter(3)
    optimizer.add_param_group({"params": [c], "momentum": 0})
    assert optimizer.param_groups[2]["params"][0] is c and optimizer.param_groups[2]["lr"] == 0.1


@pytest.mark.parametrize(("params", "error", "message"), [
    (lambda: [], ValueError, "empty parameter list"),
    (lambda: parameter(1), TypeError, "should be an iterable of Tensors"),
    (lambda: [3], TypeError, "can only optimize Tensors, but one of the params is int"),
    (lambda: [parameter(1) * 2], ValueError, "can't optimize a non-leaf Tensor"),
    (lambda: [{"params": {parameter(1)}}], TypeError, "ordered collections"),
    (lambda: [("a", parameter(1)), parameter(1)], ValueError, "with/without names"),
    (lambda: [{"params": [("a", parameter(1))]}, {"params": [parameter(1)]}], ValueError, "with/without names"),
])
def test_bad_parameters(params: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        optim.SGD(params())


def test_duplicates() -> None:
    a = parameter(1)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([a, a])
    with pytest.raises(ValueError, match="more than one parameter group"):
        optim.SGD([{"params": [a]}, {"params": [parameter(2), a]}])
    optimizer = optim.SGD([a])
    with pytest.raises(TypeError, match="must be a dict"):
        optimizer.add_param_group([a])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": a})
    assert len(optimizer.param_groups) == 1


def test_named_parameters() -> None:
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.named_parameters(), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"][0] is model.weight
    state = optimizer.state_dict()
    assert state["param_groups"][0]["param_names"] == ["weight", "bias"]
    state["param_groups"][0].pop("param_names")
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]


def test_required_option() -> None:
    from lucid.optim.optimizer import required

    class Custom(optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"lr": required})

    with pytest.raises(ValueError, match="required optimization parameter lr"):
        Custom([parameter(1)])
    assert Custom([{"params": parameter(1), "lr": 1}]).param_groups[0]["lr"] == 1


# ---- steps ---------------------------------------------------------------------------------------------------------
def test_zero_grad() -> None:
    a = with_gradient(2)
    optimizer = optim.SGD([a, parameter(3)])
    gradient = a.grad
    optimizer.zero_grad(set_to_none=False)
    assert a.grad is gradient and a.grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert a.grad is None


def test_closure() -> None:
    a = parameter(2)
    optimizer = optim.SGD([a], lr=0.1)

    def closure() -> lucid.Tensor:
        optimizer.zero_grad()
        loss = (a * a).sum()
        loss.backward()
        return loss

    with lucid.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == 2
    assert a.tolist() == pytest.approx([0.8, 0.8])


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_backward_through_a_stale_parameter_raises(kind: Any) -> None:
    a = with_gradient(2)
    y = (a * a).sum()
    kind([a], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam])
def test_a_gradient_that_does_not_fit_changes_nothing(kind: Any) -> None:
    a, b = with_gradient(2), with_gradient(3)
    optimizer = kind([{"params": a}, {"params": b}], lr=0.1)
    for wrong in (lucid.ones(4), lucid.ones(3, dtype=lucid.float64)):
        b._grad = wrong
        with pytest.raises(RuntimeError, match="gradient of a parameter must have its shape, dtype and device"):
            optimizer.step()
    assert a.tolist() == [1, 1] and not optimizer.state


def test_a_gradient_on_another_device_changes_nothing(device: str) -> None:
    if device == "cpu":
        pytest.skip("needs two devices")
    a, b = with_gradient(2), with_gradient(3)
    b._grad = lucid.ones(3, device=device)
    with pytest.raises(RuntimeError, match="device"):
        optim.Adam([a, b], lr=0.1).step()
    assert a.tolist() == [1, 1]


def test_a_state_that_no_longer_fits_changes_nothing() -> None:
    a, b = with_gradient(2), with_gradient(2)
    optimizer = optim.Adam([a, b], lr=0.1)
    optimizer.step()
    before = a.tolist()
    b.data = b.data.double()
    b._grad = lucid.ones(2, dtype=lucid.float64)
    with pytest.raises(RuntimeError, match="no longer fits its parameter"):
        optimizer.step()
    assert a.tolist() == before
    fresh = optim.Adam([a, b], lr=0.1)
    fresh.load_state_dict({"state": {1: {name: v.detach() for name, v in optimizer.state[b].items()}},
                           "param_groups": [{**optimizer.param_groups[0], "params": [0, 1]}]})
    assert fresh.state[b]["exp_avg"].dtype == lucid.float64
    fresh.step()


def test_step_hooks() -> None:
    a = with_gradient(1)
    optimizer = optim.SGD([a], lr=0.1)
    calls: list[Any] = []
    first = optimizer.register_step_pre_hook(lambda o, args, keywords: calls.append(("pre", o, args)))
    optimizer.register_step_post_hook(lambda o, args, keywords: calls.append(("post", o, args)))
    optimizer.step()
    assert calls == [("pre", optimizer, (optimizer,)), ("post", optimizer, (optimizer,))]
    first.remove()
    second = optimizer.register_step_pre_hook(lambda o, args, keywords: ((o, lambda: 5), {}))
    assert optimizer.step() == 5
    second.remove()
    optimizer.register_step_pre_hook(lambda o, args, keywords: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()


def test_custom_optimizer() -> None:
    class Descent(optim.Optimizer):
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        @lucid.no_grad()
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for param in group["params"]:
                    param -= group["lr"] * param.grad
                    self.state[param]["steps"] = self.state[param].get("steps", 0) + 1

    a = with_gradient(2)
    optimizer = Descent([a], 0.5)
    optimizer.step()
    assert a.tolist() == [0.5, 0.5]
    assert optimizer.state_dict()["state"] == {0: {"steps": 1}}
    with pytest.raises(NotImplementedError, match="does not define step"):
        optim.Optimizer([a], {}).step()


# ---- saving and loading --------------------------------------------------------------------------------------------
MAKERS = [lambda o, p: o.SGD(p, lr=0.1, momentum=0.9), lambda o, p: o.AdamW(p, lr=0.1, amsgrad=True)]


@pytest.mark.parametrize("make", MAKERS)
def test_resuming_from_a_state_of_pytorch(make: Any, device: str) -> None:
    torch = pytest.importorskip("torch")
    theirs, reference = parity.train(torch, make, 4)
    ours = [lucid.tensor(param.detach().numpy(), device=device).requires_grad_() for param in theirs]
    optimizer = make(optim, ours)
    state = reference.state_dict()
    state["state"] = {number: {name: value.numpy() for name, value in entries.items()}
                      for number, entries in state["state"].items()}
    optimizer.load_state_dict(state)
    for module, params, stepping, where in ((torch, theirs, reference, "cpu"), (lucid, ours, optimizer, device)):
        parity.set_gradients(module, params, 5, where)
        stepping.step()
    for mine, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(parity.host(mine), parity.host(expected), atol=1e-6)


@pytest.mark.parametrize("make", MAKERS)
def test_loaded_state_is_a_copy(make: Any) -> None:
    params, optimizer = parity.train(lucid, make)
    other = make(optim, [param.detach().clone().requires_grad_() for param in params])
    other.load_state_dict(optimizer.state_dict())
    parity.set_gradients(lucid, params, 9)
    before = {name: value.tolist() for name, value in other.state_dict()["state"][0].items()}
    optimizer.step()
    assert {name: value.tolist() for name, value in other.state_dict()["state"][0].items()} == before


def test_loading_errors_change_nothing() -> None:
    a, b = with_gradient(2), with_gradient(3)
    optimizer = optim.Adam([a, b], lr=0.1)
    optimizer.step()
    state = optimizer.state_dict()
    before = repr(state)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict({**state, "param_groups": []})
    with pytest.raises(ValueError, match="doesn't match the size"):
        optimizer.load_state_dict(optim.Adam([a]).state_dict())
    swapped = optim.Adam([b, a])
    swapped.step()
    with pytest.raises(ValueError, match=r"'exp_avg' of parameter 0 has shape \[3\], but the parameter has shape \[2\]"):
        optimizer.load_state_dict(swapped.state_dict())
    assert repr(optimizer.state_dict()) == before


def test_state_dict_hooks() -> None:
    optimizer = optim.SGD([parameter(1)], lr=0.1)
    calls = []
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(
        lambda o, state: {**state, "param_groups": [{**state["param_groups"][0], "lr": 0.7}]})
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append(o.param_groups[0]["lr"]))
    state = optimizer.state_dict()
    assert state["extra"] == 1
    optimizer.load_state_dict(state)
    assert calls == ["first", "second", 0.7]
    assert state["param_groups"][0]["lr"] == 0.1


@pytest.mark.parametrize("make", MAKERS)
def test_copy_and_pickle(make: Any) -> None:
    params, optimizer = parity.train(lucid, make)
    for twin, their_params in (copy.deepcopy((optimizer, params)), pickle.loads(pickle.dumps((optimizer, params)))):
        assert twin.param_groups[0]["params"][0] is their_params[0]
        for where in (params, their_params):
            parity.set_gradients(lucid, where, 7)
        before = params[0].tolist()
        twin.step()
        assert params[0].tolist() == before
    optimizer.step()
    assert their_params[0].tolist() == params[0].tolist()


# ---- moving --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", MAKERS)
def test_state_follows_its_parameter(make: Any, device: str) -> None:
    """A model that moves in the middle of training trains as one that stays."""
    results = []
    for devices in ((device, "cpu", device), ("cpu", "cpu", "cpu")):
        lucid.manual_seed(0)
        model = nn.Linear(3, 2)
        optimizer = make(optim, model.parameters())
        kept = None
        for where in devices:
            model.to(where)
            optimizer.zero_grad()
            model(lucid.ones(4, 3, device=where)).sum().backward()
            optimizer.step()
            name = next(name for name in optimizer.state[model.weight] if name != "step")
            state = optimizer.state[model.weight][name]
            assert state.device == where and (kept is None or state is kept)
            kept = state
        results.append(model.weight.detach().cpu().numpy())
        model.to("cpu")  # without a step, state_dict moves the state
        entries = optimizer.state_dict()["state"][0]
        assert all(value.device == "cpu" for value in entries.values())
    np.testing.assert_allclose(*results, atol=1e-6)


def test_the_groups_keep_working_after_a_move(device: str) -> None:
    model = nn.Linear(2, 1)
    optimizer = optim.SGD(model.parameters(), lr=1.0)
    model.to(device)
    assert optimizer.param_groups[0]["params"][0] is model.weight
    before = model.bias.item()
    model(lucid.ones(1, 2, device=device)).sum().backward()
    optimizer.step()
    assert model.bias.item() == pytest.approx(before - 1)


def test_training_needs_no_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = nn.Linear(2, 1)
        optimizer = optim.Adam(model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            model(lucid.ones(1, 2)).sum().backward()
            optimizer.step()
