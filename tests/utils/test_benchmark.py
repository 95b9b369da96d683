"""lucid.utils.benchmark: PyTorch's timer and tables, and verdicts of calls in turn."""
from __future__ import annotations

import random
import re
import time

import pytest
from lucid_kernels.measuring.rounds import Pace, Round, collect

import lucid
from lucid.utils import benchmark
from lucid.utils.benchmark import FASTER, SAME, SLOWER, UNDECIDED, Compare, Measurement, TaskSpec, Timer, in_turn, turns


def measurement(times, sub_label="n=4", description="ours", threads=1, **more):
    return dict(number_per_run=10, raw_times=[10 * t for t in times]), dict(
        stmt="x + x", setup="pass", label="add", sub_label=sub_label, description=description, num_threads=threads, **more)


def both(*arguments, **keywords):
    """A measurement of ours, and the same of PyTorch's."""
    import torch.utils.benchmark as theirs

    times, task = measurement(*arguments, **keywords)
    return Measurement(task_spec=TaskSpec(**task), **times), theirs.Measurement(task_spec=theirs.TaskSpec(**task), **times)


def test_a_timer():
    x = lucid.ones(4)
    timer = Timer("y = x + x", setup="y = 0", globals={"x": x}, label="add", sub_label="n=4", description="ours", num_threads=1)
    once = timer.timeit(50)
    assert (once.number_per_run, len(once.times)) == (50, 1)
    assert 0 < once.median < 1
    many = timer.blocked_autorange(min_run_time=0.01)
    assert sum(many.raw_times) >= 0.01
    adaptive = timer.adaptive_autorange(threshold=10, min_run_time=0.01)
    assert len(adaptive.times) >= 4
    assert re.search(r"add: n=4\nours\nsetup: y = 0\n  .* us\n  1 measurement, 50 runs , 1 thread", repr(once))
    for call, error in ((timer.repeat, NotImplementedError), (timer.collect_callgrind, NotImplementedError)):
        with pytest.raises(error):
            call()
    with pytest.raises(ValueError, match="C\\+\\+ only"):
        Timer(global_setup="int x;")
    with pytest.raises(ValueError, match="`str` stmt"):
        Timer(lambda: None)


def test_a_timer_sees_lucid_and_sets_threads():
    seen = []
    Timer("seen.append(lucid.get_num_threads())", globals={"seen": seen}, num_threads=1).timeit(2)
    assert set(seen) == {1}
    assert benchmark.timer() <= benchmark.timer()


@pytest.mark.torch
@pytest.mark.parametrize("times", [[3.56e-6], [1e-3, 1.1e-3, 1.05e-3, 1.2e-3, 1.02e-3], [2e-9, 4e-9, 8e-9]])
def test_measurements_are_those_of_pytorch(times):
    ours, theirs = both(times)
    for name in ("times", "median", "mean", "iqr", "title", "as_row_name", "env", "has_warnings", "sub_label"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name)), name
    assert repr(ours).splitlines()[1:5] == repr(theirs).splitlines()[1:5]
    assert benchmark.select_unit(times[0]) == __import__("torch").utils.benchmark.select_unit(times[0])
    assert ours.meets_confidence() == theirs.meets_confidence()


@pytest.mark.torch
def test_tables_are_those_of_pytorch():
    import torch.utils.benchmark as theirs

    pairs = [both([3.56e-6] * 3), both([1.19e-6] * 3, description="other"), both([1.1e-6] * 3, "n=5", "other"),
             both([1.4e-6] * 3, "n=5", "other", 2)]
    assert str(Compare([ours for ours, _ in pairs])) == str(theirs.Compare([other for _, other in pairs]))
    merged = Measurement.merge([pairs[0][0], pairs[0][0], pairs[1][0]])
    assert [len(m.times) for m in merged] == [6, 3]


def test_tables():
    results = [Measurement(task_spec=TaskSpec(**task), **times) for times, task in (
        measurement([3.5e-3, 4.9e-3, 3.4e-3]), measurement([1e-3, 1.0001e-3, 1e-3], description="other"))]
    table = Compare(results)
    table.trim_significant_figures()
    table.colorize(rowwise=True)
    table.highlight_warnings()
    assert "milliseconds (ms)" in str(table)
    assert "(! " in str(table)
    assert "\033[92m" in str(table)
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        Compare([1.0])
    assert benchmark.trim_sigfig(123456.0, 2) == 120000.0
    assert benchmark.unit_to_english("us") == "microsecond"
    assert benchmark.ordered_unique([2, 1, 2]) == [2, 1]


def decided(change, noise, chance):
    """The verdict on rounds in which both sides take random times."""
    def turn(number):
        return Round({"a": change * chance.lognormvariate(0, noise), "b": chance.lognormvariate(0, noise)})

    def verdict(rounds):
        return turns._verdict(rounds, "a", "b", 0.05)[3]

    return verdict(collect(turn, Pace(8, 32, 0, 0), lambda rounds: verdict(rounds) == UNDECIDED))


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.06])
def test_verdicts_are_rarely_wrong_and_find_a_tenth(noise):
    chance = random.Random(0)
    same = [decided(1.0, noise, chance) for _ in range(300)]
    assert sum(word in (FASTER, SLOWER) for word in same) <= 15  # one of twenty
    assert sum(decided(1.1, noise, chance) == SLOWER for _ in range(100)) >= 90
    assert sum(decided(1 / 1.1, noise, chance) == FASTER for _ in range(100)) >= 90


def test_calls_in_turn():
    found = in_turn({"long": lambda: time.sleep(2e-3), "short": lambda: time.sleep(2e-4)}, pace=Pace(6, 6, 0.004, 0.0), bytes=1 << 12)
    assert found["short"].verdict in (SLOWER, UNDECIDED)  # the first one is
    assert found["long"].verdict is None
    assert found.floor > 0
    text = str(found)
    assert "long's time over it" in text
    assert "long is" in text
    with pytest.raises(RuntimeError, match="the simulator's times say nothing about a GPU"):
        in_turn({"a": lambda: None}, device="gpu")
    with pytest.raises(ValueError, match="nothing to time"):
        in_turn({})
    assert SAME == "SAME"
