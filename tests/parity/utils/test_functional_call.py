"""functional_call and stack_module_state."""
from __future__ import annotations

import types
from typing import Any

import numpy as np

from tests.parity.suite import Raised, Suite

suite = Suite()
SHARED = "`functional_call` of shared and tied state"
BUFFERS = "`functional_call` and the buffers that forward changes"


def _array(*values: float, dtype: str = "float32") -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, dtype)


def _counter(torch: Any, write: str = "assign", **members: Any) -> Any:
    """A module with a buffer `total`, which forward adds its input to, a parameter `factor`, and a None slot `last`."""
    def forward(self: Any, x: Any) -> Any:
        if write == "assign":
            self.total = self.total + x
        elif write == "in place":
            self.total.add_(x)
        elif write == "operator":
            self.total += x
        elif write == "slot":
            self.last = x * 1
        if members.get("fails"):
            raise ArithmeticError("after the write")
        return self.total * self.factor

    module = type("Counter", (torch.nn.Module,), {"forward": forward})()
    module.factor = torch.nn.Parameter(torch.tensor(2.0))
    module.register_buffer("total", torch.tensor(0.0))
    module.register_buffer("last", None)
    module.plain = torch.tensor(1.0)
    return module


def _tied(torch: Any) -> Any:
    """A module whose parameters `a`, `b` and `c` are one."""
    module = type("Tied", (torch.nn.Module,), {"forward": lambda self, x: self.a + 10 * self.b + 100 * self.c + x})()
    module.a = module.b = module.c = torch.nn.Parameter(torch.tensor(1.0))
    return module


# ---- which tensors are used --------------------------------------------------------------------------------------------
@suite.same
def given_parameters_are_used_and_the_module_keeps_its_own(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 2)
    weight, bias = layer.weight, layer.bias
    out = torch.func.functional_call(layer, {"weight": torch.ones(2, 2), "bias": torch.zeros(2)}, torch.ones(1, 2))
    return out, layer.weight is weight, layer.bias is bias, list(layer.state_dict())


@suite.same
def names_that_are_left_out(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 2)
    out = torch.func.functional_call(layer, {"weight": torch.zeros(2, 2)}, torch.ones(1, 2))
    return torch.equal(out[0], layer.bias)


@suite.same
def dotted_names(torch: Any) -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Linear(2, 1)))
    given = {name: torch.ones_like(p) for name, p in model.named_parameters()}
    return list(given), torch.func.functional_call(model, given, torch.ones(3, 2))


@suite.same
def none_in_the_place_of_a_parameter(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 2)
    out = torch.func.functional_call(layer, {"bias": None, "weight": torch.ones(2, 2)}, torch.ones(1, 2))
    return out, layer.bias is None


@suite.same
def several_dictionaries(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 1)
    given = ({"weight": torch.ones(1, 2)}, {"bias": torch.ones(1)}, {})
    return [torch.func.functional_call(layer, kind(given), torch.ones(1, 2)) for kind in (tuple, list)]


@suite.same
def no_dictionary_entries(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2)
    return [torch.equal(torch.func.functional_call(layer, given, x), layer(x)) for given in ({}, (), [{}])]


@suite.same
def a_name_in_two_dictionaries(torch: Any) -> Any:
    given = {"bias": torch.ones(2)}, {"bias": torch.ones(2)}
    return torch.func.functional_call(torch.nn.Linear(2, 2), given, torch.ones(1, 2))


@suite.same
def something_else_than_dictionaries(torch: Any) -> Any:
    found = []
    for given in (3, [3], types.MappingProxyType({}), {"bias"}):
        try:
            torch.func.functional_call(torch.nn.Linear(2, 2), given, torch.ones(1, 2))
        except ValueError:
            found.append("ValueError")
    return found


