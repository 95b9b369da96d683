"""nn.utils.parametrize: assignment to what is parametrized, the cache, and the questions that can be asked."""
from __future__ import annotations

from tests.parity.suite import Suite
from tests.parity.utils.parametrized import from_functions, parametrized, product, square, symmetric

suite = Suite()


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


test_behaviour = suite.test()
