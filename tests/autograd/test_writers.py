"""What is written at once in place and with `out=`, and what is left to the general way: the same results and errors."""
import numpy as np
import pytest

import lucid
from lucid.autograd.writers import writer
from lucid.backends.gpu_probe import gpu_problem

DEVICES = ["cpu"] if gpu_problem() is not None else ["cpu", "gpu"]


@pytest.mark.parametrize("device", DEVICES)
def test_each_form_of_a_call_gives_the_numbers_of_the_function(device):
    x, y, z = (lucid.tensor(values, device=device) for values in ([1.0, -2.0, 3.0], [4.0, 5.0, -6.0], [0.5, 0.25, 2.0]))
    for method, arguments, keywords in [
            ("add", (y,), {}), ("add", (2,), {}), ("add", (y,), {"alpha": 3}), ("add", (y,), {"alpha": -0.5}),
            ("add", (2.0,), {"alpha": 3}), ("add", (), {"other": y}), ("sub", (y,), {"alpha": 2.0}), ("mul", (y,), {}),
            ("addcmul", (y, z), {}), ("addcmul", (y, z), {"value": 0.5}), ("addcdiv", (y, z), {"value": 2}),
            ("lerp", (y, 0.25), {}), ("lerp", (y, z), {}), ("clamp", (), {"min": 0.0}), ("clamp", (), {"max": 1}),
            ("clamp", (0, 2), {}), ("clamp", (z, 2), {}), ("exp", (), {}), ("round", (), {"decimals": 0}),
            ("div", (y,), {"rounding_mode": "floor"}), ("div", (y,), {"rounding_mode": None})]:
        expected = getattr(lucid, method)(x, *arguments, **keywords)
        target, out = x.clone(), lucid.full((3,), float("nan"), device=device)
        before = target._version
        assert getattr(target, f"{method}_")(*arguments, **keywords) is target and target._version == before + 1
        assert getattr(lucid, method)(x, *arguments, out=out, **keywords) is out
        for result in (target, out):
            np.testing.assert_array_equal(result.cpu().numpy(), expected.cpu().numpy(), f"{method} {keywords}")


@pytest.mark.parametrize("device", DEVICES)
def test_memory_that_is_shared_in_part_is_left_to_the_general_way(device):
    memory = lucid.arange(6.0, device=device)
    first, second = lucid.as_strided(memory, (4,), (1,)), lucid.as_strided(memory, (4,), (1,), 2)
    with pytest.raises(RuntimeError, match="single memory location"):
        first.add_(second)
    spread = lucid.zeros(1, device=device).expand(3)
    with pytest.raises(RuntimeError, match="single memory location"):
        spread.add_(lucid.ones(3, device=device))
    turned = lucid.arange(4.0, device=device).reshape(2, 2).T
    turned.mul_(lucid.tensor([[1.0, 2.0], [3.0, 4.0]], device=device))
    assert turned.tolist() == [[0.0, 4.0], [3.0, 12.0]]
    x = lucid.tensor([1.0, 2.0], device=device)
    x.add_(x).mul_(x)
    assert x.tolist() == [4.0, 16.0]
    broadcast = lucid.ones(2, 2, device=device)
    broadcast.mul_(x)
    assert broadcast.tolist() == [[4.0, 16.0], [4.0, 16.0]]
    whole = lucid.tensor([1, 2], device=device)
    whole.add_(whole)
    assert whole.tolist() == [2, 4]


@pytest.mark.parametrize("device", DEVICES)
def test_a_write_to_what_a_gradient_needs_is_noticed(device):
    x = lucid.tensor([1.0, 2.0], device=device)
    leaf = lucid.ones(2, device=device, requires_grad=True)
    y = (leaf * x).sum()
    x.add_(lucid.ones(2, device=device))
    with pytest.raises(RuntimeError, match="inplace|in place"):
        y.backward()
    with pytest.raises(RuntimeError, match="leaf"):
        leaf.add_(x)
    assert leaf.tolist() == [1.0, 1.0]


def test_what_cannot_be_written_at_once():
    x = lucid.tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match="min' or 'max'"):
        x.clamp_()
    with pytest.raises(TypeError):
        x.add_()
    with pytest.raises(RuntimeError, match="alpha"):
        lucid.tensor([1, 2]).add_(x.long(), alpha=0.5)
    with pytest.raises((RuntimeError, TypeError)):
        x.add_(x, alpha="1")
    with pytest.raises(TypeError, match="out must be"):
        lucid.add(x, x, out=[1.0])
    with pytest.raises(TypeError, match="unexpected|addend"):
        x.add_(addend=x)
    assert x.tolist() == [1.0, 2.0] and x._version == 0
    row = lucid.zeros(2, 2)[0]
    row.add_(x)  # a view
    assert row._view[0].tolist() == [[1.0, 2.0], [0.0, 0.0]]
    x.requires_grad = True
    with pytest.raises(RuntimeError, match="leaf"):
        x.mul_(2)
    out = lucid.zeros(2)
    with pytest.raises(RuntimeError, match="requires grad"):
        lucid.exp(x, out=out)
    with lucid.no_grad():
        assert lucid.exp(x, out=out) is out
        x.mul_(2)
    assert x.tolist() == [2.0, 4.0] and not out.requires_grad


def test_only_functions_that_their_kernel_computes_have_one():
    assert writer(lucid.Tensor.cumsum) is None and writer(lucid.erf) is None
    assert writer(lucid.add.without_out) is not None


def test_the_first_write_may_be_inside_autocast():
    x = lucid.tensor([1.0, 2.0])
    with lucid.autocast("cpu", dtype=lucid.bfloat16):
        for function in (lucid.maximum, lucid.hypot, lucid.expm1, lucid.pow):
            arguments = (x,) if function is lucid.expm1 else (x, x)
            out = lucid.zeros(2)
            assert function(*arguments, out=out) is out
            np.testing.assert_array_equal(out.numpy(), function(*arguments).float().numpy())
