"""Module: registration, attributes, walks, state dicts, hooks, moving, printing, copying."""
from __future__ import annotations

import copy
import gc
import pickle
import warnings
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import pytest

import lucid
from bench.module_to import measure
from lucid import Tensor, nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(lucid.ones(2))
        self.register_buffer("mean", lucid.zeros(2))
        self.register_buffer("cache", lucid.zeros(2), persistent=False)
        self.register_buffer("slot", None)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight + self.mean


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Block()
        self.second = Block()
        self.second.weight = self.first.weight
        self.count = nn.Buffer(0)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x))


# ---- registration ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("register", "value"), [("register_buffer", Tensor([1.0])), ("register_parameter", nn.Parameter()),
                                                 ("add_module", nn.ReLU())])
def test_names_are_checked(register: str, value: Any) -> None:
    module = nn.Module()
    module.taken = 1
    call = getattr(module, register)
    for name, error in ((3, TypeError), ("", KeyError), ("a.b", KeyError), ("taken", KeyError), ("forward", KeyError)):
        with pytest.raises(error):
            call(name, value)
    assert call("fine", value) is None
    call("none", None)
    assert module.none is None


def test_only_the_right_kind_is_registered() -> None:
    module = nn.Module()
    with pytest.raises(TypeError):
        module.register_buffer("b", [1.0])
    with pytest.raises(TypeError):
        module.register_parameter("p", Tensor([1.0]))
    with pytest.raises(TypeError):
        module.add_module("m", 3)
    computed = nn.Parameter(lucid.ones(1))
    computed._node = (lucid.ones(1, requires_grad=True) * 2)._node
    with pytest.raises(ValueError, match="non-leaf"):
        module.register_parameter("p", computed)


def test_before_init_nothing_can_be_registered() -> None:
    class Early(nn.Module):
        def __init__(self, value: Any) -> None:
            self.value = value

    for value in (nn.Parameter(), nn.Buffer(), nn.ReLU()):
        with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
            Early(value)
    with pytest.raises(AttributeError):
        nn.Module.register_buffer(Early.__new__(Early), "b", Tensor([1.0]))


def test_unknown_constructor_arguments() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'x'"):
        nn.Module(x=1)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        nn.Module(1)


def test_assignment_moves_a_name_between_kinds() -> None:
    module = nn.Module()
    module.x = 3
    module.x = nn.Parameter(lucid.ones(1))
    assert "x" not in module.__dict__
    assert list(dict(module.named_parameters())) == ["x"]
    with pytest.raises(TypeError, match="as parameter 'x'"):
        module.x = Tensor([1.0])
    with pytest.raises(TypeError, match="as parameter 'x'"):
        module.x = nn.ReLU()
    module.y = nn.Buffer([1.0])
    module.y = nn.ReLU()
    assert not list(module.buffers())
    del module.x
    module.x = nn.ReLU()
    assert not list(module.parameters())
    with pytest.raises(TypeError, match="as child module 'x'"):
        module.x = 3
    module.x = None
    assert module.x is None
    del module.x
    module.x = 3
    with pytest.raises(KeyError, match="already exists"):
        module.x = nn.Buffer([1.0])
    del module.x
    module.x = nn.Buffer([1.0])
    with pytest.raises(TypeError, match="as buffer 'x'"):
        module.x = 3
    module.x = nn.Parameter(lucid.ones(1))
    assert not list(module.buffers())
    del module.x
    with pytest.raises(AttributeError, match="no attribute 'x'"):
        _ = module.x
    with pytest.raises(AttributeError):
        del module.x


# ---- buffers ---------------------------------------------------------------------------------------------------------
def test_a_registered_tensor_stays_the_same_object() -> None:
    module = nn.Module()
    tensor = lucid.ones(2)
    module.register_buffer("b", tensor)
    assert module.b is tensor
    assert isinstance(module.b, nn.Buffer)
    module.alias = module.b  # an ordinary attribute, as in PyTorch
    assert list(module.state_dict()) == ["b"]


