"""Where lucid goes its own way, a program for PyTorch gets PyTorch's, or an error: row by row of docs/differences.md. The functions
that are not `refused` run in PyTorch too.
"""
import copy
import io
import pickle
import threading
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import swa_utils

warnings.simplefilter("ignore")
LUCID = "lucid" in torch.__version__
CHECKS = []


def row(*subjects):
    def add(check):
        CHECKS.append(check)
        return check

    return add


def refused(*subjects, by=RuntimeError):
    """Each function that the decorated one returns raises `by`."""
    def add(functions):
        def check():
            for number, function in enumerate(functions()):
                try:
                    function()
                except by:
                    continue
                raise AssertionError((subjects, number))

        CHECKS.extend([check] if LUCID else [])

    return add


def raises(function, kind=Exception):
    try:
        function()
    except kind as error:
        return str(error)
    raise AssertionError("no error")


# ---- modules -----------------------------------------------------------------------------------------------------------------
@row("`Module.to(device)`, `Buffer.to(device)`, `Parameter.to(device)`",
     "views of one memory in a module, such as a weight and its transpose")
def converted_buffers_are_other_objects():
    module = nn.BatchNorm1d(2)
    module.register_buffer("tied", module.running_mean)
    module.register_buffer("count", torch.ones(1, dtype=torch.int64))
    module.again = nn.Parameter(module.weight.detach())
    mean, count, weight = module.running_mean, module.count, module.weight
    assert module.double() is module and module.weight is weight and weight.dtype is torch.float64
    assert mean.dtype is torch.float32 and module.running_mean.dtype is torch.float64 and module.count is count
    module.running_mean += 1
    weight.data += 1
    assert module.tied.tolist() == [0, 0] and module.again.tolist() == [1, 1] and weight.tolist() == [2, 2]
    assert module.to("meta").weight is not weight and weight.device.type == "cpu" and module.weight.is_meta
    tied = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    tied[1].weight = tied[0].weight
    tied[0].weight.grad = torch.ones(1, 1)
    grad = tied[0].weight.grad
    assert tied.half()[1].weight is tied[0].weight and tied[0].weight.grad is grad and grad.dtype is torch.float16


@row("an error in the middle of `Module.to` and the casts")
def what_is_converted_stays():
    model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))

    def fails(tensor):
        if tensor is model[1].weight:
            raise ValueError
        return tensor.double()

    raises(lambda: model._apply(fails), ValueError)
    assert model[0].bias.dtype is torch.float64 and model[1].bias.dtype is torch.float32


@row("assigning a computed tensor to a buffer")
def buffers_keep_their_graph():
    module = nn.Module()
    module.register_buffer("b", torch.zeros(1))
    computed = torch.ones(1, requires_grad=True) * 2
    module.b = computed
    assert module.b is computed and module.b.requires_grad


@row("a failed strict `load_state_dict`", "`register_load_state_dict_post_hook`")
def a_failed_load_has_loaded_what_fits():
    model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    seen = []
    model[0].register_load_state_dict_post_hook(lambda module, keys: seen.append((list(keys.missing_keys), float(model[1].bias))))
    before = float(model[1].bias)
    state = {"0.weight": torch.full((1, 1), 7.0), "0.bias": torch.ones(3), "1.bias": torch.full((1,), 8.0)}
    message = raises(lambda: model.load_state_dict(state), RuntimeError)
    assert 'Missing key(s) in state_dict: "1.weight"' in message and "size mismatch for 0.bias" in message, message
    assert model[0].weight.item() == 7 and model[1].bias.item() == 8 and seen == [([], before)]


@row("a None buffer in `load_state_dict`", "keys of non-persistent buffers in `load_state_dict`")
def keys_that_belong_to_nothing_saved_are_unexpected():
    model = nn.Linear(1, 1)
    model.register_buffer("ids", torch.arange(2), persistent=False)
    model.register_buffer("none", None)
    state = {**model.state_dict(), "ids": torch.arange(2), "none": torch.ones(1)}
    assert model.load_state_dict(state, strict=False).unexpected_keys == ["ids", "none"] and model.none is None
    assert 'Unexpected key(s) in state_dict: "ids", "none"' in raises(lambda: model.load_state_dict(state), RuntimeError)


