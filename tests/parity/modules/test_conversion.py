"""Moving and casting modules, and memory formats, on PyTorch and on lucid."""
from __future__ import annotations

import copy
import pickle

from tests.parity.models import raised, small, tied
from tests.parity.suite import Suite

suite = Suite()


def dtypes(module):
    return {key: value.dtype for key, value in module.state_dict().items()}


def formats(torch):
    return torch.contiguous_format, torch.channels_last, torch.channels_last_3d, torch.preserve_format


# ---- casts -----------------------------------------------------------------------------------------------------------
@suite.same
def casts_leave_integer_buffers_alone(torch):
    return [dtypes(getattr(torch.nn.BatchNorm1d(2), how)()) for how in ("half", "float", "double", "bfloat16")]


@suite.same
def casts_return_the_module(torch):
    module = small(torch)
    return [call() is module for call in (module.half, module.float, module.double, module.bfloat16, module.cpu, module.to)]


@suite.same
def casts_round_values(torch):
    module = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(module.weight, 1.001)
    return module.half().float().weight, module.weight.requires_grad, module.weight.is_leaf


@suite.same
def casts_convert_gradients(torch):
    module = small(torch)
    torch.nn.init.ones_(module.c.weight)
    module(torch.ones(2)).sum().backward()
    module.double()
    return module.w.grad, module.c.weight.grad.dtype


@suite.same
def casts_leave_complex_alone(torch):
    module = torch.nn.Module()
    module.register_buffer("z", torch.ones(1, dtype=torch.complex64))
    module.register_buffer("mask", torch.ones(1, dtype=torch.bool))
    return dtypes(module.double()), dtypes(module.half()), dtypes(module.to(torch.complex128))


@suite.same
def type_casts_integers_too(torch):
    return dtypes(torch.nn.BatchNorm1d(2).type(torch.float64)), dtypes(torch.nn.BatchNorm1d(2).type(
        f"{torch.__name__}.DoubleTensor"))


@suite.same
def type_to_integers_needs_frozen_parameters(torch):
    module = torch.nn.Linear(1, 1)
    error = raised(lambda: module.type(torch.int32))
    return error, dtypes(module.requires_grad_(False).type(torch.int32))


@suite.same
def type_of_nonsense(torch):
    return raised(lambda: small(torch).type("nonsense")), raised(lambda: small(torch).type(3))


@suite.same
def ties_survive_casts(torch):
    module = tied(torch).double()
    return module.w is module.w2, module.d is module.c, module.w2.dtype, module.b2.dtype


@suite.differs("`Module.to(device)`, `Buffer.to(device)`, `Parameter.to(device)`", torch=(False, True), lucid=(True, True))
def tied_buffers_after_a_cast(torch):
    module = tied(torch)
    buffer = module.b
    module.double()
    return module.b is buffer, module.w is module.w2


@suite.differs("`Module.to(device)`, `Buffer.to(device)`, `Parameter.to(device)`", torch=False, lucid=True)
def two_names_of_a_buffer_stay_tied(torch):
    module = tied(torch).double()
    module.b.fill_(3.0)
    return module.b2.tolist() == [3.0, 3.0]


@suite.differs("`Module.to(device)`, `Buffer.to(device)`, `Parameter.to(device)`", torch=False, lucid=True)
def two_tensors_over_one_memory_stay_tied(torch):
    table = torch.zeros(2)
    module = torch.nn.Module()
    module.register_buffer("one", table)
    module.register_buffer("other", table.detach())
    module.double()
    module.one.fill_(3.0)
    return module.other.tolist() == [3.0, 3.0]


@suite.differs("`Module.to(device)`, `Buffer.to(device)`, `Parameter.to(device)`", torch=False, lucid=True)
def an_alias_in_another_object_follows(torch):
    module = small(torch)
    alias = module.b
    module.double()
    return alias.dtype == torch.float64


@suite.same
def an_optimizer_made_before_a_cast_still_trains(torch):
    module = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(module.weight, 1.0)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    module.double()
    module(torch.ones(1, 1, dtype=torch.float64)).sum().backward()
    optimizer.step()
    return module.weight


