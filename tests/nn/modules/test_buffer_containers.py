"""BufferList and BufferDict."""
from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest

import lucid
from lucid import nn


def scratch() -> nn.Buffer:
    return nn.Buffer([9.0], persistent=False)


def saved(module: nn.Module) -> list[str]:
    return list(module.state_dict())


# ---- lists -----------------------------------------------------------------------------------------------------------
def test_list_entries_are_buffers_with_a_persistence_of_their_own() -> None:
    tensor, own = lucid.ones(2), scratch()
    entries = nn.BufferList([tensor, own, None])
    assert len(entries) == 3
    assert entries[0] is tensor
    assert isinstance(tensor, nn.Buffer)
    assert entries[1] is own
    assert entries[-1] is None
    assert [name for name, _ in entries.named_buffers()] == ["0", "1"]
    assert saved(entries) == ["0"]
    assert not list(entries.parameters())
    hidden = nn.BufferList([lucid.ones(2), nn.Buffer([1.0])], persistent=False)
    assert saved(hidden) == ["1"]
    hidden.append(lucid.ones(1))
    assert saved(hidden) == ["1"]


def test_list_operations_keep_order_and_persistence() -> None:
    entries = nn.BufferList()
    assert entries.append(lucid.zeros(1)) is entries
    assert entries.extend([scratch(), lucid.full((1,), 2.0)]) is entries
    entries += [lucid.full((1,), 3.0)]
    assert [b.item() for b in entries] == [0.0, 9.0, 2.0, 3.0]
    entries.insert(1, lucid.full((1,), 1.0))
    assert [b.item() for b in entries] == [0.0, 1.0, 9.0, 2.0, 3.0]
    assert saved(entries) == ["0", "1", "3", "4"]
    entries.insert(-1, lucid.full((1,), 2.5))
    assert [b.item() for b in entries] == [0.0, 1.0, 9.0, 2.0, 2.5, 3.0]
    last = entries[-1]
    assert entries.pop() is last
    assert entries.pop(0).item() == 0.0
    assert saved(entries) == ["0", "2", "3"]
    del entries[1]
    assert saved(entries) == ["0", "1", "2"]
    del entries[::2]
    assert [b.item() for b in entries] == [2.0]
    entries.clear()
    assert len(entries) == 0
    assert saved(entries) == []


def test_slices_and_sums_share_the_buffers() -> None:
    entries = nn.BufferList([lucid.zeros(1), scratch(), lucid.full((1,), 2.0)])
    part = entries[1:]
    assert isinstance(part, nn.BufferList)
    assert part[0] is entries[1]
    assert saved(part) == ["1"]
    both = entries + part
    assert [b.item() for b in both] == [0.0, 9.0, 2.0, 9.0, 2.0]
    assert saved(both) == ["0", "2", "4"]
    assert len(entries) == 3


def test_assigning_a_tensor_to_a_list_entry_keeps_the_buffer() -> None:
    entries = nn.BufferList([lucid.zeros(2), scratch()])
    first, second = entries
    weight = lucid.ones(2, requires_grad=True)
    entries[0] = weight * 3
    assert entries[0] is first
    assert first.grad_fn is None
    assert first.tolist() == [3.0, 3.0]
    entries[-1] = lucid.ones(3)
    assert entries[1] is second
    assert saved(entries) == ["0"]
    entries[1] = replacement = nn.Buffer([1.0])
    assert entries[1] is replacement
    assert saved(entries) == ["0", "1"]
    entries[0] += 1
    assert entries[0] is first
    assert first.tolist() == [4.0, 4.0]


@pytest.mark.parametrize("value", [3, "x", [1.0], nn.Parameter(lucid.ones(1)), nn.ReLU()])
def test_only_tensors_are_entries(value: Any) -> None:
    entries, named = nn.BufferList([lucid.ones(1)]), nn.BufferDict({"a": lucid.ones(1)})
    with pytest.raises(TypeError, match="takes tensors, buffers and None"):
        entries.append(value)
    with pytest.raises(TypeError, match="takes tensors, buffers and None"):
        entries[0] = value
    for key in ("a", "b"):
        with pytest.raises(TypeError, match="takes tensors, buffers and None"):
            named[key] = value
    assert len(entries) == len(named) == 1


def test_list_errors() -> None:
    entries = nn.BufferList([lucid.ones(1)])
    for index in (1, -2):
        with pytest.raises(IndexError, match="out of range"):
            _ = entries[index]
        with pytest.raises(IndexError):
            entries[index] = lucid.ones(1)
        with pytest.raises(IndexError):
            entries.pop(index)
    for values in (3, lucid.ones(2)):
        with pytest.raises(TypeError, match="iterable"):
            entries.extend(values)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="should not be called"):
        entries(1)
    with pytest.raises(RuntimeError, match="should not be called"):
        nn.BufferDict()(1)


# ---- dictionaries ----------------------------------------------------------------------------------------------------
def test_dict_entries_are_buffers_with_a_persistence_of_their_own() -> None:
    named = nn.BufferDict({"z": lucid.zeros(1), "a": scratch(), "none": None})
    assert list(named) == list(named.keys()) == ["z", "a", "none"]
    assert list(reversed(named)) == ["none", "a", "z"]
    assert "a" in named
    assert "b" not in named
    assert named["none"] is None
    assert saved(named) == ["z"]
    hidden = nn.BufferDict([("x", lucid.ones(1)), ("y", nn.Buffer([1.0]))], persistent=False)
    assert saved(hidden) == ["y"]
    hidden["x"] = lucid.zeros(1)
    assert saved(hidden) == ["y"]
    with pytest.raises(KeyError):
        _ = named["missing"]


