"""Uninitialized parameters and buffers, and lazy modules."""
from __future__ import annotations

import copy
import pickle
from typing import Any

from tests.parity.suite import Raised, Suite

suite = Suite()


# ---- uninitialized parameters and buffers ----------------------------------------------------------------------------
@suite.same
def what_they_know_and_what_they_are(torch: Any) -> Any:
    parameter, buffer = torch.nn.UninitializedParameter(), torch.nn.UninitializedBuffer()
    return [(repr(t), t.dtype, t.requires_grad, t.is_leaf, t.grad, isinstance(t, torch.Tensor),
             isinstance(t, torch.nn.Parameter), isinstance(t, torch.nn.Buffer), torch.nn.parameter.is_lazy(t), t.is_floating_point(),
             tuple(t.size()), t.ndim)
            for t in (parameter, buffer)]


@suite.same
def is_lazy_is_false_for_everything_else(torch: Any) -> Any:
    return [torch.nn.parameter.is_lazy(value) for value in (torch.ones(2), torch.nn.Parameter(torch.ones(2)), None, 3)]


@suite.same
def the_shape_of_one(torch: Any) -> Any:
    return torch.nn.UninitializedParameter().shape


def _outcomes(actions: list[Any]) -> list[str]:
    found = []
    for action in actions:
        try:
            found.append(type(action()).__name__)
        except ValueError:  # in lucid of a class that is a RuntimeError too, as the shape raises
            found.append("ValueError")
    return found


@suite.same
def operations_on_one(torch: Any) -> Any:
    p = torch.nn.UninitializedParameter()
    x = torch.ones(2, 2)
    return _outcomes([
        lambda: p + 1, lambda: 1 - p, lambda: -p, lambda: p * x, lambda: x @ p, lambda: p == p, lambda: p[0],
        lambda: p.sum(), lambda: p.clone(), lambda: p.detach(), lambda: p.numel(), lambda: p.dim(), lambda: p.tolist(),
        lambda: len(p), lambda: bool(p), lambda: float(p), lambda: list(p), lambda: p.stride(), lambda: p.contiguous(),
        lambda: p.is_contiguous(), lambda: p.data_ptr(), lambda: p.element_size(),
    ])


@suite.same
def functions_on_one(torch: Any) -> Any:
    p, x = torch.nn.UninitializedParameter(), torch.ones(2, 2)
    functional, init = torch.nn.functional, torch.nn.init
    return _outcomes([
        lambda: torch.mm(x, p), lambda: torch.stack([p]), lambda: torch.cat([p, x]), lambda: torch.zeros_like(p),
        lambda: functional.linear(x, p), lambda: functional.layer_norm(x, (2,), p), lambda: functional.relu(p),
        lambda: init.normal_(p), lambda: init.ones_(p), lambda: init.kaiming_uniform_(p),
        lambda: torch.nn.Parameter(p), lambda: torch.nn.Buffer(p),
    ])


@suite.same
def in_place_writes_to_an_uninitialized_buffer(torch: Any) -> Any:
    b = torch.nn.UninitializedBuffer()
    return _outcomes([lambda: b.add_(1), lambda: b.zero_(), lambda: b.__setitem__(0, 1), lambda: b.fill_(2)])


@suite.same
def in_place_writes_to_an_uninitialized_parameter(torch: Any) -> Any:
    p = torch.nn.UninitializedParameter()
    return _outcomes([lambda: p.add_(1), lambda: p.zero_(), lambda: p.__setitem__(0, 1), lambda: p.__iadd__(1),
                      lambda: p.__imul__(2), lambda: p.detach_(), lambda: p.numpy()])


@suite.same
def an_integer_parameter(torch: Any) -> Any:
    return torch.nn.UninitializedParameter(dtype=torch.int64)


@suite.same
def an_integer_buffer(torch: Any) -> Any:
    b = torch.nn.UninitializedBuffer(dtype=torch.int64)
    b.materialize((2,))
    return b.dtype, b.zero_()


@suite.same
def casts_of_one_are_empty_tensors_and_itself_where_nothing_changes(torch: Any) -> Any:
    p = torch.nn.UninitializedParameter()
    changed = [p.half(), p.double(), p.to(torch.float64), p.long()]
    return [(c.dtype, tuple(c.shape)) for c in changed], p.float() is p, p.to(torch.float32) is p, p.dtype


