"""The traps of PyTorch's buffers: its behaviour and lucid's, row by row of docs/differences.md."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np

from ..suite import Raised, Suite

suite = Suite()

ASSIGNED = "assigning a computed tensor to a buffer"
FAILED = "a failed strict `load_state_dict`"
SLOT = "a None buffer in `load_state_dict`"
RESIZABLE = "a buffer whose shape changes"
HIDDEN = "keys of non-persistent buffers in `load_state_dict`"
SNAPSHOT = "`state_dict()` aliases live state"
CONTAINERS = "`BufferDict`, `BufferList`"
ASSIGN = "`load_state_dict(assign=True)`"
TIES = "`deepcopy` and `pickle` of tensors that share memory"
NAMED = "an in-place write to a buffer that a gradient needs"
PERSISTENCE = "`persistent` of a registered buffer"


def numbers(*values: float) -> Any:
    return np.array(values, "float32")


def recurrent(torch: Any) -> Any:
    class Recurrent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))
            self.register_buffer("h", torch.ones(1))

        def forward(self, x):
            self.h = self.h * self.weight + x
            return self.h * self.weight

    return Recurrent()


def slots(torch: Any) -> Any:
    module = torch.nn.Module()
    module.w = torch.nn.Parameter(torch.ones(1))
    module.register_buffer("slot", None)
    module.register_buffer("mask", torch.ones(1), persistent=False)
    return module


def failing(load: Any) -> None:
    try:
        load()
    except RuntimeError:
        return
    raise AssertionError("the load did not fail")


# ---- assignment ------------------------------------------------------------------------------------------------------
@suite.differs(ASSIGNED, torch=(True, True), lucid=(False, False))
def an_assigned_tensor_and_its_graph(torch):
    module = recurrent(torch)
    module.h = module.weight * 3
    return module.h.requires_grad, module.h.grad_fn is not None


@suite.differs(ASSIGNED, torch=Raised(RuntimeError), lucid=numbers(3.0))
def a_training_loop_with_a_state(torch):
    module = recurrent(torch)
    for _ in range(2):
        module.zero_grad()
        module(torch.ones(1)).sum().backward()
    return module.weight.grad


@suite.differs(ASSIGNED, torch=Raised(RuntimeError), lucid=numbers(2.0))
def a_deep_copy_after_a_forward_pass(torch):
    module = recurrent(torch)
    module(torch.ones(1))
    return copy.deepcopy(module).h


@suite.differs(ASSIGNED, torch=100, lucid=0)
def the_length_of_the_graph_after_a_hundred_steps_without_backward(torch):
    module, steps = recurrent(torch), 0
    for _ in range(50):
        module(torch.ones(1))
    node = module.h.grad_fn
    while node is not None:
        steps += 1
        node = node.next_functions[0][0]
    return steps


@suite.differs(ASSIGNED, torch=False, lucid=True)
def the_object_behind_the_name(torch):
    module = recurrent(torch)
    buffer = module.h
    module.h = torch.zeros(1)
    return module.h is buffer


@suite.differs(ASSIGNED, torch=False, lucid=True)
def an_alias_in_another_module(torch):
    first, second = recurrent(torch), recurrent(torch)
    second.register_buffer("h", first.h)
    first.h = torch.full((1,), 5.0)
    return second.h.item() == 5.0


@suite.differs(ASSIGNED, torch=Raised(TypeError), lucid=numbers(2.0))
def a_buffer_that_tracks_its_graph(torch):
    module = recurrent(torch)
    module.h = torch.nn.Buffer(torch.ones(1), track_grad=True)
    module(torch.ones(1))
    module.h.sum().backward()
    module.h.detach_()
    copy.deepcopy(module)
    return module.h


# ---- loading ---------------------------------------------------------------------------------------------------------
@suite.differs(FAILED, torch=numbers(5.0), lucid=numbers(1.0))
def a_load_that_misses_a_key(torch):
    module = torch.nn.Module()
    module.a, module.b = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
    failing(lambda: module.load_state_dict({"a": torch.full((1,), 5.0)}))
    return module.a


@suite.differs(FAILED, torch=numbers(5.0), lucid=numbers(1.0))
def a_load_with_a_wrong_shape_and_without_strict(torch):
    module = torch.nn.Module()
    module.a, module.b = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
    failing(lambda: module.load_state_dict({"a": torch.full((1,), 5.0), "b": torch.ones(2)}, strict=False))
    return module.a


@suite.differs(FAILED, torch=numbers(5.0), lucid=numbers(1.0))
def a_load_whose_extra_state_is_refused(torch):
    class Extra(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.ones(1))

        def get_extra_state(self):
            return 1

        def set_extra_state(self, state):
            raise RuntimeError("not mine")

    module = Extra()
    failing(lambda: module.load_state_dict({"a": torch.full((1,), 5.0), "_extra_state": 3}))
    return module.a


@suite.differs(FAILED, torch=3, lucid=0)
def a_failed_load_and_an_overridden_method(torch):
    class Counting(torch.nn.Linear):
        loads = 0

        def _load_from_state_dict(self, state_dict, *rest):
            self.loads = 3
            super()._load_from_state_dict(state_dict, *rest)

    module = Counting(1, 1)
    failing(lambda: module.load_state_dict({}))
    return module.loads


@suite.differs(SLOT, torch=Raised(RuntimeError), lucid=(numbers(3.0), ["w", "slot"]))
def a_state_with_a_tensor_for_a_none_slot(torch):
    module = slots(torch)
    module.load_state_dict({"w": torch.ones(1), "slot": torch.full((1,), 3.0)})
    return module.slot, list(module.state_dict())


@suite.differs(SLOT, torch=["slot"], lucid=[])
def a_none_slot_without_strict(torch):
    return slots(torch).load_state_dict({"w": torch.ones(1), "slot": torch.ones(1)}, strict=False).unexpected_keys


@suite.differs(RESIZABLE, torch=Raised(RuntimeError), lucid=(2, 2))
def a_cache_of_another_length(torch):
    resizable = {} if torch.__name__ == "torch" else {"resizable": True}
    module = torch.nn.Module()
    module.cache = torch.nn.Buffer(torch.zeros(0, 2), **resizable)
    module.load_state_dict({"cache": torch.ones(2, 2)})
    return tuple(module.cache.shape)


@suite.differs(HIDDEN, torch=Raised(RuntimeError), lucid=([], []))
def an_old_checkpoint_with_a_mask(torch):
    return tuple(slots(torch).load_state_dict({"w": torch.ones(1), "mask": torch.zeros(9)}))


@suite.differs(HIDDEN, torch=["mask"], lucid=[])
def an_old_checkpoint_with_a_mask_without_strict(torch):
    return slots(torch).load_state_dict({"w": torch.ones(1), "mask": torch.zeros(9)}, strict=False).unexpected_keys


@suite.differs(HIDDEN, torch=Raised(RuntimeError), lucid=(([], []), numbers(1.0)))
def strict_but_for_some_keys(torch):
    module = slots(torch)
    keys = module.load_state_dict({"w": torch.zeros(1), "a.mask": torch.zeros(9)}, strict={"ignore": ["*.mask", "w"]})
    return tuple(keys), module.w


@suite.differs(ASSIGN, torch=False, lucid=True)
def the_object_after_assign(torch):
    module = slots(torch)
    weight = module.w
    module.load_state_dict({"w": torch.zeros(1)}, assign=True)
    return module.w is weight


@suite.differs(ASSIGN, torch=numbers(1.0), lucid=numbers(0.0))
def an_optimizer_made_before_assign(torch):
    module = slots(torch)
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
    module.load_state_dict({"w": torch.ones(1)}, assign=True)
    module.w.sum().backward()
    optimizer.step()
    return module.w


# ---- saving ----------------------------------------------------------------------------------------------------------
@suite.differs(SNAPSHOT, torch=Raised(TypeError), lucid=(numbers(1.0), numbers(9.0)))
def a_snapshot(torch):
    module = slots(torch)
    snapshot, alias = module.state_dict(copy=True), module.state_dict()
    module.w.data.fill_(9.0)
    return snapshot["w"], alias["w"]


@suite.differs(PERSISTENCE, torch=(True, ["b"]), lucid=(False, []))
def an_in_place_operator_on_a_buffer_that_is_not_saved(torch):
    module = torch.nn.Module()
    module.register_buffer("b", torch.nn.Buffer(torch.ones(1)), persistent=False)
    module.b += 1
    return module.b.persistent, list(module.state_dict())


# ---- copies ----------------------------------------------------------------------------------------------------------
def tied(torch: Any) -> Any:
    module, table = torch.nn.Module(), torch.ones(2)
    module.a, module.b = torch.nn.Parameter(table), torch.nn.Parameter(table)
    module.register_buffer("c", table)
    return module


@suite.differs(TIES, torch=(numbers(1.0, 1.0), numbers(1.0, 1.0)), lucid=(numbers(0.0, 0.0), numbers(0.0, 0.0)))
def a_deep_copy_of_parameters_over_one_memory(torch):
    twin = copy.deepcopy(tied(torch))
    twin.a.data.zero_()
    return twin.b, twin.c


@suite.differs(TIES, torch=(numbers(1.0, 1.0), numbers(1.0, 1.0)), lucid=(numbers(0.0, 0.0), numbers(0.0, 0.0)))
def a_pickle_of_parameters_over_one_memory(torch):
    twin = pickle.loads(pickle.dumps(tied(torch)))
    twin.a.data.zero_()
    return twin.b, twin.c


# ---- containers ------------------------------------------------------------------------------------------------------
@suite.differs(CONTAINERS, torch=Raised(AttributeError), lucid=["d.x", "l.0"])
def containers_of_buffers(torch):
    module = torch.nn.Module()
    module.d = torch.nn.BufferDict({"x": torch.ones(1), "y": torch.nn.Buffer(torch.ones(1), persistent=False)})
    module.l = torch.nn.BufferList([torch.ones(1), torch.nn.Buffer(torch.ones(1), persistent=False)])
    return list(module.state_dict())


# ---- errors ----------------------------------------------------------------------------------------------------------
@suite.differs(NAMED, torch=(True, False, False), lucid=(True, True, True))
def what_the_error_about_a_write_names(torch):
    model = torch.nn.Sequential(recurrent(torch))
    loss = (model[0].weight * model[0].h).sum()
    model[0].h.add_(1)
    try:
        loss.backward()
    except RuntimeError as error:
        text = str(error)
    return "modified by an inplace operation" in text, "buffer '0.h'" in text, "op 'mul'" in text


test_behaviour = suite.test()
