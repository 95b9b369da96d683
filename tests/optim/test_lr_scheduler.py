"""Learning-rate schedules against PyTorch's."""
from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest

import lucid
from lucid import optim
from lucid.optim import lr_scheduler


def optimizer_of(module: Any, kind: str = "SGD", rates: tuple[Any, ...] = (0.5, 0.05)) -> Any:
    groups = [{"params": [module.ones(1).requires_grad_()], "lr": rate} for rate in rates]
    return getattr(module.optim, kind)(groups, lr=0.1, **({"momentum": 0.9} if kind == "SGD" else {}))


def options_of(group: dict[str, Any]) -> dict[str, Any]:
    """What a parameter group says, with the betas of Adam one by one."""
    options = {key: value for key, value in group.items() if key not in ("params", "betas")}
    return options | dict(enumerate(group.get("betas", ())))


SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, [lambda epoch: 0.9**epoch, lambda epoch: 1 / (epoch + 1)]),
    "step": lambda s, o: s.StepLR(o, 3, 0.5),
    "multi_step": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], 0.5),
    "constant": lambda s, o: s.ConstantLR(o, 0.25, 4),
    "linear": lambda s, o: s.LinearLR(o, 0.2, 0.9, 6),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.8),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 5, 0.01),
    "one_cycle": lambda s, o: s.OneCycleLR(o, [1.0, 0.1], total_steps=12),
    "one_cycle_linear": lambda s, o: s.OneCycleLR(o, 1.0, epochs=4, steps_per_epoch=3, anneal_strategy="linear",
                                                  three_phase=True, pct_start=0.25, base_momentum=0.5),
    "one_cycle_no_momentum": lambda s, o: s.OneCycleLR(o, 1.0, total_steps=12, cycle_momentum=False),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, [lambda epoch: 0.9, lambda epoch: 1 / epoch]),
    "polynomial": lambda s, o: s.PolynomialLR(o, 7, 2.0),
    "polynomial_default": lambda s, o: s.PolynomialLR(o),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 2, 0.01),
    "restarts_equal": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9)]),
    "cyclic": lambda s, o: s.CyclicLR(o, [0.1, 0.2], 1.0, 2),
    "cyclic_halving": lambda s, o: s.CyclicLR(o, 0.1, [0.5, 0.4], 2, 3, mode="triangular2", base_momentum=0.5),
    "cyclic_shrinking": lambda s, o: s.CyclicLR(o, 0.1, 0.5, 3, mode="exp_range", gamma=0.9, cycle_momentum=False),
    "cyclic_function": lambda s, o: s.CyclicLR(o, 0.1, 0.5, 3, scale_fn=lambda x: 1 / (5**(x * 0.01)), scale_mode="iterations"),
    "sequential": lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 3), s.ExponentialLR(o, 0.5), s.StepLR(o, 2)],
                                              [3, 7]),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_parity(name: str, kind: str) -> None:
    torch = pytest.importorskip("torch")
    mine, theirs = optimizer_of(lucid, kind), optimizer_of(torch, kind)
    schedule = SCHEDULES[name](lr_scheduler, mine)
    reference = SCHEDULES[name](torch.optim.lr_scheduler, theirs)
    for _ in range(12):
        assert schedule.get_last_lr() == pytest.approx(reference.get_last_lr(), abs=1e-14)
        assert getattr(schedule, "last_epoch", None) == getattr(reference, "last_epoch", None)
        for group, expected in zip(mine.param_groups, theirs.param_groups, strict=True):
            assert options_of(group) == pytest.approx(options_of(expected), abs=1e-14)
        mine.step()
        theirs.step()
        schedule.step()
        reference.step()
    state, expected = schedule.state_dict(), reference.state_dict()
    assert set(state) == set(expected)
    for key, value in expected.items():
        if isinstance(value, (int, float, bool, str)):
            assert state[key] == value, key


