"""torch.optim.swa_utils: averages of weights and buffers, update_bn, SWALR."""
from __future__ import annotations

from typing import Any

import numpy as np

from tests.parity.suite import Raised, Suite, error

suite = Suite()


def model(torch: Any) -> Any:
    """A small perceptron with batch normalisation and the same weights in both libraries.

    No bias before the normalisation: its gradient is nothing but rounding, which Adam would blow up.
    """
    net = torch.nn.Sequential(torch.nn.Linear(2, 3, bias=False), torch.nn.BatchNorm1d(3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    with torch.no_grad():
        for number, parameter in enumerate(net.parameters()):
            parameter.copy_(numbers(torch, *parameter.shape) + 0.1 * number)
    return net


def numbers(torch: Any, *shape: int) -> Any:
    count = int(np.prod(shape))
    return ((torch.arange(float(count)) * 0.37 + 0.2) % 1.7 - 0.8).reshape(shape)


def trained(torch: Any, steps: int = 4, optimizer: Any = None, **options: Any) -> Any:
    """The average of a model over `steps` steps of its training."""
    net = model(torch)
    average = torch.optim.swa_utils.AveragedModel(net, **options)
    optimizer = optimizer(net.parameters()) if optimizer else torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        (net(numbers(torch, 5, 2) + step) - 1).square().mean().backward()
        optimizer.step()
        average.update_parameters(net)
    return average


def floats(module: Any) -> Any:
    """The state without the counts of batches."""
    return {name: value for name, value in module.state_dict().items() if "batches" not in name}


class Shift:
    """A module made for one library: a parameter and buffers."""

    def __new__(cls, torch: Any, **buffers: Any) -> Any:
        class Shift(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
                for name, value in buffers.items():
                    self.register_buffer(name, value)

            def forward(self, x):
                return x + self.weight

        return Shift()


def set_to(torch: Any, module: Any, value: float) -> None:
    with torch.no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            tensor.fill_(value)


# ---- AveragedModel ---------------------------------------------------------------------------------------------------
@suite.same
def keys_and_attributes(torch):
    average = torch.optim.swa_utils.AveragedModel(model(torch))
    return (list(average.state_dict()), average.n_averaged, average.avg_fn, average.multi_avg_fn, average.use_buffers,
            average.training, [name for name, _ in average.named_parameters()])


@suite.same
def stochastic_weight_averaging(torch):
    return trained(torch).state_dict()


@suite.same
def moving_average_of_lists(torch):
    return trained(torch, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.7)).state_dict()


@suite.same
def moving_average_of_single_tensors(torch):
    return trained(torch, avg_fn=torch.optim.swa_utils.get_ema_avg_fn(0.7)).state_dict()


@suite.same
def the_default_by_its_functions(torch):
    utils = torch.optim.swa_utils
    return (trained(torch, avg_fn=utils.get_swa_avg_fn()).state_dict(),
            trained(torch, multi_avg_fn=utils.get_swa_multi_avg_fn()).state_dict())


@suite.same
def floating_point_buffers_are_averaged_when_asked(torch):
    utils = torch.optim.swa_utils
    return [floats(trained(torch, use_buffers=True)),
            floats(trained(torch, use_buffers=True, avg_fn=utils.get_ema_avg_fn(0.7))),
            floats(trained(torch, use_buffers=True, multi_avg_fn=utils.get_ema_multi_avg_fn(0.7)))]


@suite.same
def moving_average_beside_adam(torch):
    ema = torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
    return trained(torch, 6, lambda p: torch.optim.AdamW(p, lr=0.05), multi_avg_fn=ema).state_dict()


@suite.same
def the_first_update_copies(torch):
    net = Shift(torch)
    average = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5))
    values = []
    for value in (10.0, 20.0, 30.0):
        set_to(torch, net, value)
        average.update_parameters(net)
        values.append(average.module.weight.detach().clone())
    return values, average.n_averaged


@suite.same
def buffers_follow_the_model(torch):
    net = Shift(torch, scale=torch.tensor([1.0]), count=torch.tensor(1), flag=torch.tensor(False))
    average = torch.optim.swa_utils.AveragedModel(net)
    seen = []
    for value in (3.0, 7.0):
        set_to(torch, net, value)
        average.update_parameters(net)
        seen.append({name: buffer.clone() for name, buffer in average.module.named_buffers()})
    return seen


