"""Assigning, reading and deleting attributes of modules, on PyTorch and on lucid."""
from __future__ import annotations

from tests.parity.models import names, raised, small
from tests.parity.suite import Suite

suite = Suite()


@suite.same
def none_for_a_parameter(torch):
    module = small(torch)
    module.w = None
    return list(module.state_dict()), module.w


@suite.same
def none_for_a_buffer(torch):
    module = small(torch)
    module.b = None
    return list(module.state_dict()), module.b


@suite.same
def none_for_a_module(torch):
    module = small(torch)
    module.c = None
    return list(module.state_dict()), module.c


@suite.same
def a_new_tensor_is_a_plain_attribute(torch):
    module = small(torch)
    module.z = torch.ones(1)
    return list(module.state_dict()), "z" in module.__dict__


@suite.same
def a_parameter_over_a_buffer(torch):
    module = small(torch)
    module.b = torch.nn.Parameter(torch.ones(1))
    return list(module.state_dict())


@suite.same
def a_module_over_a_buffer(torch):
    module = small(torch)
    module.b = torch.nn.ReLU()
    return list(module.state_dict())


@suite.same
def a_module_over_a_parameter(torch):
    module = small(torch)
    module.w = torch.nn.ReLU()
    return list(module.state_dict())


@suite.same
def a_parameter_over_a_module(torch):
    module = small(torch)
    module.c = torch.nn.Parameter(torch.ones(1))
    return list(module.state_dict())


@suite.same
def a_buffer_object_over_a_module(torch):
    module = small(torch)
    module.c = torch.nn.Buffer(torch.ones(1))
    return list(module.state_dict())


@suite.same
def a_buffer_object_over_a_parameter(torch):
    module = small(torch)
    module.w = torch.nn.Buffer(torch.ones(1))
    return list(module.state_dict())


@suite.same
def a_buffer_object_over_a_plain_attribute(torch):
    module = small(torch)
    module.q = 1
    module.q = torch.nn.Buffer(torch.ones(1))
    return list(module.state_dict())


@suite.same
def a_parameter_over_a_plain_attribute(torch):
    module = small(torch)
    module.q = 1
    module.q = torch.nn.Parameter(torch.ones(1))
    return list(module.state_dict()), "q" in module.__dict__


@suite.same
def a_number_over_each_kind(torch):
    return [raised(lambda: setattr(small(torch), name, 3)) for name in "wbc"]


@suite.same
def a_tensor_over_a_parameter_and_a_module(torch):
    return [raised(lambda: setattr(small(torch), name, torch.ones(2))) for name in "wc"]


@suite.same
def nothing_changes_after_a_refused_assignment(torch):
    module = small(torch)
    for name in "wbc":
        raised(lambda: setattr(module, name, 3))
    return list(module.state_dict()), module.b


@suite.same
def a_tensor_over_a_buffer(torch):
    module = small(torch)
    module.b = torch.full((3,), 2.0, dtype=torch.float64)
    return module.b, list(module.state_dict())


@suite.differs("assigning a computed tensor to a buffer", torch=False, lucid=True)
def the_buffer_is_the_same_object_after_assignment(torch):
    module = small(torch)
    buffer = module.b
    module.b = torch.ones(2)
    return module.b is buffer


@suite.differs("assigning a computed tensor to a buffer", torch=True, lucid=False)
def an_assigned_computed_tensor_keeps_its_graph(torch):
    module = small(torch)
    module.b = module.w * 2
    return module.b.requires_grad


@suite.same
def a_buffer_assigned_to_another_slot_is_a_snapshot(torch):
    class Recurrent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.state = torch.nn.Buffer(torch.ones(1))
            self.register_buffer("first", torch.zeros(1))
            self.second = torch.nn.Buffer(torch.zeros(1))
            self.register_buffer("third", None)

        def forward(self):
            self.first = self.second = self.third = self.state
            self.state = self.state * 2

    module = Recurrent()
    module()
    return module.state_dict()


@suite.same
def an_augmented_assignment_to_a_buffer(torch):
    module = small(torch)
    module.b += 3
    module.b *= 2
    return module.b, list(module.state_dict())


@suite.same
def deleting_then_assigning_a_tensor(torch):
    module = small(torch)
    del module.b
    module.b = torch.ones(2)
    return list(module.state_dict()), hasattr(module, "b")


@suite.same
def deleting_each_kind(torch):
    module = small(torch)
    del module.w, module.b, module.c
    return list(module.state_dict()), [hasattr(module, name) for name in "wbc"]


@suite.same
def deleting_what_is_not_there(torch):
    return raised(lambda: delattr(small(torch), "nothing"))


@suite.same
def reading_what_is_not_there(torch):
    return raised(lambda: small(torch).nothing), getattr(small(torch), "nothing", 3)


@suite.same
def reading_before_init(torch):
    return raised(lambda: torch.nn.Module.__new__(torch.nn.Module).weight)


@suite.same
def the_message_of_a_missing_attribute(torch):
    return str(raised(lambda: small(torch).nothing))


@suite.same
def a_property_with_a_setter(torch):
    class Doubled(torch.nn.Module):
        @property
        def value(self):
            return self._value

        @value.setter
        def value(self, given):
            self._value = given * 2

    module = Doubled()
    module.value = 4
    return module.value