@pytest.mark.parametrize("name", SCHEDULES)
def test_resuming(name: str) -> None:
    """A schedule made anew from the state goes on as the first one does."""
    first = optimizer_of(lucid)
    schedule = SCHEDULES[name](lr_scheduler, first)
    for _ in range(4):
        first.step()
        schedule.step()
    second = optimizer_of(lucid)
    resumed = SCHEDULES[name](lr_scheduler, second)
    resumed.load_state_dict(schedule.state_dict())
    second.load_state_dict(first.state_dict())
    for _ in range(5):
        for optimizer, stepping in ((first, schedule), (second, resumed)):
            optimizer.step()
            stepping.step()
        assert resumed.get_last_lr() == schedule.get_last_lr()


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_reduce_on_plateau(mode: str, threshold_mode: str) -> None:
    torch = pytest.importorskip("torch")
    options = {"mode": mode, "factor": 0.5, "patience": 1, "threshold": 0.1, "threshold_mode": threshold_mode, "cooldown": 1,
               "min_lr": [0.1, 0.001]}
    mine, theirs = optimizer_of(lucid), optimizer_of(torch)
    schedule = lr_scheduler.ReduceLROnPlateau(mine, **options)
    reference = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **options)
    for metric in (1.0, 1.05, 0.8, 0.85, 0.9, 0.95, 1.3, 1.3, 1.3, 1.25, 1.2, 1.2, 1.2):
        schedule.step(lucid.tensor(metric))
        reference.step(metric)
        assert schedule.get_last_lr() == pytest.approx(reference.get_last_lr())
        assert (schedule.num_bad_epochs, schedule.cooldown_counter) == (reference.num_bad_epochs, reference.cooldown_counter)
    assert set(schedule.state_dict()) == set(reference.state_dict())


def test_plateau_options() -> None:
    optimizer = optimizer_of(lucid)
    for options, message in (({"factor": 1.0}, "Factor should be < 1.0"), ({"mode": "mean"}, "mode mean is unknown"),
                             ({"threshold_mode": "x"}, "threshold mode x is unknown"),
                             ({"min_lr": [0.1]}, "expected 2 min_lrs, got 1")):
        with pytest.raises(ValueError, match=message):
            lr_scheduler.ReduceLROnPlateau(optimizer, **options)


def test_last_epoch() -> None:
    optimizer = optimizer_of(lucid)
    with pytest.raises(KeyError, match="initial_lr"):
        lr_scheduler.StepLR(optimizer, 2, last_epoch=3)
    lr_scheduler.StepLR(optimizer, 2)
    assert lr_scheduler.StepLR(optimizer, 2, last_epoch=3).last_epoch == 4
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        lr_scheduler.StepLR(3, 2)  # type: ignore[arg-type]


def test_tensor_learning_rate_is_filled() -> None:
    rate = lucid.tensor(1.0)
    optimizer = optimizer_of(lucid, rates=(rate,))
    schedule = lr_scheduler.StepLR(optimizer, 1, 0.5)
    for _ in range(2):
        optimizer.step()
        schedule.step()
    assert optimizer.param_groups[0]["lr"] is rate and rate.item() == 0.25
    assert schedule.get_last_lr()[0].item() == 0.25 and schedule.get_last_lr()[0] is not rate


def test_warnings() -> None:
    optimizer = optimizer_of(lucid)
    schedule = lr_scheduler.ExponentialLR(optimizer, 0.5)
    with pytest.warns(UserWarning, match="before `optimizer.step\\(\\)`"):
        schedule.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        schedule.get_lr()
    with pytest.warns(UserWarning, match="epoch parameter"):
        schedule.step(3)
    assert schedule.get_last_lr() == pytest.approx([0.0625, 0.00625])
    with pytest.warns(UserWarning, match="before `optimizer.step\\(\\)`"):
        copy.deepcopy(lr_scheduler.ExponentialLR(optimizer_of(lucid), 0.5)).step()
    optimizer = optimizer_of(lucid)
    schedule = lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden"):
        schedule.step()
    optimizer = optimizer_of(lucid)
    schedule = lr_scheduler.ExponentialLR(optimizer, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
        schedule.step()


@pytest.mark.parametrize(("options", "message"), [
    ({}, "total_steps OR"), ({"total_steps": 0}, "positive integer total_steps"),
    ({"epochs": 2, "steps_per_epoch": -1}, "positive integer steps_per_epoch"),
    ({"total_steps": 4, "pct_start": 2.0}, "pct_start"), ({"total_steps": 4, "anneal_strategy": "x"}, "anneal_strategy"),
    ({"total_steps": 4, "max_lr": [1.0]}, "same length as optimizer.param_groups"),
])
def test_one_cycle_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lr_scheduler.OneCycleLR(optimizer_of(lucid), **{"max_lr": 1.0, **options})


def test_one_cycle_ends() -> None:
    optimizer = optimizer_of(lucid)
    schedule = lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=2)
    optimizer.step()
    schedule.step()
    schedule.step()
    with pytest.raises(ValueError, match="Tried to step 3 times"):
        schedule.step()


def test_factors_out_of_range() -> None:
    optimizer = optimizer_of(lucid)
    for make in (lambda: lr_scheduler.ConstantLR(optimizer, 1.5), lambda: lr_scheduler.LinearLR(optimizer, 0.0),
                 lambda: lr_scheduler.LinearLR(optimizer, 0.5, 1.5)):
        with pytest.raises(ValueError, match="factor expected"):
            make()
    with pytest.raises(ValueError, match="Expected 2 lr_lambdas"):
        lr_scheduler.LambdaLR(optimizer, [abs])