def test_a_registered_computed_tensor_is_detached() -> None:
    module = nn.Module()
    computed = lucid.ones(2, requires_grad=True) * 3
    module.register_buffer("b", computed)
    assert module.b.grad_fn is None
    assert module.b.tolist() == [3.0, 3.0]
    assert computed.grad_fn is not None


def test_assignment_keeps_the_buffer_and_detaches() -> None:
    block = Block()
    buffer = block.mean
    block.mean = block.weight * 2
    assert block.mean is buffer
    assert buffer.grad_fn is None
    assert buffer.tolist() == [2.0, 2.0]
    block.mean += block.weight
    assert block.mean is buffer
    assert buffer.grad_fn is None
    block.cache = lucid.ones(3, dtype=lucid.float64)
    assert (block.cache.shape, block.cache.dtype) == ((3,), lucid.float64)
    assert list(block.state_dict()) == ["weight", "mean"]


def test_an_operation_keeps_the_buffer_it_saw() -> None:
    block = Block()
    block.mean = lucid.full((2,), 3.0)
    y = block.weight * block.mean
    block.mean = lucid.full((2,), 100.0)
    y.sum().backward()
    assert block.weight.grad.tolist() == [3.0, 3.0]


def test_an_in_place_write_to_a_saved_buffer_names_it() -> None:
    model = Model()
    y = model.first.weight * model.first.mean
    model.first.mean.add_(1)
    with pytest.raises(RuntimeError, match=r"buffer 'first\.mean'.*op 'mul'"):
        y.sum().backward()


def test_none_slots_and_new_buffers() -> None:
    block = Block()
    assert block.slot is None
    block.slot = lucid.ones(1)
    assert isinstance(block.slot, nn.Buffer)
    assert list(block.state_dict()) == ["weight", "mean", "slot"]
    block.slot = None
    assert block.slot is None
    replacement = nn.Buffer([5.0], persistent=False)
    block.mean = replacement
    assert block.mean is replacement
    assert list(block.state_dict()) == ["weight"]


# ---- walks -----------------------------------------------------------------------------------------------------------
def test_names() -> None:
    model = Model()
    assert [name for name, _ in model.named_parameters()] == ["first.weight"]
    assert [name for name, _ in model.named_parameters(remove_duplicate=False)] == ["first.weight", "second.weight"]
    assert [name for name, _ in model.named_parameters(prefix="m", recurse=False)] == []
    assert [name for name, _ in model.named_buffers(prefix="m")] == ["m.count", "m.first.mean", "m.first.cache",
                                                                     "m.second.mean", "m.second.cache"]
    assert [name for name, _ in model.named_modules()] == ["", "first", "second"]
    assert [name for name, _ in model.named_children()] == ["first", "second"]
    assert list(model.children()) == [model.first, model.second]
    assert list(model.modules()) == [model, model.first, model.second]
    assert len(list(model.parameters())) == 1
    assert len(list(model.buffers())) == 5


def test_look_up_by_dotted_name() -> None:
    model = Model()
    assert model.get_submodule("") is model
    assert model.get_submodule("first") is model.first
    assert model.get_parameter("second.weight") is model.first.weight
    assert model.get_buffer("first.cache") is model.first.cache
    for look_up in (lambda: model.get_submodule("third"), lambda: model.get_parameter("first.mean"),
                    lambda: model.get_buffer("first.weight"), lambda: model.get_submodule("first.weight")):
        with pytest.raises(AttributeError):
            look_up()
    model.set_submodule("first.inner", nn.ReLU())
    assert isinstance(model.first.inner, nn.ReLU)
    with pytest.raises(ValueError, match="target name"):
        model.set_submodule("", nn.ReLU())
    with pytest.raises(AttributeError):
        model.set_submodule("first.other", nn.ReLU(), strict=True)


