"""Parameters and gradients as views of one vector."""
from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lucid
from lucid import nn, optim
from lucid.nn.utils import FlatParameter, clip_grad_norm_, flatten_parameters


def model(device, dtype=lucid.float32):
    lucid.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)).to(device, dtype)


def learn(net, optimizer, steps=3, **zero):
    losses = []
    for step in range(steps):
        x = lucid.tensor(np.random.default_rng(step).standard_normal((6, 4))).to(net[0].weight.device, net[0].weight.dtype)
        optimizer.zero_grad(**zero)
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def values(tensor):
    return tensor.detach().cpu().numpy().astype(np.float64)


def same(net, other):
    for (name, a), (_, b) in zip(net.named_parameters(), other.named_parameters(), strict=True):
        np.testing.assert_array_equal(values(a), values(b), err_msg=name)


def check_views(net, vector):
    """The parameters and gradients lie one after the other in `vector` and its gradient."""
    assert vector.grad is not None
    np.testing.assert_array_equal(values(vector), np.concatenate([values(p).reshape(-1) for p in net.parameters()]))
    np.testing.assert_array_equal(values(vector.grad), np.concatenate([values(p.grad).reshape(-1) for p in net.parameters()]))
    offset = 0
    for p in net.parameters():
        assert p.data_ptr() == vector.data_ptr() + offset and p.grad.data_ptr() == vector.grad.data_ptr() + offset
        assert p.is_contiguous() and p.grad.shape == p.shape
        offset += p.numel() * p.element_size()


def test_parameters_and_gradients_are_views(device):
    net, plain = model(device), model(device)
    objects = list(net.parameters())
    (vector,) = flatten_parameters(net.parameters())
    assert isinstance(vector, FlatParameter) and vector.is_leaf and vector.requires_grad
    assert vector.shape == (sum(p.numel() for p in net.parameters()),) and vector.device == device
    assert all(a is b for a, b in zip(objects, net.parameters(), strict=True))
    same(net, plain)
    check_views(net, vector)
    assert not vector.grad.any()
    net[0].weight.data[0, 0] = 7.0
    assert vector[0].item() == 7
    vector.data[1] = 5.0
    assert net[0].weight[0, 1].item() == 5
    net(lucid.ones(2, 4, device=device)).sum().backward()
    assert net[3].bias.grad.cpu().numpy().tolist() == [2, 2, 2]
    check_views(net, vector)


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float64, lucid.float16, lucid.bfloat16], ids=str)
@pytest.mark.parametrize("make", [
    lambda p: optim.Adam(p, lr=1e-2), lambda p: optim.AdamW(p, lr=1e-2, amsgrad=True),
    lambda p: optim.SGD(p, lr=1e-2, momentum=0.9, weight_decay=0.1), lambda p: optim.RMSprop(p, lr=1e-2, eps=1e-3)])
def test_optimizers_take_the_same_steps(make, dtype, device):
    net, plain = model(device, dtype), model(device, dtype)
    vectors = flatten_parameters(net.parameters())
    assert learn(net, make(vectors)) == learn(plain, make(plain.parameters()))
    same(net, plain)
    check_views(net, vectors[0])


def test_an_optimizer_of_the_parameters_themselves(device):
    net, plain = model(device), model(device)
    (vector,) = flatten_parameters(net.parameters())
    optimizer = optim.Adam(net.parameters())
    learn(net, optimizer, set_to_none=False)
    learn(plain, optim.Adam(plain.parameters()))
    same(net, plain)
    check_views(net, vector)
    learn(net, optimizer, steps=1)  # zero_grad takes the views away
    check_views(net, vector)


def test_gradients_that_were_taken_away_come_back(device):
    net, plain = model(device), model(device)
    (vector,) = flatten_parameters(net.parameters())
    ours, theirs = optim.Adam([vector]), optim.Adam(plain.parameters())
    for _ in range(2):
        for each, optimizer in ((net, ours), (plain, theirs)):
            each.zero_grad()
            (each(lucid.ones(2, 4, device=device)) ** 3).sum().backward()
            optimizer.step()
    same(net, plain)
    check_views(net, vector)
    net.zero_grad()
    net[0].bias.grad = lucid.ones(8, device=device)
    assert vector.grad.sum().item() == 8
    check_views(net, vector)
    vector.grad = lucid.full_like(vector, 2.0)
    assert net[3].bias.grad.cpu().numpy().tolist() == [2, 2, 2]
    vector.grad = None
    assert not net[3].bias.grad.any()
    check_views(net, vector)