@suite.same
def materialize_keeps_the_object(torch: Any) -> Any:
    p, b = torch.nn.UninitializedParameter(), torch.nn.UninitializedBuffer()
    returned = p.materialize((2, 3)), b.materialize(4)
    return (returned, type(p) is torch.nn.Parameter, p.shape == (2, 3), b.shape == (4,), p.requires_grad, b.requires_grad,
            isinstance(b, torch.nn.Buffer), torch.nn.parameter.is_lazy(p))


@suite.same
def materialize_takes_the_remembered_dtype(torch: Any) -> Any:
    p = torch.nn.UninitializedParameter(dtype=torch.float64)
    p.materialize((2,))
    return p.dtype


@suite.same
def materialize_with_another_dtype(torch: Any) -> Any:
    p = torch.nn.UninitializedParameter()
    p.materialize((2,), dtype=torch.float16)
    return p.dtype


@suite.same
def materialize_twice(torch: Any) -> Any:
    p = torch.nn.UninitializedParameter()
    p.materialize((2,))
    p.materialize((2,))


@suite.same
def a_frozen_one_stays_frozen(torch: Any) -> Any:
    p = torch.nn.UninitializedParameter(requires_grad=False)
    p.materialize((2,))
    return p.requires_grad


@suite.same
def an_empty_and_a_0d_shape(torch: Any) -> Any:
    shapes = []
    for shape in ((), (0,), (2, 0, 3)):
        p = torch.nn.UninitializedParameter()
        p.materialize(shape)
        shapes.append(tuple(p.shape))
    return shapes


@suite.same
def a_deep_copy_of_a_parameter(torch: Any) -> Any:
    p = torch.nn.UninitializedParameter(dtype=torch.float64, requires_grad=False)
    c, other = copy.deepcopy([p, p])
    return c is other, c is p, repr(c), c.dtype, c.requires_grad


@suite.differs("copies of uninitialized parameters and buffers", torch=Raised(ValueError),
               lucid=("<UninitializedBuffer>", "float64", False))
def a_deep_copy_of_a_buffer(torch: Any) -> Any:
    b = copy.deepcopy(torch.nn.UninitializedBuffer(dtype=torch.float64, persistent=False))
    return repr(b), b.dtype, b.persistent


@suite.differs("copies of uninitialized parameters and buffers", torch=("<UninitializedParameter>", False, "float32"),
               lucid=("<UninitializedParameter>", False, "float64"))
def a_pickle(torch: Any) -> Any:
    p = pickle.loads(pickle.dumps(torch.nn.UninitializedParameter(requires_grad=False, dtype=torch.float64)))
    return repr(p), p.requires_grad, p.dtype


