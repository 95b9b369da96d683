"""Steps on a GPU: one launch for a group, counts and rates where PyTorch has them, captured steps, and the scaled gradients of AMP."""
from __future__ import annotations

import copy
import weakref
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import backends, optim
from lucid.backends.gpu_probe import gpu_problem

if gpu_problem() is not None:
    pytest.skip(str(gpu_problem()), allow_module_level=True)

gpu = backends.gpu_module()
import cupy  # noqa: E402 - the simulator's, once the backend is there

WITH_CAPTURABLE = ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"]
FUSED = ["SGD", "Adam", "AdamW", "Adagrad"]


def params_of(*shapes: Any, device: str = "gpu") -> list[Any]:
    rng = np.random.default_rng(0)
    return [lucid.tensor(rng.standard_normal(shape).astype(np.float32)).to(device).requires_grad_() for shape in shapes]


def give_gradients(params: list[Any], step: int) -> None:
    for number, param in enumerate(params):
        param.grad = (param.detach() - number) * (step + 1)


def values(params: list[Any]) -> list[Any]:
    return [param.tolist() for param in params]


@pytest.mark.parametrize("name", [*WITH_CAPTURABLE, "Adagrad"])
def test_counts_on_the_device_are_those_of_the_host(name: str) -> None:
    options: dict[str, Any] = {"fused": True} if name == "Adagrad" else {"capturable": True}
    kept, counted = params_of((3, 4), (5,), ()), params_of((3, 4), (5,), ())
    on_host, on_device = getattr(optim, name)(kept, lr=0.1), getattr(optim, name)(counted, lr=0.1, **options)
    for step in range(4):
        give_gradients(kept, step)
        give_gradients(counted, step)
        on_host.step()
        on_device.step()
    for a, b in zip(kept, counted, strict=True):
        np.testing.assert_allclose(a.detach().cpu().numpy(), b.detach().cpu().numpy(), rtol=1e-6, atol=1e-7)
        one, other = on_host.state[a], on_device.state[b]
        assert (one["step"].device.type == "cpu") == (name != "ASGD")
        assert other["step"].device.type == "gpu"
        for entry in one:
            np.testing.assert_allclose(one[entry].cpu().numpy(), other[entry].cpu().numpy(), rtol=1e-6, atol=1e-7)
    again = getattr(optim, name)(counted, lr=0.1, **options)
    again.load_state_dict(copy.deepcopy(on_device.state_dict()))
    assert again.state[counted[0]]["step"].device.type == "gpu"
    assert again.state[counted[0]]["step"].item() == 4
    before = values(counted)
    give_gradients(counted, 4)
    on_device.step()
    after = values(counted)
    for param, value in zip(counted, before, strict=True):
        param.data.copy_(lucid.tensor(value))
    again.step()
    assert values(counted) == after


@pytest.mark.parametrize("name", [*WITH_CAPTURABLE, "SGD", "Adagrad"])
def test_a_step_is_one_operation(name: str) -> None:
    params = params_of((3, 4), (5,), (6,))
    optimizer = getattr(optim, name)(params)
    give_gradients(params, 0)
    optimizer.step()
    called: list[tuple[str, Any]] = []
    with backends.observe(lambda name, arrays, *_: called.append((name, arrays))):
        optimizer.step()
    assert [name for name, arrays in called if isinstance(arrays[0], gpu.ndarray)] == ["multi_tensor_step"]


