"""state_dict, the hooks around saving and loading, and extra state: what scripts rely on."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ..models import message, stateful
from ..suite import Suite

suite = Suite()


# ---- saving ----------------------------------------------------------------------------------------------------------
@suite.same
def parameters_come_before_buffers_and_both_before_submodules(torch):
    return list(stateful(torch).state_dict())


@suite.same
def the_order_is_that_of_registration(torch):
    module = torch.nn.Module()
    module.z, module.a = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
    del module.z
    module.z = torch.nn.Parameter(torch.ones(1))
    return list(module.state_dict())


@suite.same
def metadata_has_a_version_for_each_module(torch):
    state = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.ReLU(), stateful(torch)).state_dict()
    return [(name, dict(entry)) for name, entry in state._metadata.items()]


@suite.same
def metadata_of_a_part_starts_at_its_prefix(torch):
    return list(stateful(torch).state_dict(prefix="a.b.")._metadata)


@suite.same
def a_class_sets_the_version_of_its_metadata(torch):
    class New(torch.nn.Module):
        _version = 7

    return dict(New().state_dict()._metadata[""])


@suite.same
def the_result_is_an_ordered_dictionary(torch):
    return isinstance(stateful(torch).state_dict(), OrderedDict)


@suite.same
def a_prefix_is_put_before_every_key(torch):
    return list(stateful(torch).state_dict(prefix="model."))


@suite.same
def a_destination_is_filled_and_returned(torch):
    given = OrderedDict(kept=1)
    result = stateful(torch).state_dict(destination=given)
    return result is given, list(given), hasattr(given, "_metadata")


@suite.same
def a_plain_dictionary_as_destination(torch):
    given = {}
    stateful(torch).state_dict(destination=given, prefix="x.")
    return list(given)


@suite.same
def entries_are_detached_and_share_memory(torch):
    module = stateful(torch)
    state = module.state_dict()
    module.w.data.fill_(5.0)
    return state["w"].requires_grad, state["w"] is module.w, state["w"]


@suite.same
def keep_vars_gives_the_objects_themselves(torch):
    module = stateful(torch)
    state = module.state_dict(keep_vars=True)
    return state["w"] is module.w, state["b"] is module.b, state["c.weight"].requires_grad, type(state["w"]).__name__


@suite.same
def a_later_step_changes_a_state_dict(torch):
    module = stateful(torch)
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
    module = stateful(torch)
    module.c = None
    module.register_parameter("none", None)
    return list(module.state_dict())


@suite.same
def a_filled_slot_is_saved_in_its_place(torch):
    module = stateful(torch)
    module.register_buffer("last", torch.zeros(1))
    module.slot = torch.ones(1)
    return list(module.state_dict())


@suite.same
def registering_again_with_another_persistence(torch):
    module = stateful(torch)
    module.register_buffer("b", torch.ones(1), persistent=False)
    hidden = list(module.state_dict())
    module.register_buffer("b", torch.ones(1))
    return hidden, list(module.state_dict())


@suite.same
def persistence_can_be_flipped_in_the_set_of_a_module(torch):
    module = stateful(torch)
    module._non_persistent_buffers_set.add("b")
    module._non_persistent_buffers_set.discard("scratch")
    return list(module.state_dict())


@suite.same
def a_deleted_buffer_forgets_its_persistence(torch):
    module = stateful(torch)
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
    module = stateful(torch)
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


test_behaviour = suite.test()
