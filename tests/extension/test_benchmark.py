"""ext.benchmark: operations beside others, and the picture."""
from __future__ import annotations

import sys

import pytest
from lucid_kernels.measuring.rounds import Pace

import lucid
from lucid import extension as ext
from lucid.utils.benchmark import in_turn

double = ext.op("benchmarked_double(x, *, k=2.0) -> y", cpu=lambda x, k: x * x.dtype.type(k), composed=lambda x, k: x * k)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    pace = Pace(2, 2, 0.001, 0.0)
    monkeypatch.setattr(sys.modules["lucid.extension.benchmark"], "in_turn", lambda calls, **more: in_turn(calls, pace=pace, **more))


def test_a_comparison(tmp_path):
    found = ext.benchmark(double, {"small": [lucid.randn(4)], "large": [lucid.randn(100, 100)]}, scalars={"k": 3.0},
                          against={"times": lambda x, k: x * k})
    assert set(found.verdicts()) == {("small", "times"), ("large", "times")}
    assert "benchmarked_double is" in str(found)
    assert found.turns["large"].floor > 0
    pytest.importorskip("matplotlib")
    found.plot(str(tmp_path / "times.png"))
    assert (tmp_path / "times.png").read_bytes().startswith(b"\x89PNG")


def test_gradients():
    x = lucid.randn(4, 5, requires_grad=True)
    found = ext.benchmark(double, [x], against={"times": lambda x: 2 * x}, backward=True)
    assert list(found.turns) == ["4x5"]
    assert found.turns["4x5"].floor is None
    with pytest.raises(ValueError, match="two sides are called"):
        ext.benchmark(double, [x], against={"benchmarked_double": double})
    with pytest.raises(TypeError, match="no tensor among the inputs"):
        ext.benchmark(double, {"none": [1]}, against={})


@pytest.mark.torch
def test_pytorch_gets_its_own_tensors():
    x = lucid.randn(4, 5, requires_grad=True)
    found = ext.benchmark(double, [x], against={"torch": lambda x: 2 * x}, backward=True)
    assert found["4x5"]["torch"].median > 0
