"""lucid.profiler: what is noted, tables, traces, schedules, and that nothing is left behind."""
from __future__ import annotations

import gzip
import json

import pytest

import lucid
from lucid import backends, nn
from lucid.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)
from lucid.profiler import recorder as internal


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 4)
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.fc(x))


def step(net, optimizer, x):
    with record_function("forward part"):
        loss = net(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@pytest.fixture
def training(device):
    net = Net().to(device)
    optimizer = lucid.optim.SGD(net.parameters(), lr=0.1)
    x = lucid.randn(5, 6).to(device)
    step(net, optimizer, x)
    return lambda: step(net, optimizer, x)


def test_names_times_shapes_and_memory(training):
    with profile(record_shapes=True, profile_memory=True, with_flops=True, with_stack=True) as prof:
        training()
    found = {event.key: event for event in prof.key_averages()}
    assert {"linear", "linear_grad", "relu", "forward part", "nn.Module: Net", "nn.Module: Net.fc (Linear)",
            "Optimizer.step#SGD.step"} <= set(found)
    assert found["linear"].flops == 2 * 5 * 6 * 4
    assert found["linear_grad"].flops == 2 * 5 * 6 * 4  # x has no gradient
    memory = found["linear"].self_cpu_memory_usage + found["linear"].self_device_memory_usage
    assert memory == 5 * 4 * 4
    outer, inner = found["nn.Module: Net"], found["nn.Module: Net.fc (Linear)"]
    assert outer.cpu_time_total >= inner.cpu_time_total >= inner.self_cpu_time_total >= 0
    assert outer.cpu_memory_usage + outer.device_memory_usage >= memory
    linear = next(event for event in prof.events() if event.name == "linear")
    assert linear.input_shapes[:2] == [[5, 6], [4, 6]]
    assert any("test_profiler.py" in line and "step" in line for line in linear.stack)
    parents = []
    event = linear
    while event.parent is not None:
        event = event.parent
        parents.append(event.name)
    assert parents == ["nn.Module: Net.fc (Linear)", "nn.Module: Net", "forward part"]
    total = prof.key_averages().self_cpu_time_total
    tops = sum(event.cpu_time for event in prof.events() if event.parent is None)
    assert total == pytest.approx(tops, rel=1e-6)


def test_tables(training):
    with profile(record_shapes=True, with_flops=True, profile_memory=True) as prof:
        training()
        training()
    text = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=3, header="what it takes")
    lines = text.splitlines()
    assert lines[0] == "what it takes"
    for title in ("Name", "Self CPU %", "CPU total", "CPU time avg", "Self CPU Mem", "# of Calls", "Total MFLOPs"):
        assert title in lines[2]
    assert len(lines) == 4 + 3 + 2
    assert "Self CPU time total:" in lines[-1]
    by_shape = prof.key_averages(group_by_input_shape=True)
    assert next(event for event in by_shape if event.key == "linear").count == 2
    assert "[[5, 6], [4, 6], [4]]" in by_shape.table()
    assert str(prof.key_averages()) == prof.key_averages().table()
    assert prof.key_averages().total_average().count == len(prof.events())
    with pytest.raises(AttributeError, match="no column 'speed'"):
        prof.key_averages().table(sort_by="speed")
    if "gpu" not in text.lower():
        assert "linear" in prof.roofline(0.001)
    with pytest.raises(RuntimeError, match="needs with_flops=True"):
        profile().roofline()


def test_traces(tmp_path):
    with profile(record_shapes=True, with_stack=True) as prof:
        lucid.randn(3, 4) @ lucid.randn(4, 5)
    prof.add_metadata_json("run", "[1, 2]")
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    document = json.loads((tmp_path / "trace.json").read_text())
    product = next(event for event in document["traceEvents"] if event["name"] == "matmul")
    assert product["ph"] == "X"
    assert product["cat"] == "cpu_op"
    assert product["dur"] > 0
    assert product["args"]["Input Dims"] == [[3, 4], [4, 5]]
    assert document["run"] == [1, 2]
    prof.export_stacks(str(tmp_path / "stacks.txt"))
    assert "test_traces" in (tmp_path / "stacks.txt").read_text()
    tensorboard_trace_handler(str(tmp_path / "board"), "me", use_gzip=True)(prof)
    (file,) = (tmp_path / "board").iterdir()
    assert file.name.startswith("me.")
    assert file.name.endswith(".pt.trace.json.gz")
    assert json.loads(gzip.decompress(file.read_bytes()))["schemaVersion"] == 1


