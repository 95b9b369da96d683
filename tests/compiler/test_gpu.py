"""Compiled steps on a GPU, real or simulated."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn

from . import test_gradient_programs as gradients
from . import test_modes_programs as modes
from . import test_state_programs as state
from . import test_training_programs as training
from .programs import check


def _small():
    return nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(),
                         nn.Linear(48, 4))


def _perceptron():
    """Whose products end with an activation and its gradient, and have memory that the graph's pool has back."""
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))


@pytest.mark.parametrize("network", [_small, _perceptron])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_step_is_the_same_bit_for_bit(device, optimizer, network):
    numbers = np.random.default_rng(0)
    batches = [(numbers.standard_normal((3, 1, 4, 4)).astype(np.float32), numbers.integers(0, 4, 3)) for _ in range(5)]

    def run(compiled):
        lucid.manual_seed(0)
        net = network().to(device)
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


# Programs of which kernels run before and after steps that are called as they are, draw, read gradients and write to arguments.
@pytest.mark.parametrize("name", ["autocast", "checkpointed", "scaler", "gan", "accumulation_flag", "masked_fill", "assigned_buffers",
                                  "grad_kept", "adversarial", "norm_used", "full_of_number"])
def test_a_program(device, name):
    if device == "cpu":
        pytest.skip("these run on the CPU elsewhere")
    programs = {**training.PROGRAMS, **gradients.PROGRAMS, **state.PROGRAMS, **modes.PROGRAMS}
    with lucid.device(device):
        compiled = check(programs[name], replays=True)
    graphs = [plan.graphs for plan in compiled.plans if plan.graphs is not None]
    if name == "adversarial":
        assert all("writes to an argument" in each.refused for each in graphs)
    else:
        assert graphs and all(each.refused is None for each in graphs)
        assert "CUDA graphs" in compiled.summary()


def test_gradients_that_are_kept_stay_as_they_are(device):
    w = nn.Parameter(lucid.ones(3, device=device))

    def f(x):
        w.grad = None
        (w * x).sum().backward()

    compiled = lucid.compile(f, fullgraph=True)
    kept, views = [], []
    for n in range(8):
        compiled(lucid.full((3,), float(n), device=device))
        if n in (2, 3, 5):
            kept.append((n, w.grad))
        if n in (4, 6):
            views.append((n, w.grad[1:]))
    assert all(grad.tolist() == [n] * 3 for n, grad in kept) and all(view.tolist() == [n] * 2 for n, view in views)


def test_results_are_the_callers_own(device):
    compiled = lucid.compile(lambda x: (x * 2, x.sum()), fullgraph=True)
    results = []
    for n in range(6):
        y, total = compiled(lucid.full((2,), float(n), device=device))
        y.add_(1)
        results.append((y, total))
    assert [(y.tolist(), total.item()) for y, total in results] == [([2 * n + 1] * 2, 2 * n) for n in range(6)]


def test_index_errors_of_a_replay_are_raised(device):
    table = lucid.ones(3, 2, device=device)
    compiled = lucid.compile(lambda i: F.embedding(i, table), fullgraph=True)
    for _ in range(4):
        compiled(lucid.tensor([0, 2], device=device))
    with pytest.raises(IndexError):
        compiled(lucid.tensor([0, 3], device=device)).tolist()


def test_an_argument_that_shares_memory_with_a_parameter(device):
    w = lucid.zeros(4, device=device)

    def f(x):
        w.add_(1)
        return x * 2 + w

    compiled = lucid.compile(f, fullgraph=True)
    other = lucid.zeros(2, 4, device=device)
    for _ in range(4):
        compiled(other[0])
    assert compiled._replays == 2
    for n in range(6, 9):
        assert compiled(w.view(4)).tolist() == [3 * (n - 1)] * 4


def test_a_loss_without_a_gradient_beside_products(device):
    target = lucid.tensor([0, 1], device=device)
    compiled = lucid.compile(lambda x: (F.cross_entropy(x, target), x * x), fullgraph=True)
    for number in range(4):
        x = lucid.tensor([[1.0, number], [0.5, -1.0]], device=device)
        loss, square = compiled(x)
        assert loss.item() == F.cross_entropy(x, target).item()
        assert square.tolist() == (x * x).tolist()
    assert compiled._replays == 2


def test_a_tensor_that_is_given_twice_and_written(device):
    def f(x, y):
        x.add_(1)
        return x * y

    compiled = lucid.compile(f, fullgraph=True)
    for number in range(5):
        x = lucid.full((2,), float(number), device=device)
        assert compiled(x, x if number < 4 else x.detach()).tolist() == [(number + 1) ** 2] * 2
        assert x.tolist() == [number + 1] * 2
    assert compiled._replays >= 2
