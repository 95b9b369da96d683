"""Compiled steps on a GPU, real or simulated."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn


def _small():
    return nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(),
                         nn.Linear(48, 4))


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_step_is_the_same_bit_for_bit(device, optimizer):
    numbers = np.random.default_rng(0)
    batches = [(numbers.standard_normal((3, 1, 4, 4)).astype(np.float32), numbers.integers(0, 4, 3)) for _ in range(5)]

    def run(compiled):
        lucid.manual_seed(0)
        net = _small().to(device)
        opt = getattr(lucid.optim, optimizer)(net.parameters(), lr=0.05)

        def step(x, t):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), t)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
            return loss

        if compiled:
            step = lucid.compile(step, fullgraph=True)
        losses = []
        for number, (x, t) in enumerate(batches):
            opt.param_groups[0]["lr"] = 0.05 / (1 + number)
            losses.append(step(lucid.tensor(x, device=device), lucid.tensor(t, device=device)).item())
        if compiled:
            assert len(step.plans) == 1
        return losses, [value.numpy(force=True) for value in net.state_dict().values()]

    (losses, state), (found, other) = run(False), run(True)
    assert found == losses
    for a, b in zip(state, other, strict=True):
        np.testing.assert_array_equal(b, a)


def test_a_move_between_devices_runs_eagerly(device):
    if device == "cpu":
        pytest.skip("there is nothing to move")
    compiled = lucid.compile(lambda x: x.cpu() * 2)
    with pytest.warns(UserWarning, match="runs eagerly"):
        compiled(lucid.ones(3, device=device))
    assert compiled(lucid.ones(3, device=device)).tolist() == [2, 2, 2]


def test_moved_parameters_are_recorded_anew(device):
    net = nn.Linear(3, 2)
    compiled = lucid.compile(net, fullgraph=True)
    with lucid.no_grad():
        for _ in range(3):
            compiled(lucid.ones(1, 3))
        net.to(device).double()
        x = lucid.ones(1, 3, device=device, dtype=lucid.float64)
        for _ in range(3):
            np.testing.assert_array_equal(compiled(x).numpy(force=True), net(x).numpy(force=True))
