"""GradScaler: scaled losses, steps that are left out, growth, several optimizers, errors, state."""
from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import lucid


def one_step(library: Any, device: str, factors: list[float], **options: Any) -> list[Any]:
    """Scales and weights of a training whose loss is multiplied by each of `factors` in turn."""
    weight = library.ones(3, device=device, requires_grad=True)
    optimizer = library.optim.SGD([weight], lr=0.5)
    scaler = library.amp.GradScaler(device, **options)
    seen: list[Any] = []
    for factor in factors:
        optimizer.zero_grad()
        loss = (weight * library.tensor([1.0, 2.0, 3.0], device=device)).sum() * factor
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        seen.append((scaler.get_scale(), weight.detach().cpu().numpy().copy().tolist()))
    return [*seen, scaler.state_dict()]


FACTORS = [1.0, 0.5, math.inf, 1.0, math.nan, 2.0, 1.0, 1.0]


def test_growth_and_steps_left_out(device: str) -> None:
    found = one_step(lucid, device, FACTORS, init_scale=8.0, growth_interval=2)
    assert [scale for scale, _ in found[:-1]] == [8, 16, 8, 8, 4, 4, 8, 8]
    assert found[1][1] == found[2][1] and found[3][1] == found[4][1]
    assert found[0][1] == [0.5, 0.0, -0.5]


def test_as_pytorch() -> None:
    torch = pytest.importorskip("torch")
    for options in ({"init_scale": 8.0, "growth_interval": 2}, {"growth_factor": 3.0, "backoff_factor": 0.25},
                    {"init_scale": 3e38, "growth_interval": 1}):
        assert one_step(lucid, "cpu", FACTORS, **options) == one_step(torch, "cpu", FACTORS, **options)


def test_several_optimizers_and_clipping(device: str) -> None:
    a, b = (lucid.ones(2, device=device, requires_grad=True) for _ in range(2))
    first, second = lucid.optim.SGD([a], lr=1.0), lucid.optim.SGD([b], lr=1.0)
    scaler = lucid.amp.GradScaler(device, init_scale=4.0)
    losses = scaler.scale([(3 * a).sum(), b.sum() * math.inf])
    assert isinstance(losses, list)
    losses[0].backward(), losses[1].backward()
    scaler.unscale_(first)
    np.testing.assert_array_equal(a.grad.cpu().numpy(), [3.0, 3.0])
    lucid.nn.utils.clip_grad_value_([a], 1.0)
    scaler.step(first), scaler.step(second)
    scaler.update()
    assert scaler.get_scale() == 2.0
    np.testing.assert_array_equal(a.detach().cpu().numpy(), [0.0, 0.0])
    np.testing.assert_array_equal(b.detach().cpu().numpy(), [1.0, 1.0])


def test_errors_and_state() -> None:
    weight = lucid.ones(2, requires_grad=True)
    optimizer = lucid.optim.SGD([weight], lr=1.0)
    scaler = lucid.amp.GradScaler("cpu", init_scale=2.0)
    for call in (lambda: scaler.step(optimizer), lambda: scaler.unscale_(optimizer), scaler.update):
        with pytest.raises(AssertionError, match="_scale is None"):
            call()
    scaler.scale(weight.sum()).backward()
    with pytest.raises(RuntimeError, match="Closure use"):
        scaler.step(optimizer, closure=lambda: None)
    with pytest.raises(AssertionError, match="prior to update"):
        scaler.update()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="pickled"):
        pickle.dumps(scaler)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="step\\(\\) has already"):
        scaler.step(optimizer)
    scaler.update(32.0)
    assert pickle.loads(pickle.dumps(scaler)).get_scale() == 32.0
    other = lucid.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict() and other.get_scale() == 32.0
    with pytest.raises(RuntimeError, match="empty"):
        other.load_state_dict({})
    for options in ({"growth_factor": 1.0}, {"backoff_factor": 1.0}):
        with pytest.raises(AssertionError, match="factor must be"):
            lucid.amp.GradScaler("cpu", **options)
    empty = lucid.optim.SGD([lucid.ones(2, requires_grad=True)], lr=1.0)
    with pytest.raises(AssertionError, match="No inf checks"):
        scaler.step(empty)
    half = lucid.ones(2, dtype=lucid.float16, requires_grad=True)
    scaler.scale(half.sum()).backward()
    with pytest.raises(ValueError, match="FP16"):
        scaler.unscale_(lucid.optim.SGD([half], lr=1.0))


def test_disabled() -> None:
    weight = lucid.ones(2, requires_grad=True)
    optimizer = lucid.optim.SGD([weight], lr=1.0)
    scaler = lucid.amp.GradScaler("cpu", enabled=False)
    loss = weight.sum()
    assert scaler.scale(loss) is loss and not scaler.is_enabled() and scaler.state_dict() == {} and scaler.get_scale() == 1.0
    loss.backward()
    scaler.unscale_(optimizer), scaler.step(optimizer), scaler.update()
    assert weight.tolist() == [0.0, 0.0]


def test_the_loss_of_float16_does_not_overflow() -> None:
    loss = lucid.tensor(2.0, dtype=lucid.float16, requires_grad=True)
    assert lucid.amp.GradScaler("cpu").scale(loss).item() == 131072.0


def test_unscaling_is_a_write() -> None:
    weight = lucid.ones(2, requires_grad=True)
    scaler = lucid.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale(weight.sum()).backward()
    before = weight.grad._version
    scaler.unscale_(lucid.optim.SGD([weight], lr=1.0))
    assert weight.grad._version == before + 1
