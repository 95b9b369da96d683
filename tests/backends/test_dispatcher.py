"""The dispatcher: `run`, `create`, `observe`, and the errors of operations."""
from __future__ import annotations

import copy
import gc
import itertools
import math
import os
import pathlib
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import backends

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_run_picks_the_table_of_the_array(device: str) -> None:
    x = lucid.tensor([1.0, 4.0], device=device)
    result = backends.run("sqrt", (x._array,))
    assert backends.device_of(result) == device
    assert backends.to_host(result).tolist() == [1.0, 2.0]


def test_a_python_scalar_may_stand_first(device: str) -> None:
    x = lucid.tensor([1.0, 4.0], device=device)
    assert backends.to_host(backends.run("sub", (1.0, x._array))).tolist() == [0.0, -3.0]


def test_results_without_dimensions_are_arrays() -> None:
    result = backends.run("add", (np.asarray(1.0), np.asarray(2.0)))
    assert type(result) is np.ndarray
    assert result.shape == ()


def test_unknown_operation_is_a_key_error_that_names_it() -> None:
    with pytest.raises(KeyError, match="no_such_op"):
        backends.run("no_such_op", (np.ones(2),))


def test_create(device: str) -> None:
    array = backends.create("full", backends.Device(device), {"shape": (2,), "fill_value": 3.0, "dtype": np.float32})
    assert backends.device_of(array) == device
    assert backends.to_host(array).tolist() == [3.0, 3.0]