def test_dir_lists_state() -> None:
    assert {"weight", "mean", "forward", "training"} <= set(dir(Block()))


# ---- modes -----------------------------------------------------------------------------------------------------------
def test_modes_and_flags() -> None:
    model = Model()
    assert model.eval() is model
    assert not model.first.training
    model.train()
    assert model.second.training
    with pytest.raises(ValueError, match="boolean"):
        model.train(1)  # type: ignore[arg-type]
    model.requires_grad_(False)
    assert not model.first.weight.requires_grad
    model.requires_grad_()
    model(lucid.ones(2)).sum().backward()
    model.zero_grad(set_to_none=False)
    assert model.first.weight.grad.tolist() == [0.0, 0.0]
    model.zero_grad()
    assert model.first.weight.grad is None
    seen: list[nn.Module] = []
    assert model.apply(seen.append) is model
    assert seen == [model.first, model.second, model]


def test_forward_is_required() -> None:
    with pytest.raises(NotImplementedError, match='missing the required "forward"'):
        nn.Module()(1)


# ---- state dicts -----------------------------------------------------------------------------------------------------
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


# ---- hooks around the call -------------------------------------------------------------------------------------------
def test_forward_hooks() -> None:
    block = Block()
    order: list[str] = []
    block.register_forward_pre_hook(lambda module, args: order.append("pre"))
    block.register_forward_pre_hook(lambda module, args: (args[0] * 2,), prepend=True)
    block.register_forward_hook(lambda module, args, output: order.append(str(args[0].tolist())))
    doubled = block.register_forward_hook(lambda module, args, output: output * 10)
    assert block(lucid.ones(2)).tolist() == [20.0, 20.0]
    assert order == ["pre", "[2.0, 2.0]"]
    doubled.remove()
    assert block(lucid.ones(2)).tolist() == [2.0, 2.0]


def test_forward_hooks_with_kwargs() -> None:
    class Scale(nn.Module):
        def forward(self, x: Tensor, by: float = 1.0) -> Tensor:
            return x * by

    module = Scale()
    handle = module.register_forward_pre_hook(lambda m, args, kwargs: (args, {"by": 3.0}), with_kwargs=True)
    module.register_forward_hook(lambda m, args, kwargs, out: out + kwargs["by"], with_kwargs=True)
    assert module(lucid.ones(1), by=2.0).tolist() == [6.0]
    handle.remove()
    module.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        module(lucid.ones(1), by=1.0)


