"""The device 'meta': what tensors and modules without memory can do, and how they get it."""
from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np

from tests.parity.suite import Raised, Suite

suite = Suite()
LOST = "non-persistent buffers after the device meta, `to_empty`"


def real(torch):
    """The device that the script runs on."""
    return torch.get_default_device()


def raised(function):
    try:
        return function()
    except Exception as error:
        return Raised(type(error))


# ---- tensors ---------------------------------------------------------------------------------------------------------------
@suite.same
def what_a_meta_tensor_knows(torch):
    x = torch.empty(2, 3, device="meta")
    return (x.is_meta, torch.ones(1).is_meta, x.is_cuda, x.device, str(x.device), x.device.index, x.numel(), x.nbytes, x.dim(),
            x.data_ptr(), x.stride(), x.is_contiguous(), len(x), x.element_size())


@suite.same
def the_device_meta_by_name(torch):
    device = torch.device("meta")
    return device.type, device == torch.device("meta"), repr(device), raised(lambda: torch.device("metal"))


@suite.same
def strides_are_those_of_real_tensors(torch):
    x = torch.empty(2, 3, 4, device="meta")
    views = (x.transpose(0, 2), x[:, 1:], x[:, ::2, 1], x.expand(5, 2, 3, 4), x.permute(1, 2, 0).reshape(12, 2))
    return [(tuple(v.shape), v.stride(), v.is_contiguous()) for v in views]


@suite.same
def elementwise_results_keep_the_memory_order(torch):
    x = torch.empty(2, 3, device="meta").t()
    return [(x + 1).stride(), x.exp().stride(), x.clone().stride(), x.contiguous().stride(), torch.empty_like(x).stride()]


@suite.same
def reading_elements(torch):
    x, matrix = torch.empty((), device="meta"), torch.empty(2, 3, device="meta")
    reads = (x.item, lambda: bool(x), lambda: int(x), lambda: float(x), x.tolist, x.numpy, lambda: x.numpy(force=True),
             lambda: np.asarray(x), matrix.item, lambda: bool(matrix), lambda: 1 in matrix, matrix.__dlpack__,
             lambda: [1, 2][x.long()], lambda: torch.tensor([x]))
    return [raised(read) for read in reads]


@suite.same
def numpy_of_a_meta_tensor_that_requires_grad(torch):
    return torch.empty(2, device="meta", requires_grad=True).numpy()


@suite.same
def moving_out(torch):
    x = torch.empty(2, device="meta")
    return raised(lambda: x.to(real(torch))), raised(x.cpu), raised(lambda: torch.ones(2).copy_(x))


@suite.same
def moving_in(torch):
    x = torch.arange(6.0).reshape(2, 3).t()
    y = x.to("meta")
    return y, y.stride(), y.to("meta") is y, y.double(), y.to(torch.float16).is_meta


@suite.same
def copying_into_a_meta_tensor(torch):
    x = torch.empty(2, 3, device="meta")
    return x.copy_(torch.ones(2, 3)), x.copy_(torch.ones(3)), raised(lambda: x.copy_(torch.ones(4)))


@suite.same
def assigning_to_elements(torch):
    x = torch.empty(2, 3, device="meta")
    x[0, 0] = 5.0
    x[0] = torch.empty(3, device="meta")
    x[x > 0] = 1.0
    real_one = torch.ones(2, 3)
    return x, raised(lambda: real_one.__setitem__(0, x[0])), real_one


@suite.same
def deepcopy_and_pickle(torch):
    x = torch.empty(2, 3, device="meta", requires_grad=True)
    return copy.deepcopy(x), pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps(x)).requires_grad


@suite.same
def like_another_tensor_on_a_real_device(torch):
    x = torch.empty(2, 3, device="meta", dtype=torch.float64)
    return (torch.zeros_like(x, device=real(torch)), torch.empty_like(x, device=real(torch)).shape == x.shape,
            torch.ones_like(x), x.new_ones(2), torch.full_like(x, 3, device=real(torch)))


@suite.same
def creation(torch):
    return [torch.zeros(2, device="meta"), torch.arange(5, device="meta"), torch.arange(0, 1, 0.1, device="meta"),
            torch.linspace(0, 1, 5, device="meta"), torch.eye(2, 3, device="meta"), torch.full((2,), 3, device="meta"),
            torch.tensor([[1, 2]], device="meta"), torch.rand(2, device="meta"), torch.randn(2, 2, device="meta"),
            torch.randint(5, (2,), device="meta"), torch.randperm(4, device="meta"), torch.tensor(True, device="meta")]


@suite.same
def random_numbers_are_not_taken(torch):
    torch.manual_seed(0)
    before = torch.get_rng_state().tolist()
    torch.rand(3, device="meta")
    torch.nn.Linear(3, 4, device="meta")
    torch.nn.functional.dropout(torch.ones(3, device="meta"))
    return before == torch.get_rng_state().tolist()


