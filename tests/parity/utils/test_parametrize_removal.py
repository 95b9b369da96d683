"""nn.utils.parametrize: removal, transfer to another module, and what the rest of a module sees of it."""
from __future__ import annotations

import copy
import pickle

from tests.parity.suite import Suite
from tests.parity.utils.parametrized import from_functions, parametrized, product, square, symmetric

suite = Suite()


# ---- removal -------------------------------------------------------------------------------------------------------------
@suite.same
def removal_leaves_the_value(torch):
    layer = parametrized(torch)
    original = layer.parametrizations.weight.original
    result = torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    return (result is layer, type(layer), list(layer.state_dict()), layer.weight, layer.weight is original,
            layer.weight.requires_grad, hasattr(layer, "parametrizations"))


@suite.same
def removal_leaves_the_original(torch):
    layer = parametrized(torch, symmetric(torch, right_inverse=False))
    torch.nn.utils.parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    return layer.weight, type(layer.weight)


@suite.same
def removal_of_several_originals(torch):
    layer = parametrized(torch, product(torch))
    torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    return layer.weight, type(layer.weight), layer.weight.is_leaf, layer.weight.requires_grad


@suite.same
def several_originals_cannot_be_left(torch):
    torch.nn.utils.parametrize.remove_parametrizations(parametrized(torch, product(torch)), "weight", leave_parametrized=False)


@suite.same
def removal_of_one_of_two(torch):
    layer = parametrized(torch)
    torch.nn.utils.parametrize.register_parametrization(layer, "bias", from_functions(torch, lambda x: -x))
    torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    return type(layer).__name__, list(layer.state_dict()), layer.bias


@suite.same
def removal_of_nothing(torch):
    torch.nn.utils.parametrize.remove_parametrizations(square(torch), "weight")


@suite.same
def removal_of_a_buffer(torch):
    module = torch.nn.BatchNorm1d(3)
    torch.nn.utils.parametrize.register_parametrization(module, "running_mean", from_functions(torch, lambda x: x + 1))
    torch.nn.utils.parametrize.remove_parametrizations(module, "running_mean")
    return module.running_mean, sorted(module._buffers), "running_mean" in module.state_dict()


@suite.same
def registration_after_removal(torch):
    layer = parametrized(torch)
    torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", symmetric(torch))
    return type(layer).__name__, layer.weight