def test_always_called_hooks_run_after_an_error() -> None:
    class Broken(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("broken")

    module, seen = Broken(), []
    module.register_forward_hook(lambda m, args, out: seen.append("normal"))
    module.register_forward_hook(lambda m, args, out: seen.append("always"), always_call=True)
    with pytest.raises(ValueError, match="broken"):
        module(1)
    assert seen == ["always"]


def test_full_backward_hooks() -> None:
    block = Block()
    seen: list[Any] = []

    def hook(module: Any, grad_input: Any, grad_output: Any) -> Any:
        seen.append((grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 10,)

    handle = block.register_full_backward_hook(hook)
    pre = block.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
    x = lucid.ones(2, requires_grad=True)
    block(x).sum().backward()
    assert seen == [([2.0, 2.0], [2.0, 2.0])]
    assert x.grad.tolist() == [20.0, 20.0]
    assert block.weight.grad.tolist() == [2.0, 2.0]
    handle.remove()
    pre.remove()
    x.grad = None
    block(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_backward_hooks_with_several_inputs_and_outputs() -> None:
    class Two(nn.Module):
        def forward(self, a: Tensor, b: Tensor, n: int) -> tuple[Tensor, Tensor, int]:
            return a * b, b * 2, n

    module, seen = Two(), []
    module.register_full_backward_hook(lambda m, gin, gout: seen.append((gin, gout)))
    a, b = lucid.ones(2, requires_grad=True), lucid.full((2,), 3.0, requires_grad=True)
    first, _, _ = module(a, b, 4)
    first.sum().backward()
    grad_input, grad_output = seen[0]
    assert [g if g is None else g.tolist() for g in grad_input] == [[3.0, 3.0], [1.0, 1.0], None]
    assert [g if g is None else g.tolist() for g in grad_output] == [[1.0, 1.0], None, None]


def test_backward_hook_without_inputs_that_require_grad() -> None:
    block, seen = Block(), []
    block.register_full_backward_hook(lambda m, gin, gout: seen.append((gin, gout[0].tolist())))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        block(lucid.ones(2)).sum().backward()
    assert seen == [((None,), [1.0, 1.0])]


# ---- moving and casting ----------------------------------------------------------------------------------------------
def test_to_swaps_arrays_inside_the_same_objects(device: str) -> None:
    model = Model()
    model(lucid.ones(2)).sum().backward()
    held = dict(model.state_dict(keep_vars=True))
    gradient = model.first.weight.grad
    assert model.to(device) is model
    assert all(value is held[name] for name, value in model.state_dict(keep_vars=True).items())
    assert all(value.device == device for value in held.values())
    assert model.second.weight is model.first.weight
    assert model.first.weight.grad is gradient
    assert gradient.device == device
    model(lucid.ones(2, device=device)).sum().backward()
    model.cpu()
    assert model.first.weight.device == "cpu"
    assert gradient.device == "cpu"


def test_tensors_that_share_an_array_share_one_afterwards(device: str) -> None:
    table = lucid.zeros(3)
    first, second = nn.Module(), nn.Module()
    first.register_buffer("table", table)
    second.register_buffer("table", nn.Buffer(table))
    both = nn.ModuleList([first, second]).to(device).double()
    assert both[0].table is not both[1].table
    both[0].table.fill_(1.0)
    assert both[1].table.tolist() == [1.0, 1.0, 1.0]


def test_casts_leave_integers_alone() -> None:
    model = Model()
    for cast, dtype in ((model.half, lucid.float16), (model.bfloat16, lucid.bfloat16), (model.double, lucid.float64),
                        (model.float, lucid.float32)):
        assert cast() is model
        assert model.first.weight.dtype == dtype
        assert model.first.mean.dtype == dtype
        assert model.count.dtype == lucid.int64
    model.to(lucid.float64)
    assert (model.first.mean.dtype, model.count.dtype) == (lucid.float64, lucid.int64)
    model.type(lucid.float32)
    assert model.count.dtype == lucid.float32
    with pytest.raises(TypeError, match="floating point or complex"):
        model.to(lucid.int64)


def test_plain_tensors_left_behind_are_named(device: str) -> None:
    if device == "cpu":
        pytest.skip("nothing is left behind on the cpu")
    model = Model()
    model.first.table = lucid.ones(1)
    model.first.listed = [3, lucid.ones(1)]
    model.first.named = {"mask": (lucid.ones(1),)}
    model.first.alias = model.first.mean
    with pytest.warns(UserWarning, match="register_buffer") as caught:
        model.to("gpu")
    assert [str(w.message).split(" ")[0] for w in caught] == [
        "Model.first.table", "Model.first.listed[1]", "Model.first.named['mask'][0]"]


def test_moving_frees_the_old_arrays() -> None:
    block = Block()
    old = weakref.ref(block.weight._array)
    block.double()
    assert old() is None


# ---- printing --------------------------------------------------------------------------------------------------------
def test_repr_lists_registered_buffers() -> None:
    assert repr(Model()) == """Model(
  (count): Buffer(shape=(), dtype=int64)
  (first): Block(
    (mean): Buffer(shape=(2,), dtype=float32)
    (cache): Buffer(shape=(2,), dtype=float32, non-persistent)
  )
  (second): Block(
    (mean): Buffer(shape=(2,), dtype=float32)
    (cache): Buffer(shape=(2,), dtype=float32, non-persistent)
  )
)"""
    assert repr(nn.Module()) == "Module()"
    assert repr(nn.Sequential()) == "Sequential()"


# ---- copies and memory -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_copies_are_independent_and_keep_ties(duplicate: Any) -> None:
    model = Model()
    model.first.register_load_state_dict_pre_hook(_noop)
    twin = duplicate(model)
    assert twin.first.weight is twin.second.weight
    assert twin.first.weight is not model.first.weight
    assert isinstance(twin.first.mean, nn.Buffer)
    assert "cache" in twin.first._non_persistent_buffers_set
    twin.first.mean.fill_(3.0)
    assert model.first.mean.tolist() == [0.0, 0.0]
    twin.load_state_dict(model.state_dict())
    twin.first.fresh = nn.Parameter(lucid.ones(1))
    assert not hasattr(model.first, "fresh")


def _noop(*args: Any) -> None:
    pass


def test_modules_and_graphs_are_freed_without_the_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        model = Model()
        model.first.register_full_backward_hook(lambda *args: None)
        x = lucid.ones(2, requires_grad=True)
        y = model(x).sum()
        node = weakref.ref(y.grad_fn)
        y.backward()
        del y
        assert node() is None
        gone = weakref.ref(model)
        del model
        assert gone() is None
    finally:
        gc.enable()


# ---- what moving costs -----------------------------------------------------------------------------------------------
def test_to_copies_each_array_once_and_needs_one_more(device: str) -> None:
    if device == "cpu":
        pytest.skip("nothing is copied on the cpu")
    model = nn.ModuleList([nn.Linear(500, 400) for _ in range(5)])
    table = lucid.ones(500, 300)
    model[1].weight = model[0].weight  # one object in two places
    model[2].register_buffer("table", table)
    model[3].register_buffer("table", nn.Buffer(table))  # two objects over one array
    model[4].weight.grad = lucid.ones(400, 500)
    del table
    cost = measure(model, "gpu")
    assert cost["arrays"] == 4 + 5 + 1 + 1  # weights, biases, the table, the gradient
    assert cost["copies"] == 1
    assert cost["extra"] <= 1
    model[2].table.fill_(3.0)
    assert model[3].table[0, 0].item() == 3.0


def test_optimizer_state_moves_and_stays_the_same_object(device: str) -> None:
    model = nn.Linear(2, 2)
    optimizer = lucid.optim.Adam(model.parameters())
    model(lucid.ones(1, 2)).sum().backward()
    optimizer.step()
    model.to(device)
    assert optimizer.param_groups[0]["params"][0] is model.weight
    model(lucid.ones(1, 2, device=device)).sum().backward()
    optimizer.step()
    assert optimizer.state[model.weight]["exp_avg"].device == device


# ---- casts -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cast", [lambda m: m.half(), lambda m: m.double(), lambda m: m.bfloat16(), lambda m: m.to(lucid.float64),
                                  lambda m: m.type(lucid.float64), lambda m: m.float().half()],
                         ids=["half", "double", "bfloat16", "to", "type", "float"])
def test_a_buffer_that_is_not_cast_keeps_dtype_and_object(cast: Any, device: str) -> None:
    module = nn.Module()
    module.weight = nn.Parameter(lucid.ones(2))
    module.steady = nn.Buffer(lucid.ones(2), cast=False)
    steady = module.steady
    cast(module.to(device))
    assert module.steady is steady
    assert (steady.dtype, steady.device) == (lucid.float32, device)
    assert module.weight.dtype != lucid.float32


def test_an_uncast_buffer_moves_while_the_rest_is_cast_too(device: str) -> None:
    table = lucid.ones(2)
    model = nn.ModuleList([nn.Module(), nn.Module(), nn.Module()])
    model[0].register_buffer("table", table)
    model[1].table = nn.Buffer(table, cast=False)  # over the same array
    model[2].table = nn.Buffer(table)
    model.to(device, lucid.float64)
    assert [m.table.dtype for m in model] == [lucid.float64, lucid.float32, lucid.float64]
    assert {str(m.table.device) for m in model} == {str(lucid.device(device))}
    model[0].table.fill_(4.0)
    assert [m.table.tolist() for m in model] == [[4.0, 4.0], [1.0, 1.0], [4.0, 4.0]]


def test_a_refused_conversion_changes_nothing() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Conv2d(1, 1, 1))
    model.volume = nn.Parameter(lucid.ones(1, 2, 3, 4, 5))
    before = {name: (value.dtype, value.stride()) for name, value in model.state_dict().items()}
    with pytest.raises(RuntimeError, match="required rank 4"):
        model.to(lucid.float64, memory_format=lucid.channels_last)
    with pytest.raises(RuntimeError, match="requires gradients"):
        model.type(lucid.int32)
    with pytest.raises(RuntimeError, match="copy argument"):
        model.to(lucid.float64, copy=True)
    assert {name: (value.dtype, value.stride()) for name, value in model.state_dict().items()} == before


