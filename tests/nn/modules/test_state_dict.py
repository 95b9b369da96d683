"""Module.state_dict and load_state_dict: lucid's own objects, errors and hooks."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import lucid
from lucid import nn
from tests.nn.models import Block, Model


def test_state_dict_shares_memory_and_has_versions() -> None:
    model = Model()
    state = model.state_dict()
    assert list(state) == ["count", "first.weight", "first.mean", "second.weight", "second.mean"]
    assert state._metadata == OrderedDict([("", {"version": 1}), ("first", {"version": 1}), ("second", {"version": 1})])
    assert not state["first.weight"].requires_grad
    model.first.mean.fill_(7.0)
    assert state["first.mean"].tolist() == [7.0, 7.0]
    assert model.state_dict(keep_vars=True)["first.weight"] is model.first.weight
    assert list(model.first.state_dict(prefix="p.")) == ["p.weight", "p.mean"]
    given: dict[str, Any] = {}
    assert model.state_dict(destination=given) is given
    assert len(given) == 5


def test_load_state_dict_writes_into_the_same_objects() -> None:
    model, other = Model(), Model()
    other.first.weight.data.fill_(4.0)
    other.count += 3
    weight, array = model.first.weight, model.first.weight._array
    assert repr(model.load_state_dict(other.state_dict())) == "<All keys matched successfully>"
    assert model.first.weight is weight
    assert model.first.weight._array is array
    assert weight.tolist() == [4.0, 4.0]
    assert model.second.weight is weight
    assert model.count.item() == 3


def test_load_state_dict_casts_and_moves(device: str) -> None:
    block = Block().to(device)
    block.load_state_dict({"weight": lucid.full((2,), 2.0, dtype=lucid.float64), "mean": lucid.tensor([1, 2])})
    assert block.weight.dtype == lucid.float32
    assert block.weight.device == device
    assert block.mean.tolist() == [1.0, 2.0]


def test_assign_takes_memory_and_dtype_but_keeps_the_objects() -> None:
    block = Block()
    weight, new = block.weight, lucid.full((2,), 2.0, dtype=lucid.float64)
    block.load_state_dict({"weight": new, "mean": lucid.ones(2)}, assign=True)
    assert block.weight is weight
    assert weight.requires_grad
    assert weight.dtype == lucid.float64
    new.fill_(9.0)
    assert weight.tolist() == [9.0, 9.0]
    with pytest.raises(RuntimeError, match="cannot assign weight"):
        block.load_state_dict({"weight": lucid.tensor([1, 2]), "mean": lucid.zeros(2)}, assign=True)
    assert block.mean.tolist() == [1.0, 1.0]


def test_a_failed_load_changes_nothing() -> None:
    model = Model()
    before = {name: value.tolist() for name, value in model.state_dict().items()}
    good = OrderedDict((name, value + 1) for name, value in model.state_dict().items())
    for broken in ({"first.mean": lucid.ones(3)}, {"extra": lucid.ones(1)}, {"second.mean": [1.0, 2.0]}):
        with pytest.raises(RuntimeError, match=r"Error\(s\) in loading state_dict for Model"):
            model.load_state_dict(good | broken)
        assert {name: value.tolist() for name, value in model.state_dict().items()} == before
    del good["first.weight"]
    with pytest.raises(RuntimeError, match="Missing key"):
        model.load_state_dict(good)
    assert {name: value.tolist() for name, value in model.state_dict().items()} == before


def test_the_report_is_that_of_torch() -> None:
    block = Block()
    with pytest.raises(RuntimeError) as caught:
        block.load_state_dict({"mean": lucid.ones(3), "extra": lucid.ones(1)})
    assert str(caught.value) == (
        'Error(s) in loading state_dict for Block:\n\tMissing key(s) in state_dict: "weight". \n\tUnexpected key(s) in '
        'state_dict: "extra". \n\tsize mismatch for mean: copying a param with shape lucid.Size([3]) from checkpoint, the '
        "shape in current model is lucid.Size([2]).")
    keys = block.load_state_dict({"mean": lucid.ones(2), "extra": lucid.ones(1)}, strict=False)
    assert (keys.missing_keys, keys.unexpected_keys) == (["weight"], ["extra"])
    missing, unexpected = keys
    assert (missing, unexpected) == (["weight"], ["extra"])
    with pytest.raises(TypeError, match="dict-like"):
        block.load_state_dict([1])  # type: ignore[arg-type]


def test_a_scalar_loads_from_a_tensor_of_one_element() -> None:
    model = Model()
    state = model.state_dict()
    state["count"] = lucid.tensor([5])
    model.load_state_dict(state)
    assert model.count.item() == 5


def test_extra_state() -> None:
    class Extra(Block):
        epoch = 0

        def get_extra_state(self) -> Any:
            return {"epoch": self.epoch}

        def set_extra_state(self, state: Any) -> None:
            self.epoch = state["epoch"]

    source, target = Extra(), Extra()
    source.epoch = 3
    state = source.state_dict()
    assert list(state) == ["weight", "mean", "_extra_state"]
    target.load_state_dict(state)
    assert target.epoch == 3
    del state["_extra_state"]
    with pytest.raises(RuntimeError, match="_extra_state"):
        target.load_state_dict(state)
    with pytest.raises(RuntimeError, match="Unexpected"):
        Block().load_state_dict(source.state_dict())


def test_state_dict_hooks() -> None:
    block = Block()
    calls: list[str] = []
    block.register_state_dict_pre_hook(lambda module, prefix, keep_vars: calls.append("pre"))

    def rename(module: nn.Module, state: Any, prefix: str, metadata: Any) -> None:
        calls.append("post")
        state[prefix + "scale"] = state.pop(prefix + "weight")

    handle = block.register_state_dict_post_hook(rename)
    assert list(block.state_dict()) == ["mean", "scale"]
    assert calls == ["pre", "post"]

    def back(module: nn.Module, state: Any, prefix: str, *rest: Any) -> None:
        assert module is block
        state[prefix + "weight"] = state.pop(prefix + "scale")

    block.register_load_state_dict_pre_hook(back)
    block.load_state_dict(block.state_dict())
    handle.remove()
    assert list(block.state_dict()) == ["weight", "mean"]
    block.register_state_dict_post_hook(lambda *args: 3)
    with pytest.raises(RuntimeError, match="must return None"):
        block.state_dict()


def test_load_post_hooks_may_forgive_keys_and_see_loaded_values() -> None:
    block = Block()
    seen: list[Any] = []

    def forgive(module: Any, keys: Any) -> None:
        seen.append((module.mean.tolist(), list(keys.missing_keys)))
        if keys.missing_keys == ["weight"]:
            keys.missing_keys.clear()

    block.register_load_state_dict_post_hook(forgive)
    block.load_state_dict({"mean": lucid.ones(2)})
    assert seen == [([1.0, 1.0], ["weight"])]
    with pytest.raises(RuntimeError, match="Missing"):
        block.load_state_dict({})
    with pytest.raises(RuntimeError, match="Unexpected"):
        block.load_state_dict({"mean": lucid.full((2,), 8.0), "more": lucid.ones(1)})
    assert block.mean.tolist() == [1.0, 1.0]


def test_load_from_state_dict_can_be_overridden_and_called() -> None:
    class Old(Block):
        def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
            if prefix + "old_mean" in state_dict:
                state_dict[prefix + "mean"] = state_dict.pop(prefix + "old_mean")
            super()._load_from_state_dict(state_dict, prefix, *rest)

    given = {"a.weight": lucid.ones(2), "a.old_mean": lucid.full((2,), 3.0)}
    model = nn.ModuleDict({"a": Old()})
    model.load_state_dict(given)
    assert model["a"].mean.tolist() == [3.0, 3.0]
    assert "a.old_mean" in given
    block = Block()
    block._load_from_state_dict({"mean": lucid.ones(2)}, "", {}, False, [], [], [])
    assert block.mean.tolist() == [1.0, 1.0]