def test_clipping_is_one_norm(device):
    net, plain = model(device), model(device)
    vectors = flatten_parameters(net.parameters())
    for each in (net, plain):
        (100 * each(lucid.ones(2, 4, device=device))).sum().backward()
    norm, expected = clip_grad_norm_(vectors, 1.0), clip_grad_norm_(plain.parameters(), 1.0)
    np.testing.assert_allclose(norm.item(), expected.item(), rtol=1e-6)
    for a, b in zip(net.parameters(), plain.parameters(), strict=True):
        np.testing.assert_allclose(values(a.grad), values(b.grad), rtol=1e-5, atol=1e-9)


def test_loading(device):
    net, plain = model(device), model(device)
    (vector,) = flatten_parameters(net.parameters())
    state = {key: value + 1 for key, value in plain.state_dict().items()}
    for assign in (False, True):
        net.load_state_dict(state, assign=assign)
        plain.load_state_dict(state)
        optimizers = optim.SGD([vector], 0.1), optim.SGD(plain.parameters(), 0.1)
        assert learn(net, optimizers[0]) == learn(plain, optimizers[1])
        same(net, plain)
        check_views(net, vector)


def test_moves_and_casts(device):
    net, plain = model("cpu"), model("cpu")
    (vector,) = flatten_parameters(net.parameters())
    ours, theirs = optim.Adam([vector]), optim.Adam(plain.parameters())
    learn(net, ours), learn(plain, theirs)
    net.to(device), plain.to(device)
    assert learn(net, ours) == learn(plain, theirs)
    assert vector.device == device
    check_views(net, vector)
    vector.to("cpu")
    assert all(p.device == "cpu" and p.grad.device == "cpu" for p in net.parameters())
    net.double(), plain.cpu().double()
    assert vector.grad.dtype == vector.dtype == lucid.float64
    same(net, plain)
    check_views(net, vector)


def test_deepcopy_and_pickle(device):
    net = model(device)
    (vector,) = flatten_parameters(net.parameters())
    learn(net, optim.Adam([vector]))
    for other, flat in (copy.deepcopy((net, vector)), pickle.loads(pickle.dumps((net, vector)))):
        same(net, other)
        check_views(other, flat)
        before = values(vector)
        learn(other, optim.SGD([flat], 0.1))
        np.testing.assert_array_equal(values(vector), before)
        assert not np.array_equal(values(flat), before)
        check_views(other, flat)
    alone = copy.deepcopy(net)
    learn(alone, optim.SGD(alone.parameters(), 0.1))
    np.testing.assert_array_equal(values(vector), before)


def test_a_step_is_noticed_by_a_graph_that_needs_the_old_values(device):
    net = model(device)
    (vector,) = flatten_parameters(net.parameters())
    loss = (net(lucid.ones(2, 4, device=device)) ** 2).sum()
    loss.backward(retain_graph=True)
    optim.SGD([vector], 0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_dtypes_frozen_tied_empty_and_0d(device):
    a, b = nn.Parameter(lucid.ones((), device=device)), nn.Parameter(lucid.ones(2, 0, device=device))
    c = nn.Parameter(lucid.arange(6.0, device=device).reshape(2, 3).T)
    double, frozen = nn.Parameter(lucid.ones(2, dtype=lucid.float64)), nn.Parameter(lucid.ones(2), requires_grad=False)
    memory = frozen.data_ptr()
    first, second = flatten_parameters([a, b, c, a, double, frozen])
    assert first.shape == (7,) and second.dtype == lucid.float64 and frozen.data_ptr() == memory and frozen.grad is None
    assert values(first).tolist() == [1, 0, 3, 1, 4, 2, 5] and values(c).tolist() == [[0, 3], [1, 4], [2, 5]]
    (a * 2 + (c * c).sum()).backward()
    assert values(first.grad).tolist() == [2, 0, 6, 2, 8, 4, 10] and b.grad.shape == (2, 0)
    assert flatten_parameters([]) == []


def test_errors(device):
    with pytest.raises(TypeError, match="takes parameters"):
        flatten_parameters([lucid.ones(3, device=device, requires_grad=True)])
    memory = lucid.ones(6, device=device)
    parts = [nn.Parameter(memory[:4]), nn.Parameter(memory[3:])]
    with pytest.raises(ValueError, match="share memory"):
        flatten_parameters(parts)
    assert parts[0].data_ptr() == memory.data_ptr() and parts[0].grad is None
    net = model(device)
    (vector,) = flatten_parameters(net.parameters())
    net[0].double()
    with pytest.raises(RuntimeError, match="one dtype and device, but they have float32 .*float64"):
        optim.SGD([vector], 0.1).step()