# ---- operations ------------------------------------------------------------------------------------------------------------
@suite.same
def promotion_and_broadcasting(torch):
    half, double, whole = (torch.empty(2, 1, device="meta", dtype=t) for t in (torch.float16, torch.float64, torch.int64))
    row = torch.empty(3, device="meta")
    return [half + row, double * row, whole + row, whole + half, whole / 2, whole + 1.5, row > 0, half + 1.0, 2 ** whole,
            whole // 2]


@suite.same
def shapes_that_do_not_fit(torch):
    x = torch.empty(2, 3, device="meta")
    return [raised(lambda: x + torch.empty(4, device="meta")), raised(lambda: x @ x), raised(lambda: x.reshape(4)),
            raised(lambda: torch.cat([x, x.t()])), raised(lambda: x[2]), raised(lambda: x.sum(2)),
            raised(lambda: x.add_(x[None]))]


@suite.same
def reductions(torch):
    x = torch.empty(2, 3, 4, device="meta")
    return [x.sum(), x.sum((0, 2)), x.mean(1, keepdim=True), tuple(x.max(1)), x.argmax(), x.var(-1), x.any(1), x.logsumexp(0),
            x.int().sum(), x.cumsum(1), x.norm(), x.prod(0)]


@suite.same
def layers_and_losses(torch):
    F = torch.nn.functional
    x, labels = torch.empty(2, 4, 9, 8, device="meta"), torch.empty(2, dtype=torch.int64, device="meta")
    weight = torch.empty(6, 4, 3, 3, device="meta")
    logits = torch.empty(2, 5, device="meta")
    return [F.conv2d(x, weight, stride=2, padding=1), F.conv2d(x, weight, padding="same"),
            F.max_pool2d(x, 3, 2, ceil_mode=True),
            F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, (3, 2)), F.softmax(x, 1), F.layer_norm(x, (9, 8)), F.relu(x),
            F.gelu(x),
            F.cross_entropy(logits, labels), F.cross_entropy(logits, labels, reduction="none"), F.mse_loss(x, x),
            F.embedding(labels, logits), F.one_hot(labels, 7), F.pad(x, (1, 2)), F.linear(x, torch.empty(3, 8, device="meta"))]


@suite.same
def indexing(torch):
    x = torch.empty(4, 5, device="meta")
    index = torch.empty(3, dtype=torch.int64, device="meta")
    return [x[0], x[..., None, 1:3], x[index], x[:, index], x[torch.tensor([0, 1])], x[[0, 1], [1, 2]],
            x.index_select(1, index),
            x.gather(0, torch.empty(2, 5, dtype=torch.int64, device="meta")), tuple(x.topk(2)), tuple(x.sort()), x.take(index)]


@suite.same
def shapes_that_depend_on_elements(torch):
    x = torch.empty(2, 3, device="meta")
    calls = (x.nonzero, lambda: x[x > 0], lambda: x.masked_select(x > 0), lambda: torch.where(x))
    return [raised(call) for call in calls] + [torch.where(x > 0, x, 0.0)]


@suite.same
def mixing_with_real_tensors(torch):
    x, y = torch.empty(2, 3, device="meta"), torch.ones(2, 3)
    calls = (lambda: x + y, lambda: y + x, lambda: torch.cat([x, y]),
             lambda: torch.where(y > 0, x, x), lambda: y + x.sum())
    return [raised(call) for call in calls]


@suite.differs("operations on the device meta and another one", torch=[False, False], lucid=[Raised(RuntimeError)] * 2)
def matrix_products_of_meta_and_real_tensors(torch):
    x, y = torch.empty(2, 3, device="meta"), torch.ones(2, 3)
    return [raised(lambda: (x @ y.t()).requires_grad), raised(lambda: torch.mm(y.t(), x).requires_grad)]


@suite.differs("operations on the device meta and another one", torch=np.ones(2, np.float32), lucid=Raised(RuntimeError))
def adding_a_meta_tensor_in_place(torch):
    return torch.ones(2).add_(torch.empty(2, device="meta"))


@suite.same
def a_0d_tensor_on_the_cpu_joins(torch):
    x = torch.empty(2, 3, device="meta")
    return x + torch.tensor(1.0, device="cpu"), torch.tensor(2.0, device="cpu", dtype=torch.float64) * x


@suite.same
def gradients(torch):
    x = torch.empty(2, 3, device="meta", requires_grad=True)
    y = (x.exp() * 2).sum(1).mean()
    y.backward()
    (second,) = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    return x.grad, y.requires_grad, second.requires_grad, torch.autograd.grad(second.sum(), x)


@suite.same
def a_gradient_cannot_come_back_to_a_real_tensor(torch):
    x = torch.ones(3, requires_grad=True)
    x.to("meta").sum().backward()