@suite.same
def arguments(torch: Any) -> Any:
    class Pair(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any = 1, y: Any = 2, *, z: Any = 3) -> Any:
            return x, y, z

    call = torch.func.functional_call
    return [call(Pair(), {}), call(Pair(), {}, 5), call(Pair(), {}, (5,)), call(Pair(), {}, (5, 6), {"z": 7}),
            call(Pair(), {}, None, {"y": 8}), call(Pair(), {}, [5, 6])]


@suite.same
def a_function_that_is_not_a_module(torch: Any) -> Any:
    return torch.func.functional_call(lambda x: x, {"a": torch.ones(1)}, torch.ones(1))


@suite.same
def a_plain_tensor_attribute(torch: Any) -> Any:
    class Shift(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x + self.shift

    module = Shift()
    module.shift = torch.tensor(1.0)
    own = module.shift
    out = torch.func.functional_call(module, {"shift": torch.tensor(5.0)}, torch.tensor(0.0))
    return out, module.shift is own, "shift" in module.__dict__


@suite.same
def a_name_that_does_not_exist(torch: Any) -> Any:
    class Extra(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x + self.extra

    module = Extra()
    return torch.func.functional_call(module, {"extra": torch.tensor(5.0)}, torch.tensor(1.0)), hasattr(module, "extra")


def _error(action: Any) -> Any:
    try:
        return action()
    except Exception as error:
        return error


@suite.same
def names_that_cannot_be_replaced(torch: Any) -> Any:
    module = torch.nn.Sequential(torch.nn.Linear(2, 2))
    tensor = torch.ones(2)
    names = ("", "0.", "0", "0.weight.x", "1.weight", "training", "forward", "0.in_features")
    return [_error(lambda name=name: torch.func.functional_call(module, {name: tensor}, torch.ones(1, 2))) for name in names]


@suite.same
def values_that_are_not_tensors(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 2)
    return [_error(lambda v=v: torch.func.functional_call(layer, {"bias": v}, torch.ones(1, 2)))
            for v in (3, "x", [1.0], np.ones(2))]


@suite.same
def a_refused_name_leaves_the_module_as_it_was(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 2)
    weight = layer.weight
    given = {"weight": torch.ones(2, 2), "no.such": torch.ones(2)}
    error = _error(lambda: torch.func.functional_call(layer, given, torch.ones(1, 2)))
    return error, layer.weight is weight


@suite.same
def an_error_in_forward_leaves_the_module_as_it_was(torch: Any) -> Any:
    module = _counter(torch, fails=True)
    own = module.factor, module.total
    given = {"factor": torch.ones(()), "total": torch.ones(())}
    error = _error(lambda: torch.func.functional_call(module, given, torch.ones(())))
    return error, module.factor is own[0], module.total is own[1], module.total


@suite.same
def strict_with_all_names(torch: Any) -> Any:
    module = _counter(torch)
    return torch.func.functional_call(module, {"factor": torch.ones(()), "total": torch.ones(())}, torch.ones(()), strict=True)


@suite.same
def strict_with_wrong_names(torch: Any) -> Any:
    module, one = _counter(torch), torch.ones(())
    cases = ({"factor": one}, {"factor": one, "total": one, "no": one}, {"factor": one, "total": one, "plain": one},
             {"factor": one, "total": one, "last": one}, {})
    return [_error(lambda case=case: torch.func.functional_call(module, case, one, strict=True)) for case in cases]


# ---- gradients ---------------------------------------------------------------------------------------------------------
@suite.same
def gradients_flow_to_the_given_tensors(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 1)
    given = {"weight": torch.ones(1, 2, requires_grad=True), "bias": torch.zeros(1, requires_grad=True)}
    torch.func.functional_call(layer, given, torch.tensor([[1.0, 2.0]])).sum().backward()
    return given["weight"].grad, given["bias"].grad, layer.weight.grad


@suite.same
def gradients_flow_through_computed_parameters(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 1)
    scale = torch.tensor(3.0, requires_grad=True)
    out = torch.func.functional_call(layer, {"weight": torch.ones(1, 2) * scale, "bias": None}, torch.tensor([[1.0, 2.0]]))
    return torch.autograd.grad(out.sum(), scale)[0]


@suite.same
def second_derivatives(torch: Any) -> Any:
    layer = torch.nn.Linear(1, 1, bias=False)
    weight = torch.tensor([[2.0]], requires_grad=True)
    out = torch.func.functional_call(layer, {"weight": weight}, torch.tensor([[3.0]])) ** 3
    first, = torch.autograd.grad(out.sum(), weight, create_graph=True)
    return first, torch.autograd.grad(first.sum(), weight)[0]


@suite.same
def a_gradient_step_through_a_gradient_step(torch: Any) -> Any:
    layer, x = torch.nn.Linear(1, 1), torch.tensor([[2.0]])
    parameters = {"weight": torch.tensor([[1.0]], requires_grad=True), "bias": torch.tensor([0.5], requires_grad=True)}
    loss = (torch.func.functional_call(layer, parameters, x) ** 2).sum()
    inner = torch.autograd.grad(loss, list(parameters.values()), create_graph=True)
    stepped = {name: p - 0.1 * g for (name, p), g in zip(parameters.items(), inner, strict=True)}
    outer = (torch.func.functional_call(layer, stepped, x) ** 2).sum()
    return torch.autograd.grad(outer, list(parameters.values()))


@suite.same
def a_given_buffer_that_requires_grad(torch: Any) -> Any:
    module = _counter(torch, "nothing")
    total = torch.tensor(3.0, requires_grad=True)
    torch.func.functional_call(module, {"total": total}, torch.tensor(0.0)).backward()
    return total.grad


@suite.same
def state_that_is_differentiated_through_time(torch: Any) -> Any:
    module = _counter(torch)
    start = torch.tensor(1.0, requires_grad=True)
    state = {"total": start * 2}
    for _ in range(3):
        out = torch.func.functional_call(module, state, torch.tensor(1.0))
    return torch.autograd.grad(out, start)[0], state["total"]


# ---- buffers that forward changes ----------------------------------------------------------------------------------------
@suite.same
def an_assigned_buffer_goes_into_the_dictionary(torch: Any) -> Any:
    module = _counter(torch)
    given = torch.tensor(5.0)
    state = {"total": given}
    out = torch.func.functional_call(module, state, torch.tensor(1.0))
    return out, state, given, module.total


@suite.same
def an_assigned_buffer_and_several_dictionaries(torch: Any) -> Any:
    module = _counter(torch)
    states = ({"total": torch.tensor(5.0)},)
    torch.func.functional_call(module, states, torch.tensor(1.0))
    return states, module.total


@suite.same
def the_modules_own_buffers_given_and_assigned(torch: Any) -> Any:
    module = _counter(torch)
    own = module.total
    state = dict(module.named_buffers())
    torch.func.functional_call(module, state, torch.tensor(1.0))
    return state, module.total, module.total is own


@suite.same
def an_in_place_write_reaches_the_given_tensor(torch: Any) -> Any:
    found = []
    for write in ("in place", "operator"):
        module, given = _counter(torch, write), torch.tensor(5.0)
        state = {"total": given}
        torch.func.functional_call(module, state, torch.tensor(1.0))
        found.append((given, state["total"] is given, module.total, type(given) is torch.Tensor))
    return found


@suite.same
def buffers_that_are_not_given_change_in_the_module(torch: Any) -> Any:
    found = []
    for write in ("assign", "in place", "operator"):
        module = _counter(torch, write)
        torch.func.functional_call(module, {"factor": torch.tensor(1.0)}, torch.tensor(1.0))
        found.append(module.total)
    return found


@suite.same
def an_in_place_write_to_a_view(torch: Any) -> Any:
    module, both = _counter(torch, "in place"), torch.zeros(2)
    torch.func.functional_call(module, {"total": both[1]}, torch.tensor(4.0))
    return both


@suite.same
def a_none_slot(torch: Any) -> Any:
    module = _counter(torch, "slot")
    state = {"last": None}
    torch.func.functional_call(module, state, torch.tensor(4.0))
    return state["last"], module.last


@suite.same
def the_statistics_of_a_batch_norm(torch: Any) -> Any:
    layer, x = torch.nn.BatchNorm1d(2), torch.arange(8.0).reshape(4, 2)
    given = {name: b.clone() for name, b in layer.named_buffers()}
    out = torch.func.functional_call(layer, (dict(layer.named_parameters()), given), x)
    return out, given, dict(layer.named_buffers())


@suite.same
def given_tensors_stay_what_they_are(torch: Any) -> Any:
    layer = torch.nn.BatchNorm1d(2)
    given = {name: t.detach().clone() for name, t in layer.state_dict().items()}
    torch.func.functional_call(layer, given, torch.arange(8.0).reshape(4, 2))
    return [(type(t) is torch.Tensor, isinstance(t, (torch.nn.Parameter, torch.nn.Buffer)), t.requires_grad)
            for t in given.values()]


@suite.differs("assigning a computed tensor to a buffer", torch=True, lucid=False)
def the_graph_of_what_is_assigned(torch: Any) -> Any:
    module, state = _counter(torch), {"total": torch.tensor(0.0)}
    torch.func.functional_call(module, state, torch.tensor(1.0, requires_grad=True))
    return state["total"].requires_grad


@suite.same
def an_in_place_write_to_a_computed_tensor(torch: Any) -> Any:
    module, leaf = _counter(torch, "in place"), torch.tensor(2.0, requires_grad=True)
    given = leaf * 3
    state = {"total": given}
    out = torch.func.functional_call(module, state, leaf * leaf)
    return out, given, state["total"] is given, torch.autograd.grad(out + given, leaf)[0]


@suite.same
def an_in_place_write_to_a_leaf_or_to_shared_elements(torch: Any) -> Any:
    module, x = _counter(torch, "in place"), torch.tensor([1.0, 2.0])
    return [_error(lambda total=total: torch.func.functional_call(module, {"total": total}, x))
            for total in (torch.zeros(2, requires_grad=True), torch.zeros(1).expand(2))]


@suite.same
def a_given_buffer_changed_between_forward_and_backward(torch: Any) -> Any:
    layer = torch.nn.BatchNorm1d(2).eval()
    given = {name: b.clone() for name, b in layer.named_buffers()}
    out = torch.func.functional_call(layer, given, torch.arange(6.0, requires_grad=True).reshape(3, 2))
    given["running_var"].add_(1)
    out.sum().backward()


@suite.same
def a_parameter_that_forward_replaces(torch: Any) -> Any:
    def forward(self: Any, x: Any) -> Any:
        self.w = torch.nn.Parameter(torch.tensor(5.0))
        return self.w * x

    module = type("Replacing", (torch.nn.Module,), {"forward": forward})()
    module.w = own = torch.nn.Parameter(torch.tensor(1.0))
    state = {"w": torch.tensor(0.0)}
    return torch.func.functional_call(module, state, torch.tensor(1.0)), state, module.w is own


@suite.same
def a_tensor_that_forward_assigns_to_a_parameter(torch: Any) -> Any:
    module = type("Assigning", (torch.nn.Module,), {"forward": lambda self, x: setattr(self, "w", x)})()
    module.w = torch.nn.Parameter(torch.tensor(1.0))
    return torch.func.functional_call(module, {"w": torch.tensor(0.0)}, torch.tensor(1.0))


@suite.same
def entries_of_parameter_containers(torch: Any) -> Any:
    def forward(self: Any, x: Any) -> Any:
        return x + self.l[0] + 10 * self.l[1] + 100 * self.d["k"]

    module = type("Containers", (torch.nn.Module,), {"forward": forward})()
    module.l = torch.nn.ParameterList([torch.nn.Parameter(torch.tensor(1.0)) for _ in range(2)])
    module.d = torch.nn.ParameterDict({"k": torch.nn.Parameter(torch.tensor(1.0))})
    return torch.func.functional_call(module, {"l.1": torch.tensor(0.0), "d.k": torch.tensor(2.0)}, torch.tensor(0.0))


# ---- where do the new statistics go? -------------------------------------------------------------------------------------
@suite.differs(BUFFERS, torch=(_array(1.0), Raised(TypeError)), lucid=(_array(1.0), (_array(2.0), {"total": _array(1.0)})))
def the_new_buffers_are_returned(torch: Any) -> Any:
    module = _counter(torch, "in place")
    torch.func.functional_call(module, {}, torch.tensor(1.0))  # the module itself has changed
    pure = _counter(torch, "in place")
    return module.total, _error(lambda: torch.func.functional_call(pure, {}, torch.tensor(1.0), return_buffers=True))


def _without_side_effects(torch: Any, write: str, given: Any) -> Any:
    """The new value of the buffer by whatever means there are, and the module and the given tensor afterwards."""
    module = _counter(torch, write)
    state = {} if given is None else {"total": given}
    try:
        _, buffers = torch.func.functional_call(module, state, torch.tensor(1.0), return_buffers=True)
    except TypeError:
        torch.func.functional_call(module, state, torch.tensor(1.0))
        buffers = {**dict(module.named_buffers()), **state}
    return buffers["total"], module.total, given


@suite.differs(BUFFERS, torch=(_array(6.0), _array(0.0), _array(6.0)), lucid=(_array(6.0), _array(0.0), _array(5.0)))
def a_given_buffer_written_in_place(torch: Any) -> Any:
    return _without_side_effects(torch, "in place", torch.tensor(5.0))


@suite.differs(BUFFERS, torch=(_array(1.0), _array(1.0), None), lucid=(_array(1.0), _array(0.0), None))
def an_own_buffer_written_in_place(torch: Any) -> Any:
    return _without_side_effects(torch, "in place", None)


@suite.differs(BUFFERS, torch=(_array(1.0), _array(1.0), None), lucid=(_array(1.0), _array(0.0), None))
def an_own_buffer_that_is_assigned(torch: Any) -> Any:
    return _without_side_effects(torch, "assign", None)


@suite.same
def a_given_buffer_that_is_assigned(torch: Any) -> Any:
    return _without_side_effects(torch, "assign", torch.tensor(5.0))


# ---- ties ------------------------------------------------------------------------------------------------------------------
@suite.same
def one_name_of_a_tied_parameter(torch: Any) -> Any:
    state = {"a": torch.tensor(0.0)}
    return torch.func.functional_call(_tied(torch), state, torch.tensor(0.0)), list(state)


@suite.same
def one_name_without_the_ties(torch: Any) -> Any:
    return torch.func.functional_call(_tied(torch), {"a": torch.tensor(0.0)}, torch.tensor(0.0), tie_weights=False)


@suite.same
def different_tensors_at_tied_names(torch: Any) -> Any:
    given = {"a": torch.tensor(0.0), "b": torch.tensor(0.0), "c": torch.tensor(1.0)}
    tied, x = _tied(torch), torch.tensor(0.0)
    return (_error(lambda: torch.func.functional_call(tied, given, x)),
            torch.func.functional_call(tied, given, x, tie_weights=False))


@suite.same
def the_same_tensor_at_all_tied_names(torch: Any) -> Any:
    zero = torch.tensor(0.0)
    return torch.func.functional_call(_tied(torch), {"a": zero, "b": zero, "c": zero}, zero)


@suite.differs(SHARED, torch=Raised(KeyError), lucid=_array(0.0))
def the_same_tensor_at_two_of_three_tied_names(torch: Any) -> Any:
    zero = torch.tensor(0.0)
    return torch.func.functional_call(_tied(torch), {"a": zero, "b": zero}, zero)


@suite.same
def strict_counts_ties(torch: Any) -> Any:
    given, x = {"a": torch.tensor(0.0)}, torch.tensor(0.0)
    return (torch.func.functional_call(_tied(torch), given, x, strict=True),
            _error(lambda: torch.func.functional_call(_tied(torch), given, x, strict=True, tie_weights=False)))


@suite.same
def ties_between_layers(torch: Any) -> Any:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    out = torch.func.functional_call(model, {"0.weight": weight}, torch.ones(1, 2))
    return out, torch.autograd.grad(out.sum(), weight)[0], model[0].weight is model[1].weight


@suite.differs(SHARED, torch=False, lucid=True)
def a_module_that_is_there_twice_gets_its_own_back(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 2)
    weight = layer.weight
    torch.func.functional_call(torch.nn.Sequential(layer, layer), {"0.weight": torch.ones(2, 2)}, torch.ones(1, 2))
    return layer.weight is weight


# ---- together with other things --------------------------------------------------------------------------------------------
@suite.same
def nested_calls_of_one_module(torch: Any) -> Any:
    class Outer(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1, bias=False)

        def forward(self, x: Any) -> Any:
            first = self.layer(x)
            inner = torch.func.functional_call(self.layer, {"weight": torch.tensor([[10.0]])}, x)
            return first, inner, self.layer(x)

    module = Outer()
    weight = module.layer.weight
    out = torch.func.functional_call(module, {"layer.weight": torch.tensor([[2.0]])}, torch.ones(1, 1))
    return out, module.layer.weight is weight


@suite.same
def hooks_see_the_given_tensors(torch: Any) -> Any:
    layer, seen = torch.nn.Linear(1, 1), []
    layer.register_forward_pre_hook(lambda module, args: seen.append(float(module.weight.sum())))
    layer.register_forward_hook(lambda module, args, out: out * 2)
    out = torch.func.functional_call(layer, {"weight": torch.tensor([[7.0]]), "bias": torch.zeros(1)}, torch.ones(1, 1))
    return out, seen


@suite.same
def training_mode_is_that_of_the_module(torch: Any) -> Any:
    layer, x = torch.nn.BatchNorm1d(2).eval(), torch.arange(8.0).reshape(4, 2)
    given = {"running_mean": torch.ones(2), "running_var": torch.full((2,), 4.0)}
    return torch.func.functional_call(layer, given, x), given


@suite.same
def other_dtypes(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 2)
    given = {name: torch.ones_like(p, dtype=torch.float64) for name, p in layer.named_parameters()}
    return torch.func.functional_call(layer, given, torch.ones(1, 2, dtype=torch.float64)), layer.weight.dtype


def _doubled(torch: Any, **methods: Any) -> Any:
    """A linear layer whose weight is parametrized as twice a tensor."""
    double = type("Double", (torch.nn.Module,), {"forward": lambda self, x: 2 * x, **methods})
    layer = torch.nn.Linear(2, 1, bias=False)
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", double())
    return layer


@suite.same
def the_original_of_a_parametrization(torch: Any) -> Any:
    layer, original = _doubled(torch), torch.ones(1, 2, requires_grad=True)
    own = layer.parametrizations.weight.original
    out = torch.func.functional_call(layer, {"parametrizations.weight.original": original}, torch.ones(1, 2))
    return out, torch.autograd.grad(out.sum(), original)[0], layer.parametrizations.weight.original is own


@suite.same
def a_parametrized_tensor_itself(torch: Any) -> Any:
    layer = _doubled(torch, right_inverse=lambda self, x: x / 2)
    own = layer.weight.detach().clone()
    out = torch.func.functional_call(layer, {"weight": torch.ones(1, 2)}, torch.ones(1, 2))
    return out, torch.equal(layer.weight, own), list(layer.state_dict())


@suite.same
def a_parametrized_tensor_without_right_inverse(torch: Any) -> Any:
    return torch.func.functional_call(_doubled(torch), {"weight": torch.ones(1, 2)}, torch.ones(1, 2))


@suite.same
def a_module_on_the_meta_device(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 3, device="meta")
    given = {"weight": torch.ones(3, 2), "bias": torch.ones(3)}
    return (torch.func.functional_call(layer, given, torch.ones(1, 2)), layer.weight,
            torch.func.functional_call(layer, {}, torch.ones(1, 2, device="meta")))


@suite.same
def a_lazy_layer_initialised_in_the_call(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(3)
    torch.func.functional_call(layer, {}, torch.ones(1, 2))
    return repr(layer), tuple(layer.weight.shape)


@suite.same
def a_lazy_layer_with_all_its_tensors_given(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(3)
    out = torch.func.functional_call(layer, {"weight": torch.ones(3, 2), "bias": torch.ones(3)}, torch.ones(1, 2))
    return out, repr(layer), layer.weight


@suite.same
def a_lazy_layer_with_some_of_its_tensors_given(torch: Any) -> Any:
    return torch.func.functional_call(torch.nn.LazyLinear(3), {"weight": torch.ones(3, 2)}, torch.ones(1, 2))


@suite.same
def the_deprecated_name(torch: Any) -> Any:
    import warnings

    layer = torch.nn.Linear(2, 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = torch.nn.utils.stateless.functional_call(layer, {"weight": torch.ones(1, 2), "bias": None}, torch.ones(1, 2))
    return out, [w.category for w in caught]


# ---- stack_module_state ------------------------------------------------------------------------------------------------------
@suite.same
def stacked_state(torch: Any) -> Any:
    models = [torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)) for _ in range(4)]
    parameters, buffers = torch.func.stack_module_state(models)
    return ([(name, tuple(t.shape), t.requires_grad, t.is_leaf, t.dtype) for name, t in parameters.items()],
            [(name, tuple(t.shape), t.requires_grad, t.is_leaf, t.dtype) for name, t in buffers.items()],
            all(torch.equal(parameters["0.weight"][i], model[0].weight) for i, model in enumerate(models)),
            [isinstance(t, torch.nn.Parameter) for t in parameters.values()])


@suite.same
def stacked_state_is_independent(torch: Any) -> Any:
    models = torch.nn.ModuleList([torch.nn.Linear(1, 1) for _ in range(2)])
    parameters, _ = torch.func.stack_module_state(models)
    before = models[0].weight.detach().clone()
    with torch.no_grad():
        parameters["weight"].zero_()
    parameters["weight"].sum().backward()
    return torch.equal(models[0].weight, before), models[0].weight.grad, parameters["weight"].grad


@suite.same
def an_entry_of_the_stack_is_a_model(torch: Any) -> Any:
    models = [torch.nn.Linear(2, 2) for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(models)
    x = torch.ones(1, 2)
    outs = [torch.func.functional_call(models[0], {name: t[i] for name, t in parameters.items()}, x) for i in range(3)]
    sum(out.sum() for out in outs).backward()
    return [torch.equal(out, model(x)) for out, model in zip(outs, models, strict=True)], buffers, parameters["bias"].grad


@suite.same
def stacks_that_are_refused(torch: Any) -> Any:
    linear = torch.nn.Linear
    frozen = linear(2, 2).requires_grad_(False)
    cases = ([], [linear(2, 2), torch.nn.Identity()], [linear(2, 2), linear(2, 2).eval()], [linear(2, 2), linear(2, 3)],
             [linear(2, 2), frozen])
    return [_error(lambda case=case: torch.func.stack_module_state(case)) for case in cases]


@suite.same
def a_stack_of_frozen_models(torch: Any) -> Any:
    models = [torch.nn.Linear(2, 2).requires_grad_(False) for _ in range(2)]
    parameters, _ = torch.func.stack_module_state(models)
    return [t.requires_grad for t in parameters.values()]


@suite.same
def a_stack_of_lazy_models(torch: Any) -> Any:
    return torch.func.stack_module_state([torch.nn.LazyLinear(2)])


test_behaviour = suite.test()
