"""Handles of hooks: removal, copies and pickles, as in PyTorch."""
from __future__ import annotations

import copy
import pickle
import weakref

from ..suite import Suite
from .hooks import attempt, double, module_level_hook

suite = Suite()


@suite.same
def a_handle_is_a_context_manager_and_removes_once(torch):
    module = double(torch)
    with module.register_forward_hook(module_level_hook) as handle:
        inside = module(torch.ones(1))
    handle.remove()
    return inside, module(torch.ones(1)), type(handle).__name__


@suite.same
def a_handle_removes_its_hook_after_an_error(torch):
    module = double(torch)
    error = attempt(lambda: exec("with hook: raise ValueError", {"hook": module.register_forward_hook(module_level_hook)}))
    return error, len(module._forward_hooks)


@suite.same
def removing_a_hook_with_options_clears_them(torch):
    module = double(torch)
    module.register_forward_hook(module_level_hook, with_kwargs=True, always_call=True).remove()
    module.register_forward_pre_hook(module_level_hook, with_kwargs=True).remove()
    return [len(registry) for registry in (module._forward_hooks, module._forward_hooks_with_kwargs,
                                           module._forward_hooks_always_called, module._forward_pre_hooks_with_kwargs)]


@suite.same
def ids_of_handles_grow(torch):
    module = double(torch)
    first, second = (module.register_forward_hook(module_level_hook) for _ in range(2))
    return second.id - first.id, list(module._forward_hooks) == [first.id, second.id]


@suite.same
def a_handle_does_not_keep_its_module_alive(torch):
    module = double(torch)
    handle, alive = module.register_forward_hook(module_level_hook), weakref.ref(module)
    del module
    handle.remove()
    return alive() is None


@suite.same
def a_copied_module_has_hooks_of_its_own(torch):
    module = double(torch)
    handle = module.register_forward_hook(module_level_hook)
    twin = copy.deepcopy(module)
    handle.remove()
    return module(torch.ones(1)), twin(torch.ones(1))


@suite.same
def a_handle_copied_with_its_module_belongs_to_the_copy(torch):
    module = double(torch)
    module.handle = module.register_forward_hook(module_level_hook, with_kwargs=False, always_call=True)
    twin = copy.deepcopy(module)
    twin.handle.remove()
    return len(module._forward_hooks), len(twin._forward_hooks), len(twin._forward_hooks_always_called)


@suite.same
def a_handle_copied_alone_removes_nothing(torch):
    module = double(torch)
    copy.deepcopy(module.register_forward_hook(module_level_hook)).remove()
    return len(module._forward_hooks)


@suite.same
def hooks_survive_pickling(torch):
    module = torch.nn.Identity()
    module.register_forward_hook(module_level_hook)
    module.register_full_backward_hook(lambda *args: None).remove()
    twin = pickle.loads(pickle.dumps(module))
    return twin(torch.ones(1)), attempt(twin.register_backward_hook, module_level_hook)


@suite.same
def a_pickled_handle_removes_the_hook_of_the_pickled_module(torch):
    module = torch.nn.Identity()
    module.handle = module.register_forward_hook(module_level_hook)
    twin = pickle.loads(pickle.dumps(module))
    twin.handle.remove()
    later = twin.register_forward_hook(module_level_hook)
    return len(module._forward_hooks), len(twin._forward_hooks), later.id > module.handle.id


@suite.same
def a_hook_that_cannot_be_pickled_raises(torch):
    module = torch.nn.Identity()
    module.register_forward_hook(lambda *args: None)
    return attempt(pickle.dumps, module) in ("AttributeError", "PicklingError")


@suite.same
def a_bound_method_as_hook_is_bound_to_the_copy(torch):
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0
            self.register_forward_hook(self.count)

        def count(self, module, args, output):
            self.calls += 1

        def forward(self, x):
            return x

    module = Counting()
    twin = copy.deepcopy(module)
    twin(1)
    return module.calls, twin.calls


test_behaviour = suite.test()
