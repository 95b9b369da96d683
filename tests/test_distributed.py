"""Groups of one process, and the wrappers of modules for several devices."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import lucid
from lucid import distributed as dist
from lucid import nn


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    dist.init_process_group("gloo")
    yield
    dist.destroy_process_group()


def test_nothing_is_available_before_a_group_is_made() -> None:
    assert not dist.is_available() and not dist.is_initialized() and not dist.is_nccl_available()
    for call in (dist.get_rank, dist.get_world_size, dist.barrier, lambda: dist.all_reduce(lucid.ones(2))):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()


@pytest.mark.usefixtures("group")
def test_a_group_has_one_process() -> None:
    assert dist.is_initialized() and dist.get_rank() == 0 and dist.get_world_size() == 1 and dist.get_backend() == "gloo"
    assert dist.get_process_group_ranks(dist.group.WORLD) == [0]
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo")
    assert dist.new_group([0]).size() == 1 and dist.new_group([]) == dist.GroupMember.NON_GROUP_MEMBER
    with pytest.raises(ValueError, match="world_size"):
        dist.new_group([0, 1])


def test_more_processes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="one process"):
        dist.init_process_group("gloo", world_size=2, rank=0)
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(RuntimeError, match="not 4"):
        dist.init_process_group("gloo")
    assert not dist.is_initialized()


@pytest.mark.usefixtures("group")
def test_collectives(device: str) -> None:
    x = lucid.arange(4.0, device=device)
    for reduction in (dist.all_reduce, dist.reduce, dist.broadcast):
        assert reduction(x, async_op=True).wait() and x.tolist() == [0, 1, 2, 3]

    def fresh() -> Any:
        return lucid.full((4,), -1.0, device=device)

    for fill in (lambda y: dist.all_gather([y], x), lambda y: dist.all_gather_into_tensor(y, x), lambda y: dist.gather(x, [y]),
                 lambda y: dist.scatter(y, [x]), lambda y: dist.reduce_scatter(y, [x]), lambda y: dist.all_to_all([y], [x]),
                 lambda y: dist.reduce_scatter_tensor(y, x), lambda y: dist.all_to_all_single(y, x)):
        result = fresh()
        assert fill(result) is None and result.tolist() == [0, 1, 2, 3]
    objects = [None]
    dist.all_gather_object(objects, {"a": 1})
    assert objects == [{"a": 1}]
    dist.broadcast_object_list(objects, src=0)
    with pytest.raises(ValueError, match="list of one"):
        dist.all_gather([x, x], x)
    with pytest.raises(ValueError, match="rank 1"):
        dist.broadcast(x, src=1)
    with pytest.raises(ValueError, match="destination rank"):
        dist.send(x, 0)


@pytest.mark.usefixtures("group")
def test_wrapped_modules(device: str) -> None:
    for wrap in (nn.DataParallel, nn.parallel.DistributedDataParallel):
        inner = nn.Linear(3, 2, device=device)
        model = wrap(inner)
        x = lucid.ones(4, 3, device=device)
        assert model(x).tolist() == inner(x).tolist()
        assert [*model.state_dict()] == ["module.weight", "module.bias"]
        with pytest.raises(RuntimeError, match="one device"):
            wrap(inner, device_ids=[0, 1])
    with model.no_sync():
        assert not model.require_backward_grad_sync
    with pytest.raises(RuntimeError, match="any parameter that requires a gradient"):
        nn.parallel.DistributedDataParallel(nn.ReLU())


def test_batch_norms_become_synchronised_ones() -> None:
    model = nn.Sequential(nn.Conv1d(2, 3, 1), nn.BatchNorm1d(3), nn.ModuleList([nn.BatchNorm1d(4)])).eval()
    changed = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert changed is model and isinstance(model[1], nn.SyncBatchNorm) and isinstance(model[2][0], nn.SyncBatchNorm)
    assert not model[1].training and [*model[1].state_dict()] == [*nn.BatchNorm1d(3).state_dict()]
    x = lucid.randn(5, 3, 4)
    assert nn.SyncBatchNorm(3)(x).tolist() == nn.BatchNorm1d(3)(x).tolist()
    with pytest.raises(ValueError, match="at least 2D"):
        nn.SyncBatchNorm(3)(lucid.ones(3))