@suite.differs("averages of integers by `optim.swa_utils.AveragedModel`",
               torch=[[2, 3, 4], [2, 2, 2], [2, 2, 2], Raised(RuntimeError)], lucid=[[2, 4, 6]] * 4)
def counts_of_batches(torch):
    utils = torch.optim.swa_utils

    def counts(**options):
        net = torch.nn.BatchNorm1d(2)
        average = utils.AveragedModel(net, use_buffers=True, **options)
        seen = []
        for _ in range(3):
            net(torch.ones(3, 2))
            net(torch.ones(3, 2))
            average.update_parameters(net)
            seen.append(average.module.num_batches_tracked.item())
        return seen

    try:
        last = counts(multi_avg_fn=utils.get_swa_multi_avg_fn())
    except RuntimeError as raised:
        last = raised
    return [counts(), counts(avg_fn=utils.get_ema_avg_fn(0.9)), counts(multi_avg_fn=utils.get_ema_multi_avg_fn(0.9)), last]


@suite.differs("averages of integers by `optim.swa_utils.AveragedModel`", torch=Raised(RuntimeError),
               lucid=(np.array(True), np.array([9, 9])))
def bool_and_integer_buffers(torch):
    net = Shift(torch, flag=torch.tensor(False), table=torch.tensor([1, 2]))
    average = torch.optim.swa_utils.AveragedModel(net, use_buffers=True)
    for _ in range(3):
        average.update_parameters(net)
        set_to(torch, net, 9)
    average.update_parameters(net)
    return average.module.flag, average.module.table


@suite.differs("a buffer that gets a tensor or another shape after `AveragedModel` was made",
               torch=[Raised(ValueError), Raised(RuntimeError)], lucid=[np.ones(3, "f4"), np.ones(3, "f4")])
def buffers_that_appear_or_grow(torch):
    def averaged(before):
        net = Shift(torch, cache=before)
        average = torch.optim.swa_utils.AveragedModel(net)
        net.cache = torch.ones(3)
        average.update_parameters(net)
        return average.module.cache

    return [error(averaged, before) or averaged(before) for before in (None, torch.zeros(2))]


@suite.same
def buffers_that_are_not_saved(torch):
    net = Shift(torch)
    net.register_buffer("cache", torch.tensor([1.0]), persistent=False)
    average = torch.optim.swa_utils.AveragedModel(net)
    net.cache.fill_(5.0)
    average.update_parameters(net)
    return list(average.state_dict()), average.module.cache


@suite.same
def tied_parameters_are_averaged_once(torch):
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    net[1].weight = net[0].weight
    lengths = []

    def count(averages, values, number):
        lengths.append((len(averages), len(values)))
        averages[0].add_(1.0)

    average = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=count)
    set_to(torch, net, 1.0)
    for _ in range(3):
        average.update_parameters(net)
    return lengths, average.module[0].weight, average.module[1].weight is average.module[0].weight


@suite.same
def the_model_is_copied(torch):
    net = model(torch)
    net(torch.ones(3, 2)).sum().backward()
    average = torch.optim.swa_utils.AveragedModel(net)
    return (average.module is net, average.module[0].weight is net[0].weight, average.module[0].weight.grad,
            average.module[0].weight.requires_grad)


@suite.same
def calling_the_average(torch):
    net = model(torch)
    average = torch.optim.swa_utils.AveragedModel(net).eval()
    set_to(torch, net, 0.0)
    return average(numbers(torch, 4, 2)), average.module.training, net.training


@suite.same
def arguments_of_avg_fn(torch):
    seen = []

    def first(average, value, number):
        seen.append((average.requires_grad, value.requires_grad, tuple(average.shape), number))
        return value * 0

    net = Shift(torch)
    average = torch.optim.swa_utils.AveragedModel(net, avg_fn=first)
    average.update_parameters(net)
    average.update_parameters(net)
    return seen, average.module.weight, average.module.weight.requires_grad


@suite.same
def arguments_of_multi_avg_fn(torch):
    seen = []
    net = torch.nn.Linear(2, 1)
    average = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=lambda a, b, number: seen.append(
        (isinstance(a, (list, tuple)), len(a), len(b), a[0].requires_grad, b[0].requires_grad, int(number))))
    for _ in range(3):
        average.update_parameters(net)
    return seen


@suite.same
def lists_have_one_dtype(torch):
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2).double(), torch.nn.Linear(2, 2))
    groups = []
    average = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=lambda a, b, n: groups.append((a[0].dtype, len(a))))
    average.update_parameters(net)
    average.update_parameters(net)
    return sorted((str(dtype), count) for dtype, count in groups) == sorted(
        [(str(torch.float32), 4), (str(torch.float64), 2)])