# ---- the arguments of to ---------------------------------------------------------------------------------------------
@suite.same
def to_in_every_form(torch):
    device = torch.ones(1).device
    like = torch.ones(1, dtype=torch.float64)
    forms = [((), {}), ((None,), {}), ((device,), {}), ((torch.float64,), {}), ((device, torch.float64), {}),
             ((None, torch.float64), {}), ((device, torch.float64, True), {}), ((torch.float64, True), {}), ((like,), {}),
             ((like, False), {}), ((), {"dtype": torch.float64}), ((), {"device": device, "dtype": torch.float16}),
             ((), {"tensor": like}), ((device,), {"dtype": torch.float64, "non_blocking": True}),
             ((device,), {"non_blocking": True})]
    return [dtypes(torch.nn.BatchNorm1d(1).to(*args, **keywords)) for args, keywords in forms]


@suite.same
def to_in_no_form(torch):
    forms = [((torch.float64, "cpu"), {}), (("cpu", "cpu"), {}), (([1],), {}), ((), {"foo": 1}), (("nonsense",), {}),
             (("cpu",), {"dtype": "nonsense"}), ((torch.float64,), {"dtype": torch.float32}), ((torch.float64, 1), {}),
             ((torch.channels_last,), {}), ((), {"memory_format": 3}), (("cpu", torch.float64), {"non_blocking": 3}),
             (("cpu", torch.float64, True, True), {}), ((torch.float64,), {"copy": True}), (("cpu", True), {}),
             ((torch.ones(1),), {"dtype": torch.float64}), (("cpu:x",), {})]
    return [raised(lambda: torch.nn.Linear(1, 1).to(*args, **keywords)) for args, keywords in forms]


@suite.same
def to_integers(torch):
    return [raised(lambda: small(torch).to(target)) for target in (
        torch.int64, torch.bool, torch.uint8, torch.ones(1, dtype=torch.int32))]


@suite.same
def tensor_to_in_every_form(torch):
    x = torch.arange(3.0)
    like = x.double()
    forms = [((torch.float64, True, True), {}), ((x.device, torch.float64, True, True), {}), ((like, True, True), {}),
             ((None, torch.float64), {}), ((), {"dtype": torch.int32, "copy": True}), ((torch.float16,), {"copy": True})]
    return [x.to(*args, **keywords) for args, keywords in forms], [
        x.to(*args, **keywords) is x for args, keywords in (((), {}), ((None,), {}), ((x,), {}), ((x.device,), {}),
                                                            ((torch.float32,), {}), ((), {"copy": True}))]


@suite.same
def tensor_to_in_no_form(torch):
    x = torch.ones(1)
    forms = [((torch.float64, "cpu"), {}), (("cpu", "cpu"), {}), ((), {"foo": 1}), (("cpu", True, True), {}), (([1],), {}),
             ((torch.float64, 1), {}), ((torch.float64,), {"non_blocking": 3}), ((), {"other": x}), (("nonsense",), {})]
    return [raised(lambda: x.to(*args, **keywords)) for args, keywords in forms]


@suite.same
def to_of_an_overridden_apply(torch):
    class Grid(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(1))
            self.grid = [torch.ones(1), torch.zeros(1)]

        def _apply(self, fn, recurse=True):
            super()._apply(fn, recurse)
            self.grid = [fn(tensor) for tensor in self.grid]
            return self

    model = torch.nn.Sequential(Grid())
    model.double()
    return model[0].grid, model[0].b


@suite.same
def apply_of_a_function_to_every_tensor(torch):
    module = small(torch)
    module._apply(lambda tensor: tensor * 2 + 1)
    return module.w, module.b, module.w.requires_grad, module.w.is_leaf


@suite.same
def apply_without_recursion(torch):
    module = small(torch)
    module._apply(lambda tensor: tensor.double(), recurse=False)
    return module.w.dtype, module.c.weight.dtype


