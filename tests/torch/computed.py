"""Small programs around training, whose numbers are printed as JSON: they are the same in PyTorch and by `lucid.torch`."""
import copy
import json
import math
import pickle
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, parametrize, prune
from torch.optim import lr_scheduler, swa_utils

warnings.simplefilter("ignore")
PROGRAMS = {}
LABELS = torch.tensor([0, 1, 2, 0, 1, 2])


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.tensor(np.random.RandomState(seed).standard_normal(shape), dtype=dtype)


def filled(module):
    with torch.no_grad():
        for seed, parameter in enumerate(module.parameters()):
            parameter.copy_(normal(*parameter.shape, seed=seed) * 0.3)
    return module


def network(norm=True, dtype=torch.float64):
    norms = [nn.BatchNorm1d(7)] if norm else []
    return filled(nn.Sequential(nn.Linear(5, 7), *norms, nn.Tanh(), nn.Linear(7, 3)).to(dtype))


def trained(model, optimizer, count=4, scheduler=None):
    losses = []
    for seed in range(count):
        x = normal(6, 5, seed=seed, dtype=next(model.parameters()).dtype)

        def closure(x=x):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), LABELS)
            loss.backward()
            return loss

        losses.append(float(optimizer.step(closure)))
        if scheduler is not None:
            scheduler.step()
    return losses


@program
def optimizers_and_their_state():
    options = {
        "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}, "Adam": {"amsgrad": True}, "AdamW": {"maximize": True},
        "Adagrad": {"lr_decay": 0.1}, "Adadelta": {"rho": 0.8}, "Adamax": {"weight_decay": 0.1}, "NAdam": {"decoupled_weight_decay": True},
        "RAdam": {}, "RMSprop": {"centered": True, "momentum": 0.5}, "Rprop": {}, "ASGD": {"t0": 1}, "Adafactor": {"lr": 0.05},
        "LBFGS": {"line_search_fn": "strong_wolfe", "max_iter": 5},
    }
    for name, keywords in options.items():
        model = network(norm=False)
        optimizer = getattr(torch.optim, name)(model.parameters(), **keywords)
        losses = trained(model, optimizer)
        again = copy.deepcopy(model)
        second = getattr(torch.optim, name)(again.parameters(), **keywords)
        second.load_state_dict(optimizer.state_dict())
        yield losses, trained(again, second), optimizer.state_dict(), second.state_dict()["state"], repr(optimizer)


@program
def schedules():
    make = [
        lambda o: lr_scheduler.StepLR(o, 2), lambda o: lr_scheduler.MultiStepLR(o, [1, 3]), lambda o: lr_scheduler.CosineAnnealingLR(o, 5),
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3, 2), lambda o: lr_scheduler.OneCycleLR(o, 1.0, total_steps=20),
        lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 3, mode="exp_range", gamma=0.9), lambda o: lr_scheduler.PolynomialLR(o, 5, 2.0),
        lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.LinearLR(o, total_iters=3), lr_scheduler.ExponentialLR(o, 0.5)], [3]),
        lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.LinearLR(o, total_iters=3), lr_scheduler.ExponentialLR(o, 0.5)]),
        lambda o: swa_utils.SWALR(o, 0.01, 3),
    ]
    for each in make:
        optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], 0.1, momentum=0.9)
        scheduler = each(optimizer)
        for _ in range(9):
            optimizer.step()
            scheduler.step()
            yield scheduler.get_last_lr(), optimizer.param_groups[0]["momentum"]
    plateau = lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, cooldown=1, threshold=0.01)
    for value in (1, 0.9, 0.9, 0.9, 0.9, 0.9, 0.5, 0.6, 0.6, 0.6):
        plateau.step(torch.tensor(value))
        yield optimizer.param_groups[0]["lr"], plateau.num_bad_epochs


@program
def averages():
    for options in ({}, {"use_buffers": True}, {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.9), "use_buffers": True}):
        model = network()
        average = swa_utils.AveragedModel(model, **options)
        optimizer = torch.optim.SGD(model.parameters(), 0.3)
        for _ in range(4):
            trained(model, optimizer, 2)
            average.update_parameters(model)
        yield average.state_dict()
        swa_utils.update_bn([normal(6, 5, seed=seed) for seed in range(3)], average)
        yield average.state_dict()


@program
def scaled_and_clipped():
    model = network(dtype=torch.float32)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    for step in range(5):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(normal(6, 5, dtype=torch.float32)), LABELS) * (math.inf if step == 3 else 1)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        yield nn.utils.clip_grad_norm_(model.parameters(), 0.1), nn.utils.get_total_norm([p.grad for p in model.parameters()])
        scaler.step(optimizer)
        scaler.update()
        yield scaler.state_dict(), model.state_dict()


@program
def parametrized():
    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, a):
            return a.triu()

    for change in (parametrizations.weight_norm, lambda m: parametrizations.orthogonal(m, orthogonal_map="cayley"),
                   lambda m: parametrize.register_parametrization(m, "weight", Symmetric()), nn.utils.weight_norm):
        layer = nn.Linear(4, 4).double()
        with torch.no_grad():
            layer.weight.copy_(torch.eye(4) + 0.5)
            layer.bias.zero_()
        change(layer)
        optimizer = torch.optim.SGD(layer.parameters(), 0.1)
        (layer(normal(3, 4)) ** 2).sum().backward()
        optimizer.step()
        yield layer.state_dict(), layer(normal(3, 4)), repr(layer)


