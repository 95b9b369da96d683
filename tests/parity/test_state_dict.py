"""state_dict, load_state_dict and the state of buffers: what scripts rely on."""
from __future__ import annotations

import copy
import pickle
import warnings
from collections import OrderedDict
from typing import Any

from .suite import Suite

suite = Suite()


def small(torch: Any) -> Any:
    """A parameter, a buffer, one that is not saved, a None slot and a submodule."""

    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.zeros(2))
            self.w = torch.nn.Parameter(torch.ones(2))
            self.register_buffer("scratch", torch.zeros(1), persistent=False)
            self.register_buffer("slot", None)
            self.c = torch.nn.Linear(2, 1)

    return Small()


def message(load: Any) -> str:
    try:
        load()
    except Exception as error:
        return type(error).__name__ + ": " + str(error)
    return "no error"


# ---- saving ----------------------------------------------------------------------------------------------------------
@suite.same
def parameters_come_before_buffers_and_both_before_submodules(torch):
    return list(small(torch).state_dict())


@suite.same
def the_order_is_that_of_registration(torch):
    module = torch.nn.Module()
    module.z, module.a = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
    del module.z
    module.z = torch.nn.Parameter(torch.ones(1))
    return list(module.state_dict())


@suite.same
def metadata_has_a_version_for_each_module(torch):
    state = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.ReLU(), small(torch)).state_dict()
    return [(name, dict(entry)) for name, entry in state._metadata.items()]


@suite.same
def metadata_of_a_part_starts_at_its_prefix(torch):
    return list(small(torch).state_dict(prefix="a.b.")._metadata)


@suite.same
def a_class_sets_the_version_of_its_metadata(torch):
    class New(torch.nn.Module):
        _version = 7

    return dict(New().state_dict()._metadata[""])


@suite.same
def the_result_is_an_ordered_dictionary(torch):
    return isinstance(small(torch).state_dict(), OrderedDict)


@suite.same
def a_prefix_is_put_before_every_key(torch):
    return list(small(torch).state_dict(prefix="model."))


@suite.same
def a_destination_is_filled_and_returned(torch):
    given = OrderedDict(kept=1)
    result = small(torch).state_dict(destination=given)
    return result is given, list(given), hasattr(given, "_metadata")


@suite.same
def a_plain_dictionary_as_destination(torch):
    given = {}
    small(torch).state_dict(destination=given, prefix="x.")
    return list(given)


@suite.same
def entries_are_detached_and_share_memory(torch):
    module = small(torch)
    state = module.state_dict()
    module.w.data.fill_(5.0)
    return state["w"].requires_grad, state["w"] is module.w, state["w"]


@suite.same
def keep_vars_gives_the_objects_themselves(torch):
    module = small(torch)
    state = module.state_dict(keep_vars=True)
    return state["w"] is module.w, state["b"] is module.b, state["c.weight"].requires_grad, type(state["w"]).__name__


@suite.same
def a_later_step_changes_a_state_dict(torch):
    module = small(torch)
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
    state = module.state_dict()
    module.w.sum().backward()
    optimizer.step()
    return state["w"]


@suite.same
def a_shared_module_is_saved_under_each_name(torch):
    layer = torch.nn.Linear(1, 1, bias=False)
    state = torch.nn.Sequential(layer, torch.nn.ReLU(), layer).state_dict()
    return list(state), state["0.weight"].data_ptr() == state["2.weight"].data_ptr()


@suite.same
def names_of_containers(torch):
    layers = torch.nn.ModuleDict({"b": torch.nn.ModuleList([torch.nn.Linear(1, 1)]), "a": torch.nn.ParameterList([torch.ones(1)]),
                                  "p": torch.nn.ParameterDict({"k": torch.ones(1)})})
    return list(layers.state_dict())


@suite.same
def a_named_sequential(torch):
    return list(torch.nn.Sequential(OrderedDict(first=torch.nn.Linear(1, 1), last=torch.nn.BatchNorm1d(1))).state_dict())


@suite.same
def none_modules_and_slots_are_not_saved(torch):
    module = small(torch)
    module.c = None
    module.register_parameter("none", None)
    return list(module.state_dict())