@row("`load_state_dict(assign=True)`")
def assigned_tensors_take_the_place():
    model = nn.BatchNorm1d(1)
    weight, mean = model.weight, model.running_mean
    state = {name: torch.full_like(value, 3) for name, value in model.double().state_dict().items()}
    model.float().load_state_dict(state, assign=True)
    assert model.weight is not weight and weight.item() == 1 and mean.item() == 0 and model.running_mean is state["running_mean"]
    assert type(model.weight) is nn.Parameter and model.weight.requires_grad and model.weight.dtype is torch.float64
    state["weight"].fill_(5)
    assert model.weight.item() == 5
    given = nn.Parameter(torch.ones(1), requires_grad=False)
    model.load_state_dict({**state, "weight": given}, assign=True)
    assert model.weight is given and given.requires_grad


@row("`deepcopy` and `pickle` of tensors that share memory")
def copies_of_parameters_have_memory_of_their_own():
    memory = torch.zeros(3)
    module = nn.Module()
    module.a, module.b = nn.Parameter(memory[:2]), nn.Parameter(memory[1:])
    module.register_buffer("c", memory[:1])
    module.a.note = "lost"
    for copied in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        copied.a.data.add_(1)
        assert copied.b.tolist() == [0, 0] and copied.c.item() == 0 and module.a.tolist() == [0, 0]
    assert not hasattr(copy.deepcopy(module).a, "note")
    both = copy.deepcopy([memory, memory[1:]])
    both[0].add_(1)
    assert both[1].tolist() == [1, 1]


@row("`repr` of a module", "`repr` of a tensor", "dtypes", "device names")
def printed_as_in_pytorch():
    assert repr(torch.ones(2)) == "tensor([1., 1.])" and repr(nn.BatchNorm1d(2)).startswith("BatchNorm1d(2, eps")
    module = nn.Linear(1, 1)
    module.register_buffer("b", torch.ones(1))
    assert repr(module) == "Linear(in_features=1, out_features=1, bias=True)"
    other = torch.device("mps:1")
    assert (other.type, other.index, str(other)) == ("mps", 1, "mps:1") and other != torch.ones(1).device
    raises(lambda: torch.ones(1, device=other))
    raises(lambda: nn.Linear(1, 1).to("xpu"))
    assert torch.device("cuda").type == "cuda" and str(torch.float32) == "torch.float32" and torch.float16.is_floating_point


@row("transformers in evaluation")
def padded_positions_are_zero():
    padding = torch.tensor([[False, False, True], [False, True, True], [False, False, False]])
    x = torch.randn(3, 3, 8)

    def outputs(padding=padding, grad=False, **options):
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options)
        with torch.set_grad_enabled(grad):
            return nn.TransformerEncoder(layer, 1).eval()(x, src_key_padding_mask=padding)

    assert (outputs()[padding] == 0).all() and (outputs()[~padding] != 0).any(1).all()
    assert (outputs(grad=True)[padding] != 0).any() and (outputs(norm_first=True)[padding] != 0).any()
    assert (outputs(padding.flip(1))[padding.flip(1)] != 0).any() and (outputs(activation="gelu")[padding] == 0).all()


@row("deprecated `register_backward_hook`")
def old_backward_hooks_see_what_they_see_in_pytorch():
    for layer, shapes in ((nn.ReLU(), [(2, 3, 4)]), (nn.BatchNorm1d(3), [(2, 3, 4), (3,), (3,)]), (nn.Flatten(), [(2, 3, 4)])):
        seen = []
        layer.register_backward_hook(lambda module, grads, outputs, seen=seen: seen.append([tuple(g.shape) for g in grads]))
        layer(torch.randn(2, 3, 4, requires_grad=True)).sum().backward()
        assert seen == [shapes], seen
    layer, seen = nn.Linear(3, 2), []
    layer.register_backward_hook(lambda module, grads, outputs: seen.append(outputs[0].shape))
    layer(torch.randn(4, 3)).sum().backward()
    assert seen == [(4, 2)]
    if LUCID:
        layer.register_backward_hook(lambda module, grads, outputs: (grads[0],))
        message = raises(lambda: layer(torch.randn(4, 3)).sum().backward(), NotImplementedError)
        assert "register_full_backward_hook" in message and "differences.py" in message, message