@suite.same
def a_gradient_of_another_device(torch):
    x = torch.ones(3)
    x.grad = torch.empty(3, device="meta")


# ---- the default device -----------------------------------------------------------------------------------------------------
@suite.same
def a_device_as_a_context(torch):
    with torch.device("meta") as entered:
        inside = [torch.ones(2).device, torch.tensor([1.0]).device, torch.nn.Linear(2, 2).weight.device,
                  torch.get_default_device()]
        with torch.device("cpu"):
            inside.append(torch.ones(2).is_meta)
        inside.append(torch.rand(2).is_meta)
    return entered, inside, torch.ones(2).is_meta


@suite.same
def a_context_that_an_error_ends(torch):
    def fail():
        with torch.device("meta"):
            raise KeyError("inside")

    return raised(fail), torch.ones(2).is_meta


@suite.same
def arrays_and_tensors_follow_the_default_device(torch):
    array, tensor = np.ones(2), torch.ones(2)
    with torch.device("meta"):
        return [torch.tensor(array).is_meta, torch.as_tensor(array).is_meta, torch.from_numpy(array).is_meta,
                torch.as_tensor(tensor).is_meta, torch.ones_like(tensor).is_meta, torch.nn.Parameter(tensor).is_meta,
                tensor.new_zeros(2).is_meta, torch.ones(2, device="cpu").is_meta]


# ---- modules ---------------------------------------------------------------------------------------------------------------
def model_on_meta(torch):
    nn = torch.nn
    with torch.device("meta"):
        return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3))


@suite.same
def the_state_of_a_meta_module(torch):
    model = model_on_meta(torch)
    return model.state_dict(), [p.requires_grad for p in model.parameters()], repr(model[4])


@suite.same
def forward_and_backward_of_a_meta_module(torch):
    model = model_on_meta(torch)
    y = model(torch.empty(5, 1, 4, 4, device="meta"))
    y.sum().backward()
    return y, [p.grad for p in model.parameters()]


@suite.same
def steps_of_optimizers(torch):
    for make in (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), lambda p: torch.optim.AdamW(p)):
        model = torch.nn.Linear(2, 3, device="meta")
        optimizer = make(model.parameters())
        model(torch.empty(1, 2, device="meta")).sum().backward()
        optimizer.step()
    return model.weight


@suite.same
def a_batch_norm_that_must_read_its_counter(torch):
    return torch.nn.BatchNorm1d(3, momentum=None, device="meta")(torch.empty(2, 3, device="meta"))


@suite.same
def moving_a_meta_module_to_a_real_device(torch):
    model = model_on_meta(torch)
    return raised(lambda: model.to(real(torch))), raised(model.cpu), [p.is_meta for p in model.parameters()]


@suite.same
def moving_a_real_module_to_meta(torch):
    model = torch.nn.Linear(2, 3)
    model.weight.grad = torch.ones(3, 2)
    return model.to("meta") is model, model.weight, model.weight.grad, model.half().weight


@suite.same
def copies_of_a_meta_module(torch):
    model = model_on_meta(torch)
    return copy.deepcopy(model).state_dict(), pickle.loads(pickle.dumps(model)).state_dict()


@suite.same
def to_empty_gives_memory(torch):
    model = model_on_meta(torch)
    found = model.to_empty(device=real(torch)) is model
    model.load_state_dict({key: torch.ones(value.shape, dtype=value.dtype) for key, value in model.state_dict().items()})
    return found, model.state_dict()


@suite.differs("`Module.to(device)`, `Buffer.to(device)`, `Parameter.to(device)`", torch=[False, False], lucid=[True, True])
def to_empty_keeps_parameters_and_buffers(torch):
    model = torch.nn.BatchNorm1d(2, device="meta")
    weight, mean = model.weight, model.running_mean
    model.to_empty(device=real(torch))
    return [weight is model.weight, mean is model.running_mean]


@suite.same
def to_empty_moves_gradients(torch):
    model = torch.nn.Linear(2, 3, device="meta")
    model.weight.grad = torch.ones(3, 2, device="meta")
    model.to_empty(device=real(torch))
    return model.weight.grad.device, tuple(model.weight.grad.shape), model.bias.grad


@suite.same
def the_arguments_of_to_empty(torch):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3, device="meta"))
    calls = [raised(model.to_empty), raised(lambda: model.to_empty("cpu"))]
    model.to_empty(device=real(torch), recurse=False)
    shallow = model[0].weight.is_meta
    return calls, shallow, model.to_empty(device=None)[0].weight.is_meta, model.to_empty(device=real(torch))[0].weight.is_meta


@suite.same
def to_empty_of_a_lazy_module(torch):
    return torch.nn.LazyLinear(3, device="meta").to_empty(device=real(torch))


