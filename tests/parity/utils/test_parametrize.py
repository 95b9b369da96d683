"""nn.utils.parametrize: registration and its errors."""
from __future__ import annotations

from tests.parity.suite import Suite
from tests.parity.utils.parametrized import from_functions, parametrized, product, square, symmetric

suite = Suite()


# ---- registration --------------------------------------------------------------------------------------------------------
@suite.same
def a_parametrized_weight_is_computed(torch):
    layer = parametrized(torch)
    return layer.weight, layer.parametrizations.weight.original, layer(torch.ones(1, 3))


@suite.same
def registration_returns_the_module(torch):
    layer = square(torch)
    return torch.nn.utils.parametrize.register_parametrization(layer, "weight", symmetric(torch)) is layer


@suite.same
def the_class_gets_a_name_of_its_own(torch):
    layer = parametrized(torch)
    return type(layer).__name__, isinstance(layer, torch.nn.Linear), type(layer) is torch.nn.Linear


@suite.same
def each_module_has_its_own_class(torch):
    one, other = parametrized(torch), square(torch)
    return hasattr(one, "parametrizations"), hasattr(other, "parametrizations"), type(one) is type(parametrized(torch))


@suite.same
def repr_of_a_parametrized_module(torch):
    return repr(parametrized(torch))


@suite.same
def keys_of_the_state_dict(torch):
    return list(parametrized(torch).state_dict())


@suite.same
def order_of_the_parameters(torch):
    return [name for name, _ in parametrized(torch).named_parameters()]


@suite.same
def names_of_the_modules(torch):
    return [name for name, _ in parametrized(torch).named_modules()]


@suite.same
def the_original_is_the_same_parameter(torch):
    layer = square(torch)
    weight = layer.weight
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", symmetric(torch))
    return layer.parametrizations.weight.original is weight, type(weight), "weight" in layer._parameters


@suite.same
def kinds_of_the_containers(torch):
    layer = parametrized(torch)
    entries = layer.parametrizations.weight
    return type(layer.parametrizations), type(entries), len(entries), type(entries[0]), entries.is_tensor, entries.ntensors


@suite.same
def gradients_reach_the_original(torch):
    layer = parametrized(torch)
    layer(torch.ones(2, 3)).sum().backward()
    return layer.parametrizations.weight.original.grad, layer.bias.grad