# ---- training ----------------------------------------------------------------------------------------------------------------
@row("averages of integers by `optim.swa_utils.AveragedModel`")
def integers_are_averaged():
    counted = nn.Linear(1, 1)
    counted.register_buffer("count", torch.tensor([1, 1]))
    for options in ({}, {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.7)}):
        average = swa_utils.AveragedModel(counted, use_buffers=True, **options)
        for value in (1, 2, 4, 9):
            counted.count.fill_(value)
            average.update_parameters(counted)
        assert average.module.count.tolist() == [3, 3]
    flag = nn.Module()
    flag.register_buffer("b", torch.tensor([True]))
    average = swa_utils.AveragedModel(flag, use_buffers=True)
    average.update_parameters(flag)
    raises(lambda: average.update_parameters(flag), RuntimeError)


@row("the state that an optimizer loads")
def an_optimizer_takes_the_tensors_that_it_loads():
    weights = [nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1, dtype=torch.float64))]
    first, second, third = (torch.optim.SGD([weight], momentum=0.9) for weight in weights)
    weights[0].grad = weights[1].grad = torch.ones(1)
    first.step()
    second.load_state_dict(first.state_dict())
    third.load_state_dict(first.state_dict())
    second.step()
    assert first.state[weights[0]]["momentum_buffer"].item() > 1.8
    assert first.state[weights[0]]["momentum_buffer"] is second.state[weights[1]]["momentum_buffer"]
    assert third.state[weights[2]]["momentum_buffer"].dtype is torch.float64