@suite.differs("a plain tensor attribute left behind by `.to()`", torch=[], lucid=["Linear.plain", "Linear.listed[0]"])
def plain_tensors_left_behind(torch):
    import warnings

    module = torch.nn.Linear(1, 1)
    module.plain = torch.ones(1)
    module.listed = [torch.ones(1)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module.to("meta")
    return [str(warning.message).split(" ")[0] for warning in caught if "register_buffer" in str(warning.message)]


@suite.differs("`Buffer(cast=False)`", torch="float16", lucid="float32")
def half_casts_every_buffer(torch):
    module = torch.nn.Module()
    buffer = torch.nn.Buffer(torch.ones(1))
    module.steady = torch.nn.Buffer(torch.ones(1), cast=False) if hasattr(torch.nn.Buffer, "cast") else buffer
    return module.half().steady.dtype


# ---- memory formats --------------------------------------------------------------------------------------------------
@suite.same
def memory_formats_have_names(torch):
    return [repr(value) for value in formats(torch)], pickle.loads(pickle.dumps(torch.channels_last)) is torch.channels_last, (
        copy.deepcopy(torch.channels_last) is torch.channels_last), raised(torch.memory_format)


@suite.same
def strides_of_channels_last(torch):
    x = torch.arange(120.0).reshape(2, 3, 4, 5)
    y = x.to(memory_format=torch.channels_last)
    return y, y.stride(), x.contiguous(memory_format=torch.channels_last).stride(), x.clone(
        memory_format=torch.channels_last).stride(), torch.empty(2, 3, 4, 5, memory_format=torch.channels_last).stride()


@suite.same
def strides_of_channels_last_3d(torch):
    x = torch.arange(720.0).reshape(2, 3, 4, 5, 6)
    y = x.to(memory_format=torch.channels_last_3d)
    return y, y.stride(), y.is_contiguous(memory_format=torch.channels_last_3d), y.is_contiguous()


@suite.same
def is_contiguous_in_each_format(torch):
    x = torch.ones(2, 3, 4, 5)
    tensors = (x, x.to(memory_format=torch.channels_last), x[:, :, ::2], x[0], torch.ones(2, 1, 4, 5), torch.ones(2, 3, 1, 1))
    return [[tensor.is_contiguous(memory_format=wanted) for wanted in formats(torch)[:3]] for tensor in tensors]


@suite.same
def formats_of_the_wrong_rank(torch):
    x = torch.ones(2, 3)
    calls = (x.to, x.contiguous, x.clone, lambda memory_format: torch.empty(2, 3, memory_format=memory_format),
             lambda memory_format: torch.zeros_like(x, memory_format=memory_format))
    return [raised(lambda: call(memory_format=wanted)) for call in calls
            for wanted in (torch.channels_last, torch.channels_last_3d)]


@suite.same
def formats_that_are_none(torch):
    x = torch.ones(1, 1, 1, 1)
    return raised(lambda: x.to(memory_format="channels_last")), raised(lambda: x.clone(memory_format=3)), raised(
        lambda: x.contiguous(3)), raised(lambda: torch.empty(1, memory_format=torch.preserve_format)), raised(
            lambda: x.to(torch.channels_last)), raised(lambda: torch.zeros(1, memory_format=torch.contiguous_format))


@suite.same
def formats_of_ambiguous_shapes(torch):
    shapes = ((2, 3, 1, 1), (2, 1, 4, 5), (1, 3, 1, 1), (2, 3, 4, 1))
    return [(torch.ones(shape).to(memory_format=torch.channels_last).stride(),
             torch.ones(shape).contiguous(memory_format=torch.channels_last).stride(),
             torch.empty(shape, memory_format=torch.channels_last).stride()) for shape in shapes]


@suite.same
def the_same_tensor_where_the_format_is_right(torch):
    x = torch.ones(2, 3, 4, 5)
    y = x.to(memory_format=torch.channels_last)
    return (x.to(memory_format=torch.contiguous_format) is x, y.to(memory_format=torch.channels_last) is y,
            y.contiguous(memory_format=torch.channels_last) is y, y.to(memory_format=torch.preserve_format) is y,
            x.to(memory_format=None) is x, y.contiguous() is y, x.t is x)


@suite.same
def copies_preserve_the_format(torch):
    y = torch.arange(120.0).reshape(2, 3, 4, 5).to(memory_format=torch.channels_last)
    return [tensor.stride() for tensor in (
        y.clone(), y.double(), y.to(torch.float16), copy.deepcopy(y), pickle.loads(pickle.dumps(y)), y.cpu(), y.int(),
        y.to(torch.float64, memory_format=torch.contiguous_format), y.clone(memory_format=torch.contiguous_format),
        y.double(memory_format=torch.contiguous_format), torch.nn.Parameter(y), y.detach())]


@suite.same
def copies_of_other_strides(torch):
    x = torch.arange(120.0).reshape(2, 3, 4, 5)
    row = torch.arange(3.0)
    tensors = (x.transpose(0, 2), x[:, ::2], x[:, ::2].transpose(1, 2), row.reshape(1, 3, 1, 1).expand(2, 3, 4, 5),
               x.permute(3, 1, 0, 2))
    return [(tensor.clone(), tensor.clone().stride(), tensor.double().stride()) for tensor in tensors]


@suite.same
def likes_preserve_the_format(torch):
    y = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
    makers = (torch.zeros_like, torch.ones_like, torch.empty_like, torch.rand_like, torch.randn_like)
    return [make(y).stride() for make in makers], torch.full_like(y, 3.0).stride(), torch.zeros_like(
        y, memory_format=torch.contiguous_format).stride(), torch.zeros_like(y.transpose(0, 1)).stride(), torch.zeros_like(y)


@suite.same
def modules_in_channels_last(torch):
    model = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.Linear(2, 2))
    model.to(memory_format=torch.channels_last)
    strides = [value.stride() for value in model.state_dict().values() if value.dim() > 1]
    model.to(memory_format=torch.contiguous_format)
    return strides, [value.stride() for value in model.state_dict().values() if value.dim() > 1]