def test_steps():
    ready = []
    with profile(schedule=schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2),
                 on_trace_ready=lambda p: ready.append([e.name for e in p.events() if e.name.startswith("ProfilerStep")])) as prof:
        for _ in range(10):
            lucid.ones(2) + 1
            prof.step()
    assert ready == [["ProfilerStep#3", "ProfilerStep#4"], ["ProfilerStep#7", "ProfilerStep#8"]]
    with profile(schedule=schedule(wait=0, warmup=1, active=3), on_trace_ready=ready.append) as prof:
        prof.step()
        lucid.ones(2) + 1
    assert ready[-1] is prof, "what was recorded until the end"


@pytest.mark.torch
def test_schedules_are_those_of_pytorch():
    import torch

    for options in ({"wait": 2, "warmup": 1, "active": 3}, {"wait": 1, "warmup": 1, "active": 1, "repeat": 2, "skip_first": 3},
                    {"wait": 3, "warmup": 1, "active": 2, "repeat": 1, "skip_first_wait": 1}):
        ours, theirs = schedule(**options), torch.profiler.schedule(**options)
        assert [ours(n).name for n in range(25)] == [theirs(n).name for n in range(25)], options
    assert {a.name for a in ProfilerAction} <= {a.name for a in torch.profiler.ProfilerAction}


def test_nothing_is_left_behind(training):
    tables = dict(backends.TABLES)
    with pytest.raises(ValueError, match="in the middle"), profile() as prof, record_function("lost"):
        lucid.ones(2) + 1
        raise ValueError("in the middle")
    assert {event.name for event in prof.events()} >= {"lost", "add"}
    assert {kind: table for kind, table in backends.TABLES.items() if kind in tables} == tables
    assert internal.recording == 0
    from lucid.nn.modules.module.global_hooks import around_calls

    assert not around_calls
    with record_function("nobody looks"):
        assert internal.current() is None
    before = len(prof.events())
    training()
    assert len(prof.events()) == before


def test_an_operation_that_fails_ends():
    from lucid import extension as ext

    def fail(x):
        raise OSError("no")

    failing = ext.op("profiled_failure(x) -> y", cpu=fail)
    x = lucid.ones(2)
    with profile() as prof:
        with pytest.raises(OSError, match="no"):
            failing(x)
        x * 2
    product, multiplied = prof.events()
    assert multiplied.parent is None
    assert product.end <= multiplied.start


def test_decorators_compiled_functions_and_users_operations():
    from lucid import extension as ext

    double = ext.op("profiled_double(x) -> y", cpu=lambda x: 2 * x)

    @record_function("a function")
    def function(x):
        return double(x) + 1

    compiled = lucid.compile(function)
    x = lucid.ones(3)
    with lucid.no_grad():
        for _ in range(3):
            compiled(x)
        with profile(activities=[ProfilerActivity.CPU]) as prof:
            compiled(x)
    assert [event.name for event in prof.events()] == ["a function", "profiled_double", "add"]


def test_events_of_a_gpu(training, tmp_path, monkeypatch, device):
    """On the simulator, as if its events told a GPU's time."""
    if device != "gpu":
        return
    monkeypatch.setattr(internal, "simulated", lambda: False)
    with profile(profile_memory=True) as prof:
        training()
    linear = next(event for event in prof.events() if event.name == "linear")
    assert linear.device == "gpu"
    assert linear.device_time >= 0
    linear.device_ns = 5000
    found = {event.key: event for event in prof.key_averages()}
    assert found["nn.Module: Net"].device_time_total >= found["linear"].self_device_time_total >= 5
    assert found["linear"].self_device_memory_usage == 80
    text = prof.key_averages().table(sort_by="self_cuda_time_total")
    assert "Self GPU" in text
    assert "GPU Mem" in text
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"kernel", "cpu_op"} <= {event.get("cat") for event in events if event["name"] == "linear"}


def test_errors():
    with profile(), pytest.raises(RuntimeError, match="another profiler records"):
        profile().start()
    with pytest.raises(RuntimeError, match="before start"):
        profile().step()
    with pytest.raises(AssertionError, match="No activities"):
        profile(activities=[])
    with pytest.raises(AssertionError, match="Invalid profiler schedule"):
        schedule(wait=1, warmup=0, active=0)