@suite.same
def a_filled_slot_is_saved_in_its_place(torch):
    module = small(torch)
    module.register_buffer("last", torch.zeros(1))
    module.slot = torch.ones(1)
    return list(module.state_dict())


@suite.same
def registering_again_with_another_persistence(torch):
    module = small(torch)
    module.register_buffer("b", torch.ones(1), persistent=False)
    hidden = list(module.state_dict())
    module.register_buffer("b", torch.ones(1))
    return hidden, list(module.state_dict())


@suite.same
def persistence_can_be_flipped_in_the_set_of_a_module(torch):
    module = small(torch)
    module._non_persistent_buffers_set.add("b")
    module._non_persistent_buffers_set.discard("scratch")
    return list(module.state_dict())


@suite.same
def a_deleted_buffer_forgets_its_persistence(torch):
    module = small(torch)
    del module.scratch
    module.register_buffer("scratch", torch.ones(1))
    return list(module.state_dict())


@suite.same
def one_buffer_in_two_modules_may_be_saved_by_one_of_them(torch):
    table = torch.ones(2)
    model = torch.nn.Sequential(torch.nn.Module(), torch.nn.Module())
    model[0].register_buffer("table", table)
    model[1].register_buffer("table", table, persistent=False)
    return list(model.state_dict())


@suite.same
def a_buffer_object_brings_its_persistence(torch):
    module = torch.nn.Module()
    module.saved = torch.nn.Buffer(torch.ones(1))
    module.hidden = torch.nn.Buffer(torch.ones(1), persistent=False)
    module.hidden = torch.ones(2)
    return list(module.state_dict()), [name for name, _ in module.named_buffers()]


@suite.same
def a_new_buffer_object_decides_anew(torch):
    module = small(torch)
    module.scratch = torch.nn.Buffer(torch.ones(1))
    module.b = torch.nn.Buffer(torch.ones(1), persistent=False)
    return list(module.state_dict())


@suite.same
def an_override_of_save_to_state_dict(torch):
    class More(torch.nn.Linear):
        def _save_to_state_dict(self, destination, prefix, keep_vars):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "more"] = torch.ones(1)

    return list(torch.nn.Sequential(More(1, 1)).state_dict())


@suite.same
def an_override_of_state_dict_in_a_child(torch):
    class Empty(torch.nn.Linear):
        def state_dict(self, *args, **keywords):
            return keywords.get("destination")

    return list(torch.nn.Sequential(Empty(1, 1), torch.nn.Linear(1, 1)).state_dict())


# ---- hooks as users see them -----------------------------------------------------------------------------------------
@suite.same
def hooks_around_saving_run_in_this_order(torch):
    module, calls = torch.nn.Sequential(torch.nn.Linear(1, 1)), []
    for name, part in (("outer", module), ("inner", module[0])):
        part.register_state_dict_pre_hook(lambda m, prefix, keep, name=name: calls.append((name, "pre", prefix, keep)))
        part.register_state_dict_post_hook(lambda m, state, prefix, meta, name=name: calls.append((name, prefix, list(state))))
    module.state_dict()
    return calls


@suite.same
def a_private_state_dict_hook_may_return_another_dictionary(torch):
    module = torch.nn.Linear(1, 1)
    module._register_state_dict_hook(lambda m, state, prefix, meta: OrderedDict(only=state["bias"]))
    return list(module.state_dict())


@suite.same
def a_public_state_dict_hook_must_return_none(torch):
    module = torch.nn.Linear(1, 1)
    module.register_state_dict_post_hook(lambda m, state, prefix, meta: state)
    module.state_dict()


@suite.same
def a_removed_hook_is_not_called(torch):
    module = torch.nn.Linear(1, 1)
    handle = module.register_state_dict_post_hook(lambda m, state, prefix, meta: state.clear())
    handle.remove()
    return list(module.state_dict())


@suite.same
def a_load_pre_hook_may_rename_keys(torch):
    module = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False))

    def rename(m, state, prefix, metadata, strict, missing, unexpected, errors):
        state[prefix + "weight"] = state.pop(prefix + "kernel")

    module[0].register_load_state_dict_pre_hook(rename)
    given = {"0.kernel": torch.full((1, 1), 3.0)}
    keys = module.load_state_dict(given)
    return module[0].weight, tuple(keys), list(given)


