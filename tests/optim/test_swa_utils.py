"""Averages of models where lucid does more than PyTorch: buffers that say what they want, devices, None slots, errors.
tests/parity/test_swa.py compares with PyTorch.
"""
from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lucid
from lucid import nn
from lucid.optim.swa_utils import AveragedModel, get_ema_avg_fn, get_ema_multi_avg_fn, update_bn


class Model(nn.Module):
    """A parameter and buffers, all of which `become` a number."""

    def __init__(self, **buffers):
        super().__init__()
        self.weight = nn.Parameter(lucid.zeros(2))
        for name, buffer in buffers.items():
            setattr(self, name, buffer)

    def become(self, value):
        with lucid.no_grad():
            for tensor in (*self.parameters(), *self.buffers()):
                tensor.fill_(value)
        return self


def ema(model, **options):
    return AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.5), **options)


def follow(average, model, *values):
    for value in values:
        average.update_parameters(model.become(value))


@pytest.mark.parametrize("use_buffers", [False, True])
def test_each_buffer_decides_for_itself(use_buffers, device):
    model = Model(plain=nn.Buffer(lucid.zeros(2)), mean=nn.Buffer(lucid.zeros(2), ema="average"),
                  scale=nn.Buffer(lucid.zeros(2), ema="copy"), count=nn.Buffer(lucid.tensor(0), ema="average"),
                  flag=nn.Buffer(lucid.tensor(False))).to(device)
    average = ema(model, use_buffers=use_buffers)
    follow(average, model, 1.0, 2.0, 4.0)
    copy = average.module
    assert copy.weight.tolist() == copy.mean.tolist() == [2.75, 2.75]
    assert copy.plain.tolist() == ([2.75, 2.75] if use_buffers else [4.0, 4.0])
    assert copy.scale.tolist() == [4.0, 4.0]
    assert copy.count.item() == 4 and copy.count.dtype == lucid.int64  # integers have no average
    assert copy.flag.item() is True
    assert all(buffer.device == device for buffer in copy.buffers())


@pytest.mark.parametrize("options", [{}, {"avg_fn": get_ema_avg_fn(0.5)}, {"multi_avg_fn": get_ema_multi_avg_fn(0.5)}],
                         ids=["default", "avg_fn", "multi_avg_fn"])
def test_every_kind_of_function_averages_buffers(options, device):
    model = Model(mean=nn.Buffer(lucid.zeros(2), ema="average")).to(device)
    average = AveragedModel(model, **options)
    follow(average, model, 1.0, 3.0)
    assert average.module.mean.tolist() == average.module.weight.tolist() == [2.0, 2.0]


def test_handles_of_the_average_stay_the_same_objects(device):
    model = Model(mean=nn.Buffer(lucid.zeros(2), ema="average"), scale=nn.Buffer(lucid.zeros(2))).to(device)
    average = ema(model)
    state = [*average.parameters(), *average.buffers()]
    addresses = [tensor.data_ptr() for tensor in state]
    follow(average, model, 1.0, 2.0)
    assert all(a is b for a, b in zip(state, [*average.parameters(), *average.buffers()], strict=True))
    assert addresses == [tensor.data_ptr() for tensor in state]


def test_model_and_average_may_be_on_different_devices(device):
    model = Model(mean=nn.Buffer(lucid.zeros(2), ema="average"), scale=nn.Buffer(lucid.zeros(2)))
    average = ema(model)
    follow(average, model, 1.0)
    model.to(device)
    follow(average, model, 2.0)
    average.to(device)
    model.cpu()
    follow(average, model, 4.0)
    assert {tensor.device for tensor in (*average.parameters(), *average.buffers())} == {lucid.device(device)}
    assert average.module.weight.tolist() == average.module.mean.tolist() == [2.75, 2.75]
    assert average.module.scale.tolist() == [4.0, 4.0] and average.n_averaged.item() == 3


def test_the_device_argument(device):
    model = Model(scale=nn.Buffer(lucid.zeros(2)))
    average = ema(model, device=device)
    follow(average, model, 1.0, 2.0)
    assert {tensor.device for tensor in (*average.parameters(), *average.buffers())} == {lucid.device(device)}
    assert model.weight.device == "cpu" and average.n_averaged.device == device
    assert average.module.weight.tolist() == [1.5, 1.5]


def test_averaging_does_not_move_the_count(device):
    """`Buffer.to(device)` moves the buffer itself; the functions get their number on the device of the parameters."""
    devices = []

    def remember(averages, values, number):
        devices.append((averages[0].device, values[0].device, number.device))

    model = Model().to(device)
    average = AveragedModel(model, multi_avg_fn=remember)
    average.n_averaged.to("cpu")
    follow(average, model, 1.0, 2.0)
    assert devices == [(lucid.device(device),) * 3] and average.n_averaged.device == "cpu"