@suite.same
def an_optimizer_made_before_trains_the_original(torch):
    layer = square(torch)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", symmetric(torch))
    layer(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    return layer.weight


@suite.same
def without_a_right_inverse_the_value_is_the_original(torch):
    layer = parametrized(torch, symmetric(torch, right_inverse=False))
    return layer.parametrizations.weight.original, layer.weight


@suite.same
def a_right_inverse_that_is_not_implemented(torch):
    def refuse(x):
        raise NotImplementedError

    layer = parametrized(torch, from_functions(torch, lambda x: 2 * x, refuse))
    return layer.parametrizations.weight.original, layer.weight


@suite.same
def assigning_where_right_inverse_is_not_implemented(torch):
    def refuse(x):
        raise NotImplementedError

    parametrized(torch, from_functions(torch, lambda x: 2 * x, refuse)).weight = torch.ones(3, 3)


@suite.same
def a_chain_of_parametrizations(torch):
    layer = parametrized(torch)
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", from_functions(torch, lambda x: 2 * x, lambda x: x / 2))
    return layer.weight, layer.parametrizations.weight.original, list(layer.state_dict())


@suite.same
def parametrizations_with_parameters_of_their_own(torch):
    class Shift(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.amount = torch.nn.Parameter(torch.ones(()))
            self.register_buffer("scale", torch.tensor(2.0))

        def forward(self, x):
            return x * self.scale + self.amount

    layer = parametrized(torch, Shift())
    layer.weight.sum().backward()
    return list(layer.state_dict()), layer.parametrizations.weight[0].amount.grad


@suite.same
def several_originals(torch):
    layer = parametrized(torch, product(torch))
    entries = layer.parametrizations.weight
    return (list(layer.state_dict()), entries.is_tensor, entries.ntensors, entries.original0, entries.original1, layer.weight,
            type(entries.original0), entries.original0.requires_grad)


@suite.same
def several_originals_follow_requires_grad(torch):
    layer = square(torch)
    layer.weight.requires_grad_(False)
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", product(torch))
    return [p.requires_grad for p in layer.parameters()], layer.weight.requires_grad


@suite.same
def a_parametrized_buffer(torch):
    module = torch.nn.BatchNorm1d(3)
    torch.nn.utils.parametrize.register_parametrization(module, "running_mean", from_functions(torch, lambda x: x + 1))
    return (module.running_mean, list(module.state_dict()), [name for name, _ in module.named_buffers()],
            type(module.parametrizations.running_mean._buffers), list(module.parametrizations.running_mean._buffers))


@suite.same
def several_buffers_behind_a_buffer(torch):
    module = torch.nn.Module()
    module.register_buffer("table", torch.arange(6.0).reshape(2, 3))
    torch.nn.utils.parametrize.register_parametrization(module, "table", product(torch), unsafe=True)
    return [name for name, _ in module.named_buffers()], list(module.parameters()), module.table


@suite.same
def the_mode_of_a_parametrization_follows(torch):
    layer = square(torch).eval()
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", symmetric(torch))
    modes = [layer.parametrizations.weight[0].training]
    layer.train()
    return [*modes, layer.parametrizations.weight[0].training, layer.parametrizations.training]


@suite.same
def two_tensors_of_one_module(torch):
    layer = parametrized(torch)
    torch.nn.utils.parametrize.register_parametrization(layer, "bias", from_functions(torch, lambda x: -x))
    return list(layer.state_dict()), layer.bias, type(layer).__name__, type(layer).__mro__[1].__name__


# ---- errors of registration ----------------------------------------------------------------------------------------------
@suite.same
def a_name_that_does_not_exist(torch):
    torch.nn.utils.parametrize.register_parametrization(square(torch), "nothing", symmetric(torch))


@suite.same
def an_ordinary_attribute_cannot_be_parametrized(torch):
    torch.nn.utils.parametrize.register_parametrization(square(torch), "in_features", symmetric(torch))


@suite.same
def a_parameter_that_is_none(torch):
    torch.nn.utils.parametrize.register_parametrization(torch.nn.Linear(2, 2, bias=False), "bias", symmetric(torch))


@suite.same
def something_that_is_no_module(torch):
    torch.nn.utils.parametrize.register_parametrization(square(torch), "weight", lambda x: x)


@suite.same
def changing_the_shape(torch):
    parametrized(torch, from_functions(torch, lambda x: x[:2]))


@suite.same
def changing_the_dtype(torch):
    parametrized(torch, from_functions(torch, lambda x: x.double()))


@suite.same
def returning_no_tensor(torch):
    parametrized(torch, from_functions(torch, lambda x: None))


@suite.same
def a_right_inverse_that_returns_no_tensor(torch):
    parametrized(torch, from_functions(torch, lambda x: x, lambda x: None))


@suite.same
def a_right_inverse_that_returns_a_list_of_numbers(torch):
    parametrized(torch, from_functions(torch, lambda x, y: x, lambda x: [1.0, 2.0]))


@suite.same
def a_right_inverse_that_changes_the_dtype(torch):
    parametrized(torch, from_functions(torch, lambda x: x, lambda x: x.double()))


@suite.same
def a_right_inverse_that_changes_the_shape(torch):
    parametrized(torch, from_functions(torch, lambda x: x, lambda x: x[:2]))


@suite.same
def after_an_error_the_weight_is_still_a_parameter(torch):
    layer = square(torch)
    try:
        torch.nn.utils.parametrize.register_parametrization(layer, "weight", from_functions(torch, lambda x: x[:2]))
    except ValueError:
        return type(layer), list(layer.state_dict()), layer.weight, torch.nn.utils.parametrize.is_parametrized(layer)


@suite.same
def a_second_parametrization_that_changes_the_shape(torch):
    torch.nn.utils.parametrize.register_parametrization(parametrized(torch), "weight", from_functions(torch, lambda x: x[:2]))


@suite.same
def a_second_parametrization_that_changes_the_dtype(torch):
    torch.nn.utils.parametrize.register_parametrization(parametrized(torch), "weight", from_functions(torch, lambda x: x.half()))


@suite.same
def a_second_right_inverse_with_several_tensors(torch):
    given = from_functions(torch, lambda x: x, lambda x: (x, x))
    torch.nn.utils.parametrize.register_parametrization(parametrized(torch), "weight", given)


@suite.same
def a_refused_second_parametrization_is_not_added(torch):
    layer = parametrized(torch)
    try:
        torch.nn.utils.parametrize.register_parametrization(layer, "weight", from_functions(torch, lambda x: x[:2]))
    except ValueError:
        return len(layer.parametrizations.weight), layer.weight


@suite.same
def an_empty_list_of_parametrizations(torch):
    torch.nn.utils.parametrize.ParametrizationList([], torch.ones(2))


# ---- unsafe --------------------------------------------------------------------------------------------------------------
@suite.same
def unsafe_may_change_shape_and_dtype(torch):
    layer = parametrized(torch, from_functions(torch, lambda x: x[:2].double()), unsafe=True)
    return layer.weight, layer.parametrizations.weight.unsafe, layer.parametrizations.weight.original


@suite.same
def unsafe_of_a_later_parametrization(torch):
    layer = parametrized(torch)
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", from_functions(torch, lambda x: x[:2]), unsafe=True)
    return layer.weight, layer.parametrizations.weight.unsafe


@suite.same
def unsafe_is_not_computed_at_registration(torch):
    calls = []

    def forward(x):
        calls.append(1)
        return x

    layer = parametrized(torch, from_functions(torch, forward), unsafe=True)
    before = len(calls)
    return before, layer.weight is layer.weight, len(calls)


test_behaviour = suite.test()