@suite.same
def to_meta_and_casts_keep_integer_buffers(torch):
    model = torch.nn.BatchNorm1d(2).to("meta", torch.float64)
    return model.state_dict()


@suite.same
def applying_an_initialisation(torch):
    def start(module):
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.xavier_uniform_(module.weight)
            module.reset_parameters()

    return model_on_meta(torch).apply(start).state_dict()


@suite.same
def initialisation_does_nothing(torch):
    init = torch.nn.init
    x = torch.empty(4, 3, device="meta")
    names = ("uniform_", "normal_", "trunc_normal_", "ones_", "zeros_", "kaiming_normal_", "orthogonal_")
    return ([getattr(init, name)(x) is x for name in names], init.sparse_(x, 0.5) is x, raised(lambda: init.eye_(x[0])),
            raised(lambda: init.xavier_normal_(x[0])), raised(lambda: init.orthogonal_(x[0])))


@suite.same
def skip_init(torch):
    layer = torch.nn.utils.skip_init(torch.nn.Linear, 3, out_features=4, dtype=torch.float64, device=real(torch))
    return layer.weight.device, tuple(layer.weight.shape), layer.weight.dtype, layer.weight.requires_grad


@suite.same
def skip_init_of_what_cannot(torch):
    skip = torch.nn.utils.skip_init
    return [raised(lambda: skip(torch.nn.ReLU)), raised(lambda: skip(dict)), raised(lambda: skip(torch.nn.ReLU())),
            raised(lambda: skip(torch.nn.Linear, 3))]


# ---- loading ---------------------------------------------------------------------------------------------------------------
@suite.same
def loading_into_meta_warns_and_does_nothing(torch):
    model, state = torch.nn.Linear(2, 3, device="meta"), torch.nn.Linear(2, 3).state_dict()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = model.load_state_dict(state)
    return [w.category for w in caught], "assign=True" in str(caught[0].message), repr(result), model.weight


@suite.same
def loading_into_meta_still_checks(torch):
    model = torch.nn.Linear(2, 3, device="meta")
    return raised(lambda: model.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.ones(3)}))


@suite.same
def assigning_into_meta(torch):
    model = model_on_meta(torch)
    state = {key: torch.ones(value.shape, dtype=value.dtype) for key, value in model.state_dict().items()}
    result = model.load_state_dict(state, assign=True)
    return repr(result), model.state_dict(), all(p.requires_grad for p in model.parameters()),
    model.eval()(torch.ones(1, 1, 4, 4))


@suite.same
def loading_a_meta_state_into_a_real_module(torch):
    model, state = torch.nn.Linear(2, 3), torch.nn.Linear(2, 3, device="meta").state_dict()
    refused = raised(lambda: model.load_state_dict(state))
    return refused, model.weight.is_meta, repr(model.load_state_dict(state, assign=True)), model.weight


@suite.same
def an_old_batch_norm_state_without_counter(torch):
    state = dict(torch.nn.BatchNorm1d(2).state_dict())
    del state["num_batches_tracked"]
    model = torch.nn.BatchNorm1d(2, device="meta")
    model.load_state_dict(state, assign=True)
    return model.num_batches_tracked


# ---- better ----------------------------------------------------------------------------------------------------------------
@suite.differs(LOST, torch=False, lucid=Raised(RuntimeError))
def a_lost_mask(torch):
    with torch.device("meta"):
        model = torch.nn.Linear(2, 2)
        model.register_buffer("mask", torch.ones(2), persistent=False)
    return model.to_empty(device=real(torch)).mask.is_meta


@suite.differs(LOST, torch="arbitrary elements", lucid="kept")
def a_real_table_beside_meta_parameters(torch):
    model = torch.nn.Linear(2, 2, device="meta")
    model.register_buffer("table", torch.full((1000,), 7.25), persistent=False)
    before = model.table
    model.to_empty(device=real(torch))
    return "kept" if model.table is before and bool((model.table == 7.25).all()) else "arbitrary elements"


@suite.differs(LOST, torch=Raised(TypeError), lucid=[[1.0, 0.0], [1.0, 1.0]])
def a_mask_that_knows_how_to_be_computed(torch):
    with torch.device("meta"):
        model = torch.nn.Linear(2, 2)
        model.mask = torch.nn.Buffer(init=lambda: torch.ones(2, 2).tril(), persistent=False)
    return model.to_empty(device=real(torch)).mask.tolist()


@suite.differs(LOST, torch=True, lucid=Raised(RuntimeError))
def a_lost_mask_leaves_the_module_as_it_was(torch):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2, device="meta"))
    model.register_buffer("mask", torch.ones(2, device="meta"), persistent=False)
    try:
        model.to_empty(device=real(torch))
    finally:
        changed = not model[0].weight.is_meta
    return changed


test_behaviour = suite.test()
