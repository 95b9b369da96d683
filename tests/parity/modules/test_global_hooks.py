"""Hooks of all modules, as in PyTorch."""
from __future__ import annotations

from ..suite import Suite
from .hooks import attempt, double, everywhere, fail, layer, leaf, lists

suite = Suite()


@suite.same
def hooks_of_all_modules_run_before_the_modules_own(torch):
    net, order, module = torch.nn.Sequential(torch.nn.ReLU()), [], everywhere(torch)
    net[0].register_forward_pre_hook(lambda m, args: order.append("own pre"), prepend=True)
    net[0].register_forward_hook(lambda m, args, out: order.append("own"), prepend=True)
    with module.register_module_forward_pre_hook(lambda m, args: order.append("pre " + type(m).__name__)):
        with module.register_module_forward_hook(lambda m, args, out: order.append(type(m).__name__)):
            net(torch.ones(1))
    net(torch.ones(1))
    return order


@suite.same
def hooks_of_all_modules_replace_inputs_and_outputs(torch):
    module = everywhere(torch)
    with module.register_module_forward_pre_hook(lambda m, args: args[0] + 1):
        with module.register_module_forward_hook(lambda m, args, out: out * 10):
            return double(torch)(torch.ones(2))


@suite.same
def forward_hooks_of_all_modules_with_kwargs(torch):
    seen = []
    with everywhere(torch).register_module_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True):
        layer(torch, lambda x, by: x * by)(torch.ones(2), by=3)
    return seen


@suite.same
def forward_hooks_of_all_modules_are_always_called(torch):
    seen = []
    with everywhere(torch).register_module_forward_hook(lambda m, args, out: seen.append((args, out)), always_call=True):
        with everywhere(torch).register_module_forward_hook(lambda m, args, out: seen.append("never")):
            return attempt(layer(torch, fail), 1), seen


@suite.differs("`register_module_forward_hook(with_kwargs=True, always_call=True)` after an error", torch=[], lucid=[{"by": 3}])
def forward_hooks_of_all_modules_get_kwargs_after_an_error(torch):
    seen = []
    with everywhere(torch).register_module_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True,
                                                        always_call=True):
        attempt(layer(torch, fail), 1, by=3)
    return seen


@suite.same
def pre_hooks_of_all_modules_have_no_options(torch):
    return everywhere(torch).register_module_forward_pre_hook(lambda m, args: None, with_kwargs=True)


@suite.same
def full_backward_hooks_of_all_modules(torch):
    order, module, x = [], everywhere(torch), leaf(torch)
    one = double(torch)
    one.register_full_backward_hook(lambda m, gin, gout: (gin[0] + 1,))
    one.register_full_backward_pre_hook(lambda m, gout: (gout[0] + 1,))
    with module.register_module_full_backward_hook(lambda m, gin, gout: order.append(lists(gin)) or (gin[0] * 10,)):
        with module.register_module_full_backward_pre_hook(lambda m, gout: (gout[0] * 3,)):
            one(x).sum().backward()
    return order, x.grad


@suite.same
def backward_hooks_of_all_modules_that_are_not_full(torch):
    seen, module = [], double(torch)
    with everywhere(torch).register_module_backward_hook(lambda m, gin, gout: seen.append(lists(gout))):
        module(leaf(torch)).sum().backward()
    return seen


@suite.same
def backward_hooks_of_all_modules_are_of_one_kind(torch):
    module, errors = everywhere(torch), []
    module.register_module_full_backward_hook(lambda *args: None).remove()
    errors.append(attempt(module.register_module_backward_hook, lambda *args: None))
    module = everywhere(torch)
    module.register_module_backward_hook(lambda *args: None).remove()
    errors.append(attempt(module.register_module_full_backward_hook, lambda *args: None))
    everywhere(torch)
    return errors


@suite.same
def full_hooks_of_all_modules_beside_other_hooks_of_one(torch):
    order, module = [], double(torch)
    module.register_backward_hook(lambda m, gin, gout: order.append("own"))
    with everywhere(torch).register_module_full_backward_hook(lambda m, gin, gout: order.append("all")):
        module(leaf(torch)).sum().backward()
    return order


@suite.same
def registration_hooks_see_what_is_registered(torch):
    seen, module = [], everywhere(torch)

    def note(kind):
        return lambda m, name, value: seen.append((kind, type(m).__name__, name))

    with (module.register_module_buffer_registration_hook(note("buffer")),
          module.register_module_parameter_registration_hook(note("parameter")),
          module.register_module_module_registration_hook(note("module"))):
        net = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False))
        net.register_buffer("steps", torch.zeros(1))
        net.steps = torch.ones(1)
        net.register_buffer("later", None)
        net.other = torch.nn.ReLU()
        net.other = None
        net.add_module("last", None)
        net.register_parameter("none", None)
        net.none = torch.nn.Parameter(torch.ones(1))
        net.plain = 3
    return seen


@suite.same
def registration_hooks_replace_what_is_registered(torch):
    module = everywhere(torch)
    net = torch.nn.Module()
    net.register_buffer("old", torch.zeros(2))
    with (module.register_module_buffer_registration_hook(lambda m, name, value: value + 1),
          module.register_module_parameter_registration_hook(lambda m, name, p: torch.nn.Parameter(p.detach() * 10)),
          module.register_module_module_registration_hook(lambda m, name, child: torch.nn.Tanh())):
        net.register_buffer("new", torch.zeros(2))
        net.old = torch.full((2,), 5.0)
        net.weight = torch.nn.Parameter(torch.ones(2))
        net.child = torch.nn.ReLU()
        net.add_module("second", torch.nn.ReLU())
    return net.state_dict(), [type(child).__name__ for child in net.children()]


@suite.same
def registration_hooks_do_not_run_for_what_is_refused(torch):
    seen = []
    net = torch.nn.Linear(1, 1)
    with everywhere(torch).register_module_buffer_registration_hook(lambda *args: seen.append(1)):
        return attempt(net.register_buffer, "weight", torch.ones(1)), attempt(net.register_buffer, "a.b", None), seen


@suite.same
def an_error_of_a_registration_hook_prevents_the_registration(torch):
    net = torch.nn.Module()
    with everywhere(torch).register_module_parameter_registration_hook(fail):
        error = attempt(setattr, net, "weight", torch.nn.Parameter(torch.ones(1)))
    return error, list(net._parameters)


test_behaviour = suite.test()
