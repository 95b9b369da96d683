"""Registering parameters, buffers and modules, on PyTorch and on lucid."""
from __future__ import annotations

from typing import Any

from tests.parity.models import names, raised, small
from tests.parity.suite import Suite

suite = Suite()


def values(torch: Any) -> Any:
    return {"register_buffer": torch.ones(1), "register_parameter": torch.nn.Parameter(torch.ones(1)),
            "add_module": torch.nn.ReLU(), "register_module": torch.nn.ReLU()}


@suite.same
def names_that_are_not_strings(torch):
    return [raised(lambda: getattr(torch.nn.Module(), how)(3, value)) for how, value in values(torch).items()]


@suite.same
def empty_names(torch):
    return [raised(lambda: getattr(torch.nn.Module(), how)("", value)) for how, value in values(torch).items()]


@suite.same
def dotted_names(torch):
    return [raised(lambda: getattr(torch.nn.Module(), how)("a.b", value)) for how, value in values(torch).items()]


@suite.same
def names_of_methods(torch):
    return [raised(lambda: getattr(torch.nn.Module(), how)("forward", value)) for how, value in values(torch).items()]


@suite.same
def names_of_plain_attributes(torch):
    module = torch.nn.Module()
    module.taken = 3
    return [raised(lambda: getattr(module, how)("taken", value)) for how, value in values(torch).items()]


@suite.same
def names_of_state_of_another_kind(torch):
    return [[raised(lambda: getattr(small(torch), how)(name, value)) for name in "wbc"]
            for how, value in values(torch).items()]


@suite.same
def names_of_class_attributes(torch):
    class Typed(torch.nn.Module):
        scale = 2

    return [raised(lambda: getattr(Typed(), how)("scale", value)) for how, value in values(torch).items()]


@suite.same
def names_with_spaces_and_digits(torch):
    module = torch.nn.Module()
    module.register_buffer("a b", torch.ones(1))
    module.register_buffer("0", torch.ones(1))
    module.register_parameter("wéight", torch.nn.Parameter(torch.ones(1)))
    return list(module.state_dict()), getattr(module, "0")


@suite.same
def non_tensors_as_buffers(torch):
    module = torch.nn.Module()
    return [raised(lambda: module.register_buffer("b", value)) for value in (3, [1.0], "text", torch.nn.ReLU())], list(
        module.state_dict())


@suite.same
def non_parameters_as_parameters(torch):
    module = torch.nn.Module()
    return [raised(lambda: module.register_parameter("p", value)) for value in (3, torch.ones(1), torch.nn.ReLU())]


@suite.same
def non_modules_as_modules(torch):
    module = torch.nn.Module()
    return [raised(lambda: module.add_module("m", value)) for value in (3, torch.ones(1), torch.nn.ReLU)]


@suite.same
def computed_tensors_as_parameters(torch):
    module = torch.nn.Module()
    computed = torch.ones(2, requires_grad=True) * 2
    return raised(lambda: module.register_parameter("p", computed)), raised(lambda: setattr(module, "p", computed))


@suite.same
def a_parameter_registered_as_buffer(torch):
    module = torch.nn.Module()
    module.register_buffer("b", torch.nn.Parameter(torch.ones(1)))
    return names(module.named_parameters()), names(module.named_buffers()), module.b.requires_grad


@suite.same
def a_buffer_object_registered_as_parameter(torch):
    return raised(lambda: torch.nn.Module().register_parameter("p", torch.nn.Buffer(torch.ones(1))))


@suite.same
def before_init(torch):
    class Early(torch.nn.Module):
        def __init__(self, value):
            self.value = value

    return [raised(lambda: Early(value)) for value in (torch.nn.Parameter(torch.ones(1)), torch.nn.ReLU(),
                                                       torch.nn.Buffer(torch.ones(1)))]


@suite.same
def methods_before_init(torch):
    module = torch.nn.Module.__new__(torch.nn.Module)
    return [raised(lambda: getattr(module, how)("x", value)) for how, value in values(torch).items()]


@suite.same
def plain_attributes_before_init_stay(torch):
    class Early(torch.nn.Module):
        def __init__(self):
            self.a = 1
            super().__init__()
            self.b = 2

    return Early().a, Early().b


@suite.same
def a_buffer_tensor_before_init_is_plain(torch):
    class Early(torch.nn.Module):
        def __init__(self):
            self.a = torch.ones(1)
            super().__init__()

    return Early().a, list(Early().state_dict())


@suite.same
def none_reserves_a_name(torch):
    module = torch.nn.Module()
    module.register_buffer("b", None)
    module.register_parameter("p", None)
    module.add_module("m", None)
    return (module.b, module.p, module.m, list(module.state_dict()), names(module.named_buffers()),
            names(module.named_parameters()), names(module.named_children()), repr(module._modules))


@suite.same
def none_slots_are_filled_by_assignment(torch):
    module = torch.nn.Module()
    module.register_buffer("b", None)
    module.register_parameter("p", None)
    module.add_module("m", None)
    module.b, module.p, module.m = torch.ones(1), torch.nn.Parameter(torch.ones(2)), torch.nn.Linear(1, 1)
    return list(module.state_dict())


