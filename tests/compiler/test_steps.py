"""Compiled training steps against eager ones: everything that a step changes is the same, bit for bit."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn

STEPS = 7


def _mlp():
    return nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 4)), (8, 12)


def _images():
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout2d(0.2),
                         nn.Flatten(), nn.Linear(36, 4)), (4, 1, 6, 6)


class Sequences(nn.Module):
    """Attention over a sequence, and a recurrent layer."""

    def __init__(self):
        super().__init__()
        self.inner, self.norm, self.qkv, self.out = nn.LSTM(6, 8, batch_first=True), nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 4)

    def forward(self, x):
        x, _ = self.inner(x)
        n, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(n, length, 3, 2, 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, length, width)
        return self.out((x + y).mean(1))


def _sequences():
    return Sequences(), (3, 5, 6)


class Averaging(nn.Module):
    """A buffer that is assigned in `forward`, one that is written in place, and slices."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(lucid.randn(4, 6))
        self.register_buffer("average", lucid.zeros(6))
        self.register_buffer("calls", lucid.tensor(0))

    def forward(self, x):
        self.average = 0.9 * self.average + 0.1 * x.mean(0)
        self.calls += 1
        left, right = (x - self.average).split(3, 1)
        joined = lucid.cat([right * 2, left[:, 1:], left[:, :1].exp()], 1)
        return F.gelu(joined @ self.weight.t()) + lucid.tensor([1.0, 2.0, 3.0, 4.0])


def _averaging():
    return Averaging(), (5, 6)


def _make(build, optimizer, compiled, accumulate=False):
    lucid.manual_seed(3)
    net, shape = build()
    opt = getattr(lucid.optim, optimizer)(net.parameters(), lr=0.05, **({"momentum": 0.9} if optimizer == "SGD" else {}))

    def step(x, t):
        if not accumulate:
            opt.zero_grad()
        loss = F.cross_entropy(net(x), t)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
        return loss, loss.detach() * 2

    scheduler = lucid.optim.lr_scheduler.StepLR(opt, 2, 0.5)
    return net, opt, scheduler, lucid.compile(step, fullgraph=True) if compiled else step, shape


def _arrays(net, opt):
    found = {f"state {k}": v for k, v in net.state_dict().items()}
    found |= {f"grad {k}": p.grad for k, p in net.named_parameters()}
    for number, entries in opt.state_dict()["state"].items():
        found |= {f"{number} {k}": v for k, v in entries.items() if isinstance(v, lucid.Tensor)}
    return {k: v.numpy(force=True).copy() for k, v in found.items()}


def _batches(shape):
    numbers = np.random.default_rng(1)
    return [(lucid.tensor(numbers.standard_normal(shape), dtype=lucid.float32), lucid.tensor(numbers.integers(0, 4, shape[0])))
            for _ in range(STEPS)]


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "RMSprop"])
@pytest.mark.parametrize("build", [_mlp, _images, _sequences, _averaging])
def test_a_step_is_the_same_bit_for_bit(build, optimizer, accumulate):
    seen = []
    for compiled in (False, True):
        net, opt, scheduler, step, shape = _make(build, optimizer, compiled, accumulate)
        kept, gradients = [], []
        for x, t in _batches(shape):
            kept.append(step(x, t))
            gradients.append([(p.grad, p.grad.numpy().copy()) for p in net.parameters()])
            scheduler.step()
        if compiled:
            assert len(step.plans) == 1 and step._replays >= STEPS - 4
        if not accumulate:  # gradients of earlier steps are their holder's own
            assert all(np.array_equal(g.numpy(), before) for pairs in gradients[:-1] for g, before in pairs)
        seen.append((_arrays(net, opt), [(a.numpy(force=True), b.numpy()) for a, b in kept], lucid.get_rng_state().numpy()))
    (eager, results, state), (other, other_results, other_state) = seen
    assert eager.keys() == other.keys()
    for name in eager:
        np.testing.assert_array_equal(other[name], eager[name], err_msg=name)
    np.testing.assert_array_equal(results, other_results)
    np.testing.assert_array_equal(state, other_state)


def test_results_know_that_they_were_differentiated():
    _, _, _, step, shape = _make(_mlp, "SGD", True)
    for x, t in _batches(shape):
        loss, _ = step(x, t)
        assert loss.requires_grad
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()


def test_inference():
    net, shape = _images()
    net.eval()
    compiled = lucid.compile(net, fullgraph=True)
    for x, _ in _batches(shape):
        with lucid.inference_mode():
            result = compiled(x)
            assert result.is_inference()
            np.testing.assert_array_equal(result.numpy(), net(x).numpy())
    for x, _ in _batches(shape):
        with lucid.no_grad():
            result = compiled(x)
            assert not result.is_inference()
            np.testing.assert_array_equal(result.numpy(), net(x).numpy())
    assert set(compiled.state_dict()) == {f"_orig_mod.{name}" for name in net.state_dict()}


def test_modules_compile_in_place():
    net, shape = _mlp()
    net.eval()
    expected = net(_batches(shape)[0][0]).detach().numpy()
    net.compile(fullgraph=True)
    with lucid.no_grad():
        for _ in range(4):
            np.testing.assert_array_equal(net(_batches(shape)[0][0]).numpy(), expected)
    assert net.forward._replays == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        import copy
        import pickle
        for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            with lucid.no_grad():
                np.testing.assert_array_equal(other(_batches(shape)[0][0]).numpy(), expected)
            assert other.forward._compiled_function.__self__ is other
