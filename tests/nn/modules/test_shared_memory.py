"""Tensors and modules in shared memory: other processes see what is written, and write themselves."""
from __future__ import annotations

import copy
import multiprocessing
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import Tensor, data, nn

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="descriptors are sent to other processes as POSIX has it")


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.turned = nn.Parameter(self.linear.weight.data.t())
        self.count = nn.Buffer(lucid.zeros(4, dtype=lucid.int64)[1:3])


def write(model: Model, tensor: Tensor, queue: Any) -> None:
    """What the other process does."""
    with lucid.no_grad():
        model.turned.fill_(7)
        model.linear.weight.grad.fill_(2)
    model.count += 3
    tensor[1] = 5
    queue.put((model.linear.weight[0, 0].item(), tensor.is_shared(), tensor[2:]))
    queue.get()


def test_another_process_writes() -> None:
    model = Model()
    model.linear.weight.grad = lucid.zeros(3, 2)
    before = {id(parameter) for parameter in model.parameters()}
    assert model.share_memory() is model
    assert {id(parameter) for parameter in model.parameters()} == before
    tensor = lucid.zeros(4).share_memory_()
    context = multiprocessing.get_context("forkserver")
    queue = context.Queue()
    process = context.Process(target=write, args=(model, tensor, queue))
    process.start()
    element, shared, rest = queue.get(timeout=120)
    queue.put(None)
    process.join(120)
    assert (process.exitcode, element, shared, rest.is_shared()) == (0, 7.0, True, True)
    assert model.linear.weight.tolist() == [[7.0, 7.0]] * 3
    assert model.linear.weight.grad.tolist() == [[2.0, 2.0]] * 3
    assert model.count.tolist() == [3, 3]
    assert tensor.tolist() == [0.0, 5.0, 0.0, 0.0]
    rest[0] = 9.0  # came back by handle, after the process has ended
    assert tensor.tolist() == [0.0, 5.0, 9.0, 0.0]


class Table(data.Dataset[int]):
    """Counts in shared memory how often each sample was asked for."""

    def __init__(self) -> None:
        self.asked = lucid.zeros(4, dtype=lucid.int64).share_memory_()

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        self.asked[index] += 1
        return index


def test_loader_workers_write() -> None:
    table = Table()
    for _ in range(2):
        assert sorted(data.DataLoader(table, batch_size=None, num_workers=2)) == [0, 1, 2, 3]
    assert table.asked.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("dtype", [lucid.bool, lucid.int8, lucid.bfloat16, lucid.complex64], ids=str)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)], ids=str)
def test_any_tensor(shape: Any, dtype: Any) -> None:
    tensor = lucid.ones(*shape, dtype=dtype)
    assert not tensor.is_shared()
    expected, strides = tensor.tolist(), tensor.stride()
    assert tensor.share_memory_() is tensor
    assert tensor.is_shared()
    assert (tensor.tolist(), tensor.dtype) == (expected, dtype)
    assert tensor.stride() == strides or 0 in shape
    pointer = tensor.data_ptr()
    assert tensor.share_memory_().data_ptr() == pointer


def test_layout_and_views() -> None:
    base = lucid.arange(6.0).view(2, 3).t().contiguous(memory_format=lucid.contiguous_format)
    turned = base.t()
    row = base[1:]
    row.share_memory_()
    assert base.is_shared() and turned.is_shared()
    assert turned.stride() == (1, 2)
    row[0, 0] = 50.0
    assert base[1, 0].item() == turned[0, 1].item() == 50.0
    channels = lucid.ones(2, 3, 4, 5).contiguous(memory_format=lucid.channels_last).share_memory_()
    assert channels.is_contiguous(memory_format=lucid.channels_last)


def test_gradients_and_versions_go_on() -> None:
    x = lucid.ones(2, requires_grad=True)
    y = x * 3
    z = y * y
    y.share_memory_()
    z.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [18.0, 18.0]
    y = (x * 3).exp()
    saved = y * y
    y.share_memory_()
    with lucid.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()


def test_copies_and_other_pickles_hold_the_elements() -> None:
    tensor = lucid.ones(2).share_memory_()
    for other in (copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor)), tensor.clone()):
        other[0] = 5.0
        assert not other.is_shared()
    assert tensor.tolist() == [1.0, 1.0]
    array = tensor.numpy()
    array[0] = 3.0
    assert tensor.tolist() == [3.0, 1.0]
    del tensor
    assert np.array_equal(array, [3.0, 1.0])  # it keeps the memory alive


def test_the_memory_goes_away_with_the_last_tensor() -> None:
    import os

    before = len(os.listdir("/dev/fd"))
    tensors = [lucid.ones(3).share_memory_() for _ in range(20)]
    views = [tensor[1:] for tensor in tensors]
    assert len(os.listdir("/dev/fd")) >= before + 20
    del tensors, views
    assert len(os.listdir("/dev/fd")) <= before + 1


def test_devices(device: str) -> None:
    tensor = lucid.ones(2, device=device)
    assert tensor.is_shared() is (device == "gpu")
    assert tensor.share_memory_() is tensor
    assert tensor.is_shared()
    module = nn.Linear(2, 2, device=device).share_memory()
    assert module.weight.is_shared() and module.weight.device == device


def test_what_has_no_memory() -> None:
    meta = lucid.ones(2, device="meta")
    assert not meta.is_shared()
    with pytest.raises(RuntimeError, match="share_memory_"):
        meta.share_memory_()
    model = nn.Sequential(nn.Linear(2, 2), nn.LazyLinear(3))
    with pytest.raises(RuntimeError, match="uninitialized"):
        model.share_memory()
    assert not model[0].weight.is_shared()


def test_a_shared_module_trains_and_moves(device: str) -> None:
    model = nn.Linear(2, 2).share_memory()
    optimizer = lucid.optim.Adagrad(model.parameters())
    optimizer.share_memory()
    assert all(state["sum"].is_shared() for state in optimizer.state.values())
    model(lucid.ones(1, 2)).sum().backward()
    optimizer.step()
    assert model.weight.is_shared()
    model.to(device)
    assert model(lucid.ones(1, 2, device=device)).shape == (1, 2)