@suite.same
def a_load_pre_hook_may_add_errors_and_keys(torch):
    module = torch.nn.Linear(1, 1)

    def complain(m, state, prefix, metadata, strict, missing, unexpected, errors):
        missing.append("mine")
        unexpected.append("yours")
        errors.append("ours")

    module.register_load_state_dict_pre_hook(complain)
    return message(lambda: module.load_state_dict(module.state_dict()))


@suite.same
def what_a_load_pre_hook_gets(torch):
    module, seen = torch.nn.Sequential(torch.nn.BatchNorm1d(1)), []

    def look(m, state, prefix, metadata, strict, *lists):
        seen.append((type(m).__name__, sorted(state), prefix, metadata["version"], strict, [list(entries) for entries in lists]))

    module[0].register_load_state_dict_pre_hook(look)
    module.load_state_dict(module.state_dict(), strict=False)
    return seen


@suite.same
def a_load_post_hook_may_forgive(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    keys = module.load_state_dict({"weight": torch.full((1, 1), 2.0)})
    return tuple(keys), module.weight


@suite.same
def a_load_post_hook_must_return_none(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_post_hook(lambda m, keys: keys)
    module.load_state_dict(module.state_dict())


@suite.same
def load_post_hooks_run_children_first(torch):
    module, order = torch.nn.Sequential(torch.nn.Linear(1, 1)), []
    module.register_load_state_dict_post_hook(lambda m, keys: order.append("outer"))
    module[0].register_load_state_dict_post_hook(lambda m, keys: order.append("inner"))
    module.load_state_dict(module.state_dict())
    return order


# ---- extra state -----------------------------------------------------------------------------------------------------
def with_extra_state(torch: Any) -> Any:
    class Extra(torch.nn.Linear):
        epoch = 1

        def get_extra_state(self):
            return {"epoch": self.epoch}

        def set_extra_state(self, state):
            self.epoch = state["epoch"]

    return torch.nn.Sequential(Extra(1, 1))


@suite.same
def extra_state_has_a_key_of_its_own(torch):
    state = with_extra_state(torch).state_dict()
    return list(state), state["0._extra_state"]


@suite.same
def extra_state_is_restored(torch):
    source, target = with_extra_state(torch), with_extra_state(torch)
    source[0].epoch = 5
    keys = target.load_state_dict(source.state_dict())
    return target[0].epoch, tuple(keys)


@suite.same
def missing_extra_state(torch):
    module = with_extra_state(torch)
    state = module.state_dict()
    del state["0._extra_state"]
    return message(lambda: module.load_state_dict(state)), tuple(module.load_state_dict(state, strict=False))


@suite.same
def unexpected_extra_state(torch):
    module = torch.nn.Sequential(torch.nn.Linear(1, 1))
    return message(lambda: module.load_state_dict(with_extra_state(torch).state_dict()))


@suite.same
def extra_state_must_be_overridden(torch):
    return [message(lambda: torch.nn.Linear(1, 1).get_extra_state()).split(":")[0],
            message(lambda: torch.nn.Linear(1, 1).set_extra_state(1)).split(":")[0]]


# ---- loading: keys ---------------------------------------------------------------------------------------------------
@suite.same
def the_result_when_all_keys_match(torch):
    module = small(torch)
    keys = module.load_state_dict(module.state_dict())
    return repr(keys), keys.missing_keys, keys.unexpected_keys


@suite.same
def the_result_when_keys_differ(torch):
    module = small(torch)
    return repr(module.load_state_dict({"b": torch.ones(2), "x": torch.ones(1), "c.y": torch.ones(1)}, strict=False))


@suite.same
def the_report_of_a_strict_load(torch):
    return message(lambda: small(torch).load_state_dict({"b": torch.ones(2), "x": torch.ones(1), "c.y": torch.ones(1),
                                                         "d.e.f": torch.ones(1)}))


@suite.same
def the_report_of_size_mismatches(torch):
    return message(lambda: small(torch).load_state_dict({"b": torch.ones(3), "w": torch.ones(2, 1), "c.weight": torch.ones(()),
                                                         "c.bias": torch.ones(1)}))


@suite.same
def a_size_mismatch_raises_without_strict_too(torch):
    small(torch).load_state_dict({"b": torch.ones(3)}, strict=False)


@suite.same
def the_report_of_a_value_that_is_no_tensor(torch):
    module = small(torch)
    return message(lambda: module.load_state_dict(module.state_dict() | {"w": [1.0, 2.0], "b": None}))


@suite.same
def keys_below_a_buffer_or_parameter_are_unexpected(torch):
    module = small(torch)
    return module.load_state_dict({"w.x": torch.ones(1), "b.y": torch.ones(1)}, strict=False).unexpected_keys


@suite.same
def keys_of_a_none_parameter_are_unexpected(torch):
    return message(lambda: torch.nn.Linear(1, 1, bias=False).load_state_dict(torch.nn.Linear(1, 1).state_dict()))


@suite.same
def keys_below_a_none_module_are_passed_over(torch):
    module = small(torch)
    state = module.state_dict()
    module.c = None
    return tuple(module.load_state_dict(state))


@suite.same
def a_norm_without_statistics_does_not_expect_them(torch):
    norm = torch.nn.BatchNorm1d(2, track_running_stats=False)
    return message(lambda: norm.load_state_dict(torch.nn.BatchNorm1d(2).state_dict()))


@suite.same
def an_old_norm_without_its_counter(torch):
    norm = torch.nn.BatchNorm1d(2)
    norm(torch.ones(3, 2))
    state = {name: value for name, value in norm.state_dict().items() if name != "num_batches_tracked"}
    other = torch.nn.BatchNorm1d(2)
    return tuple(other.load_state_dict(state)), other.num_batches_tracked


@suite.same
def a_norm_of_version_two_misses_its_counter(torch):
    state = torch.nn.BatchNorm1d(2).state_dict()
    del state["num_batches_tracked"]
    return message(lambda: torch.nn.BatchNorm1d(2).load_state_dict(state))


@suite.same
def non_mappings_are_refused(torch):
    return [message(lambda s=s: small(torch).load_state_dict(s)).split(":")[0] for s in ([1], None, "w", 3)]


@suite.same
def an_empty_state_without_strict(torch):
    keys = small(torch).load_state_dict({}, strict=False)
    return keys.missing_keys


@suite.same
def an_empty_module_takes_an_empty_state(torch):
    return repr(torch.nn.ReLU().load_state_dict({}))


@suite.same
def the_given_dictionary_is_not_changed(torch):
    module = torch.nn.BatchNorm1d(1)
    state = {name: value for name, value in module.state_dict().items() if name != "num_batches_tracked"}
    module.load_state_dict(state)
    return list(state)


# ---- loading: values -------------------------------------------------------------------------------------------------
@suite.same
def objects_and_memory_stay(torch):
    module = small(torch)
    weight, buffer, pointer = module.w, module.b, module.w.data_ptr()
    module.load_state_dict({name: value + 1 for name, value in module.state_dict().items()})
    return module.w is weight, module.b is buffer, module.w.data_ptr() == pointer, module.w, module.b


@suite.same
def dtypes_of_the_module_stay(torch):
    module = small(torch)
    module.register_buffer("n", torch.tensor([1, 2]))
    state = module.state_dict() | {"w": torch.full((2,), 1.7, dtype=torch.float64), "b": torch.tensor([3, 4]),
                                   "n": torch.tensor([1.9, -1.9])}
    module.load_state_dict(state)
    return module.w, module.b, module.n


@suite.same
def half_and_bool(torch):
    module = torch.nn.Module()
    module.register_buffer("h", torch.zeros(2, dtype=torch.float16))
    module.register_buffer("f", torch.zeros(2, dtype=torch.bool))
    module.load_state_dict({"h": torch.tensor([0.1, 7e4]), "f": torch.tensor([0.0, 2.0])})
    return module.h, module.f


@suite.same
def bfloat16_to_float32(torch):
    module = torch.nn.Linear(1, 1, bias=False)
    module.load_state_dict({"weight": torch.full((1, 1), 1.01, dtype=torch.bfloat16)})
    return module.weight


@suite.same
def one_element_loads_into_a_scalar(torch):
    module = torch.nn.Module()
    module.register_buffer("n", torch.tensor(0))
    module.load_state_dict({"n": torch.tensor([5])})
    return module.n


@suite.same
def a_scalar_does_not_load_into_one_element(torch):
    module = torch.nn.Module()
    module.register_buffer("n", torch.zeros(1))
    return message(lambda: module.load_state_dict({"n": torch.tensor(5.0)}))


@suite.same
def no_broadcasting(torch):
    module = torch.nn.Linear(2, 2)
    return message(lambda: module.load_state_dict({"weight": torch.ones(1, 2), "bias": torch.ones(1)}))


@suite.same
def values_that_are_not_contiguous(torch):
    module = torch.nn.Linear(3, 2, bias=False)
    module.load_state_dict({"weight": torch.arange(6.0).reshape(3, 2).t()})
    return module.weight, module.weight.is_contiguous()


@suite.same
def targets_that_are_not_contiguous(torch):
    module = torch.nn.Module()
    module.register_buffer("t", torch.zeros(3, 2).t())
    module.load_state_dict({"t": torch.arange(6.0).reshape(2, 3)})
    return module.t, module.t.stride()


@suite.same
def targets_whose_elements_share_memory(torch):
    module = torch.nn.Module()
    module.register_buffer("t", torch.zeros(1).expand(3))
    return message(lambda: module.load_state_dict({"t": torch.ones(3)})).split(":")[0]


@suite.same
def empty_tensors(torch):
    module = torch.nn.Module()
    module.register_buffer("e", torch.zeros(0, 3))
    return repr(module.load_state_dict({"e": torch.ones(0, 3)})), message(lambda: module.load_state_dict({"e": torch.ones(0)}))


@suite.same
def values_that_require_grad(torch):
    module = torch.nn.Linear(1, 1, bias=False)
    leaf = torch.full((1, 1), 3.0, requires_grad=True)
    module.load_state_dict({"weight": leaf * 2})
    return module.weight, module.weight.is_leaf, module.weight.requires_grad


@suite.same
def frozen_parameters_stay_frozen_and_gradients_stay(torch):
    module = torch.nn.Linear(1, 1)
    module.weight.requires_grad_(False)
    module.bias.sum().backward()
    module.load_state_dict(module.state_dict(keep_vars=True))
    return module.weight.requires_grad, module.bias.requires_grad, module.bias.grad


@suite.same
def tied_parameters_take_the_last_value(torch):
    model = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(1, 1, bias=False))
    model[1].weight = model[0].weight
    model.load_state_dict({"0.weight": torch.full((1, 1), 1.0), "1.weight": torch.full((1, 1), 2.0)})
    return model[0].weight, model[1].weight is model[0].weight


@suite.same
def a_module_loads_its_own_state(torch):
    module = torch.nn.BatchNorm1d(2)
    module(torch.arange(6.0).reshape(3, 2))
    module.load_state_dict(module.state_dict())
    return module.running_mean, module.num_batches_tracked


@suite.same
def a_load_into_a_saved_tensor_is_a_write(torch):
    module = torch.nn.Linear(1, 1, bias=False)
    loss = (module.weight * module.weight).sum()
    module.load_state_dict(module.state_dict())
    loss.backward()


@suite.same
def the_assigned_dtype(torch):
    module = torch.nn.Linear(1, 1, bias=False)
    given = torch.full((1, 1), 2.0, dtype=torch.float64)
    module.load_state_dict({"weight": given}, assign=True)
    given.fill_(3.0)
    return module.weight, module.weight.requires_grad, type(module.weight).__name__, module.weight.grad


@suite.same
def assigning_keeps_frozen_parameters_frozen(torch):
    module = torch.nn.Linear(1, 1, bias=False).requires_grad_(False)
    module.load_state_dict({"weight": torch.nn.Parameter(torch.ones(1, 1))}, assign=True)
    return module.weight.requires_grad


@suite.same
def assigning_checks_shapes_and_keys(torch):
    module = torch.nn.Linear(1, 1)
    return (message(lambda: module.load_state_dict({"weight": torch.ones(2, 1)}, assign=True)),
            tuple(module.load_state_dict({"weight": torch.ones(1, 1)}, strict=False, assign=True)))


@suite.same
def loading_into_a_module_without_memory(torch):
    module = torch.nn.Linear(2, 2, device="meta")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        keys = repr(module.load_state_dict(torch.nn.Linear(2, 2).state_dict()))
    return keys, module.weight, [(w.category.__name__, str(w.message).split(".")[0]) for w in caught]


@suite.same
def assigning_to_a_module_without_memory(torch):
    module, source = torch.nn.Linear(2, 2, device="meta"), torch.nn.Linear(2, 2)
    module.load_state_dict(source.state_dict(), assign=True)
    return module.weight.device, module.weight.requires_grad, bool((module.weight == source.weight).all())


@suite.same
def loading_what_has_no_elements(torch):
    state = torch.nn.Linear(2, 2, device="meta").state_dict()
    return message(lambda: torch.nn.Linear(2, 2).load_state_dict(state, strict=False))


# ---- copies ----------------------------------------------------------------------------------------------------------
@suite.same
def a_deep_copy_is_independent(torch):
    module = small(torch)
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
    module = small(torch)
    state = copy.deepcopy(module.state_dict())
    module.w.data.zero_()
    return state["w"], dict(state._metadata[""])


@suite.same
def a_computed_tensor_cannot_be_deep_copied(torch):
    copy.deepcopy(torch.ones(2, requires_grad=True) * 2)


# ---- buffers as attributes -------------------------------------------------------------------------------------------
@suite.same
def assignment_changes_shape_and_dtype(torch):
    module = small(torch)
    module.b = torch.ones(3, dtype=torch.int64)
    return module.state_dict()["b"]


@suite.same
def assigning_none_and_back(torch):
    module = small(torch)
    module.b = None
    empty = list(module.state_dict())
    module.b = torch.ones(1)
    return empty, list(module.state_dict()), [name for name, _ in module.named_buffers()]


@suite.same
def assigning_what_is_no_tensor(torch):
    return [message(lambda v=v: setattr(small(torch), "b", v)).split(":")[0] for v in (1.0, [1.0], "x", torch.nn.ReLU)]


@suite.same
def an_in_place_operator_on_the_attribute(torch):
    module = small(torch)
    module.b += 2
    module.b[0] = 7
    return module.b, list(module.state_dict())


@suite.same
def the_memory_of_an_assigned_tensor_is_shared(torch):
    module, value = small(torch), torch.zeros(2)
    module.b = value
    value.add_(1)
    return module.b


@suite.same
def a_tensor_written_after_an_operation_saved_the_buffer(torch):
    module = small(torch)
    loss = (module.w * module.b).sum()
    module.b.add_(1)
    loss.backward()


@suite.same
def a_buffer_assigned_after_an_operation_saved_it(torch):
    module = small(torch)
    module.b = torch.full((2,), 3.0)
    loss = (module.w * module.b).sum()
    module.b = torch.full((2,), 100.0)
    loss.backward()
    return module.w.grad


@suite.same
def a_view_of_a_buffer_stays_with_its_memory(torch):
    module, weight = small(torch), torch.full((1,), 4.0, requires_grad=True)
    view = module.b[:1]
    module.b = torch.full((2,), 9.0)
    view.add_(weight)
    view.sum().backward()
    return module.b, module.b.requires_grad, view, weight.grad


@suite.same
def a_gradient_through_writes_to_a_buffer(torch):
    module, weight = small(torch), torch.full((1,), 4.0, requires_grad=True)
    module.b[1:] = weight * 3
    (module.b * module.w).sum().backward()
    return weight.grad, module.w.grad


@suite.same
def a_write_to_a_tensor_is_not_seen_by_views_of_its_detached_alias(torch):
    base, weight = torch.ones(2), torch.ones(2, requires_grad=True)
    view = base.detach()[:1]
    base.mul_(weight)
    return view.requires_grad, base.requires_grad


test_behaviour = suite.test()
