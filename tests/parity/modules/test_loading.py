"""load_state_dict: which keys it takes, what it reports, and what becomes of the values."""
from __future__ import annotations

import warnings

from ..models import message, stateful
from ..suite import Suite

suite = Suite()


# ---- loading: keys ---------------------------------------------------------------------------------------------------
@suite.same
def the_result_when_all_keys_match(torch):
    module = stateful(torch)
    keys = module.load_state_dict(module.state_dict())
    return repr(keys), keys.missing_keys, keys.unexpected_keys


@suite.same
def the_result_when_keys_differ(torch):
    module = stateful(torch)
    return repr(module.load_state_dict({"b": torch.ones(2), "x": torch.ones(1), "c.y": torch.ones(1)}, strict=False))


@suite.same
def the_report_of_a_strict_load(torch):
    return message(lambda: stateful(torch).load_state_dict({"b": torch.ones(2), "x": torch.ones(1), "c.y": torch.ones(1),
                                                         "d.e.f": torch.ones(1)}))


@suite.same
def the_report_of_size_mismatches(torch):
    return message(lambda: stateful(torch).load_state_dict({"b": torch.ones(3), "w": torch.ones(2, 1), "c.weight": torch.ones(()),
                                                         "c.bias": torch.ones(1)}))


@suite.same
def a_size_mismatch_raises_without_strict_too(torch):
    stateful(torch).load_state_dict({"b": torch.ones(3)}, strict=False)


@suite.same
def the_report_of_a_value_that_is_no_tensor(torch):
    module = stateful(torch)
    return message(lambda: module.load_state_dict(module.state_dict() | {"w": [1.0, 2.0], "b": None}))


@suite.same
def keys_below_a_buffer_or_parameter_are_unexpected(torch):
    module = stateful(torch)
    return module.load_state_dict({"w.x": torch.ones(1), "b.y": torch.ones(1)}, strict=False).unexpected_keys


@suite.same
def keys_of_a_none_parameter_are_unexpected(torch):
    return message(lambda: torch.nn.Linear(1, 1, bias=False).load_state_dict(torch.nn.Linear(1, 1).state_dict()))


@suite.same
def keys_below_a_none_module_are_passed_over(torch):
    module = stateful(torch)
    state = module.state_dict()
    module.c = None
    return tuple(module.load_state_dict(state))


@suite.same
def a_norm_without_statistics_does_not_expect_them(torch):
    norm = torch.nn.BatchNorm1d(2, track_running_stats=False)
    return message(lambda: norm.load_state_dict(torch.nn.BatchNorm1d(2).state_dict()))


@suite.same
def an_old_norm_without_its_counter(torch):
    norm = torch.nn.BatchNorm1d(2)
    norm(torch.ones(3, 2))
    state = {name: value for name, value in norm.state_dict().items() if name != "num_batches_tracked"}
    other = torch.nn.BatchNorm1d(2)
    return tuple(other.load_state_dict(state)), other.num_batches_tracked


@suite.same
def a_norm_of_version_two_misses_its_counter(torch):
    state = torch.nn.BatchNorm1d(2).state_dict()
    del state["num_batches_tracked"]
    return message(lambda: torch.nn.BatchNorm1d(2).load_state_dict(state))


@suite.same
def non_mappings_are_refused(torch):
    return [message(lambda s=s: stateful(torch).load_state_dict(s)).split(":")[0] for s in ([1], None, "w", 3)]


@suite.same
def an_empty_state_without_strict(torch):
    keys = stateful(torch).load_state_dict({}, strict=False)
    return keys.missing_keys


@suite.same
def an_empty_module_takes_an_empty_state(torch):
    return repr(torch.nn.ReLU().load_state_dict({}))


@suite.same
def the_given_dictionary_is_not_changed(torch):
    module = torch.nn.BatchNorm1d(1)
    state = {name: value for name, value in module.state_dict().items() if name != "num_batches_tracked"}
    module.load_state_dict(state)
    return list(state)


# ---- loading: values -------------------------------------------------------------------------------------------------
@suite.same
def objects_and_memory_stay(torch):
    module = stateful(torch)
    weight, buffer, pointer = module.w, module.b, module.w.data_ptr()
    module.load_state_dict({name: value + 1 for name, value in module.state_dict().items()})
    return module.w is weight, module.b is buffer, module.w.data_ptr() == pointer, module.w, module.b


@suite.same
def dtypes_of_the_module_stay(torch):
    module = stateful(torch)
    module.register_buffer("n", torch.tensor([1, 2]))
    state = module.state_dict() | {"w": torch.full((2,), 1.7, dtype=torch.float64), "b": torch.tensor([3, 4]),
                                   "n": torch.tensor([1.9, -1.9])}
    module.load_state_dict(state)
    return module.w, module.b, module.n


@suite.same
def half_and_bool(torch):
    module = torch.nn.Module()
    module.register_buffer("h", torch.zeros(2, dtype=torch.float16))
    module.register_buffer("f", torch.zeros(2, dtype=torch.bool))
    module.load_state_dict({"h": torch.tensor([0.1, 7e4]), "f": torch.tensor([0.0, 2.0])})
    return module.h, module.f


@suite.same
def bfloat16_to_float32(torch):
    module = torch.nn.Linear(1, 1, bias=False)
    module.load_state_dict({"weight": torch.full((1, 1), 1.01, dtype=torch.bfloat16)})
    return module.weight