@suite.same
def none_slots_refuse_other_kinds(torch):
    module = torch.nn.Module()
    module.register_parameter("p", None)
    module.add_module("m", None)
    module.register_buffer("b", None)
    return [raised(lambda: setattr(module, name, value)) for name, value in (("p", torch.ones(1)), ("m", 3), ("b", 3))]


@suite.same
def registering_again_replaces(torch):
    module = small(torch)
    module.register_buffer("b", torch.ones(3))
    module.register_parameter("w", torch.nn.Parameter(torch.ones(3)))
    module.add_module("c", torch.nn.Linear(1, 3))
    return [tuple(value.shape) for value in module.state_dict().values()], list(module.state_dict())


@suite.same
def registration_returns_nothing(torch):
    return [getattr(torch.nn.Module(), how)("x", value) for how, value in values(torch).items()]


@suite.same
def order_is_that_of_registration(torch):
    module = torch.nn.Module()
    for name in "zxay":
        module.register_buffer(name, torch.ones(1))
    module.x = None
    module.x = torch.ones(1)
    del module.z
    module.z = torch.ones(1)  # a plain attribute now
    return list(module.state_dict())


@suite.same
def persistence_is_a_property_of_the_slot(torch):
    module = small(torch)
    module.register_buffer("b", torch.ones(1), persistent=False)
    module.b = torch.ones(2)
    return list(module.state_dict()), names(module.named_buffers())


@suite.same
def persistence_can_be_changed_by_registering_again(torch):
    module = small(torch)
    module.register_buffer("b", torch.ones(1), persistent=False)
    first = list(module.state_dict())
    module.register_buffer("b", torch.ones(1))
    return first, list(module.state_dict())


@suite.same
def deleting_forgets_persistence(torch):
    module = small(torch)
    module.register_buffer("b", torch.ones(1), persistent=False)
    del module.b
    module.register_buffer("b", torch.ones(1))
    return list(module.state_dict()), module._non_persistent_buffers_set


@suite.same
def a_buffer_object_says_whether_it_is_persistent(torch):
    module = torch.nn.Module()
    module.kept = torch.nn.Buffer(torch.ones(1))
    module.left = torch.nn.Buffer(torch.ones(1), persistent=False)
    return list(module.state_dict()), names(module.named_buffers()), module.left.persistent


@suite.same
def a_non_persistent_none_slot(torch):
    module = torch.nn.Module()
    module.register_buffer("b", None, persistent=False)
    module.b = torch.ones(1)
    return list(module.state_dict()), names(module.named_buffers())


@suite.same
def constructor_arguments_of_module(torch):
    return raised(lambda: torch.nn.Module(1)), raised(lambda: torch.nn.Module(x=1))


@suite.same
def call_super_init_passes_arguments_on(torch):
    class Mixin:
        def __init__(self, *args, **keywords):
            self.got = args, keywords

    class Both(torch.nn.Module, Mixin):
        call_super_init = True

    return Both(1, 2, x=3).got


@suite.same
def without_call_super_init_the_next_base_is_not_initialised(torch):
    class Mixin:
        def __init__(self):
            self.got = True

    class Both(torch.nn.Module, Mixin):
        pass

    return hasattr(Both(), "got")


@suite.same
def a_mixin_before_module(torch):
    class Mixin:
        def __init__(self, size, **keywords):
            super().__init__(**keywords)
            self.size = size

    class Both(Mixin, torch.nn.Module):
        def __init__(self):
            super().__init__(3)
            self.layer = torch.nn.Linear(self.size, 1)

    return tuple(Both().layer.weight.shape), Both().size


@suite.same
def a_module_may_hold_itself_only_as_plain_attribute(torch):
    module = torch.nn.Module()
    module.__dict__["me"] = module
    return names(module.named_modules())


@suite.same
def annotations_and_defaults_of_the_class(torch):
    class Typed(torch.nn.Module):
        weight: torch.Tensor
        count = 0

        def __init__(self):
            super().__init__()
            self.register_buffer("weight", torch.ones(1))
            self.count += 1

    return Typed().weight, Typed().count, Typed.count


@suite.same
def computed_parameter_is_a_leaf(torch):
    parameter = torch.nn.Parameter(torch.ones(2) * small(torch).w)
    return parameter.is_leaf, parameter.requires_grad


@suite.same
def buffers_of_leaves_keep_requires_grad(torch):
    return torch.nn.Buffer(torch.ones(2, requires_grad=True)).requires_grad, torch.nn.Buffer(torch.ones(2)).requires_grad


@suite.same
def one_tensor_in_two_modules(torch):
    shared = torch.ones(1)
    first, second = torch.nn.Module(), torch.nn.Module()
    first.register_buffer("b", shared)
    second.register_buffer("b", shared)
    first.b.add_(1)
    return second.b, first.b is second.b, names(torch.nn.ModuleList([first, second]).named_buffers())


@suite.differs("assigning a computed tensor to a buffer", torch=True, lucid=False)
def registering_a_computed_tensor_keeps_its_graph(torch):
    module = torch.nn.Module()
    module.register_buffer("b", torch.ones(2, requires_grad=True) * 2)
    return module.b.requires_grad


test_behaviour = suite.test()