@suite.same
def modules_in_channels_last_3d(torch):
    model = torch.nn.Module()
    model.weight = torch.nn.Parameter(torch.ones(2, 3, 4, 5, 6))
    error = raised(lambda: model.to(memory_format=torch.channels_last))
    return error, model.to(memory_format=torch.channels_last_3d).weight.stride()


@suite.same
def a_buffer_of_four_dimensions_gets_the_format_too(torch):
    model = torch.nn.Module()
    model.register_buffer("table", torch.ones(1, 2, 3, 4))
    model.register_buffer("count", torch.ones(1, 2, 3, 4, dtype=torch.int64))
    model.to(torch.float64, memory_format=torch.channels_last)
    return [(value.dtype, value.stride()) for value in model.buffers()]


@suite.same
def formats_survive_casts_of_modules(torch):
    return torch.nn.Conv2d(2, 3, 3).to(memory_format=torch.channels_last).double().weight.stride()


@suite.same
def a_convolution_in_channels_last(torch):
    layer = torch.nn.Conv2d(2, 3, 3, padding=1)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(54.0).reshape(3, 2, 3, 3) / 27 - 1)
        layer.bias.fill_(0.5)
    layer.to(memory_format=torch.channels_last)
    x = (torch.arange(64.0).reshape(2, 2, 4, 4) / 32 - 1).to(memory_format=torch.channels_last).requires_grad_()
    y = torch.relu(layer(x))
    y.sum().backward()
    return y, x.grad, layer.weight.grad, layer.bias.grad


@suite.same
def training_in_channels_last(torch):
    results = []
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        layer = torch.nn.Conv2d(2, 3, 2)
        with torch.no_grad():
            layer.weight.copy_(torch.arange(24.0).reshape(3, 2, 2, 2) / 12 - 1)
            layer.bias.zero_()
        layer.to(memory_format=torch.channels_last)
        optimizer = make(layer.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            (layer(torch.arange(16.0).reshape(1, 2, 2, 4).sin()) ** 2).sum().backward()
            optimizer.step()
        results.append(layer.weight)
    return results


@suite.same
def arithmetic_in_channels_last(torch):
    y = torch.arange(120.0).reshape(2, 3, 4, 5).to(memory_format=torch.channels_last)
    y.add_(1)
    y[:, 1] = 0
    return y * 2 - y.contiguous(), y.sum((0, 2)), y.reshape(6, 20), y.flatten(), torch.cat([y, y], 1), y[1, :, 2]


@suite.same
def a_view_of_channels_last(torch):
    y = torch.arange(120.0).reshape(2, 3, 4, 5).to(memory_format=torch.channels_last)
    return raised(lambda: y.view(-1)), y.permute(0, 2, 3, 1).view(-1)


@suite.same
def gradients_pass_through_formats(torch):
    x = torch.arange(24.0).reshape(1, 2, 3, 4).requires_grad_()
    weights = torch.arange(24.0).reshape(1, 2, 3, 4)
    (x.to(memory_format=torch.channels_last) * weights + x.clone(memory_format=torch.channels_last)).sum().backward()
    return x.grad


@suite.same
def loading_into_channels_last_keeps_the_format(torch):
    layer = torch.nn.Conv2d(2, 3, 3).to(memory_format=torch.channels_last)
    layer.load_state_dict({"weight": torch.arange(54.0).reshape(3, 2, 3, 3), "bias": torch.zeros(3)})
    return layer.weight.stride(), layer.weight


@suite.same
def names_of_tensor_types(torch):
    x = torch.ones(1, device="cpu")
    return x.type(), x.long().type(), x.type(f"{torch.__name__}.HalfTensor"), raised(lambda: x.type("nonsense")), x.type(torch.int8)


test_behaviour = suite.test()