@suite.same
def one_element_loads_into_a_scalar(torch):
    module = torch.nn.Module()
    module.register_buffer("n", torch.tensor(0))
    module.load_state_dict({"n": torch.tensor([5])})
    return module.n


@suite.same
def a_scalar_does_not_load_into_one_element(torch):
    module = torch.nn.Module()
    module.register_buffer("n", torch.zeros(1))
    return message(lambda: module.load_state_dict({"n": torch.tensor(5.0)}))


@suite.same
def no_broadcasting(torch):
    module = torch.nn.Linear(2, 2)
    return message(lambda: module.load_state_dict({"weight": torch.ones(1, 2), "bias": torch.ones(1)}))


@suite.same
def values_that_are_not_contiguous(torch):
    module = torch.nn.Linear(3, 2, bias=False)
    module.load_state_dict({"weight": torch.arange(6.0).reshape(3, 2).t()})
    return module.weight, module.weight.is_contiguous()


@suite.same
def targets_that_are_not_contiguous(torch):
    module = torch.nn.Module()
    module.register_buffer("t", torch.zeros(3, 2).t())
    module.load_state_dict({"t": torch.arange(6.0).reshape(2, 3)})
    return module.t, module.t.stride()


@suite.same
def targets_whose_elements_share_memory(torch):
    module = torch.nn.Module()
    module.register_buffer("t", torch.zeros(1).expand(3))
    return message(lambda: module.load_state_dict({"t": torch.ones(3)})).split(":")[0]


@suite.same
def empty_tensors(torch):
    module = torch.nn.Module()
    module.register_buffer("e", torch.zeros(0, 3))
    return repr(module.load_state_dict({"e": torch.ones(0, 3)})), message(lambda: module.load_state_dict({"e": torch.ones(0)}))


@suite.same
def values_that_require_grad(torch):
    module = torch.nn.Linear(1, 1, bias=False)
    leaf = torch.full((1, 1), 3.0, requires_grad=True)
    module.load_state_dict({"weight": leaf * 2})
    return module.weight, module.weight.is_leaf, module.weight.requires_grad


@suite.same
def frozen_parameters_stay_frozen_and_gradients_stay(torch):
    module = torch.nn.Linear(1, 1)
    module.weight.requires_grad_(False)
    module.bias.sum().backward()
    module.load_state_dict(module.state_dict(keep_vars=True))
    return module.weight.requires_grad, module.bias.requires_grad, module.bias.grad


@suite.same
def tied_parameters_take_the_last_value(torch):
    model = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(1, 1, bias=False))
    model[1].weight = model[0].weight
    model.load_state_dict({"0.weight": torch.full((1, 1), 1.0), "1.weight": torch.full((1, 1), 2.0)})
    return model[0].weight, model[1].weight is model[0].weight


@suite.same
def a_module_loads_its_own_state(torch):
    module = torch.nn.BatchNorm1d(2)
    module(torch.arange(6.0).reshape(3, 2))
    module.load_state_dict(module.state_dict())
    return module.running_mean, module.num_batches_tracked


@suite.same
def a_load_into_a_saved_tensor_is_a_write(torch):
    module = torch.nn.Linear(1, 1, bias=False)
    loss = (module.weight * module.weight).sum()
    module.load_state_dict(module.state_dict())
    loss.backward()


@suite.same
def the_assigned_dtype(torch):
    module = torch.nn.Linear(1, 1, bias=False)
    given = torch.full((1, 1), 2.0, dtype=torch.float64)
    module.load_state_dict({"weight": given}, assign=True)
    given.fill_(3.0)
    return module.weight, module.weight.requires_grad, type(module.weight).__name__, module.weight.grad


@suite.same
def assigning_keeps_frozen_parameters_frozen(torch):
    module = torch.nn.Linear(1, 1, bias=False).requires_grad_(False)
    module.load_state_dict({"weight": torch.nn.Parameter(torch.ones(1, 1))}, assign=True)
    return module.weight.requires_grad


@suite.same
def assigning_checks_shapes_and_keys(torch):
    module = torch.nn.Linear(1, 1)
    return (message(lambda: module.load_state_dict({"weight": torch.ones(2, 1)}, assign=True)),
            tuple(module.load_state_dict({"weight": torch.ones(1, 1)}, strict=False, assign=True)))


@suite.same
def loading_into_a_module_without_memory(torch):
    module = torch.nn.Linear(2, 2, device="meta")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        keys = repr(module.load_state_dict(torch.nn.Linear(2, 2).state_dict()))
    return keys, module.weight, [(w.category.__name__, str(w.message).split(".")[0]) for w in caught]


@suite.same
def assigning_to_a_module_without_memory(torch):
    module, source = torch.nn.Linear(2, 2, device="meta"), torch.nn.Linear(2, 2)
    module.load_state_dict(source.state_dict(), assign=True)
    return module.weight.device, module.weight.requires_grad, bool((module.weight == source.weight).all())


@suite.same
def loading_what_has_no_elements(torch):
    state = torch.nn.Linear(2, 2, device="meta").state_dict()
    return message(lambda: torch.nn.Linear(2, 2).load_state_dict(state, strict=False))


test_behaviour = suite.test()