def test_dict_operations() -> None:
    named = nn.BufferDict()
    named.update({"a": lucid.zeros(1), "b": scratch()})
    named.update([("c", lucid.full((1,), 2.0))])
    assert [(key, value.item()) for key, value in named.items()] == [("a", 0.0), ("b", 9.0), ("c", 2.0)]
    assert [value.item() for value in named.values()] == [0.0, 9.0, 2.0]
    assert named.get("a") is named["a"]
    assert named.get("zz") is None
    assert named.get("zz", 5) == 5
    assert named.setdefault("a", lucid.ones(1)) is named["a"]
    assert named.setdefault("d", lucid.ones(1)) is named["d"]
    other = named.copy()
    assert saved(other) == saved(named) == ["a", "c", "d"]
    assert other["b"] is named["b"]
    assert named.pop("b").item() == 9.0
    named["b"] = lucid.ones(1)  # a new entry, not that of before
    assert saved(named) == ["a", "c", "d", "b"]
    key, value = named.popitem()
    assert (key, value.item()) == ("b", 1.0)
    assert named.pop("b", None) is None
    with pytest.raises(KeyError):
        named.pop("b")
    del named["a"]
    assert list(named) == ["c", "d"]
    joined = named | {"e": lucid.ones(1)}
    assert list(joined) == ["c", "d", "e"]
    named |= other
    assert saved(named) == ["c", "d", "a"]
    named.clear()
    assert len(named) == 0
    with pytest.raises(KeyError, match="empty"):
        named.popitem()


def test_dict_keys_are_names() -> None:
    named = nn.BufferDict()
    for key, error in ((3, TypeError), ("", KeyError), ("a.b", KeyError), ("keys", KeyError), ("training", KeyError)):
        with pytest.raises(error):
            named[key] = lucid.ones(1)  # type: ignore[index]
    with pytest.raises(TypeError, match="iterable"):
        named.update(3)
    with pytest.raises(ValueError, match="length 3"):
        named.update([("a", 1, 2)])
    assert len(named) == 0


# ---- as modules ------------------------------------------------------------------------------------------------------
class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.history = nn.BufferList([lucid.zeros(2), scratch()])
        self.caches = nn.BufferDict(OrderedDict(mean=lucid.zeros(2), slot=None))


def test_they_move_cast_and_warn_about_nothing(device: str, recwarn: pytest.WarningsRecorder) -> None:
    model = Model()
    held = list(model.buffers())
    model.to(device).double()
    assert [b is h for b, h in zip(model.buffers(), held, strict=True)] == [True] * 3
    assert {(str(b.device.type), b.dtype) for b in held} == {(device, lucid.float64)}
    assert not [w for w in recwarn if "plain tensor" in str(w.message)]


def test_they_save_and_load(device: str) -> None:
    source, target = Model().to(device), Model().to(device)
    source.history[0] = lucid.full((2,), 3.0, device=device)
    source.caches["slot"] = lucid.ones(1, device=device)
    state = source.state_dict()
    assert list(state) == ["history.0", "caches.mean", "caches.slot"]
    first = target.history[0]
    assert repr(target.load_state_dict(state)) == "<All keys matched successfully>"
    assert target.history[0] is first
    assert first.tolist() == [3.0, 3.0]
    assert target.caches["slot"].tolist() == [1.0]
    assert target.caches["slot"].device == device
    with pytest.raises(RuntimeError, match=r"Missing key\(s\) in state_dict: \"history.0\""):
        target.load_state_dict({name: value for name, value in state.items() if name != "history.0"})
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\) in state_dict: \"history.2\""):
        target.load_state_dict(state | {"history.2": lucid.ones(1)})
    target.load_state_dict(state | {"history.1": lucid.ones(1)})  # of a non-persistent buffer


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_copies(duplicate: Any) -> None:
    twin = duplicate(Model())
    assert saved(twin) == ["history.0", "caches.mean"]
    assert isinstance(twin.history, nn.BufferList)
    twin.history.append(lucid.ones(1))
    twin.caches["new"] = lucid.ones(1)
    assert saved(twin) == ["history.0", "history.2", "caches.mean", "caches.new"]


def test_they_print_their_buffers() -> None:
    assert repr(Model()) == """Model(
  (history): BufferList(
    (0): Buffer(shape=(2,), dtype=float32)
    (1): Buffer(shape=(1,), dtype=float32, non-persistent)
  )
  (caches): BufferDict(
    (mean): Buffer(shape=(2,), dtype=float32)
  )
)"""
    assert repr(nn.BufferList(persistent=False)) == "BufferList(persistent=False)"


def test_options_of_entries_survive() -> None:
    named = nn.BufferDict({"k": nn.Buffer(lucid.ones(1), resizable=True, cast=False)})
    named.load_state_dict({"k": lucid.ones(3)})
    assert named["k"].shape == (3,)
    assert named["k"].cast is False
