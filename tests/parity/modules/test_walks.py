"""Walking through modules and looking up by name, on PyTorch and on lucid."""
from __future__ import annotations

import warnings
from collections import OrderedDict

from tests.parity.models import names, raised, small, tied
from tests.parity.suite import Suite

suite = Suite()


@suite.same
def parameters_of_shared_state(torch):
    module = tied(torch)
    return (names(module.named_parameters()), names(module.named_parameters(remove_duplicate=False)),
            len(list(module.parameters())))


@suite.same
def buffers_of_shared_state(torch):
    module = tied(torch)
    return names(module.named_buffers()), names(module.named_buffers(remove_duplicate=False)), len(list(module.buffers()))


@suite.same
def modules_of_shared_state(torch):
    module = tied(torch)
    return (names(module.named_modules()), names(module.named_modules(remove_duplicate=False)),
            names(module.named_children()), len(list(module.modules())), len(list(module.children())))


@suite.same
def state_dict_lists_every_name_of_shared_state(torch):
    return list(tied(torch).state_dict())


@suite.same
def positional_arguments_of_state_dict_are_deprecated(torch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        destination = OrderedDict()
        small(torch).state_dict(destination, "p.")
    return list(destination), [warning.category.__name__ for warning in caught]


@suite.same
def prefixes(torch):
    model = torch.nn.Sequential(small(torch))
    return (names(model.named_parameters(prefix="m")), names(model.named_buffers(prefix="m")),
            names(model.named_modules(prefix="m")))


@suite.same
def without_recursion(torch):
    module = small(torch)
    return (names(module.named_parameters(recurse=False)), names(module.named_buffers("p", False)),
            len(list(module.parameters(recurse=False))), len(list(module.buffers(recurse=False))))


@suite.same
def positional_arguments_of_walks(torch):
    module = tied(torch)
    return names(module.named_parameters("p", True, False)), names(module.named_buffers("p", True, False)), names(
        module.named_modules(set(), "p", False))


@suite.same
def a_memo_of_modules_seen(torch):
    module = small(torch)
    memo = {module.c}
    return names(module.named_modules(memo)), len(memo)


@suite.same
def walks_are_lazy(torch):
    walk = small(torch).named_parameters()
    return next(walk)[0], iter(walk) is walk


@suite.same
def children_that_are_none(torch):
    module = torch.nn.Module()
    module.a, module.b = torch.nn.ReLU(), None
    module.add_module("c", None)
    return names(module.named_children()), names(module.named_modules())


@suite.same
def one_module_at_two_depths(torch):
    layer = torch.nn.Linear(1, 1)
    model = torch.nn.Sequential(torch.nn.Sequential(layer), layer)
    return names(model.named_modules()), names(model.named_parameters()), names(model.named_modules(remove_duplicate=False))


@suite.same
def shared_buffers_of_several_modules(torch):
    model = torch.nn.ModuleList([torch.nn.BatchNorm1d(2), torch.nn.BatchNorm1d(2)])
    model[1].register_buffer("running_mean", model[0].running_mean)
    return names(model.named_buffers())


@suite.differs("assigning a computed tensor to a buffer", torch=(True, 5), lucid=(False, 6))
def assigning_the_buffer_of_another_module(torch):
    model = torch.nn.ModuleList([torch.nn.BatchNorm1d(2), torch.nn.BatchNorm1d(2)])
    model[1].running_mean = model[0].running_mean
    return model[1].running_mean is model[0].running_mean, len(list(model.buffers()))


@suite.same
def parameters_before_those_of_children(torch):
    module = torch.nn.Module()
    module.child = torch.nn.Linear(1, 1)
    module.own = torch.nn.Parameter(torch.ones(1))
    return names(module.named_parameters()), list(module.state_dict())


@suite.same
def get_submodule(torch):
    model = torch.nn.Sequential(OrderedDict(a=small(torch)))
    return model.get_submodule("") is model, model.get_submodule("a.c") is model.a.c


@suite.same
def get_submodule_that_is_not_there(torch):
    model = small(torch)
    return [raised(lambda: model.get_submodule(path)) for path in ("q", "c.q", "w", "c.weight", "training", ".c", "c.")]


@suite.same
def get_parameter(torch):
    model = small(torch)
    return model.get_parameter("w") is model.w, model.get_parameter("c.weight") is model.c.weight


@suite.same
def get_parameter_that_is_not_one(torch):
    return [raised(lambda: small(torch).get_parameter(path)) for path in ("b", "c", "c.bias", "c.q", "q.w", "")]


@suite.same
def get_buffer(torch):
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(2))
    return model.get_buffer("0.running_mean") is model[0].running_mean