@suite.same
def an_optimizer_survives_removal(torch):
    layer = parametrized(torch)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    layer(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return layer.weight


# ---- the rest of the module ----------------------------------------------------------------------------------------------
@suite.same
def loading_a_state_dict(torch):
    source, target = parametrized(torch), parametrized(torch)
    with torch.no_grad():
        source.parametrizations.weight.original.mul_(3)
    return target.load_state_dict(source.state_dict()), target.weight


@suite.same
def loading_a_plain_state_dict(torch):
    parametrized(torch).load_state_dict(square(torch).state_dict())


@suite.same
def loading_a_plain_state_dict_reports_the_keys(torch):
    result = parametrized(torch).load_state_dict(square(torch).state_dict(), strict=False)
    return list(result.missing_keys), list(result.unexpected_keys)


@suite.same
def deepcopy_copies_the_originals(torch):
    layer = parametrized(torch)
    replica = copy.deepcopy(layer)
    replica.weight = torch.ones(3, 3)
    return type(replica).__name__, layer.weight, replica.weight, list(replica.state_dict())


@suite.same
def pickling_is_refused(torch):
    pickle.dumps(parametrized(torch))


@suite.same
def a_shallow_copy_is_refused(torch):
    copy.copy(parametrized(torch))


@suite.same
def casting_a_parametrized_module(torch):
    layer = parametrized(torch).double()
    return layer.weight, layer.parametrizations.weight.original.dtype


@suite.same
def zero_grad_and_requires_grad(torch):
    layer = parametrized(torch)
    layer(torch.ones(1, 3)).sum().backward()
    layer.zero_grad()
    layer.requires_grad_(False)
    return layer.parametrizations.weight.original.grad, layer.weight.requires_grad


@suite.same
def looking_up_by_dotted_name(torch):
    layer = parametrized(torch)
    return (layer.get_parameter("parametrizations.weight.original") is layer.parametrizations.weight.original,
            type(layer.get_submodule("parametrizations.weight.0")))


@suite.same
def get_parameter_of_a_parametrized_name(torch):
    parametrized(torch).get_parameter("weight")


@suite.same
def registering_a_buffer_under_a_parametrized_name(torch):
    parametrized(torch).register_buffer("weight", torch.ones(2))


@suite.same
def a_parametrized_module_inside_another(torch):
    model = torch.nn.Sequential(parametrized(torch), torch.nn.ReLU())
    return list(model.state_dict()), model(torch.ones(1, 3))


# ---- differences ---------------------------------------------------------------------------------------------------------
@suite.differs("copies of a parametrized module", torch=False, lucid=True)
def removing_a_parametrization_of_a_copy(torch):
    layer = parametrized(torch)
    torch.nn.utils.parametrize.remove_parametrizations(copy.deepcopy(layer), "weight")
    return hasattr(layer, "weight")


@suite.differs("copies of a parametrized module", torch=True, lucid=False)
def cached_values_of_a_copy(torch):
    layer = parametrized(torch)
    replica = copy.deepcopy(layer)
    with torch.nn.utils.parametrize.cached():
        return layer.weight is replica.weight


@suite.differs("a refused parametrization or assignment to a parametrized tensor", torch=True, lucid=False)
def the_value_after_a_refused_parametrization(torch):
    layer = square(torch)
    try:
        torch.nn.utils.parametrize.register_parametrization(layer, "weight", from_functions(torch, lambda x: x[:2], lambda x: x * 0))
    except ValueError:
        return not layer.weight.any()


@suite.differs("a refused parametrization or assignment to a parametrized tensor", torch=True, lucid=False)
def the_value_after_a_refused_assignment(torch):
    second = {"dtype": torch.float32}
    pair = from_functions(torch, lambda x, y: x + y, lambda x: (x.clone(), (x * 0).to(second["dtype"])))
    layer = parametrized(torch, pair)
    second["dtype"] = torch.float64
    try:
        layer.weight = torch.zeros(3, 3)
    except ValueError:
        return not layer.weight.any()


# ---- transfer ------------------------------------------------------------------------------------------------------------
@suite.same
def transfer_shares_the_original(torch):
    source, target = parametrized(torch), torch.nn.Linear(3, 3)
    result = torch.nn.utils.parametrize.transfer_parametrizations_and_params(source, target)
    return (result is target, target.weight, target.parametrizations.weight.original is source.parametrizations.weight.original,
            target.parametrizations.weight[0] is source.parametrizations.weight[0])


@suite.same
def transfer_makes_what_is_missing(torch):
    target = torch.nn.Module()
    torch.nn.utils.parametrize.transfer_parametrizations_and_params(parametrized(torch), target)
    return target.weight, list(target.state_dict())


@suite.same
def transfer_of_several_originals(torch):
    source, target = parametrized(torch, product(torch)), torch.nn.Linear(3, 3)
    torch.nn.utils.parametrize.transfer_parametrizations_and_params(source, target, "weight")
    return target.weight, target.parametrizations.weight.original1 is source.parametrizations.weight.original1


@suite.same
def transfer_of_one_name(torch):
    source, target = parametrized(torch), torch.nn.Linear(3, 3)
    torch.nn.utils.parametrize.register_parametrization(source, "bias", from_functions(torch, lambda x: -x))
    torch.nn.utils.parametrize.transfer_parametrizations_and_params(source, target, "bias")
    return list(target.state_dict())


@suite.same
def transfer_from_a_plain_module_does_nothing(torch):
    target = square(torch)
    torch.nn.utils.parametrize.transfer_parametrizations_and_params(square(torch), target)
    return type(target), list(target.state_dict())


test_behaviour = suite.test()
