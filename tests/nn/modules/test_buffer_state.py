"""The state of buffers: their options, tracked graphs, snapshots, and what a state dict may fill, resize, leave out."""
from __future__ import annotations

import copy
import gc
import io
import pickle
import threading
import weakref
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

import lucid
from lucid import Tensor, nn


def mask() -> Tensor:
    return lucid.ones(3)


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


class Recurrent(nn.Module):
    """A state that the next step reads."""

    def __init__(self, track_grad: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(lucid.full((2,), 0.5))
        self.h = nn.Buffer(lucid.ones(2), track_grad=track_grad)

    def forward(self, x: Tensor) -> Tensor:
        self.h = lucid.tanh(self.h * self.weight + x)
        return self.h


class Slots(nn.Module):
    """One buffer of each kind that a state dict may change the shape of."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(lucid.ones(2))
        self.register_buffer("slot", None)
        self.register_buffer("scratch", None, persistent=False)
        self.cache = nn.Buffer(lucid.zeros(0, 2), resizable=True)
        self.mask = nn.Buffer(lucid.ones(2), persistent=False)


def state_of(**entries: Tensor) -> dict[str, Tensor]:
    return {"weight": lucid.full((2,), 5.0), "cache": lucid.zeros(0, 2)} | entries


def content(module: nn.Module) -> dict[str, Any]:
    return {name: value if not isinstance(value, Tensor) else value.tolist() for name, value in module.state_dict().items()}


# ---- options ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled], ids=["deepcopy", "pickle"])
def test_options_survive_copies_moves_and_assignment(duplicate: Any, device: str) -> None:
    options = {"track_grad": True, "resizable": True, "init": mask, "cast": False, "ema": "copy", "persistent": False}
    module = nn.Module()
    module.b = nn.Buffer(lucid.zeros(3), **options)
    module.to(device)
    module.b = lucid.ones(3, device=device)
    for owner in (module, duplicate(module)):
        assert {name: getattr(owner.b, name) for name in options} == options
        assert not list(owner.state_dict())


def test_a_module_shows_the_options_of_its_buffers() -> None:
    module = nn.Module()
    module.plain = nn.Buffer(lucid.zeros(1))
    module.all = nn.Buffer(init=mask, track_grad=True, resizable=True, cast=False, ema="copy", persistent=False)
    assert repr(module) == """Module(
  (plain): Buffer(shape=(1,), dtype=float32)
  (all): Buffer(shape=(3,), dtype=float32, non-persistent, track_grad, resizable, init=mask, cast=False, ema='copy')
)"""


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="ema must be"):
        nn.Buffer(1.0, ema="mean")
    with pytest.raises(TypeError, match="init must be a function"):
        nn.Buffer(init=3)  # type: ignore[arg-type]


def test_registration_decides_about_persistence() -> None:
    module, buffer = nn.Module(), nn.Buffer([1.0])
    module.register_buffer("b", buffer, persistent=False)
    assert buffer.persistent is False
    assert module.b is buffer
    assert not list(module.state_dict())
    module.b += 1  # PyTorch registers it anew, as persistent
    assert not list(module.state_dict())
    module.register_buffer("b", buffer)
    assert buffer.persistent is True
    assert list(module.state_dict()) == ["b"]


def test_a_registered_buffer_keeps_its_options() -> None:
    module, buffer = nn.Module(), nn.Buffer(lucid.ones(2), track_grad=True)
    weight = lucid.ones(2, requires_grad=True)
    buffer.assign(weight * 2)
    module.register_buffer("b", buffer)
    assert module.b is buffer
    assert buffer.grad_fn is not None


# ---- graphs ----------------------------------------------------------------------------------------------------------
def test_a_loop_through_a_buffer_never_leaks(device: str) -> None:
    module = Recurrent().to(device)
    buffer, x = module.h, lucid.ones(2, device=device)
    nodes = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(50):
            loss = module(x).sum() + (module.weight * module.h).sum()
            nodes.append(weakref.ref(loss.grad_fn))
            loss.backward()
            del loss
            assert buffer.grad_fn is None
        assert not any(node() for node in nodes)
    finally:
        gc.enable()
    assert module.h is buffer
    assert copy.deepcopy(module).h.tolist() == buffer.tolist()


def test_a_tracked_buffer_keeps_the_graph(device: str) -> None:
    module, x = Recurrent(track_grad=True).to(device), lucid.zeros(2, device=device)
    buffer = module.h
    module(x)
    module(x)
    assert module.h is buffer
    assert buffer.grad_fn is not None
    buffer.sum().backward()
    w = 0.5
    first = lucid.tanh(lucid.tensor(w))
    expected = (1 - lucid.tanh(w * first) ** 2) * (first + w * (1 - first ** 2))
    assert module.weight.grad[0].item() == pytest.approx(expected.item())
    with pytest.raises(RuntimeError, match="second time"):
        module(x).sum().backward()


def test_truncated_backpropagation_with_detach(device: str) -> None:
    module, x = Recurrent(track_grad=True).to(device), lucid.ones(2, device=device)
    for _ in range(3):
        module(x).sum().backward()
        module.h.detach_()
        assert module.h.is_leaf
        assert not module.h.requires_grad
    assert copy.deepcopy(module).h.track_grad


def test_state_dict_detaches_a_tracked_buffer_and_loading_cuts_its_graph() -> None:
    module = Recurrent(track_grad=True)
    module(lucid.ones(2))
    state = module.state_dict()
    assert not state["h"].requires_grad
    assert module.state_dict(keep_vars=True)["h"].grad_fn is not None
    assert not module.state_dict(copy=True)["h"].requires_grad
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(module)
    module.load_state_dict({"weight": lucid.ones(2), "h": lucid.zeros(2)})
    assert module.h.grad_fn is None
    assert copy.deepcopy(module).h.tolist() == [0.0, 0.0]


def test_moving_a_module_keeps_the_graph_of_a_tracked_buffer(device: str) -> None:
    module = Recurrent(track_grad=True)
    weight = lucid.ones(2, requires_grad=True)
    module.h = weight * 3
    buffer = module.h
    module.to(device).double()
    assert module.h is buffer
    assert (buffer.device, buffer.dtype) == (device, lucid.float64)
    buffer.to("cpu")
    buffer.sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [3.0, 3.0]


def test_a_tracked_buffer_is_what_was_assigned_to_it(device: str) -> None:
    module = Recurrent(track_grad=True).to(device)
    weight = lucid.ones(2, requires_grad=True, device=device)
    y = weight * 2
    module.h = y
    y.mul_(3)  # seen by both, as if they were one
    module.h.mul_(5)
    assert y.tolist() == module.h.tolist() == [30.0, 30.0]
    (y + module.h).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [60.0, 60.0]
    z = weight * 7
    module.h = z
    y.detach_()
    module.h = y  # back, registered once
    y.add_(weight)
    assert module.h.grad_fn is not None
    module.h = z
    y.add_(weight)
    assert module.h.tolist() == [7.0, 7.0]
    weight.grad = None
    module.h.sum().backward()
    assert weight.grad.tolist() == [7.0, 7.0]


def test_a_leaf_assigned_to_a_tracked_buffer_gets_the_gradient() -> None:
    module = Recurrent(track_grad=True)
    buffer = module.h
    start = lucid.zeros(2, requires_grad=True)
    module.h = start
    assert module.h is buffer
    assert buffer.is_leaf
    (buffer * 3).sum().backward()
    assert start.grad is not None
    assert start.grad.tolist() == [3.0, 3.0]
    assert buffer.grad is start.grad
    buffer.grad = None
    assert start.grad is None
    with pytest.raises(RuntimeError, match="leaf Variable"):
        buffer.add_(1)
    module.h = lucid.zeros(2, requires_grad=True)  # nobody else holds it
    gc.collect()
    (module.h * 4).sum().backward()
    assert module.h.grad.tolist() == [4.0, 4.0]
    del module.h.grad
    assert module.h.grad is None
    twin = copy.deepcopy(module)
    assert twin.h.requires_grad
    (twin.h * 5).sum().backward()
    assert twin.h.grad.tolist() == [5.0, 5.0]
    assert module.h.grad is None


def test_a_tracked_buffer_makes_no_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        module = Recurrent(track_grad=True)
        y = module(lucid.ones(2)) * module.h
        node = weakref.ref(module.h.grad_fn)
        del module, y
        assert node() is None
    finally:
        gc.enable()


def test_views_of_a_buffer_stay_with_the_memory_they_see(device: str) -> None:
    module = Recurrent().to(device)
    weight = lucid.full((2,), 4.0, requires_grad=True, device=device)
    whole, first = module.h[:], module.h[:1]
    module.h = lucid.full((2,), 9.0, device=device)
    first.mul_(weight[:1])
    assert module.h.tolist() == [9.0, 9.0]
    assert not module.h.requires_grad
    assert whole.tolist() == [4.0, 1.0]
    whole.sum().backward()  # the write to one view is part of the history of the other
    assert weight.grad is not None
    assert weight.grad.tolist() == [1.0, 0.0]


def test_views_of_a_moved_buffer_are_tensors_of_their_own(device: str) -> None:
    module = Recurrent()
    weight = lucid.full((1,), 4.0, requires_grad=True)
    view = module.h[:1]
    module.to(device).double()
    view.mul_(weight)
    assert not module.h.requires_grad
    assert module.h.tolist() == [1.0, 1.0]
    view.sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [1.0]


# ---- the error about an in-place write -------------------------------------------------------------------------------
def failure(loss: Tensor) -> str:
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        loss.backward()
    return str(caught.value)


def test_the_error_names_buffer_op_and_versions(device: str) -> None:
    model = nn.Sequential(Recurrent()).to(device)
    cell = model[0]
    y = (cell.weight * cell.h).sum()
    saved = cell.h._version
    cell.h.add_(1)
    message = failure(y)
    for part in ("buffer '0.h'", "op 'mul'", f"version {saved + 1};", f"saved version {saved}", "float32[2]"):
        assert part in message


def test_the_error_names_a_view_of_a_buffer() -> None:
    model = nn.Sequential(Recurrent())
    y = (model[0].weight[:1] * model[0].h[:1]).sum()
    model[0].h.add_(1)
    assert "buffer '0.h'" in failure(y)


def test_the_error_names_a_buffer_that_was_assigned_since(device: str) -> None:
    model = nn.Sequential(Recurrent()).to(device)
    y = (model[0].weight * model[0].h).sum()
    old = model[0].h.detach()
    model[0].h = lucid.ones(2, device=device)
    old.zero_()
    assert "buffer '0.h'" in failure(y)


def test_the_error_names_a_buffer_that_was_cast_since() -> None:
    model = nn.Sequential(Recurrent())
    y = (lucid.ones(2, requires_grad=True) * model[0].h).sum()
    model.double()
    assert "buffer '0.h'" in failure(y)


# ---- None slots ------------------------------------------------------------------------------------------------------
def test_a_none_slot_takes_a_copy(device: str) -> None:
    module = Slots().to(device)
    loaded = lucid.arange(3)
    assert repr(module.load_state_dict(state_of(slot=loaded))) == "<All keys matched successfully>"
    assert type(module.slot) is nn.Buffer
    assert (module.slot.dtype, module.slot.device) == (lucid.int64, device)
    loaded.fill_(7)
    assert module.slot.tolist() == [0, 1, 2]
    assert list(module.state_dict()) == ["weight", "slot", "cache"]
    module.load_state_dict(state_of(slot=lucid.zeros(3)))  # now it is a buffer like any other
    assert module.slot.dtype == lucid.int64


def test_a_none_slot_takes_the_memory_with_assign() -> None:
    module, loaded = Slots(), lucid.ones(3, requires_grad=True)
    module.load_state_dict(state_of(slot=loaded), assign=True)
    assert not module.slot.requires_grad
    with lucid.no_grad():
        loaded.fill_(7.0)
    assert module.slot.tolist() == [7.0] * 3


def test_a_none_slot_may_stay_empty_and_a_failed_load_leaves_it_so() -> None:
    module = Slots()
    module.load_state_dict(state_of())
    assert module.slot is None
    for broken in ({"slot": [1.0]}, {"slot": lucid.ones(1), "weight": lucid.ones(3)}, {"slot": lucid.ones(1), "more": lucid.ones(1)}):
        with pytest.raises(RuntimeError, match="Error"):
            module.load_state_dict(state_of(**broken))  # type: ignore[arg-type]
        assert module.slot is None
        assert module.weight.tolist() == [5.0, 5.0]


def test_what_a_constructor_left_out_stays_unexpected() -> None:
    norm = nn.BatchNorm1d(2, track_running_stats=False)
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "running_mean"'):
        norm.load_state_dict(norm.state_dict() | {"running_mean": lucid.zeros(2)})
    linear = nn.Linear(2, 2, bias=False)
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "bias"'):
        linear.load_state_dict(nn.Linear(2, 2).state_dict())
    loss = nn.CrossEntropyLoss()
    with pytest.raises(RuntimeError, match="Unexpected"):
        loss.load_state_dict({"weight": lucid.ones(2)})


def test_a_slot_cannot_be_filled_without_elements() -> None:
    module = Slots()
    with pytest.raises(RuntimeError, match='While copying the parameter named "slot".*no data'):
        module.load_state_dict(state_of(slot=lucid.ones(1, device="meta")))
    module.load_state_dict(state_of(slot=lucid.ones(1, device="meta")), assign=True)
    assert module.slot.device == "meta"


# ---- resizable -------------------------------------------------------------------------------------------------------
def test_a_resizable_buffer_takes_another_shape(device: str) -> None:
    module = Slots().to(device)
    buffer, loaded = module.cache, lucid.ones(3, 2, dtype=lucid.float64)
    module.load_state_dict(state_of(cache=loaded))
    assert module.cache is buffer
    assert (tuple(buffer.shape), buffer.dtype, buffer.device) == ((3, 2), lucid.float32, device)
    loaded.zero_()
    assert buffer.sum().item() == 6.0
    array = buffer._array
    module.load_state_dict(state_of(cache=lucid.zeros(3, 2)))  # the same shape: the same memory
    assert buffer._array is array
    module.load_state_dict(state_of(cache=lucid.ones(1)))
    assert tuple(buffer.shape) == (1,)


def test_others_have_a_size_mismatch_and_nothing_changes() -> None:
    module = Slots()
    for strict in (True, False):
        with pytest.raises(RuntimeError, match="size mismatch for weight"):
            module.load_state_dict(state_of(cache=lucid.ones(3, 2), weight=lucid.ones(3)), strict=strict)
        assert tuple(module.cache.shape) == (0, 2)


def test_resized_buffers_over_one_array_stay_tied() -> None:
    module, shared = nn.Module(), lucid.zeros(2)
    module.a, module.b = nn.Buffer(shared, resizable=True), nn.Buffer(shared, resizable=True)
    module.load_state_dict({"a": lucid.ones(3), "b": lucid.full((3,), 2.0)})
    module.a.add_(1)
    assert module.a.tolist() == module.b.tolist() == [3.0] * 3


# ---- keys that are left out ------------------------------------------------------------------------------------------
def test_keys_of_non_persistent_buffers_are_passed_over() -> None:
    module = Slots()
    keys = module.load_state_dict(state_of(mask=lucid.zeros(7), scratch=lucid.zeros(1)))
    assert keys == ([], [])
    assert module.mask.tolist() == [1.0, 1.0]
    assert module.scratch is None
    assert module.load_state_dict({"mask": lucid.zeros(7)}, strict=False).unexpected_keys == []
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "mask.x"'):
        module.load_state_dict(state_of(**{"mask.x": lucid.zeros(1)}))


def test_ignored_keys_are_neither_loaded_nor_reported() -> None:
    model = nn.Sequential(OrderedDict(body=nn.Linear(2, 2), head=nn.Linear(2, 2)))
    before = content(model)
    state = {"body.weight": lucid.ones(2, 2), "head.weight": lucid.ones(5, 2), "old.mask": lucid.ones(1)}
    keys = model.load_state_dict(state, strict={"ignore": ["head.*", "*.mask", "body.bia[rs]"]})
    assert keys == ([], [])
    assert content(model) == before | {"body.weight": [[1.0, 1.0], [1.0, 1.0]]}
    with pytest.raises(RuntimeError) as caught:
        model.load_state_dict(state, strict={"ignore": ["head.*"]})
    assert str(caught.value) == ('Error(s) in loading state_dict for Sequential:\n\tMissing key(s) in state_dict: "body.bias". '
                                 '\n\tUnexpected key(s) in state_dict: "old.mask". ')


@pytest.mark.parametrize(("strict", "error", "message"), [
    ({"ignored": ["x"]}, ValueError, "ignored"), ({}, ValueError, "strict takes True, False or"),
    ({"ignore": ["x"], "more": 1}, ValueError, "more"), ({"ignore": "head.*"}, TypeError, "list of patterns"),
    ({"ignore": [3]}, TypeError, "list of patterns")])
def test_a_wrong_strict_is_an_error(strict: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        Slots().load_state_dict(state_of(), strict=strict)


# ---- snapshots -------------------------------------------------------------------------------------------------------
def test_a_snapshot_does_not_change(device: str) -> None:
    class Extra(Slots):
        def get_extra_state(self) -> Any:
            return self.log

    module = Extra().to(device)
    module.log = [1]
    module.tied = module.weight
    alias, snapshot = module.state_dict(), module.state_dict(copy=True)
    assert list(snapshot) == list(alias)
    assert snapshot._metadata == alias._metadata
    with lucid.no_grad():
        module.weight.fill_(9.0)
    module.log.append(2)
    assert alias["weight"].tolist() == [9.0, 9.0]
    assert snapshot["weight"].tolist() == [1.0, 1.0]
    assert snapshot["weight"].device == device
    assert snapshot["_extra_state"] == [1]
    snapshot["weight"].zero_()
    assert snapshot["tied"].tolist() == [0.0, 0.0]
    assert module.weight.tolist() == [9.0, 9.0]


def test_a_snapshot_into_a_destination_copies_only_what_is_new() -> None:
    kept = lucid.zeros(1)
    given: dict[str, Any] = {"kept": kept}
    module = Slots()
    assert module.state_dict(destination=given, prefix="m.", copy=True) is given
    assert list(given) == ["kept", "m.weight", "m.cache"]
    assert given["kept"] is kept
    module.weight.data.fill_(3.0)
    assert given["m.weight"].tolist() == [1.0, 1.0]
    variables = module.state_dict(keep_vars=True, copy=True)
    assert isinstance(variables["weight"], nn.Parameter)
    assert variables["weight"] is not module.weight


def test_a_saved_file_is_a_snapshot(tmp_path: Path, device: str) -> None:
    module, path = Slots().to(device), tmp_path / "model.safetensors"
    lucid.save(module.state_dict(), path)
    module.weight.data.fill_(9.0)
    assert lucid.load(path)["weight"].tolist() == [1.0, 1.0]


def test_saving_what_another_thread_writes_fails_and_keeps_the_old_file(tmp_path: Path) -> None:
    module, path = Slots(), tmp_path / "model.safetensors"
    lucid.save(module.state_dict(), path)

    class Slow(io.BytesIO):
        def write(self, data: Any) -> int:
            thread = threading.Thread(target=step)
            thread.start()
            thread.join()
            return super().write(data)

    def step() -> None:
        with lucid.no_grad():
            module.weight.add_(1)

    with pytest.raises(RuntimeError, match=r"'weight' was written by another thread.*state_dict\(copy=True\)"):
        lucid.save(module.state_dict(), Slow())
    lucid.save(module.state_dict(copy=True), Slow())
    assert lucid.load(path)["weight"].tolist() == [1.0, 1.0]


# ---- a failed load changes nothing -----------------------------------------------------------------------------------
class Writes(Slots):
    """Overrides what users override, and writes at once where they might."""

    epoch = 0

    def __init__(self) -> None:
        super().__init__()
        self.stat = nn.Buffer(lucid.zeros(1))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        if prefix + "stat" in state_dict:
            self.stat.copy_(state_dict.pop(prefix + "stat"))
            self.cache = lucid.ones(4)
            self.weight.data.fill_(8.0)
            self.register_buffer("fresh", lucid.ones(1))
            self.epoch = 3
        super()._load_from_state_dict(state_dict, prefix, *rest)


def test_a_failed_load_undoes_overridden_methods(device: str) -> None:
    model = nn.Sequential(Writes(), nn.Linear(1, 1)).to(device)
    cache, before = model[0].cache, content(model)
    state = model.state_dict() | {"0.stat": lucid.ones(1), "1.weight": lucid.ones(7)}
    with pytest.raises(RuntimeError, match="size mismatch"):
        model.load_state_dict(state)
    assert content(model) == before
    assert model[0].cache is cache
    assert tuple(cache.shape) == (0, 2)
    assert not hasattr(model[0], "fresh")
    assert model[0].epoch == 0


@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("where", ["pre", "post", "extra"])
def test_an_error_of_a_user_changes_nothing(where: str, assign: bool, device: str) -> None:
    class Extra(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.epochs = [1]

        def get_extra_state(self) -> Any:
            return self.epochs

        def set_extra_state(self, state: Any) -> None:
            self.epochs[:] = state
            if state == [13]:
                raise ValueError("unlucky")

    def fail(*args: Any) -> None:
        model[0].weight.data.zero_()
        raise ValueError("unlucky")

    model = nn.Sequential(Slots(), nn.Linear(1, 1), Extra()).to(device)
    if where == "pre":
        model[0].register_load_state_dict_pre_hook(fail)
    elif where == "post":
        model.register_load_state_dict_post_hook(fail)
    before, weight, array = content(model), model[0].weight, model[0].weight._array
    state = {name: value + 1 if isinstance(value, Tensor) else [13 if where == "extra" else 2]
             for name, value in model.state_dict().items()} | {"0.slot": lucid.ones(1)}
    with pytest.raises(ValueError, match="unlucky"):
        model.load_state_dict(state, assign=assign)
    assert content(model) == before
    assert model[0].weight is weight
    assert weight._array is array
    assert model[0].slot is None
    assert model[2].epochs == [1]


def test_elements_that_share_memory_cannot_be_loaded_and_nothing_changes() -> None:
    module = Slots()
    module.register_buffer("wide", lucid.zeros(1).expand(2))
    with pytest.raises(RuntimeError, match='While copying the parameter named "wide".*more than one element'):
        module.load_state_dict(state_of(wide=lucid.ones(2)))
    assert module.weight.tolist() == [1.0, 1.0]
    module.load_state_dict(state_of(wide=lucid.ones(2)), assign=True)
    assert module.wide.tolist() == [1.0, 1.0]


def test_assign_keeps_objects_and_forgets_gradients() -> None:
    module = Slots()
    weight, cache = module.weight, module.cache
    weight.sum().backward()
    module.load_state_dict(state_of(cache=lucid.ones(2, 2), weight=lucid.zeros(2, dtype=lucid.float64)), assign=True)
    assert module.weight is weight
    assert (weight.dtype, weight.grad, weight.requires_grad) == (lucid.float64, None, True)
    assert module.cache is cache
    assert tuple(cache.shape) == (2, 2)


# ---- ties ------------------------------------------------------------------------------------------------------------
class Tied(nn.Module):
    def __init__(self, device: str) -> None:
        super().__init__()
        table = lucid.arange(12.0, device=device).reshape(3, 4)
        self.a, self.b = nn.Parameter(table), nn.Parameter(table)
        self.register_buffer("rows", table[1:])
        self.turned = nn.Buffer(table.T)
        self.plain = table.detach()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled], ids=["deepcopy", "pickle"])
def test_copies_share_memory_where_the_originals_do(duplicate: Any, device: str) -> None:
    model = Tied(device)
    twin = duplicate(model)
    loss = (twin.a * twin.a).sum()
    twin.plain.zero_()
    assert twin.a.sum().item() == twin.b.sum().item() == twin.turned.sum().item() == 0.0
    assert tuple(twin.turned.stride()) == tuple(model.turned.stride())
    assert model.a.sum().item() == 66.0
    with pytest.raises(RuntimeError, match="parameter 'a'"):  # one memory, one version
        loss.backward()


def test_deep_copies_of_views_share_memory_and_pickles_hold_only_the_view(device: str) -> None:
    table = lucid.zeros(1000, 8, device=device)
    first, both = table[0], table[:2]
    twin_first, twin_both = copy.deepcopy([first, both])
    twin_first.fill_(1.0)
    assert twin_both.sum().item() == 8.0
    assert table.sum().item() == 0.0
    assert len(pickle.dumps(first)) < 2000


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickled, copy.copy], ids=["deepcopy", "pickle", "copy"])
def test_odd_layouts_are_copied_as_they_are(duplicate: Any, device: str) -> None:
    for original in (lucid.zeros(0, 3), lucid.tensor(3), lucid.zeros(1).expand(3), lucid.ones(2, dtype=lucid.bfloat16),
                     lucid.arange(6)[1::2], lucid.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)):
        tensor = original.to(device)
        twin = duplicate(tensor)
        assert (twin.dtype, twin.shape, twin.device, twin.tolist()) == (tensor.dtype, tensor.shape, device, tensor.tolist())


def test_a_slot_keeps_the_options_of_its_buffer(device: str) -> None:
    module = nn.Module()
    module.b = nn.Buffer(lucid.ones(2, device=device), persistent=False, track_grad=True, resizable=True, init=mask, cast=False,
                         ema="copy")
    for fill in (lucid.zeros(3, device=device), lucid.ones(1, device=device, requires_grad=True) * 2):
        module.b = None
        assert module.b is None
        copied = copy.deepcopy(module)
        module.b = fill
        copied.b = fill.detach()
        for buffer in (module.b, copied.b):
            assert (buffer.persistent, buffer.track_grad, buffer.resizable, buffer.init, buffer.cast, buffer.ema) == (
                False, True, True, mask, False, "copy")
        assert module.b.requires_grad == fill.requires_grad
    module.half()
    assert module.b.dtype == lucid.float32
    module.b = None
    module.b = nn.Buffer(lucid.ones(1))  # options of its own
    assert not module.b.resizable
    module.b = None
    module.register_buffer("b", lucid.ones(1))  # registered anew
    assert module.b.ema is None
    module.b = nn.Buffer(lucid.ones(1), ema="copy")
    module.b = None
    del module.b
    module.register_buffer("b", None)
    module.b = lucid.ones(1)
    assert module.b.ema is None


def test_a_state_dict_fills_a_slot_that_keeps_its_options() -> None:
    module = nn.Module()
    module.b = nn.Buffer(lucid.ones(2), resizable=True)
    module.b = None
    module.load_state_dict({"b": lucid.ones(3)})
    module.load_state_dict({"b": lucid.ones(4)})
    assert module.b.shape == (4,)


@pytest.mark.parametrize("layer", [lambda: nn.BatchNorm1d(3), lambda: nn.Sequential(nn.BatchNorm1d(3), nn.ReLU())], ids=["norm", "fused"])
@pytest.mark.parametrize("through", [lambda buffer: buffer, lambda buffer: buffer.detach(), lambda buffer: buffer[:]],
                         ids=["buffer", "detached", "view"])
def test_a_saved_running_statistic_that_training_updates_is_noticed(through: Any, layer: Any, device: str) -> None:
    model = layer().to(device)
    norm = model if isinstance(model, nn.BatchNorm1d) else model[0]
    x = lucid.ones(4, 3, device=device, requires_grad=True)
    saved, before = through(norm.running_mean), norm.running_mean._version
    loss = (x * saved).sum()
    model(lucid.randn(4, 3, device=device))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    (x * saved).sum().backward()  # what was saved after the update is as it was
    assert norm.running_mean._version == before + 1
