"""Hooks of state dicts and of loading, as in PyTorch."""
from __future__ import annotations

import copy
import pickle
import weakref
from typing import Any

from ..suite import Suite
from .hooks import module_level_load_hook

suite = Suite()


def nested(torch: Any) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False)))


@suite.same
def state_dict_hooks_in_order_with_prefixes(torch):
    net, order = nested(torch), []
    for module in net.modules():
        module.register_state_dict_pre_hook(lambda m, prefix, keep_vars: order.append(("pre", prefix, keep_vars)))
        module.register_state_dict_post_hook(lambda m, state, prefix, metadata: order.append((prefix, list(state), metadata)))
    net.state_dict(prefix="root.", keep_vars=True)
    return order


@suite.same
def a_public_state_dict_hook_must_return_none(torch):
    module = torch.nn.Linear(1, 1)
    module.register_state_dict_post_hook(lambda *args: {})
    return module.state_dict()


@suite.same
def a_private_state_dict_hook_replaces_the_result_of_the_root_only(torch):
    net = nested(torch)
    net[0]._register_state_dict_hook(lambda m, state, prefix, metadata: {"inner": 1})
    inner = list(net.state_dict())
    net._register_state_dict_hook(lambda m, state, prefix, metadata: {"outer": 1})
    return inner, net.state_dict()


@suite.same
def a_public_state_dict_hook_cannot_be_registered_privately_too(torch):
    module = torch.nn.Linear(1, 1)

    def hook(*args):
        return None

    module.register_state_dict_post_hook(hook)
    return module._register_state_dict_hook(hook)


@suite.same
def a_bound_method_cannot_be_a_public_state_dict_hook(torch):
    module = torch.nn.Linear(1, 1)
    return module.register_state_dict_post_hook(module.extra_repr)


@suite.same
def a_state_dict_hook_may_rename_keys_in_place(torch):
    module = torch.nn.Linear(1, 1, bias=False)
    module.register_state_dict_post_hook(lambda m, state, prefix, metadata: state.update(new=state.pop(prefix + "weight")))
    return list(module.state_dict())


@suite.same
def load_pre_hooks_in_order_with_prefixes(torch):
    net, order = nested(torch), []
    for module in net.modules():
        module.register_load_state_dict_pre_hook(
            lambda m, state, prefix, metadata, strict, missing, unexpected, errors:
            order.append((type(m).__name__, prefix, list(state), metadata.get("version"), strict, missing, unexpected, errors)))
    net.load_state_dict(net.state_dict())
    return order


@suite.same
def a_load_pre_hook_may_change_what_is_loaded(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(module_level_load_hook)
    state = {"weight": torch.ones(1, 1), "bias": torch.ones(1)}
    module.load_state_dict(state)
    return module.state_dict(), state


@suite.same
def private_load_pre_hooks_get_the_module_only_if_asked(torch):
    module, counts = torch.nn.Linear(1, 1), []
    module._register_load_state_dict_pre_hook(lambda *args: counts.append(len(args)))
    module._register_load_state_dict_pre_hook(lambda *args: counts.append((len(args), args[0] is module)), with_module=True)
    module.load_state_dict(module.state_dict())
    return counts


@suite.same
def a_load_pre_hook_adds_errors_and_keys(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(lambda m, state, prefix, meta, strict, missing, unexpected, errors:
                                             unexpected.append("extra"))
    loose = module.load_state_dict(module.state_dict(), strict=False)
    return loose.unexpected_keys, module.load_state_dict(module.state_dict())


@suite.same
def errors_of_a_load_pre_hook_are_raised_even_if_not_strict(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(lambda m, state, prefix, meta, strict, missing, unexpected, errors:
                                             errors.append("no"))
    return module.load_state_dict(module.state_dict(), strict=False)


@suite.same
def load_pre_hooks_survive_copies_with_their_module(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(module_level_load_hook)
    twins = copy.deepcopy(module), pickle.loads(pickle.dumps(module))
    for twin in twins:
        twin.load_state_dict({"weight": torch.ones(1, 1), "bias": torch.ones(1)})
    return [twin.bias for twin in twins]


@suite.same
def a_load_pre_hook_does_not_keep_its_module_alive(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(module_level_load_hook)
    alive = weakref.ref(module)
    del module
    return alive() is None


@suite.same
def load_post_hooks_run_from_the_leaves_to_the_root(torch):
    net, order = nested(torch), []
    for name, module in net.named_modules():
        module.register_load_state_dict_post_hook(lambda m, keys, name=name: order.append((name, type(keys).__name__.strip("_"))))
    net.load_state_dict(net.state_dict())
    return order


@suite.same
def a_load_post_hook_may_forgive_keys(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    return module.load_state_dict({"weight": torch.ones(1, 1)}).missing_keys, module.weight


@suite.same
def a_load_post_hook_may_complain(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.append("more"))
    return module.load_state_dict(module.state_dict())


@suite.same
def a_load_post_hook_must_return_none(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_post_hook(lambda m, keys: keys)
    return module.load_state_dict(module.state_dict())


@suite.same
def hooks_of_state_dicts_are_removed_by_their_handles(torch):
    module, seen = torch.nn.Linear(1, 1), []
    handles = [module.register_state_dict_pre_hook(lambda *args: seen.append(1)),
               module.register_state_dict_post_hook(lambda *args: seen.append(2)),
               module.register_load_state_dict_pre_hook(lambda *args: seen.append(3)),
               module.register_load_state_dict_post_hook(lambda *args: seen.append(4))]
    module.load_state_dict(module.state_dict())
    for handle in handles:
        handle.remove()
    module.load_state_dict(module.state_dict())
    return seen


@suite.differs("`register_load_state_dict_post_hook`", torch=["pre 0", "post 0", "pre 1", "post 1"],
               lucid=["pre 0", "pre 1", "post 0", "post 1"])
def load_post_hooks_beside_the_pre_hooks_of_other_modules(torch):
    net, order = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)), []
    for name, module in net.named_children():
        module.register_load_state_dict_pre_hook(lambda m, *rest, name=name: order.append("pre " + name))
        module.register_load_state_dict_post_hook(lambda m, keys, name=name: order.append("post " + name))
    net.load_state_dict(net.state_dict())
    return order


@suite.differs("`register_load_state_dict_post_hook`", torch=[["0.bias"], ["0.bias", "1.bias"]],
               lucid=[["0.bias", "1.bias"], ["0.bias", "1.bias"]])
def load_post_hooks_see_missing_keys(torch):
    net, seen = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)), []
    for module in net:
        module.register_load_state_dict_post_hook(lambda m, keys: seen.append(list(keys.missing_keys)))
    state = {key: value for key, value in net.state_dict().items() if "weight" in key}
    net.load_state_dict(state, strict=False)
    return seen


test_behaviour = suite.test()