@suite.same
def half_precision(torch):
    results = []
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        net = Shift(torch).to(dtype)
        average = torch.optim.swa_utils.AveragedModel(net)
        for value in (1.0, 2.0, 4.0):
            set_to(torch, net, value)
            average.update_parameters(net)
        results.append(average.module.weight)
    return results


@suite.same
def an_average_of_another_dtype(torch):
    net = Shift(torch)
    average = torch.optim.swa_utils.AveragedModel(net, avg_fn=torch.optim.swa_utils.get_ema_avg_fn(0.5)).double()
    for value in (1.0, 2.0, 4.0):
        set_to(torch, net, value)
        average.update_parameters(net)
    return average.module.weight


@suite.same
def state_dict_round_trip(torch):
    first = trained(torch, 3)
    second = torch.optim.swa_utils.AveragedModel(model(torch))
    result = second.load_state_dict(first.state_dict())
    net = model(torch)
    for average in (first, second):
        average.update_parameters(net)
    return list(result), first.state_dict(), second.state_dict()


@suite.same
def both_functions(torch):
    torch.optim.swa_utils.AveragedModel(model(torch), avg_fn=max, multi_avg_fn=max)


@suite.same
def arguments_by_position(torch):
    ema = torch.optim.swa_utils.get_ema_multi_avg_fn()
    average = torch.optim.swa_utils.AveragedModel(Shift(torch), None, None, ema, True)
    return average.multi_avg_fn is ema, average.use_buffers


@suite.same
def models_that_do_not_fit(torch):
    average = torch.optim.swa_utils.AveragedModel
    return [error(average(model(torch)).update_parameters, torch.nn.Linear(2, 3)),
            error(average(torch.nn.Linear(2, 2)).update_parameters, torch.nn.Linear(3, 2)),
            error(average(torch.nn.Linear(2, 2)).update_parameters, torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)))]


@suite.same
def parametrized_models(torch):
    net = torch.nn.Linear(2, 3)
    with torch.no_grad():
        net.weight.copy_(numbers(torch, 3, 2))
        net.bias.copy_(numbers(torch, 3))
    torch.nn.utils.parametrizations.weight_norm(net)
    average = torch.optim.swa_utils.AveragedModel(net)
    for _ in range(3):
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.mul_(1.5)
        average.update_parameters(net)
    return average.state_dict(), average(torch.ones(1, 2)), average.module.weight


@suite.same
def pruned_models(torch):
    with torch.no_grad():
        net = torch.nn.utils.prune.l1_unstructured(model(torch)[3], "weight", 1)
        average = torch.optim.swa_utils.AveragedModel(net)
    set_to(torch, net, 2.0)
    net.weight_mask[0, 0] = 0.0
    average.update_parameters(net)
    return average.state_dict(), average(torch.ones(1, 3))


@suite.same
def models_that_are_not_initialized(torch):
    net = torch.nn.LazyLinear(2)
    average = torch.optim.swa_utils.AveragedModel(net)
    net(torch.ones(1, 3))
    average.update_parameters(net)


@suite.same
def an_average_of_an_average(torch):
    utils = torch.optim.swa_utils
    average = utils.AveragedModel(utils.AveragedModel(Shift(torch)))
    average.update_parameters(utils.AveragedModel(Shift(torch)))
    return average.state_dict()


# ---- the functions -----------------------------------------------------------------------------------------------------
@suite.same
def the_functions_by_themselves(torch):
    utils, a, b = torch.optim.swa_utils, numbers(torch, 3), numbers(torch, 4)[1:]
    lists = []
    for function in (utils.get_ema_multi_avg_fn(0.25), utils.get_ema_multi_avg_fn(), utils.get_swa_multi_avg_fn()):
        averages = [a.clone(), a.double()]
        function(averages[:1], [b], 3)
        function(averages[1:], [b.double()], torch.tensor(3))
        lists.append(averages)
    return utils.get_ema_avg_fn(0.25)(a, b, 3), utils.get_ema_avg_fn()(a, b, 0), utils.get_swa_avg_fn()(a, b, torch.tensor(3)), lists


@suite.same
def the_functions_on_integers(torch):
    utils, a, b = torch.optim.swa_utils, torch.tensor([1, 5]), torch.tensor([4, 10])
    averages = [a.clone()]
    utils.get_ema_multi_avg_fn(0.5)(averages, [b], 3)
    return averages, error(utils.get_swa_multi_avg_fn(), [a], [b], torch.tensor(3)), utils.get_ema_avg_fn(0.5)(a, b, 3)