@suite.same
def a_setter_gets_tensors_but_not_parameters(torch):
    class Watched(torch.nn.Module):
        @property
        def value(self):
            return "from the property"

        @value.setter
        def value(self, given):
            self.log = type(given).__name__

    module = Watched()
    module.value = torch.ones(1)
    first = module.log == "Tensor"
    error = raised(lambda: setattr(module, "value", torch.nn.Parameter(torch.ones(1))))
    return first, error, module.value


@suite.same
def a_property_without_a_setter(torch):
    class Fixed(torch.nn.Module):
        @property
        def value(self):
            return 1

    return raised(lambda: setattr(Fixed(), "value", 2)), raised(lambda: delattr(Fixed(), "value"))


@suite.same
def an_attribute_error_inside_a_property(torch):
    class Broken(torch.nn.Module):
        @property
        def value(self):
            return self.missing

    return raised(lambda: Broken().value)


@suite.same
def a_property_that_reads_a_parameter(torch):
    class Named(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(2))

        @property
        def double(self):
            return self.w * 2

    return Named().double


@suite.same
def a_descriptor_of_the_class_sees_assignments(torch):
    class Positive:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, instance, owner=None):
            return instance.__dict__[self.name]

        def __set__(self, instance, value):
            if value <= 0:
                raise ValueError("not positive")
            instance.__dict__[self.name] = value

    class Checked(torch.nn.Module):
        rate = Positive()

    module = Checked()
    module.rate = 3
    return module.rate, raised(lambda: setattr(module, "rate", -1))


@suite.same
def slots_of_a_subclass(torch):
    class Slotted(torch.nn.Module):
        __slots__ = ("number",)

    module = Slotted()
    module.number = 3
    module.weight = torch.nn.Parameter(torch.ones(1))
    return module.number, "number" in module.__dict__, names(module.named_parameters())


@suite.same
def a_class_attribute_hidden_by_an_instance_attribute(torch):
    class Typed(torch.nn.Module):
        scale = 2

    module = Typed()
    module.scale = 3
    del module.scale
    return module.scale


@suite.same
def a_parameter_behind_a_class_attribute_of_its_name(torch):
    class Typed(torch.nn.Module):
        weight = None

        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

    return Typed().weight, names(Typed().named_parameters())


@suite.same
def a_buffer_object_behind_a_class_attribute_of_its_name(torch):
    class Typed(torch.nn.Module):
        table = None

        def __init__(self):
            super().__init__()
            self.table = torch.nn.Buffer(torch.ones(1))

    return raised(Typed)


@suite.same
def an_overridden_setattr(torch):
    class Logged(torch.nn.Module):
        def __setattr__(self, name, value):
            self.__dict__.setdefault("log", []).append(name)
            super().__setattr__(name, value)

    module = Logged()
    module.w = torch.nn.Parameter(torch.ones(1))
    module.n = 1
    return module.log[-2:], names(module.named_parameters())


@suite.same
def an_overridden_getattr(torch):
    class Fallback(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(2, 3)

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)

    return Fallback().out_features


@suite.same
def object_setattr_hides_a_module(torch):
    module = torch.nn.Module()
    object.__setattr__(module, "hidden", torch.nn.Linear(1, 1))
    return list(module.state_dict()), hasattr(module, "hidden")


@suite.same
def modules_in_a_plain_list_are_not_registered(torch):
    module = torch.nn.Module()
    module.layers = [torch.nn.Linear(1, 1)]
    return list(module.state_dict())


@suite.same
def private_dictionaries_hold_the_state(torch):
    module = small(torch)
    module._buffers["b"] = torch.full((2,), 4.0)
    return list(module._parameters), list(module._buffers), list(module._modules), module.b


@suite.same
def dir_lists_state_but_no_digits(torch):
    listed = dir(torch.nn.Sequential(torch.nn.ReLU()))
    module = dir(small(torch))
    return "0" in listed, all(name in module for name in ("w", "b", "c", "forward", "training")), sorted(module) == module


@suite.same
def public_attributes_of_layers(torch):
    layers = (torch.nn.Linear(2, 2), torch.nn.Conv2d(2, 2, 2), torch.nn.BatchNorm2d(2))
    return [sorted(name for name in vars(layer) if not name.startswith("_")) for layer in layers]


@suite.same
def hasattr_of_a_none_slot(torch):
    return hasattr(torch.nn.Linear(1, 1, bias=False), "bias"), torch.nn.Linear(1, 1, bias=False).bias


@suite.same
def vars_and_dict_of_state(torch):
    return [name in small(torch).__dict__ for name in ("w", "b", "c", "training", "_parameters")]


@suite.same
def deleting_a_module_with_tied_weights(torch):
    model = torch.nn.Module()
    model.a = torch.nn.Linear(2, 2)
    model.b = torch.nn.Linear(2, 2)
    model.b.weight = model.a.weight
    del model.a
    return list(model.state_dict())


@suite.same
def setting_the_data_of_a_parameter(torch):
    module = small(torch)
    module.w.data = torch.full((3,), 2.0)
    return module.w, module.w.requires_grad


test_behaviour = suite.test()