@suite.same
def get_buffer_that_is_not_one(torch):
    module = small(torch)
    module.plain = torch.ones(1)
    module.register_buffer("empty", None)
    return [raised(lambda: module.get_buffer(path)) for path in ("w", "c", "zz", "plain", "c.weight", "q.b", "")], raised(
        lambda: module.get_buffer("empty"))


@suite.same
def get_parameter_of_a_none_slot(torch):
    return raised(lambda: torch.nn.Linear(1, 1, bias=False).get_parameter("bias"))


@suite.same
def set_submodule_replaces(torch):
    model = torch.nn.Sequential(small(torch))
    model.set_submodule("0.c", torch.nn.ReLU())
    return names(model.named_modules()), type(model[0].c).__name__


@suite.same
def set_submodule_adds(torch):
    model = torch.nn.Sequential(small(torch))
    model.set_submodule("0.new", torch.nn.ReLU())
    model.set_submodule("1", torch.nn.Tanh())
    return names(model.named_modules())


@suite.same
def set_submodule_strict(torch):
    model = small(torch)
    return raised(lambda: model.set_submodule("new", torch.nn.ReLU(), strict=True)), raised(
        lambda: model.set_submodule("c", torch.nn.ReLU(), strict=True)), type(model.c).__name__


@suite.same
def set_submodule_errors(torch):
    model = small(torch)
    return [raised(lambda: model.set_submodule(path, value)) for path, value in (
        ("", torch.nn.ReLU()), ("c", 3), ("c", torch.ones(1)), ("c.x.y", torch.nn.ReLU()), ("w", torch.nn.ReLU()),
        ("w.x", torch.nn.ReLU()), ("training", torch.nn.ReLU()))]


@suite.same
def extra_state_is_not_implemented_by_default(torch):
    module = torch.nn.Module()
    return raised(module.get_extra_state), raised(lambda: module.set_extra_state(3))


@suite.same
def extra_state_in_the_state_dict(torch):
    class Counted(torch.nn.Module):
        steps = 5

        def get_extra_state(self):
            return self.steps

        def set_extra_state(self, state):
            self.steps = state

    model, other = torch.nn.Sequential(Counted()), torch.nn.Sequential(Counted())
    model[0].steps = 7
    other.load_state_dict(model.state_dict())
    return list(model.state_dict()), other[0].steps


@suite.same
def apply_visits_children_first_and_returns_self(torch):
    seen = []
    model = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Tanh()))
    same = model.apply(lambda module: seen.append(type(module).__name__)) is model
    return seen, same


@suite.same
def apply_visits_a_shared_child_of_two_parents_twice(torch):
    seen = []
    layer = torch.nn.ReLU()
    torch.nn.Sequential(torch.nn.Sequential(layer), torch.nn.Sequential(layer)).apply(
        lambda module: seen.append(type(module).__name__))
    return seen


@suite.same
def apply_initialises(torch):
    def init(module):
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.constant_(module.weight, 2.0)

    return torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.ReLU()).apply(init)[0].weight


@suite.same
def modules_hash_and_compare_by_identity(torch):
    one, other = torch.nn.ReLU(), torch.nn.ReLU()
    return one == other, one == one, len({one, other, one})


@suite.same
def walking_while_the_state_changes(torch):
    module = torch.nn.Module()
    for name in "abc":
        module.register_buffer(name, torch.ones(1))

    def grow():
        for name, _ in module.named_buffers():
            module.register_buffer(name + "2", torch.ones(1))

    return raised(grow)


@suite.same
def a_subclass_that_overrides_named_parameters(torch):
    class Half(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(2))

        def named_parameters(self, *args, **keywords):
            for name, parameter in super().named_parameters(*args, **keywords):
                if name != "a":
                    yield name, parameter

    return [tuple(parameter.shape) for parameter in Half().parameters()]


test_behaviour = suite.test()
