"""Sequential, ModuleList, ModuleDict, ParameterList and ParameterDict, on PyTorch and on lucid."""
from __future__ import annotations

import copy
from collections import OrderedDict

from tests.parity.models import names, raised
from tests.parity.suite import Suite

suite = Suite()


def kinds(container):
    return [f"{name}:{type(module).__name__}" for name, module in container._modules.items()]


def letters(torch, text="RTS"):
    made = {"R": torch.nn.ReLU, "T": torch.nn.Tanh, "S": torch.nn.Sigmoid, "G": torch.nn.GELU}
    return [made[letter]() for letter in text]


# ---- Sequential ------------------------------------------------------------------------------------------------------
@suite.same
def sequential_calls_in_order(torch):
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU())
    return model(torch.full((2, 1, 2), -1.0)), torch.nn.Sequential()(3)


@suite.same
def sequential_of_an_ordered_dict(torch):
    model = torch.nn.Sequential(OrderedDict(a=torch.nn.ReLU(), b=torch.nn.Tanh()))
    model.append(torch.nn.ReLU())
    return kinds(model), type(model.a).__name__


@suite.same
def sequential_of_a_plain_dict_or_list(torch):
    return raised(lambda: torch.nn.Sequential({"a": torch.nn.ReLU()})), raised(lambda: torch.nn.Sequential(letters(torch)))


@suite.same
def sequential_refuses_other_objects(torch):
    return raised(lambda: torch.nn.Sequential(3)), raised(lambda: torch.nn.Sequential().append(3)), raised(
        lambda: torch.nn.Sequential(torch.nn.ReLU)), raised(lambda: torch.nn.Sequential(torch.nn.ReLU(), None))


@suite.same
def sequential_index(torch):
    model = torch.nn.Sequential(*letters(torch))
    return type(model[-1]).__name__, [raised(lambda: model[index]) for index in (3, -4, "0", 1.0)]


@suite.same
def sequential_slices(torch):
    model = torch.nn.Sequential(*letters(torch, "RTSG"))
    named = torch.nn.Sequential(OrderedDict(a=torch.nn.ReLU(), b=torch.nn.Tanh()))
    return [kinds(part) for part in (model[1:3], model[::-1], model[:0], model[-2:], named[1:])], model[1:][0] is model[1]


@suite.same
def a_subclass_of_sequential_slices_to_itself(torch):
    class Block(torch.nn.Sequential):
        pass

    return type(Block(*letters(torch))[1:]).__name__


@suite.same
def sequential_assignment(torch):
    model = torch.nn.Sequential(*letters(torch))
    model[-1] = torch.nn.GELU()
    return kinds(model), raised(lambda: model.__setitem__(5, torch.nn.GELU())), raised(lambda: model.__setitem__(0, 3))


@suite.same
def sequential_deletion(torch):
    model = torch.nn.Sequential(*letters(torch, "RTSG"))
    del model[1]
    first = kinds(model)
    del model[0:2]
    return first, kinds(model), raised(lambda: model.__delitem__(4))


@suite.same
def sequential_deletion_of_named_entries(torch):
    model = torch.nn.Sequential(OrderedDict(a=torch.nn.ReLU(), b=torch.nn.Tanh(), c=torch.nn.GELU()))
    del model[0]
    return kinds(model)


@suite.same
def sequential_insert(torch):
    model = torch.nn.Sequential(*letters(torch))
    same = model.insert(1, torch.nn.GELU()) is model
    model.insert(-1, torch.nn.GELU())
    model.insert(len(model), torch.nn.GELU())
    return same, kinds(model), raised(lambda: model.insert(99, torch.nn.GELU())), raised(lambda: model.insert(0, 3))


@suite.same
def sequential_append_extend_pop(torch):
    model = torch.nn.Sequential(*letters(torch))
    same = model.append(torch.nn.GELU()).extend(letters(torch, "RT")) is model
    popped = type(model.pop(1)).__name__, type(model.pop(-1)).__name__
    return same, popped, kinds(model), raised(lambda: model.pop(9)), raised(lambda: model.extend(3))


@suite.same
def sequential_sums(torch):
    one, other = torch.nn.Sequential(*letters(torch, "R")), torch.nn.Sequential(*letters(torch, "TS"))
    total = one + other
    held = one
    one += other
    return kinds(total), total[0] is held[0], kinds(one), one is held, raised(lambda: one + 3), raised(
        lambda: one.__iadd__(torch.nn.ReLU()))


