"""Elementwise operations of a plan as one kernel: the numbers, bit for bit, and which operations are together."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn
from lucid.backends import sizes
from lucid.compiler import fusion
from lucid.compiler import plan as plans

from .programs import check


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(plans, "FUSED_AFTER", 1)


def fused(compiled):
    """The operations of each kernel, of all plans."""
    return [[event[1] for event in group] for plan in compiled.plans for function in plan.functions for group in function.fused]


def _odd(shape, dtype, seed):
    """Numbers of all sizes, with NaN, infinities, zeros and the smallest ones among them."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal(shape) * 2.0 ** generator.integers(-60, 60, shape)
    x[generator.random(shape) < 0.5] = generator.standard_normal()
    flat = x.ravel()
    flat[: 9] = np.roll([0, -0.0, np.inf, -np.inf, np.nan, 1e-42, -1e-42, 1, -1], seed)
    return lucid.tensor(x.astype(dtype))


def _same(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        a, b = a.numpy(force=True), b.numpy(force=True)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a[a == 0]), np.signbit(b[b == 0]))


def _one(x, y, row):
    """What is rounded once, of arrays, rows and numbers."""
    z = (x + y) * 2.5 - y / x
    mask = z > 0
    w = lucid.where(mask & (x != y), z * row, 0.1)
    return w, (z + 1).relu().sqrt(), x.neg() * mask, w.masked_fill(mask, 2.0).square().abs() + 1, 1 / z, w.reciprocal() - 3 * x


def _few(x, y, row):
    """Some of each."""
    z = (x + y) * 2.5 - y / x
    return lucid.where(z > 0, lucid.tanh(z), row)


def _two(x, y, row):
    """Functions."""
    return lucid.tanh(x * y) + 1, lucid.sigmoid(y - x) * row, (x.exp() + y.log()) * row, x.sin() * y.cos(), lucid.rsqrt(x) + row


def _three(x, y, row):
    """What formulas are compiled of as well, and several together."""
    powers = [(x + row).pow(exponent) / y for exponent in (2, 3, -1, 0.5, 2.5)]
    near, far, each = lucid.lerp(x, y, 0.2), lucid.lerp(x, y, 0.7), lucid.lerp(x, y, row)
    return lucid.addcmul(x, y, row, value=0.3) * x, near - far, each * far, x.clamp(-1, 2) + x.maximum(y), x.clamp(min=row) * y, *powers


@pytest.mark.parametrize(("function", "dtype"), [(_one, "float32"), (_one, "float64"), (_two, "float32"), (_three, "float32"),
                                                 (_few, "float32")])