@program
def pruned():
    model = network()
    prune.l1_unstructured(model[0], "weight", 0.4)
    prune.ln_structured(model[3], "weight", 0.3, 2, 0)
    yield trained(model, torch.optim.SGD(model.parameters(), 0.1)), model.state_dict(), model[0].weight
    prune.remove(model[0], "weight")
    yield model.state_dict()
    model = network()
    prune.global_unstructured([(model[0], "weight"), (model[3], "weight")], prune.L1Unstructured, amount=5)
    yield model.state_dict(), [name for name, _ in model[3].named_buffers()]


@program
def hooked():
    model, seen, sums = network(), [], []
    model.register_forward_hook(lambda module, args, output: seen.append(("after", output.shape)))
    model[0].register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    model[0].register_full_backward_hook(lambda module, inputs, outputs: seen.append((inputs, outputs)))
    model[3].register_full_backward_pre_hook(lambda module, outputs: (outputs[0] * 2,))
    model[1].register_forward_hook(lambda module, args, keywords, output: output * 3, with_kwargs=True)
    model[3].weight.register_hook(lambda grad: grad * 5)
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda parameter: sums.append(float(parameter.grad.sum())))
    x = normal(6, 5).requires_grad_()
    model(x).square().sum().backward()
    yield seen, sorted(sums), x.grad, [parameter.grad for parameter in model.parameters()]


@program
def moved_loaded_and_copied():
    model = network()
    model.register_buffer("mean", model[1].running_mean)
    mean, weight = model.mean, model[0].weight
    yield model.float() is model, str(mean.dtype), model[0].weight is weight, model.mean is model[1].running_mean
    state = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
    del state["0.bias"]
    state["3.weight"] = torch.zeros(9, 9)
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        yield str(error), model.state_dict()
    copied = pickle.loads(pickle.dumps(copy.deepcopy(model)))
    yield copied.state_dict(), [name for name, _ in copied.named_buffers()]


@program
def recurrent():
    sequences = [normal(4, 2), normal(2, 2, seed=1), normal(3, 2, seed=2)]
    packed = nn.utils.rnn.pack_sequence(sequences, enforce_sorted=False)
    layer = filled(nn.LSTM(2, 3, bidirectional=True, batch_first=True).double())
    output, state = layer(packed)
    output.data.sum().backward()
    yield packed.batch_sizes, nn.utils.rnn.pad_packed_sequence(output, batch_first=True), state, [p.grad for p in layer.parameters()]
    yield nn.utils.rnn.pad_sequence(sequences, True, -2.0, "left")


@program
def attention():
    layer, x = filled(nn.MultiheadAttention(4, 2, batch_first=True).double()), normal(2, 3, 4)
    yield layer(x, x, x, key_padding_mask=torch.tensor([[False, False, True], [False, True, True]]), average_attn_weights=False)
    mask = nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64)
    yield layer(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)
    decoder = filled(nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0, batch_first=True, norm_first=True).double())
    yield decoder(x, normal(2, 5, 4, seed=9), tgt_mask=mask)


@program
def functional():
    model = network().eval()
    state = {name: value * 2 for name, value in model.named_parameters()}
    yield torch.func.grad(lambda p: torch.func.functional_call(model, p, normal(6, 5)).sum())(state)
    models = [network().eval() for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(models)
    yield torch.func.vmap(lambda p, b: torch.func.functional_call(model, (p, b), normal(6, 5)))(parameters, buffers)
    yield torch.func.vmap(torch.func.jacrev(lambda x: (x ** 3).sum()))(normal(2, 3))


@program
def loaded():
    data = torch.utils.data
    dataset = data.TensorDataset(torch.arange(10), torch.arange(10) * 2)
    yield list(data.DataLoader(dataset, 3, drop_last=True)), [len(part) for part in data.random_split(dataset, [0.5, 0.3, 0.2])]
    yield data.default_collate([{"a": 1, "b": [1.0, 2.0], "c": "x", "d": np.float32(3), "e": np.arange(2)}] * 2)
    yield list(data.DistributedSampler(range(10), 3, 1, shuffle=False)), list(data.DataLoader(range(5), batch_size=None))


@program
def dtypes_in_autocast():
    x, model = normal(6, 5, dtype=torch.float32), network(dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = model(x)
        results = [h, F.cross_entropy(h, LABELS), h.softmax(1), F.mse_loss(h, h.float()), x @ x.T, h + x[:, :3], h.sum(), h.exp(),
                   F.layer_norm(h, (3,)), F.gelu(h), torch.cat([h, x[:, :3]]), F.cosine_similarity(h, h), torch.cdist(x, x), h ** 2,
                   torch.einsum("ab,cb->ac", x, x), nn.GRU(5, 4)(x)[0], nn.LSTM(5, 4)(x)[0], F.l1_loss(h, h), h.cumsum(0), h.norm()]
    yield [str(result.dtype) for result in results]


def plain(value):
    if isinstance(value, torch.Tensor):
        return [list(value.shape), str(value.dtype), value.detach().to(torch.float64).reshape(-1).tolist()]
    if isinstance(value, dict):
        return {str(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, bool | int | float | str | None):
        return value
    return [plain(each) for each in value]


print(json.dumps({name: plain(function()) for name, function in PROGRAMS.items()}))
