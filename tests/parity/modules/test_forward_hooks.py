"""Forward hooks and pre-hooks of modules, as in PyTorch."""
from __future__ import annotations

from ..suite import Suite
from .hooks import attempt, double, fail, layer, leaf, module_level_hook

suite = Suite()


@suite.same
def forward_hooks_run_in_order_and_prepended_ones_first(torch):
    module, order = double(torch), []
    for name in "ab":
        module.register_forward_hook(lambda m, args, out, name=name: order.append(name))
        module.register_forward_pre_hook(lambda m, args, name=name: order.append("pre " + name))
    module.register_forward_hook(lambda m, args, out: order.append("first"), prepend=True)
    module.register_forward_pre_hook(lambda m, args: order.append("pre first"), prepend=True)
    module(torch.ones(1))
    return order


@suite.same
def a_pre_hook_returns_one_value_or_a_tuple(torch):
    module, results = layer(torch, lambda *args: len(args)), []
    for value in (5, (1, 2, 3), [1, 2], ()):
        with module.register_forward_pre_hook(lambda m, args, value=value: value):
            results.append(module(0))
    return results


@suite.same
def pre_hooks_see_what_earlier_ones_returned(torch):
    module = double(torch)
    module.register_forward_pre_hook(lambda m, args: args[0] + 1)
    module.register_forward_pre_hook(lambda m, args: args[0] * 10)
    return module(torch.ones(2))


@suite.same
def pre_hooks_without_kwargs_do_not_see_them(torch):
    module, seen = layer(torch, lambda x, by=1: x * by), []
    module.register_forward_pre_hook(lambda *args: seen.append(len(args)))
    module.register_forward_hook(lambda *args: seen.append(len(args)))
    return module(torch.ones(2), by=3), seen


@suite.same
def pre_hooks_with_kwargs_replace_both(torch):
    module = layer(torch, lambda x, by=1: x * by)
    module.register_forward_pre_hook(lambda m, args, kwargs: ((args[0] + 1,), {"by": kwargs["by"] * 2}), with_kwargs=True)
    return module(torch.ones(2), by=3)


@suite.same
def a_pre_hook_with_kwargs_must_return_a_pair(torch):
    module = double(torch)
    module.register_forward_pre_hook(lambda m, args, kwargs: (1, 2, 3), with_kwargs=True)
    return module(torch.ones(2))


@suite.same
def a_pre_hook_with_kwargs_must_not_return_a_list(torch):
    module = double(torch)
    module.register_forward_pre_hook(lambda m, args, kwargs: [args, kwargs], with_kwargs=True)
    return module(torch.ones(2))


@suite.same
def a_pre_hook_may_change_the_kwargs_in_place(torch):
    module = layer(torch, lambda x, by=1: x * by)
    module.register_forward_pre_hook(lambda m, args, kwargs: kwargs.update(by=7), with_kwargs=True)
    return module(torch.ones(2), by=3)


@suite.same
def forward_hooks_replace_the_output_in_turn(torch):
    module = double(torch)
    module.register_forward_hook(lambda m, args, out: out + 1)
    module.register_forward_hook(lambda m, args, out: None)
    module.register_forward_hook(lambda m, args, out: (out, "any"))
    return module(torch.ones(2))


@suite.same
def a_forward_hook_with_kwargs_gets_them_before_the_output(torch):
    module, seen = layer(torch, lambda x, by=1: x * by), []
    module.register_forward_hook(lambda m, args, kwargs, out: seen.append((len(args), kwargs, out)), with_kwargs=True)
    module(torch.ones(1), by=2)
    return seen


@suite.same
def forward_hooks_get_the_args_that_pre_hooks_made(torch):
    module, seen = double(torch), []
    module.register_forward_pre_hook(lambda m, args: args[0] * 3)
    module.register_forward_hook(lambda m, args, out: seen.append(args))
    module(torch.ones(1))
    return seen


@suite.same
def a_falsy_output_of_a_hook_replaces(torch):
    module = double(torch)
    module.register_forward_hook(lambda m, args, out: 0)
    return module(torch.ones(1))


@suite.same
def the_same_hook_twice_runs_twice(torch):
    module = double(torch)
    handles = [module.register_forward_hook(module_level_hook) for _ in range(2)]
    first = module(torch.ones(1))
    handles[0].remove()
    return first, module(torch.ones(1)), len(module._forward_hooks)


@suite.same
def hooks_run_without_grad_and_in_eval(torch):
    module, seen = double(torch), []
    module.register_forward_hook(lambda m, args, out: seen.append((out.requires_grad, m.training)))
    module(leaf(torch))
    with torch.no_grad():
        module.eval()(leaf(torch))
    return seen


