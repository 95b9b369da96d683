"""Module: registration, attributes, walks, modes, printing, copies."""
from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import pytest

import lucid
from lucid import Tensor, nn
from tests.nn.models import Block, Model


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