# ---- layers ----------------------------------------------------------------------------------------------------------
@suite.same
def a_lazy_layer_before_and_after_its_first_call(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(3)
    before = repr(layer), layer.has_uninitialized_params(), [repr(p) for p in layer.parameters()]
    out = layer(torch.ones(4, 5))
    return before, repr(layer), type(layer) is torch.nn.Linear, tuple(layer.weight.shape), tuple(out.shape)


@suite.same
def reprs_of_lazy_layers(torch: Any) -> Any:
    return [repr(torch.nn.LazyConv2d(4, 3, stride=2, padding=1, groups=2, bias=False, padding_mode="reflect")),
            repr(torch.nn.LazyBatchNorm1d()), repr(torch.nn.LazyBatchNorm2d(1e-3, None, affine=False)),
            repr(torch.nn.LazyLinear(2, bias=False))]


@suite.same
def a_lazy_convolution(torch: Any) -> Any:
    layer = torch.nn.LazyConv2d(4, (3, 2), groups=2)
    out = layer(torch.ones(2, 6, 5, 5))
    return type(layer) is torch.nn.Conv2d, tuple(layer.weight.shape), tuple(layer.bias.shape), tuple(out.shape), repr(layer)


@suite.same
def a_lazy_convolution_of_an_image_without_a_batch(torch: Any) -> Any:
    layer = torch.nn.LazyConv2d(4, 3)
    return tuple(layer(torch.ones(2, 5, 5)).shape), layer.in_channels


@suite.same
def a_lazy_convolution_of_too_few_dimensions(torch: Any) -> Any:
    return torch.nn.LazyConv2d(4, 3)(torch.ones(5, 5))


@suite.same
def channels_that_groups_do_not_divide(torch: Any) -> Any:
    return torch.nn.LazyConv2d(4, 3, groups=2)(torch.ones(1, 3, 5, 5))


@suite.same
def a_lazy_batch_norm(torch: Any) -> Any:
    layer = torch.nn.LazyBatchNorm1d()
    x = torch.arange(12.0).reshape(4, 3)
    return layer(x), layer.state_dict(), type(layer) is torch.nn.BatchNorm1d


@suite.same
def a_lazy_batch_norm_in_evaluation_mode(torch: Any) -> Any:
    layer = torch.nn.LazyBatchNorm2d().eval()
    return layer(torch.ones(2, 3, 1, 1)), layer.training, layer.num_batches_tracked


@suite.same
def the_state_of_lazy_batch_norms(torch: Any) -> Any:
    return [(list(m.state_dict()), m.state_dict()._metadata[""]) for m in (
        torch.nn.LazyBatchNorm1d(), torch.nn.LazyBatchNorm2d(bias=False), torch.nn.LazyBatchNorm2d(affine=False),
        torch.nn.LazyBatchNorm2d(affine=False, track_running_stats=False))]


@suite.same
def a_lazy_batch_norm_of_too_few_dimensions(torch: Any) -> Any:
    return torch.nn.LazyBatchNorm2d()(torch.ones(3, 2))


@suite.same
def a_lazy_batch_norm_of_a_vector(torch: Any) -> Any:
    return torch.nn.LazyBatchNorm1d()(torch.ones(3))


@suite.same
def a_lazy_layer_of_no_features(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(3)
    out = layer(torch.ones(2, 0))
    return tuple(out.shape), repr(layer)


@suite.same
def the_input_as_a_keyword(torch: Any) -> Any:
    return tuple(torch.nn.LazyLinear(3)(input=torch.ones(2, 4)).shape)


@suite.same
def forward_without_the_hooks(torch: Any) -> Any:
    return torch.nn.LazyLinear(3).forward(torch.ones(2, 4))


BEFORE = "freezing, `bfloat16()` and tensor hooks before the first call of a lazy module"


@suite.differs(BEFORE, torch=Raised(ValueError), lucid=False)
def freezing_a_lazy_layer(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(3).requires_grad_(False)
    layer(torch.ones(2, 4))
    return layer.weight.requires_grad


@suite.same
def freezing_a_lazy_parameter_by_its_attribute(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(3)
    layer.weight.requires_grad = False
    layer(torch.ones(2, 4))
    return layer.weight.requires_grad, layer.bias.requires_grad


@suite.differs(BEFORE, torch=Raised(ValueError), lucid="bfloat16")
def bfloat16_of_a_lazy_layer(torch: Any) -> Any:
    return torch.nn.LazyLinear(3).bfloat16().weight.dtype


@suite.differs(BEFORE, torch=Raised(ValueError), lucid=[(3, 4)])
def a_hook_on_a_lazy_parameter(torch: Any) -> Any:
    layer, seen = torch.nn.LazyLinear(3), []
    layer.weight.register_hook(lambda gradient: seen.append(tuple(gradient.shape)))
    layer(torch.ones(2, 4)).sum().backward()
    return seen


@suite.same
def a_network_of_lazy_layers(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(nn.LazyConv2d(2, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2))
    out = model(torch.ones(2, 1, 4, 4))
    return (tuple(out.shape), [type(m).__name__ for m in model], list(model.state_dict()),
            sum(p.numel() for p in model.parameters()))


@suite.same
def the_number_of_parameters_before_the_first_call(torch: Any) -> Any:
    return sum(p.numel() for p in torch.nn.LazyLinear(3).parameters())


@suite.same
def a_call_without_gradients_leaves_parameters_trainable(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(3)
    with torch.no_grad():
        layer(torch.ones(2, 4))
    return layer.weight.requires_grad, layer.bias.requires_grad


@suite.same
def casts_before_the_first_call(torch: Any) -> Any:
    layers = torch.nn.LazyLinear(3).double(), torch.nn.LazyLinear(3).to(torch.bfloat16), torch.nn.LazyBatchNorm1d().half()
    lazy = [torch.nn.parameter.is_lazy(p) for layer in layers for p in layer.parameters()]
    layers[0](torch.ones(2, 4, dtype=torch.float64))
    norm = layers[2]
    return lazy, layers[0].weight.dtype, layers[1].weight.dtype, norm.running_mean.dtype, norm.num_batches_tracked.dtype


@suite.same
def the_dtype_of_the_constructor(torch: Any) -> Any:
    layer = torch.nn.LazyBatchNorm1d(dtype=torch.float64)
    layer(torch.ones(2, 3, dtype=torch.float64))
    return layer.weight.dtype, layer.running_var.dtype, layer.num_batches_tracked.dtype


@suite.same
def an_optimizer_made_before_the_first_call(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(3)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.5)
    optimizer.step()
    layer(torch.ones(2, 4)).sum().backward()
    before = layer.weight.detach().clone()
    optimizer.step()
    return layer.weight.detach() - before


@suite.same
def the_parameters_stay_the_same_objects(torch: Any) -> Any:
    layer = torch.nn.LazyBatchNorm1d()
    held = [*layer.parameters(), *layer.buffers()]
    layer(torch.ones(2, 3))
    return [one is other for one, other in zip(held, [*layer.parameters(), *layer.buffers()], strict=True)]


@suite.same
def helpers_of_training_refuse_them(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(3)
    torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    layer.zero_grad()
    return torch.nn.utils.parameters_to_vector(layer.parameters())


@suite.same
def initialising_them_by_apply(torch: Any) -> Any:
    return torch.nn.LazyLinear(3).apply(lambda module: torch.nn.init.ones_(module.weight))


@suite.same
def reset_parameters_before_the_first_call(torch: Any) -> Any:
    return torch.nn.LazyLinear(3).reset_parameters(), torch.nn.LazyConv2d(2, 3).reset_parameters()


@suite.same
def a_copied_lazy_layer_is_lazy_by_itself(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(3)
    other = copy.deepcopy(layer)
    other(torch.ones(2, 4))
    other(torch.ones(2, 4))
    still = layer.has_uninitialized_params()
    layer(torch.ones(2, 7))
    return still, repr(layer), repr(other), len(layer._forward_pre_hooks), len(other._forward_pre_hooks)


@suite.same
def a_pickled_lazy_layer(torch: Any) -> Any:
    layer = pickle.loads(pickle.dumps(torch.nn.LazyLinear(3)))
    lazy = layer.has_uninitialized_params()
    layer(torch.ones(2, 4))
    return lazy, repr(layer), len(layer._forward_pre_hooks)


@suite.same
def a_subclass_of_a_lazy_layer_becomes_the_layer(torch: Any) -> Any:
    class Mine(torch.nn.LazyLinear):  # type: ignore[misc, name-defined]
        pass

    layer = Mine(3)
    layer(torch.ones(2, 4))
    return type(layer) is torch.nn.Linear


# ---- state dicts -----------------------------------------------------------------------------------------------------
@suite.same
def a_state_of_uninitialized_parameters(torch: Any) -> Any:
    state = torch.nn.LazyLinear(3).state_dict()
    return list(state), [repr(value) for value in state.values()]


@suite.same
def lazy_into_lazy(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(3)
    keys = layer.load_state_dict(torch.nn.LazyLinear(3).state_dict())
    return repr(keys), layer.has_uninitialized_params(), tuple(layer(torch.ones(2, 4)).shape)


@suite.same
def materialized_into_lazy(torch: Any) -> Any:
    layer, source = torch.nn.LazyLinear(3), torch.nn.Linear(4, 3)
    keys = layer.load_state_dict(source.state_dict())
    before = repr(keys), repr(layer), layer.has_uninitialized_params(), torch.equal(layer.weight, source.weight)
    x = torch.ones(2, 4)
    return before, torch.equal(layer(x), source(x)), repr(layer)


@suite.same
def materialized_into_lazy_and_then_another_input(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(3)
    layer.load_state_dict(torch.nn.Linear(4, 3).state_dict())
    return layer(torch.ones(2, 5))


@suite.same
def loading_keeps_the_dtype_of_the_lazy_layer(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(3)
    layer.load_state_dict(torch.nn.Linear(4, 3).double().state_dict())
    return layer.weight.dtype


@suite.same
def a_batch_norm_into_a_lazy_one(torch: Any) -> Any:
    source, layer = torch.nn.BatchNorm1d(3), torch.nn.LazyBatchNorm1d()
    source(torch.arange(12.0).reshape(4, 3))
    layer.load_state_dict(source.state_dict())
    return layer.state_dict(), layer.eval()(torch.ones(2, 3))


@suite.same
def lazy_into_materialized(torch: Any) -> Any:
    return torch.nn.Linear(4, 3).load_state_dict(torch.nn.LazyLinear(3).state_dict(), strict=False)


@suite.same
def a_missing_key_of_a_lazy_layer(torch: Any) -> Any:
    return torch.nn.LazyLinear(3).load_state_dict({"weight": torch.ones(3, 4)})


@suite.same
def assigning_to_a_lazy_layer(torch: Any) -> Any:
    layer = torch.nn.LazyLinear(3)
    source = torch.nn.Linear(4, 3).double().state_dict()
    layer.load_state_dict(source, assign=True)
    shared = layer.weight.data_ptr() == source["weight"].data_ptr()
    return layer.weight.dtype, isinstance(layer.weight, torch.nn.Parameter), shared


@suite.same
def a_network_that_has_been_called_into_one_that_has_not(torch: Any) -> Any:
    def network() -> Any:
        return torch.nn.Sequential(torch.nn.LazyLinear(3), torch.nn.ReLU(), torch.nn.LazyLinear(2))

    source, target, x = network(), network(), torch.ones(2, 4)
    expected = source(x)
    target.load_state_dict(source.state_dict())
    return torch.equal(target(x), expected)


@suite.differs("a failed strict `load_state_dict`", torch=False, lucid=True)
def a_failed_load_leaves_a_lazy_layer_lazy(torch: Any) -> Any:
    model = torch.nn.Sequential(torch.nn.LazyLinear(3), torch.nn.Linear(2, 2))
    state = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(5, 5)).state_dict()
    try:
        model.load_state_dict(state)
    except RuntimeError:
        return torch.nn.parameter.is_lazy(model[0].weight)


# ---- users' own lazy modules -----------------------------------------------------------------------------------------
def _scale(torch: Any, **methods: Any) -> Any:
    """A user's lazy module with one parameter; `methods` replace or add to its own."""
    def __init__(self: Any) -> None:
        super(cls, self).__init__()
        self.factor = torch.nn.UninitializedParameter()

    def initialize_parameters(self: Any, x: Any, scale: Any = 2.0) -> None:
        if self.has_uninitialized_params():
            with torch.no_grad():
                self.factor.materialize(x.shape[-1:])
                self.factor.fill_(scale)

    def forward(self: Any, x: Any, scale: Any = None) -> Any:
        return x * self.factor

    body = {"__init__": __init__, "initialize_parameters": initialize_parameters, "forward": forward, **methods}
    cls = type("Scale", (torch.nn.modules.lazy.LazyModuleMixin, torch.nn.Module), body)
    return cls()


@suite.same
def a_module_of_ones_own(torch: Any) -> Any:
    module = _scale(torch)
    out = module(torch.ones(2, 3), scale=5.0)
    return out, type(module).__name__, hasattr(module, "_initialize_hook"), len(module._forward_pre_hooks), module.state_dict()


@suite.same
def a_module_that_says_what_it_becomes(torch: Any) -> Any:
    becomes = type("Scaled", (torch.nn.Module,), {"forward": lambda self, x: x + self.factor})
    module = _scale(torch, cls_to_become=becomes)
    return module(torch.ones(2)), type(module) is becomes


@suite.same
def a_module_without_initialize_parameters(torch: Any) -> Any:
    mixin = torch.nn.modules.lazy.LazyModuleMixin
    return _scale(torch, initialize_parameters=mixin.initialize_parameters)(torch.ones(2))


@suite.same
def a_module_that_forgets_a_parameter(torch: Any) -> Any:
    return _scale(torch, initialize_parameters=lambda self, x: None)(torch.ones(2))


@suite.same
def a_first_call_that_fails_leaves_the_module_lazy(torch: Any) -> Any:
    module = _scale(torch)
    try:
        module(3)
    except AttributeError:
        return module.has_uninitialized_params(), module(torch.ones(2))


@suite.same
def an_ordinary_module_with_an_uninitialized_parameter(torch: Any) -> Any:
    module = torch.nn.Module()
    module.p = torch.nn.UninitializedParameter()
    module.b = torch.nn.UninitializedBuffer(persistent=False)
    names = [name for name, _ in module.named_parameters()], [name for name, _ in module.named_buffers()]
    return names, list(module.state_dict(keep_vars=True)), module.state_dict()


@suite.same
def a_tensor_assigned_to_an_uninitialized_buffer(torch: Any) -> Any:
    module = torch.nn.Module()
    module.register_buffer("b", torch.nn.UninitializedBuffer())
    module.b = torch.ones(3)
    return module.b, list(module.state_dict()), torch.nn.parameter.is_lazy(module.b)


@suite.same
def tied_uninitialized_parameters(torch: Any) -> Any:
    one, other = torch.nn.LazyLinear(3, bias=False), torch.nn.LazyLinear(3, bias=False)
    other.weight = one.weight
    model = torch.nn.Sequential(one, torch.nn.Identity())
    model.double()
    one(torch.ones(2, 3, dtype=torch.float64))
    return other.weight is one.weight, tuple(other.weight.shape), other.weight.dtype


test_behaviour = suite.test()
