"""The counts are those that PyTorch's counter gives for the same models."""
from __future__ import annotations

import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn
from lucid.utils.flop_counter import FlopCounterMode


def test_modules_forward_and_backward() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    with FlopCounterMode(display=False) as counter:
        model(lucid.ones(3, 4)).sum().backward()
    sums = {name: sum(counts.values()) for name, counts in counter.get_flop_counts().items()}
    assert sums == {"Global": 672, "Sequential": 672, "Sequential.0": 384, "Sequential.2": 288}
    assert counter.get_total_flops() == 672 and "Sequential.2" in counter.get_table() and "Sequential.2" not in counter.get_table(1)


def test_convolutions_and_attention(capsys: pytest.CaptureFixture[str]) -> None:
    x, w = lucid.ones(2, 3, 6, 6, requires_grad=True), lucid.ones(4, 3, 3, 3, requires_grad=True)
    with FlopCounterMode() as counter:
        F.conv2d(x, w).sum().backward()
    assert counter.get_total_flops() == 6912 * 3 and "Global" in capsys.readouterr().out
    q = lucid.ones(2, 4, 5, 8, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        F.scaled_dot_product_attention(q, q[:, :2], q[:, :2], enable_gqa=True).sum().backward()
    assert counter.get_total_flops() == 2 * 2 * 4 * 25 * 8 * 7


def test_an_error_and_a_function_of_shapes() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(4, 2))
    counter = FlopCounterMode(display=False, custom_mapping={"linear": lambda x, w, *b, out_shape: out_shape[0]})
    with counter, pytest.raises(RuntimeError):
        model(lucid.ones(3, 4))
    assert counter.get_flop_counts()["Sequential.0"] == {"linear": 3}
    with counter:
        lucid.ones(2, 2) @ lucid.ones(2, 2)
    assert counter.get_flop_counts() == {"Global": {"matmul": 16}}
    with pytest.raises(TypeError, match="names of operations"):
        FlopCounterMode(custom_mapping={lucid.add: len})
