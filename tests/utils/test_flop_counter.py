"""The counts are those that PyTorch's counter gives for the same models."""
from __future__ import annotations

from typing import Any

import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn
from lucid.utils import flop_counter
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


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(flop_counter, "_registered", {})
    return flop_counter.register_flop_formula


def test_registered_formulas_of_shapes_and_of_tensors(registered: Any, device: str) -> None:
    seen: list[Any] = []

    @registered(["cumsum", ("sin", "sort")])
    def shapes(x: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
        seen.append((x, out_shape, kwargs))
        return x[0]

    @registered("flip", get_raw=True)
    def raw(x: Any, *args: Any, out_val: Any = None, **kwargs: Any) -> int:
        return int(x.sum()) + out_val.numel()

    x = lucid.ones(3, 2, device=device)
    with FlopCounterMode(display=False) as counter:
        x.cumsum(1), x.sin(), x.sort(), x.flip(0), x.cos(), x @ x.t()
    assert counter.get_flop_counts()["Global"] == {"cumsum": 3, "sin": 3, "sort": 3, "flip": 12, "matmul": 36}
    assert seen[0][:2] == ((3, 2), (3, 2)) and 1 in seen[0][2].values() and seen[2][1] == ((3, 2), (3, 2))
    with FlopCounterMode(display=False, custom_mapping={"sin": lambda x, out_shape: 100}) as counter:
        x.sin()
    assert counter.get_total_flops() == 100


def test_an_operation_of_a_user_can_have_a_formula(registered: Any) -> None:
    from lucid import extension

    def double(x: Any, y: Any) -> None:
        y[...] = 2 * x

    operation = extension.op("double(x) -> y", cpu=double)
    registered(operation)(lambda x, out_shape, **kwargs: 7)
    with FlopCounterMode(display=False) as counter:
        operation(lucid.ones(3))
    assert counter.get_total_flops() == 7


def test_targets_that_are_refused(registered: Any) -> None:
    registered("cumsum")(len)
    for target in ("cumsum", "matmul", "conv2d", "attention_grad"):
        with pytest.raises(RuntimeError, match="duplicate registrations"):
            registered(target)(len)
    with pytest.raises(ValueError, match="expected each target"):
        registered(lucid.sin)(len)


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