@suite.same
def an_error_in_a_hook_is_that_of_the_call(torch):
    module = double(torch)
    module.register_forward_pre_hook(lambda m, args: {}["missing"])
    return module(torch.ones(1))


@suite.same
def calling_forward_leaves_the_hooks_out(torch):
    module = double(torch)
    module.register_forward_hook(module_level_hook)
    return module.forward(torch.ones(1)), module(torch.ones(1))


@suite.same
def hooks_of_children_run_inside_those_of_the_parent(torch):
    net, order = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()), []
    for module in net.modules():
        name = type(module).__name__
        module.register_forward_pre_hook(lambda m, args, name=name: order.append("before " + name))
        module.register_forward_hook(lambda m, args, out, name=name: order.append("after " + name))
    net(torch.ones(1))
    return order


@suite.same
def a_hook_added_during_a_call_waits_for_the_next(torch):
    module, order = double(torch), []

    def add(m, args, out):
        order.append("adder")
        m.register_forward_hook(lambda m, args, out: order.append("added"))

    with module.register_forward_hook(add):
        module(torch.ones(1))
    order.append("next")
    module(torch.ones(1))
    return order


@suite.same
def a_hook_removed_during_a_call_still_runs_in_it(torch):
    module, order = double(torch), []
    handles = []

    def remove(m, args, out):
        order.append("remover")
        handles[0].remove()

    module.register_forward_hook(remove)
    handles.append(module.register_forward_hook(lambda m, args, out: order.append("removed")))
    module(torch.ones(1))
    module(torch.ones(1))
    return order


@suite.same
def a_hook_may_remove_itself(torch):
    module, calls = double(torch), []

    def once(m, args, out):
        calls.append(1)
        handle.remove()

    handle = module.register_forward_hook(once)
    module(torch.ones(1))
    module(torch.ones(1))
    return len(calls)


@suite.same
def forward_set_on_the_instance_is_called_with_hooks(torch):
    module = double(torch)
    module.register_forward_hook(module_level_hook)
    module.forward = lambda x: x * 100
    return module(torch.ones(1))


@suite.same
def a_module_without_forward_raises_when_called(torch):
    return torch.nn.Module()(1)


@suite.same
def calling_a_module_before_its_init_raises(torch):
    class Early(torch.nn.Module):
        def __init__(self):
            pass

        def forward(self, x):
            return x

    return Early()(1)


@suite.same
def registering_a_hook_before_init_raises(torch):
    class Early(torch.nn.Module):
        def __init__(self):
            self.register_forward_hook(module_level_hook)

    return Early()


@suite.same
def forward_hooks_take_their_options_by_keyword_only(torch):
    return double(torch).register_forward_hook(module_level_hook, True)


@suite.same
def always_called_hooks_run_after_an_error_with_none(torch):
    module, seen = layer(torch, fail), []
    module.register_forward_hook(lambda m, args, out: seen.append("usual"))
    module.register_forward_hook(lambda m, args, out: seen.append(("always", out)), always_call=True)
    return attempt(module, 1), seen


@suite.same
def always_called_hooks_run_once_if_they_raise(torch):
    module, seen = double(torch), []

    def hook(m, args, out):
        seen.append(out)
        raise KeyError("hook")

    module.register_forward_hook(hook, always_call=True)
    return attempt(module, torch.ones(1)), seen


@suite.same
def always_called_hooks_run_after_an_error_in_another_hook(torch):
    module, seen = double(torch), []
    module.register_forward_hook(fail)
    module.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    return attempt(module, torch.ones(1)), seen


@suite.same
def always_called_hooks_run_after_an_error_in_a_pre_hook(torch):
    module, seen = double(torch), []
    module.register_forward_pre_hook(lambda m, args: args[0] + 1)
    module.register_forward_pre_hook(fail)
    module.register_forward_hook(lambda m, args, out: seen.append((args, out)), always_call=True)
    return attempt(module, torch.ones(1)), seen


@suite.same
def always_called_hooks_get_kwargs_after_an_error(torch):
    module, seen = layer(torch, fail), []
    module.register_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True, always_call=True)
    return attempt(module, 1, by=2), seen


@suite.same
def an_error_of_an_always_called_hook_gives_way_to_the_first(torch):
    module, seen = layer(torch, fail), []
    module.register_forward_hook(lambda m, args, out: {}["missing"], always_call=True)
    module.register_forward_hook(lambda m, args, out: seen.append(1), always_call=True)
    return attempt(module, 1), seen


@suite.same
def what_an_always_called_hook_returns_after_an_error_goes_to_the_next(torch):
    module, seen = layer(torch, fail), []
    module.register_forward_hook(lambda m, args, out: "replaced", always_call=True)
    module.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    return attempt(module, 1), seen


test_behaviour = suite.test()