def test_sequential_errors() -> None:
    optimizer = optimizer_of(lucid)
    step = lr_scheduler.StepLR(optimizer, 2)
    with pytest.raises(ValueError, match="at least one"):
        lr_scheduler.SequentialLR(optimizer, [], [])
    with pytest.raises(ValueError, match="one scheduler more than milestones"):
        lr_scheduler.SequentialLR(optimizer, [step], [1])
    with pytest.raises(ValueError, match="same optimizer"):
        lr_scheduler.SequentialLR(optimizer_of(lucid), [step], [])
    with pytest.raises(ValueError, match="ReduceLROnPlateau"):
        lr_scheduler.SequentialLR(optimizer, [lr_scheduler.ReduceLROnPlateau(optimizer)], [])


def test_custom_schedule_and_optimizer() -> None:
    class Halving(lr_scheduler.LRScheduler):
        def get_lr(self) -> list[Any]:
            return [base / 2**self.last_epoch for base in self.base_lrs]

    optimizer = optim.SGD([lucid.ones(1).requires_grad_()], lr=1.0)
    schedule = Halving(optimizer)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] == 0.5


def test_restarts_at_any_epoch() -> None:
    torch = pytest.importorskip("torch")
    for multiplier in (1, 2):
        found = []
        for module, schedules in ((lucid, lr_scheduler), (torch, torch.optim.lr_scheduler)):
            optimizer = optimizer_of(module)
            schedule = schedules.CosineAnnealingWarmRestarts(optimizer, 3, multiplier)
            rates = []
            for epoch in (0.5, 2.9, 3, 3.25, 20.5, None, 1, None):
                schedule.step(epoch)
                rates += [*schedule.get_last_lr(), schedule.last_epoch, schedule.T_i, schedule.T_cur]
            found.append(rates)
        assert found[0] == pytest.approx(found[1], abs=1e-12)


class Scale:
    """A function with state."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, number: float) -> float:
        return self.factor


def test_states_of_cyclic_and_chained_schedules() -> None:
    cyclic = lr_scheduler.CyclicLR(optimizer_of(lucid), 0.1, 0.5, 3, scale_fn=Scale(0.5))
    other = lr_scheduler.CyclicLR(optimizer_of(lucid), 0.1, 0.5, 3, scale_fn=Scale(1.0))
    other.load_state_dict(cyclic.state_dict())
    assert other.scale_fn(1) == 0.5
    chained, copied = [lr_scheduler.ChainedScheduler([lr_scheduler.StepLR(o, 2), lr_scheduler.ExponentialLR(o, 0.9)])
                       for o in (optimizer_of(lucid), optimizer_of(lucid))]
    chained.optimizer.step()
    for _ in range(3):
        chained.step()
    copied.load_state_dict(chained.state_dict())
    assert copied.state_dict() == chained.state_dict()
    assert copied._schedulers[0].last_epoch == 3


MISUSED = [
    lambda m, s, o: s.CyclicLR(m.optim.Adagrad(o.param_groups[0]["params"]), 0.1, 0.2), lambda m, s, o: s.CyclicLR("x", 0.1, 0.2),
    lambda m, s, o: s.CyclicLR(o, 0.1, 0.2, mode="x"), lambda m, s, o: s.CyclicLR(o, [0.1], 0.2),
    lambda m, s, o: s.CosineAnnealingWarmRestarts(o, 0), lambda m, s, o: s.CosineAnnealingWarmRestarts(o, 3.5),
    lambda m, s, o: s.CosineAnnealingWarmRestarts(o, 3, 0), lambda m, s, o: s.CosineAnnealingWarmRestarts(o, 3, 1, "x"),
    lambda m, s, o: s.CosineAnnealingWarmRestarts(o, 3).step(-1), lambda m, s, o: s.ChainedScheduler([]),
    lambda m, s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]), lambda m, s, o: s.MultiplicativeLR(o, [len]),
    lambda m, s, o: s.ChainedScheduler([s.ExponentialLR(o, 0.9)], optimizer_of(m)),
]


@pytest.mark.parametrize("number", range(len(MISUSED)))
def test_misuse_raises_the_errors_of_torch(number: int) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        MISUSED[number](torch, torch.optim.lr_scheduler, optimizer_of(torch))
    with pytest.raises(theirs.type):
        MISUSED[number](lucid, lr_scheduler, optimizer_of(lucid))