def test_the_same_numbers(device, function, dtype):
    if device == "cpu" and function is not _few:
        pytest.skip("takes long to compile")
    shape = (7, 9) if device == "gpu" else (70, sizes.LARGE // 64)
    compiled = lucid.compile(function, fullgraph=True)
    for number in range(5):
        arguments = [_odd(of, dtype, 3 * number + place).to(device) for place, of in enumerate((shape, shape, shape[1:]))]
        _same(compiled(*arguments), function(*arguments))
    assert any(len(names) > 1 for names in fused(compiled))


def test_forward_and_backward_of_a_cell_by_hand(device):
    if device == "cpu":
        pytest.skip("its arrays are small")

    def program(compiled):
        layer = nn.Linear(5, 5)
        optimizer = lucid.optim.SGD(layer.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            h = lucid.zeros(3, 5)
            for _ in range(2):
                forget, new = layer(x) * 0.5 + 0.5, layer(h + 1).clamp(-1, 1)
                h = forget * h + (1 - forget) * new
            loss = (h * h).sum()
            loss.backward()
            optimizer.step()
            return loss, h.detach()

        step = compiled(step)
        return lambda number: (*step(_odd((3, 5), np.float32, number).clamp(-3, 3).nan_to_num(0)), *layer.parameters())

    with lucid.device(device):
        compiled = check(program, True)
    assert fused(compiled)
    assert "one kernel for" in compiled.summary()
    assert "1 CUDA graphs" in compiled.summary()


def test_no_more_memory_is_in_use(device):
    shape = (5, 8) if device == "gpu" else (2, sizes.LARGE)

    @lucid.compile(fullgraph=True)
    def function(x):
        y = x.cumsum(1)
        z = (y + 1) * y - x
        return z.sum() + (z * 2).cumsum(0).amax()

    for _ in range(2):
        function(lucid.ones(shape, device=device))
    before = function.plans[0].memory
    function(lucid.ones(shape, device=device))
    assert fused(function) == [["add", "mul", "sub", "mul"]]
    assert function.plans[0].memory <= before


def _halves(x, y):
    """Half precision, to and from float32; only some numbers are those that an operation alone takes."""
    x, y = x + y, y * 0.5 - x
    z = ((x.float() + 0.1).to(x.dtype) - y) * 3 / 7 - x.square() / y
    mask = (z > 0.25) | (x < y) | (x == 0.1)
    return lucid.where(mask, z * y, 0.1).relu(), (-z).abs().masked_fill(mask, 0.3) + 1, (x * 0.1 - z) * y, (z * x).float() * 1.1


def _few_halves(x, y):
    """Some of each."""
    return lucid.where(y > 0.25, ((x * y).float() + 0.1).to(x.dtype) - y, 0.1)


@pytest.mark.parametrize("dtype", [lucid.float16, lucid.bfloat16])
def test_halves_are_rounded_by_each_operation(device, dtype):
    if device == "cpu" and dtype == lucid.float16:
        pytest.skip("takes long to compile")
    shape, function = ((9, 33), _halves) if device == "gpu" else ((70, sizes.LARGE // 64), _few_halves)
    compiled = lucid.compile(function, fullgraph=True)
    for number in range(4):
        x, y = (lucid.tensor(_odd(shape, np.float32, 2 * number + place).numpy().clip(-3e4, 3e4)) for place in range(2))
        x[0, 9:20], y[0, 9:20] = 0.1, 0.0
        arguments = x.to(device, dtype), y.to(device, dtype)
        found, wanted = (result if isinstance(result, tuple) else (result,) for result in (compiled(*arguments), function(*arguments)))
        assert [each.dtype for each in found] == [each.dtype for each in wanted]
        _same([each.float() for each in found], [each.float() for each in wanted])
    assert any({"cast", "sub", "add"} < set(names) for names in fused(compiled))


def test_writes_in_place_stay_as_they_are(device):
    shape = (4, 6) if device == "gpu" else (2, sizes.LARGE)

    def function(x, y):
        z = x + 1
        w = z * 2
        z += y
        z.mul_(w)
        return z - w, z

    compiled = lucid.compile(function, fullgraph=True)
    for number in range(4):
        x, y = (_odd(shape, np.float32, 2 * number + place).to(device) for place in range(2))
        _same(compiled(x, y), function(x, y))
    assert fused(compiled) == [["add", "mul"]]


def test_sums_of_all_elements_are_part_of_a_kernel(monkeypatch):
    monkeypatch.setattr(fusion, "TOTALS_FUSED_FROM", sizes.LARGE)

    def function(x, y):
        difference = (x - y) * 0.5
        square = difference * difference
        return square.mean(), difference * x, difference.sum(), square.sum(None, keepdim=True)

    compiled = lucid.compile(function, fullgraph=True)
    for number in range(5):
        arguments = [_odd((70, sizes.LARGE // 64), "float32", 3 * number + place) for place in range(2)]
        for place, each in enumerate(arguments):
            each[~each.isfinite() | (each.abs() > 1e6)] = place - 0.25
        for a, b in zip(compiled(*arguments), function(*arguments), strict=True):
            assert a.numpy().tobytes() == b.numpy().tobytes()
    assert fused(compiled) == [["sub", "mul", "mul", "mul", "mean", "sum", "sum"]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(sizes.LARGE // 64, 65), (9, sizes.LARGE // 64, 4, 16), (sizes.LARGE // 8, 8), (4, sizes.LARGE)])
def test_sums_of_rows_are_part_of_a_kernel(shape, dtype, monkeypatch):
    monkeypatch.setattr(fusion, "TOTALS_FUSED_FROM", sizes.LARGE)
    last = tuple(range(len(shape)))[-2:] if len(shape) > 2 else -1

    def function(x, y):
        difference = (x - y) * 0.5
        square = difference * difference
        return square.mean(last, keepdim=True), difference * x, difference.sum(last), difference.sum(0), square.sum()

    compiled = lucid.compile(function, fullgraph=True)
    for number in range(4):
        arguments = [_odd(shape, dtype, 3 * number + place) for place in range(2)]
        for a, b in zip(compiled(*arguments), function(*arguments), strict=True):
            assert a.shape == b.shape
            assert a.numpy().tobytes() == b.numpy().tobytes()
    own = [] if shape[-1] in (8, sizes.LARGE) else ["mean", "sum"]  # short rows by BLAS, long ones in pieces
    (group,) = fused(compiled)
    assert group == ["sub", "mul", "mul", "mul", *(own or ["sum"])]


def test_a_total_stays_behind_what_is_written_in_place(monkeypatch):
    monkeypatch.setattr(fusion, "TOTALS_FUSED_FROM", sizes.LARGE)

    def function(x):
        y = x * 2
        z = y + 1
        first = (z * y).sum()
        y.add_(1)
        return first, y.sum(), z.mean()

    compiled = lucid.compile(function, fullgraph=True)
    for number in range(4):
        x = lucid.full((sizes.LARGE,), 0.1 + number)
        for a, b in zip(compiled(x), function(x), strict=True):
            assert a.item() == b.item()
    assert fused(compiled) == [["mul", "add", "mul", "sum"]]


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float64, lucid.float16, lucid.bfloat16])
@pytest.mark.parametrize(("name", "options"), [("tanh", {}), ("sigmoid", {}), ("silu", {}), ("gelu", {}),
                                               ("gelu", {"approximate": "tanh"})])
def test_activations_and_their_gradients_on_a_gpu(device, dtype, name, options):
    if device == "cpu":
        pytest.skip("on a CPU only some are fused")

    def function(x, y):
        x.requires_grad_()
        result = getattr(F, name)(x * y, **options) + y
        (result * y).backward(y)
        gradient, x.grad = x.grad, None
        return result.detach(), gradient

    compiled = lucid.compile(function, fullgraph=True)
    for number in range(5):
        x, y = (lucid.tensor(_odd((9, 33), np.float32, 2 * number + place).numpy().clip(-3e4, 3e4)).nan_to_num(0.5)
                for place in range(2))
        arguments = [(x.to(device, dtype), y.to(device, dtype)) for _ in range(2)]
        _same(*[[each.double() for each in call(*given)] for call, given in zip((compiled, function), arguments, strict=True)])
    assert {name, f"{name}_grad"} <= {name for group in fused(compiled) for name in group}


def test_what_reads_a_total_is_behind_the_kernel_that_takes_it(monkeypatch):
    monkeypatch.setattr(fusion, "TOTALS_FUSED_FROM", sizes.LARGE)

    def function(x):
        y = x * 2 + 1
        return y / y.sum(), y - y.mean()

    compiled = lucid.compile(function, fullgraph=True)
    for number in range(4):
        x = lucid.full((sizes.LARGE // 64, 64), 0.1 + number)
        for a, b in zip(compiled(x), function(x), strict=True):
            assert a.numpy().tobytes() == b.numpy().tobytes()
    assert ["mul", "add", "sum"] in fused(compiled)