def test_memory_format_on_both_devices_keeps_the_objects(device: str) -> None:
    layer = nn.Conv2d(2, 3, 3)
    weight, values = layer.weight, layer.weight.tolist()
    weight.grad = lucid.ones_like(weight)
    layer.to(device, memory_format=lucid.channels_last)
    assert layer.weight is weight
    assert weight.stride() == weight.grad.stride() == (18, 1, 6, 2)
    assert weight.device == device
    assert weight.tolist() == values
    assert layer.cpu().weight.stride() == (18, 1, 6, 2)


# ---- tensors left behind ---------------------------------------------------------------------------------------------
@dataclass
class Cache:
    keys: Tensor
    length: int = 0


def left_behind(model: nn.Module, call: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(model)
    assert all(w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize("call", [lambda m: m.to("meta"), lambda m: m.to(device="meta"), lambda m: m.to(lucid.device("meta"))],
                         ids=["name", "keyword", "device"])
def test_one_warning_for_each_attribute(call: Any) -> None:
    model = nn.Sequential(nn.Linear(1, 1))
    model.many = [lucid.ones(1) for _ in range(5)]
    model[0].pair = {"a": (lucid.ones(1), 3), "b": {lucid.ones(1)}}
    model[0].cache = [Cache(lucid.ones(1))]
    model.itself = [model]
    model.itself.append(model.itself)
    model.alias = model[0].weight
    model.hidden = [nn.Linear(1, 1)]
    advice = "leaves them on cpu. Use register_buffer (or nn.Buffer) to make them move with the module."
    assert left_behind(model, call) == [
        f"Sequential.many[0], Sequential.many[1], Sequential.many[2] and 2 more are plain tensor attributes: .to('meta') {advice}",
        f"Sequential.0.pair['a'][0], Sequential.0.pair['b']{{...}} are plain tensor attributes: .to('meta') {advice}",
        f"Sequential.0.cache[0].keys is a plain tensor attribute: .to('meta') {advice.replace('them', 'it')}"]


def test_no_warning_without_a_move() -> None:
    model = nn.Linear(1, 1)
    model.plain = [lucid.ones(1)]
    for call in (lambda m: m.half(), lambda m: m.to(lucid.float64), lambda m: m.cpu(), lambda m: m.to("cpu"), lambda m: m.to()):
        assert left_behind(model, call) == []


def test_every_way_to_a_gpu_warns_at_the_caller(device: str) -> None:
    if device == "cpu":
        pytest.skip("needs the device 'gpu'")
    for call in (lambda m: m.to("gpu"), lambda m: m.gpu(), lambda m: m.cuda()):
        model = nn.Linear(1, 1)
        model.plain = lucid.ones(1)
        assert [text.split(" ")[0] for text in left_behind(model, call)] == ["Linear.plain"]