@pytest.mark.parametrize("rate", ["number", "tensor"])
@pytest.mark.parametrize("name", WITH_CAPTURABLE)
def test_a_captured_step_is_repeated_with_other_learning_rates(name: str, rate: str) -> None:
    pool, stream = cupy.cuda.MemoryPool(), cupy.cuda.Stream(non_blocking=True)
    make = getattr(optim, name)
    with stream:
        replayed, eager = params_of((3, 4), (5,)), params_of((3, 4), (5,))
        lr: Any = lucid.tensor(0.1).to("gpu") if rate == "tensor" else 0.1
        optimizer, other = make(replayed, lr=lr, capturable=True), make(eager, lr=0.1, capturable=True)
        for params, each in ((replayed, optimizer), (eager, other)):
            give_gradients(params, 0)
            each.step()
        with cupy.cuda.using_allocator(pool.malloc):
            stream.begin_capture()
            optimizer.step()
            graph = stream.end_capture()
        for number in (0.1, 0.02, 0.3):
            if rate == "tensor":
                lr.fill_(number)
            else:
                optimizer.param_groups[0]["lr"] = number
                optimizer.write_options()
            other.param_groups[0]["lr"] = number
            graph.launch()
            other.step()
            for a, b in zip(values(replayed), values(eager), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
        assert optimizer.state[replayed[0]]["step"].item() == other.state[eager[0]]["step"].item() == 4


def test_what_cannot_be_repeated_is_not_captured() -> None:
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        params = params_of((5,))
        give_gradients(params, 0)
        for optimizer, later in ((optim.Adam(params), "capturable=True"), (optim.Adam(params, capturable=True), ""),
                                 (optim.SGD(params, lr=0.1, momentum=0.9, dampening=0.5), "")):
            for message in ("first step", later):
                before = values(params)
                stream.begin_capture()
                if message:
                    with pytest.raises(RuntimeError, match=message):
                        optimizer.step()
                else:
                    optimizer.step()
                stream.end_capture()
                assert values(params) == before
                optimizer.step()
                assert values(params) != before


@pytest.mark.parametrize("name", FUSED)
def test_infinite_gradients_and_their_scale(device: str, name: str) -> None:
    assert getattr(optim, name)(params_of((5,), device=device), fused=True)._step_supports_amp_scaling
    assert not getattr(optim, name)(params_of((5,), device=device))._step_supports_amp_scaling
    params, others = params_of((5,), (2, 3), device=device), params_of((5,), (2, 3), device=device)
    optimizer, other = getattr(optim, name)(params, lr=0.1, fused=True), getattr(optim, name)(others, lr=0.1)
    optimizer.found_inf, optimizer.grad_scale = lucid.tensor(1.0).to(device), lucid.tensor(4.0).to(device)
    before = values(params)
    for step in range(2):
        give_gradients(params, step)
        give_gradients(others, step)
        for param in params:
            param.grad *= 4
        optimizer.step()
        if step == 0:
            assert values(params) == before
            optimizer.found_inf.zero_()
            optimizer.step()
        other.step()
    assert values(params) == values(others)
    assert [param.grad.tolist() for param in params] == [param.grad.tolist() for param in others]
    if name != "SGD":
        assert optimizer.state[params[0]]["step"].item() == 2


def test_a_moment_that_an_option_needs_later_is_missed() -> None:
    params = params_of((5,))
    give_gradients(params, 0)
    optimizer = optim.RMSprop(params)
    optimizer.step()
    optimizer.param_groups[0]["momentum"] = 0.9
    with pytest.raises(KeyError, match="momentum_buffer"):
        optimizer.step()


def test_fused_counts_move_with_the_parameters() -> None:
    module = lucid.nn.Linear(3, 2)
    optimizer = optim.Adam(module.parameters(), fused=True)
    for device in ("cpu", "gpu", "cpu"):
        module.to(device)
        module(lucid.ones(1, 3, device=device)).sum().backward()
        optimizer.step()
    assert optimizer.state[module.weight]["step"].item() == 3


def _changed(what: str, params: list[Any], optimizer: Any) -> None:
    """Change what a step that repeats the last one must notice."""
    state = optimizer.state[params[0]]
    if what == "a parameter's array":
        params[0].data = params[0].data * 2
    elif what == "a state tensor":
        state["exp_avg"] = state["exp_avg"] * 2
    elif what == "a state tensor's array":
        state["exp_avg"].data = state["exp_avg"].data * 2
    elif what == "a count":
        state["step"] = state["step"] + 3
    elif what == "the state of a parameter":
        optimizer.state[params[0]] = {name: value + 1 for name, value in state.items()}
    elif what == "no state":
        optimizer.state.clear()
    elif what == "a loaded state":
        loaded = copy.deepcopy(optimizer.state_dict())
        loaded["state"][0]["exp_avg_sq"] *= 4
        optimizer.load_state_dict(loaded)
    elif what == "the learning rate":
        optimizer.param_groups[0]["lr"] = 0.5
    elif what == "a learning rate on the device":
        optimizer.param_groups[0]["lr"] = lucid.tensor(0.5, device="gpu")
    elif what == "other options":
        optimizer.param_groups[0].update(weight_decay=0.1, betas=(0.5, 0.6), maximize=True)
    elif what == "a missing gradient":
        params[1].grad = None
    elif what == "a new parameter":
        params.append(lucid.ones(7, device="gpu", requires_grad=True))
        params[-1].grad = lucid.ones(7, device="gpu")
        optimizer.add_param_group({"params": [params[-1]]})
    elif what == "a parameter in the group":
        params.append(lucid.ones(7, device="gpu", requires_grad=True))
        params[-1].grad = lucid.ones(7, device="gpu")
        optimizer.param_groups[0]["params"].append(params[-1])
    elif what == "another order":
        optimizer.param_groups[0]["params"].reverse()
    elif what == "a strided gradient":
        params[0].grad = lucid.ones(4, 3, device="gpu").T
    elif what == "on the host and back":
        for param in params:
            param.data = param.data.cpu()
            param.grad = param.grad.cpu()
        optimizer.step()
        for param in params:
            param.data = param.data.to("gpu")
            param.grad = param.grad.to("gpu")
    else:
        assert what == "an infinite gradient"
        optimizer.found_inf = lucid.ones((), device="gpu")


@pytest.mark.parametrize("what", [
    "a parameter's array", "a state tensor", "a state tensor's array", "a count", "the state of a parameter", "no state",
    "a loaded state", "the learning rate", "a learning rate on the device", "other options", "a missing gradient", "a new parameter",
    "a parameter in the group", "another order", "a strided gradient", "on the host and back", "an infinite gradient"])
@pytest.mark.parametrize("option", ["fused", "capturable"])
def test_a_repeated_step_notices_what_has_changed(option: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(repeats: bool) -> tuple[list[Any], Any]:
        params = params_of((3, 4), (5,), (6, 2))
        optimizer = optim.Adam(params, lr=0.1, **{option: True})
        taken = []
        if not repeats:
            monkeypatch.setattr(type(optimizer), "_repeat", lambda *_: None)
        else:
            given = type(optimizer)._repeat
            monkeypatch.setattr(type(optimizer), "_repeat", lambda *args: taken.append(given(*args)) or taken[-1])
        for step in range(6):
            give_gradients(params, step)
            if step == 3:
                _changed(what, params, optimizer)
            optimizer.step()
        monkeypatch.undo()
        if repeats:
            assert None not in taken[1:3]  # the second and the third step repeat the first one
            assert taken[-1] is not None or "host" in what or "strided" in what
        return params, optimizer

    (mine, one), (expected, other) = run(True), run(False)
    assert values(mine) == values(expected)
    for a, b in zip(mine, expected, strict=True):
        assert {name: value.tolist() for name, value in one.state[a].items()} == {
            name: value.tolist() for name, value in other.state[b].items()}


def test_a_repeated_step_refuses_a_gradient_that_does_not_fit() -> None:
    params = params_of((3, 4), (5,))
    optimizer = optim.Adam(params, fused=True)
    for step in range(3):
        give_gradients(params, step)
        optimizer.step()
    before = values(params)
    params[1]._grad = lucid.ones(6, device="gpu")
    with pytest.raises(RuntimeError, match="must have its shape"):
        optimizer.step()
    assert values(params) == before


def test_a_repeated_step_is_a_write() -> None:
    (param,) = params_of((5,))
    optimizer = optim.Adam([param], fused=True)
    for step in range(3):
        give_gradients([param], step)
        moment = optimizer.state[param]["exp_avg"] if step else param
        versions = param._version, moment._version
        optimizer.step()
        assert param._version > versions[0]
        assert moment._version > versions[1]


def test_what_repeats_a_step_keeps_nothing_alive() -> None:
    params = params_of((3, 4))
    optimizer = optim.Adam(params, fused=True)
    for step in range(3):
        give_gradients(params, step)
        optimizer.step()
    old = weakref.ref(params[0]._array)
    params[0].data = params[0].data.cpu()
    assert old() is None