@suite.same
def sequential_products(torch):
    model = torch.nn.Sequential(*letters(torch, "RT"))
    product = model * 2
    reflected = 2 * model
    repeated = torch.nn.Sequential(*letters(torch, "R"))
    repeated *= 3
    return (kinds(product), product[0] is product[2], kinds(reflected), kinds(repeated),
            [raised(lambda: model * times) for times in (0, -1, 1.5)], raised(lambda: model.__imul__(0)))


@suite.same
def sequential_iteration_and_length(torch):
    model = torch.nn.Sequential(*letters(torch))
    return [type(layer).__name__ for layer in model], len(model), bool(torch.nn.Sequential()), model[0] in model


@suite.same
def sequential_dir_and_attributes(torch):
    return "0" in dir(torch.nn.Sequential(*letters(torch))), hasattr(torch.nn.Sequential(*letters(torch)), "0")


# ---- ModuleList ------------------------------------------------------------------------------------------------------
@suite.same
def module_list_of_iterables(torch):
    return kinds(torch.nn.ModuleList(letter for letter in letters(torch))), kinds(torch.nn.ModuleList()), raised(
        lambda: torch.nn.ModuleList(3)), raised(lambda: torch.nn.ModuleList([3])), raised(
            lambda: torch.nn.ModuleList([torch.ones(1)]))


@suite.same
def module_list_index_and_slice(torch):
    layers = torch.nn.ModuleList(letters(torch))
    return type(layers[-1]).__name__, kinds(layers[1:]), type(layers[1:]).__name__, [
        raised(lambda: layers[index]) for index in (3, -4, "a")]


@suite.same
def module_list_changes(torch):
    layers = torch.nn.ModuleList(letters(torch))
    layers.insert(0, torch.nn.GELU())
    layers.insert(100, torch.nn.GELU())
    layers[1] = torch.nn.Tanh()
    del layers[2:4]
    return kinds(layers), type(layers.pop(0)).__name__, kinds(layers), raised(lambda: layers.pop(7)), raised(
        lambda: layers.__setitem__(9, torch.nn.ReLU())), raised(lambda: layers.__delitem__(9))


@suite.same
def module_list_sums(torch):
    layers = torch.nn.ModuleList(letters(torch, "R"))
    total = layers + letters(torch, "T")
    held = layers
    layers += letters(torch, "S")
    return kinds(total), type(total).__name__, kinds(layers), layers is held, raised(lambda: layers + 3)


@suite.same
def module_list_append_and_extend(torch):
    layers = torch.nn.ModuleList()
    same = layers.append(torch.nn.ReLU()).extend(letters(torch, "T")) is layers
    return same, kinds(layers), raised(lambda: layers.extend(3)), raised(lambda: layers.append("x"))


@suite.same
def module_list_with_none(torch):
    layers = torch.nn.ModuleList([torch.nn.ReLU(), None])
    return len(layers), layers[1], names(layers.named_modules())


@suite.same
def module_list_repr(torch):
    return [repr(torch.nn.ModuleList(modules)) for modules in (
        [], letters(torch, "R"), letters(torch, "RRTR"), [torch.nn.Sequential(*letters(torch, "R"))] * 2)]


@suite.same
def module_list_contains_and_reverses(torch):
    layers = torch.nn.ModuleList(letters(torch))
    return layers[0] in layers, torch.nn.ReLU() in layers, [type(layer).__name__ for layer in reversed(layers)]


# ---- ModuleDict ------------------------------------------------------------------------------------------------------
@suite.same
def module_dict_keeps_order(torch):
    modules = torch.nn.ModuleDict({"b": torch.nn.ReLU(), "a": torch.nn.Tanh()})
    modules.update([("c", torch.nn.GELU())])
    modules.update(torch.nn.ModuleDict({"a": torch.nn.Sigmoid()}))
    return kinds(modules), list(modules), list(modules.keys()), len(modules), "a" in modules, names(modules.items())


@suite.same
def module_dict_bad_keys(torch):
    return [raised(lambda: torch.nn.ModuleDict({key: torch.nn.ReLU()})) for key in ("a.b", "", 3, "forward", "keys")]


@suite.same
def module_dict_bad_values(torch):
    return raised(lambda: torch.nn.ModuleDict({"a": 3})), torch.nn.ModuleDict({"a": None})["a"]