@suite.same
def the_functions_record_nothing(torch):
    utils, a = torch.optim.swa_utils, torch.ones(2, requires_grad=True)
    results = utils.get_ema_avg_fn()(a, a, 1), utils.get_swa_avg_fn()(a, a, 1)
    utils.get_ema_multi_avg_fn(0.5)([a], [torch.zeros(2)], 1)
    return [result.requires_grad for result in results], a.detach()


@suite.same
def bad_decays(torch):
    utils = torch.optim.swa_utils
    return [error(function, decay) for function in (utils.get_ema_avg_fn, utils.get_ema_multi_avg_fn)
            for decay in (1.1, -0.1, 0, 1, "0.5")]


# ---- update_bn ---------------------------------------------------------------------------------------------------------
@suite.same
def statistics_from_batches(torch):
    net = model(torch)
    net[1].running_mean.fill_(9.0)
    batches = [numbers(torch, 4, 2), [numbers(torch, 3, 2) + 1, 0], (numbers(torch, 5, 2) - 1, 1)]
    result = torch.optim.swa_utils.update_bn(batches, net)
    return result, net[1].state_dict(), net[1].momentum, net.training


@suite.same
def modes_after_update_bn(torch):
    outcomes = []
    for mode in (True, False):
        net = model(torch).train(mode)
        net[1].train(not mode)
        net[1].momentum = 0.3
        torch.optim.swa_utils.update_bn([numbers(torch, 4, 2)], net)
        outcomes.append((net.training, net[1].training, net[1].momentum))
    return outcomes


@suite.same
def update_bn_of_a_generator_and_a_loader(torch):
    first, second = model(torch), model(torch)
    torch.optim.swa_utils.update_bn((numbers(torch, 4, 2) + i for i in range(3)), first)
    dataset = [(numbers(torch, 2) + i, i) for i in range(6)]
    loader = torch.utils.data.DataLoader(dataset, batch_size=3) if hasattr(torch, "utils") else torch.data.DataLoader(
        dataset, batch_size=3)
    torch.optim.swa_utils.update_bn(loader, second)
    return first[1].state_dict(), second[1].state_dict()


@suite.same
def update_bn_without_batches(torch):
    net = model(torch)
    net(numbers(torch, 4, 2))
    torch.optim.swa_utils.update_bn([], net)
    return net[1].state_dict()


@suite.same
def update_bn_without_batch_norm(torch):
    return torch.optim.swa_utils.update_bn(iter(()), torch.nn.Linear(2, 2)), error(
        torch.optim.swa_utils.update_bn, 3, torch.nn.Linear(2, 2))


@suite.same
def update_bn_records_nothing(torch):
    net, recorded = model(torch), []
    net.register_forward_hook(lambda module, args, result: recorded.append(result.requires_grad))
    torch.optim.swa_utils.update_bn([numbers(torch, 4, 2)], net)
    return recorded, net[0].weight.grad


@suite.same
def update_bn_passes_anything_else_on(torch):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(2)

        def forward(self, batch):
            return self.norm(batch["x"])

    net = Model()
    torch.optim.swa_utils.update_bn([{"x": numbers(torch, 4, 2)}], net)
    return net.norm.running_mean


@suite.same
def update_bn_of_an_average(torch):
    average = trained(torch)
    torch.optim.swa_utils.update_bn([numbers(torch, 4, 2), numbers(torch, 6, 2) * 2], average)
    return average.state_dict()


@suite.differs("a batch that raises in `optim.swa_utils.update_bn`", torch=(Raised(RuntimeError), None, True),
               lucid=(Raised(RuntimeError), 0.3, False))
def update_bn_with_a_bad_batch(torch):
    net = model(torch).eval()
    net[1].momentum = 0.3
    return error(torch.optim.swa_utils.update_bn, [torch.ones(4, 2), torch.ones(4, 5)], net), net[1].momentum, net.training


# ---- SWALR -------------------------------------------------------------------------------------------------------------
def rates(torch: Any, swa_lr: Any, steps: int = 7, **options: Any) -> Any:
    """The learning rates of two groups."""
    groups = [{"params": [torch.nn.Parameter(torch.ones(1))], "lr": lr} for lr in (1.0, 0.5)]
    optimizer = torch.optim.SGD(groups, lr=1.0)
    scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr, **options)
    seen = [scheduler.get_last_lr()]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        seen.append(scheduler.get_last_lr())
    return seen


