"""Steps on a GPU: one launch for a group, counts and rates where PyTorch has them, captured steps, and the scaled gradients of AMP."""
from __future__ import annotations

import copy
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