@suite.same
def module_dict_bad_updates(torch):
    modules = torch.nn.ModuleDict()
    return [raised(lambda: modules.update(given)) for given in (3, [3], [("a",)], [("a", torch.nn.ReLU(), 3)])]


@suite.same
def module_dict_removal(torch):
    modules = torch.nn.ModuleDict({"a": torch.nn.ReLU(), "b": torch.nn.Tanh(), "c": torch.nn.GELU()})
    popped = type(modules.pop("a")).__name__
    del modules["b"]
    left = kinds(modules)
    modules.clear()
    return popped, left, len(modules), raised(lambda: modules.pop("z")), raised(lambda: modules.__delitem__("z")), raised(
        lambda: modules["z"])


@suite.same
def module_dict_is_read_by_attribute_too(torch):
    modules = torch.nn.ModuleDict({"layer": torch.nn.Linear(1, 1)})
    modules.other = torch.nn.ReLU()
    return modules.layer is modules["layer"], list(modules), repr(modules)


# ---- ParameterList ---------------------------------------------------------------------------------------------------
@suite.same
def parameter_list_converts_tensors(torch):
    weights = torch.nn.ParameterList([torch.ones(2), torch.nn.Parameter(torch.zeros(1)), 3, "text"])
    return (names(weights.named_parameters()), [type(weights[index]).__name__ for index in range(4)], weights[0].requires_grad,
            list(weights.state_dict()), len(weights))


@suite.same
def parameter_list_index_and_slice(torch):
    weights = torch.nn.ParameterList([torch.full((1,), float(number)) for number in range(4)])
    return weights[-1], [value.item() for value in weights[1:3]], type(weights[1:3]).__name__, weights[1:][0] is weights[1], [
        raised(lambda: weights[index]) for index in (4, -5, "a")]


@suite.same
def parameter_list_assignment(torch):
    weights = torch.nn.ParameterList([torch.ones(1), 3])
    weights[0] = torch.zeros(2)
    weights[-1] = torch.ones(3)
    return list(weights.state_dict().values()), raised(lambda: weights.__setitem__(2, torch.ones(1))), raised(
        lambda: weights.__setitem__(0, "text"))


@suite.same
def parameter_list_grows(torch):
    weights = torch.nn.ParameterList()
    same = weights.append(torch.ones(1)).extend([torch.ones(2), 5]) is weights
    held = weights
    weights += [torch.ones(3)]
    return same, len(weights), held is weights, names(weights.named_parameters()), [
        raised(lambda: weights.extend(given)) for given in (3, torch.ones(2))], raised(lambda: torch.nn.ParameterList(3))


@suite.same
def parameter_list_cannot_be_called(torch):
    return raised(lambda: torch.nn.ParameterList()(1)), raised(lambda: torch.nn.ParameterDict()(1))


@suite.same
def parameter_list_iterates_and_contains(torch):
    weights = torch.nn.ParameterList([torch.ones(1), torch.zeros(1)])
    return [value.item() for value in weights], [value.item() for value in reversed(weights)], list(dir(weights)).count("0")


@suite.same
def parameter_list_has_no_pop_or_insert(torch):
    weights = torch.nn.ParameterList([torch.ones(1)])
    return hasattr(weights, "pop"), hasattr(weights, "insert"), raised(lambda: weights.__delitem__(0))


@suite.same
def parameter_list_deepcopy(torch):
    weights = torch.nn.ParameterList([torch.ones(1), "text"])
    twin = copy.deepcopy(weights)
    with torch.no_grad():
        twin[0].fill_(3.0)
    return weights[0], twin[0], twin[1], len(twin)


@suite.same
def parameter_list_repr_of_other_objects(torch):
    return repr(torch.nn.ParameterList([3, "text"])), repr(torch.nn.ParameterList())


# ---- ParameterDict ---------------------------------------------------------------------------------------------------
@suite.same
def parameter_dict_sorts_plain_dictionaries(torch):
    given = {"b": torch.ones(2), "a": torch.ones(1)}
    return [list(torch.nn.ParameterDict(entries)) for entries in (
        given, OrderedDict(given), list(given.items()), torch.nn.ParameterDict(list(given.items())))]


