"""Deep copies and pickles of modules, buffers and state dicts."""
from __future__ import annotations

import copy
import pickle

from ..models import stateful
from ..suite import Suite

suite = Suite()


@suite.same
def a_deep_copy_is_independent(torch):
    module = stateful(torch)
    twin = copy.deepcopy(module)
    twin.b.add_(1)
    twin.w.data.add_(1)
    return module.b, module.w, list(twin.state_dict()), twin.slot, type(twin.w).__name__


@suite.same
def a_deep_copy_keeps_shared_objects(torch):
    model = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
    model[1].weight = model[0].weight
    model.table = model.index = torch.ones(1)
    twin = copy.deepcopy(model)
    return twin[1].weight is twin[0].weight, twin.table is twin.index


@suite.same
def a_deep_copy_of_buffers_shares_memory_as_before(torch):
    module, table = torch.nn.Module(), torch.arange(6.0).reshape(2, 3)
    module.register_buffer("table", table)
    module.register_buffer("row", table[1])
    module.register_buffer("turned", table.t())
    twin = copy.deepcopy(module)
    twin.table.zero_()
    return twin.row, twin.turned, twin.turned.stride(), module.row


@suite.same
def deep_copies_and_pickles_keep_persistence(torch):
    twin = pickle.loads(pickle.dumps(torch.nn.Sequential(torch.nn.BatchNorm1d(1))))
    module = torch.nn.Module()
    module.register_buffer("scratch", torch.zeros(1), persistent=False)
    return list(twin.state_dict()), list(copy.deepcopy(module).state_dict()), list(pickle.loads(pickle.dumps(module)).state_dict())


@suite.same
def a_pickled_buffer_or_parameter_keeps_dtype_and_flag(torch):
    module = torch.nn.Module()
    module.w = torch.nn.Parameter(torch.ones(2, dtype=torch.float64), requires_grad=False)
    module.b = torch.nn.Buffer(torch.ones(2, dtype=torch.int64))
    twin = pickle.loads(pickle.dumps(module))
    return twin.w, twin.w.requires_grad, twin.b, type(twin.w).__name__


@suite.same
def a_deep_copy_of_a_state_dict_is_a_snapshot(torch):
    module = stateful(torch)
    state = copy.deepcopy(module.state_dict())
    module.w.data.zero_()
    return state["w"], dict(state._metadata[""])


@suite.same
def a_computed_tensor_cannot_be_deep_copied(torch):
    copy.deepcopy(torch.ones(2, requires_grad=True) * 2)


test_behaviour = suite.test()