def test_floating_point_errors_are_silent() -> None:
    """NumPy's warnings are not shown, wherever in the library a kernel is called: forward and in gradients."""
    code = """
import lucid
import lucid.nn.functional as F
x, inf = lucid.zeros(3, requires_grad=True), lucid.full((3,), float("inf"), requires_grad=True)
y = lucid.ones(3) / x + x * inf + x * 1e39 - inf
y.backward(inf.detach())
x = lucid.tensor([[float("inf"), -float("inf")], [0.0, -1.0]], requires_grad=True)
for y in (x.log(), x.sum(), x.mean(0), x.prod(1), x.var(), x.norm(), x.logsumexp(0), x.cumsum(0), x.cumprod(0), x @ x,
          F.linear(x, x, x[0]), F.softmax(x, 0), F.conv2d(x[None, None], x[None, None, :1])):
    y.sum().backward()
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "kernels")])}
    done = subprocess.run([sys.executable, "-W", "default", "-c", code], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")


class TestObserve:
    def test_every_call_is_seen_with_its_arrays_attributes_and_result(self, device: str) -> None:
        calls: list[tuple[Any, ...]] = []
        x = lucid.tensor([[1.0, 2.0]], device=device)
        with backends.observe(lambda *call: calls.append(call)):
            y = x.sum(dim=1)
        (call,) = [call for call in calls if call[0] == "sum"]
        assert call[1][0] is x._array
        assert "axis" in call[2]
        assert call[3] is y._array

    def test_creation_is_seen(self, device: str) -> None:
        names: list[str] = []
        with backends.observe(lambda name, *rest: names.append(name)):
            lucid.full((2,), 3.0, device=device)
        assert "full" in names

    def test_backward_is_seen(self, device: str) -> None:
        x = lucid.tensor([0.5], device=device, requires_grad=True)
        y = lucid.tanh(x)
        names: list[str] = []
        with backends.observe(lambda name, *rest: names.append(name)):
            y.backward()
        assert "tanh_grad" in names

    def test_nothing_is_seen_afterwards(self) -> None:
        names: list[str] = []
        with backends.observe(lambda name, *rest: names.append(name)):
            pass
        lucid.ones(2) + 1
        assert names == []

    def test_observers_nest(self) -> None:
        outer: list[str] = []
        inner: list[str] = []
        x = lucid.ones(2)
        with backends.observe(lambda name, *rest: outer.append(name)):
            with backends.observe(lambda name, *rest: inner.append(name)):
                x + x
            x * x
        assert inner == ["add"]
        assert outer == ["add", "mul"]

    def test_an_exception_removes_the_observer(self) -> None:
        names: list[str] = []
        with pytest.raises(RuntimeError, match="mine"), backends.observe(lambda name, *rest: names.append(name)):
            raise RuntimeError("mine")
        lucid.ones(2)
        assert names == []


class TestTransfer:
    def test_there_and_back(self, device: str) -> None:
        array = np.arange(6, dtype=np.float32).reshape(2, 3).T
        there = backends.to_device(array, backends.Device(device))
        assert backends.device_of(there) == device
        assert np.array_equal(backends.to_host(there), array)

    def test_no_copy_unless_asked(self, device: str) -> None:
        array = lucid.ones(2, device=device)._array
        place = backends.Device(device)
        assert backends.to_device(array, place) is array
        assert backends.to_device(array, place, copy=True) is not array


class TestErrors:
    def test_mixed_devices_name_op_shapes_dtypes_and_devices(self, any_gpu: None) -> None:
        a, b = lucid.ones(2, 3), lucid.ones(3, device="gpu", dtype=lucid.float64)
        with pytest.raises(RuntimeError) as caught:
            a + b
        message = str(caught.value)
        assert "Expected all tensors to be on the same device" in message
        for fact in ("'add'", "float32[2, 3] on cpu", "float64[3] on gpu:0"):
            assert fact in message

    @pytest.mark.parametrize("name", ["mul", "matmul", "maximum", "cat", "where"])
    def test_every_kind_of_op_refuses_mixed_devices(self, any_gpu: None, name: str) -> None:
        a, b = lucid.ones(3), lucid.ones(3, device="gpu")
        calls = {"cat": lambda: lucid.cat([a, b]), "where": lambda: lucid.where(a > 0, a, b)}
        with pytest.raises(RuntimeError, match="same device"):
            calls.get(name, lambda: getattr(lucid, name)(a, b))()

    def test_shapes_that_do_not_broadcast(self, device: str) -> None:
        a, b = lucid.ones(2, 3, device=device), lucid.ones(4, device=device)
        with pytest.raises(RuntimeError, match=r"size of tensor a \(3\) must match the size of tensor b \(4\)") as caught:
            a * b
        assert "'mul'" in str(caught.value)

    def test_module_state_is_named(self, any_gpu: None) -> None:
        model = lucid.nn.Sequential(lucid.nn.Linear(3, 2))
        with pytest.raises(RuntimeError, match=r"0\.weight"):
            model(lucid.ones(1, 3, device="gpu"))

    @pytest.mark.parametrize("copied", [lambda m: m, copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
    def test_module_state_of_copies_is_named_as_long_as_they_live(self, copied: Callable[[Any], Any]) -> None:
        model = copied(lucid.nn.Sequential(lucid.nn.Linear(3, 2)))
        weight = model[0].weight
        with pytest.raises(RuntimeError, match=r"parameter '0\.weight'"):
            weight + lucid.ones(3, device="meta")
        del model
        gc.collect()
        with pytest.raises(RuntimeError, match=r"float32\[2, 3\] on cpu, "):
            weight + lucid.ones(3, device="meta")


@pytest.fixture
def any_gpu() -> None:
    """A GPU, real or simulated, or a skip."""
    reason = lucid.gpu.why_unavailable()
    if reason is not None:
        pytest.skip(reason)


def test_linspace_of_numbers_is_that_of_numpy() -> None:
    bounds = [0, 1, -1, -0.0, 1e308, -1e308, 5e-324, 1e-320, 7.5, 2**62, math.inf, -math.inf, math.nan]
    linspace = backends.TABLES[np.ndarray]["linspace"]
    for start, stop, count in itertools.product(bounds, bounds, (0, 1, 2, 3, 101)):
        with np.errstate(all="ignore"):
            expected, found = np.linspace(start, stop, count), linspace(start=start, stop=stop, num=count)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
