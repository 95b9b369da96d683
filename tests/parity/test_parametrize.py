"""nn.utils.parametrize: registration, reading, assignment, removal, and what the rest of a module sees of it."""
from __future__ import annotations

import copy
import pickle

from tests.parity.suite import Suite

suite = Suite()


def symmetric(torch, right_inverse=True):
    class Symmetric(torch.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

    if right_inverse:
        Symmetric.right_inverse = lambda self, a: a.triu()
    return Symmetric()


def product(torch):
    """A matrix as the product of a column and a row."""
    class Product(torch.nn.Module):
        def forward(self, x, y):
            return x.unsqueeze(-1) * y.unsqueeze(-2)

        def right_inverse(self, z):
            return z[:, 0].clone(), z[0].clone()

    return Product()


def from_functions(torch, forward, right_inverse=None):
    """A parametrization of two functions."""
    class Given(torch.nn.Module):
        def forward(self, *originals):
            return forward(*originals)

    if right_inverse is not None:
        Given.right_inverse = lambda self, x: right_inverse(x)
    return Given()


def square(torch, n=3):
    layer = torch.nn.Linear(n, n)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(float(n * n)).reshape(n, n))
        layer.bias.copy_(torch.arange(float(n)))
    return layer


def parametrized(torch, parametrization=None, **options):
    return torch.nn.utils.parametrize.register_parametrization(square(torch), "weight", parametrization or symmetric(torch),
                                                               **options)


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


# ---- assignment ----------------------------------------------------------------------------------------------------------
@suite.same
def assignment_goes_through_right_inverse(torch):
    layer = parametrized(torch)
    original = layer.parametrizations.weight.original
    layer.weight = torch.ones(3, 3)
    return layer.weight, original, layer.parametrizations.weight.original is original, original.requires_grad


@suite.same
def assignment_without_a_right_inverse(torch):
    parametrized(torch, symmetric(torch, right_inverse=False)).weight = torch.ones(3, 3)


@suite.same
def assignment_of_another_dtype(torch):
    parametrized(torch, from_functions(torch, lambda x: x, lambda x: x)).weight = torch.ones(3, 3, dtype=torch.float64)


@suite.same
def assignment_of_another_shape(torch):
    layer = parametrized(torch, from_functions(torch, lambda x: x, lambda x: x))
    layer.weight = torch.ones(2, 3)
    return layer.weight


@suite.same
def assignment_through_several_originals(torch):
    layer = parametrized(torch, product(torch))
    first = layer.parametrizations.weight.original0
    layer.weight = torch.full((3, 3), 2.0)
    return layer.weight, first, layer.parametrizations.weight.original0 is first


@suite.same
def assignment_with_the_wrong_number_of_tensors(torch):
    state = {"count": 2}
    layer = parametrized(torch, from_functions(torch, lambda *x: x[0] + x[1], lambda x: (x,) * state["count"]))
    state["count"] = 3
    layer.weight = torch.ones(3, 3)


@suite.same
def assignment_through_a_chain(torch):
    layer = parametrized(torch)
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", from_functions(torch, lambda x: 2 * x, lambda x: x / 2))
    layer.weight = torch.ones(3, 3)
    return layer.weight, layer.parametrizations.weight.original


@suite.same
def assignment_of_a_parameter(torch):
    parametrized(torch).weight = torch.nn.Parameter(torch.ones(3, 3))


@suite.same
def assignment_shares_the_memory(torch):
    layer = parametrized(torch, from_functions(torch, lambda x: x, lambda x: x))
    value = torch.zeros(3, 3)
    layer.weight = value
    value[0, 0] = 5.0
    return layer.weight


@suite.same
def deleting_a_parametrized_tensor(torch):
    del parametrized(torch).weight


@suite.same
def initialisation_by_nn_init(torch):
    layer = parametrized(torch)
    layer.weight = torch.nn.init.constant_(torch.empty(3, 3), 4.0)
    return layer.weight


# ---- caching -------------------------------------------------------------------------------------------------------------
@suite.same
def reading_twice_computes_twice(torch):
    layer = parametrized(torch)
    return layer.weight is layer.weight


@suite.same
def cached_computes_once(torch):
    layer = parametrized(torch)
    with torch.nn.utils.parametrize.cached():
        one, other = layer.weight, layer.weight
    return one is other, layer.weight is one


@suite.same
def cached_contexts_nest(torch):
    layer = parametrized(torch)
    with torch.nn.utils.parametrize.cached():
        one = layer.weight
        with torch.nn.utils.parametrize.cached():
            other = layer.weight
        last = layer.weight
    return one is other, one is last


@suite.same
def the_cache_is_dropped_after_an_error(torch):
    layer = parametrized(torch)
    try:
        with torch.nn.utils.parametrize.cached():
            one = layer.weight
            raise KeyError
    except KeyError:
        return one is layer.weight


@suite.same
def gradients_through_a_cached_weight_add_up(torch):
    layer = parametrized(torch)
    with torch.nn.utils.parametrize.cached():
        (layer(torch.ones(1, 3)) + layer(torch.ones(1, 3))).sum().backward()
    return layer.parametrizations.weight.original.grad


@suite.same
def assignment_while_cached(torch):
    layer = parametrized(torch)
    with torch.nn.utils.parametrize.cached():
        one = layer.weight
        layer.weight = torch.ones(3, 3)
        stale = layer.weight is one
    return stale, layer.weight


# ---- asking --------------------------------------------------------------------------------------------------------------
@suite.same
def is_parametrized_asks_for_any_or_for_one(torch):
    parametrize = torch.nn.utils.parametrize
    plain, layer = square(torch), parametrized(torch)
    return [parametrize.is_parametrized(plain), parametrize.is_parametrized(plain, "weight"), parametrize.is_parametrized(layer),
            parametrize.is_parametrized(layer, "weight"), parametrize.is_parametrized(layer, "bias")]


@suite.same
def an_attribute_called_parametrizations_is_not_enough(torch):
    layer = square(torch)
    layer.parametrizations = [1]
    return torch.nn.utils.parametrize.is_parametrized(layer)


@suite.same
def type_before_parametrizations(torch):
    parametrize = torch.nn.utils.parametrize
    return parametrize.type_before_parametrizations(parametrized(torch)), parametrize.type_before_parametrizations(square(torch))


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