@suite.same
def cosine_and_linear_schedules(torch):
    return [rates(torch, 0.1, anneal_epochs=4), rates(torch, 0.1, anneal_epochs=4, anneal_strategy="linear"), rates(torch, 2.0)]


@suite.same
def a_rate_for_each_group(torch):
    return rates(torch, [0.1, 0.2], anneal_epochs=3), rates(torch, (0.1, 0.2), anneal_epochs=3, anneal_strategy="linear")


@suite.same
def no_and_one_epoch(torch):
    return rates(torch, 0.1, 3, anneal_epochs=0), rates(torch, 0.1, 3, anneal_epochs=1)


@suite.same
def options_of_the_groups(torch):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.05)
    return {name: optimizer.param_groups[0][name] for name in ("lr", "swa_lr", "initial_lr")}


@suite.same
def a_rate_changed_by_hand(torch):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.1, anneal_epochs=5)
    seen = []
    for step in range(6):
        optimizer.step()
        if step == 2:
            optimizer.param_groups[0]["lr"] = 3.0
        scheduler.step()
        seen.append(scheduler.get_last_lr()[0])
    return seen


@suite.same
def after_another_schedule(torch):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    first = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)
    swa = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.05, anneal_epochs=3, anneal_strategy="linear")
    seen = []
    for epoch in range(8):
        optimizer.step()
        (swa if epoch > 3 else first).step()
        seen.append(optimizer.param_groups[0]["lr"])
    return seen


@suite.same
def schedule_state_round_trip(torch):
    def make():
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        return optimizer, torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.1, anneal_epochs=6, anneal_strategy="linear")

    optimizer, scheduler = make()
    for _ in range(3):
        optimizer.step()
        scheduler.step()
    state = scheduler.state_dict()
    other_optimizer, other = make()
    other._anneal_strategy = "cos"
    other_optimizer.load_state_dict(optimizer.state_dict())
    other.load_state_dict(state)
    other_optimizer.step()
    other.step()
    return state, other.get_last_lr(), other.state_dict()


@suite.same
def the_annealing_function(torch):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    schedules = [torch.optim.swa_utils.SWALR(optimizer, 0.1, anneal_strategy=name) for name in ("cos", "linear")]
    return [[schedule.anneal_func(t) for t in (0, 0.25, 1)] for schedule in schedules]


@suite.same
def bad_schedules(torch):
    optimizer, swalr = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0), torch.optim.swa_utils.SWALR
    return [error(swalr, optimizer), error(swalr, optimizer, 0.1, anneal_strategy="exp"),
            error(swalr, optimizer, 0.1, anneal_epochs=-1), error(swalr, optimizer, 0.1, anneal_epochs=1.5),
            error(swalr, optimizer, [0.1, 0.2]), error(swalr, 3, 0.1), error(swalr, optimizer, 0.1, last_epoch=5)]


@suite.same
def a_learning_rate_that_is_a_tensor(torch):
    rate = torch.tensor(1.0)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=rate)
    scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.1, anneal_epochs=2)
    seen = []
    for _ in range(3):
        optimizer.step()
        scheduler.step()
        seen.append(float(optimizer.param_groups[0]["lr"]))
    return seen, optimizer.param_groups[0]["lr"] is rate


# ---- all of it ---------------------------------------------------------------------------------------------------------
@suite.same
def a_training_with_all_of_it(torch):
    net = model(torch)
    utils = torch.optim.swa_utils
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    swa_schedule = utils.SWALR(optimizer, swa_lr=0.02, anneal_epochs=3)
    swa, ema = utils.AveragedModel(net), utils.AveragedModel(net, multi_avg_fn=utils.get_ema_multi_avg_fn(0.8))
    x, losses = numbers(torch, 8, 2), []
    for epoch in range(8):
        optimizer.zero_grad()
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        ema.update_parameters(net)
        if epoch >= 4:
            swa.update_parameters(net)
            swa_schedule.step()
        else:
            schedule.step()
        losses.append((loss, ema.module[0].weight.detach().clone(), swa.n_averaged.clone(), optimizer.param_groups[0]["lr"]))
    utils.update_bn([(x[:4],), (x[4:],)], swa)
    return losses, swa.state_dict(), ema.state_dict(), swa.eval()(x), ema.eval()(x)


test_behaviour = suite.test()