@row("`DataLoader` workers")
def workers_know_what_is_not_pickled():
    squared = [lambda index: index ** 2]

    class Squares(torch.utils.data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return squared[0](index)

    assert [int(batch) for batch in torch.utils.data.DataLoader(Squares(), num_workers=1)] == [0, 1, 4]


# ---- settings and files ------------------------------------------------------------------------------------------------------
@row("grad mode, default dtype and device", "`use_deterministic_algorithms`, `set_printoptions`")
def settings_are_those_of_all_threads():
    seen = []

    def look():
        seen.extend([torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled(), repr(torch.tensor(1 / 3)),
                     torch.is_grad_enabled()])
        torch.set_default_dtype(torch.float32)

    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(True)
    torch.set_printoptions(precision=2)
    with torch.no_grad():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [torch.float64, True, "tensor(0.33)", True], seen
    assert torch.get_default_dtype() is torch.float32
    torch.use_deterministic_algorithms(False)
    torch.set_printoptions(profile="default")


@row("saved files", "`load` without `map_location`; a function as `map_location`")
def files_hold_anything_and_run_nothing_unasked():
    def loaded(**options):
        file.seek(0)
        return torch.load(file, **options)

    file = io.BytesIO()
    torch.save({"array": np.arange(2), "t": torch.ones(2)}, file)
    raises(loaded)
    assert loaded(weights_only=False)["array"].tolist() == [0, 1]
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    assert loaded(map_location=lambda storage, place: storage).tolist() == [1, 1]
    if torch.cuda.is_available():
        file = io.BytesIO()
        torch.save(torch.ones(2, device="cuda"), file)
        assert loaded().is_cuda and not loaded(map_location="cpu").is_cuda


# ---- what raises -------------------------------------------------------------------------------------------------------------
@refused("operations on the device meta and another one")
def _():
    meta = torch.ones(2, 2, device="meta")
    return (lambda: meta @ torch.ones(2, 2)), (lambda: torch.ones(2, 2).add_(meta)), (lambda: torch.ones(2)[meta[0].long()])


@refused("non-persistent buffers after the device meta, `to_empty`")
def _():
    module = nn.Module()
    module.register_buffer("b", torch.ones(1, device="meta"), persistent=False)
    return [lambda: module.to_empty(device="cpu")]


@refused("`rms_norm` of complex tensors, and a float64 weight for a float32 input", by=NotImplementedError)
def _():
    return [lambda: F.rms_norm(torch.ones(2, 2, dtype=torch.complex64), (2,))]


@refused("key and value of different lengths in `scaled_dot_product_attention`")
def _():
    x = torch.ones(1, 1, 4, 2)
    return [lambda: F.scaled_dot_product_attention(x, x, x[:, :, :3])]


@refused("lengths beyond the input in `pack_padded_sequence`; `unpad_sequence` of a batch that is not `batch_first`")
def _():
    return [lambda: nn.utils.rnn.pack_padded_sequence(torch.ones(3, 1, 2), [4])]


@refused("`masked_fill_`, `index_fill_`, `index_put_`, `tril_`, `triu_`, `conj_physical_` of tensors whose elements share memory")
def _():
    x = torch.ones(1).expand(2, 2)
    index = torch.tensor([0])
    return ((lambda: x.masked_fill_(x > 0, 2.0)), (lambda: x.index_fill_(0, index, 2.0)), x.tril_, x.triu_,
            lambda: x.index_put_((index,), torch.ones(1)))


@refused("`Tensor(size=...)`, `Tensor(other=...)`, `Tensor(storage)`", by=(RuntimeError, TypeError))
def _():
    return (lambda: torch.Tensor(size=(2,))), (lambda: torch.Tensor(other=torch.ones(1)))


@refused("`matmul` of empty bool tensors; `linalg.solve`, `det` of empty half-precision matrices",
         "`index_reduce(include_self=False)` of bool and complex tensors; `kthvalue` of 0-d ones", by=NotImplementedError)
def _():
    empty = torch.ones(0, 0, dtype=torch.float16)
    return (lambda: torch.linalg.det(empty)), (lambda: torch.ones(0, 0, dtype=torch.bool) @ torch.ones(0, 0, dtype=torch.bool))


@refused("writes to arguments of `3 / x`, `ldexp`, `polar`, `kron`, `special.ndtr`, `l1_loss`, `hinge_embedding_loss`, "
         "`poisson_nll_loss`, `kl_div` of logarithms, `rms_norm`, `cosine_similarity` before backward",
         "assigning to `.data` of a tensor that a gradient needs")
def _():
    def written(function):
        x = torch.ones(2, requires_grad=True)
        y = x.clone()
        result = function(y).sum()
        with torch.no_grad():
            y.mul_(2)
        result.backward()

    def assigned():
        x = torch.ones(2, requires_grad=True)
        y = x * x
        x.data = torch.zeros(2)
        y.sum().backward()

    return (lambda: written(lambda y: 3 / y)), (lambda: written(lambda y: F.l1_loss(y, torch.zeros(2)))), assigned


@refused("a second backward through `gradient`, `cumulative_trapezoid`, `x[False] = y`")
def _():
    def twice():
        y = torch.gradient(torch.ones(4, requires_grad=True) * 2)[0].sum()
        y.backward()
        y.backward()

    return [twice]


@refused("circular padding that cuts off all elements and wraps", "`gradient` with places of another number than samples")
def _():
    return ((lambda: F.pad(torch.ones(1, 1, 2), (-2, 2), mode="circular")),
            lambda: torch.gradient(torch.ones(4), spacing=(torch.ones(1),)))


@refused("sparse tensors", by=Exception)
def _():
    return [lambda: torch.ones(4, 4).to_sparse_bsr((2, 2))]


@refused("`cuda.set_sync_debug_mode`, `cuda.get_allocator_backend`", by=Exception)
def _():
    return [lambda: torch.cuda.set_sync_debug_mode("warn")]


@refused("`frombuffer` of a buffer that cannot be written", "`from_dlpack` of read-only memory", by=Exception)
def _():
    return [lambda: torch.frombuffer(b"abcd", dtype=torch.uint8).add_(1)]


@refused("`utils.benchmark`", "profiler", by=NotImplementedError)
def _():
    from torch.utils.benchmark import Fuzzer
    return [lambda: Fuzzer([], [])]


for check in CHECKS:
    check()

# What PyTorch has and lucid has not is refused where it is used, and named.
if LUCID:
    from torch.export import ExportedProgram, export

    model, x = nn.Linear(1, 1), torch.ones(1)
    for use, name in ((lambda: export(model, (x,)), "torch.export.export"), (lambda: torch.jit.load("x"), "torch.jit.load"),
                      (lambda: ExportedProgram(model, None), "torch.export.ExportedProgram"),
                      (lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.float32), "torch.quantize_per_tensor"),
                      (lambda: bool(torch.nested.nested_tensor), "torch.nested.nested_tensor")):
        message = raises(use, NotImplementedError)
        assert f"lucid has no {name}" in message and "differences.py" in message, message
    assert not isinstance(model, ExportedProgram) and torch.jit.script(model) is model

    # Replays of compiled functions notice what changes in objects of lucid's classes, which bear PyTorch's names.
    dataset = torch.utils.data.TensorDataset(x)
    compiled = torch.compile(lambda x: x * dataset.scale)
    for number in (2, 2, 2, 2, 2, 5):
        dataset.scale = number
        assert compiled(x).item() == number
print("done")