@pytest.mark.parametrize("wish", [None, "average", "copy"])
def test_buffers_that_appear_grow_and_disappear(wish, device):
    model = Model(cache=nn.Buffer(lucid.zeros(1), ema=wish, resizable=True)).to(device)
    model.register_buffer("late", None, persistent=False)
    average = ema(model)
    model.late = lucid.full((2,), 3.0, device=device)
    model.cache = lucid.full((3,), 5.0, device=device)
    average.update_parameters(model)
    copied = average.module
    assert copied.late.tolist() == [3.0, 3.0] and copied.cache.tolist() == [5.0] * 3
    assert copied.late.device == copied.cache.device == device
    assert "module.late" not in average.state_dict()
    model.become(7.0)
    assert copied.late.tolist() == [3.0, 3.0] and copied.cache.tolist() == [5.0] * 3  # memory of their own
    average.update_parameters(model)
    assert copied.cache.tolist() == ([6.0] * 3 if wish == "average" else [7.0] * 3)
    model.late = None
    average.update_parameters(model)
    assert copied.late is None


def test_tied_buffers_are_averaged_once(device):
    model = Model(mean=nn.Buffer(lucid.zeros(2), ema="average"))
    model.alias = model.mean
    model.to(device)
    average = ema(model)
    follow(average, model, 1.0, 3.0)
    assert average.module.alias is average.module.mean
    assert average.module.mean.tolist() == [2.0, 2.0]


def test_a_model_with_other_buffers_changes_nothing(device):
    model = Model(scale=nn.Buffer(lucid.zeros(2))).to(device)
    average = ema(model)
    model.become(1.0).register_buffer("more", lucid.zeros(1, device=device))
    with pytest.raises(ValueError, match="has 1 buffers, but the model 2"):
        average.update_parameters(model)
    assert average.module.weight.tolist() == [0.0, 0.0] and average.n_averaged.item() == 0


def test_integer_parameters_are_copied(device):
    model = nn.Module()
    model.table = nn.Parameter(lucid.tensor([1, 2], device=device), requires_grad=False)
    for options in ({}, {"avg_fn": get_ema_avg_fn(0.5)}):
        average = AveragedModel(model, **options)
        for value in (3, 4, 9):
            with lucid.no_grad():
                model.table.fill_(value)
            average.update_parameters(model)
        assert average.module.table.tolist() == [9, 9]


def test_a_model_without_parameters():
    average = AveragedModel(nn.ReLU())
    for _ in range(2):
        average.update_parameters(nn.ReLU())
    assert average.n_averaged.item() == 2


def test_complex_parameters(device):
    model = nn.Module()
    model.weight = nn.Parameter(lucid.tensor([1 + 2j, 3 - 1j], device=device))
    average = AveragedModel(model)
    average.update_parameters(model)
    with lucid.no_grad():
        model.weight.mul_(3)
    average.update_parameters(model)
    np.testing.assert_allclose(np.array(average.module.weight.tolist()), [2 + 4j, 6 - 2j])


def test_nothing_is_recorded_and_the_optimizer_is_left_alone(device):
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).to(device)
    optimizer = lucid.optim.Adam(model.parameters(), lr=0.1)
    model(lucid.randn(4, 2, device=device)).square().sum().backward()
    optimizer.step()
    before = copy.deepcopy(optimizer.state_dict())
    average = ema(model, use_buffers=True)
    for _ in range(2):
        average.update_parameters(model)
    assert all(p.is_leaf and p.requires_grad and p.grad is None for p in average.parameters())
    assert all(not b.requires_grad for b in average.buffers())
    after = optimizer.state_dict()
    for number, state in before["state"].items():
        assert all(lucid.equal(value, after["state"][number][key]) for key, value in state.items())
    assert all(a is b for a, b in zip(optimizer.param_groups[0]["params"], model.parameters(), strict=True))
    model(lucid.randn(4, 2, device=device)).sum().backward()
    optimizer.step()


@pytest.mark.parametrize("duplicated", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_an_average_is_copied_and_pickled_with_its_state(duplicated, device):
    model = Model(mean=nn.Buffer(lucid.zeros(2), ema="average")).to(device)
    average = AveragedModel(model)
    follow(average, model, 1.0, 3.0)
    duplicate = duplicated(average)
    follow(average, model, 5.0)
    assert duplicate.module.mean.tolist() == [2.0, 2.0] and duplicate.n_averaged.item() == 2
    follow(duplicate, model, 5.0)
    assert duplicate.module.mean.tolist() == average.module.mean.tolist() == [3.0, 3.0]


def test_state_is_saved_and_loaded(tmp_path, device):
    model = Model(mean=nn.Buffer(lucid.zeros(2), ema="average")).to(device)
    average = AveragedModel(model)
    follow(average, model, 1.0, 3.0)
    lucid.save(average.state_dict(), tmp_path / "average.safetensors")
    other = AveragedModel(Model(mean=nn.Buffer(lucid.zeros(2), ema="average")).to(device))
    other.load_state_dict(lucid.load(tmp_path / "average.safetensors"))
    follow(other, model, 5.0)
    assert other.module.mean.tolist() == [3.0, 3.0]


def test_update_bn_moves_batches_and_restores_everything_after_an_error(device):
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3, momentum=0.3)).to(device).eval()
    update_bn([lucid.randn(4, 2), (lucid.randn(4, 2), "label")], model, device=device)
    assert model[1].num_batches_tracked.item() == 2 and model[1].momentum == 0.3 and not model[1].training

    def broken():
        yield lucid.randn(4, 2)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk"):
        update_bn(broken(), model, device=device)
    assert model[1].momentum == 0.3 and not model.training