@suite.same
def parameter_dict_converts_tensors(torch):
    weights = torch.nn.ParameterDict({"a": torch.ones(1), "n": 3})
    weights["z"] = torch.ones(2)
    weights["n"] = 4
    return names(weights.named_parameters()), weights["n"], weights["z"].requires_grad, list(weights.state_dict())


@suite.same
def parameter_dict_bad_keys(torch):
    weights = torch.nn.ParameterDict()
    return [raised(lambda: weights.__setitem__(key, torch.ones(1))) for key in (3, None)], raised(lambda: weights[3]), raised(
        lambda: weights["missing"])


@suite.same
def parameter_dict_bad_updates(torch):
    weights = torch.nn.ParameterDict()
    return [raised(lambda: weights.update(given)) for given in (3, [3], [("a",)], [("a", torch.ones(1), 3)])]


@suite.same
def parameter_dict_views(torch):
    weights = torch.nn.ParameterDict([("b", torch.ones(1)), ("a", torch.zeros(1))])
    return (list(weights.keys()), [value.item() for value in weights.values()], names(weights.items()), list(weights),
            list(reversed(weights)), len(weights), "a" in weights, "z" in weights)


@suite.same
def parameter_dict_get_and_setdefault(torch):
    weights = torch.nn.ParameterDict({"a": torch.ones(1)})
    made = weights.setdefault("b", torch.zeros(1))
    return (weights.get("a"), weights.get("z"), weights.get("z", 5), type(made).__name__, weights.setdefault("a", 9),
            weights.setdefault("n"), list(weights))


@suite.same
def parameter_dict_removal(torch):
    weights = torch.nn.ParameterDict([("a", torch.ones(1)), ("b", torch.zeros(1)), ("c", 3)])
    last = weights.popitem()
    popped = weights.pop("a")
    del weights["b"]
    return last, popped, len(weights), raised(weights.popitem), raised(lambda: weights.pop("z")), raised(
        lambda: weights.__delitem__("z"))


@suite.same
def parameter_dict_clear(torch):
    weights = torch.nn.ParameterDict({"a": torch.ones(1)})
    weights.clear()
    return len(weights), list(weights.state_dict()), hasattr(weights, "a")


@suite.same
def parameter_dict_copy_shares_parameters(torch):
    weights = torch.nn.ParameterDict({"a": torch.ones(1)})
    twin = weights.copy()
    twin["b"] = torch.ones(2)
    return twin["a"] is weights["a"], list(weights), list(twin)


@suite.same
def parameter_dict_fromkeys(torch):
    made = torch.nn.ParameterDict().fromkeys(["x", "y"], torch.ones(1))
    return list(made), made["x"], torch.nn.ParameterDict({"a": torch.ones(1)}).fromkeys(["q"])["q"]


@suite.same
def parameter_dict_unions(torch):
    one = torch.nn.ParameterDict({"a": torch.ones(1), "b": torch.ones(2)})
    other = torch.nn.ParameterDict({"b": torch.ones(3), "c": torch.ones(4)})
    union = one | other
    held = one
    one |= other
    return ([(key, tuple(value.shape)) for key, value in union.items()], list(one), one is held,
            list({"z": torch.ones(1)} | other), union["c"] is other["c"])


@suite.same
def parameter_dict_key_that_is_an_attribute(torch):
    return raised(lambda: torch.nn.ParameterDict({"training": torch.ones(1)}))


@suite.same
def parameter_dict_repr_of_other_objects(torch):
    return repr(torch.nn.ParameterDict({"n": 3})), repr(torch.nn.ParameterDict())


@suite.differs("dtypes", torch="ParameterList(  (0): Parameter containing: [lucid.float32 of size 2x3])",
               lucid="ParameterList(  (0): Parameter containing: [float32 of size 2x3])")
def parameter_list_repr_of_parameters(torch):
    return repr(torch.nn.ParameterList([torch.ones(2, 3, device="cpu")]))


@suite.same
def containers_reload_their_state(torch):
    def make():
        return torch.nn.ModuleDict({"s": torch.nn.Sequential(torch.nn.Linear(1, 1)),
                                    "p": torch.nn.ParameterList([torch.zeros(1)]),
                                    "d": torch.nn.ParameterDict({"k": torch.zeros(1)})})

    source, target = make(), make()
    with torch.no_grad():
        for parameter in source.parameters():
            parameter.fill_(2.0)
    target.load_state_dict(source.state_dict())
    return target.state_dict()


test_behaviour = suite.test()
